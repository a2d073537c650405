"""How long a question becomes when it is written out for an engine.

A square is its number twice, a list of values is a comparison for each: a short text can become a statement
that takes an engine minutes to plan.  What is counted is how often a column or a written number is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adyton.query.expressions import (
    And,
    Case,
    Clip,
    Compare,
    Floor,
    Indicator,
    Negative,
    Not,
    Or,
    Plus,
    Square,
    Times,
)
from adyton.query.leaves import (
    Always,
    Constant,
    DatePart,
    Day,
    DayOf,
    IsMissing,
    IsOutside,
    IsTrue,
    Lookup,
    OneOf,
    ValueOf,
)

MOST_WEIGHT = 2**14
_LISTED = 16  # numbers of a list that are as long as one column, about

# To write a node, and to ask whether it has a value, which a clip does.
Pair = tuple[int, int]


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


def _lookup(node: Lookup) -> Pair:
    listed = 1 + len(node.numbers) // _LISTED
    return listed, listed


_PAIRS: dict[type, Callable[[Any], Pair]] = {
    **dict.fromkeys((ValueOf, DayOf), lambda _: (1, 1)),
    **dict.fromkeys((Constant, Day, IsTrue, IsMissing, IsOutside, Always), lambda _: (1, 0)),
    **dict.fromkeys((Plus, Times), _both),
    **dict.fromkeys((Negative, Floor, Not), _inner),
    **dict.fromkeys((And, Or), _parts),
    Case: _case,
    Clip: _clip,
    Compare: _compared,
    DatePart: lambda node: _pair(node.day),
    Indicator: lambda node: (weight(node.condition), 0),
    Lookup: _lookup,
    OneOf: lambda node: (1 + len(node.values) // _LISTED, 0),
    Square: _square,
}
