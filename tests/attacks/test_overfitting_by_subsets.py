"""Analysts who go where these rows are unlike the population: every interval of their studies contains it.

Some hundred rows, real curators, and attackers who know the population exactly.  Each study may fail with
probability 1e-8, so that any miss here is an alarm that is false less often than once in a million runs.  What
the theorem leaves to an attacker is found exactly, by a histogram of very many kinds: there three quarters
of the shift would be too little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

import adyton
from adyton.certify import Interval
from adyton.curator.curator import Curator
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.population.claims import CertainAfter
from adyton.study import Study, Validity
from adyton.validity.subset import tails
from adyton.validity.subset.tails import Before, OpenLevels
from adyton.validity.subset.widths import least_share
from support.curators import open_kept, seeded
from support.randomness import SeededByHash

ROWS, COINS, KINDS = 600, 15, 32
FAILURE = Fraction(1, 10**8)
RARE = 0.05
COLUMNS = (
    *(BooleanColumn(f"f{i}") for i in range(COINS)),
    *(BooleanColumn(f"r{i}") for i in range(COINS)),
    IntegerColumn("kind", 0, KINDS - 1),
    IntegerColumn("age", 0, 63),
    BooleanColumn("y"),
)


def sample(seed: int, rows: int) -> pd.DataFrame:
    """All columns independent: fair coins, coins that are heads 1 in 20 times, and uniform kinds and ages."""
    rng = np.random.default_rng(seed)
    coins = {f"f{i}": rng.random(rows) < 0.5 for i in range(COINS)}
    rare = {f"r{i}": rng.random(rows) < RARE for i in range(COINS)}
    return pd.DataFrame(coins | rare).assign(
        kind=rng.integers(0, KINDS, rows), age=rng.integers(0, 64, rows), y=rng.random(rows) < 0.5
    )


def opened(
    seed: int, adjacency: str = "replace-one", accounting: str = "gdp", persons: bool = False, **plan: Any
) -> Curator:
    declared = Validity(1 - FAILURE, **plan)
    unit = PrivacyUnit(adjacency, "pid", 2) if persons else PrivacyUnit(adjacency)  # type: ignore[arg-type]
    table = Table("t", COLUMNS, ROWS, "pid" if persons else None)
    budget = Guarantee(Fraction(500), Fraction(1, 10**6))
    frame = sample(seed, 2 * ROWS if persons else ROWS)
    if persons:
        frame = frame.assign(pid=np.repeat(np.arange(ROWS), 2))
    return open_kept(Study(table, unit, budget, accounting, validity=declared), data=frame)


@dataclass(frozen=True)
class Claim:
    interval: Any
    value: float
    truth: float
    noise: Any = None

    @property
    def error(self) -> float:
        """As a part of the half-width on its side: beyond 1 it is a miss."""
        assert isinstance(self.interval, Interval), self.interval
        side = self.interval.high if self.truth > self.value else self.interval.low
        return abs(self.truth - self.value) / max(abs(side - self.value), 1e-12)

    @property
    def holds(self) -> bool:
        assert isinstance(self.interval, Interval), self.interval
        return bool(self.interval.low <= self.truth <= self.interval.high)


Attack = Callable[..., Iterator[Claim]]


def claimed(answer: adyton.Answer, truth: float) -> Claim:
    ((value,),) = [row.values.values() for row in answer.rows]
    return Claim(value.population_interval, float(value.value), truth, value.noise_interval)


def score(weights: dict[str, int]) -> str:
    return " + ".join(f"({w}) * CASE WHEN {name} THEN 1 ELSE 0 END" for name, w in weights.items())


def chances(weights: dict[str, int], share: float) -> dict[int, float]:
    """How the score is distributed in the population, exactly: coins are independent."""
    law = {0: 1.0}
    for weight in weights.values():
        after: dict[int, float] = {}
        for at, chance in law.items():
            after[at] = after.get(at, 0.0) + chance * (1 - share)
            after[at + weight] = after.get(at + weight, 0.0) + chance * share
        law = after
    return law


def above(weights: dict[str, int], share: float, wanted: float) -> tuple[int, float]:
    """A threshold that about this share of the population exceeds, and the share that does."""
    law = chances(weights, share)
    return min(
        ((at, sum(c for s, c in law.items() if s > at)) for at in law), key=lambda x: abs(x[1] - wanted)
    )


def voting(
    asker: Curator, price: dict[str, Any], *, top: float = 0.5, rare: bool = False, graded: bool = False
) -> Iterator[Claim]:
    """Asks every coin, and then how many rows are in the top share by the noisy leanings, or by how far they lean."""
    share, letter = (RARE, "r") if rare else (0.5, "f")
    leaning = {}
    for i in range(COINS):
        claim = claimed(asker.ask(f"SELECT PROPORTION({letter}{i}) FROM t", **price), share)
        yield claim
        off = claim.value - share
        leaning[f"{letter}{i}"] = (round(1000 * off) or 1) if graded else (1 if off > 0 else -1)
    at, truth = above(leaning, share, top)
    yield claimed(asker.ask(f"SELECT PROPORTION({score(leaning)} > {at}) FROM t", **price), truth)


def subgroups(asker: Curator, price: dict[str, Any]) -> Iterator[Claim]:
    """The share of y in each kind; then in all kinds where it looked high, and their number and ages."""
    high = []
    for row in asker.ask("SELECT kind, PROPORTION(y) AS p FROM t GROUP BY kind", **price).rows:
        value = row.values["p"]
        yield Claim(value.population_interval, float(value.value), 0.5)
        if value.value > 0.5:
            high.append(int(row.keys["kind"]))  # type: ignore[arg-type]
    chosen = " OR ".join(f"kind = {kind}" for kind in high) or "kind = 0"
    for sql, truth in (
        (f"SELECT PROPORTION(y) AS v FROM t WHERE {chosen}", 0.5),
        (f"SELECT AVG(age) AS v FROM t WHERE ({chosen}) AND y", 31.5),
        (f"SELECT MEDIAN(age) AS v FROM t WHERE {chosen}", 31.0),
        (f"SELECT VARIANCE(age) AS v FROM t WHERE {chosen}", (64**2 - 1) / 12),
    ):
        yield claimed(asker.ask(sql, **price), truth)


def repeating(asker: Curator, price: dict[str, Any]) -> Iterator[Claim]:
    """One coin again and again, each time with noise of its own, until these rows are known; then the other side."""
    for i in range(25):
        yield claimed(asker.ask(f"SELECT PROPORTION(f0 AND age < {64 + i}) FROM t", **price), 0.5)
    yield claimed(asker.ask("SELECT PROPORTION(NOT f0) FROM t", **price), 0.5)


def weighing(asker: Curator, price: dict[str, Any]) -> Iterator[Claim]:
    """Multiplicative weights on the kinds: asks for those that it thinks too heavy, and learns from the answer."""
    weights = np.exp(np.random.default_rng(4).normal(0, 0.01, KINDS))
    for _ in range(15):
        heavy = np.flatnonzero(weights > np.median(weights))
        chosen = " OR ".join(f"kind = {kind}" for kind in heavy)
        claim = claimed(asker.ask(f"SELECT PROPORTION({chosen}) FROM t", **price), len(heavy) / KINDS)
        yield claim
        weights[heavy] *= math.exp(3 * (claim.value - len(heavy) / KINDS))
        weights *= np.exp(np.random.default_rng(len(heavy)).normal(0, 0.003, KINDS))


def comparing(asker: Curator, price: dict[str, Any], *, together: bool) -> Iterator[Claim]:
    """Of every two kinds, which has more rows: as one query or as two; then all winners against all losers."""
    winners = []
    for one, other in zip(range(0, KINDS, 2), range(1, KINDS, 2), strict=True):
        if together:
            gap = claimed(asker.ask(f"SELECT SUM({_against([one], [other])}) FROM t", **price), 0)
            yield gap
            winners.append(one if gap.value > 0 else other)
            continue
        asked = [f"SELECT COUNT(*) FROM t WHERE kind = {kind}" for kind in (one, other)]
        both = [claimed(asker.ask(sql, **price), ROWS / KINDS) for sql in asked]
        yield from both
        winners.append(one if both[0].value > both[1].value else other)
    losers = sorted(set(range(KINDS)) - set(winners))
    yield claimed(asker.ask(f"SELECT SUM({_against(winners, losers)}) FROM t", **price), 0)


def _against(winners: list[int], losers: list[int]) -> str:
    first, second = (", ".join(map(str, kinds)) for kinds in (winners, losers))
    return f"CASE WHEN kind IN ({first}) THEN 1 WHEN kind IN ({second}) THEN -1 ELSE 0 END"


LITTLE: dict[str, Any] = {"scale": 0.01}  # of a share: six rows, so that mu0 grows to a third
ATTACKS: dict[str, tuple[Attack, dict[str, Any], dict[str, Any]]] = {
    "vote": (voting, {}, LITTLE),
    "vote, top 5 %": (voting, {"top": 0.05}, LITTLE),
    "vote, top 1 %": (voting, {"top": 0.01}, LITTLE),
    "vote of rare coins": (voting, {"rare": True, "top": 0.05}, LITTLE),
    "vote of rare coins, top 1 %": (voting, {"rare": True, "top": 0.01}, LITTLE),
    "tracing": (voting, {"graded": True}, LITTLE),
    "tracing, top 5 %": (voting, {"graded": True, "top": 0.05}, LITTLE),
    "subgroups": (subgroups, {}, {"epsilon": 20}),
    "repeat one query": (repeating, {}, LITTLE),
    "multiplicative weights": (weighing, {}, LITTLE),
    "comparison, one query": (comparing, {"together": True}, {"scale": 6}),
    "comparison, two queries": (comparing, {"together": False}, {"scale": 6}),
}


def survives(asker: Curator, name: str, price: dict[str, Any] | None = None) -> float:
    """All claims hold; returns the largest error, as a part of its half-width."""
    attack, how, usual = ATTACKS[name]
    claims = list(attack(asker, usual if price is None else price, **how))
    assert all(claim.holds for claim in claims)
    return max(claim.error for claim in claims)


@pytest.mark.parametrize("name", ATTACKS)
def test_theorem_PAY_AS_YOU_GO_no_attack_leaves_an_interval(name: str) -> None:
    worst = []
    for seed in range(2):
        with opened(seed) as asker:
            worst.append(survives(asker, name))
    print(f"{name}: largest error over half-width {max(worst):.2f}")
    assert max(worst) <= 1


@pytest.mark.parametrize("name", ["vote", "tracing", "comparison, one query"])
def test_the_attacks_leave_intervals_that_know_the_rows_alone(name: str) -> None:
    """Otherwise they would not be attacks: the noise interval of the last answer misses, in one of four at least."""
    attack, how, price = ATTACKS[name]
    missed = 0
    for seed in range(7, 11):
        with opened(seed) as asker:
            *_, last = attack(asker, price, **how)
        missed += not last.noise.low <= last.truth <= last.noise.high
    assert missed


WAYS: dict[str, dict[str, Any]] = {
    "zcdp": {"accounting": "zcdp"},
    "private number of units": {"adjacency": "add-remove"},
    "planned": {"queries": 17, "tolerance": Fraction(1, 2)},
    "decreasing": {"queries": 17, "tolerance": Fraction(1, 2), "noise": "decreasing"},
    "planned for rare shares": {"queries": 17, "tolerance": Fraction(1, 5), "share": Fraction(1, 20)},
    "persons": {"persons": True},
    "persons, private number": {"persons": True, "adjacency": "add-remove"},
}


@pytest.mark.parametrize("way", WAYS)
def test_theorem_PAY_AS_YOU_GO_holds_in_every_way_of_asking(way: str) -> None:
    made = WAYS[way]
    with opened(3, **made) as asker:
        if made.get("adjacency") == "add-remove":
            whole = "COUNT(DISTINCT pid)" if made.get("persons") else "COUNT(*)"
            asker.ask(f"SELECT {whole} FROM t", scale=6)
        name = "vote of rare coins" if "rare" in way else "vote"
        price = (
            {} if "queries" in made else LITTLE | ({"expected_rows": 2 * ROWS} if "persons" in made else {})
        )
        assert survives(asker, name, price) <= 1


def test_theorem_SUBSET_WITH_PURE_PARTS_holds_with_monitors_in_between() -> None:
    """Every coin is also fed into a monitor: what it says about the leanings is paid for by later answers."""
    plain = opened(5)
    with Curator(
        plain.study, plain._engine, plain._ledger, SeededByHash(5)
    ) as asker:  # else it might not lean
        leaning, claims = {}, []
        for i in range(COINS):
            monitor = asker.open_monitor(positives=1, epsilon=2)
            said = monitor.feed(f"SELECT COUNT(*) FROM t WHERE f{i}", above=ROWS // 2)
            leaning[f"f{i}"] = 1 if said.above else -1
            if i % 5 == 4:
                claims.append(claimed(asker.ask(f"SELECT PROPORTION(f{i}) FROM t", **LITTLE), 0.5))
        at, truth = above(leaning, 0.5, 0.5)
        last = asker.ask(f"SELECT PROPORTION({score(leaning)} > {at}) FROM t", **LITTLE)
        assert "SUBSET-WITH-PURE-PARTS" in last.certificate.theorems
        claims.append(claimed(last, truth))
    assert all(claim.holds for claim in claims)
    assert claims[-1].value > 0.5 + 0.02  # the monitor did lean


MANY = 200


def many_coins(seed: int) -> Curator:
    columns = tuple(BooleanColumn(f"f{i}") for i in range(MANY))
    flips = np.random.default_rng(seed).random((ROWS, MANY)) < 0.5
    frame = pd.DataFrame(flips, columns=[column.name for column in columns])
    budget = Guarantee(Fraction(500), Fraction(1, 10**6))
    declared = Validity(1 - FAILURE)
    study = Study(Table("t", columns, ROWS), PrivacyUnit("replace-one"), budget, validity=declared)
    return seeded(study, frame, seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_theorem_PAY_AS_YOU_GO_holds_for_batches_and_nothing_less_would(seed: int) -> None:
    """200 coins in one batch; the vote by how far each leaned, and its opposite, in the next.

    The vote is off by more than a query fixed in advance would be at this very level: a study that paid
    nothing for the batch would have missed it.  Noise is seeded, as it now and then would not be.
    """
    with many_coins(seed) as asker:
        answers = asker.ask_many([f"SELECT PROPORTION(f{i}) FROM t" for i in range(MANY)], scale=0.01)
        claims = [claimed(answer, 0.5) for answer in answers]
        leaning = {f"f{i}": round(300 * (claim.value - 0.5)) or 1 for i, claim in enumerate(claims)}
        at, truth = above(leaning, 0.5, 0.5)
        both = asker.ask_many(
            [f"SELECT PROPORTION({score(leaning)} {sign} {at}) FROM t" for sign in (">", "<=")], **LITTLE
        )
        claims += [claimed(both[0], truth), claimed(both[1], 1 - truth)]
    assert all(claim.holds for claim in claims)
    fixed = CertainAfter(Before(), ROWS, float(FAILURE) * OpenLevels().share(2) / 2).claims(1 / 2).ways
    lowest = float(least_share(np.array([ROWS * claims[-2].value]), ROWS, 0.01 * ROWS, fixed)[0])
    assert lowest > truth


@dataclass(frozen=True)
class Histogram:
    """An analyst asks how many of ``rows`` are of each of so many kinds that no two rows are of the same, with
    noise of ``scale`` rows on each; then how many rows are of the kinds that look more frequent than a place.

    As kinds grow in number, a row is among them with the chance that 1 + noise is beyond the place, and a
    kind of the population with the chance that noise alone is.  The radius of the first answer is 1.
    """

    rows: int
    scale: float
    top: float

    @property
    def truth(self) -> float:
        return self.top

    @property
    def chance(self) -> float:
        """Of one of these rows to be among the kinds that were chosen."""
        return float(ndtr(1 / self.scale + ndtri(self.top)))

    @property
    def last_scale(self) -> float:
        return math.sqrt(self.rows * self.chance * (1 - self.chance))

    def lower_end(self, answer: float, level: float) -> float:
        certain = CertainAfter(Before(1 / Fraction(self.scale) ** 2), self.rows, level)
        return float(
            least_share(np.array([answer]), self.rows, self.last_scale, certain.claims(1 / 2).ways)[0]
        )

    def missed(self, level: float) -> float:
        """The chance that the interval's lower end is above the truth: of all counts, and of the last noise."""
        low, high = 0.0, 2.0 * self.rows
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self.lower_end(middle, level) > self.truth else (middle, high)
        spread = 12 * self.last_scale
        middle = self.rows * self.chance
        counts = np.arange(
            max(0, math.floor(middle - spread)), min(self.rows, math.ceil(middle + spread)) + 1
        )
        chance = binom.pmf(counts, self.rows, self.chance)
        return float(np.sum(chance * ndtr((counts - high) / self.last_scale)))

    def part(self, level: float) -> float:
        """The mean error as a part of the width."""
        width = self.chance - self.lower_end(self.rows * self.chance, level)
        return (self.chance - self.truth) / width


@pytest.mark.parametrize("rows", [600, 10**4, 10**6])
@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("top", [0.5, 0.05, 0.01])
@pytest.mark.parametrize("level", [0.5, 0.01])
def test_theorem_SUBSET_SHARES_a_histogram_of_very_many_kinds(
    rows: int, scale: float, top: float, level: float
) -> None:
    assert Histogram(rows, scale, top).missed(level) <= level / 2


def cheaper(part: float) -> Callable[[int, float, float], float]:
    honest = tails.gaussian_price
    return lambda units, spent, kept: part * honest(units, spent, kept)


SHARPEST = Histogram(10**6, 3.0, 0.5)


def test_the_sharpest_attack_uses_most_of_the_width() -> None:
    assert 0.75 < SHARPEST.part(0.01) < 0.85


def test_three_quarters_of_the_shift_would_be_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is paid is the square of the shift.  Were it 9/16 of what it is, nearly every interval would miss."""
    assert SHARPEST.missed(0.01) < 1e-12
    with monkeypatch.context() as changed:
        changed.setattr(tails, "gaussian_price", cheaper(9 / 16))
        assert SHARPEST.missed(0.01) > 0.99
