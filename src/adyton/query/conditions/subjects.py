"""Conditions taken apart into what each says of one column: the pieces of which public cells are made.

A comparison of several columns, or one that cannot be followed along a long column, is a subject of its own:
it stands for a column that nobody declared, of which only its truth, or its number, is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor

import numpy as np

from adyton.arithmetic.search import Truths, whole_edges
from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    RealColumn,
    TextColumn,
    day_of,
)
from adyton.kernel.terms.buckets import Bucket, Group, group_size
from adyton.kernel.terms.disjoint import beside_constant
from adyton.kernel.terms.expressions import (
    And,
    Comparable,
    Compare,
    Condition,
    Days,
    Not,
    NumberExpression,
    Or,
)
from adyton.kernel.terms.leaves import Always, DayFrom, DayOf, IsMissing, IsTrue, ValueOf
from adyton.kernel.terms.names import columns_in
from adyton.query.conditions.possible import Integers, KnownRows, is_understood
from adyton.query.conditions.possible_cells import _codes, _rises
from adyton.query.text import condition_text, number_text

MOST_VALUES = 2**16  # of a column whose values are tried one by one
_STANDS_FOR = "\0"  # no declared column begins with it


@dataclass(frozen=True, slots=True)
class Subject:
    """A column, or what a column that nobody declared stands for."""

    column: Column
    stands_for: Condition | NumberExpression | None = None

    @property
    def name(self) -> str:
        return self.column.name.removeprefix(_STANDS_FOR)


@dataclass(frozen=True, slots=True)
class Piece:
    """What a query can tell of one subject: whether ``node`` is true, whether it is false, or the place
    that it gives in a group.
    """

    node: Condition | Group
    wanted: bool = True

    @property
    def sizes(self) -> int:
        return 2 if isinstance(self.node, Condition) else group_size(self.node) + 1

    def of(self, rows: KnownRows) -> Integers:
        """One of ``sizes`` whole numbers for each row; rows with the same are the same to this piece."""
        if isinstance(self.node, Condition):
            true, false = rows.condition(self.node)
            return (true if self.wanted else false).astype(np.int64)
        places, there = _codes(self.node, rows)
        return np.where(there, places + 1, 0)

    def breaks(self) -> list[int] | None:
        """The steps of a number at which it changes, from which on; None: it may change anywhere."""
        return _breaks(self.node)


def _breaks(node: Condition | Group) -> list[int] | None:
    match node:
        case IsMissing() | Always():
            return []
        case Not(inner):
            return _breaks(inner)
        case And(parts) | Or(parts):
            found = [_breaks(part) for part in parts]
            return None if None in found else [step for some in found for step in some or ()]
        case Compare():
            compared = beside_constant(node)
            if compared is None or not _rises(compared[0]):
                return None
            number, operator, constant = compared
            steps = constant / number.lattice.step
            at = [ceil(steps)] * (operator not in ("<=", ">"))
            at += [floor(steps) + 1] * (operator not in ("<", ">="))
            return _first_steps(number, at)
        case Bucket(_, value) if _rises(value):
            return _first_steps(value, range(value.lattice.low + 1, value.lattice.high + 1))
        case _:
            return None


def _first_steps(number: Comparable, reached: Iterable[int]) -> list[int]:
    """The least steps of the one column at which a number that rises with it reaches each of these."""
    (column,) = columns_in(number)
    assert not isinstance(column, CategoryColumn | BooleanColumn | TextColumn)
    if isinstance(number, ValueOf | DayOf):
        return [step for step in reached if column.lattice.low < step <= column.lattice.high]
    wanted, (lowest, highest) = np.array(list(reached), np.int64), (column.lattice.low, column.lattice.high)

    def has_reached(steps: Integers) -> Truths:
        at = np.maximum(steps, lowest), np.full(len(steps), True)
        known = KnownRows({column.name: at}, len(steps)).number(number)
        assert known is not None
        return known[0] >= wanted

    first = whole_edges(has_reached, np.full(len(wanted), highest + 1), np.full(len(wanted), lowest - 1))
    return [int(step) for step in first[(first > lowest) & (first <= highest)]]


@dataclass(frozen=True, slots=True)
class Apart:
    """A condition with what is a subject of its own as a column, and what decides whether it is true."""

    seen: Condition
    pieces: tuple[tuple[Subject, Piece], ...]


@lru_cache(maxsize=2**14)
def taken_apart(condition: Condition) -> Apart:
    """Of each subject, as large pieces as there are."""
    known: dict[Column, Subject] = {}
    shown = _seen(condition, known)
    return Apart(shown, tuple((known[column], piece) for column, piece in _pieces(shown, True)))


def _seen(condition: Condition, known: dict[Column, Subject]) -> Condition:
    match condition:
        case Not(inner):
            return Not(_seen(inner, known))
        case And(parts) | Or(parts):
            return type(condition)(tuple(_seen(part, known) for part in parts))
        case _:
            leaf, subject = _leaf(condition)
            if subject is not None:
                known[subject.column] = subject
            return leaf


def seen_group(group: Group) -> tuple[Group, Subject]:
    """A group, and the one subject that says in which of its values a row is."""
    if not isinstance(group, Bucket):
        if isinstance(group, TextColumn):
            raise InvalidRequest(
                f"the values of {group.name!r} are not declared: no public cells follow from it"
            )
        return group, Subject(group)
    columns = set(columns_in(group.value))
    understood = len(columns) == 1 and is_understood(group.value)
    if understood and _can_be_followed(Piece(group), next(iter(columns))):
        return group, Subject(next(iter(columns)))
    column, subject = _number(group.value)
    return replace(group, value=column), subject


def _pieces(condition: Condition, wanted: bool) -> Iterator[tuple[Column, Piece]]:
    """A condition on several columns is true, or false, as far as its parts are."""
    columns = set(columns_in(condition))
    if len(columns) == 1:
        yield columns.pop(), Piece(condition, wanted)
    elif isinstance(condition, Not):
        yield from _pieces(condition.inner, not wanted)
    elif isinstance(condition, And | Or):
        together: dict[Column, list[Condition]] = {}
        for part in condition.parts:
            own = set(columns_in(part))
            if len(own) == 1:
                together.setdefault(own.pop(), []).append(part)
            else:
                yield from _pieces(part, wanted)
        for column, parts in together.items():
            yield column, Piece(type(condition)(tuple(parts)), wanted)


def _leaf(leaf: Condition) -> tuple[Condition, Subject | None]:
    columns = set(columns_in(leaf))
    if isinstance(leaf, Always) or (not columns and is_understood(leaf)):
        return leaf, None
    if len(columns) == 1 and is_understood(leaf) and _can_be_followed(Piece(leaf), next(iter(columns))):
        return leaf, Subject(next(iter(columns)))
    if isinstance(leaf, Compare) and is_understood(leaf):
        compared = beside_constant(leaf)
        if compared is not None and _fits(compared[0]):
            column, subject = _number(compared[0])
            sides = (column, leaf.right) if compared[0] is leaf.left else (leaf.left, column)
            return Compare(sides[0], leaf.operator, sides[1]), subject
    truth = BooleanColumn(_STANDS_FOR + condition_text(leaf))
    return IsTrue(truth), Subject(truth, leaf)


def _can_be_followed(piece: Piece, column: Column) -> bool:
    """Whether its values can all be tried, or it changes at known places of a long column only."""
    if isinstance(column, CategoryColumn | BooleanColumn):
        return True
    if isinstance(column, TextColumn):
        return False
    return column.lattice.high - column.lattice.low < MOST_VALUES or piece.breaks() is not None


def _fits(number: Comparable) -> bool:
    """Whether a column can have its values: two of them at least, and not beyond what columns may hold."""
    try:
        _number(number)
    except InvalidRequest:
        return False
    return True


def _number(number: Comparable) -> tuple[DayOf | ValueOf, Subject]:
    """A column in the place of a number or a day that several columns make together."""
    name, lattice = _STANDS_FOR + number_text(number), number.lattice
    if isinstance(number, Days):
        days = DateColumn(name, day_of(lattice.low), day_of(lattice.high))
        assert isinstance(number, DayFrom)
        return DayOf(days), Subject(days, number.inner)
    ends = (lattice.low * lattice.step, lattice.high * lattice.step)
    column = RealColumn(name, *ends, lattice.step)
    return ValueOf(column), Subject(column, number)
