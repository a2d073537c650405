"""Ends of variances in a study with Gaussian noise: mean squared distances from public places.

No mean squared distance from a place is below the variance, and the one from the mean is the variance.  Of
some places, fixed in advance, one is near the mean; the distance from it is one number, made of the three
that were released, and has one interval, where a mean and a mean square have two, whose errors add up.  It
exceeds the variance by the square of how far the mean is from that place, which is little.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from adyton.arithmetic.ratio import Ends
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import floats_up
from adyton.kernel.exact.cells import Array, Floats
from adyton.kernel.exact.outward import CANCELLED, MANY, UP
from adyton.population.claims import NORMAL, Certain, Claims, Noise
from adyton.population.subset_ends import HALF_STEP, Coin, most_rows
from adyton.validity.plans.study_plans import OF_THE_COUNT
from adyton.validity.subset.tails import Places
from adyton.validity.subset.widths import ratio_ends

PLACES = np.linspace(-1.0, 1.0, 17)
"""In halves of the range, from its middle: eighths, which floats hold exactly."""
EACH = (1 - OF_THE_COUNT) / (len(PLACES) + 2)
"""Of the level: for each place, for the sum of the squares, and for the noise of squares in final radii."""
OF_LEAST = 1 / 8
"""Beside that level, as a part of it: for the lower ends, all places together."""
_ROUNDS = 3
_NOTHING = np.array(np.inf)
"""Is rejected on this side."""
_BLOCK = 4096


def most_variance(
    part: NoisyReading, released: Sequence[Array], certain: Certain, weighed: Floats | None = None
) -> Floats:
    """Upper ends of the variances of the population, for each cell, in squares of half of the range.

    ``part`` reads a centred sum, a centred sum of squares and a count; ``weighed``: the upper ends of the
    rows that count, if others rest on them too.

    Claim:    with probability 1 - ``certain.level`` the variance is at most this.
    Assumes:  as ``mean_ends``.
    Source:   derived here.  Theorem: VARIANCE-INTERVAL.
    """
    around = Around(part, released, certain.noise)
    weighed = around.weighed(certain) if weighed is None else weighed
    claims = certain.claims(EACH)
    place, likely = around.likely_best(weighed, claims)
    ends = around.ends(place, weighed, claims, likely)
    return np.minimum(ends, 1.0)


def least_variance(
    part: NoisyReading, released: Sequence[Array], mean: Ends, certain: Certain, weighed: Floats | None = None
) -> Floats:
    """Lower ends of the variances of the population, for each cell, in squares of half of the range.

    ``mean`` are the ends of the ratio of the centred sum to the count, in their steps; ``weighed`` is what
    ``most_variance`` rests on too.

    Claim:    with probability 1 - ``certain.level`` * OF_LEAST the variance is at least this, wherever
              ``mean`` and what ``most_variance`` takes for the number of rows are right.
    Assumes:  as ``mean_ends``.
    Source:   derived here.  Theorem: VARIANCE-INTERVAL.
    """
    around = Around(part, released, certain.noise)
    first, last = (around.in_halves(end) for end in mean)
    place = np.clip(np.rint((first + last) / 2 * 8) / 8, -1.0, 1.0)
    weighed = around.weighed(certain) if weighed is None else weighed
    distance = around.least(place, weighed, certain.claims(OF_LEAST / len(PLACES)))
    away = np.maximum(np.square(first - place), np.square(last - place))
    return np.maximum(distance - away - MANY * (1 + away), 0.0)


def most_squares(part: NoisyReading, released: Sequence[Array], certain: Certain) -> Floats:
    """Upper ends of what is expected of the sum of all squared values, for each cell, in squared steps.

    ``part`` is that of a variance.  Nothing is divided by the count, which has noise of its own.

    Claim:    with probability 1 - ``certain.level`` this and all that ``most_variance`` says hold at once.
    Assumes:  as ``mean_ends``.
    Source:   derived here.  Theorem: SUBSET-SUMS.
    """
    value = part.reading.coordinates[0].value
    assert value is not None
    low, high = value.lattice.low, value.lattice.high
    around = Around(part, released, certain.noise)
    sums = around.sums(-(low + high) / (high - low), certain.units, certain.claims(EACH))
    return sums * (float(high - low) / 2) ** 2 * (1 + MANY)


class Around:
    """Squared distances from a place for each cell: of the released integers, their noise and rounding."""

    def __init__(self, part: NoisyReading, released: Sequence[Array | Floats], noise: Noise = NORMAL) -> None:
        self._added = noise.together
        (_, reach), (_, square), (counted, _) = part.reading.sensitivity.boxes
        self._linear, self._square, self._counted = counted / reach, counted / (2 * square), float(counted)
        self._each = float(counted * part.reading.sensitivity.rows)  # the most that a unit can count
        self._scales = floats_up(part.mechanism.scales)
        self._sums, self._squares, self._counts = (np.asarray(column, np.float64) for column in released)
        self._divisors = np.maximum(self._counts, 1.0)

    def weighed(self, certain: Certain) -> Floats:
        """Times the variance of one value, an upper end of the sum of the variances of all units."""
        coin = Coin(certain.units, 0, int(self._each), self._scales[-1])
        return most_rows(coin, self._counts, certain) * self._each * UP

    def ends(self, place: Floats, weighed: Floats, claims: Claims, likely: Floats | None = None) -> Floats:
        """Upper ends of the mean squared distances from these places; ``likely``: about where they are."""
        top, rounding = self._top(place), self._rounding(place)
        guess = self._guess(top, place)

        def widths(first: Floats, last: Floats, some: Places) -> Ends:
            below = self._width(place[some], (first, last), last, weighed[some], claims)
            return _NOTHING, below + rounding[some]

        around = None if likely is None else (2 * guess - likely, likely)
        _, ends = ratio_ends(top, self._counts, guess, _range(place), widths, around)
        return ends * (1 + MANY)

    def least(self, place: Floats, weighed: Floats, claims: Claims) -> Floats:
        """Lower ends of the mean squared distances from these places."""
        top, rounding, far = self._top(place), self._rounding(place), _range(place)

        def widths(first: Floats, last: Floats, some: Places) -> Ends:
            above = self._width(place[some], (first, last), far[some] - first, weighed[some], claims)
            return above + rounding[some], _NOTHING

        ends, _ = ratio_ends(top, self._counts, np.zeros(len(place)), self._guess(top, place), widths)
        return ends * (1 - MANY)

    def _width(self, place: Floats, within: Ends, beyond: Floats, weighed: Floats, claims: Claims) -> Floats:
        """Of the sum of the distances less one of those ``within`` times the count; a row is at most
        ``beyond`` that distance, on the side that is looked at.
        """
        first, last = within
        far = _range(place)
        near = (far / 2).clip(first, last)
        variance = weighed * near * (far - near) * UP
        quietest = (0.5 + place**2).clip(first, last)
        of_first, of_last, of_quietest = self._noise(place, np.array([first, last, quietest]))
        noises = np.maximum(of_first, of_last) * UP
        steady = of_quietest / noises / UP
        return claims.width(variance, (beyond + 2.0**-20) * self._each * UP, noises, steady)

    def in_halves(self, ratio: Floats) -> Floats:
        """The ratio of a centred sum to a count, as a distance from the middle in halves of the range."""
        halves: Floats = self._linear * ratio
        return halves

    def sums(self, place: float, units: int, claims: Claims) -> Floats:
        """Upper ends of what is expected of the sums of all squared distances from one place."""
        places, most = np.full(len(self._counts), place), self._each * float(_range(place)) * UP
        top = self._top(places) + self._rounding(places)
        noise = float(self._noise(place, 0.0))
        share = claims.greatest_share(top / most + MANY * np.abs(top / most), units, noise / most)
        return share * units * (most / self._counted) * (1 + MANY)

    def likely_best(self, weighed: Floats, claims: Claims) -> Ends:
        """For each cell the place that has about the least end, and that end.  All places are valid: floats
        choose.
        """
        found, ends = np.empty(len(self._counts)), np.empty(len(self._counts))
        for start in range(0, len(found), _BLOCK):
            some = slice(start, start + _BLOCK)
            part = self._some(some)
            likely = part._likely_ends(weighed[some], claims)
            found[some], ends[some] = PLACES[likely.argmin(axis=0)], likely.min(axis=0)
        return found, ends

    def _some(self, cells: slice) -> Around:
        part = copy(self)
        part._sums, part._squares = self._sums[cells], self._squares[cells]
        part._counts, part._divisors = self._counts[cells], self._divisors[cells]
        return part

    def _likely_ends(self, weighed: Floats, claims: Claims) -> Floats:
        """About the ends of all places, one below the other."""
        return self._likely(PLACES[:, None], weighed, claims)[0]

    def likely(self, claims: Claims) -> Ends:
        """For each cell, for a place near the mean: about its end, and how far the sum of the distances is
        from its expectation.
        """
        place = (np.rint(self.in_halves(self._sums / self._divisors) * 8) / 8).clip(-1.0, 1.0)
        return self._likely(place, self._divisors * self._each, claims)

    def _likely(self, place: Floats, weighed: Floats, claims: Claims) -> Ends:
        top, most = self._top(place), _range(place)
        end = self._guess(top, place)
        for _ in range(_ROUNDS):
            rows = weighed * np.minimum(end, most / 2) * most
            width = claims.about(rows, self._noise(place, end))
            end = ((top + width) / self._divisors).clip(0.0, most)
        return end, width

    def _top(self, place: Floats | float) -> Floats:
        """(x - t)**2 = (x - c)**2 - 2 (t - c) (x - c) + (t - c)**2, in squares of half of the range, counted
        as often as a row is."""
        moved = self._square * self._squares - 2 * place * self._linear * self._sums
        top: Floats = moved + (0.5 + place**2) * self._counts
        return top

    def _guess(self, top: Floats, place: Floats) -> Floats:
        guess: Floats = (top / self._divisors).clip(0.0, _range(place))
        return guess

    def _noise(self, place: Floats | float, distance: Floats | float) -> Floats:
        """Of the sum of the distances less ``distance`` times the count."""
        first, second, third = self._scales
        of_sum, of_count = 2 * np.abs(place) * self._linear * first, np.abs(0.5 + place**2 - distance) * third
        return self._added(self._square * second, of_sum, of_count)

    def _rounding(self, place: Floats) -> Floats:
        """Noise is rounded to whole steps; and what floats may lose."""
        sums, squares, counts = map(np.abs, (self._sums, self._squares, self._counts))
        most = _range(place)
        steps = self._square + 2 * np.abs(place) * self._linear + most
        terms = self._square * squares + most * (2 * self._linear * sums + 2 * counts)
        rounding: Floats = HALF_STEP * steps * UP + CANCELLED * terms
        return rounding


def _range(place: Floats | float) -> Floats:
    """The largest squared distance of any value."""
    most: Floats = np.square(1 + np.abs(place))
    return most
