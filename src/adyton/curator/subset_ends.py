"""The ends of population intervals in a study with Gaussian noise: of counts, sums, means and quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.columns import Array
from adyton.curator.noised import Noised
from adyton.exact import UNITS_PER_ONE, float_down, float_up
from adyton.lines import Line
from adyton.mechanisms import largest_ratio
from adyton.mechanisms.ratio import Ends
from adyton.noise.refine import Floats
from adyton.validity.subset.ratios import ratio_ends
from adyton.validity.subset.shares import greatest_share, least_share
from adyton.validity.subset.tails import Way
from adyton.validity.subset.variances import variance_width
from adyton.validity.subset.ways import Before, ways_after

_OF_THE_COUNT = 1 / 8  # of the level of a mean, for how many rows there are
_HALF_STEP = 0.5  # noise is rounded to whole steps
_UP = 1 + 2.0**-50


@dataclass(frozen=True, slots=True)
class Certain:
    """What the intervals of one answer rest on: its level for each value, and what was released before it."""

    before: Before
    units: int  # at most
    level: float  # of each value of the answer, both sides together
    planned: float | None = None

    def ways(self, share: float, more: Fraction = Fraction(0)) -> list[Way]:
        """For a part of the level; ``more`` was released by this very answer before the value was asked."""
        before = Before(self.before.spent + more, self.before.pure)
        return ways_after(before, self.units, self.level * share, self.planned)


def single_ends(part: Noised, released: Array, certain: Certain) -> Ends:
    """Ends of what the population makes one expect of a count or a sum, in steps.

    A unit's part lies in an interval; given its mean it is spread at most as a coin between the two ends.
    Theorem: SUBSET-SHARES.
    """
    coin, answers = (
        Coin(certain.units, *span_of(part), float_up(part.mechanism.scales[0])),
        released.astype(float),
    )
    ways = certain.ways(1 / 2)
    return coin.least(answers - _HALF_STEP, ways), coin.greatest(answers + _HALF_STEP, ways)


@dataclass(frozen=True, slots=True)
class Coin:
    """Sums of parts in low..high: shares of the units, times the length of the interval, from its end on.

    ``units`` is their number, or more: units that are not there add 0, which lies in the interval.
    """

    units: int
    low: int
    high: int
    scale: float

    @property
    def _length(self) -> int:
        return self.high - self.low

    def _shares(self, answers: Floats) -> Floats:
        shares: Floats = (answers - float(self.units * self.low)) / self._length
        return shares

    def least(self, answers: Floats, ways: Sequence[Way]) -> Floats:
        share = least_share(_down(self._shares(answers)), self.units, self.scale / self._length, ways)
        return _down(share * self.units * self._length + self.units * self.low)

    def greatest(self, answers: Floats, ways: Sequence[Way]) -> Floats:
        share = greatest_share(_up(self._shares(answers)), self.units, self.scale / self._length, ways)
        return _up(share * self.units * self._length + self.units * self.low)


def mean_ends(
    part: Noised,
    top: Array,
    bottom: Array,
    certain: Certain,
    scales: tuple[float, float],
    learned: Floats | None = None,
) -> Ends:
    """Ends of the ratio of a centred sum and a count, in their steps.  Theorem: SUBSET-MEANS.

    ``scales``: the standard deviations of the noise of the two; ``learned``: upper ends of the variances of
    the values, if the study knows any.
    """
    sensitivity = part.reading.sensitivity
    reach, rows, times = largest_ratio(sensitivity), sensitivity.rows, sensitivity.boxes[1][1]
    counts = bottom.astype(float)
    most = Coin(certain.units, 0, times * rows, scales[1]).greatest(
        counts + _HALF_STEP, certain.ways(_OF_THE_COUNT)
    )
    ways = certain.ways((1 - _OF_THE_COUNT) / 2)
    weighed = most * times * rows  # times the variance of one row's part, in units of the count's step
    step = float_down(uncentred(part).scale)
    known = np.full(len(counts), np.inf) if learned is None else learned / step**2 * _UP

    def widths(first: Floats, last: Floats) -> Ends:
        far = np.maximum(np.abs(first), np.abs(last))
        near = np.where((first <= 0) & (last >= 0), 0.0, np.minimum(np.abs(first), np.abs(last)))
        variance = weighed * np.minimum(np.maximum(reach**2 - near**2, 0.0), known) * _UP
        noise, rounding = np.hypot(scales[0], far * scales[1]) * _UP, _HALF_STEP * (1 + far)
        beyond = (times * rows * (reach - first) * _UP, times * rows * (reach + last) * _UP)
        least = times * rows * reach * 2.0**-20
        above, below = (
            variance_width(variance, np.maximum(b, least), noise, ways) + rounding for b in beyond
        )
        return above, below

    whole = np.full(len(counts), reach)
    return ratio_ends(top.astype(float), counts, -whole, whole, widths)


def cumulated_ends(part: Noised, left: Floats, right: Floats, bins: Ends, certain: Certain) -> Ends:
    """Ends of F = L / (L + R), L and R sums of ``bins`` noisy counts.  Theorem: SUBSET-MEANS."""
    scale, rows, whole = float_up(part.mechanism.scales[0]), part.reading.sensitivity.rows, left + right
    on_left, on_right = bins
    every = float(on_left[0] + on_right[0])
    most = Coin(certain.units, 0, rows, scale * every**0.5 * _UP).greatest(
        whole + _HALF_STEP * every, certain.ways(_OF_THE_COUNT)
    )
    ways = certain.ways((1 - _OF_THE_COUNT) / 2)

    def widths(first: Floats, last: Floats) -> Ends:
        likeliest = np.clip(0.5, first, last)
        variance = most * rows * likeliest * (1 - likeliest) * _UP
        ends = [np.hypot((1 - f) * np.sqrt(on_left), f * np.sqrt(on_right)) for f in (first, last)]
        rounding = [((1 - f) * on_left + f * on_right) * _HALF_STEP for f in (first, last)]
        noise = scale * np.maximum(*ends) * _UP  # convex, so the greatest is at an end
        tiny = rows * 2.0**-20
        beyond = rows * np.maximum(1 - first, 0) * _UP + tiny, rows * np.maximum(last, 0) * _UP + tiny
        above, below = (variance_width(variance, b, noise, ways) + np.maximum(*rounding) for b in beyond)
        return above, below

    nothing = np.zeros(len(left))
    return ratio_ends(left, whole, nothing, nothing + 1, widths)


def search_reach(part: Noised, share: Fraction, times: int, certain: Certain) -> tuple[int, int]:
    """How far below and above 0 a comparison may be although the quantile is at that very place.

    There times * (rows not above) - times * share * (all rows) has the expectation 0, and is spread at most
    as a coin with that share.  The places were chosen by the comparisons before, which are paid for as well.
    """
    rows, scale = part.reading.sensitivity.rows, np.array([float_up(part.mechanism.scales[0])])
    q = float(share)
    variance = np.array([certain.units * (times * rows) ** 2 * q * (1 - q) * _UP])
    ways = certain.ways(1 / 2, more=Fraction(part.radius(), UNITS_PER_ONE))
    above, below = (
        float(variance_width(variance, np.array([times * rows * b * _UP]), scale, ways)[0])
        for b in (1 - q, q)
    )
    return math.ceil(below + _HALF_STEP), math.ceil(above + _HALF_STEP)


def uncentred(part: Noised) -> Line:
    """From the ratio of a mean's two integers to the mean that it stands for."""
    centred, counted = part.reading.coordinates
    assert centred.value is not None
    lattice = centred.value.lattice
    half = lattice.grain / 2
    return Line(counted.times * half, (lattice.low + lattice.high) * half)


def span_of(part: Noised) -> tuple[int, int]:
    """Between which numbers one unit's part of the first integer lies."""
    low, high = part.reading.sensitivity.boxes[0]
    rows = part.reading.sensitivity.rows
    return min(low, 0) * rows, max(high, 0) * rows


def _down(values: Floats) -> Floats:
    lowered: Floats = values - 2.0**-50 * np.abs(values)
    return lowered


def _up(values: Floats) -> Floats:
    raised: Floats = values + 2.0**-50 * np.abs(values)
    return raised
