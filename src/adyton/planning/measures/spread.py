"""Variances and standard deviations: from the mean, and the mean squared distance from a public middle."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from adyton.arithmetic.lines import Line
from adyton.arithmetic.ratio import Ends, Ratio, Solved
from adyton.certify import Intervals, Values
from adyton.certify.rows import joined_way
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import each_of, float_up
from adyton.kernel.exact.cells import Floats, whole
from adyton.kernel.exact.outward import MANY
from adyton.kernel.measurement import Columns
from adyton.planning.measures.additive import mean_ratio, over_count, ratio_guess
from adyton.planning.part import OfOneReading
from adyton.population.base import PopulationContext
from adyton.population.subset_ends import uncentred

_SUM, _SQUARE = range(2)  # of the columns that are read, each with noise of its own; a count is the last


@dataclass(frozen=True, slots=True)
class Spread(OfOneReading):
    """E (x - c)**2 - (E x - c)**2 with a public c, or its ``root``, from a sum, a sum of squares and a count.

    Claim:    if the mean and the mean square lie in their intervals, the variance lies between the least and
              the greatest that any pair of them gives.
    Source:   the identity above holds for every c.  Theorem: VARIANCE-INTERVAL.
    """

    root: bool
    theorems = ("RATIO-INTERVAL", "VARIANCE-INTERVAL")
    noises = 2

    @property
    def mean(self) -> NoisyReading:
        return self.over_count(_SUM)

    @property
    def square(self) -> NoisyReading:
        return self.over_count(_SQUARE)

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        """Of the mean and of the square, for the noise: both hold together with the level of the noise."""
        both, each = ((self.mean, _SUM), (self.square, _SQUARE)), float_up(each_of(context.noise_level, 2))
        return [mean_ratio(part, over_count(released, top), each) for part, top in both]

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        noise = self._intervals(solved[0].ends(), solved[1].ends(), context.noise_level)
        means = ratio_guess(over_count(released, _SUM), solved[0])
        squares = ratio_guess(over_count(released, _SQUARE), solved[1])
        population = context.missing(self.only) or self.population(released, context)
        return Values(np.clip(self._value(means, squares), noise.low, noise.high), noise, population)

    def population(self, released: Columns, context: PopulationContext) -> Intervals:
        """Where an interval is not missing."""
        sums, squares, counts = (whole(column) for column in released)
        mean = context.population.means(self.mean, (sums, counts), context)
        square = context.population.means(self.square, (squares, counts), context)
        both = self._intervals(mean[:2], square[:2], context.population.level)
        ends = context.population.variances(self.only, (sums, squares, counts), mean[:2], context)
        if ends is None:
            return replace(both, way=joined_way([mean.way, square.way]))
        least, most = self._in_units(ends.low, 1 - MANY), self._in_units(ends.high, 1 + MANY)
        way = joined_way([mean.way, square.way, ends.way])
        return replace(both, low=np.maximum(both.low, least), high=np.minimum(both.high, most), way=way)

    def _in_units(self, variance: Floats, outward: float) -> Floats:
        """From squares of half of the range to what is answered, rounded up or down."""
        centred, _, _ = self.reading.coordinates
        assert centred.value is not None
        half = Line(centred.box[1] * centred.value.lattice.step / 2)
        root: Floats = half.near(np.sqrt(variance)) * outward
        return root if self.root else root**2 * outward

    def _intervals(self, mean: Ends, square: Ends, level: float) -> Intervals:
        first, last = map(self._from_middle, mean)
        least, most = map(uncentred(self.square).near, square)
        low, high = variance_between((first, last), (least, most))
        if self.root:
            low, high = np.sqrt(low) * (1 - MANY), np.sqrt(high) * (1 + MANY)
        return Intervals(level, low, high)

    def _value(self, mean: Floats, square: Floats) -> Floats:
        variance = np.maximum(0.0, uncentred(self.square).near(square) - self._from_middle(mean) ** 2)
        return np.sqrt(variance) if self.root else variance

    def _from_middle(self, ratio: Floats) -> Floats:
        """The mean's distance from the middle of the bounds."""
        centred, counted = self.mean.reading.coordinates
        assert centred.value is not None
        return Line(counted.times * centred.value.lattice.step / 2).near(ratio)


def variance_between(mean: Ends, square: Ends) -> Ends:
    """The least and the greatest variance, if the mean and the mean square, both from one place, lie there.

    Theorem: VARIANCE-INTERVAL.
    """
    (first, last), (least, most) = mean, square
    far, near = np.maximum(first**2, last**2), np.minimum(first**2, last**2)
    near = np.where((first <= 0) & (last >= 0), 0.0, near)
    slack = MANY * (np.abs(most) + far)
    return np.maximum(0.0, least - far - slack), np.maximum(0.0, most - near + slack)
