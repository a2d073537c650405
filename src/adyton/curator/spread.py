"""Variances and standard deviations: from the mean, and the mean squared distance from a public middle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from adyton.certify import Absent, Bound, Interval, Value
from adyton.curator.additive import mean_ratios, ratio_guess, uncentred
from adyton.curator.noised import LEVEL, Noised
from adyton.curator.part import Columns, Read
from adyton.curator.population import NOT_DECLARED, Standing
from adyton.mechanisms import Ratio
from adyton.mechanisms.ratio import Ends
from adyton.noise import Bits

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

    def release(self, exact: list[Columns], read: Read, bits: Bits) -> Columns:
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

    def values(self, released: Columns, standing: Standing, solved: list[Ends]) -> list[Value]:
        noise = self._intervals(solved[0], solved[1], LEVEL)
        means, squares = ratio_guess(released[:2], solved[0]), ratio_guess(released[2:], solved[1])
        guesses = [self._value(m, s) for m, s in zip(means.tolist(), squares.tolist(), strict=True)]
        population: Sequence[Interval | Absent] = [standing.missing or NOT_DECLARED] * len(guesses)
        if len(solved) > 2:
            population = self._intervals(solved[2], solved[3], standing.population.level)
        return [
            Value(min(max(guess, interval.low), interval.high), interval, wide)
            for guess, interval, wide in zip(guesses, noise, population, strict=True)
        ]

    def bound(self, matching: int | None) -> Bound:
        return Bound(LEVEL, None)

    def population_bound(self, standing: Standing, matching: int | None) -> Bound | Absent:
        return standing.missing or Bound(standing.population.level, None)

    def _intervals(self, mean: Ends, square: Ends, level: float) -> list[Interval]:
        back, from_middle = uncentred(self.square), self._from_middle
        return [
            self._interval((from_middle(a), from_middle(b)), (back(c), back(d)), level)
            for a, b, c, d in zip(*(side.tolist() for side in (*mean, *square)), strict=True)
        ]

    def _interval(self, mean: tuple[float, float], square: tuple[float, float], level: float) -> Interval:
        """Theorem: VARIANCE-INTERVAL."""
        far = max(mean[0] ** 2, mean[1] ** 2)
        near = 0.0 if mean[0] <= 0 <= mean[1] else min(mean[0] ** 2, mean[1] ** 2)
        slack = _OUTWARD * (abs(square[1]) + far)
        low, high = max(0.0, square[0] - far - slack), max(0.0, square[1] - near + slack)
        if self.root:
            low, high = math.sqrt(low) * (1 - _OUTWARD), math.sqrt(high) * (1 + _OUTWARD)
        return Interval(level, low, high)

    def _value(self, mean: float, square: float) -> float:
        variance = max(0.0, uncentred(self.square)(square) - self._from_middle(mean) ** 2)
        return math.sqrt(variance) if self.root else variance

    def _from_middle(self, ratio: float) -> float:
        """The mean's distance from the middle of the bounds."""
        centred, counted = self.mean.reading.coordinates
        assert centred.value is not None
        return float(Fraction(ratio) * counted.times * centred.value.lattice.grain / 2)
