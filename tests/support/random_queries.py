"""Random queries of every kind about one small table of persons: all numbers, measures, groups and shapes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, get_args

from hypothesis import reject
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.terms.buckets import Bucket, Group
from adyton.kernel.terms.expressions import Case, Clip, Floor, Negative, NumberExpression, Plus, Square, Times
from adyton.kernel.terms.leaves import EVERY_ROW, Constant, DatePart, DayOf, Lookup, Part, ValueOf
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.query.nodes import Query
from adyton.query.text import group_value_text
from support import strategies
from support.strategies import AGE, BORN, CITY, INCOME, PERSONS, REGION, SMOKER, YEAR, simple_conditions

Draw = Callable[[st.SearchStrategy[Any]], Any]


def _attempt(build: Callable[[], Any]) -> Any:
    """What ``build`` makes; where that is refused, this example is given up."""
    try:
        return build()
    except InvalidRequest:
        reject()


@cache
def fractions() -> st.SearchStrategy[Fraction]:
    return st.one_of(
        st.integers(-1000, 1000).map(Fraction),
        st.builds(Fraction, st.integers(-10_000, 10_000), st.just(100)),
        strategies.fractions(-5, 5, 9),
    )


HUNDREDTHS = strategies.fractions(Fraction(1, 100), Fraction(99, 100), 100)
WIDTHS = st.one_of(
    st.integers(1, 1000).map(Fraction),
    st.builds(Fraction, st.integers(1, 999), st.sampled_from([7, 10, 100])),
)
FRACTION_OR_LIST = st.one_of(fractions(), st.tuples(*[st.one_of(st.none(), fractions())] * 4))
LEAVES = [ValueOf(AGE), ValueOf(INCOME), *(DatePart(part, DayOf(BORN)) for part in get_args(Part))]


@st.composite
def all_numbers(draw: Draw, depth: int = 2) -> NumberExpression:
    kind = draw(st.integers(0, 9 if depth else 2))
    inner = all_numbers(depth=depth - 1)
    if kind <= 1:
        return draw(st.sampled_from(LEAVES))
    if kind == 2:
        listed = draw(FRACTION_OR_LIST)
        return _attempt(lambda: _lookup(listed) if isinstance(listed, tuple) else Constant(listed))
    if kind in (3, 4):
        two = draw(inner), draw(inner)
        return _attempt(lambda: (Plus if kind == 3 else Times)(*two))
    if kind in (5, 6):
        one = draw(inner)
        return _attempt(lambda: (Negative if kind == 5 else Square)(one))
    if kind == 7:
        one, width = draw(inner), draw(WIDTHS)
        return _attempt(lambda: Floor(one, width))
    if kind == 8:
        return _attempt(lambda: _clipped(draw, draw(inner)))
    branches = draw(st.lists(st.tuples(simple_conditions(), inner), min_size=1, max_size=3))
    otherwise = draw(st.one_of(st.none(), inner))
    return _attempt(lambda: Case(tuple(branches), otherwise))


def _clipped(draw: Draw, number: NumberExpression) -> NumberExpression:
    lattice = number.lattice
    low, high = sorted(draw(st.integers(lattice.low - 2, lattice.high + 2)) for _ in range(2))
    return Clip(number, low * lattice.step, high * lattice.step)


def _lookup(values: tuple[Fraction | None, ...]) -> Lookup:
    step = Fraction(1, 12600)  # all fractions of this file are whole multiples of it
    return Lookup(REGION, tuple(None if v is None else int(v / step) for v in values), step)


@st.composite
def all_measures(draw: Draw) -> Measure:
    where = draw(st.one_of(st.just(EVERY_ROW), simple_conditions()))
    kind = draw(st.integers(0, 9))
    if kind <= 1:
        return (Count, CountPersons)[kind](where)
    if kind == 2:
        return Proportion(draw(simple_conditions()), where)
    number = draw(all_numbers())
    low, high = sorted(draw(st.tuples(st.integers(-99, 99), st.integers(-99, 99))))
    step = number.lattice.step
    fraction, root = (
        draw(HUNDREDTHS),
        draw(st.booleans()),
    )
    points = tuple(sorted(draw(st.sets(fractions(), min_size=1, max_size=4))))
    builders: list[Callable[[], Measure]] = [
        lambda: Sum(number, where),
        lambda: SumOfPersons(number, low * step, high * step, where),
        lambda: Mean(number, where),
        lambda: Variance(number, root, where),
        lambda: Quantile(number, fraction, where),
        lambda: Extreme(number, "least" if root else "greatest", where),
        lambda: Cdf(number, points, where),
    ]
    return _attempt(builders[kind - 3])


@st.composite
def all_groups(draw: Draw) -> Group:
    name = draw(st.sampled_from(["a", "b", "age", "region", "limit", "Odd one", 'a"b']))
    kind = draw(st.integers(0, 5))
    if kind <= 1:
        return draw(st.sampled_from([REGION, YEAR, SMOKER, CITY]))
    if kind == 2:
        return Bucket(name, DayOf(BORN))
    if kind == 3:
        label = draw(
            st.sampled_from([st.sampled_from(["x", "it's", "ÄÖ", ""]), st.integers(-3, 3), st.booleans()])
        )
        labels = draw(st.lists(label, min_size=7, max_size=7))
        return Bucket(name, Floor(ValueOf(AGE), Fraction(120, draw(st.integers(2, 5)))), tuple(labels))
    number = draw(all_numbers())
    width = draw(WIDTHS)
    lattice = number.lattice
    if lattice.high - lattice.low > 10_000:
        number = _attempt(lambda: Floor(number, width + (lattice.high - lattice.low) * lattice.step / 100))
    if number.lattice.low == number.lattice.high:  # can be built, but not written
        reject()
    return _attempt(lambda: Bucket(name, number))


@st.composite
def all_queries(draw: Draw) -> Query:
    name = st.one_of(
        st.sampled_from(["n", "total", "select", "having", "Mean Income", 'a"b']),
        st.text("abcXYZ_", min_size=1),
    )
    named = draw(st.lists(st.tuples(name, all_measures()), min_size=1, max_size=3))
    by = draw(st.lists(all_groups(), max_size=2, unique_by=group_value_text))
    most = draw(st.one_of(st.none(), st.integers(1, 9)))
    where = draw(st.one_of(st.just(EVERY_ROW), simple_conditions()))
    return _attempt(lambda: Query(PERSONS, tuple(named), where, tuple(by), most))
