"""Suggested bounds: rounded outwards, within what is declared, and as far inside as they say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton import BudgetRefused, Curator, Guarantee, InvalidRequest, MemoryLedger, PrivacyUnit, Study, Table
from adyton import open as open_study
from adyton.curator.bounds import round_outwards
from adyton.curator.mock import mock_of
from adyton.kernel.schema import BooleanColumn, CategoryColumn, Column, IntegerColumn, Lattice, RealColumn
from adyton.study import PrivateTable
from support.curators import kept_engine
from support.randomness import SeededDefault
from support.worlds import study_with

ROWS = 4000
INCOMES = np.random.default_rng(5).lognormal(10.3, 0.6, ROWS).round()
COLUMNS: tuple[Column, ...] = (
    RealColumn("income", Fraction(0), Fraction(10_000_000), Fraction(1)),
    IntegerColumn("odd name", -100, 100),
    BooleanColumn("smoker"),
    CategoryColumn("region", ("north", "south")),
)


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "income": INCOMES,
            "odd name": np.arange(ROWS) % 50,
            "smoker": np.arange(ROWS) % 2 == 0,
            "region": "north",
        }
    )


def study(rows: int | None = ROWS, accounting: str = "gdp", epsilon: int = 50) -> Study:
    unit = "replace-one" if rows is not None else "add-remove"
    return study_with(Table("people", COLUMNS, rows), accounting, unit, epsilon, Fraction(1, 10**9))


def curator(seed: int = 1, **facts: Any) -> Curator:
    known = study(**facts)
    ledger = MemoryLedger.of(known)
    engine = kept_engine(known.table, known.unit, people())
    return Curator(known, engine, ledger, SeededDefault(seed))  # type: ignore[arg-type]


# Rounding ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "step", "expected"),
    [
        ("1234.5", "143210", "0.01", ("0", "150000")),
        ("11000", "99000", "1000", ("10000", "100000")),
        ("18", "89", "1", ("15", "90")),
        ("36.16", "37.44", "0.01", ("36.1", "37.5")),
        ("-143210", "-1234", "1", ("-150000", "0")),
        ("7", "7", "1", ("6", "8")),
        ("0.5", "2.25", "0.25", ("0.5", "2.25")),
        ("3", "90", "3", ("0", "90")),  # no 1, 2, 5, 10, ... is a multiple of this step: 2 steps are a step
        ("1", "299999", "1/3", ("0", "300000")),
        ("0.001", "0.0234", "0.0001", ("0", "0.024")),
        ("9000000", "10000000", "1", ("9000000", "10000000")),
    ],
)
def test_rounding_outwards_to_few_digits(one: str, other: str, step: str, expected: tuple[str, str]) -> None:
    step = Fraction(step)
    lattice = Lattice(step, int(-10_000_000 / step), int(10_000_000 / step))
    assert round_outwards(Fraction(one), Fraction(other), lattice) == tuple(map(Fraction, expected))


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.integers(1, 12), st.integers(1, 1000))
def test_law_rounding_is_outwards_on_the_step_within_bounds_and_not_far(
    a: int, b: int, top: int, bottom: int
) -> None:
    step = Fraction(top, bottom)
    lattice = Lattice(step, -(10**9), 10**9)
    low, high = round_outwards(a * step, b * step, lattice)
    assert -(10**9) * step <= low <= min(a, b) * step
    assert max(a, b) * step <= high <= 10**9 * step
    assert low < high
    assert (low / step).denominator == (high / step).denominator == 1
    assert high - low <= abs(a - b) * step * Fraction(12, 10) + 2 * step


def test_a_float_beside_its_step_is_that_step() -> None:
    assert Fraction(35.3) < Fraction("35.3") and Fraction(37.1) > Fraction("37.1")  # noqa: PT018
    bounds = round_outwards(35.3, 37.1, Lattice(Fraction(1, 10), 0, 1000))
    assert bounds == (Fraction("35.3"), Fraction("37.1"))


# Asking -----------------------------------------------------------------------------------------------------


def test_nearly_all_values_lie_between_and_the_clamp_can_be_asked() -> None:
    with curator() as asked:
        found = asked.suggest_bounds("INCOME", epsilon=5)
        assert found.clamp == f"CLAMP(income, {found.low}, {found.high})"
        assert 0 <= found.low < np.quantile(INCOMES, 0.02)
        assert np.quantile(INCOMES, 0.98) < found.high < 2 * INCOMES.max()
        assert asked.ask(f"SELECT AVG({found.clamp}) FROM people", epsilon=5).value == pytest.approx(
            INCOMES.clip(float(found.low), float(found.high)).mean(), rel=0.1
        )
        assert not found.vague
        assert found.clamp in str(found)
        assert "may be clipped" in str(found)


def test_it_is_one_query_and_free_the_second_time() -> None:
    with curator() as asked:
        first = asked.suggest_bounds("income", epsilon=1)
        again = asked.suggest_bounds("income", epsilon=1)
        assert asked.budget().queries == 1
        assert asked.study.epsilon_of(asked.budget().spent.units) == pytest.approx(1)
        assert again.answer.repeated
        assert (first.low, first.high, first.more_rows) == (again.low, again.high, again.more_rows)
        with pytest.raises(BudgetRefused):
            asked.suggest_bounds("income", epsilon=1000 // 20 + 1)
        assert asked.budget().queries == 1


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_law_no_more_rows_are_clipped_than_is_said(accounting: str) -> None:
    """Each end may be off with probability 0.05 at most; the seeds are fixed, so this cannot fail by chance.

    Mutant: a quarter of ``more_rows``.
    """
    runs, wrong, beyond = 30, 0, 0
    for seed in range(runs):
        with curator(seed, accounting=accounting) as asked:
            found = asked.suggest_bounds("income", epsilon=1, low_fraction="0.1", high_fraction="0.9")
        (row,) = found.answer.rows
        low, high = (v.value for v in row.values.values())
        assert found.more_rows is not None
        for clipped in ((low > INCOMES).sum(), (high < INCOMES).sum()):
            wrong += clipped > 0.1 * ROWS + found.more_rows
            beyond += clipped > 0.1 * ROWS + found.more_rows / 4
    assert wrong <= 0.05 * 2 * runs
    assert beyond > 0  # so more_rows is not far too large either


@pytest.mark.parametrize("seed", range(8))
def test_where_noise_is_large_quantiles_are_further_inside_and_not_lost(seed: int) -> None:
    with curator(seed) as asked:
        found = asked.suggest_bounds("income", epsilon="0.3")
        assert found.more_rows is not None
        assert found.low_fraction == 1 - found.high_fraction > Fraction(5, 1000)
        assert found.low_fraction * ROWS >= found.more_rows
        assert found.high < 2 * INCOMES.max()
        assert not found.vague


def test_it_says_when_noise_may_have_moved_an_end() -> None:
    with curator() as asked:
        found = asked.suggest_bounds("income", epsilon="0.1", low_fraction="0.001", high_fraction="0.999")
        assert found.vague
        assert "Noise may have moved an end far out" in str(found)
    with curator(rows=None) as asked:
        assert asked.suggest_bounds("income", epsilon=5).vague  # nobody knows how many rows there are
        assert not asked.suggest_bounds("income", epsilon=5, expected_rows=ROWS).vague


def test_names_rows_and_further_tables() -> None:
    with curator() as asked:
        odd = asked.suggest_bounds("odd name", epsilon=5, where="smoker", expected_rows=2000)
        assert odd.clamp.startswith('CLAMP("odd name", ')
        assert odd.answer.query.endswith("WHERE smoker")
        assert asked.ask(f"SELECT AVG({odd.clamp}) FROM people", epsilon=5).value == pytest.approx(
            24.5, abs=3
        )
    visits = Table("visits", (IntegerColumn("cost", 0, 10_000),), None, "person_id")
    people = Table("people", (IntegerColumn("cost", 0, 5),), None, "person_id")
    unit = PrivacyUnit("add-remove", "person_id")
    both = Study(
        people, unit, Guarantee(Fraction(50), Fraction(1, 10**9)), further=(PrivateTable(visits, 2),)
    )
    frames = {
        "people": pd.DataFrame({"person_id": range(2000), "cost": 1}),
        "visits": pd.DataFrame({"person_id": range(2000), "cost": np.arange(2000) % 100}),
    }
    with open_study(both, data=frames) as asked:
        found = asked.suggest_bounds("Visits.cost", epsilon=10, expected_rows=2000, high_fraction="0.9")
        assert found.answer.query.endswith("FROM visits")
        assert 80 <= found.high <= 120


def test_a_mock_says_so_here_too() -> None:
    with mock_of(study()) as asked:
        found = asked.suggest_bounds("income", epsilon=1)
        assert "made up" in str(found)
        assert found.to_json()["asked"]["mock"] is True


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"column": "region"}, "'region' is category; only numbers"),
        ({"column": "incme"}, "did you mean 'income'"),
        ({"column": "visits.income"}, "no column 'visits.income'"),
        ({"low_fraction": "0.9", "high_fraction": "0.1"}, "low_fraction must be below high_fraction"),
        ({"low_fraction": 0}, "above 0 and below 1"),
        ({"high_fraction": 1}, "above 0 and below 1"),
        ({"low_fraction": "much"}, "low_fraction must be a finite number"),
        ({"where": "nobody"}, "no column 'nobody'"),
        ({"where": "smoker) OR (smoker"}, "read as SQL"),
        ({"epsilon": None}, "no price was named"),
        ({"expected_rows": 0}, "expected_rows must be a whole number"),
        ({"epsilon": "0.01"}, "of 4,000 rows from each end, so nothing would be learned"),
        ({"expected_rows": 5, "low_fraction": "0.1"}, "of 5 rows from each end"),
    ],
)
def test_what_makes_no_sense_is_refused_free_of_charge(words: dict[str, Any], says: str) -> None:
    with curator() as asked:
        with pytest.raises(InvalidRequest, match=says):
            asked.suggest_bounds(**({"column": "income", "epsilon": 1} | words))
        assert asked.budget().queries == 0
