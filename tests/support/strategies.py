"""None"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from operator import eq, ge, gt, le, lt, ne
from typing import TypeVar

from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
    common_step,
    day_number,
)
from adyton.kernel.terms.expressions import (
    And,
    Comparable,
    Compare,
    Condition,
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
    Day,
    DayOf,
    IsMissing,
    IsOutside,
    IsTrue,
    OneOf,
    ValueOf,
)
from adyton.kernel.terms.measures import Count, Mean, Measure, Proportion, Sum
from adyton.query.conditions.possible_cells import kept_cells
from adyton.query.nodes import Query

# Random queries about one small table, and what they mean: a reference evaluator in plain Python.
#
# A row is a dict from column name to the whole number of steps (integer, real), the day number (date), the
# category value, a bool, or None where the value is missing.

AGE = IntegerColumn("age", 0, 120)
INCOME = RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1, 100))
REGION = CategoryColumn("region", ("north", "south", "east", "west"))
YEAR = CategoryColumn("year", (2020, 2021, 2022))
SMOKER = BooleanColumn("smoker")
BORN = DateColumn("born", datetime.date(1900, 1, 1), datetime.date(2024, 12, 31))
PEOPLE = Table("people", (AGE, INCOME, REGION, YEAR, SMOKER, BORN), rows=1000)
CITY = TextColumn("city")
PERSONS = Table("people", (*PEOPLE.columns, CITY), rows=1000, person="pid")

Value = int | str | bool | None
Row = Mapping[str, Value]

_Node = TypeVar("_Node")
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lt,
    "<=": le,
    "=": eq,
    "<>": ne,
    ">=": ge,
    ">": gt,
}


# Strategies, each made once: how they are drawn from is looked up when they are used first ----------------------


def _where_possible(
    build: Callable[..., _Node], *parts: st.SearchStrategy[object]
) -> st.SearchStrategy[_Node]:
    """``build`` of the parts, without the combinations that it refuses."""

    def attempt(drawn: tuple[object, ...]) -> _Node | None:
        try:
            return build(*drawn)
        except InvalidRequest:
            return None

    return st.tuples(*parts).map(attempt).filter(lambda node: node is not None)  # type: ignore[return-value]


@cache
def constants() -> st.SearchStrategy[Constant]:
    whole = st.integers(-1000, 1000).map(Fraction)
    decimal = st.builds(lambda n, d: Fraction(n, 10**d), st.integers(-10_000, 10_000), st.integers(0, 4))
    quotient = fractions(-5, 5, 9)
    return st.one_of(whole, decimal, quotient).map(Constant)


@cache
def numbers() -> st.SearchStrategy[NumberExpression]:
    leaves = st.one_of(st.sampled_from([ValueOf(AGE), ValueOf(INCOME)]), constants())
    return st.recursive(leaves, _larger_numbers, max_leaves=5)


def _larger_numbers(inner: st.SearchStrategy[NumberExpression]) -> st.SearchStrategy[NumberExpression]:
    return st.one_of(
        _where_possible(Plus, inner, inner),
        _where_possible(Times, inner, inner),
        inner.map(Negative),
        simple_conditions().map(Indicator),
    )


@cache
def simple_conditions() -> st.SearchStrategy[Condition]:
    """Conditions on a single column."""
    signs = st.sampled_from(list(_COMPARISONS))
    column = st.sampled_from([ValueOf(AGE), ValueOf(INCOME)])
    days = st.integers(-30_000, 30_000).map(Day)
    return st.one_of(
        st.builds(Compare, column, signs, constants()),
        st.builds(Compare, constants(), signs, column),
        st.builds(Compare, st.just(DayOf(BORN)), signs, days),
        st.lists(st.sampled_from(REGION.values), min_size=1).map(lambda v: OneOf(REGION, tuple(v))),
        st.lists(st.sampled_from(YEAR.values), min_size=1).map(lambda v: OneOf(YEAR, tuple(v))),
        st.just(IsTrue(SMOKER)),
        st.sampled_from(PEOPLE.columns).map(IsMissing),
        st.sampled_from([AGE, INCOME, REGION, YEAR, BORN]).map(IsOutside),
        st.booleans().map(Always),
    )


@cache
def conditions() -> st.SearchStrategy[Condition]:
    signs = st.sampled_from(list(_COMPARISONS))
    leaves = st.one_of(simple_conditions(), _where_possible(Compare, numbers(), signs, numbers()))
    return st.recursive(leaves, _larger_conditions, max_leaves=6)


def _larger_conditions(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(inner.map(Not), several.map(And), several.map(Or))


@cache
def measures() -> st.SearchStrategy[Measure]:
    where = st.one_of(st.just(EVERY_ROW), conditions())
    return st.one_of(
        where.map(Count),
        _where_possible(Sum, numbers(), where),
        _where_possible(Mean, numbers(), where),
        st.builds(Proportion, conditions(), where),
    )


@cache
def queries() -> st.SearchStrategy[Query]:
    names = st.one_of(
        st.sampled_from(["n", "total", "select", "Mean Income", 'a"b']), st.text("abcXYZ_", min_size=1)
    )
    named = st.lists(st.tuples(names, measures()), min_size=1, max_size=3).map(tuple)
    by = st.lists(st.sampled_from([REGION, YEAR, SMOKER]), unique=True, max_size=2).map(tuple)
    return _where_possible(Query, st.just(PEOPLE), named, st.one_of(st.just(EVERY_ROW), conditions()), by)


@cache
def answered_queries() -> st.SearchStrategy[Query]:
    """Those with a group that can match."""

    def can_match(query: Query) -> bool:
        try:
            kept_cells(query)
        except InvalidRequest:
            return False
        return True

    return queries().filter(can_match)


@cache
def rows() -> st.SearchStrategy[dict[str, Value]]:
    def between(low: int, high: int) -> st.SearchStrategy[int]:
        return st.one_of(st.integers(low, high), st.sampled_from([low, high]))

    values: dict[str, st.SearchStrategy[Value]] = {
        AGE.name: between(AGE.lattice.low, AGE.lattice.high),
        INCOME.name: between(INCOME.lattice.low, INCOME.lattice.high),
        REGION.name: st.sampled_from(REGION.values),
        YEAR.name: st.sampled_from(YEAR.values),
        SMOKER.name: st.booleans(),
        BORN.name: between(day_number(BORN.low), day_number(BORN.high)),
    }
    return st.fixed_dictionaries({name: st.one_of(st.none(), value) for name, value in values.items()})


# Meaning -------------------------------------------------------------------------------------------------


def evaluate_number(node: Comparable, row: Row) -> int | None:
    """The value of ``node`` as a whole number of steps of its lattice, or None where it is missing."""
    match node:
        case ValueOf(column) | DayOf(column):
            value = row[column.name]
            assert value is None or type(value) is int
            return value
        case Constant() | Day():
            return node.lattice.low
        case Plus(left, right):
            a, b = _on_step(left, row, node.lattice.step), _on_step(right, row, node.lattice.step)
            return None if a is None or b is None else a + b
        case Times(left, right):
            a, b = evaluate_number(left, row), evaluate_number(right, row)
            return None if a is None or b is None else a * b
        case Negative(inner):
            a = evaluate_number(inner, row)
            return None if a is None else -a
        case Square(inner):
            a = evaluate_number(inner, row)
            return None if a is None else a * a
        case Indicator(condition):
            return int(evaluate_condition(condition, row) is True)


def evaluate_condition(node: Condition, row: Row) -> bool | None:
    """Whether ``node`` is true of ``row``, with the three truths of SQL."""
    match node:
        case Compare(left, operator, right):
            step = common_step(left.lattice.step, right.lattice.step)
            a, b = _on_step(left, row, step), _on_step(right, row, step)
            return None if a is None or b is None else _COMPARISONS[operator](a, b)
        case OneOf(column, values):
            return None if row[column.name] is None else row[column.name] in values
        case IsTrue(column):
            value = row[column.name]
            assert value is None or type(value) is bool
            return value
        case IsMissing(column):
            return row[column.name] is None
        case IsOutside(column):  # rows of this page hold what is declared, or nothing
            return None if row[column.name] is None else False
        case Always(truth):
            return truth
        case Not(inner):
            return _not(evaluate_condition(inner, row))
        case And(parts):
            return _all(evaluate_condition(part, row) for part in parts)
        case Or(parts):
            none_holds = _all(_not(evaluate_condition(part, row)) for part in parts)
            return _not(none_holds)


def _on_step(node: Comparable, row: Row, step: Fraction) -> int | None:
    value = evaluate_number(node, row)
    return None if value is None else int(value * node.lattice.step / step)


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _all(truths: Iterable[bool | None]) -> bool | None:
    seen = set(truths)
    return False if False in seen else None if None in seen else True


# Fractions between two ends, for laws: as ``hypothesis.strategies.fractions``, in a tenth of its time.
#
# That one makes strategies anew for every denominator, and looks at each of them before it draws from it.


def fractions(
    low: Fraction | str | int, high: Fraction | str | int, most: int | None = None
) -> st.SearchStrategy[Fraction]:
    """All that have a denominator of at most ``most``, or any; both ends are among them, and often drawn."""
    least, greatest = Fraction(low), Fraction(high)

    def between(denominator: int, place: int) -> Fraction:
        first, last = math.ceil(least * denominator), math.floor(greatest * denominator)
        return Fraction(first + place % (last - first + 1), denominator) if first <= last else least

    drawn = st.builds(between, st.integers(1, most), st.one_of(st.integers(0, 9), st.integers(0, 2**256)))
    return st.one_of(drawn, drawn, drawn, st.sampled_from([least, greatest]))
