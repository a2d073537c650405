"""All marginal tables of so many attributes, as a workload: what is measured of them is ours to choose."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.planning.coordinated.linear_query import BoxQuery, LinearQuery


@dataclass(frozen=True, slots=True)
class Marginals:
    """All marginal tables of ``ways`` attributes of a product of categories, one after the other."""

    shape: tuple[int, ...]
    ways: int
    denominator: ClassVar[int] = 1
    fractional: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.ways <= len(self.shape):
            raise InvalidRequest(f"a marginal has 0 to {len(self.shape)} attributes, not {self.ways}")

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @property
    def queries(self) -> int:
        return sum(prod(self.shape[a] for a in kept) for kept in self._tables())

    def numerators(self, histogram: Any) -> Any:
        view = histogram.reshape(self.shape)
        return np.concatenate([view.sum(axis=self._dropped(kept)).ravel() for kept in self._tables()])

    def gram(self) -> Floats:
        """Two cells share the query of a table where they agree on all of its attributes."""
        total = np.zeros((self.cells, self.cells))
        for kept in self._tables():
            block: Any = np.ones((1, 1))
            for axis, size in enumerate(self.shape):
                block = np.kron(block, np.eye(size) if axis in kept else np.ones((size, size)))
            total += block
        return total

    def variances(self, covariance: Floats) -> Floats:
        size = len(self.shape)
        pairs: Any = covariance.reshape(self.shape * 2)
        tables = []
        for kept in self._tables():
            both = [a if a in kept else a + size for a in range(size)]  # the same letter: a diagonal
            einsum: Any = np.einsum  # numpy's types know only its other way of being called
            tables.append(einsum(pairs, [*range(size), *both], list(kept)).ravel())
        return np.concatenate(tables)

    def query(self, index: int) -> LinearQuery:
        for kept in self._tables():
            sizes = [self.shape[a] for a in kept]
            if 0 <= index < prod(sizes):
                place = np.unravel_index(index, sizes) if sizes else ()
                return BoxQuery(self.shape, {a: [int(c)] for a, c in zip(kept, place, strict=True)})
            index -= prod(sizes)
        raise InvalidRequest(f"there are {self.queries} queries in these marginals")

    def _tables(self) -> list[tuple[int, ...]]:
        return list(itertools.combinations(range(len(self.shape)), self.ways))

    def _dropped(self, kept: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(a for a in range(len(self.shape)) if a not in kept)
