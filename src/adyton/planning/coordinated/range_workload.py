"""Many linear queries about one histogram, answered together.

A workload never holds its matrix W where it has a formula: all ranges of 1,024 cells are 524,800 queries.
What the matrix mechanism needs of W is W'W (cells x cells), and W C W' on the diagonal for a given C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar, Protocol

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise.refine import Integers
from adyton.planning.coordinated.linear_query import (
    LARGEST_WEIGHT,
    BoxQuery,
    LinearQuery,
    WeightedQuery,
)


class LinearQueries(Protocol):
    """Queries with whole weights over one denominator."""

    @property
    def cells(self) -> int: ...

    @property
    def queries(self) -> int: ...

    @property
    def denominator(self) -> int: ...

    @property
    def fractional(self) -> bool:
        """Whether the value of every cell in every query is between 0 and 1."""
        ...

    def numerators(self, histogram: Any) -> Any:
        """``denominator`` times W x, in the arithmetic of the histogram: whole for whole counts."""
        ...

    def gram(self) -> Floats:
        """W'W."""
        ...

    def variances(self, covariance: Floats) -> Floats:
        """The diagonal of W C W', for a symmetric C."""
        ...

    def query(self, index: int) -> LinearQuery: ...


@dataclass(frozen=True, slots=True)
class _InLine:
    """Counts of cells that stand in one line: a query for each of them, unless there are more."""

    cells: int
    denominator: ClassVar[int] = 1
    fractional: ClassVar[bool] = True

    @property
    def queries(self) -> int:
        return self.cells


class IdentityQueries(_InLine):
    """Every cell by itself."""

    def numerators(self, histogram: Any) -> Any:
        return histogram.copy()

    def gram(self) -> Floats:
        return np.eye(self.cells)

    def variances(self, covariance: Floats) -> Floats:
        return np.diag(covariance).copy()

    def query(self, index: int) -> LinearQuery:
        return BoxQuery((self.cells,), {0: [index]})


class Prefixes(_InLine):
    """Cells 0 to i, for every i: a cumulative distribution."""

    def numerators(self, histogram: Any) -> Any:
        return np.cumsum(histogram)

    def gram(self) -> Floats:
        """Cells i and j are both in the prefixes that reach the farther of them."""
        i = np.arange(self.cells, dtype=float)
        shared: Floats = self.cells - np.maximum(i[:, None], i)
        return shared

    def variances(self, covariance: Floats) -> Floats:
        sums: Floats = covariance.cumsum(axis=0).cumsum(axis=1)
        return np.diag(sums).copy()

    def query(self, index: int) -> LinearQuery:
        return BoxQuery((self.cells,), {0: range(index + 1)})


class Ranges(_InLine):
    """Cells i to j for all i <= j, ordered by i and then by j."""

    @property
    def queries(self) -> int:
        return self.cells * (self.cells + 1) // 2

    def numerators(self, histogram: Any) -> Any:
        sums = np.concatenate([np.zeros(1, histogram.dtype), np.cumsum(histogram)])
        first, last = np.triu_indices(self.cells)
        return sums[last + 1] - sums[first]

    def gram(self) -> Floats:
        """Cells i <= j are both in (i + 1) (cells - j) ranges."""
        i = np.arange(self.cells, dtype=float)
        shared: Floats = (1 + np.minimum(i[:, None], i)) * (self.cells - np.maximum(i[:, None], i))
        return shared

    def variances(self, covariance: Floats) -> Floats:
        """Of a difference of two prefix sums."""
        sums = np.pad(covariance.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        first, last = np.triu_indices(self.cells)
        own = np.diag(sums)
        spread: Floats = own[last + 1] + own[first] - 2 * sums[first, last + 1]
        return spread

    def query(self, index: int) -> LinearQuery:
        if not 0 <= index < self.queries:
            raise InvalidRequest(f"there are {self.queries} ranges, and no number {index}")
        starts = np.cumsum(np.arange(self.cells, 0, -1))
        first = int(np.searchsorted(starts, index, side="right"))
        last = index - (int(starts[first - 1]) if first else 0) + first
        return BoxQuery((self.cells,), {0: range(first, last + 1)})


class ExplicitQueries:
    """Any rows of whole or rational weights, written out; negative ones are allowed."""

    __slots__ = ("denominator", "fractional", "matrix")

    def __init__(self, rows: Sequence[Sequence[int | Fraction]] | Integers) -> None:
        exact = [[Fraction(w) for w in row] for row in np.asarray(rows, dtype=object).tolist()]
        if not exact or not exact[0] or len({len(row) for row in exact}) != 1:
            raise InvalidRequest("a workload has at least one query, and the same cells in each")
        self.denominator = lcm(*(w.denominator for row in exact for w in row))
        whole = [[int(w * self.denominator) for w in row] for row in exact]
        if max(self.denominator, *(abs(w) for row in whole for w in row)) > LARGEST_WEIGHT:
            raise InvalidRequest(f"weights need whole numbers above {LARGEST_WEIGHT}: choose a coarser step")
        self.matrix = np.array(whole, dtype=np.int64)
        self.matrix.setflags(write=False)
        self.fractional = bool(self.matrix.min() >= 0 and self.matrix.max() <= self.denominator)

    def __repr__(self) -> str:
        return f"Queries({self.queries} of {self.cells} cells)"

    @property
    def cells(self) -> int:
        return len(self.matrix[0])

    @property
    def queries(self) -> int:
        return len(self.matrix)

    def numerators(self, histogram: Any) -> Any:
        return self.matrix @ histogram

    def gram(self) -> Floats:
        weights = self.matrix / self.denominator
        return weights.T @ weights

    def variances(self, covariance: Floats) -> Floats:
        weights = self.matrix / self.denominator
        spread: Floats = ((weights @ covariance) * weights).sum(axis=1)
        return spread

    def query(self, index: int) -> LinearQuery:
        return WeightedQuery(self.matrix[index], self.denominator)
