"""What the matrix mechanism measures instead of the queries: whole-number sums of cells.

A unit adds nothing or one column of the strategy.  Privacy pays the diameter of these points, validity the
radius of a ball around them.  Both are computed from the integers that are really measured, so it does not
matter how a strategy was found: an optimiser can waste accuracy, never privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import ADJACENCIES, Adjacency

MOST_ENTRIES = 2**24
LARGEST_SQUARE = 2**50  # of a column: then floats hold every sum of products, and four of them, exactly
_NEGLIGIBLE = 1e-11  # of the largest eigenvalue
_SOUND = 1e-6  # of the largest pivot
_STEPS_TO_CENTRE = 300
_GRID = 2**10  # how finely the centre of the ball is written


class Strategy:
    """An integer matrix: rows are what is measured, columns are what a unit can add.

    Claim:    ``l2_diameter_squared`` and ``l1_diameter`` are the exact largest distances between what two
              neighboring histograms measure; a ball of ``l2_radius_squared`` holds every column and 0.
    Assumes:  a unit adds 1 to one cell, or to none.
    Source:   Li, Hay, Rastogi, Miklau, McGregor 2010 (the matrix mechanism).
    Theorem: STRATEGY-SENSITIVITY.
    """

    def __init__(self, name: str, matrix: Integers) -> None:
        rows = np.asarray(matrix)
        if rows.ndim != 2 or not rows.size or not np.issubdtype(rows.dtype, np.integer):
            raise InvalidRequest("a strategy is a matrix of whole numbers")
        if rows.size > MOST_ENTRIES:
            raise InvalidRequest(f"a strategy has at most {MOST_ENTRIES} entries, not {rows.size}")
        largest = max(abs(int(rows.min())), abs(int(rows.max())))
        if largest == 0 or largest**2 * rows.shape[0] > LARGEST_SQUARE:
            raise InvalidRequest("a strategy needs entries, small enough that sums are not rounded")
        self.name = name
        self.matrix = rows.astype(np.int64)
        self.matrix.setflags(write=False)

    @property
    def rows(self) -> int:
        return len(self.matrix)

    @property
    def cells(self) -> int:
        return len(self.matrix[0])

    @cached_property
    def gram(self) -> Floats:
        """A'A, every entry a whole number: no sum of products passes 2**50, so nothing is rounded."""
        columns = self.matrix.astype(float)
        product: Floats = columns.T @ columns
        return product

    @cached_property
    def inverse(self) -> Floats:
        """(A'A)^+, in floats: what follows from it is post-processing."""
        if self._is_sound:
            return np.linalg.inv(self.gram).astype(np.float64)
        values, vectors = self._seen
        half = vectors / np.sqrt(values)
        pseudo: Floats = half @ half.T
        return pseudo

    @cached_property
    def unseen(self) -> Floats | None:
        """The projector on all that A maps to 0; None where that is 0 alone."""
        if self._is_sound:
            return None
        _, vectors = self._seen
        projector: Floats = np.eye(self.cells) - vectors @ vectors.T
        return projector

    @cached_property
    def _is_sound(self) -> bool:
        """Whether A'A can be inverted as it is, which is several times faster."""
        try:
            pivots = np.diag(np.linalg.cholesky(self.gram)) ** 2
        except np.linalg.LinAlgError:
            return False
        return bool(pivots.min() > _SOUND * pivots.max())

    @cached_property
    def _seen(self) -> tuple[Floats, Floats]:
        """Eigenvalues of A'A that are not negligible, and their eigenvectors."""
        values, vectors = np.linalg.eigh(self.gram)
        kept = values > _NEGLIGIBLE * values[-1]
        return values[kept], vectors[:, kept]

    def measure(self, histogram: Integers) -> Integers:
        """A x modulo 2**64, without an overflow that could raise: a function of A x, hence never a leak."""
        whole = np.asarray(histogram)
        if whole.shape != (self.cells,) or not np.issubdtype(whole.dtype, np.integer):
            raise InvalidRequest(f"the histogram must be {self.cells} whole numbers")
        return (self.matrix.view(np.uint64) @ whole.astype(np.int64).view(np.uint64)).view(np.int64)

    def l2_diameter_squared(self, adjacency: Adjacency) -> int:
        """Theorem: STRATEGY-SENSITIVITY."""
        _check(adjacency)
        squares = np.diag(self.gram)
        largest = int(squares.max())
        if adjacency == "add-remove":
            return largest
        between = (squares[:, None] + squares - 2 * self.gram).max()
        return max(largest, int(between))

    def l1_diameter(self, adjacency: Adjacency) -> int:
        """Theorem: STRATEGY-SENSITIVITY."""
        _check(adjacency)
        largest = int(np.abs(self.matrix).sum(axis=0).max())
        if adjacency == "add-remove" or self.cells == 1:
            return largest
        from scipy.spatial.distance import pdist

        between = pdist(self.matrix.T.astype(float), "cityblock").max()  # sums below 2**53: exact
        return max(largest, int(between))

    def l2_radius_squared(self) -> Fraction:
        """The squared distance from a good centre to the farthest column, or to 0.  Any centre is valid.

        Theorem: STRATEGY-SENSITIVITY.
        """
        best = self._reach_squared(np.zeros(self.rows, np.int64))
        return min(best, self._reach_squared(np.rint(self._centre() * _GRID).astype(np.int64)))

    def l1_radius(self) -> int:
        """From 0: the largest column."""
        return self.l1_diameter("add-remove")

    def _centre(self) -> Floats:
        """Towards the farthest point in ever smaller steps: Badoiu, Clarkson 2003."""
        columns, squares = self.matrix.astype(float), np.diag(self.gram)
        centre = columns.mean(axis=1)
        best: Floats = centre
        nearest = math.inf
        for step in range(1, _STEPS_TO_CENTRE):
            distances = squares - 2 * (centre @ columns)
            farthest = int(distances.argmax())
            reach = max(float(distances[farthest]), 0.0) + float(centre @ centre)
            if reach < nearest:
                best, nearest = centre, reach
            target = columns[:, farthest] if distances[farthest] > 0 else 0.0
            centre = centre + (target - centre) / (step + 1)
        return best

    def _reach_squared(self, centre: Integers) -> Fraction:
        """The farthest of the columns and 0 from ``centre`` / _GRID, in whole numbers of any size."""
        own = sum(c * c for c in centre.tolist())
        products = (self.matrix.T @ centre).tolist()  # at most 2**50 * _GRID
        squares = np.diag(self.gram).tolist()
        farthest = max(_GRID**2 * int(s) - 2 * _GRID * p for s, p in zip(squares, products, strict=True))
        return Fraction(max(farthest, 0) + own, _GRID**2)


def _check(adjacency: Adjacency) -> None:
    if adjacency not in ADJACENCIES:
        raise InvalidRequest(f"adjacency must be 'replace-one' or 'add-remove', not {adjacency!r}")
