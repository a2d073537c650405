"""How two numbers go together: from five means, of both, of their squares and of their product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

import numpy as np

from adyton.arithmetic.lines import Line
from adyton.arithmetic.ratio import Ends, Ratio, Solved
from adyton.certify import Intervals, Values
from adyton.certify.rows import joined_way
from adyton.kernel.exact import each_of, float_down, float_up
from adyton.kernel.exact.cells import Floats, whole
from adyton.kernel.exact.outward import MANY
from adyton.kernel.measurement import Columns
from adyton.kernel.schema import Lattice
from adyton.kernel.terms.measures import Moments, Which
from adyton.planning.measures.additive import mean_ratio, over_count, ratio_guess
from adyton.planning.measures.spread import variance_between
from adyton.planning.part import OfOneReading
from adyton.population.base import PopulationContext

_X, _XX, _Y, _YY, _XY, _COUNT = range(6)  # the columns that are read, each with noise of its own
_ALL = (_X, _XX, _Y, _YY, _XY)
NEEDED: Mapping[Which, tuple[int, ...]] = {
    "covariance": (_X, _Y, _XY),
    "correlation": _ALL,
    "r2": _ALL,
    "slope": (_X, _XX, _Y, _XY),
    "intercept": (_X, _XX, _Y, _XY),
}
"""Of which columns the means are needed."""
_LEAST = 1e-100  # a variance that is divided by, and its square is still above 0


@dataclass(frozen=True, slots=True)
class Joint(OfOneReading):
    """Covariance, correlation, slope or intercept, from five centred sums and a count.

    Distances from the middles are in halves of the ranges: all means lie between -1 and 1.

    Claim:    if the means that are needed lie in their intervals, the value lies between the ends.
    Assumes:  the value exists: some row counts, and what is divided by is not 0.
    Source:   derived here.  Theorem: MOMENT-BOX.
    """

    theorems = ("RATIO-INTERVAL", "MOMENT-BOX")

    @property
    def noises(self) -> int:
        return len(self._needed)

    @property
    def _measure(self) -> Moments:
        measure = self.reading.measure
        assert isinstance(measure, Moments)
        return measure

    @property
    def _needed(self) -> tuple[int, ...]:
        return NEEDED[self._measure.which]

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        """Of the means that are needed: all hold together with the level of the noise."""
        each = float_up(each_of(context.noise_level, len(self._needed)))
        return [mean_ratio(self.over_count(top), over_count(released, top), each) for top in self._needed]

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        noise = self._intervals([one.ends() for one in solved], context.noise_level)
        guesses = [
            ratio_guess(over_count(released, top), one) for top, one in zip(self._needed, solved, strict=True)
        ]
        population = context.missing(self.only) or self._population(released, context)
        return Values(np.clip(self._value(guesses), noise.low, noise.high), noise, population)

    def _population(self, released: Columns, context: PopulationContext) -> Intervals:
        means = [
            context.population.means(
                self.over_count(top), [whole(column) for column in over_count(released, top)], context
            )
            for top in self._needed
        ]
        ends = [(found.low, found.high) for found in means]
        way = joined_way(found.way for found in means)
        return replace(self._intervals(ends, context.population.level), way=way)

    # From ratios to what is asked ------------------------------------------------------------------------

    def _intervals(self, ratios: Sequence[Ends], level: float) -> Intervals:
        box = {
            top: (self._mean(top, low, -MANY), self._mean(top, high, MANY))
            for top, (low, high) in zip(self._needed, ratios, strict=True)
        }
        (low, high), line, whole_range = self._ends(box), _units_of(self._measure), range_of(self._measure)
        return Intervals(level, np.clip(line.down(low), *whole_range), np.clip(line.up(high), *whole_range))

    def _mean(self, top: int, ratio: Floats, outward: float = 0.0) -> Floats:
        """Of a distance from the middle, a square or a product of two, from the ratio of its two integers.

        All are within -1..1, and a few roundings of such numbers are far below MANY.
        """
        boxes = self.reading.sensitivity.boxes
        mean = np.clip(ratio * (boxes[_COUNT][1] / boxes[top][1]) + outward, -1.0, 1.0)
        return (1 + mean) / 2 if top in (_XX, _YY) else mean

    def _ends(self, box: Mapping[int, Ends]) -> Ends:
        """Theorem: MOMENT-BOX."""
        together = _covariance(box[_X], box[_Y], box[_XY])
        which = self._measure.which
        if which == "covariance":
            return together
        spread = variance_between(box[_X], box[_XX])
        if which in ("correlation", "r2"):
            other = variance_between(box[_Y], box[_YY])
            both = np.sqrt(spread[0] * other[0]) * (1 - MANY), np.sqrt(spread[1] * other[1]) * (1 + MANY)
            found = _quotient(together, both, 1.0)
            return found if which == "correlation" else _squared(found)
        slope = _quotient(together, spread, _steepest(self._measure))
        if which == "slope":
            return slope
        return self._at_zero(slope, box[_X], box[_Y])

    def _at_zero(self, slope: Ends, x: Ends, y: Ends) -> Ends:
        """Where the line is at x = 0: from the mean of y, as many halves of the range of x to the left."""
        middle, far = float(_middle_in_halves(self._measure.x.lattice)), float(_farthest(self._measure))
        low, high = _product(slope, (middle + x[0], middle + x[1]))
        steep = np.maximum(np.abs(slope[0]), np.abs(slope[1]))
        slack = MANY * (1 + steep * (1 + abs(middle)))
        told = slope[1] - slope[0] < 2 * _steepest(self._measure)
        return np.where(told, y[0] - high - slack, -far), np.where(told, y[1] - low + slack, far)

    def _value(self, ratios: Sequence[Floats]) -> Floats:
        mean = {top: self._mean(top, one) for top, one in zip(self._needed, ratios, strict=True)}
        together = mean[_XY] - mean[_X] * mean[_Y]
        which, line = self._measure.which, _units_of(self._measure)
        if which == "covariance":
            return line.near(together)
        spread = np.maximum(mean[_XX] - mean[_X] ** 2, _LEAST)
        if which in ("correlation", "r2"):
            found = together / np.sqrt(spread * np.maximum(mean[_YY] - mean[_Y] ** 2, _LEAST))
            clipped: Floats = np.clip(found, -1.0, 1.0)
            return clipped if which == "correlation" else clipped**2
        steepest = _steepest(self._measure)
        slope = np.clip(together / spread, -steepest, steepest)
        if which == "slope":
            return line.near(slope)
        return line.near(mean[_Y] - slope * (float(_middle_in_halves(self._measure.x.lattice)) + mean[_X]))


def range_of(measure: Moments) -> tuple[float, float]:
    """Between which numbers the value must lie, rounded outwards.  Theorem: MOMENT-BOX."""
    match measure.which:
        case "correlation":
            return -1.0, 1.0
        case "r2":
            return 0.0, 1.0
        case "covariance" | "slope" | "intercept":
            line, most = _units_of(measure), _farthest(measure)
            return float_down(line.shift - line.scale * most), float_up(line.shift + line.scale * most)
        case _:
            assert_never(measure.which)


def _farthest(measure: Moments) -> Fraction:
    """How far from the middle the value can be, in the units in which it is worked out."""
    if measure.which == "covariance":
        return Fraction(1)
    steepest = Fraction(_steepest(measure))
    if measure.which == "slope":
        return steepest
    return 1 + steepest * (1 + abs(_middle_in_halves(measure.x.lattice)))


def _steepest(measure: Moments) -> float:
    """A line through values of y that are a step of x apart, from end to end; in halves of the ranges."""
    return float_up(Fraction(measure.x.lattice.high - measure.x.lattice.low))


def _units_of(measure: Moments) -> Line:
    """From halves of the ranges to the units of the answer."""
    x, y = (_half(value.lattice) for value in (measure.x, measure.y))
    match measure.which:
        case "covariance":
            return Line(x * y)
        case "slope":
            return Line(y / x)
        case "intercept":
            return Line(y, _middle_in_halves(measure.y.lattice) * y)
        case "correlation" | "r2":
            return Line(Fraction(1))
        case _:
            assert_never(measure.which)


def _half(lattice: Lattice) -> Fraction:
    return (lattice.high - lattice.low) * lattice.step / 2


def _middle_in_halves(lattice: Lattice) -> Fraction:
    return Fraction(lattice.low + lattice.high, lattice.high - lattice.low)


# Intervals -------------------------------------------------------------------------------------------------


def _covariance(x: Ends, y: Ends, product: Ends) -> Ends:
    least, most = _product(x, y)
    return np.maximum(product[0] - most - MANY, -1.0), np.minimum(product[1] - least + MANY, 1.0)


def _product(a: Ends, b: Ends) -> Ends:
    corners = np.stack([one * other for one in a for other in b])
    return corners.min(axis=0), corners.max(axis=0)


def _quotient(top: Ends, bottom: Ends, most: float) -> Ends:
    """Of a number by another that is not below 0; where that may be 0, up to ``most`` either way."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low = top[0] / np.where(top[0] < 0, *bottom)
        high = top[1] / np.where(top[1] > 0, *bottom)
    low, high = np.where(np.isnan(low), -most, low), np.where(np.isnan(high), most, high)
    low, high = np.clip(low, -most, most), np.clip(high, -most, most)
    return np.maximum(low - MANY * np.abs(low), -most), np.minimum(high + MANY * np.abs(high), most)


def _squared(ends: Ends) -> Ends:
    squares = ends[0] ** 2, ends[1] ** 2
    low = np.where((ends[0] <= 0) & (ends[1] >= 0), 0.0, np.minimum(*squares))
    return low * (1 - MANY), np.minimum(np.maximum(*squares) * (1 + MANY), 1.0)
