"""Whether two conditions can never hold of the same row, as far as that can be seen without looking at any.

Each condition is read as a list of facts that must all hold: a column takes one of some values, a number lies
between two bounds.  Two conditions exclude each other if they demand of one column or number what cannot be
true at once.  What is not understood says nothing, so the answer errs towards "they may overlap".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.query.expressions import (
    Always,
    And,
    Comparable,
    Compare,
    Condition,
    Constant,
    Day,
    DayOf,
    IsMissing,
    IsTrue,
    Negative,
    Not,
    OneOf,
    ValueOf,
)


@dataclass(frozen=True, slots=True)
class _Among:
    """One of a set of values; None stands for a missing value."""

    values: frozenset[object]

    def excludes(self, other: object) -> bool:
        return isinstance(other, _Among) and not self.values & other.values


@dataclass(frozen=True, slots=True)
class _Between:
    """Present, and from ``low`` to ``high``; an end that is not ``closed`` does not belong to it."""

    low: Fraction | None
    high: Fraction | None
    low_closed: bool = True
    high_closed: bool = True

    def excludes(self, other: object) -> bool:
        if isinstance(other, _Missing):
            return True
        return isinstance(other, _Between) and (_before(self, other) or _before(other, self))


@dataclass(frozen=True, slots=True)
class _Missing:
    def excludes(self, other: object) -> bool:
        return isinstance(other, _Between)


_Fact = _Among | _Between | _Missing
Facts = dict[object, list[_Fact]]


def facts_of(condition: Condition) -> Facts:
    """What must be true of single columns and numbers wherever ``condition`` is true."""
    facts: Facts = {}
    for part in _conjuncts(condition):
        found = _fact(part)
        if found is not None:
            facts.setdefault(found[0], []).append(found[1])
    return facts


def exclude_each_other(first: Facts, second: Facts) -> bool:
    return any(
        a.excludes(b)
        for subject in first.keys() & second.keys()
        for a in first[subject]
        for b in second[subject]
    )


def _conjuncts(condition: Condition) -> list[Condition]:
    if isinstance(condition, And):
        return [conjunct for part in condition.parts for conjunct in _conjuncts(part)]
    return [condition]


def _fact(condition: Condition) -> tuple[object, _Fact] | None:
    match condition:
        case Always(False):
            return None  # holds nowhere; whoever asks that pays all the same
        case OneOf(column, values):
            return column, _Among(frozenset(values))
        case Not(OneOf(column, values)):  # a missing value makes it neither true nor false
            return column, _Among(frozenset(column.values) - frozenset(values))
        case IsTrue(column):
            return column, _Among(frozenset([True]))
        case Not(IsTrue(column)):
            return column, _Among(frozenset([False]))
        case IsMissing(column) if column.kind in ("category", "boolean"):
            return column, _Among(frozenset([None]))
        case IsMissing(column):
            return column, _Missing()
        case Compare(left, operator, right):
            return _range(left, operator, right)
        case _:
            return None


def _range(left: Comparable, operator: str, right: Comparable) -> tuple[object, _Fact] | None:
    constant = _constant(right)
    if constant is None:
        constant, left = _constant(left), right
        operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    if constant is None:
        return None
    subject = left.column if isinstance(left, ValueOf | DayOf) else left
    match operator:
        case "<" | "<=":
            return subject, _Between(None, constant, high_closed=operator == "<=")
        case ">" | ">=":
            return subject, _Between(constant, None, low_closed=operator == ">=")
        case "=":
            return subject, _Between(constant, constant)
        case _:
            return None


def _constant(number: Comparable) -> Fraction | None:
    match number:
        case Constant(value):
            return value
        case Negative(inner):
            found = _constant(inner)
            return None if found is None else -found
        case Day(day):
            return Fraction(day)
        case _:
            return None


def _before(left: _Between, right: _Between) -> bool:
    """Whether all of ``left`` lies below all of ``right``."""
    if left.high is None or right.low is None:
        return False
    return left.high < right.low or (left.high == right.low and not (left.high_closed and right.low_closed))
