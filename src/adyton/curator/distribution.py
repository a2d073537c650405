"""Distribution functions: counts between points, added up from the left, as a fraction of all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.certify import Absent, Bound, Interval, Value
from adyton.curator.noised import LEVEL
from adyton.curator.part import Columns, OfOneReading, Read
from adyton.curator.population import Standing
from adyton.exact import float_up
from adyton.mechanisms import GaussianNoise
from adyton.mechanisms.ratio import Ends
from adyton.noise import Bits
from adyton.query.nodes import POINTS, Cdf
from adyton.special import special

_HALVINGS = 60
_OUTWARD = 1 + 2.0**-40

Error = Callable[[float, float, float], float]  # the fraction, bins on its left, bins on its right


@dataclass(frozen=True, slots=True)
class Distribution(OfOneReading):
    """F = L / (L + R) from noisy counts L of all bins up to a point and R of the others.

    Claim:    if |(1 - F) noise(L) - F noise(R)| <= error(F) for the true F, then F lies between the two ends.
    Assumes:  error is convex in F.
    Source:   derived on the theorem's page; Fieller 1954.  Theorem: CUMULATED-COUNTS.
    """

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("CUMULATED-COUNTS",)

    @property
    def noises(self) -> int:
        return len(self._points) + 1

    @property
    def keys(self) -> tuple[str, tuple[float | int, ...]]:
        points = tuple(int(p) if p.denominator == 1 else float(p) for p in self._points)
        return POINTS, points

    @property
    def _points(self) -> tuple[Fraction, ...]:
        measure = self.only.reading.measure
        assert isinstance(measure, Cdf)
        return measure.points

    def release(self, exact: list[Columns], read: Read, bits: Bits) -> Columns:
        return self.only.mechanism.release(exact[0], bits)

    def values(self, released: Columns, standing: Standing, solved: list[Ends]) -> list[Value]:
        bins = len(self._points) + 1
        counts = np.array([float(z) for z in released[0]]).reshape(-1, bins)
        population = self._population_error(standing)
        return [self._value(row, j, standing, population) for row in counts for j in range(1, bins)]

    def bound(self, matching: int | None) -> Bound:
        """Half of all on either side is the worst: then every bin's noise counts by a half."""
        bins = len(self._points) + 1
        error = self._noise_error(0.5, bins / 2, bins / 2)
        return Bound(LEVEL, float_up(Fraction(error) / matching) if matching else None, matching)

    def population_bound(self, standing: Standing, matching: int | None) -> Bound | Absent:
        error = self._population_error(standing)
        if isinstance(error, Absent):
            return error
        bins = len(self._points) + 1
        width = float_up(Fraction(error(0.5, bins / 2, bins / 2)) / matching) if matching else None
        return Bound(standing.population.level, width, matching)

    def _value(
        self, counts: np.ndarray, left_bins: int, standing: Standing, population: Error | Absent
    ) -> Value:
        left, right = float(counts[:left_bins].sum()), float(counts[left_bins:].sum())
        bins = (left_bins, len(counts) - left_bins)
        low, high = _ends(left, right, bins, self._noise_error)
        guess = min(max(left / max(left + right, 1.0), low), high)
        if isinstance(population, Absent):
            wide: Interval | Absent = population
        else:
            wide = Interval(standing.population.level, *_ends(left, right, bins, population))
        return Value(guess, Interval(LEVEL, low, high), wide)

    def _noise_error(self, fraction: float, left: float, right: float) -> float:
        mechanism = self.only.mechanism
        if isinstance(mechanism, GaussianNoise):
            z = -float(special().ndtri((1 - LEVEL) / 2))
            return _weighted(fraction, left, right, z * float(mechanism.scales[0]), 0.5)
        each = mechanism.error(1 - (1 - LEVEL) / (left + right))
        return _added(fraction, left, right, each)

    def _population_error(self, standing: Standing) -> Error | Absent:
        if standing.missing is not None or standing.units is None:
            return standing.missing or Absent("the number of units is private")
        population, at, units = standing.population, standing.at, standing.units
        (scale,) = self.only.mechanism.scales
        drift = float_up(population.drift(self.only, at, units))
        if isinstance(self.only.mechanism, GaussianNoise):
            most = Fraction(math.isqrt(len(self._points) + 1) + 1)  # no bins weigh more than this together
            noise, rounding = population.noise(self.only, at, scale=scale * most)
            one = float_up(noise / most)
            return lambda f, left, right: _weighted(f, left, right, one, float(rounding)) + drift
        noise, rounding = population.noise(self.only, at, scale=scale)
        return lambda f, left, right: _added(f, left, right, float_up(noise + rounding)) + drift


def _weighted(fraction: float, left: float, right: float, scale: float, rounding: float) -> float:
    """Independent normals: their weights add up in squares; what rounding adds, adds up plainly."""
    spread = math.hypot((1 - fraction) * math.sqrt(left), fraction * math.sqrt(right))
    return (scale * spread + rounding * ((1 - fraction) * left + fraction * right)) * _OUTWARD


def _added(fraction: float, left: float, right: float, each: float) -> float:
    return each * ((1 - fraction) * left + fraction * right) * _OUTWARD


def _ends(left: float, right: float, bins: tuple[int, int], error: Error) -> tuple[float, float]:
    """Theorem: CUMULATED-COUNTS.  Each side is a convex function of F that crosses 0 once, or not at all."""
    slack = 2.0**-40 * (abs(left) + abs(right))

    def excluded_from_below(f: float) -> bool:
        return (1 - f) * left - f * right > error(f, *bins) + slack

    def excluded_from_above(f: float) -> bool:
        return f * right - (1 - f) * left > error(f, *bins) + slack

    low = _last(excluded_from_below) if excluded_from_below(0.0) else 0.0
    high = 1 - _last(lambda f: excluded_from_above(1 - f)) if excluded_from_above(1.0) else 1.0
    return (low, high) if low <= high else (0.0, 1.0)


def _last(holds: Callable[[float], bool]) -> float:
    """Up to where ``holds``, from 0 on; rounded down."""
    yes, no = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (yes + no) / 2
        yes, no = (middle, no) if holds(middle) else (yes, middle)
    return yes
