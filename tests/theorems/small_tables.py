"""Tables small enough that everything about two adaptive answers can be integrated.

n rows from a universe of two or three values; the second query is chosen by the first answer.  For every
pair of answers on a fine grid the law of a row given both is exact, and so is the noise that they hide.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


class Small:
    """n rows from a universe, two queries (the second chosen by the first answer), all by quadrature."""

    def __init__(self, law: list[float], tables: list[list[float]], n: int, sigma: float) -> None:
        self.law, self.n, self.sigma = np.array(law), n, sigma
        self.tables = np.array(tables)  # first query, second if a_1 < 1/2, second if not
        grid, step = np.linspace(-6 * sigma, 1 + 6 * sigma, 161, retstep=True)
        self.first, self.second = np.meshgrid(grid, grid, indexing="ij")
        self.cell = step**2
        self.joint = self._densities()  # of (sample, a_1, a_2), by the value of row 1

    def _densities(self) -> Array:
        size = len(self.law)
        by_row = np.zeros((size, *self.first.shape))
        self.noise = np.zeros((2, *self.first.shape))  # density times noise, for E[Z | T]
        self.samples: list[tuple[tuple[int, ...], float, Array]] = []  # sample, its probability, density of T
        for sample in product(range(size), repeat=self.n):
            weight = float(np.prod(self.law[list(sample)]))
            means = self.tables[:, list(sample)].mean(axis=1)
            second = np.where(self.first < 0.5, means[1], means[2])
            z = np.stack([self.first - means[0], self.second - second])
            density = weight * np.exp(-(z**2).sum(axis=0) / (2 * self.sigma**2))
            density /= 2 * math.pi * self.sigma**2
            by_row[sample[0]] += density
            self.samples.append((sample, weight, density / weight))
            self.noise += density * z
        return by_row

    @property
    def density(self) -> Array:
        return self.joint.sum(axis=0)

    def distance(self) -> Array:
        """X_T at every transcript."""
        return np.abs(self.joint / self.density - self.law[:, None, None]).sum(axis=0) / 2

    def probability(self, event: Array) -> float:
        return float((self.density * event).sum() * self.cell)

    def errors(self) -> Array:
        """The larger of |a_j - q_j(P)|."""
        truth = self.tables @ self.law
        second = np.where(self.first < 0.5, truth[1], truth[2])
        return np.maximum(np.abs(self.first - truth[0]), np.abs(self.second - second))

    def mu0(self) -> float:
        return math.sqrt(2) / (2 * self.n * self.sigma)


SMALL = [
    Small([0.5, 0.5], [[0, 1], [0, 1], [1, 0]], 2, 1.0),
    Small([0.5, 0.5], [[0, 1], [0, 1], [0, 1]], 3, 0.8),
    Small([0.2, 0.8], [[0, 1], [1, 0], [0, 1]], 2, 2.0),
    Small([1 / 3, 1 / 3, 1 / 3], [[0, 0.5, 1], [0, 1, 0], [1, 0, 1]], 2, 0.7),
    Small([0.6, 0.3, 0.1], [[0, 1, 1], [0, 0, 1], [0, 1, 0]], 3, 1.5),
]
