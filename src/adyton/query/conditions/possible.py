"""What numbers and conditions can be on rows of which only some columns are known, for many rows at once.

A number whose columns are all known has one value, in the engines' own integers; any other lies somewhere
between its public bounds, or is missing.  A condition can be true, can be false, or both: where everything is
known at most one of them holds, and none where it is neither true nor false, as in SQL.  What is not
understood can be anything, so "cannot be true" is never said of a condition that is true of some such row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import reduce
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from adyton.kernel.schema import Column, common_step, times_finer
from adyton.kernel.terms.expressions import (
    And,
    Case,
    Clip,
    Comparable,
    Compare,
    Condition,
    Curved,
    Floor,
    Indicator,
    Negative,
    Not,
    Operator,
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
from adyton.kernel.terms.names import _parts, columns_in

Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Known = tuple[Integers, Truths]  # the integers of a column, or the places of its values, and where they are
Truth = tuple[Truths, Truths]  # where a condition can be true, and where it can be false

_UNDERSTOOD = (
    *(ValueOf, DayOf, Constant, Day, Plus, Times, Negative, Square, Clip, Floor, Indicator, Case, Lookup),
    *(Curved, Quotient, DatePart, DayCount, DayFrom, Compare, OneOf, IsTrue, IsMissing, Always, Not, And, Or),
)
_LEAVES = (ValueOf, DayOf, Constant, Day)  # most of what a filter is made of; nothing else is inside
_FROM_MONDAY = 3  # 1970-01-01 was a Thursday


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Rows, or cells of alike rows, of which the ``columns`` are known by name."""

    columns: Mapping[str, Known]
    number_of_rows: int

    def condition(self, node: Condition) -> Truth:
        """Where it can be true, and where it can be false."""
        match node:
            case Compare(left, operator, right):
                return self._compared(left, operator, right)
            case OneOf(column, values) if column.name in self.columns:
                codes, known = self.columns[column.name]
                wanted = set(values)
                chosen = np.array([value in wanted for value in column.values])[codes]
                return known & chosen, known & ~chosen
            case IsTrue(column) if column.name in self.columns:
                truth, known = self.columns[column.name]
                return known & (truth != 0), known & (truth == 0)
            case IsMissing(column) if column.name in self.columns:
                known = self.columns[column.name][1]
                return ~known, known
            case Always(truth):
                return self._all(truth), self._all(not truth)
            case Not(inner):
                true, false = self.condition(inner)
                return false, true
            case And(parts):
                return reduce(_and, map(self.condition, parts))
            case Or(parts):
                return reduce(_or, map(self.condition, parts))
            case OneOf() | IsTrue() | IsMissing() | IsOutside():  # of a column whose value is not known
                return self._all(True), self._all(True)
            case _:
                assert_never(node)

    def number(self, node: Comparable) -> Known | None:
        """Its integers on its own lattice, whose checks make them fit, and where they are there.

        None where something that it reads is not known.
        """
        return self._exact(node) if self._knows(node) else None

    def _compared(self, left: Comparable, operator: Operator, right: Comparable) -> Truth:
        (low, high, there), (other_low, other_high, also) = self._span(left), self._span(right)
        step = common_step(left.lattice.step, right.lattice.step)
        one, other = (times_finer(side.lattice.step, step) for side in (left, right))
        ends = (low * one, high * one, other_low * other, other_high * other)
        both = there & also
        return both & CAN_BE[operator](*ends), both & CAN_BE[OPPOSITE[operator]](*ends)

    def _span(self, node: Comparable) -> tuple[Integers, Integers, Truths]:
        """Where a number lies if it is there, both ends included, and whether it can be there."""
        known = self.number(node)
        if known is not None:
            integers, there = known
            return integers, integers, there
        return self._full(node.lattice.low), self._full(node.lattice.high), self._all(True)

    def _exact(self, node: Comparable) -> Known:
        match node:
            case ValueOf(column) | DayOf(column) | DayCount(DayOf(column)):
                return self.columns[column.name]
            case Constant() | Day():
                return self._full(node.lattice.low), self._all(True)
            case Plus(left, right):
                (a, there), (b, also) = self._on(left, node), self._on(right, node)
                return a + b, there & also
            case Times(left, right):
                (a, there), (b, also) = self._exact(left), self._exact(right)
                return a * b, there & also
            case Negative(inner):
                a, there = self._exact(inner)
                return -a, there
            case Square(inner):
                a, there = self._exact(inner)
                return a * a, there
            case Clip(inner):
                a, there = self._exact(inner)
                return np.clip(a, node.lattice.low, node.lattice.high), there
            case Floor(inner, step):
                a, there = self._exact(inner)
                ratio = inner.lattice.step / step
                return a * ratio.numerator // ratio.denominator, there
            case Curved(_, inner):
                a, there = self._exact(inner)
                low, high = inner.lattice.low, inner.lattice.high
                return np.array(node.numbers, np.int64)[np.clip(a, low, high) - low], there
            case Quotient():
                return self._quotient(node)
            case Indicator(condition):
                return self.condition(condition)[0].astype(np.int64), self._all(True)
            case Case():
                return self._case(node)
            case Lookup(column, numbers):
                codes, there = self.columns[column.name]
                listed = np.array([0 if one is None else one for one in numbers], np.int64)
                given = np.array([one is not None for one in numbers])
                return listed[codes], there & given[codes]
            case DayFrom(inner):
                return self._on(inner, node)
            case DatePart(part, day):
                days, there = self._exact(day)
                return _PARTS[part](days), there

    def _quotient(self, node: Quotient) -> Known:
        (a, there), (b, also) = self._exact(node.over), self._exact(node.under)
        top, half = node.factors
        divisor = np.where(b == 0, 1, abs(b)) * half
        steps = (abs(a) * top + divisor) // (2 * divisor)
        signed = np.where((a < 0) == (b < 0), steps, -steps)
        return np.clip(signed, node.lattice.low, node.lattice.high), there & also & (b != 0)

    def _case(self, node: Case) -> Known:
        integers, there, open_ = self._full(0), self._all(False), self._all(True)
        for when, then in node.branches:
            met = open_ & self.condition(when)[0]
            a, present = self._on(then, node)
            integers, there = np.where(met, a, integers), np.where(met, present, there)
            open_ = open_ & ~met
        if node.otherwise is not None:
            a, present = self._on(node.otherwise, node)
            integers, there = np.where(open_, a, integers), np.where(open_, present, there)
        return integers, there

    def _on(self, part: Comparable, whole: Comparable) -> Known:
        """A part's integers, counted in the step of the whole."""
        integers, there = self._exact(part)
        return integers * times_finer(part.lattice.step, whole.lattice.step), there

    def _knows(self, node: object) -> bool:
        match node:
            case ValueOf(column) | DayOf(column):
                return column.name in self.columns
            case Constant() | Day():
                return True
        return is_understood(node) and all(column.name in self.columns for column in columns_in(node))

    def _full(self, value: int) -> Integers:
        return np.full(self.number_of_rows, value, np.int64)

    def _all(self, truth: bool) -> Truths:
        return np.full(self.number_of_rows, truth)


def _and(one: Truth, other: Truth) -> Truth:
    return one[0] & other[0], one[1] | other[1]


def _or(one: Truth, other: Truth) -> Truth:
    return one[0] | other[0], one[1] & other[1]


def is_understood(node: object) -> bool:
    """Whether every kind of node in it has a meaning here, given its columns."""
    if isinstance(node, _LEAVES):
        return True
    if isinstance(node, tuple):
        return all(map(is_understood, node))
    if isinstance(node, Column) or not is_dataclass(node):
        return True
    return isinstance(node, _UNDERSTOOD) and all(is_understood(getattr(node, n)) for n in _parts(node))


# Whether a comparison can be true of one number in each of two spans.
CAN_BE: dict[Operator, Callable[[Any, Any, Any, Any], Any]] = {
    "<": lambda low, _high, _other_low, other_high: low < other_high,
    "<=": lambda low, _high, _other_low, other_high: low <= other_high,
    "=": lambda low, high, other_low, other_high: (low <= other_high) & (other_low <= high),
    "<>": lambda low, high, other_low, other_high: (low != other_high) | (high != other_low),
    ">=": lambda _low, high, other_low, _other_high: high >= other_low,
    ">": lambda _low, high, other_low, _other_high: high > other_low,
}
OPPOSITE: dict[Operator, Operator] = {"<": ">=", "<=": ">", "=": "<>", "<>": "=", ">=": "<", ">": "<="}


def _month(days: Integers) -> Integers:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1


def _day_of_month(days: Integers) -> Integers:
    first = days.astype("datetime64[D]").astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days - first + 1


_PARTS: dict[str, Callable[[Integers], Integers]] = {
    "year": lambda days: days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970,
    "quarter": lambda days: (_month(days) + 2) // 3,
    "month": _month,
    "day": _day_of_month,
    "weekday": lambda days: (days + _FROM_MONDAY) % 7 + 1,
}
