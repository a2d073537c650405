"""Marginal tables of a histogram over a product of axes, many at once; and the way back.

A marginal is named by the numbers of its axes, rising.  Many of them share sums: an axis that several lack is
summed out once for all of these, so five hundred cost about as much as twenty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Axes = tuple[int, ...]
Array = npt.NDArray[Any]


def size_of(shape: Sequence[int], axes: Axes) -> int:
    """How many cells the marginal has."""
    return prod(shape[axis] for axis in axes)


def marginals_up_to(shape: Sequence[int], ways: int, most_cells: int) -> tuple[Axes, ...]:
    """All marginals of one to ``ways`` axes that have at most ``most_cells`` cells, the short ones first."""
    numbers = range(1, min(ways, len(shape)) + 1)
    every = (axes for number in numbers for axes in combinations(range(len(shape)), number))
    return tuple(axes for axes in every if size_of(shape, axes) <= most_cells)


def tables_of(histogram: Array, wanted: Iterable[Axes]) -> dict[Axes, Array]:
    """The wanted marginals of a histogram that has the shape of the product; whole where it is whole."""
    found: dict[Axes, Array] = {}
    _sum_out(histogram, (), 0, set(wanted), found)
    return found


def _sum_out(part: Array, kept: Axes, axis: int, wanted: set[Axes], found: dict[Axes, Array]) -> None:
    """``part`` has the axes that are kept, and after them all from ``axis`` on."""
    if part.ndim == len(kept):
        found[kept] = part
        return
    with_it = {axes for axes in wanted if axis in axes}
    if wanted - with_it:
        _sum_out(part.sum(axis=len(kept)), kept, axis + 1, wanted - with_it, found)
    if with_it:
        _sum_out(part, (*kept, axis), axis + 1, with_it, found)


def spread(shape: Sequence[int], tables: Mapping[Axes, Array]) -> Array:
    """For each cell of the product, the sum of what all tables say about it: the transpose of ``tables_of``.

    Small tables are added to each other before they are spread.  What comes back may share memory with them.
    """
    return _spread(tuple(shape), (), 0, dict(tables))


def _spread(shape: Axes, kept: Axes, axis: int, tables: dict[Axes, Array]) -> Array:
    if axis == len(shape):
        return tables[kept].reshape([shape[one] for one in kept])
    with_it = {axes: table for axes, table in tables.items() if axis in axes}
    without = {axes: table for axes, table in tables.items() if axis not in axes}
    if not without:
        return _spread(shape, (*kept, axis), axis + 1, with_it)
    alike = np.expand_dims(_spread(shape, kept, axis + 1, without), len(kept))
    if with_it:
        both: Array = _spread(shape, (*kept, axis), axis + 1, with_it) + alike
        return both
    whole = (*(shape[one] for one in kept), *shape[axis:])
    return np.broadcast_to(alike, whole)
