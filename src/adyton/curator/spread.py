"""Variances and standard deviations: from the mean, and the mean squared distance from a public middle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from adyton.certify import Absent, Bound, Interval, Value
from adyton.curator.additive import population_ratio_ends, ratio_ends, ratio_guess, uncentred
from adyton.curator.noised import LEVEL, Noised
from adyton.curator.part import Columns, Read
from adyton.curator.population import Standing
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

    def release(self, exact: list[Columns], read: Read, bits: Bits) -> Columns:
        return [
            column
            for part, integers in zip(self.noised, exact, strict=True)
            for column in part.mechanism.release(integers, bits)
        ]

    def values(self, released: Columns, standing: Standing) -> list[Value]:
        mean, square = released[:2], released[2:]
        ends = (ratio_ends(self.mean, mean, _EACH), ratio_ends(self.square, square, _EACH))
        noise = self._intervals(*ends, LEVEL)
        first = ratio_guess(mean, *ends[0]), ratio_guess(square, *ends[1])
        guesses = [self._value(m, s) for m, s in zip(first[0].tolist(), first[1].tolist(), strict=True)]
        population = self._population(mean, square, standing)
        return [
            Value(min(max(guess, interval.low), interval.high), interval, wide)
            for guess, interval, wide in zip(guesses, noise, population, strict=True)
        ]

    def bound(self, matching: int | None) -> Bound:
        return Bound(LEVEL, None)

    def population_bound(self, standing: Standing, matching: int | None) -> Bound | Absent:
        return standing.missing or Bound(standing.population.level, None)

    def _population(self, mean: Columns, square: Columns, standing: Standing) -> list[Interval | Absent]:
        first = population_ratio_ends(self.mean, mean, standing)
        second = population_ratio_ends(self.square, square, standing)
        if isinstance(first, Absent) or isinstance(second, Absent):
            return [standing.missing or Absent("no interval")] * len(mean[0])
        return list(self._intervals(first, second, standing.population.level))

    def _intervals(
        self, mean: tuple[Floats, Floats], square: tuple[Floats, Floats], level: float
    ) -> list[Interval]:
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
