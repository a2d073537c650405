"""One linear query about a histogram: a whole number for each cell, over a common denominator.

The histogram has a public number of cells.  A unit adds 1 to one cell, or to none, so the exact numerator of
a query is an integer that one unit moves by at most the largest weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from adyton.arithmetic.search import Truths
from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise.refine import Integers

MOST_CELLS = 2 * 10**7
LARGEST_WEIGHT = 2**20


class LinearQuery(Protocol):
    """Weights between 0 and ``denominator``: their quotients are the values of the query, from 0 to 1."""

    @property
    def cells(self) -> int: ...

    @property
    def denominator(self) -> int: ...

    def numerator(self, histogram: Any) -> Any:
        """The sum of weight times count, in the arithmetic of ``histogram``: whole for whole counts."""
        ...

    def spread(self, step: float, into: Floats) -> None:
        """Adds ``step`` times the value of each cell to ``into``."""
        ...


class WeightedQuery:
    """Any whole weights, one for each cell, over a denominator."""

    __slots__ = ("denominator", "weights")

    def __init__(self, weights: Sequence[int] | Integers, denominator: int = 1) -> None:
        self.weights = np.array(weights, dtype=np.int64)
        self.denominator = denominator
        if self.weights.ndim != 1:
            raise InvalidRequest("a query has one weight for each cell")
        _check_cells(self.weights.size)
        if not 1 <= denominator <= LARGEST_WEIGHT:
            raise InvalidRequest(f"a denominator is between 1 and {LARGEST_WEIGHT}, not {denominator}")
        if self.weights.min() < 0 or self.weights.max() > denominator:
            raise InvalidRequest("the values of a linear query are between 0 and 1")
        self.weights.setflags(write=False)

    @property
    def cells(self) -> int:
        return len(self.weights)

    def numerator(self, histogram: Any) -> Any:
        return (histogram @ self.weights)[()]

    def spread(self, step: float, into: Floats) -> None:
        into += (step / self.denominator) * self.weights


class BoxQuery:
    """Rows whose category is one of the given, in each of the given attributes of a product of categories.

    ``BoxQuery((2, 3), {1: [0, 2]})`` counts the cells of a 2 x 3 table in columns 0 and 2.  An answer takes
    time in proportion to the cells of the box, not to those of the universe.
    """

    __slots__ = ("cells", "chosen", "denominator", "shape")

    def __init__(self, shape: Sequence[int], chosen: Mapping[int, Sequence[int]]) -> None:
        self.shape = tuple(shape)
        self.cells = prod(self.shape)
        self.denominator = 1
        _check_cells(self.cells)
        self.chosen = {axis: _categories(self.shape, axis, wanted) for axis, wanted in chosen.items()}

    def numerator(self, histogram: Any) -> Any:
        view = histogram.reshape(self.shape)
        for axis, wanted in self.chosen.items():
            view = view[(slice(None),) * axis + (_run(wanted),)]
        return view.sum()

    def spread(self, step: float, into: Floats) -> None:
        value: Any = np.full((1,) * len(self.shape), step)
        for axis, wanted in self.chosen.items():
            inside = np.zeros(self.shape[axis])
            inside[wanted] = 1.0
            value = value * inside.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        view = into.reshape(self.shape)
        view += value


class MarginalQuery:
    """Rows in some cells of the table that a few attributes make: ``inside`` says which, ``axes`` of what.

    The table of all attributes has ``shape``; ``inside`` has the sizes of the ``axes``, which rise.
    """

    __slots__ = ("axes", "cells", "denominator", "inside", "shape")

    def __init__(self, shape: Sequence[int], axes: Sequence[int], inside: Truths) -> None:
        self.shape, self.axes = tuple(shape), tuple(axes)
        self.cells, self.denominator = prod(self.shape), 1
        _check_cells(self.cells)
        if list(self.axes) != sorted(set(self.axes)) or not set(self.axes) <= set(range(len(self.shape))):
            raise InvalidRequest("the attributes of a marginal are some of those of the table, in its order")
        self.inside = np.asarray(inside, bool).reshape([self.shape[axis] for axis in self.axes])

    def margin(self, histogram: Any) -> Any:
        """The histogram of these attributes alone."""
        others = tuple(axis for axis in range(len(self.shape)) if axis not in self.axes)
        return np.asarray(histogram.reshape(self.shape).sum(axis=others))

    def numerator(self, histogram: Any) -> Any:
        return self.margin(histogram)[self.inside].sum()

    def spread(self, step: float, into: Floats) -> None:
        kept = [size if axis in self.axes else 1 for axis, size in enumerate(self.shape)]
        view = into.reshape(self.shape)
        view += (step * self.inside).reshape(kept)


def _categories(shape: tuple[int, ...], axis: int, wanted: Sequence[int]) -> Integers:
    if not 0 <= axis < len(shape):
        raise InvalidRequest(f"there is no attribute {axis} among {len(shape)}")
    categories = np.unique(np.array(wanted, dtype=np.int64))
    if categories.size == 0 or categories[0] < 0 or categories[-1] >= shape[axis]:
        raise InvalidRequest(f"attribute {axis} has the categories 0 to {shape[axis] - 1}")
    return categories


def _run(categories: Integers) -> slice | Integers:
    """A slice where the categories follow each other: then nothing is copied."""
    first, last = int(categories[0]), int(categories[-1])
    return slice(first, last + 1) if last - first + 1 == categories.size else categories


def _check_cells(cells: int) -> None:
    if not 1 <= cells <= MOST_CELLS:
        raise InvalidRequest(f"a histogram has between 1 and {MOST_CELLS} cells, not {cells}")
