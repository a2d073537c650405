"""Every attack at the very number of queries that a plan certifies, through the real curator.

An attacker knows the population: many kinds of rows, equally frequent, and in each kind half of the rows are y.
He asks as often as the plan allows, at its prices, goes where the answers say that these rows are unlike the
population, and asks there last.  Each study may fail with probability 1e-7, and what is asked follows a seed, so
that a miss is an alarm.  Such intervals leave much room: that three quarters of the shift would be too little is seen
by the exact attack of ``test_overfitting_by_subsets``, not here.  Run with ``-s``, every test says its largest error as a part of the half-width.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adyton.certify import Interval
from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.study import Study, Validity
from support.curators import seeded
from support.tries import LONG

KINDS = 200
FAILURE = Fraction(1, 10**7)
Kinds = Any  # an array: for each kind whether it is meant


@dataclass(frozen=True)
class Plan:
    rows: int
    tolerance: Fraction
    noise: str
    queries: int
    adjacency: str = "replace-one"
    accounting: str = "gdp"
    persons: bool = False

    def accepts(self, queries: int) -> bool:
        try:
            study_of(self, queries)
        except InvalidRequest:
            return False
        return True

    def frame(self, seed: int) -> pd.DataFrame:
        """Of persons, each has one row: a study that allows for two of each pays for them all the same."""
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"kind": rng.integers(0, KINDS, self.rows), "y": rng.random(self.rows) < 0.5})
        return frame.assign(pid=np.arange(self.rows)) if self.persons else frame

    def opened(self, seed: int) -> Curator:
        return seeded(study_of(self, self.queries), self.frame(seed), seed)


@cache  # planning takes longer than most attacks
def study_of(plan: Plan, queries: int) -> Study:
    planned = Validity(
        1 - FAILURE,
        queries=queries,
        tolerance=plan.tolerance,
        noise=plan.noise,  # type: ignore[arg-type]
    )
    unit = PrivacyUnit(plan.adjacency, *(("pid", 2) if plan.persons else ()))  # type: ignore[arg-type]
    columns = (IntegerColumn("kind", 0, KINDS - 1), BooleanColumn("y"))
    table = Table("t", columns, plan.rows, "pid" if plan.persons else None)
    budget = Guarantee(Fraction(500), Fraction(1, 10**6))
    return Study(table, unit, budget, plan.accounting, validity=planned)


# What an attacker asks, and what he does with an answer -------------------------------------------------------


@dataclass(frozen=True)
class Ask:
    """One value, what it is in the population, how wide its range is, and what each kind adds to it, if only kinds do."""

    sql: str
    truth: float
    range: float = 1.0
    of_kinds: Kinds = None


Attack = Generator[Ask, float, None]


def listed(kinds: Kinds) -> str:
    return f"kind IN ({', '.join(map(str, np.flatnonzero(kinds).tolist()))})"


def share(kinds: Kinds, also: str = "") -> Ask:
    return Ask(f"SELECT PROPORTION({listed(kinds)}{also}) AS v FROM t", float(kinds.mean()), of_kinds=kinds)


def half(rng: np.random.Generator, part: float = 0.5) -> Kinds:
    kinds = np.zeros(KINDS, bool)
    kinds[rng.permutation(KINDS)[: round(part * KINDS)]] = True
    return kinds


def most(votes: Kinds, part: float = 0.5) -> Kinds:
    kinds = np.zeros(KINDS, bool)
    kinds[np.argsort(-votes, kind="stable")[: max(1, round(part * KINDS))]] = True
    return kinds


def vote(rows: int, queries: int, rng: np.random.Generator, top: float = 0.5, graded: bool = True) -> Attack:
    """Random halves, and then the top share by their answers: by which side they leaned to, or by how far."""
    votes = np.zeros(KINDS)
    for _ in range(queries - 1):
        asked = share(kinds := half(rng))
        off = (yield asked) - asked.truth
        votes += (off if graded else np.sign(off)) * (2 * kinds - 1)
    yield share(most(votes, top))


def compare(rows: int, queries: int, rng: np.random.Generator, together: bool) -> Attack:
    """Two groups against each other, as the difference of two filters or as two queries; then winners and losers."""
    votes = np.zeros(KINDS)
    for _ in range((queries - 2) // (1 if together else 2)):
        one, other = half(rng, 0.25), half(rng, 0.25)
        other &= ~one
        if together:
            gap = (yield difference(one, other, rows)) / rows
        else:
            gap = (yield share(one)) - (yield share(other))
        gap -= float(one.mean() - other.mean())
        votes += gap * (one.astype(int) - other.astype(int))
    winners, losers = most(votes, 0.3), most(-votes, 0.3)
    yield difference(winners, losers, rows)
    yield share(winners)


def difference(one: Kinds, other: Kinds, rows: int) -> Ask:
    chosen = f"CASE WHEN {listed(one)} THEN 1 WHEN {listed(other)} THEN -1 ELSE 0 END"
    return Ask(f"SELECT SUM({chosen}) AS v FROM t", rows * float(one.mean() - other.mean()), 2.0 * rows)


def repeat(rows: int, queries: int, rng: np.random.Generator) -> Attack:
    """One half again and again, each time with noise of its own; then the side to which it leans on average."""
    kinds, total = half(rng), 0.0
    for i in range(queries - 1):
        asked = share(kinds, f" AND kind - kind <= {i}")
        total += (yield asked) - asked.truth
    yield share(kinds if total > 0 else ~kinds)


def weigh(rows: int, queries: int, rng: np.random.Generator) -> Attack:
    """Multiplicative weights: asks for the kinds that it thinks too heavy here, and learns from the answer."""
    weights = np.ones(KINDS)
    for _ in range(queries - 1):
        asked = share(heavy := most(weights * np.exp(rng.normal(0, 1, KINDS))))  # and tries others
        weights *= np.exp(2 * ((yield asked) - asked.truth) * (2 * heavy - 1))
    yield share(most(weights))


def subgroups(rows: int, queries: int, rng: np.random.Generator) -> Attack:
    """The share of y in random groups, and then in the kinds whose groups had much of it: wider than shares of all."""
    votes = np.zeros(KINDS)
    for _ in range(queries - 1):
        kinds = half(rng)
        value = yield Ask(f"SELECT PROPORTION(y) AS v FROM t WHERE {listed(kinds)}", 0.5, np.inf)
        votes += (value - 0.5) * kinds
    yield Ask(f"SELECT PROPORTION(y) AS v FROM t WHERE {listed(most(votes))}", 0.5, np.inf)


ATTACKS: dict[str, Callable[..., Attack]] = {
    "vote": partial(vote, graded=False),
    "vote, top 5 %": partial(vote, top=0.05, graded=False),
    "vote, top 1 %": partial(vote, top=0.01, graded=False),
    "tracing": vote,
    "tracing, top 5 %": partial(vote, top=0.05),
    "comparison, one query": partial(compare, together=True),
    "comparison, two queries": partial(compare, together=False),
    "repeat one query": repeat,
    "multiplicative weights": weigh,
    "subgroups": subgroups,
}


OVERFITTING = ("tracing", "comparison, one query", "comparison, two queries", "multiplicative weights")
USUALLY = (*OVERFITTING, "vote, top 1 %", "repeat one query", "subgroups")  # the others are between these


@dataclass(frozen=True)
class Said:
    ask: Ask
    value: float
    interval: Interval

    @property
    def error(self) -> float:
        """As a part of the half-width on its side: above 1 is a miss."""
        side = self.interval.high if self.ask.truth > self.value else self.interval.low
        return abs(self.ask.truth - self.value) / max(abs(side - self.value), 1e-12)


def attacked(asker: Curator, attack: Attack, price: dict[str, Any] | None = None) -> list[Said]:
    said: list[Said] = []
    ask = next(attack)
    while True:
        (value,) = asker.ask(ask.sql, **(price or {})).rows[0].values.values()
        assert isinstance(value.population_interval, Interval), value.population_interval
        said.append(Said(ask, float(value.value), value.population_interval))
        try:
            ask = attack.send(said[-1].value)
        except StopIteration:
            return said


def judge(name: str, said: list[Said], tolerance: Fraction) -> None:
    for number, one in enumerate(said, start=1):
        assert one.interval.low <= one.ask.truth <= one.interval.high, (name, number)
        width = (one.interval.high - one.interval.low) / 2
        assert width <= float(tolerance) * one.ask.range * (1 + 1e-3), (name, number)
    print(
        f"{name}: largest error over half-width {max(one.error for one in said):.2f}, last {said[-1].error:.2f}"
    )


# At the certified number -------------------------------------------------------------------------------------

CONSTANT = Plan(1500, Fraction(1, 5), "constant", 60)
DECREASING = Plan(1500, Fraction(1, 5), "decreasing", 112)
LARGE = [Plan(4000, Fraction(3, 20), "constant", 154), Plan(4000, Fraction(3, 20), "decreasing", 295)]


@pytest.mark.parametrize(
    "plan", [CONSTANT, DECREASING, *(LARGE if LONG else [])], ids=lambda p: f"{p.rows} {p.noise}"
)
def test_the_certified_number_is_all_that_a_study_accepts(plan: Plan) -> None:
    assert plan.accepts(plan.queries)
    assert not plan.accepts(plan.queries + max(1, plan.queries // 20))


@pytest.mark.parametrize("name", ATTACKS if LONG else USUALLY)
@pytest.mark.parametrize(
    "plan", [CONSTANT, *LARGE] if LONG else [CONSTANT], ids=lambda p: f"{p.rows} {p.noise}"
)
def test_theorem_PLANNED_NOISE_no_attack_at_the_certified_number(plan: Plan, name: str) -> None:
    """And some overfit: of these rows far more are of the kinds asked last than by chance, by 2.5 deviations."""
    with plan.opened(5) as asker:
        said = attacked(asker, ATTACKS[name](plan.rows, plan.queries, np.random.default_rng(6)))
        assert asker.budget().queries >= plan.queries - 1
    judge(name, said, plan.tolerance)
    if name in OVERFITTING:
        last = said[-1].ask
        chosen = last.of_kinds[plan.frame(5).kind].mean()
        assert chosen - last.truth > 2.5 * np.sqrt(last.truth * (1 - last.truth) / plan.rows)


@pytest.mark.parametrize("name", ["tracing", "comparison, one query"])
def test_theorem_PLANNED_NOISE_no_attack_on_decreasing_noise(name: str) -> None:
    with DECREASING.opened(7) as asker:
        said = attacked(asker, ATTACKS[name](DECREASING.rows, DECREASING.queries, np.random.default_rng(8)))
    judge(name, said, DECREASING.tolerance)


WAYS = {
    "zcdp": Plan(1500, Fraction(1, 5), "constant", 60, accounting="zcdp"),
    "private number of units": Plan(1500, Fraction(1, 5), "constant", 58, "add-remove"),
    "persons": Plan(1500, Fraction(1, 5), "constant", 60, persons=True),
    "persons, private number": Plan(1500, Fraction(1, 5), "constant", 58, "add-remove", persons=True),
}


@pytest.mark.parametrize("way", WAYS if LONG else ("zcdp", "persons, private number"))
def test_theorem_PLANNED_NOISE_the_certified_number_in_every_way_of_asking(way: str) -> None:
    """Where their number is private, one of the queries counts the units; the tolerance is then for about as many."""
    plan = WAYS[way]
    private = plan.adjacency == "add-remove"
    attack = compare(plan.rows, plan.queries - private, np.random.default_rng(3), together=True)
    with plan.opened(2) as asker:
        if private:
            asker.ask(f"SELECT {'COUNT(DISTINCT pid)' if plan.persons else 'COUNT(*)'} FROM t")
        said = attacked(asker, attack)
    judge(way, said, plan.tolerance * (2 if plan.persons else 1) * (1 + Fraction(private, 4)))


def test_theorem_PAY_AS_YOU_GO_the_attack_while_widths_are_tolerable() -> None:
    """Nothing is planned: the last query is asked when the next one would be wider."""
    plan, scale = CONSTANT, 0.0175
    study = study_of(plan, plan.queries)
    free = Study(study.table, study.unit, study.budget, study.accounting, validity=Validity(1 - FAILURE))
    rng = np.random.default_rng(9)
    with seeded(free, plan.frame(9), 9) as asker:

        def wider() -> bool:
            (bound,) = asker.preview(share(half(rng)).sql, scale=scale).population.values()
            return bool(bound.half_width > plan.tolerance)

        queries = 0
        votes, said = np.zeros(KINDS), list[Said]()
        while not wider():
            kinds, queries = half(rng), queries + 1
            said += attacked(asker, iter_of(share(kinds)), {"scale": scale})
            votes += (said[-1].value - said[-1].ask.truth) * (2 * kinds - 1)
        said += attacked(asker, iter_of(share(most(votes))), {"scale": scale})
    assert queries > plan.queries / 2
    judge("pay as you go", said[:-1], plan.tolerance)
    judge("pay as you go, last", said[-1:], plan.tolerance * 2)


def iter_of(ask: Ask) -> Attack:
    yield ask


# Batches, quantiles and monitors at the certified number ------------------------------------------------------
#
# What is asked last has little noise, because nothing is asked after it.  Three quarters of the shift are as little
# seen here as above: at this confidence a query fixed in advance is as wide as the overfit of so few rows.  What
# each attack proves itself on is an interval that knows the rows alone: the noise interval of what was asked last
# misses the population.


def histograms(asker: Curator, numbers: range) -> Kinds:
    """For each number a batch: how many rows are of each kind, with y and without.  Returns how far kinds lean."""
    votes, truth = np.zeros(KINDS), CONSTANT.rows / KINDS / 2
    for i in numbers:
        asked = f"SELECT kind, COUNT(*) AS n FROM t WHERE {{}} AND kind - kind <= {i} GROUP BY kind"
        for answer in asker.ask_many([asked.format(y) for y in ("y", "NOT y")]):
            values: Any = answer["n"]
            assert (values.population.low <= truth).all()
            assert (values.population.high >= truth).all()
            votes += values.value - truth
    return votes


def said_last(name: str, ask: Ask, value: Any) -> bool:
    """Judges it, and returns whether what is known of the rows alone would have been wrong."""
    assert isinstance(value.population_interval, Interval), value.population_interval
    judge(name, [Said(ask, float(value.value), value.population_interval)], Fraction(99, 100))
    return not value.noise_interval.low <= ask.truth <= value.noise_interval.high


def test_theorem_PLANNED_NOISE_no_attack_in_batches() -> None:
    """A plan counts batches, not queries.  Last the kinds that lean most, and those that lean least."""
    with CONSTANT.opened(5) as asker:
        votes = histograms(asker, range(CONSTANT.queries - 1))
        asks = [share(most(votes)), share(most(-votes))]
        last = [answer["v"] for answer in asker.ask_many([ask.sql for ask in asks], scale=0.005)]
        assert asker.budget().queries == CONSTANT.queries
    assert all(list(map(partial(said_last, "batches"), asks, last)))  # all are judged


LEVELS = 20


def by_votes(votes: Kinds) -> str:
    """A number for each kind: as many kinds have each, and those that lean most have the largest."""
    places = np.argsort(np.argsort(votes, kind="stable"), kind="stable") * LEVELS // KINDS
    cases = " ".join(f"WHEN {listed(places == level)} THEN {level}" for level in range(1, LEVELS))
    return f"CASE {cases} ELSE 0 END"


def test_theorem_PLANNED_NOISE_no_attack_by_quantiles() -> None:
    """Of the population a twentieth has each number, so that 9 is the quantile at 0.475; of these rows it is more."""
    with CONSTANT.opened(5) as asker:
        number = by_votes(histograms(asker, range(CONSTANT.queries - 2)))
        points = asker.ask(f"SELECT CDF({number}, 4, 9, 14) AS v FROM t", epsilon=20).rows
        quantile = asker.ask(f"SELECT QUANTILE({number}, 0.475) AS v FROM t", epsilon=20)["v"]
        assert asker.budget().queries == CONSTANT.queries
    missed = [
        said_last("distribution", Ask("", truth), row.values["v"])
        for truth, row in zip((0.25, 0.5, 0.75), points, strict=True)
    ]
    assert all(missed)
    assert said_last("quantile", Ask("", 9, LEVELS / 2), quantile)


def test_theorem_SUBSET_WITH_PURE_PARTS_no_attack_with_a_monitor() -> None:
    """Opened after half of the queries, and fed with random halves until it halts: its answers vote as well."""
    middle, rng = CONSTANT.queries // 2, np.random.default_rng(6)
    with CONSTANT.opened(5) as asker:
        votes = histograms(asker, range(middle))
        monitor, fed = asker.open_monitor(positives=3, epsilon=0.3), 0
        while not monitor.budget().halted:
            kinds, fed = half(rng), fed + 1
            found = monitor.feed(
                f"SELECT COUNT(*) FROM t WHERE {listed(kinds)}", above=CONSTANT.rows // 2 + 20
            )
            votes += (1 if found.above else -1) * (2 * kinds - 1)
        votes += histograms(asker, range(middle, CONSTANT.queries - 2))
        ask = share(most(votes))
        last = asker.ask(ask.sql, scale=0.005)
        assert asker.budget().queries == CONSTANT.queries
    assert "SUBSET-WITH-PURE-PARTS" in last.certificate.theorems
    assert fed > 3
    assert said_last("monitor", ask, last["v"])
