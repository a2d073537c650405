"""The ends of population intervals in a study with Gaussian noise: of counts, sums, means and quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.arithmetic.lines import Line
from adyton.arithmetic.ratio import Ends
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import UNITS_PER_ONE, float_down, float_up
from adyton.kernel.exact.cells import Array, Floats
from adyton.kernel.exact.outward import CANCELLED, FEW, UP
from adyton.kernel.mechanisms.grid import NoiseOnAGrid
from adyton.noise_intervals.widths import largest_ratio
from adyton.population.claims import Certain, Claims
from adyton.validity.plans.study_plans import OF_THE_COUNT
from adyton.validity.subset.tails import Places
from adyton.validity.subset.widths import ratio_ends

_MANY = 256
_INSIDE = 3  # deviations of the noise: about so far from what is released an end is
HALF_STEP = 0.5
"""Noise is rounded to whole steps.  Theorem: ROUNDED-ANSWERS."""
_CORNERS = 4
"""Of two numbers at ends of their grids each may have all of its noise or none.  Theorem: ROUNDING-STUDY."""


def single_ends(part: NoisyReading, released: Array, certain: Certain) -> Ends:
    """Ends of what the population makes one expect of a count or a sum, in steps.

    A unit's part lies in an interval; given its mean it is spread at most as a coin between the two ends.
    Theorem: SUBSET-SHARES.
    """
    coin, answers = (
        Coin(certain.units, *span_of(part), float_up(part.mechanism.scales[0])),
        released.astype(float),
    )
    (moved,) = roundings(part)
    return coin.ends(answers - moved, answers + moved, certain.claims(1 / 2))


def roundings(part: NoisyReading) -> tuple[float, ...]:
    """How far each released integer may be from the exact one with real noise: half a step, and a grid."""
    mechanism = part.mechanism
    if isinstance(mechanism, NoiseOnAGrid):
        return tuple((HALF_STEP + grid.moved) * UP for grid in mechanism.grids)
    return (HALF_STEP,) * len(mechanism.scales)


def combined_ends(answers: Floats, scales: Floats, slack: Floats, rows: int, certain: Certain) -> Ends:
    """Ends of what is expected of counts that are combinations of measured numbers, fixed before the noise.

    ``scales`` are the deviations of their noise, ``slack`` what rounding and floats add.
    Theorem: COORDINATED-ANSWERS.
    """
    units, claims = certain.units, certain.claims(1 / 2)
    lowered, raised = _down((answers - slack) / rows), _up((answers + slack) / rows)
    least, greatest = claims.share_ends(lowered, raised, units, _up(scales / rows))
    return np.maximum(_down(least * units * rows), 0.0), _up(greatest * units * rows)


def sum_ends(part: NoisyReading, released: Array, certain: Certain, squares: Floats) -> Ends:
    """The same of a sum, if the study knows upper ends of the sums of the squares of its values.

    Claim:    as ``single_ends``, at the same level, and never wider.
    Assumes:  as ``single_ends``; ``squares`` are at least what is expected of the sums of all squared values,
              with a level of their own.
    Source:   derived here, from Bennett 1962.  Theorem: SUBSET-SUMS.
    """
    units, (least, most) = float(certain.units), span_of(part)
    spread = squares * part.reading.sensitivity.rows * UP
    scale, claims = np.array(float_up(part.mechanism.scales[0])), certain.claims(1 / 2)

    def width(first: Floats, last: Floats, places: Places, beyond: Floats) -> Floats:
        near = np.where((first <= 0) & (last >= 0), 0.0, np.minimum(np.abs(first), np.abs(last)))
        variance = np.maximum(spread[places] - near**2 / units, 0.0) + CANCELLED * spread[places]
        beyond = beyond * UP + (most - least) * 2.0**-20  # what a unit adds, from the mean of all
        return claims.width(variance, beyond, scale) + HALF_STEP

    def above(first: Floats, last: Floats, places: Places) -> Ends:
        return width(first, last, places, most - first / units), np.full(len(places), np.inf)

    def below(first: Floats, last: Floats, places: Places) -> Ends:
        return np.full(len(places), np.inf), width(first, last, places, last / units - least)

    (low, high), answers = single_ends(part, released, certain), released.astype(float)
    ones, guess = np.ones(len(answers)), np.clip(answers, low, high)
    # What lies beyond the guess lies beyond the end on this side of it.
    return (
        ratio_ends(answers, ones, low, guess, above)[0],
        ratio_ends(answers, ones, guess, high, below)[1],
    )


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

    def variance(self, released: Array) -> Floats:
        """About that of the sum, at ends of its intervals; not a number where noise went so far beyond what
        sums can be that their intervals are cut off.
        """
        shares, noise = self._shares(released.astype(float)), self.scale / self._length
        inside = min(_INSIDE * noise + 1, self.units / 2)
        likely = np.clip(shares, inside, self.units - inside)
        spread: Floats = likely * (1 - likely / self.units) * float(self._length) ** 2
        return np.where((shares < -noise) | (shares > self.units + noise), np.nan, spread)

    def ends(self, lowered: Floats, raised: Floats, claims: Claims) -> Ends:
        shares = _down(self._shares(lowered)), _up(self._shares(raised))
        least, greatest = claims.share_ends(*shares, self.units, self.scale / self._length)
        low: Floats = _down(least * self.units * self._length + self.units * self.low)
        return np.maximum(low, float(self.units * self.low)), self._most(greatest)

    def greatest(self, answers: Floats, claims: Claims) -> Floats:
        shares = _up(self._shares(answers))
        return self._most(claims.greatest_share(shares, self.units, self.scale / self._length))

    def _most(self, share: Floats) -> Floats:
        most: Floats = _up(share * self.units * self._length + self.units * self.low)
        return np.minimum(most, float(self.units * self.high))


def mean_ends(
    part: NoisyReading,
    top: Array,
    bottom: Array,
    certain: Certain,
    scales: tuple[float, float],
    learned: Floats | None = None,
    weighed: Floats | None = None,
) -> Ends:
    """Ends of the ratio of a centred sum and a count, in their steps.  Theorem: SUBSET-MEANS.

    ``scales``: the standard deviations of the noise of the two; ``learned``: upper ends of the variances of
    the values, if the study knows any; ``weighed``: of the rows that count, if others rest on them too.
    """
    sensitivity, counts = part.reading.sensitivity, bottom.astype(float)
    reach, each = largest_ratio(sensitivity), float(sensitivity.boxes[1][1] * sensitivity.rows)
    # The most of a unit's count, times this, bounds the sum of the variances if one value's is 1.
    of_sum, of_count = roundings(part)
    on_grid = isinstance(part.mechanism, NoiseOnAGrid)
    if weighed is None:
        raised = counts + (of_count - HALF_STEP)  # most_rows allows for half a step itself
        weighed = most_rows(Coin(certain.units, 0, int(each), scales[1]), raised, certain) * each * UP
    step = float_down(uncentred(part).scale)
    known = np.full(len(counts), np.inf) if learned is None else learned / step**2 * UP
    claims = certain.claims((1 - OF_THE_COUNT) / 2 / (_CORNERS if on_grid else 1))

    def widths(first: Floats, last: Floats, places: Places) -> Ends:
        far = np.maximum(np.abs(first), np.abs(last))
        near = np.where((first <= 0) & (last >= 0), 0.0, np.minimum(np.abs(first), np.abs(last)))
        variance = weighed[places] * np.minimum(np.maximum(reach**2 - near**2, 0.0), known[places]) * UP
        rounding = of_sum + of_count * far
        if len(places) > _MANY and float(near.max()) == 0 and float(far.min()) == reach:
            # The first step: for the whole range all have the same noise, and it may be rough.
            noise = float(certain.noise.together(scales[0], reach * scales[1])) * UP
            least = 0.0 if on_grid else scales[0] / noise / UP
            width = claims.rough_width(variance, 2 * each * reach * UP, noise, least) + rounding
            return width, width
        noises = certain.noise.together(scales[0], far * scales[1]) * UP
        quietest = certain.noise.together(scales[0], near * scales[1])
        steady = np.zeros(len(far)) if on_grid else quietest / noises / UP
        beyond = np.array([reach - first, reach + last]) * each * UP + each * reach * 2.0**-20
        above, below = claims.width(variance, beyond, noises, steady) + rounding
        return above, below

    whole = np.full(len(counts), reach)
    middle = top / np.maximum(counts, 1.0)
    half = claims.about(*about_means(part, (top, bottom), scales, learned)) / np.maximum(counts, 1.0)
    return ratio_ends(top.astype(float), counts, -whole, whole, widths, (middle - half, middle + half))


def about_means(
    part: NoisyReading, released: Sequence[Array], scales: tuple[float, float], learned: Floats | None
) -> tuple[Floats, Floats]:
    """About the variances and the noise that ``mean_ends`` will use: they only choose.

    Not a number where an interval may reach the end of the range.
    """
    top, counts = released[0].astype(float), np.maximum(released[1].astype(float), 1.0)
    reach, (_, counted) = largest_ratio(part.reading.sensitivity), part.reading.sensitivity.boxes[1]
    ratio = np.minimum(np.abs(top) / counts, reach)
    spread = np.maximum(reach**2 - ratio**2, 0.0)
    if learned is not None:
        spread = np.minimum(spread, learned / float(uncentred(part).scale) ** 2)
    noise: Floats = np.hypot(scales[0], ratio * scales[1])
    spread = np.where(ratio + _INSIDE * noise / counts < reach, spread, np.nan)
    return counts * float(counted * part.reading.sensitivity.rows) * spread, noise


def most_rows(coin: Coin, counts: Floats, certain: Certain) -> Floats:
    """Upper ends of what is expected of counts, for as much as a mean's variance needs them."""
    claims, answers = certain.claims(OF_THE_COUNT), counts + HALF_STEP
    if len(answers) <= _MANY:
        return coin.greatest(answers, claims)
    # Each count is raised to the next of a few, which are as far apart as a count of that size is uncertain.
    least, most_of_all = answers.min(), answers.max()
    start, end = coin.scale**0.5, (most_of_all - least + coin.scale) ** 0.5
    steps = least - coin.scale + np.linspace(start, end, _MANY) ** 2
    steps[-1] = most_of_all
    wide = (end - start) / (_MANY - 1) or 1.0
    place = ((np.sqrt(answers - least + coin.scale) - start) / wide).astype(np.int64)
    place = np.clip(place, 0, _MANY - 1)
    while (below := steps[place] < answers).any():  # twice at the most; the last step is below none
        place = place + below
    most: Floats = coin.greatest(steps, claims)[place]
    return most


def cumulated_ends(part: NoisyReading, left: Floats, right: Floats, bins: Ends, certain: Certain) -> Ends:
    """Ends of F = L / (L + R), L and R sums of ``bins`` noisy counts.  Theorem: SUBSET-MEANS."""
    scale, rows, whole = float_up(part.mechanism.scales[0]), part.reading.sensitivity.rows, left + right
    every = float(bins[0][0] + bins[1][0])
    coin = Coin(certain.units, 0, rows, scale * float(certain.noise.repeated(every)) * UP)
    most = most_rows(coin, whole + HALF_STEP * (every - 1), certain) * rows * UP
    claims, noise_of = certain.claims((1 - OF_THE_COUNT) / 2), certain.noise

    def widths(first: Floats, last: Floats, places: Places) -> Ends:
        on_left, on_right = (side[places] for side in bins)
        likeliest = np.clip(0.5, first, last)
        variance = most[places] * likeliest * (1 - likeliest) * UP
        quietest = np.clip(on_left / (on_left + on_right), first, last)
        *ends, least = (
            noise_of.together((1 - f) * noise_of.repeated(on_left), f * noise_of.repeated(on_right))
            for f in (first, last, quietest)
        )
        rounding = np.maximum(*(((1 - f) * on_left + f * on_right) * HALF_STEP for f in (first, last)))
        noise = scale * np.maximum(*ends) * UP  # convex, so the greatest is at an end
        beyond = np.array([1 - first, last]) * rows * UP + rows * 2.0**-20
        steady = scale * least / noise / UP
        above, below = claims.width(variance, beyond, noise, steady) + rounding
        return above, below

    nothing = np.zeros(len(left))
    return ratio_ends(left, whole, nothing, nothing + 1, widths)


def search_reach(part: NoisyReading, share: Fraction, times: int, certain: Certain) -> tuple[int, int]:
    """How far below and above 0 a comparison may be although the quantile is at that very place.

    There times * (rows not above) - times * share * (all rows) has the expectation 0, and is spread at most
    as a coin with that share.  The places were chosen by the comparisons before, which are paid for as well.
    """
    rows, scale = part.reading.sensitivity.rows, np.array([float_up(part.mechanism.scales[0])])
    below_it, above_it = float_up(share), float_up(1 - share)
    variance = np.array([certain.units * (times * rows) ** 2 * below_it * above_it * UP])
    claims = certain.claims(1 / 2, more=Fraction(part.radius(), UNITS_PER_ONE))
    beyond = np.array([times * rows * above_it, times * rows * below_it]) * UP
    above, below = map(float, claims.width(variance, beyond, scale))
    return math.ceil(below + HALF_STEP), math.ceil(above + HALF_STEP)


def uncentred(part: NoisyReading) -> Line:
    """From the ratio of a mean's two integers to the mean that it stands for."""
    centred, counted = part.reading.coordinates
    assert centred.value is not None
    lattice = centred.value.lattice
    half = lattice.step / 2
    return Line(counted.times * half, (lattice.low + lattice.high) * half)


def span_of(part: NoisyReading) -> tuple[int, int]:
    """Between which numbers one unit's part of the first integer lies.  Theorem: PERSONS-AS-ROWS."""
    low, high = part.reading.sensitivity.boxes[0]
    rows = part.reading.sensitivity.rows
    return min(low, 0) * rows, max(high, 0) * rows


def _down(values: Floats) -> Floats:
    lowered: Floats = values - FEW * np.abs(values)
    return lowered


def _up(values: Floats) -> Floats:
    raised: Floats = values + FEW * np.abs(values)
    return raised
