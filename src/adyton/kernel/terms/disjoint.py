"""Whether conditions can never hold of the same row, as far as that can be seen without looking at any.

A condition is read as facts that must all hold: a column takes one of some values, a number lies between two
steps of its lattice.  They exclude each other if they demand of one column or number what cannot be true
at once.  What is not understood says nothing, so the answer errs towards "they may overlap".
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

from adyton.kernel.terms.expressions import (
    MIRRORED,
    And,
    Comparable,
    Compare,
    Condition,
    Not,
    Operator,
    constant_of,
)
from adyton.kernel.terms.leaves import DayOf, IsMissing, IsOutside, IsTrue, OneOf, ValueOf

Span = tuple[int, int]  # of steps, both ends included; the value is present
Allowed = frozenset[object] | Span
Facts = dict[object, Allowed]

_MISSING: Span = (1, 0)  # a number that is not there lies in no span


def facts_of(condition: Condition) -> Facts:
    """What must be true of single columns and numbers wherever ``condition`` is true."""
    facts: Facts = {}
    for part in _conjuncts(condition):
        found = _fact(part)
        if found is not None:
            subject, allowed = found
            facts[subject] = _both(facts[subject], allowed) if subject in facts else allowed
    return facts


@dataclass(slots=True)
class Exclusions:
    """What conditions that exclude each other have taken already, for every subject that tells them apart."""

    _by_subject: dict[object, _Places] | None = None

    def takes(self, facts: Facts) -> bool:
        """Whether ``facts`` exclude all that was taken before, on one subject; if so they are taken too."""
        if self._by_subject is None:
            self._by_subject = {subject: _Places() for subject in facts}
        free = [s for s, places in self._by_subject.items() if s in facts and places.free(facts[s])]
        if not free:
            return False
        self._by_subject = {subject: self._by_subject[subject] for subject in free}
        for subject in free:
            self._by_subject[subject].take(facts[subject])
        return True


@dataclass(slots=True)
class _Places:
    """Values, or spans in rising order that do not overlap."""

    values: set[object] = field(default_factory=set)
    spans: list[Span] = field(default_factory=list)
    missing: bool = False

    def free(self, allowed: Allowed) -> bool:
        if isinstance(allowed, frozenset):
            return not self.values & allowed
        if allowed == _MISSING:
            return not self.missing
        spans, at = self.spans, bisect_left(self.spans, allowed)
        if at < len(spans) and spans[at][0] <= allowed[1]:
            return False
        return at == 0 or spans[at - 1][1] < allowed[0]

    def take(self, allowed: Allowed) -> None:
        if isinstance(allowed, frozenset):
            self.values |= allowed
        elif allowed == _MISSING:
            self.missing = True
        else:
            self.spans.insert(bisect_left(self.spans, allowed), allowed)


def _conjuncts(condition: Condition) -> list[Condition]:
    if isinstance(condition, And):
        return [conjunct for part in condition.parts for conjunct in _conjuncts(part)]
    return [condition]


def _fact(condition: Condition) -> tuple[object, Allowed] | None:
    match condition:
        case OneOf(column, values):
            return column.name, frozenset(values)
        case Not(OneOf(column, values)):  # a missing value makes it neither true nor false
            return column.name, frozenset(column.values) - frozenset(values)
        case IsTrue(column):
            return column.name, frozenset([True])
        case Not(IsTrue(column)):
            return column.name, frozenset([False])
        case IsMissing(column) if column.kind in ("category", "boolean"):
            return column.name, frozenset([None])
        case IsMissing(column) if column.kind != "text":
            return column.name, _MISSING
        case IsOutside():  # a subject of its own: it says nothing of the value as it is declared
            return condition, frozenset([True])
        case Not(IsOutside() as inner):
            return inner, frozenset([False])
        case Compare():
            return _range(condition)
        case _:
            return None


def beside_constant(compared: Compare) -> tuple[Comparable, Operator, Fraction] | None:
    """A number or a day that is no constant, how it is compared, and with which constant on its right."""
    left, right = constant_of(compared.left), constant_of(compared.right)
    if left is None and right is not None:
        return compared.left, compared.operator, right
    if left is not None and right is None:
        return compared.right, MIRRORED[compared.operator], left
    return None


def _range(compared: Compare) -> tuple[object, Allowed] | None:
    """The steps of the number that stand on one side of a constant, on the other."""
    found = beside_constant(compared)
    if found is None or found[1] == "<>":
        return None
    number, operator, constant = found
    lattice, steps = number.lattice, constant / number.lattice.step
    low, high = lattice.low, lattice.high
    if operator in ("<", "<="):
        high = min(high, ceil(steps) - 1 if operator == "<" else floor(steps))
    elif operator in (">", ">="):
        low = max(low, floor(steps) + 1 if operator == ">" else ceil(steps))
    else:
        low, high = max(low, ceil(steps)), min(high, floor(steps))
    subject = number.column.name if isinstance(number, ValueOf | DayOf) else number
    return (subject, (low, high)) if low <= high else None  # nothing meets it; whoever asks that pays


def _both(first: Allowed, second: Allowed) -> Allowed:
    """What meets two facts about one subject; where that is nothing, the first will do."""
    if isinstance(first, frozenset) or isinstance(second, frozenset):
        both = first & second if isinstance(first, frozenset) and isinstance(second, frozenset) else None
        return both or first
    low, high = max(first[0], second[0]), min(first[1], second[1])
    return (low, high) if low <= high and _MISSING not in (first, second) else first
