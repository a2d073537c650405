"""Counts, sums, means and proportions: integers with noise, or the ratio of two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.certify import Absent, Bound, Interval, Value
from adyton.curator.noised import LEVEL, Noised, step_of
from adyton.curator.part import Columns, OfOneReading, Read
from adyton.curator.population import NOT_DECLARED, Standing
from adyton.exact import float_down, float_up, ratio_down, ratio_up
from adyton.mechanisms import Band, Ratio, largest_ratio, worst_error
from adyton.mechanisms.ratio import Ends
from adyton.noise import Bits
from adyton.noise.refine import Floats


@dataclass(frozen=True, slots=True)
class Additive(OfOneReading):
    """One reading with noise on every integer."""

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("RATIO-INTERVAL",) if len(self.reading.coordinates) > 1 else ()

    @property
    def noises(self) -> int:
        return 1

    def release(self, exact: list[Columns], read: Read, bits: Bits) -> Columns:
        return self.mechanism.release(exact[0], bits)

    def ratios(self, released: Columns, standing: Standing) -> list[Ratio]:
        return mean_ratios(self.only, released, standing, LEVEL) if len(released) == 2 else []

    def values(self, released: Columns, standing: Standing, solved: list[Ends]) -> list[Value]:
        if len(released) == 2:
            return _means(self.only, released, standing, solved)
        return _single(self.only, released[0], standing)

    def bound(self, matching: int | None) -> Bound:
        error = worst_error(self.mechanism, self.reading.sensitivity, LEVEL)
        steps = Fraction(error) * step_of(self.reading)
        if self.reading.public_rows is not None:
            return Bound(LEVEL, float_up(steps / self.reading.public_rows))
        if len(self.reading.coordinates) == 1:
            return Bound(LEVEL, float_up(steps))
        return Bound(LEVEL, float_up(steps / matching) if matching else None, matching)

    def population_bound(self, standing: Standing, matching: int | None) -> Bound | Absent:
        absent = standing.missing
        if absent is not None:
            return absent
        width = standing.population.half_width(self.only, standing.at, standing.units, matching)
        several = len(self.reading.coordinates) > 1
        return Bound(standing.population.level, width, matching if several else None)


def _single(part: Noised, released: list[int], standing: Standing) -> list[Value]:
    top, bottom = (step_of(part.reading) / (part.reading.public_rows or 1)).as_integer_ratio()
    error = part.mechanism.error(LEVEL)
    population = standing.population.singles(part, released, standing.at, standing.units)
    return [
        Value(
            z * top / bottom,
            Interval(LEVEL, ratio_down((z - error) * top, bottom), ratio_up((z + error) * top, bottom)),
            interval,
        )
        for z, interval in zip(released, population, strict=True)
    ]


def mean_ratios(part: Noised, released: Columns, standing: Standing, level: float) -> list[Ratio]:
    """The ratio of a mean's two integers: for the noise interval, and for that of the population if any."""
    top, bottom = (np.array([float(z) for z in column]) for column in released)
    reach = largest_ratio(part.reading.sensitivity)
    bands = [part.mechanism.ratio_error(level)]
    wide = standing.population.ratio_band(part, standing.at, standing.units)
    bands += [wide] if isinstance(wide, Band) else []
    return [Ratio(top, bottom, reach, band) for band in bands]


def ratio_guess(released: Columns, ends: Ends) -> Floats:
    top, bottom = (np.array([float(z) for z in column]) for column in released)
    guess: Floats = np.clip(top / np.maximum(bottom, 1.0), *ends)
    return guess


def _means(part: Noised, released: Columns, standing: Standing, solved: list[Ends]) -> list[Value]:
    """A mean from its centred sum and its count, clipped to the bounds that it must have."""
    (low, high), *wide = solved
    guess, back, outward = ratio_guess(released, (low, high)), uncentred(part), uncentred_outward(part)
    intervals: list[Interval | Absent] = [standing.missing or NOT_DECLARED] * len(guess)
    if wide:
        level, (first, last) = standing.population.level, wide[0]
        intervals = [
            Interval(level, *outward(a, b)) for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ]
    return [
        Value(back(g), Interval(LEVEL, *outward(a, b)), interval)
        for g, a, b, interval in zip(guess.tolist(), low.tolist(), high.tolist(), intervals, strict=True)
    ]


def uncentred(part: Noised) -> Callable[[float], float]:
    """From the ratio of the two integers to the mean that it stands for."""
    exactly = _uncentred_exactly(part)
    return lambda ratio: float(exactly(ratio))


def uncentred_outward(part: Noised) -> Callable[[float, float], tuple[float, float]]:
    """From the ends of an interval of the ratio to those of the mean, rounded outwards."""
    exactly = _uncentred_exactly(part)
    return lambda low, high: (float_down(exactly(low)), float_up(exactly(high)))


def _uncentred_exactly(part: Noised) -> Callable[[float], Fraction]:
    centred, counted = part.reading.coordinates
    assert centred.value is not None
    lattice = centred.value.lattice
    return lambda ratio: (Fraction(ratio) * counted.times + lattice.low + lattice.high) * lattice.grain / 2
