"""Public cells: the coarsest division of rows that queries can tell apart, found without looking at one.

Every condition and every group is taken apart into pieces about one column; a column is divided into classes
on which all pieces are constant, and a cell is a class of each.  So a count is a sum over cells, and one
histogram answers all of the queries.

Claim:    each row is in exactly one cell, and where ``mask`` gives a condition, it is true of exactly the
          rows in the cells of the mask.
Assumes:  rows hold values as their columns declare them, which is how engines load them.
Source:   derived on the theorem's page.  Theorem: PUBLIC-CELLS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, rational
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    Table,
    TextColumn,
    day_number,
)
from adyton.kernel.terms.buckets import MOST_CELLS, Group
from adyton.kernel.terms.expressions import And, Compare, Condition, NumberExpression, Or
from adyton.kernel.terms.leaves import EVERY_ROW, Constant, DayCount, DayOf, IsMissing, ValueOf
from adyton.kernel.terms.measures import Count
from adyton.kernel.terms.names import columns_in
from adyton.query.conditions.axis import Axis, axis_of
from adyton.query.conditions.possible import Integers, KnownRows, Truths
from adyton.query.conditions.possible_cells import _codes, kept_cells
from adyton.query.conditions.subjects import Piece, Subject, seen_group, taken_apart
from adyton.query.nodes import Query

Bins = int | Sequence[Number | date]  # how many of about one width, or where each but the first begins
Places = Sequence[int]  # of axes


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """The axes of the cells of ``table``; the last one changes fastest from cell to cell."""

    table: Table
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def cells(self) -> int:
        return prod(self.shape)

    def check(self, most: int = MOST_CELLS) -> None:
        """InvalidRequest if there are too many cells."""
        if self.cells > most:
            widest = max(self.axes, key=lambda axis: axis.size)
            raise InvalidRequest(
                f"these queries divide the rows into {self.cells} cells; at most {most} are counted: leave "
                f"out {widest.name!r}, which has {widest.size} parts, or use wider bins; nothing was charged"
            )

    def query(self, by: Places | None = None, where: Condition = EVERY_ROW) -> Query:
        """The grouped count; ``cells_of`` says in which cell of these axes, or of all, each integer is."""
        groups = tuple(axis.group for axis in self._chosen(by) if axis.size > 1)
        return Query(self.table, (("n", Count()),), where, groups)

    def cells_of(self, by: Places | None = None, where: Condition = EVERY_ROW) -> Integers:
        """Of each integer that an engine reads for ``query`` of the same, the cell of these axes."""
        chosen = self._chosen(by)
        kept, sizes = kept_cells(self.query(by, where)), [len(a.classes) for a in chosen if a.size > 1]
        places = np.arange(prod(sizes)) if kept is None else np.array(kept, np.int64)
        at = np.zeros(len(places), np.int64)
        found = iter(np.unravel_index(places, sizes) if sizes else ())
        for axis in chosen:
            at = at * axis.size + (axis.classes[next(found)] if axis.size > 1 else 0)
        return at

    def shape_of(self, by: Places | None = None) -> tuple[int, ...]:
        return tuple(axis.size for axis in self._chosen(by))

    def mask(self, condition: Condition, by: Places | None = None) -> Truths:
        """The cells of these axes, or of all, whose rows meet the condition.

        InvalidRequest, with the name of the column, where some cell has rows of both kinds.
        """
        self._check(taken_apart(condition).pieces, by)
        places = tuple(range(len(self.axes))) if by is None else tuple(by)
        shape = [self.axes[place].size for place in places]
        return np.broadcast_to(self._true(taken_apart(condition).seen, places), shape).ravel()

    def _true(self, condition: Condition, by: Places) -> Truths:
        """Where a condition on what is seen is true: an axis for each of ``by``, of one class where it does
        not matter.  AND and OR are true where their parts are, each of which may look at few axes.
        """
        if isinstance(condition, And | Or):
            both = np.logical_and if isinstance(condition, And) else np.logical_or
            met: Truths = reduce(both, [self._true(part, by) for part in condition.parts])
            return met
        names = {column.name for column in columns_in(condition)}
        own = [place for place in by if self.axes[place].subject.column.name in names]
        true, _ = self._rows(own).condition(condition)
        return true.reshape([self.axes[place].size if place in own else 1 for place in by])

    def places(self, group: Group, by: Places | None = None) -> Integers:
        """Of each cell of these axes, or of all, the place of its rows among a group's values, else -1."""
        shown, subject = seen_group(group)
        self._check([(subject, Piece(shown))], by)
        codes, there = _codes(shown, self._rows(by))
        return np.where(there, codes, -1)

    def read_by(self, *nodes: Condition | Group) -> tuple[int, ...]:
        """The axes that decide these conditions and groups, rising."""
        subjects: set[Subject] = set()
        for node in nodes:
            if isinstance(node, Condition):
                subjects |= {subject for subject, _ in taken_apart(node).pieces}
            else:
                subjects.add(seen_group(node)[1])
        return tuple(place for place, axis in enumerate(self.axes) if axis.subject in subjects)

    def _chosen(self, by: Places | None) -> list[Axis]:
        return list(self.axes) if by is None else [self.axes[place] for place in by]

    def _rows(self, by: Places | None) -> KnownRows:
        """One row for each cell, of which what the chosen axes are about is known."""
        chosen = self._chosen(by)
        sizes = [axis.size for axis in chosen]
        at = np.unravel_index(np.arange(prod(sizes)), sizes) if sizes else ()
        columns = {
            axis.subject.column.name: (axis.first[0][i], axis.first[1][i])
            for axis, i in zip(chosen, at, strict=True)
        }
        return KnownRows(columns, prod(sizes))

    def _check(self, pieces: Iterable[tuple[Subject, Piece]], by: Places | None) -> None:
        known = {axis.subject: axis for axis in self._chosen(by)}
        for subject, piece in dict.fromkeys(pieces):
            if subject not in known or not known[subject].is_constant(piece):
                near = known[subject].near(piece) if subject in known else ""
                raise InvalidRequest(f"the cells do not tell apart what is asked of {subject.name!r}{near}")


def axes_by(table: Table, conditions: Iterable[Condition], groups: Iterable[Group] = ()) -> Axes:
    """The cells of which all of these conditions and groups are unions."""
    found: dict[Subject, dict[Piece, None]] = {}
    for condition in dict.fromkeys(conditions):
        for subject, piece in taken_apart(condition).pieces:
            found.setdefault(subject, {})[piece] = None
    for group in dict.fromkeys(groups):
        shown, subject = seen_group(group)
        found.setdefault(subject, {})[Piece(shown)] = None
    made = (axis_of(subject, list(pieces), place) for place, (subject, pieces) in enumerate(found.items()))
    return Axes(table, tuple(made))


# Cells of columns ------------------------------------------------------------------------------------------


def axes_of_columns(table: Table, columns: Sequence[str], bins: Mapping[str, Bins] | None = None) -> Axes:
    """A class for each declared value or bin of these columns, and one for a missing value.

    ``bins`` are for numbers and dates: how many of about one width, or where each but the first begins.
    """
    wanted = {name.casefold(): given for name, given in (bins or {}).items()}
    made = []
    for place, name in enumerate(columns):
        column = table.column(name)
        pieces = _pieces(column, wanted.get(column.name.casefold()))
        made.append(axis_of(Subject(column), [Piece(IsMissing(column)), *pieces], place))
    if len({axis.subject for axis in made}) < len(made):
        raise InvalidRequest("a column was named twice")
    return Axes(table, tuple(made))


def _pieces(column: Column, bins: Bins | None) -> list[Piece]:
    if isinstance(column, CategoryColumn | BooleanColumn):
        return [Piece(column)]
    if isinstance(column, TextColumn):
        raise InvalidRequest(
            f"the values of {column.name!r} are not declared: leave it out, or declare a category"
        )
    if bins is None:
        raise InvalidRequest(f"{column.name!r} has no declared values: give bins for it")
    number: NumberExpression = DayCount(DayOf(column)) if isinstance(column, DateColumn) else ValueOf(column)
    return [Piece(Compare(number, ">=", Constant(edge))) for edge in _edges(column.name, number, bins)]


def _edges(name: str, number: NumberExpression, bins: Any) -> list[Fraction]:
    lattice = number.lattice
    if isinstance(bins, int):
        if bins < 1:
            raise InvalidRequest(f"the number of bins of {name!r} is at least 1")
        width = -(-(lattice.high - lattice.low + 1) // bins)
        return [step * lattice.step for step in range(lattice.low + width, lattice.high + 1, width)]
    if isinstance(bins, str) or not isinstance(bins, Sequence):
        raise InvalidRequest(
            f"the bins of {name!r} are their number, or a list of where each but the first begins"
        )
    return [Fraction(day_number(e)) if isinstance(e, date) else rational(e, f"bins of {name}") for e in bins]
