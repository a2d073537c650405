"""Counts, sums, means and proportions: integers with noise, or the ratio of two of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arithmetic.lines import Line
from adyton.arithmetic.ratio import Ends, Ratio, Solved
from adyton.certify import Absent, Bound, Intervals, Values
from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading, step_of
from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Floats, whole
from adyton.kernel.measurement import Columns
from adyton.noise_intervals.widths import largest_ratio, ratio_band, worst_error
from adyton.planning.part import OfOneReading
from adyton.population.base import PopulationContext, PopulationEnds, Width
from adyton.population.subset_ends import uncentred

_MANY = 32

Rounded = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Additive(OfOneReading):
    """One reading with noise on every integer."""

    noises = 1

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("RATIO-INTERVAL",) if len(self.reading.coordinates) > 1 else ()

    def alike(self, context: PopulationContext) -> Hashable:
        """Which rows are read makes no difference, but for what is known of the spread in them."""
        reading = self.reading
        if context.learned_of(reading) is not None:
            return None
        public = (reading.coordinates, reading.sensitivity, reading.public_rows)
        return type(reading.measure), public, self.mechanism, self.only.nats

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        return [mean_ratio(self.only, released, context.noise_level)] if len(released) == 2 else []

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        if len(released) == 2:
            columns, population = [whole(column) for column in released], context.population
            return means_of(
                self.only, released, context, solved, lambda: population.means(self.only, columns, context)
            )
        return _single(self.only, released[0], context)

    def bound(self, expected_rows: int | None) -> Bound:
        error = worst_error(self.mechanism, self.reading.sensitivity, LEVEL)
        steps = Fraction(error) * step_of(self.reading)
        if self.reading.public_rows is not None:
            return Bound(LEVEL, float_up(steps / self.reading.public_rows))
        if len(self.reading.coordinates) == 1:
            return Bound(LEVEL, float_up(steps))
        return Bound(LEVEL, float_up(steps / expected_rows) if expected_rows else None, expected_rows)

    def population_bound(
        self, context: PopulationContext, expected_rows: int | None, expect: Fraction | None = None
    ) -> Bound | Absent:
        absent = context.missing(self.only)
        if absent is not None:
            return absent
        width = context.population.half_width(self.only, context, expected_rows, expect)
        several = len(self.reading.coordinates) > 1
        return population_bound_of(context, width, expected_rows if several else None)


def population_bound_of(context: PopulationContext, width: Width | None, if_rows: int | None = None) -> Bound:
    """How wide a population interval will be, and by which way."""
    half, way = width if width is not None else (None, None)
    return Bound(context.population.level, half, if_rows, way)


def _single(part: NoisyReading, released: Sequence[int], context: PopulationContext) -> Values:
    step, z = step_of(part.reading) / (part.reading.public_rows or 1), whole(released)
    error = part.mechanism.error(context.noise_level) * step
    noise = Intervals(context.noise_level, Line(step, -error).down(z), Line(step, error).up(z))
    population: Intervals | Absent | None = context.missing(part)
    if population is None:
        low, high, way = context.population.singles(part, z, context)
        level = context.population.level
        population = Intervals(level, Line(step).down(low), Line(step).up(high), way=way)
    return Values(Line(step).near(z), noise, population)


def mean_ratio(part: NoisyReading, released: Columns, level: float) -> Ratio:
    """The ratio of a mean's two integers, for the noise interval."""
    top, bottom = (whole(column).astype(float) for column in released)
    return Ratio(top, bottom, largest_ratio(part.reading.sensitivity), ratio_band(part.mechanism, level))


def over_count(released: Columns, top: int) -> Columns:
    """One of several columns, and the last of them, which is the count."""
    return [released[top], released[-1]]


def ratio_guess(released: Columns, solved: Solved) -> Floats:
    """The quotient, within its interval."""
    top, bottom = (whole(column).astype(float) for column in released)
    guess: Floats = top / np.maximum(bottom, 1.0, out=bottom)
    if solved.places is None:
        return np.clip(guess, solved.low, solved.high)
    np.clip(guess, -solved.reach, solved.reach, out=guess)
    guess[solved.places] = np.clip(guess[solved.places], solved.low, solved.high)
    return guess


def means_of(
    part: NoisyReading,
    released: Columns,
    context: PopulationContext,
    solved: list[Solved],
    ends: Callable[[], PopulationEnds],
) -> Values:
    """A mean from its centred sum and its count, clipped to the bounds that it must have.

    ``ends``: of the ratio in the population, for which it is only asked where there are some.
    """
    (noise,), line = solved, uncentred(part)
    population: Intervals | Absent | None = context.missing(part)
    if population is None:
        low, high, way = ends()
        wide = Solved(len(low), noise.reach, None, low, high)
        population = Intervals(context.population.level, *uncentred_outward(line, wide), way=way)
    guess = _away_from(noise.reach, ratio_guess(released, noise), line.near)
    return Values(guess, Intervals(context.noise_level, *uncentred_outward(line, noise)), population)


def uncentred_outward(line: Line, solved: Solved) -> Ends:
    """From the ends of intervals of the ratio to those of the mean, rounded outwards."""
    reach = solved.reach
    return _outward(solved, -reach, solved.low, line.down), _outward(solved, reach, solved.high, line.up)


def _outward(solved: Solved, end: float, ratios: Floats, rounded: Rounded) -> Floats:
    """Where nothing was looked for, the interval ends at the end of the range."""
    told = _away_from(solved.reach, ratios, rounded)
    if solved.places is None:
        return told
    everywhere = np.full(solved.size, rounded(np.array([end]))[0])
    everywhere[solved.places] = told
    return everywhere


def _away_from(reach: float, ratios: Floats, rounded: Rounded) -> Floats:
    """Most ratios of many small groups are an end of the whole range: both of these are worked out once."""
    if len(ratios) < _MANY:
        return rounded(ratios)
    least, most = rounded(np.array([-reach, reach]))
    told: Floats = np.where(ratios < 0, least, most)
    inside = np.flatnonzero(np.abs(ratios) != reach)
    told[inside] = rounded(ratios[inside])
    return told
