"""One axis of public cells: the values of one column, or of what stands for one, divided into classes.

Two values are in one class if no query can tell them apart.  Where the values are few, or some piece may
change anywhere, all values are tried; else those at which some piece changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, TextColumn, day_of
from adyton.kernel.terms.buckets import MOST_CELLS, Bucket
from adyton.kernel.terms.expressions import Case, Compare, Condition, Floor, Not, NumberExpression
from adyton.kernel.terms.leaves import Constant, DayCount, DayOf, IsMissing, IsTrue, Lookup, ValueOf
from adyton.query.conditions.possible import Integers, Known, KnownRows
from adyton.query.conditions.subjects import Piece, Subject

_MOST_BRANCHES = 1000  # of a CASE that says the class of a row
_MOST_TRIED = 2**27  # pieces times values; beyond it, ranges are not looked at for being alike


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """``group`` says in which place a row is, never missing; ``classes`` the class of each place.

    ``first`` has, for each class, a value that is in it, in the engines' integers, and whether it is there.
    """

    subject: Subject
    starts: Integers  # of ranges of values, in each of which no piece changes
    labels: Integers  # the class of each, and of a missing value last
    group: Bucket
    classes: Integers
    first: Known
    made_of: frozenset[Piece]

    @property
    def name(self) -> str:
        return self.subject.name

    @property
    def size(self) -> int:
        return len(self.first[0])

    def is_constant(self, piece: Piece) -> bool:
        """Whether a piece is the same for all values of each class."""
        if piece in self.made_of:
            return True
        starts = np.union1d(self.starts, _starts(self.subject, [piece]))
        at = np.searchsorted(self.starts, starts, side="right") - 1
        labels = np.append(self.labels[at], self.labels[-1])
        values = piece.of(_rows(self.subject, starts))
        return bool((values == piece.of(self._rows())[labels]).all())

    def near(self, piece: Piece) -> str:
        """Where the classes begin around the first place at which a piece divides one; for people."""
        column, divided = self.subject.column, sorted(set(piece.breaks() or ()) - set(self.starts.tolist()))
        if isinstance(column, CategoryColumn | BooleanColumn | TextColumn) or not divided:
            return ""
        at, lattice = int(np.searchsorted(self.starts, divided[0])), column.lattice
        steps = [int(step) for step in self.starts[max(at - 1, 0) : at + 1]]
        if isinstance(column, DateColumn):
            places = [str(day_of(step)) for step in steps]
        else:
            places = [f"{float(step * lattice.step):.15g}" for step in steps]
        return f": around there they begin at {' and '.join(places)}"

    def _rows(self) -> KnownRows:
        return KnownRows({self.subject.column.name: self.first}, self.size)


def axis_of(subject: Subject, pieces: Sequence[Piece], place: int) -> Axis:
    """The coarsest classes on which every piece is constant."""
    starts = _starts(subject, pieces)
    labels = _labels(pieces, _rows(subject, starts))
    at = np.full(labels.max() + 1, len(labels))
    np.minimum.at(at, labels, np.arange(len(labels)))
    first = np.append(starts, 0)[at], at < len(starts)
    group, classes = _group(subject, starts, labels)
    named = Bucket(f"axis_{place + 1}", group)
    return Axis(subject, starts, labels, named, classes, first, frozenset(pieces))


def _starts(subject: Subject, pieces: Sequence[Piece]) -> Integers:
    column = subject.column
    if isinstance(column, CategoryColumn):
        return np.arange(len(column.values))
    assert not isinstance(column, TextColumn)
    if isinstance(column, BooleanColumn):
        return np.arange(2)
    low, high = column.lattice.low, column.lattice.high
    found = {low}
    for piece in pieces:
        breaks = piece.breaks()
        if breaks is None:
            return np.arange(low, high + 1)
        found.update(breaks)
    return np.array(sorted(found), np.int64)


def _rows(subject: Subject, starts: Integers) -> KnownRows:
    """One row for each value, and a last one where it is missing."""
    there = np.arange(len(starts) + 1) < len(starts)
    codes = np.where(there, np.append(starts, 0), 0)
    return KnownRows({subject.column.name: (codes, there)}, len(codes))


def _labels(pieces: Sequence[Piece], rows: KnownRows) -> Integers:
    """The class of each row: rows on which all pieces agree have one; numbered as they come."""
    if len(pieces) * rows.number_of_rows > _MOST_TRIED:
        return np.arange(rows.number_of_rows)
    labels, sizes = np.zeros(rows.number_of_rows, np.int64), 1
    for piece in pieces:
        if sizes * piece.sizes >= 2**62:
            labels, sizes = _numbered(labels)
        labels, sizes = labels * piece.sizes + piece.of(rows), sizes * piece.sizes
    return _numbered(labels)[0]


def _numbered(labels: Integers) -> tuple[Integers, int]:
    _, first, at = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[at], len(first)


# What an engine groups by ----------------------------------------------------------------------------------


def _group(subject: Subject, starts: Integers, labels: Integers) -> tuple[NumberExpression, Integers]:
    """A number that is never missing, and the class of each of its values in rising order."""
    column, plain = subject.column, np.arange(labels.max() + 1)
    missing = Constant(Fraction(int(labels[-1])))
    if isinstance(column, CategoryColumn):
        listed = Lookup(column, tuple(int(label) for label in labels[:-1]))
        return Case(((Not(IsMissing(column)), listed),), missing), plain
    if isinstance(column, BooleanColumn):
        truth = IsTrue(column) if subject.stands_for is None else subject.stands_for
        assert isinstance(truth, Condition)
        branches = ((truth, int(labels[1])), (Not(truth), int(labels[0])))
        return Case(tuple((when, Constant(Fraction(then))) for when, then in branches), missing), plain
    return _number_group(subject, starts, labels)


def _number_group(subject: Subject, starts: Integers, labels: Integers) -> tuple[NumberExpression, Integers]:
    number = _number_of(subject)
    lattice = number.lattice
    is_there = Compare(number, ">=", Constant(lattice.low * lattice.step))
    step = gcd(*map(int, starts[1:])) if len(starts) > 1 else 0
    places = lattice.high // step - lattice.low // step + 1 if step else 1
    if not step or (places > 2 * len(starts) and len(starts) <= _MOST_BRANCHES):
        missing = Constant(Fraction(int(labels[-1])))
        tree = _tree(number, [int(start) for start in starts], [int(label) for label in labels[:-1]])
        return Case(((is_there, tree),), missing), np.arange(labels.max() + 1)
    if places >= MOST_CELLS:
        raise InvalidRequest(
            f"the queries divide {subject.name!r} at {len(starts) - 1} places that no equal bins share: "
            "use rounder limits, or fewer"
        )
    bins = Floor(number, step * lattice.step)
    missing = Constant(Fraction(bins.lattice.low - 1))
    codes = np.maximum(np.arange(bins.lattice.low, bins.lattice.high + 1) * step, lattice.low)
    classes = labels[np.searchsorted(starts, codes, side="right") - 1]
    return Case(((is_there, bins),), missing), np.append(labels[-1], classes)


def _number_of(subject: Subject) -> NumberExpression:
    if subject.stands_for is not None:
        assert isinstance(subject.stands_for, NumberExpression)
        return subject.stands_for
    column = subject.column
    assert not isinstance(column, CategoryColumn | BooleanColumn | TextColumn)
    return DayCount(DayOf(column)) if isinstance(column, DateColumn) else ValueOf(column)


def _tree(number: NumberExpression, starts: list[int], labels: list[int]) -> NumberExpression:
    """The label of the last start that is not above the number, found by halves."""
    if len(set(labels)) == 1:
        return Constant(Fraction(labels[0]))
    half = len(starts) // 2
    below = Compare(number, "<", Constant(starts[half] * number.lattice.step))
    upper = _tree(number, starts[half:], labels[half:])
    return Case(((below, _tree(number, starts[:half], labels[:half])),), upper)
