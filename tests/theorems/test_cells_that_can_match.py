"""A group is left out only if no row can be in it and meet the conditions; what is kept has a price of its own.

Columns are so small that all rows there can be are tried, with the engines' own three truths.
"""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adyton.audit import replay
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import ADJACENCIES, Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    day_number,
)
from adyton.kernel.terms.buckets import Bucket, Group, group_size
from adyton.kernel.terms.expressions import (
    And,
    Case,
    Clip,
    Compare,
    Condition,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Or,
    Plus,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import (
    EVERY_ROW,
    Always,
    Constant,
    DatePart,
    Day,
    DayOf,
    IsMissing,
    IsTrue,
    Lookup,
    OneOf,
    ValueOf,
)
from adyton.kernel.terms.measures import Cdf, Count, Mean, Measure, Sum
from adyton.kernel.terms.names import columns_in
from adyton.planning.readings import readings_of
from adyton.query.conditions import possible_cells as cells_module
from adyton.query.conditions.possible_cells import kept_cells, number_of_cells
from adyton.query.nodes import Query
from adyton.study import Study
from adyton.testing.engines.cases import readings_of_all_cells
from adyton.testing.engines.meaning import condition as meaning
from adyton.testing.engines.reference import _contribution
from support.curators import open_kept
from support.shorthands import cell_values, told_of_each
from support.tries import LONG, crossed, often

AGE = IntegerColumn("age", -2, 3)
PART = RealColumn("part", Fraction(0), Fraction(1), Fraction(1, 4))
REGION = CategoryColumn("region", ("a", "b", "c"))
SMOKER = BooleanColumn("smoker")
BORN = DateColumn("born", datetime.date(1999, 12, 30), datetime.date(2000, 1, 2))
TABLE = Table("t", (AGE, PART, REGION, SMOKER, BORN), rows=3)
VALUES: dict[str, list[Any]] = {
    "age": [*range(-2, 4), None],
    "part": [*range(5), None],
    "region": [0, 1, 2, None],
    "smoker": [False, True, None],
    "born": [*range(day_number(BORN.low), day_number(BORN.high) + 1), None],
}
EVERY = [dict(zip(VALUES, row, strict=True)) for row in itertools.product(*VALUES.values())]


def counted_cells(query: Query) -> set[int]:
    """The cells in which some row of all that there can be counts, by a plain loop."""
    sizes = [group_size(group) for group in query.by]
    found = set[int]()
    for reading in readings_of_all_cells(query, PrivacyUnit("replace-one")):
        keys = {key for key, _ in told_of_each(partial(_contribution, reading), EVERY) if key is not None}
        found |= {int(np.ravel_multi_index(key, sizes)) for key in keys}
    return found


def kept_set(query: Query) -> set[int]:
    try:
        kept = kept_cells(query)
    except InvalidRequest:  # no declared group can match
        return set()
    return set(range(query.cells)) if kept is None else set(kept)


# Random queries ------------------------------------------------------------------------------------------


def a_number(rng: random.Random, depth: int) -> NumberExpression:
    leaves: list[Callable[[], NumberExpression]] = [
        lambda: ValueOf(AGE),
        lambda: ValueOf(PART),
        lambda: Constant(Fraction(rng.randint(-3, 3), rng.choice([1, 2]))),
        lambda: Lookup(REGION, (rng.choice([None, 0, 2]), rng.choice([None, 0, 5]), 7)),
        lambda: DatePart(rng.choice(["year", "quarter", "month", "day", "weekday"]), DayOf(BORN)),
    ]
    larger: list[Callable[[], NumberExpression]] = [
        lambda: Plus(a_number(rng, depth - 1), a_number(rng, depth - 1)),
        lambda: Times(a_number(rng, depth - 1), a_number(rng, depth - 1)),
        lambda: Negative(a_number(rng, depth - 1)),
        lambda: Square(a_number(rng, depth - 1)),
        lambda: Clip(a_number(rng, depth - 1), Fraction(-1), Fraction(1)),
        lambda: Floor(a_number(rng, depth - 1), Fraction(rng.randint(1, 5), 2)),
        lambda: Indicator(a_condition(rng, depth - 1)),
        lambda: Case(
            ((a_condition(rng, depth - 1), a_number(rng, depth - 1)),),
            rng.choice([None, Constant(Fraction(1))]),
        ),
    ]
    return possible(lambda: rng.choice(larger if depth > 0 and rng.random() < 0.6 else leaves)())


def a_condition(rng: random.Random, depth: int) -> Condition:
    leaves: list[Callable[[], Condition]] = [
        lambda: Compare(a_number(rng, 1), rng.choice(["<", "<=", "=", "<>", ">=", ">"]), a_number(rng, 0)),
        lambda: Compare(
            DayOf(BORN), rng.choice(["<", "<=", "=", "<>", ">=", ">"]), Day(rng.choice(VALUES["born"][:-1]))
        ),
        lambda: OneOf(REGION, tuple(rng.sample(REGION.values, rng.choice([1, 2])))),
        lambda: IsTrue(SMOKER),
        lambda: IsMissing(rng.choice(TABLE.columns)),
        lambda: Always(rng.random() < 0.5),
    ]
    larger: list[Callable[[], Condition]] = [
        lambda: Not(a_condition(rng, depth - 1)),
        lambda: And((a_condition(rng, depth - 1), a_condition(rng, depth - 1))),
        lambda: Or((a_condition(rng, depth - 1), a_condition(rng, depth - 1))),
    ]
    return possible(lambda: rng.choice(larger if depth > 0 and rng.random() < 0.7 else leaves)())


def some_groups(rng: random.Random) -> tuple[Group, ...]:
    number = possible(lambda: small(Bucket("number", a_number(rng, 2))))
    month = Bucket("month", DatePart("month", DayOf(BORN)))
    ages, days = Bucket("age", ValueOf(AGE)), Bucket("born", DayOf(BORN))
    plain: list[Group] = [REGION, SMOKER, ages, days, month, number]
    if rng.random() < 0.5:  # rows without a value are a group as well
        plain = [replace(one, null=True) if isinstance(one, Bucket) else one for one in plain]
    return tuple(rng.sample(plain, rng.choice([1, 1, 2])))


def small(bucket: Bucket) -> Bucket:
    if group_size(bucket) > 60:
        raise InvalidRequest("too many")
    return bucket


def a_query(rng: random.Random) -> Query:
    own = [EVERY_ROW, EVERY_ROW, a_condition(rng, 1)]
    measures = tuple((f"m{i}", Count(rng.choice(own))) for i in range(rng.choice([1, 2])))
    asked = Query(TABLE, measures, a_condition(rng, 2), some_groups(rng))
    return asked if rng.random() < 0.5 else with_null(asked)


def with_null(node: Any) -> Any:
    """The same where rows without a region, or without a truth, are a group of their own."""
    if isinstance(node, CategoryColumn | BooleanColumn):
        return replace(node, missing=True)
    if isinstance(node, tuple):
        return tuple(map(with_null, node))
    if not is_dataclass(node) or isinstance(node, Column | type):
        return node
    parts = {part.name: with_null(getattr(node, part.name)) for part in fields(node) if part.init}
    return replace(node, **parts)


def possible(make: Callable[[], Any]) -> Any:
    while True:
        try:
            return make()
        except InvalidRequest:
            continue


# What is left out ------------------------------------------------------------------------------------------


# Usually twenty queries for each number of rows at a time, in a long run the same forty for all.
@pytest.mark.parametrize(("seed", "most"), crossed(range(often(60, 40)), [2**20, 30, 1]))
def test_theorem_CELLS_THAT_CAN_MATCH_no_row_that_counts_is_left_out(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows together, a few at a time, or none.  Mutants that fail here: OR as AND in ``possible._or``; a missing value that is taken for a match of NOT;
    a comparison of a number that is not known taken for false; a step too few in ``cells._between``.
    """
    monkeypatch.setattr(cells_module, "_MOST_ROWS", most)
    cells_module._kept.cache_clear()
    query = a_query(random.Random(seed))
    assert counted_cells(query) <= kept_set(query)
    cells_module._kept.cache_clear()


@pytest.mark.parametrize("seed", range(often(16, 40)))
def test_theorem_CELLS_THAT_CAN_MATCH_every_cell_is_possible_if_keys_alone(
    seed: int,
) -> None:
    """Where the conditions read columns of the groups alone, what is kept is exactly what can match."""
    rng = random.Random(seed)
    for _ in range(20):
        query = a_query(rng)
        names = {column.name for column in columns_in(query.by)}
        read = columns_in(query.where, *(measure.where for _, measure in query.measures))
        if {column.name for column in read} <= names:
            assert kept_set(query) == counted_cells(query)


def region_in(*values: str) -> Condition:
    return OneOf(REGION, values)


def old(least: int) -> Condition:
    return Compare(ValueOf(AGE), ">=", Constant(Fraction(least)))


BINS = Bucket("bin", Times(Floor(ValueOf(AGE), Fraction(2)), Constant(Fraction(2))))
YEAR, MONTH = (Bucket(part, DatePart(part, DayOf(BORN))) for part in ("year", "month"))  # type: ignore[arg-type]
LETTERS = Bucket("letters", Indicator(Not(region_in("a"))), ("a", "others"))
LISTED = Bucket("listed", Lookup(REGION, (4, None, 9)))
KNOWN: list[tuple[Condition, tuple[Group, ...], list[tuple[Any, ...]]]] = [
    (region_in("a", "c"), (REGION,), [("a",), ("c",)]),
    (Not(region_in("a")), (REGION,), [("b",), ("c",)]),
    (And((region_in("a"), old(2))), (REGION,), [("a",)]),
    (Or((region_in("a"), old(2))), (REGION,), [("a",), ("b",), ("c",)]),
    (old(2), (REGION,), [("a",), ("b",), ("c",)]),
    (IsTrue(SMOKER), (SMOKER,), [(True,)]),
    (old(1), (Bucket("age", ValueOf(AGE)),), [(1,), (2,), (3,)]),
    (old(1), (BINS,), [(0,), (2,)]),
    (Compare(DayOf(BORN), "<", Day(day_number(datetime.date(2000, 1, 1)))), (YEAR,), [(1999,)]),
    (EVERY_ROW, (YEAR, MONTH), [(1999, 12), (2000, 1)]),
    (region_in("a"), (LETTERS,), [("a",)]),
    (EVERY_ROW, (LISTED,), [(4,), (9,)]),
    (
        Or((And((region_in("a"), IsTrue(SMOKER))), And((region_in("b"), Not(IsTrue(SMOKER)))))),
        (REGION, SMOKER),
        [("a", True), ("b", False)],
    ),
]


@pytest.mark.parametrize(("where", "by", "keys"), KNOWN)
def test_the_groups_that_everybody_expects_are_kept(
    where: Condition, by: tuple[Group, ...], keys: list[tuple[Any, ...]]
) -> None:
    query = Query(TABLE, (("n", Count()),), where, by)
    assert cell_values(query) == keys
    assert number_of_cells(query) == len(keys)


def test_a_group_that_one_of_several_measures_can_see_is_kept() -> None:
    def asked(*conditions: Condition) -> list[tuple[Any, ...]]:
        measures = tuple((f"n{i}", Count(where)) for i, where in enumerate(conditions))
        return cell_values(Query(TABLE, measures, Not(region_in("c")), (REGION,)))

    assert asked(region_in("a")) == [("a",)]
    assert asked(region_in("a"), region_in("b", "c")) == [("a",), ("b",)]
    assert asked(region_in("a"), EVERY_ROW) == [("a",), ("b",)]


def test_long_columns_are_not_tried_value_by_value() -> None:
    """A column of 10**9 values, in bins: what stands in a comparison bounds them.

    Mutant: a group rises also where the column is multiplied by a number below 0.
    """
    cents = RealColumn("cents", Fraction(0), Fraction(10**7), Fraction(1, 100))
    table = Table("t", (cents, REGION))
    bins = Bucket("bin", Floor(ValueOf(cents), Fraction(10**4)))
    between = And(
        (
            Compare(ValueOf(cents), ">=", Constant(Fraction(25_000))),
            Compare(ValueOf(cents), "<", Constant(Fraction(50_000))),
            region_in("b"),
        )
    )
    kept = cell_values(Query(table, (("n", Count()),), between, (bins, REGION)))
    assert kept == [(2, "b"), (3, "b"), (4, "b")]
    or_null = replace(bins, null=True)
    assert cell_values(Query(table, (("n", Count()),), between, (or_null, REGION))) == kept
    some = Query(table, (("n", Count()),), region_in("b"), (or_null, REGION))
    assert cell_values(some)[-2:] == [(1000, "b"), (None, "b")]
    assert cell_values(replace(some, where=And((IsMissing(cents), region_in("b"))))) == [(None, "b")]
    squares = Bucket("square", Floor(Square(ValueOf(cents)), Fraction(10**13)))
    assert number_of_cells(Query(table, (("n", Count()),), between, (squares, REGION))) == 11
    falling = Bucket("falling", Times(Floor(ValueOf(cents), Fraction(10**6)), Constant(Fraction(-1))))
    assert number_of_cells(Query(table, (("n", Count()),), region_in("b"), (falling, REGION))) == 11


def test_groups_of_one_column_are_looked_at_together_beside_a_long_one() -> None:
    day = DateColumn("day", datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
    cents = RealColumn("cents", Fraction(0), Fraction(10**7), Fraction(1, 100))
    year, month = (Bucket(part, DatePart(part, DayOf(day))) for part in ("year", "month"))  # type: ignore[arg-type]
    bins = Bucket("bin", Floor(ValueOf(cents), Fraction(10**6)))
    spring = And(
        (
            Compare(DayOf(day), ">=", Day(day_number(datetime.date(2012, 11, 30)))),
            Compare(DayOf(day), "<", Day(day_number(datetime.date(2013, 2, 1)))),
            Compare(ValueOf(cents), "<", Constant(Fraction(10**6))),
        )
    )
    query = Query(Table("t", (day, cents)), (("n", Count()),), spring, (month, bins, year))
    assert cell_values(query) == [(1, 0, 2013), (11, 0, 2012), (12, 0, 2012)]


def test_how_many_groups_there_may_be_is_counted_after_some_are_left_out() -> None:
    day = DateColumn("day", datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
    hour, kind = IntegerColumn("hour", 0, 23), CategoryColumn("kind", tuple("abcd"))
    table = Table("t", (day, hour, kind))
    by = (Bucket("day", DayOf(day)), Bucket("hour", ValueOf(hour)), kind)
    first = Day(day_number(datetime.date(2013, 1, 1)))
    with pytest.raises(InvalidRequest, match="at most 1000000 are answered"):
        Query(table, (("n", Count()),), by=by)
    with pytest.raises(InvalidRequest, match="at most 1000000 are answered"):
        kept_cells(Query(table, (("n", Count()),), Compare(DayOf(day), ">", first), by))
    week = And((Compare(DayOf(day), ">=", first), Compare(DayOf(day), "<", Day(first.number + 7))))
    assert number_of_cells(Query(table, (("n", Count()),), week, by)) == 7 * 24 * 4
    longest = [IntegerColumn(f"x{i}", 0, 999_999) for i in range(4)]
    beyond = [Compare(ValueOf(column), "=", Constant(Fraction(7))) for column in longest]
    numbered = tuple(Bucket(column.name, ValueOf(column)) for column in longest)
    with pytest.raises(InvalidRequest, match="more than can be numbered"):
        kept_cells(Query(Table("t", tuple(longest)), (("n", Count()),), And(tuple(beyond)), numbered))


# What is paid for what is kept -----------------------------------------------------------------------------

MEASURES: list[Measure] = [
    Count(),
    Sum(ValueOf(AGE)),
    Mean(ValueOf(AGE)),
    Cdf(ValueOf(AGE), (Fraction(0), Fraction(2))),
]
FEW = [
    {**dict.fromkeys(VALUES), "age": age, "region": r} for age in (-2, 0, 3, None) for r in (0, 1, 2, None)
]


@pytest.mark.parametrize("regions", [("a",), ("a", "c")], ids=["one", "two"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: type(m).__name__)
def test_theorem_L2_SENSITIVITY_of_the_cells_that_are_kept(
    measure: Measure, adjacency: Adjacency, regions: tuple[str, ...]
) -> None:
    """All pairs of units of one row: nobody moves what is kept by more than is paid, and somebody by as much."""
    from adyton.testing.engines.reference import exact_of

    query = Query(TABLE, (("m", measure),), region_in(*regions), (REGION,))
    (reading,) = readings_of(query, PrivacyUnit(adjacency))
    assert reading.kept == tuple("abc".index(region) for region in regions)
    one = (Fraction(1),) * len(reading.coordinates)
    vectors = [np.array(exact_of([(0, row)], False, "", [reading])[0]) for row in FEW]
    nothing = np.zeros_like(vectors[0])
    others = [nothing, *vectors] if adjacency == "replace-one" else [nothing]
    moves = [a - b for a in vectors for b in others]
    assert reading.sensitivity.l1_diameter(one) == max(int(np.abs(m).sum()) for m in moves)
    assert reading.sensitivity.l2_diameter_squared(one) == max(int((m**2).sum()) for m in moves)


def frame(*rows: tuple[Any, Any, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["age", "region", "smoker"])


ASKED = [
    "SELECT region, COUNT(*), SUM(age) FROM t WHERE region IN ('a', 'c') GROUP BY region",
    "SELECT region, AVG(age) FROM t WHERE region = 'a' GROUP BY region",
    "SELECT region, MEDIAN(age) FROM t WHERE region <> 'b' GROUP BY region",
    "SELECT region, MEDIAN(age) FROM t WHERE region = 'c' GROUP BY region",
    "SELECT age, COUNT(*), COUNT(*) FILTER (WHERE age < 0) FROM t WHERE age <> 0 GROUP BY age",
    "SELECT region, CDF(age, 0, 1) FROM t WHERE region <> 'a' GROUP BY region",
    "SELECT smoker, region, VARIANCE(age) FROM t WHERE smoker OR region = 'a' GROUP BY smoker, region",
]


@pytest.mark.parametrize("sql", ASKED)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_theorem_REPLAY_of_groups_that_were_left_out(sql: str, adjacency: Adjacency) -> None:
    """The unit that differs moves from a group that is left out into one that is kept, and between two."""
    table = Table("t", (AGE, REGION, SMOKER), rows=3)
    study = Study(table, PrivacyUnit(adjacency), Guarantee(Fraction(50), Fraction(1, 10)))
    rest = [(1, "a", True), (3, "c", False)]
    units = [(3, "a", True), (-2, "b", False), (-2, "c", True), (0, None, None)]
    every_pair = list(itertools.combinations([[*rest, unit] for unit in units], 2))
    pairs = (
        every_pair if LONG else every_pair[1:4]
    )  # a and c, a and nothing, b and c: both kinds for each query
    if adjacency == "add-remove":
        pairs = [([*rest, unit], rest) for unit in units]
    for one, other in pairs:
        found = replay(study, (frame(*one), frame(*other)), sql, opened_by=open_kept, epsilon="1")
        assert found.faults == ()
        assert found.movements


NULL_ASKED = [
    "SELECT region, COUNT(*), SUM(age) FROM t GROUP BY region",
    "SELECT region, AVG(age) FROM t WHERE region IS NULL GROUP BY region",
    "SELECT smoker, region, COUNT(*) FROM t GROUP BY smoker, region",
    "SELECT age, COUNT(*) FROM t WHERE age <> 0 OR age IS NULL GROUP BY age",
    "SELECT region, MEDIAN(age) FROM t GROUP BY region",
    "SELECT region, CDF(age, 0, 1) FROM t GROUP BY region",
    "SELECT CASE WHEN age > 0 THEN 1 END AS g, COUNT(*) FROM t GROUP BY g",
]


@pytest.mark.parametrize("sql", NULL_ASKED)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_theorem_REPLAY_of_groups_of_rows_without_a_value(sql: str, adjacency: Adjacency) -> None:
    """The unit that differs moves from any group into that of NULL, and from one group of NULL to another."""
    table = Table("t", tuple(replace(column, missing=True) for column in (AGE, REGION, SMOKER)), rows=3)
    study = Study(table, PrivacyUnit(adjacency), Guarantee(Fraction(50), Fraction(1, 10)))
    rest = [(1, "a", True), (3, "c", False)]
    units = [(3, "a", True), (-2, None, None), (None, None, True), (None, "b", None)]
    pairs = list(itertools.combinations([[*rest, unit] for unit in units], 2))
    if adjacency == "add-remove":
        pairs = [([*rest, unit], rest) for unit in units]
    for one, other in pairs if LONG else pairs[:4]:
        found = replay(study, (frame(*one), frame(*other)), sql, opened_by=open_kept, epsilon="1")
        assert found.faults == ()
        assert found.movements


def test_the_reference_and_the_conditions_agree_on_three_truths() -> None:
    """What is proved impossible is so in the meaning that all engines are held to."""
    rng = random.Random(7)
    rows = cells_module.KnownRows(
        {
            name: (
                np.array([0 if row[name] is None else int(row[name]) for row in EVERY]),
                np.array([row[name] is not None for row in EVERY]),
            )
            for name in VALUES
        },
        len(EVERY),
    )
    for _ in range(often(80, 200)):
        condition = a_condition(rng, 3)
        true, false = rows.condition(condition)
        meant = told_of_each(partial(meaning, condition), EVERY)
        assert true.tolist() == [truth is True for truth in meant]
        assert false.tolist() == [truth is False for truth in meant]
