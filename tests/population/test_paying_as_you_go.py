"""Studies with Gaussian noise pay as they go: every answer pays for what was released before it, and for nothing else.

Nothing is planned and nothing runs out: the first answer is as narrow as that of a query fixed in advance, and
later ones are as wide as what was spent makes them.  Where noise would decide, it is seeded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.certify import Absent, Interval
from adyton.curator.certifying import PopulationClaims
from adyton.curator.curator import Curator
from adyton.errors import BudgetRefused, InvalidRequest
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.planning.readings import readings_of
from adyton.population.base import Position
from adyton.query.request import request_of
from adyton.study import PrivateTable, Study, Validity
from adyton.study.validity import claims_failure
from adyton.validity.subset.tails import KnownLevels, OpenLevels, Way
from adyton.validity.subset.widths import greatest_share, least_share
from support.curators import open_kept, seeded, undescribed
from support.shorthands import ordered
from support.tries import often
from support.worlds import study_with

ROWS, COINS = 2000, 12
REGIONS = ("north", "south", "east", "west")
COLUMNS = (
    *(BooleanColumn(f"f{i}") for i in range(COINS)),
    BooleanColumn("rare"),
    IntegerColumn("age", 0, 100),
    IntegerColumn("steady", 0, 100),
    CategoryColumn("region", REGIONS),
    TextColumn("town"),
)
COUNT, OTHER = "SELECT COUNT(*) AS n FROM t WHERE f0", "SELECT COUNT(*) AS n FROM t WHERE f11"


def sample(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Fair coins, one property of 1 in 100, uniform ages, and values that are nearly all the same."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"f{i}": rng.random(rows) < 0.5 for i in range(COINS)})
    return frame.assign(
        rare=rng.random(rows) < 0.01,
        age=rng.integers(0, 101, rows),
        steady=rng.integers(48, 53, rows),
        region=rng.choice(list(REGIONS), rows),
        town=rng.choice(["Ur", "Uruk"], rows),
    )


def opened(
    *,
    rows: int = ROWS,
    adjacency: str = "replace-one",
    accounting: str = "gdp",
    seed: int = 1,
    described: bool = True,
    **validity: Any,
) -> Curator:
    declared = Validity(Fraction(95, 100), **validity)
    unit = PrivacyUnit(adjacency)  # type: ignore[arg-type]
    budget = Guarantee(Fraction(100), Fraction(1, 10**6))
    keys = Fraction(1, 10**9)
    study = Study(
        Table("t", COLUMNS, rows), unit, budget, accounting, validity=declared, discovery_delta=keys
    )
    return seeded(study if described else undescribed(study), sample(seed, rows), seed)


def only(answer: adyton.Answer) -> Any:
    ((value,),) = [row.values.values() for row in answer.rows]
    return value


def ends(answer: adyton.Answer) -> Interval:
    interval = only(answer).population_interval
    assert isinstance(interval, Interval), interval
    return interval


def length(interval: Interval) -> float:
    return interval.high - interval.low


def ahead(asker: Curator, sql: str = OTHER, scale: float = 30) -> float:
    """How wide the next answer would be: public facts alone, so no noise is in it."""
    (bound,) = asker.preview(sql, scale=scale).population.values()
    return bound.half_width  # type: ignore[return-value]


# The first answer, and those that follow.


@pytest.mark.parametrize("accounting", ["gdp", "zcdp"])
@pytest.mark.parametrize("queries", [None, 1, 40])
@pytest.mark.parametrize("scale", [5.0, 30.0, 400.0])
def test_theorem_PAY_AS_YOU_GO_the_first_answer_is_of_a_fixed_query(
    accounting: str, queries: int | None, scale: float
) -> None:
    """The first answer is that of a query fixed in advance."""
    with opened(accounting=accounting, queries=queries) as asker:
        value = only(asker.ask(COUNT, scale=scale))
        share = OpenLevels().share(1) if queries is None else KnownLevels(queries).share(1)
        level = float(claims_failure(asker.study.validity, asker.study.unit.adjacency)) * share / 2
    released = asker._ledger.recall(1)
    assert released is not None
    way, answer = [Way(1.0, 0.0, math.log(level))], np.array([float(_integer(released))])
    low = float(least_share(answer - 0.5, ROWS, scale, way)[0]) * ROWS
    high = float(greatest_share(answer + 0.5, ROWS, scale, way)[0]) * ROWS
    found = value.population_interval
    assert found.low <= low
    assert high <= found.high
    assert found.low == pytest.approx(low, rel=1e-9, abs=1e-9)
    assert found.high == pytest.approx(high, rel=1e-9)


def _integer(stored: str) -> int:
    from adyton.kernel.ledger.texts import released_from_text

    (((released,),),) = released_from_text(stored)
    return int(released)


def test_nearly_all_of_the_failure_is_for_intervals() -> None:
    """Final radii and noisy counts of the units take a few hundredths, described queries a sixteenth; the rest
    is the first answer's to share.
    """
    for adjacency, least in (("replace-one", 0.92), ("add-remove", 0.89)):
        with opened(adjacency=adjacency) as asker:
            assert least * 0.05 <= claims_failure(asker.study.validity, asker.study.unit.adjacency) < 0.05


def test_widths_grow_with_every_answer_and_old_answers_keep_theirs() -> None:
    with opened() as asker:
        widths, first = [ahead(asker)], asker.ask(COUNT, scale=30)
        for i in range(1, 9):
            widths.append(ahead(asker))
            asker.ask(f"SELECT COUNT(*) FROM t WHERE f{i}", scale=30)
        assert all(early < late for early, late in pairwise(widths))
        again = asker.ask(COUNT, scale=30)
        assert again.repeated
        assert ends(again) == ends(first)


def test_less_noise_before_is_wider_after() -> None:
    """The level of the third query is the same; only what was spent before it differs."""
    widths = []
    for scale in (400, 100, 30, 10, 3):
        with opened() as asker:
            for i in (1, 2):
                asker.ask(f"SELECT COUNT(*) FROM t WHERE f{i}", scale=scale)
            widths.append(ahead(asker))
    assert widths == sorted(widths)
    assert widths[-1] > 2 * widths[0]


def test_a_preview_says_how_wide_a_share_of_one_half_will_be() -> None:
    with opened() as asker:
        asker.ask("SELECT COUNT(*) FROM t WHERE f5", scale=30)
        seen, got = ahead(asker), length(ends(asker.ask(OTHER, scale=30))) / 2
        assert got <= seen * 1.001
        assert got == pytest.approx(seen, rel=0.02)


def test_no_query_is_one_too_many() -> None:
    """Levels never run out, however much was spent: 300 answers of little noise, and the last has an interval."""
    with opened() as asker:
        for i in range(300):
            answer = asker.ask(f"SELECT COUNT(*) AS n FROM t WHERE f{i % COINS} AND age < {i}", scale=20)
        interval = ends(answer)
        assert 0 <= interval.low < interval.high <= ROWS
        assert asker.budget().certified_queries is None
        assert "stability" not in str(asker.budget())


# The final validity cost is known once the answer is.


def final_radii(asker: Curator) -> list[int]:
    """What each answer pays in the end, in the order of their receipts."""
    receipts = list(asker.receipts())
    before = [receipt.spent_radius - receipt.order.radius for receipt in receipts]
    return [b - a for a, b in zip(before, [*before[1:], asker._ledger.totals().radius], strict=True)]


EVERY_KIND = (
    "SELECT COUNT(*) FROM t WHERE rare",
    "SELECT COUNT(*) FROM t WHERE NOT rare",
    "SELECT COUNT(*) FROM t WHERE f1 AND f2 AND f3",
    "SELECT PROPORTION(rare) FROM t",
    "SELECT PROPORTION(f1) FROM t WHERE rare",
    "SELECT SUM(age) FROM t WHERE rare",
    "SELECT SUM(steady) FROM t",
    "SELECT AVG(age) FROM t WHERE f1 AND f2 AND f3 AND f4",
    "SELECT AVG(steady) FROM t",
    "SELECT region, COUNT(*) FROM t WHERE f1 AND f2 GROUP BY region",
    "SELECT region, AVG(age) FROM t WHERE rare GROUP BY region",
    "SELECT VARIANCE(age) FROM t WHERE f1 AND f2 AND f3 AND f4",
    "SELECT CDF(age, 20, 40, 60) FROM t WHERE rare",
    "SELECT MEDIAN(age) FROM t WHERE rare",
)


def test_theorem_SUBSET_VARIANCE_no_final_radius_is_more_than_was_charged() -> None:
    with opened() as asker:
        for sql in EVERY_KIND:
            asker.ask(sql, epsilon=1)
        for sql, receipt, paid in zip(EVERY_KIND, asker.receipts(), final_radii(asker), strict=True):
            assert 0 < paid <= receipt.order.radius, sql
        paid = dict(zip(EVERY_KIND, final_radii(asker), strict=True))
        full = {sql: receipt.order.radius for sql, receipt in zip(EVERY_KIND, asker.receipts(), strict=True)}
    assert paid[EVERY_KIND[0]] < 0.2 * full[EVERY_KIND[0]]  # a rare property
    assert paid[EVERY_KIND[1]] < 0.2 * full[EVERY_KIND[1]]  # one that hardly anybody lacks
    assert paid[EVERY_KIND[5]] < 0.5 * full[EVERY_KIND[5]]
    assert paid[EVERY_KIND[7]] < 0.5 * full[EVERY_KIND[7]]
    assert paid[EVERY_KIND[-1]] == full[EVERY_KIND[-1]]  # a search pays in full


def spread_of(asker: Curator, sql: str, frame: pd.DataFrame) -> float:
    """The mean squared distance of these rows from their mean, in units of the noise, over all that was read."""
    asked = asker.preview(sql, epsilon=1).query
    receipt = next(r for r in asker.receipts() if r.order.query == asked)
    query = request_of(sql, asker.study.table).query
    (reading,) = readings_of(query, asker.study.unit)
    (detail,) = json.loads(receipt.order.detail)
    scales = [float(scale) for scale in detail[2 : 2 + len(reading.coordinates)]]
    kept, value = MATCHING[sql]
    chosen = kept(frame).to_numpy()
    boxes = reading.sensitivity.boxes
    columns = [np.full(len(frame), float(boxes[-1][1]))]
    if value is not None:
        at = value(frame).to_numpy() if callable(value) else frame[value].to_numpy() / 100
        square = [boxes[1][1] * (2 * (2 * at - 1) ** 2 - 1)] if len(boxes) == 3 else []
        columns = [boxes[0][0] + at * (boxes[0][1] - boxes[0][0]), *square, *columns][: len(boxes)]
    regions = [frame.region == r for r in REGIONS] if "GROUP BY" in sql else [frame.region == frame.region]
    total = 0.0
    for column, scale in zip(columns, scales, strict=True):
        total += sum(float(np.var(column * (chosen & cell.to_numpy()))) for cell in regions) / scale**2
    return total


MATCHING: dict[str, Any] = {
    EVERY_KIND[0]: (lambda t: t.rare, None),
    EVERY_KIND[1]: (lambda t: ~t.rare, None),
    EVERY_KIND[2]: (lambda t: t.f1 & t.f2 & t.f3, None),
    EVERY_KIND[5]: (lambda t: t.rare, "age"),
    EVERY_KIND[6]: (lambda t: t.age == t.age, "steady"),
    EVERY_KIND[7]: (lambda t: t.f1 & t.f2 & t.f3 & t.f4, "age"),
    EVERY_KIND[8]: (lambda t: t.age == t.age, "steady"),
    EVERY_KIND[9]: (lambda t: t.f1 & t.f2, None),
    EVERY_KIND[10]: (lambda t: t.rare, "age"),
    EVERY_KIND[11]: (lambda t: t.f1 & t.f2 & t.f3 & t.f4, "age"),
    "SELECT AVG(age * age * age) FROM t": (lambda t: t.age == t.age, lambda t: (t.age / 100) ** 3),
    "SELECT AVG(age * age) FROM t WHERE f1": (lambda t: t.f1, lambda t: (t.age / 100) ** 2),
    "SELECT region, AVG(age * age) FROM t GROUP BY region": (
        lambda t: t.age == t.age,
        lambda t: (t.age / 100) ** 2,
    ),
    "SELECT VARIANCE(steady * steady * steady) FROM t": (
        lambda t: t.age == t.age,
        lambda t: (t.steady / 100) ** 3,
    ),
}


@pytest.mark.parametrize("epsilon", [1, 10])
def test_theorem_SUBSET_VARIANCE_final_radii_cover_how_spread_the_rows_are(epsilon: int) -> None:
    """A failure is less likely than 1e-3 for all answers of all studies of this kind; here noise is seeded.

    Mutants: final radii by the released count alone, without room for its noise; without the weight of the sum; the
    square of a sum subtracted without room for its noise, or not divided by the number of cells.
    """
    for seed in range(5):
        with opened(seed=seed) as asker:
            frame = sample(seed)
            for sql in MATCHING:
                asker.ask(sql, epsilon=epsilon)
            for sql, paid in zip(MATCHING, final_radii(asker), strict=True):
                assert spread_of(asker, sql, frame) * UNITS_PER_ONE <= paid, sql


AFTER = {
    "SELECT AVG(steady) FROM t": (lambda t: t.age == t.age, "steady"),
    "SELECT AVG(age * age) FROM t WHERE f1": (lambda t: t.f1, lambda t: (t.age / 100) ** 2),
    "SELECT region, AVG(steady) FROM t GROUP BY region": (lambda t: t.age == t.age, "steady"),
}
"""Means of values whose variance was asked before."""


@pytest.mark.parametrize("epsilon", [1, 10])
def test_theorem_SUBSET_VARIANCE_final_radii_of_means_know_asked_spreads(
    epsilon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: squares of other rows, of another column, or without those of the count."""
    ages = "SELECT AVG(age) FROM t"  # of which no variance was asked
    for sql, what in {**AFTER, ages: (lambda t: t.age == t.age, "age")}.items():
        monkeypatch.setitem(MATCHING, sql, what)
    for seed in range(3):
        with opened(seed=seed) as asker, opened(seed=seed) as other:
            for sql in AFTER:
                asker.ask(sql.replace("AVG", "VARIANCE"), epsilon=epsilon)
                other.ask(sql.replace("AVG", "VARIANCE").replace("steady", "age"), epsilon=epsilon)
            for sql in (*AFTER, ages):
                asker.ask(sql, epsilon=epsilon)
                other.ask(sql, epsilon=epsilon)
            known, unknown = (final_radii(one)[len(AFTER) :] for one in (asker, other))
            for sql, paid in zip((*AFTER, ages), known, strict=True):
                assert spread_of(asker, sql, sample(seed)) * UNITS_PER_ONE <= paid, sql
            if epsilon == 10:
                assert known[0] < 0.2 * unknown[0]
                assert known[2] < 0.75 * unknown[2]


def test_theorem_SUBSET_VARIANCE_a_mean_pays_not_for_what_rows_share() -> None:
    """That everybody counts, and how far values are from the middle of their bounds on average."""
    steady, far = "SELECT AVG(steady) FROM t", "SELECT AVG(steady * steady * steady) FROM t"
    with opened() as asker:
        for sql in (steady, far):
            asker.ask(sql, epsilon=10)
        full = [receipt.order.radius for receipt in asker.receipts()]
        middle, end = (paid / whole for paid, whole in zip(final_radii(asker), full, strict=True))
    assert 0.7 < middle < 0.8  # as if values were at both bounds; the count costs nothing
    assert end < 0.4  # 3 quarters of the way to a bound, and so 7 sixteenths of that


def test_rare_answers_leave_later_ones_narrower_than_common_answers_do() -> None:
    """Eight of each, at the same price; before they are known all are charged the same."""
    widths = {}
    for what in ("rare AND age < ", "age < 50 OR age >= "):
        with opened() as asker:
            for i in range(60, 68):
                asker.ask(f"SELECT COUNT(*) FROM t WHERE {what}{i}", scale=8)
            widths[what] = ahead(asker)
            assert len({receipt.order.radius for receipt in asker.receipts()}) == 1
    rare, common = widths.values()
    assert rare < 0.75 * common


def test_final_radii_never_widen_a_later_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what was released alone: a description makes no difference before and after."""
    with opened(described=False) as asker, monkeypatch.context() as changed:
        for sql in EVERY_KIND:
            asker.ask(sql, epsilon=1)
        narrow = ahead(asker)
        with opened(described=False) as full:
            changed.setattr(PopulationClaims, "final_cost", lambda *_: None)
            for sql in EVERY_KIND:
                full.ask(sql, epsilon=1)
            assert full._ledger.totals().radius == sum(r.order.radius for r in full.receipts())
            assert narrow < ahead(full)


def test_with_few_rows_every_final_radius_is_the_full_one() -> None:
    """The theorem needs a hundred units; with fewer an answer pays what it was charged."""
    with opened(rows=99) as asker:
        asker.ask(EVERY_KIND[0], scale=5)
        assert final_radii(asker) == [receipt.order.radius for receipt in asker.receipts()]
    with opened(rows=100) as asker:
        asker.ask(EVERY_KIND[0], scale=5)
        assert final_radii(asker) < [receipt.order.radius for receipt in asker.receipts()]


def test_where_the_size_is_private_radii_shrink_only_after_the_count() -> None:
    """Mutants: the public guess of the rows taken for their number; the count that lowers its own radius."""
    rare = "SELECT COUNT(*) FROM t WHERE rare"
    with opened(adjacency="add-remove") as asker:
        asker.ask(rare, scale=20)
        asker.ask("SELECT COUNT(*) FROM t", scale=20)
        assert final_radii(asker) == [receipt.order.radius for receipt in asker.receipts()]
        asker.ask(f"{rare} AND f1", scale=20)
        assert final_radii(asker)[-1] < 0.4 * asker.receipts()[-1].order.radius
        first, second, _ = asker.receipts()
        assert final_radii(asker)[:2] == [first.order.radius, second.order.radius]


def test_an_answer_that_never_came_pays_in_full() -> None:
    """Charged, and then the engine failed: nothing is known of it, so its final radius is the full one."""
    with opened() as asker:
        asker.ask("SELECT COUNT(*) FROM t WHERE rare", scale=20)
        before = asker._ledger.totals().radius
        basket = asker._batch(["SELECT COUNT(*) FROM t WHERE rare AND f1"], {"scale": 20})
        asker._ledger.charge(ordered(asker.study, basket))
        assert asker._ledger.totals().radius == before + basket.radius
        asker.ask("SELECT COUNT(*) FROM t WHERE rare AND f1", scale=20)  # read at last, for the same receipt
        assert before < asker._ledger.totals().radius < before + basket.radius


# What is not Gaussian.


FINDING = "SELECT town, COUNT(*) AS n FROM t GROUP BY town"


def test_discovered_groups_end_later_intervals_and_the_preview_says_so() -> None:
    """Of queries without a description."""
    finding = FINDING
    with opened(described=False) as asker:
        first = asker.ask(COUNT, scale=30)
        seen = asker.preview(finding, epsilon=1).population["n"]
        assert isinstance(seen, Absent)
        assert "discovering groups" in seen.reason
        assert isinstance(asker.preview(OTHER, scale=30).population["n"], object)
        assert ahead(asker) > 0  # nothing is lost by looking
        found = asker.ask(finding, epsilon=1)
        assert {type(row.values["n"].population_interval) for row in found.rows} == {Absent}
        later = asker.ask(OTHER, scale=30)
        assert isinstance(only(later).population_interval, Absent)
        assert "discovering groups" in only(later).population_interval.reason
        assert isinstance(asker.preview(OTHER, scale=60).population["n"], Absent)
        assert not [name for name in later.certificate.theorems if name.startswith("SUBSET")]
        assert ends(asker.ask(COUNT, scale=30)) == ends(first)
        with pytest.raises(InvalidRequest, match="groups were discovered"):
            asker.p_value_threshold("0.05")


def test_after_discovered_groups_described_queries_keep_their_intervals() -> None:
    """Mutants: that of the subset theorem in its place; one that widens with what was released."""
    with opened() as asker, opened() as plain:
        before = ahead(asker)
        assert isinstance(asker.preview(FINDING, epsilon=1).population["n"], Absent)
        found = asker.ask(FINDING, epsilon=1)
        assert {type(row.values["n"].population_interval) for row in found.rows} == {Absent}
        later = asker.ask(OTHER, scale=30)
        assert later.ways == {"n": "description"}
        assert "DESCRIBED-QUERIES" in later.certificate.theorems
        assert not [name for name in later.certificate.theorems if name.startswith("SUBSET")]
        assert ends(later).low <= ROWS / 2 <= ends(later).high
        assert before < length(ends(later)) / 2 == pytest.approx(ahead(asker, scale=30.5), rel=0.05)
        for i in range(9):  # other noise and other levels, and the rows' part is the same
            plain.ask(f"SELECT COUNT(*) FROM t WHERE f{i}", scale=3)
        assert ahead(plain) <= 1.1 * ahead(asker, "SELECT COUNT(*) AS n FROM t WHERE f10")
        with pytest.raises(InvalidRequest, match="groups were discovered"):
            asker.p_value_threshold("0.05")


@pytest.mark.parametrize("numeric", [False, True])
def test_a_monitor_in_between_widens_later_answers_and_is_named(numeric: bool) -> None:
    """A monitor in between widens later answers, and their certificate names it."""
    with opened() as asker, opened() as plain:
        for one in (asker, plain):
            one.ask(COUNT, scale=30)
        narrow = ahead(plain)
        monitor = asker.open_monitor(positives=2, numeric=numeric, epsilon=1)
        (receipt,) = list(asker.receipts())[1:]
        assert (receipt.order.radius > 0, receipt.order.pure) == (numeric, receipt.spent_pure)
        assert receipt.order.pure > 0.1 * UNITS_PER_ONE
        for i in range(4):
            monitor.feed(f"SELECT COUNT(*) FROM t WHERE f{i}", above=ROWS)
        assert ahead(asker) > 1.05 * narrow
        later = asker.ask(OTHER, scale=30)
        assert "SUBSET-WITH-PURE-PARTS" in later.certificate.theorems
        assert ends(later).low <= ROWS / 2 <= ends(later).high
        assert "SUBSET-WITH-PURE-PARTS" not in asker.ask(COUNT, scale=30).certificate.theorems


def test_a_dearer_monitor_costs_more_width_and_several_cost_their_sum() -> None:
    """A dearer monitor costs more width, and several cost the sum of their epsilons."""
    widths, epsilons = [], []
    for monitors in (["0.2"], ["0.2", "0.2", "0.2"], ["1"], ["4"]):
        with opened(described=False) as asker:
            for epsilon in monitors:
                asker.open_monitor(positives=1, epsilon=epsilon)
            epsilons.append(asker._ledger.totals().pure)
            assert epsilons[-1] == sum(receipt.order.pure for receipt in asker.receipts())
            for i in range(3 - len(monitors)):  # the same number of queries, so the same level
                asker.ask(f"SELECT COUNT(*) FROM t WHERE f{i}", scale=10**5)
            widths.append(ahead(asker))
    assert epsilons[1] == 3 * epsilons[0]
    assert np.argsort(epsilons).tolist() == np.argsort(widths).tolist()
    assert len(set(widths)) == 4


# Batches and persons.


def test_queries_of_a_batch_pay_for_what_was_before_it_and_share_a_level() -> None:
    asked = [f"SELECT COUNT(*) AS n FROM t WHERE f{i}" for i in range(8)]
    with opened() as asker, opened() as single:
        for one in (asker, single):
            one.ask(OTHER, scale=30)
        together = [length(ends(answer)) for answer in asker.ask_many(asked, scale=30)]
        alone = [length(ends(single.ask(sql, scale=30))) for sql in asked]
        assert max(together) / min(together) < 1.02
        assert alone[0] < together[0]  # an eighth of the level
        assert together[-1] < alone[-1]  # and nothing of the batch was seen before its last query
        assert asker._ledger.totals().receipts == 2
        assert asker._ledger.totals().radius <= sum(receipt.order.radius for receipt in asker.receipts())
        later, after = ahead(asker), ahead(single)
        assert later == pytest.approx(after, rel=0.1)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_persons_are_the_units(adjacency: str) -> None:
    """300 persons with up to three rows each: one person can move a count by three, and is one draw."""
    persons, most = 1000, 3
    rng = np.random.default_rng(5)
    number = rng.integers(1, most + 1, persons)
    frame = pd.DataFrame({"pid": np.repeat(np.arange(persons), number)})
    frame = frame.assign(f0=rng.random(len(frame)) < 0.5, age=rng.integers(0, 101, len(frame)))
    unit = PrivacyUnit(adjacency, "pid", most)  # type: ignore[arg-type]
    study = study_with(
        Table("t", (BooleanColumn("f0"), IntegerColumn("age", 0, 100)), persons, "pid"),
        unit=unit,
        epsilon=100,
        validity=Validity(Fraction(95, 100)),
    )
    with seeded(study, frame, 3) as asker:
        if adjacency == "add-remove":
            absent = only(asker.ask("SELECT COUNT(*) AS n FROM t", scale=30)).population_interval
            assert "COUNT(DISTINCT pid)" in absent.reason
            asker.ask("SELECT COUNT(DISTINCT pid) FROM t", scale=30)
        for sql, truth in (
            ("SELECT COUNT(*) AS n FROM t WHERE f0", persons),
            ("SELECT AVG(age) AS m FROM t WHERE f0", 50),
            ("SELECT PROPORTION(f0) AS p FROM t", 0.5),
            ("SELECT MEDIAN(age) AS m FROM t", 50),
        ):
            answer = asker.ask(sql, epsilon=1)
            assert "PERSONS-AS-ROWS" in answer.certificate.theorems
            assert ends(answer).low <= truth <= ends(answer).high, sql
        for paid, receipt in zip(final_radii(asker), asker.receipts(), strict=True):
            assert 0 < paid <= receipt.order.radius


def test_the_certificate_says_what_an_interval_rests_on() -> None:
    with opened() as asker:
        plain = asker.ask(COUNT, scale=30).certificate
        common = {"SUBSET-SHARES", "SUBSET-TRANSFER", "PAY-AS-YOU-GO", "SUBSET-VARIANCE", "L2-RADIUS"}
        assert common <= set(plain.theorems)
        assert not {"PEELING", "CENTRED-HINGE"} & set(plain.theorems)
        assert "the units are independent draws from the population" in plain.assumptions
        mean = asker.ask("SELECT AVG(age) FROM t", scale=3).certificate
        assert common | {"SUBSET-MEANS", "SUBSET-BENNETT"} <= set(mean.theorems)


# What was learned about the spread of values.


def test_theorem_SUBSET_BENNETT_a_mean_is_narrower_after_its_spread() -> None:
    """Values that use a twentieth of their range.  Old answers gain as well: both claims hold at once.

    Mutants: the variance of other rows, or of another column, taken for that of these.
    """
    mean = "SELECT AVG(steady) AS m FROM t WHERE f0"
    with opened() as asker:
        wide = ends(asker.ask(mean, scale="0.2"))
        for other in ("SELECT STDDEV(steady) FROM t WHERE f1", "SELECT STDDEV(age) FROM t WHERE f0"):
            asker.ask(other, epsilon=2)
        assert ends(asker.ask(mean, scale="0.2")) == wide
        asker.ask("SELECT STDDEV(steady) FROM t WHERE f0", epsilon=40)
        learned = ends(asker.ask(mean, scale="0.2"))
        assert wide.low <= learned.low <= 50 <= learned.high <= wide.high
        assert length(learned) < 0.9 * length(wide)


def test_theorem_SUBSET_SUMS_a_sum_is_narrower_once_its_spread_was_asked() -> None:
    """Old answers gain as well.  Mutants: the squares of other rows, or of another column."""
    total, spread = "SELECT SUM(steady - 48) AS s FROM t WHERE f0", "SELECT STDDEV({}) FROM t WHERE {}"
    with opened() as asker:
        first = asker.ask(total, scale=400)
        wide, names = ends(first), set(first.certificate.theorems)
        for other in (("steady - 48", "f1"), ("steady", "f0"), ("age - 48", "f0")):
            asker.ask(spread.format(*other), epsilon=2)
        assert ends(asker.ask(total, scale=400)) == wide
        asker.ask(spread.format("steady - 48", "f0"), epsilon=40)
        again = asker.ask(total, scale=400)
        learned = ends(again)
        assert wide.low < learned.low <= 2 * ROWS / 2 <= learned.high < wide.high
        assert length(learned) < 0.75 * length(wide)
        assert set(again.certificate.theorems) - names == {"SUBSET-SUMS", "SUBSET-BENNETT"}
        beside = asker.ask("SELECT SUM(steady - 48) AS s, COUNT(*) AS n FROM t WHERE f2", scale=400)
        assert not {"SUBSET-SUMS"} & set(beside.certificate.theorems)


@pytest.mark.parametrize("measure", ["SUM", "AVG"])
def test_of_a_batch_only_those_are_narrower_whose_spread_was_asked(measure: str) -> None:
    """Two queries that differ in their filter alone are told together, unless something is known of one."""
    batch = [f"SELECT {measure}(steady - 48) AS s FROM t WHERE {f}" for f in ("f0", "f1", "f2")]
    with opened() as asker:
        before = [length(ends(answer)) for answer in asker.ask_many(batch, epsilon=1)]
        asker.ask("SELECT STDDEV(steady - 48) FROM t WHERE f1", epsilon=40)
        after = [length(ends(answer)) for answer in asker.ask_many(batch, epsilon=1)]
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] < 0.9 * before[1]


BESIDE = [
    """SELECT region, COUNT(*) AS "it's; 'n" FROM t GROUP BY region""",
    "SELECT CDF(age, 20, 40) FROM t",
    "SELECT MEDIAN(age) FROM t",
    "SELECT VARIANCE(age), STDDEV(steady - 48), SUM(age) FROM t WHERE f0",
]
"""A batch with semicolons in it, and with every number of values in a cell."""


@pytest.mark.parametrize("measure", ["SUM", "AVG"])
@pytest.mark.parametrize("asked", [BESIDE, ["SELECT AVG(steady - 48), STDDEV(steady - 48) FROM t WHERE f0"]])
def test_theorem_SUBSET_BENNETT_a_spread_is_learned_beside_other_values(
    measure: str, asked: list[str]
) -> None:
    """And for others of the same batch, which are told when all of it is known.  Mutants: one query alone
    is looked at; batches are parted at every semicolon.
    """
    mean = f"SELECT {measure}(steady - 48) AS s FROM t WHERE f0"
    with opened() as asker, opened() as other:
        before = [ends(one.ask(mean, epsilon=1)) for one in (asker, other)]
        asker.ask_many(asked, epsilon=40)
        other.ask_many([sql.replace("steady - 48", "age - 48") for sql in asked], epsilon=40)
        after = [ends(one.ask(mean, epsilon=1)) for one in (asker, other)]
        assert length(after[0]) < 0.9 * length(before[0])
        assert after[1] == before[1]
        assert before[0].low <= after[0].low <= after[0].high <= before[0].high


def test_theorem_SUBSET_BENNETT_what_a_batch_taught_has_its_level() -> None:
    """Shared by all its values: the upper end that is learned is the one that was said.

    Mutants: the values of its own query alone; one for each query; without the rounds of a search; another
    variance of the same batch.
    """
    with opened() as asker:
        said = asker.ask_many(BESIDE, epsilon=40)[-1].rows[0].values["stddev"].population_interval
        assert isinstance(said, Interval)
        readings = readings_of(
            request_of("SELECT AVG(steady - 48) FROM t WHERE f0", asker.study.table).query,
            asker.study.unit,
        )
        context = asker._claims.context(
            asker._batch(BESIDE, {"epsilon": 40}), Position.of(asker.receipts()[0])
        )
        (most,) = asker._claims._learned.spreads(readings, context).values()
        assert math.sqrt(most[0]) == pytest.approx(said.high, rel=1e-9)


def test_an_unanswered_spread_does_not_hide_an_older_one() -> None:
    spread, mean = "SELECT STDDEV(steady) FROM t WHERE f0", "SELECT AVG(steady) AS m FROM t WHERE f0"
    with opened() as asker:
        wide = ends(asker.ask(mean, epsilon=1))
        asker.ask(spread, epsilon=40)
        known = ends(asker.ask(mean, epsilon=1))
        assert length(known) < length(wide)
        order = ordered(asker.study, asker._batch([spread], {"epsilon": 1}))
        asker._ledger.charge(order)  # and then it crashed
        assert ends(asker.ask(mean, epsilon=1)) == known


@pytest.mark.parametrize("together", [True, False])
def test_theorem_SUBSET_VARIANCE_a_final_radius_knows_the_spread_with_it(
    together: bool,
) -> None:
    """In one query, or in one batch; and for no less than how spread the rows are."""
    for seed in range(3):
        paid = {}
        for what in ("steady", "age"):
            with opened(seed=seed) as asker:
                parts = ["AVG(steady) AS m", f"STDDEV({what}) AS s"]
                asked = [", ".join(parts)] if together else parts
                asker.ask_many([f"SELECT {part} FROM t WHERE f0" for part in asked], epsilon=10)
                (paid[what],), (receipt,) = final_radii(asker), asker.receipts()
                if what == "steady":
                    assert (
                        spread_of_both(receipt.order.detail, asker, sample(seed)) * UNITS_PER_ONE
                        <= paid[what]
                    )
        assert paid["steady"] < 0.9 * paid["age"]


def spread_of_both(detail: str, asker: Curator, frame: pd.DataFrame) -> float:
    """As ``spread_of``, of a mean and a variance of the values of half of the rows."""
    sql = "SELECT AVG(steady), STDDEV(steady) FROM t WHERE f0"
    total, at = 0.0, 2 * frame.steady.to_numpy() / 100 - 1
    for reading, (_, _, *scales) in zip(
        readings_of(request_of(sql, asker.study.table).query, asker.study.unit),
        json.loads(detail),
        strict=True,
    ):
        boxes = [high for _, high in reading.sensitivity.boxes]
        columns = [
            boxes[0] * at,
            *([boxes[1] * (2 * at**2 - 1)] if len(boxes) == 3 else []),
            boxes[-1] + 0 * at,
        ]
        for column, scale in zip(columns, scales, strict=True):
            total += float(np.var(column * frame.f0.to_numpy())) / float(scale) ** 2
    return total


def test_theorem_SUBSET_SUMS_by_groups_hold_for_all_groups_in_many_studies() -> None:
    """Of so many studies, each right for all of its answers with probability 0.95, all are: noise is seeded."""
    for seed in range(often(10, 40)):
        with opened(seed=seed) as asker:
            asker.ask("SELECT region, VARIANCE(age) FROM t WHERE f1 GROUP BY region", epsilon=10)
            rows = asker.ask("SELECT region, SUM(age) AS s FROM t WHERE f1 GROUP BY region", epsilon=5).rows
            for row in rows:
                interval = row.values["s"].population_interval
                assert isinstance(interval, Interval)
                assert interval.low <= 50 * ROWS / 8 <= interval.high


# Plans.


def planned(**plan: Any) -> Curator:
    return opened(rows=4000, **plan)


SHARE = "SELECT PROPORTION(f{i} AND age >= {j} OR NOT f{i} AND age < {j}) AS v FROM t"
PLANS: list[tuple[dict[str, Any], float, str, float]] = [
    ({}, 0.12, SHARE, 1),
    ({"noise": "decreasing"}, 0.1, SHARE, 1),
    ({"share": Fraction(1, 100)}, 0.06, "SELECT PROPORTION(rare AND age <> {j}) AS v FROM t", 1),
    (
        {"share": Fraction(1, 100), "noise": "decreasing"},
        0.06,
        "SELECT PROPORTION(rare AND age <> {j}) AS v FROM t",
        1,
    ),
]
MEANS = [
    pytest.param(
        {"group": Fraction(1, 2)},
        0.25,
        "SELECT PROPORTION(f{i} AND age <> {j}) AS v FROM t WHERE f11",
        1,
    ),
    pytest.param(
        {"spread": Fraction(1, 20)},
        0.08,
        "SELECT AVG(steady) AS v FROM t WHERE age <> {j}",
        100,
    ),
]


@pytest.mark.parametrize(
    ("plan", "tolerance", "sql", "span"), [*PLANS, *MEANS], ids=lambda x: str(x).replace(" ", "")[:30]
)
def test_theorem_PLANNED_NOISE_every_answer_of_a_plan_has_its_tolerance(
    plan: dict[str, Any], tolerance: float, sql: str, span: float
) -> None:
    """To the last one, each at the price that the plan names; and beyond the plan the study goes on."""
    queries = often(12, 30)
    made = {"queries": queries, "tolerance": Fraction(tolerance).limit_denominator(1000), **plan}
    with planned(**made) as asker:
        for k in range(queries):
            interval = ends(asker.ask(sql.format(i=k % (COINS - 1), j=k)))
            # What is expected of a spread is only known once somebody has asked for it.
            more = 1.15 if "spread" in plan else 1.001
            assert length(interval) / 2 <= tolerance * span * more, k
        assert asker.budget().queries == queries
        later = ends(asker.ask(sql.format(i=0, j=99)))
        assert 0 <= later.low < later.high <= 2 * span


def test_beyond_a_plan_a_query_is_refused_if_the_owner_says_so() -> None:
    plan = {"queries": 3, "tolerance": Fraction(1, 5), "beyond_plan": "refuse"}
    with planned(**plan) as asker:
        for i in range(3):
            asker.ask(f"SELECT COUNT(*) FROM t WHERE f{i}")
        assert not asker.preview("SELECT COUNT(*) FROM t WHERE f3", scale=100).fits
        with pytest.raises(BudgetRefused, match="queries"):
            asker.ask("SELECT COUNT(*) FROM t WHERE f3")
        assert asker.budget().queries == 3
        assert asker.ask("SELECT COUNT(*) FROM t WHERE f0").repeated


def scales(asker: Curator, queries: int) -> Iterator[float]:
    for i in range(queries):
        asker.ask(f"SELECT COUNT(*) AS n FROM t WHERE age <> {i}")
        yield float(json.loads(asker.receipts()[-1].order.detail)[0][2])


def test_theorem_PLANNED_NOISE_is_constant_or_falls_as_was_said() -> None:
    plan: dict[str, Any] = {"queries": 40, "tolerance": Fraction(1, 10)}
    with planned(**plan) as constant, planned(noise="decreasing", **plan) as falling:
        same, less = list(scales(constant, 40)), list(scales(falling, 40))
    assert max(same) == pytest.approx(min(same), rel=1e-5)
    assert all(late <= early * 1.0001 for early, late in pairwise(less))
    assert less[0] > 1.1 * less[-1]
    assert less[0] > max(same)


def test_what_a_plan_expects_guarantees_nothing() -> None:
    """A plan for rare shares, asked about common ones: wider than the tolerance, and not wrong."""
    tolerance = Fraction(3, 100)
    made: dict[str, Any] = {"queries": 10, "tolerance": tolerance, "share": Fraction(1, 100)}
    with planned(**made) as asker:
        for i in range(10):
            interval = ends(asker.ask(f"SELECT PROPORTION(f{i}) FROM t"))
            assert interval.low <= 0.5 <= interval.high
        assert length(interval) / 2 > tolerance


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"stability": Fraction(1, 20)}, "the cap of a pure study"),
        ({"tolerance": Fraction(1, 10)}, "validity.tolerance needs validity.queries"),
        ({"share": Fraction(1, 10)}, "give validity.tolerance"),
        ({"noise": "decreasing", "queries": 3}, "give validity.tolerance"),
        (
            {"queries": 3, "tolerance": Fraction(1, 2), "share": Fraction(1), "spread": Fraction(1, 9)},
            "one of the two",
        ),
        ({"queries": 3, "tolerance": Fraction(1, 2), "spread": Fraction(2, 3)}, "at most 0.5"),
        ({"queries": 3, "tolerance": Fraction(1, 2), "group": Fraction(0)}, "above 0"),
        ({"queries": 10**6, "tolerance": Fraction(1, 10)}, "rows certify 1000000 adaptive queries"),
    ],
)
def test_what_does_not_go_with_gaussian_noise_is_refused(facts: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        opened(**facts)


def test_theorem_SUBSET_VARIANCE_a_query_of_another_table_knows_nothing() -> None:
    """Half of the sample is in the other table, and so are persons of no sample: their number looks like all.

    Mutant: lower the radius of every answer, as if all that was counted belonged to the sample.
    """
    unit = PrivacyUnit("add-remove", person="pid")
    visits = Table("visits", (BooleanColumn("ill"),), person="pid")
    study = study_with(
        Table("t", (BooleanColumn("f"),), person="pid"),
        unit=unit,
        epsilon=100,
        delta=Fraction(1, 10**9),
        validity=Validity(Fraction(95, 100)),
        further=(PrivateTable(visits, 1),),
    )
    people = pd.DataFrame({"pid": range(1000), "f": [i % 2 == 0 for i in range(1000)]})
    others = pd.DataFrame({"pid": [*range(0, 1000, 2), *range(5000, 5600)], "ill": [True] * 1100})
    with open_kept(study, data={"t": people, "visits": others}) as asker:
        for sql in (
            "SELECT COUNT(*) FROM t",
            "SELECT COUNT(*) FROM visits WHERE ill",
            "SELECT COUNT(*) FROM t WHERE f",
        ):
            asker.ask(sql, scale=10)
        _, elsewhere, last = asker.receipts()
    assert last.final_radius == elsewhere.order.radius > 0
