"""Variances and standard deviations: from the mean, and the mean squared distance from a public middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.certify import Absent, Bound, Intervals, Values
from adyton.columns import Cells
from adyton.curator.additive import mean_ratios, ratio_guess, uncentred
from adyton.curator.noised import LEVEL, Noised
from adyton.curator.part import Columns, Read
from adyton.curator.population import NOT_DECLARED, Standing
from adyton.lines import Line
from adyton.mechanisms import Ratio
from adyton.mechanisms.ratio import Ends, Solved
from adyton.noise import Bits
from adyton.noise.refine import Floats

_EACH = 1 - (1 - LEVEL) / 2  # both intervals hold together with probability LEVEL
_OUTWARD = 2.0**-40  # far more than the rounding of a square and a difference


@dataclass(frozen=True, slots=True)
class Spread:
    """E (x - c)**2 - (E x - c)**2 with a public c, or its ``root``.

    Claim:    if the mean and the mean square lie in their intervals, the variance lies between the least and
              the greatest that any pair of them gives.
    Source:   the identity above holds for every c.  Theorem: VARIANCE-INTERVAL.
    """

    mean: Noised
    square: Noised
    root: bool

    @property
    def name(self) -> str:
        return self.mean.reading.name

    @property
    def noised(self) -> tuple[Noised, ...]:
        return (self.mean, self.square)

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("RATIO-INTERVAL", "VARIANCE-INTERVAL")

    @property
    def noises(self) -> int:
        return 2

    @property
    def keys(self) -> None:
        return None

    def release(self, exact: Sequence[Columns], read: Read, bits: Bits) -> list[Cells]:
        return [
            column
            for part, integers in zip(self.noised, exact, strict=True)
            for column in part.mechanism.release(integers, bits)
        ]

    def ratios(self, released: Columns, standing: Standing) -> list[Ratio]:
        """Of the mean and of the square: for the noise, and after these for the population if any."""
        mean = mean_ratios(self.mean, released[:2], standing, _EACH)
        square = mean_ratios(self.square, released[2:], standing, _EACH)
        return [ratio for both in zip(mean, square, strict=True) for ratio in both]

    def values(self, released: Columns, standing: Standing, solved: list[Solved]) -> Values:
        ends = [own.ends() for own in solved]
        noise = self._intervals(ends[0], ends[1], LEVEL)
        means, squares = ratio_guess(released[:2], solved[0]), ratio_guess(released[2:], solved[1])
        population: Intervals | Absent = standing.missing or NOT_DECLARED
        if len(ends) > 2:
            population = self._intervals(ends[2], ends[3], standing.population.level)
        return Values(np.clip(self._value(means, squares), noise.low, noise.high), noise, population)

    def bound(self, matching: int | None) -> Bound:
        return Bound(LEVEL, None)

    def population_bound(self, standing: Standing, matching: int | None) -> Bound | Absent:
        return standing.missing or Bound(standing.population.level, None)

    def _intervals(self, mean: Ends, square: Ends, level: float) -> Intervals:
        first, last = map(self._from_middle, mean)
        least, most = map(uncentred(self.square).near, square)
        return self._range((first, last), (least, most), level)

    def _range(self, mean: Ends, square: Ends, level: float) -> Intervals:
        """Theorem: VARIANCE-INTERVAL."""
        (first, last), (least, most) = mean, square
        far, near = np.maximum(first**2, last**2), np.minimum(first**2, last**2)
        near = np.where((first <= 0) & (last >= 0), 0.0, near)
        slack = _OUTWARD * (np.abs(most) + far)
        low, high = np.maximum(0.0, least - far - slack), np.maximum(0.0, most - near + slack)
        if self.root:
            low, high = np.sqrt(low) * (1 - _OUTWARD), np.sqrt(high) * (1 + _OUTWARD)
        return Intervals(level, low, high)

    def _value(self, mean: Floats, square: Floats) -> Floats:
        variance = np.maximum(0.0, uncentred(self.square).near(square) - self._from_middle(mean) ** 2)
        return np.sqrt(variance) if self.root else variance

    def _from_middle(self, ratio: Floats) -> Floats:
        """The mean's distance from the middle of the bounds."""
        centred, counted = self.mean.reading.coordinates
        assert centred.value is not None
        return Line(counted.times * centred.value.lattice.grain / 2).near(ratio)
