"""A strategy that measures every cell once, and perhaps the total: no matrix needs to be written out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import Adjacency


@dataclass(frozen=True, slots=True)
class EachCell:
    """Every cell once, and the total too where replacing a unit cannot reveal it.

    Claim:    as ``Strategy``, whose matrix would be the identity, and a row of ones below it.
    Source:   derived here.  Theorem: STRATEGY-SENSITIVITY.
    """

    cells: int
    total: bool
    name = "atoms"

    @property
    def rows(self) -> int:
        return self.cells + self.total

    def measure(self, histogram: Integers) -> Integers:
        total = [np.add.reduce(histogram)] if self.total else []
        return np.concatenate([histogram, np.array(total, np.int64)])

    def l2_diameter_squared(self, adjacency: Adjacency) -> int:
        return max(1 + self.total, 2 if adjacency == "replace-one" and self.cells > 1 else 0)

    def l1_diameter(self, adjacency: Adjacency) -> int:
        return max(1 + self.total, 2 if adjacency == "replace-one" and self.cells > 1 else 0)

    def l2_radius_squared(self) -> Fraction:
        """Around 1 / n in each of n cells, and 1 - 1 / n in the total if it is measured."""
        each = Fraction(1, self.cells)
        if self.total:
            return 1 - each + each**2
        return max(1 - each, each)

    def l1_radius(self) -> int:
        return 1 + self.total
