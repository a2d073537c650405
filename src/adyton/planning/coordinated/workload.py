"""The values of a batch as a workload of the matrix mechanism, over all cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.planning.coordinated.linear import LinearBatch
from adyton.planning.coordinated.linear_query import LinearQuery


class LinearWorkload:
    """Satisfies ``LinearQueries``; its matrix is written out a few rows at a time."""

    denominator = 1
    fractional = True

    def __init__(self, problem: LinearBatch) -> None:
        self.cells, self.queries = problem.cells, problem.values
        self._linears = [one.everywhere(problem.shape) for one in problem.linears]
        self._gram: Floats | None = None

    def numerators(self, histogram: Any) -> Any:
        return np.concatenate([one.added(histogram) for one in self._linears]).astype(histogram.dtype)

    def gram(self) -> Floats:
        if self._gram is None:
            self._gram = np.zeros((self.cells, self.cells))
            for weights in self._weights():
                self._gram += weights.T @ weights
        return self._gram

    def variances(self, covariance: Floats) -> Floats:
        found = [((weights @ covariance) * weights).sum(axis=1) for weights in self._weights()]
        return np.concatenate(found)

    def _weights(self) -> Sequence[Floats]:
        """Single counts are taken many at a time."""
        single = [one.places for one in self._linears if one.size == 1]
        step = max(1, 2**22 // self.cells)
        stacks = [(np.stack(single[i : i + step]) == 0).astype(float) for i in range(0, len(single), step)]
        return stacks + [w for one in self._linears if one.size > 1 for _, w in one.weights()]

    def query(self, index: int) -> LinearQuery:
        raise InvalidRequest("the values of a batch are not asked one by one")


class DenseWorkload:
    """Satisfies ``LinearQueries``, with any weights: it is never asked, and only chooses a strategy."""

    denominator = 1
    fractional = False

    def __init__(self, matrix: Floats) -> None:
        self._matrix = matrix
        self.queries, self.cells = matrix.shape

    def numerators(self, histogram: Any) -> Any:
        return self._matrix @ histogram

    def gram(self) -> Floats:
        return self._matrix.T @ self._matrix

    def variances(self, covariance: Floats) -> Floats:
        spread: Floats = ((self._matrix @ covariance) * self._matrix).sum(axis=1)
        return spread

    def query(self, index: int) -> LinearQuery:
        raise InvalidRequest("this workload only chooses a strategy")
