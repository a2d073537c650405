"""A reserve: no query reads it, so tests on it err as often as they say, whatever the answers led to."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import adyton
from adyton.audit.replay import replay
from adyton.certify import Interval
from adyton.engines.loading import clipped, sources
from adyton.engines.loading.parting import reserve_edge
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.population.base import least_outside, units_outside
from adyton.population.reserve import Opening, open_once, order_of, significant
from adyton.setup.reserve import open_reserve
from adyton.study import Study, Validity
from adyton.study.validity import FOR_COUNTS, FOR_NOISE, claims_failure
from adyton.testing.engines.reference import in_reserve
from adyton.validity.part_sizes import most_by_lot
from support.curators import open_kept, seeded
from support.tries import crossed, often

ROWS, COINS, ALPHA, SHARE = 300, 28, Fraction(1, 10), Fraction(2, 5)
BUDGET = Guarantee(Fraction(500), Fraction(1, 10**9))
UNITS = (PrivacyUnit("replace-one"), PrivacyUnit("replace-one", "who"), PrivacyUnit("add-remove", "who"))
IDS = ["rows", "persons", "persons, size private"]


def study_of(
    unit: PrivacyUnit, columns: Any, rows: int | None = ROWS, share: Fraction = SHARE, **more: Any
) -> Study:
    table = Table("t", tuple(columns), rows, unit.person)
    return Study(table, unit, BUDGET, validity=Validity(Fraction(19, 20), reserve=share, **more))


def coins(seed: int) -> pd.DataFrame:
    flips = np.random.default_rng(seed).random((ROWS, COINS)) < 0.5
    return pd.DataFrame({"who": np.arange(ROWS), **{f"f{i}": flips[:, i] for i in range(COINS)}})


FAIR = [BooleanColumn(f"f{i}") for i in range(COINS)]


def p_values(study: Study, seed: int) -> tuple[float, float]:
    """Of the test that the answers chose, on the reserve and on all rows: do the coins lean as answers said?

    The answers have next to no noise, so they say of each coin how it leans in the rows that they read.
    """
    frame = coins(seed)
    with seeded(study, frame, seed) as asker:
        asked = [f"SELECT COUNT(*) FROM t{where}" for where in ("", *(f" WHERE f{i}" for i in range(COINS)))]
        answers = asker.ask_many(asked, scale="0.6", strategy="independent")
        every, *each = (answer.rows.values["count"].value[0] for answer in answers)
        leaning = 2 * np.array(each) > every
        words = f"the coins lean like {''.join('01'[bool(one)] for one in leaning)}"
        rows = open_reserve(asker, [words], alpha=ALPHA, data=frame).to_pandas()

    def p_value(rows: pd.DataFrame) -> float:
        heads = int(np.count_nonzero(rows[[f"f{i}" for i in range(COINS)]].to_numpy(bool) == leaning))
        return float(binom.sf(heads - 1, len(rows) * COINS, 0.5))

    return p_value(rows), p_value(frame)


def rejected(study: Study, runs: int) -> tuple[int, int]:
    found = [p_values(study, seed) for seed in range(runs)]
    return sum(own <= ALPHA for own, _ in found), sum(all_rows <= ALPHA for _, all_rows in found)


@pytest.mark.parametrize("unit", UNITS, ids=IDS)
def test_theorem_RESERVE_TEST_nulls_that_the_answers_chose(
    unit: PrivacyUnit,
) -> None:
    """False alarms: 1e-6 each, and all is seeded.  On all rows the same test is rejected nearly always."""
    runs = often(8, 400)
    own, naive = rejected(study_of(unit, FAIR), runs)
    assert own <= binom.isf(1e-6, runs, float(ALPHA))
    assert naive > binom.isf(1e-6, runs, float(ALPHA))


def test_the_same_test_sees_a_reserve_that_queries_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: ``kept_by`` is true of everybody while queries are asked."""
    sound = sources.kept_by
    monkeypatch.setattr("support.curators._engines", {})  # the mutant is in how rows are loaded

    def leaky(reserve: Any, *others: Any) -> str:
        return sound(reserve, *others) if reserve.opened else "true"

    for place in (clipped, sources):
        monkeypatch.setattr(place, "kept_by", leaky)
    runs = often(8, 400)
    assert rejected(study_of(UNITS[0], FAIR), runs)[0] > binom.isf(1e-6, runs, float(ALPHA))


def test_theorem_RESERVE_TEST_several_tests_share_alpha_in_any_dependence() -> None:
    """The worst joint law of p-values that are valid one by one: at most one of k is below alpha / k at a time.

    Exactly alpha is reached by the first step, and never passed, whichever nulls are true.  Mutants: alpha for
    each test; a division by one fewer.
    """
    for k in (1, 2, 3, 5):
        receipt: Any = None
        opening = Opening(receipt, tuple(map(str, range(k))), ALPHA)
        level = ALPHA / k
        wrong = Fraction(0)
        for small in range(k):  # with probability alpha / k it is this one, and then it is as small as may be
            p = [Fraction(1, 2) if place != small else level for place in range(k)]
            wrong += level * any(significant(opening, p))
        assert wrong == ALPHA
        for p in product([Fraction(0), level, level + Fraction(1, 10**9), Fraction(1)], repeat=k):
            called = significant(opening, p)
            for true in product([False, True], repeat=k):
                least = min((own for own, null in zip(p, true, strict=True) if null), default=Fraction(1))
                false = any(said and null for said, null in zip(called, true, strict=True))
                assert not false or least <= ALPHA / sum(true)


def test_theorem_RESERVE_TEST_what_is_tested_is_named_before_and_once() -> None:
    ledger = MemoryLedger.of(study_of(UNITS[0], FAIR))
    first = open_once(ledger, order_of(["a", "b"], "0.05"))
    assert open_once(ledger, order_of(["a", "b"], "0.05")) == first
    for tests, alpha in (
        (["a"], "0.05"),
        (["a", "b", "c"], "0.05"),
        (["a", "b"], "0.06"),
        (["b", "a"], "0.05"),
    ):
        with pytest.raises(adyton.InvalidRequest, match="was opened before"):
            open_once(ledger, order_of(tests, alpha))
        with pytest.raises(adyton.InvalidRequest, match="already used"):  # also whoever did not look before
            ledger.charge(order_of(tests, alpha))
    assert ledger.count() == 1
    assert first.level == Fraction(1, 40)
    assert (ledger.spent(), ledger.spent_radius(), ledger.totals().unproved) == (1, 0, 0)


# Privacy ---------------------------------------------------------------------------------------------------

ASKED = (
    "SELECT COUNT(*) FROM t",
    "SELECT PROPORTION(smoker) FROM t",
    "SELECT AVG(age), SUM(age) FROM t WHERE smoker",
    "SELECT smoker, AVG(age) FROM t GROUP BY smoker",
    "SELECT MEDIAN(age) FROM t",
)
PEOPLE = [IntegerColumn("age", 0, 100), BooleanColumn("smoker")]


def people(names: list[int]) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    size = len(names)
    return pd.DataFrame({"who": names, "age": rng.integers(0, 101, size), "smoker": rng.random(size) < 0.5})


@pytest.mark.parametrize(("unit", "sql"), crossed(UNITS, ASKED))
def test_theorem_RESERVE_TEST_neighbors_inside_outside_and_across(unit: PrivacyUnit, sql: str) -> None:
    """What differs within the reserve moves nothing; elsewhere, and across its border, sensitivities hold.

    Mutants: ``kept_by`` always true (the reserve moves); a hash of values, by which others move too.
    """
    size, kept = 40, adyton.kernel.privacy.Reserve(SHARE)
    inside, outside = (
        list(islice((n for n in range(1000) if in_reserve(n, kept) == where), 21)) for where in (True, False)
    )
    names = list(range(size)) if unit.person is None else inside[:20] + outside[:20]
    frame, asked = people(names), study_of(unit, PEOPLE, size)
    for place in (names.index(inside[0]), names.index(outside[0])):
        within = in_reserve(names[place], kept)
        for other in {None: [names[place]], "who": [inside[20], outside[20]]}[unit.person]:
            if unit.adjacency == "replace-one":
                changed = frame.copy()
                changed.loc[place] = [other, 100 if frame.age[place] < 50 else 0, not frame.smoker[place]]
            else:
                changed = frame.drop(index=place)
            found = replay(asked, (frame, changed), sql, opened_by=open_kept, epsilon=1)
            assert not found.refuted, found.faults
            stays = within and (unit.adjacency != "replace-one" or in_reserve(other, kept))
            moved = any(m.l1 for m in found.movements)
            assert not (stays and moved)
            assert moved or stays or sql == ASKED[0]  # an exchange moves no count of all


# How many units there are, and what is said of the population ------------------------------------------------


@pytest.mark.parametrize("share", [Fraction(1, 5), Fraction(1, 2), Fraction(99, 100), Fraction(1, 1000)])
@pytest.mark.parametrize("units", [1, 30, 5000, 10**6])
def test_theorem_RESERVE_TEST_the_number_of_units_that_are_read(units: int, share: Fraction) -> None:
    """Exact binomial tails.  Mutants: half of the logarithm; the variance without 1 - share."""
    for failure in (Fraction(1, 20), Fraction(1, 10**4), Fraction(1, 10**9)):
        most = most_by_lot(units, share, failure)
        assert binom.sf(most, units, float(share)) <= failure * (1 + Fraction(1, 10**9))
        assert most <= units
        study = study_of(UNITS[1], FAIR, 10**6, share)  # where each part has units
        least, upper = least_outside(study, units, failure), units_outside(study, units, failure)
        assert upper is not None
        missed = binom.sf(upper, units, float(1 - share)) + binom.cdf(least - 1, units, float(1 - share))
        assert missed <= failure * (1 + Fraction(1, 10**9))
        assert upper == max(
            1, most_by_lot(units, 1 - share, failure / 2)
        )  # mutant: all of the failure on each side
        assert least == units - most_by_lot(units, share + Fraction(1, 16**12), failure / 2)


def test_theorem_RESERVE_TEST_the_share_that_is_read_is_rounded_down() -> None:
    """Of 10**16 units 35 more may be in the reserve than the share says.  Mutant: the share as it is written."""
    share = Fraction(1, 10**15)
    study = study_of(UNITS[2], FAIR, None, share)
    assert Fraction(int(reserve_edge(share), 16), 16**12) > share
    surely = least_outside(study, 10**16, Fraction(1, 2))
    assert 10**16 - surely > most_by_lot(10**16, share, Fraction(1, 4)) + 30


def test_theorem_RESERVE_TEST_failures_add_up() -> None:
    for unit in UNITS:
        declared = study_of(unit, FAIR).validity
        assert declared is not None
        failure = 1 - declared.confidence
        assert claims_failure(declared, unit.adjacency) + failure * (FOR_COUNTS + FOR_NOISE) <= failure


def test_theorem_RESERVE_TEST_the_edge_is_not_below_the_share() -> None:
    for share in (Fraction(1, 3), Fraction(1, 5), Fraction(1, 10**15), 1 - Fraction(1, 10**13)):
        edge = reserve_edge(share)
        least = Fraction(int(edge, 16) if edge != "g" else 16**12, 16**12)
        assert share <= least <= share + Fraction(1, 16**12)
        assert len(edge) in (12, 1)


@pytest.mark.parametrize("unit", UNITS, ids=IDS)
def test_theorem_RESERVE_TEST_intervals_hold_after_the_outcome_is_known(unit: PrivacyUnit) -> None:
    """Of so many units as are read, and of shares; half of the queries come after the reserve was seen.

    At confidence 0.9 each study may miss as often as that says; a false alarm has probability 1e-6.
    Mutant: the population value for all units is missed by every count.
    """
    runs, missed = often(8, 200), 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "who": rng.permutation(10**6)[:600],
                "age": rng.integers(0, 101, 600),
                "smoker": rng.random(600) < 0.3,
            }
        )
        asked = study_of(unit, PEOPLE, 600)
        assert asked.validity is not None
        asked = replace(asked, validity=replace(asked.validity, confidence=Fraction(9, 10)))
        read = [n for n in (frame.who if unit.person else range(600)) if not in_reserve(n, asked.reserve)]
        with seeded(asked, frame, seed) as asker:
            answers = [asker.ask("SELECT COUNT(*) FROM t", scale=5)]
            answers += [asker.ask("SELECT COUNT(*) FROM t WHERE smoker", scale=5)]
            seen = open_reserve(asker, ["age and smoking go together"], data=frame).to_pandas()
            middle = int(seen[seen.smoker].age.median())
            answers += [asker.ask(f"SELECT COUNT(*) FROM t WHERE age > {middle}", scale=5)]
            answers += [asker.ask("SELECT PROPORTION(smoker) FROM t WHERE age > 50", scale="0.05")]
        above = Fraction(100 - middle, 101)
        truths = [len(read), len(read) * Fraction(3, 10), len(read) * above, Fraction(3, 10)]
        missed += not all(map(_holds, answers, truths))
    assert missed <= binom.isf(1e-6, runs, 0.1)


def _holds(answer: adyton.Answer, truth: Fraction) -> bool:
    (value,) = answer.rows[0].values.values()
    interval = value.population_interval
    assert isinstance(interval, Interval) or answer.receipt.number == 1  # the first count is of all units
    return not isinstance(interval, Interval) or interval.low <= truth <= interval.high
