"""The values of a batch as sums over common public cells."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import prod

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise.refine import Integers
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.buckets import Group, group_size
from adyton.kernel.terms.expressions import Condition, all_of
from adyton.kernel.terms.measures import Count, Measure, Proportion
from adyton.query.conditions.atoms import Axes, axes_by
from adyton.query.conditions.possible_cells import kept_cells, number_of_cells
from adyton.query.nodes import Query, without_dimensions

Set = tuple[int, ...]  # of axes, rising
MOST_IN_ONE = 2**20  # cells that one value may be spread over
_AT_ONCE = 2**22  # weights that are written out


@dataclass(frozen=True, slots=True, eq=False)
class CellSums:
    """``size`` values, each the sum of some of the cells of the axes ``by``, none of them in two.

    ``places``: of each cell, in which of the values it counts; -1 in none.
    """

    by: Set
    places: Integers
    size: int

    def weights(self) -> Iterator[tuple[slice, Floats]]:
        """Some values at a time, and their weights of all cells."""
        step = max(1, _AT_ONCE // len(self.places))
        for start in range(0, self.size, step):
            some = np.arange(start, min(start + step, self.size))
            yield slice(start, start + len(some)), (self.places == some[:, None]).astype(float)

    @property
    def counted(self) -> Integers:
        """How many cells are in each value."""
        inside = self.places[self.places >= 0]
        return np.bincount(inside, minlength=self.size).astype(np.int64)

    def added(self, table: Floats) -> Floats:
        """The values, from a table of its axes."""
        inside = self.places >= 0
        return np.bincount(self.places[inside], table.ravel()[inside], minlength=self.size).astype(float)

    def summed(self, cells: Floats, shape: Sequence[int]) -> Floats:
        """The values, from all cells."""
        away = tuple(axis for axis in range(len(shape)) if axis not in self.by)
        return self.added(cells.reshape(shape).sum(axis=away))

    def factors(self, shape: Sequence[int]) -> list[Floats] | None:
        """Of one value, the classes of each axis whose product its cells are; None if they are no product."""
        if self.size > 1:
            return None
        inside = (self.places == 0).reshape([shape[axis] for axis in self.by])
        parts, product = [np.ones(size) for size in shape], np.ones((), bool)
        for place, axis in enumerate(self.by):
            own = inside.any(axis=tuple(other for other in range(len(self.by)) if other != place))
            parts[axis], product = own.astype(float), np.logical_and.outer(product, own)
        return parts if (product == inside).all() else None

    def everywhere(self, shape: Sequence[int]) -> CellSums:
        """The same values as sums of the cells of all axes."""
        own = self.places.reshape([size if axis in self.by else 1 for axis, size in enumerate(shape)])
        return CellSums(tuple(range(len(shape))), np.broadcast_to(own, tuple(shape)).ravel(), self.size)


@dataclass(frozen=True, eq=False)
class LinearBatch:
    """All values of a batch, over axes of at least two classes each."""

    axes: Axes
    kept: Set  # of the axes, those with two classes at least: ``CellSums.by`` counts them
    linears: tuple[CellSums, ...]
    aside: tuple[bool, ...] = field(default=())

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.axes.axes[place].size for place in self.kept)

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def values(self) -> int:
        return sum(linear.size for linear in self.linears)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearBatch) and self.digest == other.digest

    @cached_property
    def digest(self) -> str:
        """Two batches with the same have the same best strategy, and one's measurement answers the other."""
        digest = hashlib.sha256(repr((self.shape, self.aside)).encode())
        for linear in self.linears:
            digest.update(repr((linear.by, linear.size)).encode() + linear.places.tobytes())
        return digest.hexdigest()[:32]


def linears_of(query: Query, readings: Sequence[Reading], problem: LinearBatch) -> list[CellSums]:
    """The values of another query over the same cells; InvalidRequest where these do not tell them."""
    asked = _all_asked([query], readings)
    if any(one.query.table != problem.axes.table for one in asked):
        raise InvalidRequest("the cells are those of another table")
    return [one.linear(problem.axes, problem.kept) for one in asked]


def _all_asked(queries: Sequence[Query], readings: Sequence[Reading]) -> list[_AskedCount]:
    asked = [_AskedCount.of(name, m, q) for q in queries for name, m in q.measures]
    for one, reading in zip(asked, readings, strict=True):
        if isinstance(one.measure, Proportion) and reading.public_rows is None:
            raise InvalidRequest(f"{reading.name!r} is a ratio of two counts, and not answered together")
    return asked


@lru_cache(maxsize=4)
def problem_of(queries: tuple[Query, ...], readings: tuple[Reading, ...]) -> LinearBatch:
    """``readings``: of each measure of each query.  InvalidRequest where some value is not a count."""
    asked = _all_asked(queries, readings)
    if any(one.query.table != asked[0].query.table for one in asked):
        raise InvalidRequest("queries are answered together if they are about one table")
    axes = axes_by(
        asked[0].query.table, [one.where for one in asked], [g for one in asked for g in one.query.by]
    )
    kept = tuple(place for place, axis in enumerate(axes.axes) if axis.size > 1)
    linears = tuple(one.linear(axes, kept) for one in asked)
    if len({linear.by for linear in linears}) == 1 and not linears[0].by:
        raise InvalidRequest("all of these are the same count: ask it once")
    return LinearBatch(
        axes, kept, linears, tuple(_stands_aside(axes, kept, linears, i) for i in range(len(kept)))
    )


@dataclass(frozen=True, slots=True)
class _AskedCount:
    """A measure and its query, about private columns only."""

    measure: Measure
    query: Query
    shown: Query

    @classmethod
    def of(cls, name: str, measure: Measure, query: Query) -> _AskedCount:
        if not isinstance(measure, Count | Proportion) or query.discovers_groups:
            raise InvalidRequest("only counts of rows, in declared groups, are answered together")
        return cls(*without_dimensions(name, measure, query), query)

    @property
    def where(self) -> Condition:
        if isinstance(self.measure, Proportion):
            return self.measure.condition
        return all_of(self.query.where, self.measure.where)

    def linear(self, axes: Axes, kept: Set) -> CellSums:
        everything = axes.read_by(self.where, *self.query.by)  # axes of one class change no place
        read = tuple(place for place in everything if place in kept)
        if prod(axes.axes[place].size for place in read) > MOST_IN_ONE:
            raise InvalidRequest("one of the values is spread over too many cells to be answered together")
        places = self._places(axes, everything)
        places[~axes.mask(self.where, everything)] = -1
        return CellSums(tuple(map(kept.index, read)), places, number_of_cells(self.shown))

    def _places(self, axes: Axes, by: Set) -> Integers:
        groups: tuple[Group, ...] = self.query.by
        cells = prod(axes.axes[place].size for place in by)
        codes, inside = np.zeros(cells, np.int64), np.full(cells, True)
        for group in groups:
            own = axes.places(group, by)
            codes, inside = codes * group_size(group) + own, inside & (own >= 0)
        shown = kept_cells(self.shown)
        if shown is not None:
            listed = np.array(shown, np.int64)
            at = np.minimum(np.searchsorted(listed, codes), len(listed) - 1)
            codes, inside = at, inside & (listed[at] == codes)
        return np.where(inside, codes, -1)


def _stands_aside(axes: Axes, kept: Set, linears: Sequence[CellSums], place: int) -> bool:
    """Whether the last class is that of missing values alone, and no value that looks at it counts it."""
    axis = axes.axes[kept[place]]
    if axis.size < 3 or axis.labels[-1] != axis.size - 1 or (axis.labels[:-1] == axis.labels[-1]).any():
        return False
    for linear in linears:
        if place in linear.by:
            shape = [axes.axes[kept[i]].size for i in linear.by]
            last = linear.places.reshape(shape).take(-1, axis=linear.by.index(place))
            if (last >= 0).any():
                return False
    return True
