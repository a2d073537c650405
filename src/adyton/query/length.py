"""How long a query becomes when it is written out for an engine: its weight.

A square is its number twice, a list of values is a comparison for each: a short text can become a statement
that takes an engine minutes to plan.  What is counted is how often a column or a written number is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from adyton.kernel.terms.expressions import (
    And,
    Case,
    Clip,
    Compare,
    Curved,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Or,
    Plus,
    Quotient,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import (
    Always,
    Constant,
    DatePart,
    Day,
    DayCount,
    DayFrom,
    DayOf,
    IsMissing,
    IsOutside,
    IsTrue,
    Lookup,
    OneOf,
    ValueOf,
)
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.kernel.terms.persons import TableOfPersons

MOST_WEIGHT = 2**14
_LISTED = 16  # numbers of a list that are as long as one column, about

# To write a node, and to ask whether it has a value, which a clip does.
Pair = tuple[int, int]


def weight_of(measure: Measure) -> int:
    """A value is read to add it up, and to count where it is present."""
    own = weight(measure.where)
    match measure:
        case Count() | CountPersons():
            return own
        case Proportion(condition):
            return own + weight(condition)
        case Variance(value):
            return own + 6 * weight(value)
        case Moments(y, x):
            return own + 8 * (weight(y) + weight(x))  # in squares, in the product, and where both are present
        case Cdf(value, points):
            return own + (len(points) + 1) * weight(value)
        case Sum(value) | SumOfPersons(value) | Mean(value) | Quantile(value) | Extreme(value):
            return own + 2 * weight(value)
        case _:
            assert_never(measure)


def weight_of_persons(table: TableOfPersons) -> int:
    """A table of persons, inside of a query about it."""
    own = [number for _, number in table.numbers]
    values = [weight(one.value) for one in own if isinstance(one.value, NumberExpression | DayOf)]
    return weight(table.given) + sum(weight(one.where) for one in own) + sum(values) + len(own)


def weight(node: Any) -> int:
    """Of a number, a day or a condition."""
    return _pair(node)[0]


def _pair(node: Any) -> Pair:
    return _PAIRS[type(node)](node)


def _both(node: Any) -> Pair:
    (a, present), (b, also_present) = _pair(node.left), _pair(node.right)
    return a + b, present + also_present


def _compared(node: Compare) -> Pair:
    return _both(node)[0], 0


def _inner(node: Any) -> Pair:
    return _pair(node.inner)


def _square(node: Square) -> Pair:
    once, present = _pair(node.inner)
    return 2 * once, present


def _clip(node: Clip) -> Pair:
    once, present = _pair(node.inner)
    return once + present, present


def _parts(node: Any) -> Pair:
    return sum(map(weight, node.parts)), 0


def _case(node: Case) -> Pair:
    whens = sum(weight(when) for when, _ in node.branches)
    numbers = [then for _, then in node.branches] + ([] if node.otherwise is None else [node.otherwise])
    pairs = [_pair(number) for number in numbers]
    return whens + sum(once for once, _ in pairs), whens + sum(present for _, present in pairs)


def _quotient(node: Quotient) -> Pair:
    (a, present), (b, also_present) = _pair(node.over), _pair(node.under)
    return 2 * a + 3 * b + present + also_present + b, present + also_present + b


def _curved(node: Curved) -> Pair:
    once, present = _pair(node.inner)
    return once + len(node.numbers) // _LISTED, present


def _lookup(node: Lookup) -> Pair:
    listed = 1 + len(node.numbers) // _LISTED
    return listed, listed


_PAIRS: dict[type, Callable[[Any], Pair]] = {
    **dict.fromkeys((ValueOf, DayOf, DayCount), lambda _: (1, 1)),
    **dict.fromkeys((Constant, Day, IsTrue, IsMissing, IsOutside, Always), lambda _: (1, 0)),
    **dict.fromkeys((Plus, Times), _both),
    **dict.fromkeys((DayFrom, Negative, Floor, Not), _inner),
    **dict.fromkeys((And, Or), _parts),
    Case: _case,
    Clip: _clip,
    Compare: _compared,
    Curved: _curved,
    DatePart: lambda node: _pair(node.day),
    Indicator: lambda node: (weight(node.condition), 0),
    Lookup: _lookup,
    OneOf: lambda node: (1 + len(node.values) // _LISTED, 0),
    Quotient: _quotient,
    Square: _square,
}
