"""Marginal tables of a histogram over a product of axes, many at once; and the way back.

A marginal is named by the numbers of its axes, rising.  Many of them share sums: an axis that several lack is
summed out once for all of these, so five hundred cost about as much as twenty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy.typing as npt

Axes = tuple[int, ...]
Array = npt.NDArray[Any]


def size_of(shape: Sequence[int], axes: Axes) -> int:
    """How many cells the marginal has."""
    return prod(shape[axis] for axis in axes)


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
