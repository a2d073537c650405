"""Gaussian noise first, for privacy, and then a public grid: few answers are possible, so they say little.

What is rounded has noise already, so privacy pays for the noise and for nothing else.  What a grid is for is
validity: the number of answers that were possible before a query says what it pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from adyton.kernel.exact.cells import Array, Cells, largest, whole
from adyton.kernel.mechanisms.base import Columns, Scales
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import GaussianCost
from adyton.kernel.sensitivity import Sensitivity

_ROOM = 2**62  # below it machine integers can be added


@dataclass(frozen=True, slots=True)
class Grid:
    """``cells`` of ``step`` whole numbers each, from ``low`` on.  What is farther out belongs to the last one
    on that side, and every number is answered with the middle of its cell.
    """

    low: int
    step: int
    cells: int

    @classmethod
    def over(cls, low: int, high: int, step: int) -> Grid:
        """All whole numbers from ``low`` to ``high``, both included."""
        return cls(low, step, -(-(high - low + 1) // step))

    @property
    def moved(self) -> int:
        """How far a number of the grid can be from the middle of its cell."""
        return self.step // 2

    def rounded(self, values: Array) -> Array:
        if largest(values) + abs(self.low) + self.step * self.cells >= _ROOM:
            values = values.astype(object)
        places = np.minimum(np.maximum((values - self.low) // self.step, 0), self.cells - 1)
        middles: Array = places * self.step + (self.low + (self.step - 1) // 2)
        return middles


@dataclass(frozen=True, slots=True)
class NoiseOnAGrid:
    """Adds rounded Gaussian noise and puts each integer on its grid.

    Claim:    as private as its noise; a single integer is within the error of the noise and ``moved`` of the
              exact one; and whatever is asked, an answer of k cells is one of the product of the cells of its
              grids, to the power of k.
    Assumes:  as ``GaussianNoise``; the exact integers of a cell lie on the grid; where there are two
              coordinates, the grids go on for six standard deviations beyond them.
    Source:   post-processing; derived here.  Theorem: ROUNDING-STUDY.
    """

    noise: GaussianNoise
    grids: tuple[Grid, ...]  # one for each coordinate
    name: ClassVar[str] = "rounded Gaussian on a grid"
    gaussian: ClassVar[bool] = True
    theorems: ClassVar[tuple[str, ...]] = (*GaussianNoise.theorems, "ROUNDING-STUDY")

    @property
    def scales(self) -> Scales:
        return self.noise.scales

    @property
    def said(self) -> tuple[str, ...]:
        """As receipts have it, so that an answer on another grid is never taken for this one."""
        return tuple(f"grid {grid.step}" for grid in self.grids)

    def cost(self, sensitivity: Sensitivity) -> GaussianCost:
        return self.noise.cost(sensitivity)

    def radius(self, sensitivity: Sensitivity) -> GaussianCost:
        return self.noise.radius(sensitivity)

    def release(self, exact: Columns, bits: Bits) -> list[Cells]:
        noisy = self.noise.release(exact, bits)
        return [Cells(grid.rounded(whole(column))) for grid, column in zip(self.grids, noisy, strict=True)]

    def error(self, confidence: float) -> int:
        return self.noise.error(confidence) + self.grids[0].moved

    def at(self, *coordinates: int) -> NoiseOnAGrid:
        return NoiseOnAGrid(self.noise.at(*coordinates), tuple(self.grids[i] for i in coordinates))
