"""Public cells: every count is a sum over them, and no two cells could be one."""

from __future__ import annotations

import datetime
import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from adyton.engines.duckdb import DuckDBEngine
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.kernel.terms.expressions import And, Compare, Condition, Not, Plus
from adyton.kernel.terms.leaves import Constant, DayOf, IsMissing, OneOf, ValueOf
from adyton.kernel.terms.measures import Count
from adyton.planning.readings import histogram_of_axes, readings_of
from adyton.query.conditions.atoms import Axes, axes_by, axes_of_columns
from adyton.query.nodes import Query
from adyton.query.sql.read import parse
from adyton.testing.engines.random import TABLE, random_condition

AGE = IntegerColumn("age", 0, 119)
INCOME = RealColumn("income", Fraction(0), Fraction(10**6), Fraction(1, 100))
REGION = CategoryColumn("region", ("north", "south", "east"))
BORN = DateColumn("born", datetime.date(1900, 1, 1), datetime.date(2020, 12, 31))
PEOPLE = Table("people", (AGE, INCOME, REGION, BORN, BooleanColumn("smoker"), TextColumn("city")), 40)


def asked(*texts: str) -> Axes:
    queries = [parse(f"SELECT {text}", PEOPLE) for text in texts]
    return axes_by(PEOPLE, [one.where for one in queries], [group for one in queries for group in one.by])


def sizes(axes: Axes) -> dict[str, int]:
    return {axis.name: axis.size for axis in axes.axes}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["COUNT(*) FROM people"], {}),
        (["COUNT(*) FROM people WHERE age < 30"], {"age": 2}),  # missing and above: nobody asks which
        (["COUNT(*) FROM people WHERE age BETWEEN 20 AND 29"], {"age": 2}),  # below and above are alike
        (["COUNT(*) FROM people WHERE NOT (age < 30)", "COUNT(*) FROM people WHERE age < 30"], {"age": 3}),
        (["COUNT(*) FROM people WHERE age <= 29", "COUNT(*) FROM people WHERE age < 30"], {"age": 2}),
        (["COUNT(*) FROM people WHERE income < 100.005"], {"income": 2}),
        (["COUNT(*) FROM people WHERE region IN ('north', 'south')"], {"region": 2}),
        (["region, COUNT(*) FROM people GROUP BY region"], {"region": 4}),
        (["COUNT(*) FROM people WHERE age IS NULL"], {"age": 2}),
        (["COUNT(*) FROM people WHERE EXTRACT(MONTH FROM born) = 2"], {"born": 2}),
        (["FLOOR(income / 1000), COUNT(*) FROM people GROUP BY 1"], {"income": 1002}),
        (["COUNT(*) FROM people WHERE age < income", "COUNT(*) FROM people WHERE smoker"], {"(age < income)": 2, "smoker": 2}),
        (
            ["COUNT(*) FROM people WHERE age + income < 10", "COUNT(*) FROM people WHERE age + income < 20"],
            {"(age + income)": 3},
        ),
        (["COUNT(*) FROM people WHERE city IS NULL"], {"(city IS NULL)": 2}),
    ],
)  # fmt: skip
def test_the_classes_are_the_coarsest(texts: list[str], expected: dict[str, int]) -> None:
    assert sizes(asked(*texts)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_every_two_classes_are_told_apart_by_some_piece(seed: int) -> None:
    """So there is no coarser division."""
    rng = random.Random(seed)
    axes = axes_by(TABLE, [random_condition(rng, 2) for _ in range(5)])
    for axis in axes.axes:
        signatures = {
            tuple(int(piece.of(axis._rows())[i]) for piece in axis.made_of) for i in range(axis.size)
        }
        assert len(signatures) == axis.size


def people() -> pa.Table:
    rng = np.random.default_rng(3)
    days = [datetime.date(1900, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 44_000, 40)]
    ages = [None if i % 7 == 0 else int(age) for i, age in enumerate(rng.integers(-5, 130, 40))]
    return pa.table(
        {
            "age": ages,
            "income": rng.uniform(0, 5000, 40),
            "region": rng.choice(["north", "south", "east", "nowhere"], 40),
            "born": days,
            "smoker": rng.random(40) < 0.5,
            "city": rng.choice(["rome", "oslo"], 40),
        }
    )


def counted(engine: DuckDBEngine, axes: Axes, by: tuple[int, ...] | None = None) -> Any:
    engine.prepare()
    histogram = histogram_of_axes(axes, by, PrivacyUnit("add-remove"))
    ((integers,),) = engine.exact([histogram.reading])
    return histogram.counts(integers)


def test_cells_of_columns_hold_every_row_once() -> None:
    bins = {"age": 6, "income": [1000, "2500.5"], "born": [datetime.date(1950, 1, 1)]}
    axes = axes_of_columns(PEOPLE, ["region", "smoker", "age", "income", "born"], bins)
    assert axes.shape == (4, 3, 7, 4, 3)
    engine = DuckDBEngine(PEOPLE, PrivacyUnit("add-remove"), people())
    counts = counted(engine, axes)
    assert counts.sum() == 40
    for by in [(), (2,), (0, 3), (4, 1)]:
        marginal = counted(engine, axes, by)
        away = tuple(place for place in range(5) if place not in by)
        whole = counts.reshape(axes.shape).sum(axis=away)
        assert (
            marginal.reshape([axes.shape[p] for p in by]) == whole.transpose(np.argsort(np.argsort(by)))
        ).all()


def test_what_the_cells_do_not_tell_apart_is_refused_by_name() -> None:
    axes = asked("COUNT(*) FROM people WHERE age < 30", "COUNT(*) FROM people WHERE age >= 60")
    ages = {"age < 30", "age >= 60", "age < 60"}

    def number(text: str) -> Condition:
        return parse(f"SELECT COUNT(*) FROM people WHERE {text}", PEOPLE).where

    assert axes.mask(number("age < 30 OR age >= 60")).sum() == 2
    with pytest.raises(InvalidRequest, match="'age'"):  # missing ages are with those from 30 to 59
        axes.mask(number("age < 60"))
    with pytest.raises(InvalidRequest, match="begin at 30 and 60"):
        axes.mask(number("age < 45"))
    for text in ("age < 29", "age <> 70", "region = 'north'"):
        with pytest.raises(InvalidRequest, match=text.split()[0]):
            axes.mask(number(text))
    told = asked(*(f"COUNT(*) FROM people WHERE {text}" for text in ages))
    assert told.mask(number("age BETWEEN 30 AND 59")).sum() == 1


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("income < 17", "'income': around there they begin at 0 and 2500.5$"),
        ("income >= 2500.51", "'income': around there they begin at 2500.5$"),
        ("born < DATE '1949-12-31'", "'born': around there they begin at 1900-01-01 and 1950-01-01$"),
        ("born < DATE '1949-12-31' OR income < 17", "'(born|income)': around there"),
        ("age < 30", "'age'$"),  # which has no axis
    ],
)
def test_a_refusal_says_where_classes_begin(condition: str, why: str) -> None:
    """Mutants: the next start is left out; steps are shown in place of numbers and days."""
    bins = {"income": ["2500.5"], "born": [datetime.date(1950, 1, 1)]}
    axes = axes_of_columns(PEOPLE, ["income", "born", "region"], bins)
    with pytest.raises(InvalidRequest, match=why):
        axes.mask(parse(f"SELECT COUNT(*) FROM people WHERE {condition}", PEOPLE).where)


def test_too_many_cells_are_refused_with_the_number_and_what_to_leave_out() -> None:
    axes = asked(
        "age, region, FLOOR(income / 1000), COUNT(*) FROM people WHERE FALSE OR age < 3 GROUP BY 1, 2, 3"
    )
    assert axes.cells == 121 * 4 * 1002
    axes.check()
    with pytest.raises(
        InvalidRequest, match=r"484968 cells; at most 100000 .* 'income', which has 1002 parts"
    ):
        axes.check(100_000)


@pytest.mark.parametrize(
    ("columns", "bins", "message"),
    [
        (["age"], {}, "'age' has no declared values: give bins"),
        (["city"], {}, "'city' are not declared"),
        (["region", "REGION"], {}, "named twice"),
        (["age"], {"age": 0}, "at least 1"),
        (["age"], {"age": "many"}, "list of where"),
        (["nowhere"], {}, "no column 'nowhere'"),
    ],
)
def test_columns_without_values_are_refused_by_name(columns: list[str], bins: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InvalidRequest, match=message):
        axes_of_columns(PEOPLE, columns, bins)


def test_groups_that_are_not_declared_have_no_cells() -> None:
    with pytest.raises(InvalidRequest, match="not declared"):
        asked("city, COUNT(*) FROM people GROUP BY city")


def test_theorem_PUBLIC_CELLS_masks_are_where_conditions_hold_of_all_rows() -> None:
    """All values of small columns, missing ones too, one row each: as the engine decides it."""
    table = Table("t", (IntegerColumn("x", 0, 3), IntegerColumn("y", 0, 3), CategoryColumn("c", ("a", "b"))))
    x, y, c = table.columns
    assert isinstance(x, IntegerColumn)
    assert isinstance(y, IntegerColumn)
    assert isinstance(c, CategoryColumn)
    values = [*range(4), None]
    all_rows = list(itertools.product(values, values, ["a", "b", None]))
    rows = pa.table({name: [row[i] for row in all_rows] for i, name in enumerate("xyc")})
    two = Constant(Fraction(2))
    conditions = [
        Compare(ValueOf(x), "<", ValueOf(y)),
        Compare(Plus(ValueOf(x), ValueOf(y)), ">=", two),
        Not(Compare(ValueOf(x), "=", two)),
        OneOf(c, ("a",)),
        Not(OneOf(c, ("b",))),
        IsMissing(y),
        Compare(two, "<=", ValueOf(y)),
        Not(And((Compare(ValueOf(y), "<", two), OneOf(c, ("a",))))),
    ]
    engine = DuckDBEngine(table, PrivacyUnit("add-remove"), rows)
    for some in itertools.combinations(conditions, 3):
        axes = axes_by(table, some)
        counts = counted(engine, axes)
        assert counts.sum() == len(all_rows)
        for condition in some:
            asked = Query(table, (("n", Count(condition)),))
            (((plain,),),) = engine.exact(readings_of(asked, PrivacyUnit("add-remove")))
            assert counts[axes.mask(condition)].sum() == plain


def test_a_condition_that_is_true_of_nobody_makes_no_group() -> None:
    axes = axes_by(PEOPLE, [Compare(DayOf(BORN), "<", DayOf(BORN))])
    assert axes.shape == (1,)
    assert axes.query().by == ()
    engine = DuckDBEngine(PEOPLE, PrivacyUnit("add-remove"), people())
    assert list(counted(engine, axes)) == [40]
