"""A strategy for cells with several axes: all products of what is measured along each of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import Adjacency
from adyton.kernel.special.mechanisms.workloads.strategy import LARGEST_SQUARE, Strategy


class Product:
    """The Kronecker product of one strategy for each axis, which is never written out.

    Claim:    as for ``Strategy``: the diameters are not smaller than the largest distances of what two
              neighboring histograms measure, and a ball of ``l2_radius_squared`` holds what a unit can add.
    Assumes:  a unit adds 1 to one cell, or to none.
    Source:   McKenna, Miklau, Hay, Machanavajjhala 2018 (HDMM); replace-one derived on the theorem's page.
    Theorem: PRODUCT-STRATEGY.
    """

    name = "product"

    def __init__(self, factors: Sequence[Strategy]) -> None:
        self.factors = tuple(factors)
        self.rows = prod(factor.rows for factor in self.factors)
        if self._longest > LARGEST_SQUARE:
            raise InvalidRequest(
                "a product of strategies needs entries small enough that sums are not rounded"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(factor.cells for factor in self.factors)

    def measure(self, histogram: Integers) -> Integers:
        """Modulo 2**64, without an error: as ``Strategy.measure``."""
        measured: Any = np.asarray(histogram, np.int64).reshape(self.shape)
        for axis, factor in enumerate(self.factors):
            measured = np.moveaxis(np.tensordot(factor.matrix, measured, (1, axis)), 0, axis)
        made: Integers = measured.ravel()
        return made

    def l2_diameter_squared(self, adjacency: Adjacency) -> int:
        """Theorem: PRODUCT-STRATEGY."""
        if adjacency == "add-remove":
            return self._longest
        ends = [(int(factor.gram.min()), int(np.diag(factor.gram).max())) for factor in self.factors]
        least = min(prod(inner) for inner in product(*ends))
        return max(self._longest, 2 * (self._longest - least))

    def l1_diameter(self, adjacency: Adjacency) -> int:
        """Theorem: PRODUCT-STRATEGY."""
        return self.l1_radius() * (1 if adjacency == "add-remove" else 2)

    def l2_radius_squared(self) -> Fraction:
        """Around 0."""
        return Fraction(self._longest)

    def l1_radius(self) -> int:
        return prod(factor.l1_radius() for factor in self.factors)

    @property
    def _longest(self) -> int:
        return prod(factor.l2_diameter_squared("add-remove") for factor in self.factors)

    @cached_property
    def backs(self) -> tuple[Floats, ...]:
        """For each axis, from what is measured to its classes: the pseudo-inverses."""
        return tuple(factor.inverse @ factor.matrix.T for factor in self.factors)

    def combination(self, weights: Floats) -> Floats:
        """For each row of weights of all cells: by what all measured numbers are multiplied."""
        return _along(self.backs, weights)

    def weighed(self, combined: Floats) -> Floats:
        """The weights of all cells in such combinations: what was wanted, but for floats."""
        return _along([factor.matrix.astype(float) for factor in self.factors], combined)

    def cells(self, measured: Floats) -> Floats:
        """All cells, by least squares."""
        cells: Floats = _along([back.T for back in self.backs], measured[None])[0]
        return cells


def _along(matrices: Sequence[Floats], weights: Floats) -> Floats:
    made: Any = weights.reshape(len(weights), *(len(matrix) for matrix in matrices))
    for matrix in matrices:  # the first axis behind the rows each time; its result goes last
        made = np.tensordot(made, matrix, (1, 0))
    flat: Floats = made.reshape(len(weights), -1)
    return flat
