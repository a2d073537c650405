"""How far a Gaussian answer may be from the population, although earlier answers led to its query.

Answers: Hoeffding's inequality, for values of which only the range is known.

Shares and means by inversion: what a rare value can do is bounded by what it is.  A value in an interval
has, given its mean, no larger exponential moments than a value at the two ends with that mean.  So the ends
of an interval for the mean m follow in closed form from the location of the tangent at the normal tail: for
every location y, all m below

    (exp(e(y) / (fresh n)) - 1) / (exp(tilt / fresh) - 1)

are rejected, where e(y) is what the exponent has left.  Any location is valid.

Widths that know the variance: a mean over few rows, a sum of values that rarely use their range.  Bennett's
inequality needs the variance of one unit's part, or a bound of it that holds by itself: a declared one, one
that follows from a share, or the upper end of another claim of the study with a level of its own.

Ratios: a mean theta is the ratio of two expectations, of f and of g.  At the true theta the sum of f -
theta g has the expectation 0, so |a_f - theta a_g| is at most the width of that sum, which depends on
theta: through the noise, the variance and the range.  First it is taken at the worst theta of all; what is
left is an interval, and the worst theta in it gives a smaller one, and so on.  Each step keeps the true
theta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import FEW, SAFE, SEVERAL, UNIT_ROUNDOFF
from adyton.validity.subset.tails import (
    MARGIN,
    MOST_CLOSELY,
    Places,
    Tried,
    Way,
    WayArrays,
    greatest,
    least_width,
    tangent,
)

_LARGEST = 700.0
_LEAST = 2.0**-900
_MANY = 256
_DYNAMIC = 1e-9  # of the largest variance: smaller ones are raised to it
_SERIES = 0.25  # up to here exp(x) - 1 - x is its series, and beyond nine times its loss by cancellation
_DIVISORS = np.arange(12.0, 2.0, -1.0)  # of the terms of that series
_STEPS = 5
_AROUND = np.array([[2.0], [1.2], [1.06], [1.04], [1.02], [1.0], [0.98], [0.96]])  # of likely lengths
_FEW = 256 // (2 * (len(_AROUND) + 1))  # cells: with more, widths are looked for in another way
_ENOUGH = 0.01  # a step that shortens an interval by less is the last one
_ENOUGH_OF_SEVERAL = 0.03  # of several steps at once, whose last begins near to where it ends
Ends = tuple[Floats, Floats]
Widths = Callable[[Floats, Floats, Places], Ends]
"""From the ends of intervals of theta, of some of the ratios: how far a_f - theta a_g may be above and below
0 for theta in them."""


# Answers ---------------------------------------------------------------------------------------------------


def price_of(units: int | Fraction, spent: Fraction, kept: float) -> float:
    """((1 - c) / c) A, A = n mu0**2 / 2, rounded up: what earlier answers add to an exponent.

    Of units that count as parts of one, the squares of those parts are added up instead.

    Theorem: SUBSET-TRANSFER.
    """
    part = Fraction(kept)
    return float_up((1 - part) / part * units * spent / 2)


def hoeffding_width(units: float, span: Floats, scale: Floats, ways: Sequence[Way]) -> Floats:
    """t, rounded up, of each answer: the least that one of the ways certifies at its level.

    Claim:    the sum of ``units`` independent parts plus normal noise exceeds its expectation by more than t
              with at most that probability, for a query fixed in advance (all is fresh, the price is 0);
              and for one that earlier answers led to, if a way keeps a part of the rows that was fixed in
              advance and pays ``price_of`` what was spent before.  If levels b_j, functions of the answers
              before j, sum to at most b on every path, and either side is taken at b_j / 2, all widths hold
              at once with probability 1 - b.
    Assumes:  rows are independent draws; each part lies in an interval of length ``span``; noise is
              fresh; everything released about the rows was Gaussian answers.
    Source:   derived here, from Hoeffding 1963 and the concavity of the logarithm of the normal tail.
    Theorem: SUBSET-ANSWERS.  Theorem: SUBSET-OVERFIT.  Theorem: PAY-AS-YOU-GO.
    """
    length, noise = np.broadcast_arrays(np.asarray(span, np.float64), np.asarray(scale, np.float64))
    proxy = units * length**2 / 4 * (1 + 10 * UNIT_ROUNDOFF)

    def moment(some: Places) -> Callable[[Floats, Floats], Floats]:
        v = proxy[some][:, None, None]
        return lambda tilt, fresh: tilt**2 * v / (2 * fresh)

    return least_width(noise, proxy, moment, ways)


# Shares ----------------------------------------------------------------------------------------------------


def least_share(answers: Floats, units: int, scale: float | Floats, ways: Sequence[Way]) -> Floats:
    """The lower ends, rounded down, of the expected share of ``units`` that have a property.

    Claim:    the expected share is below its end with probability at most the sum of the levels, if
              ``answers`` are noisy counts of the units that have the property.
    Assumes:  as ``hoeffding_width``.
    Source:   derived here.  Theorem: SUBSET-SHARES.
    """
    asked = np.asarray(answers, dtype=np.float64)
    noises = np.broadcast_to(np.asarray(scale, np.float64), asked.shape)
    likely = np.minimum(np.maximum(asked, 0.0), units)  # about as many have the property
    spread = np.maximum(likely * (1 - likely / units), 1.0)

    def ends(some: Places, paid: WayArrays) -> Tried:
        own, noise, moved = (part[some][:, None, None] for part in (asked, noises, spread))
        guess = paid.tilt(noise, moved)
        return lambda factors: _rejected(guess * factors, own, units, noise, paid)

    found: Floats = greatest(ends, likely, ways).clip(0.0, 1.0)
    return found


def greatest_share(answers: Floats, units: int, scale: float | Floats, ways: Sequence[Way]) -> Floats:
    """The upper ends, rounded up: those who lack the property are a share as well."""
    found: Floats = 1 - least_share(units - np.asarray(answers, dtype=np.float64), units, scale, ways)
    return np.minimum(found + FEW, 1.0)


def share_ends(
    lowered: Floats, raised: Floats, units: int, scale: float | Floats, ways: Sequence[Way]
) -> Ends:
    """``least_share`` of the first and ``greatest_share`` of the second.

    Few are looked at in one go, which takes half the time; to many one search for each side fits better.
    """
    if 2 * len(lowered) > MOST_CLOSELY:
        return least_share(lowered, units, scale, ways), greatest_share(raised, units, scale, ways)
    noises = np.broadcast_to(np.asarray(scale, np.float64), lowered.shape)
    twice = np.concatenate([noises, noises])
    both = least_share(np.concatenate([lowered, units - raised]), units, twice, ways)
    return both[: len(lowered)], np.minimum(1 - both[len(lowered) :] + FEW, 1.0)


def _rejected(tilts: Floats, answers: Floats, units: int, noise: Floats, paid: WayArrays) -> Floats:
    """Below it every share is rejected, rounded down; 0 or less where this location rejects nothing."""
    tilt, y, tail = tangent(tilts, noise)
    place = tilt * (answers - noise * y)
    size = 1 + np.abs(tail) + tilt * (np.abs(answers) + noise * np.abs(y)) + paid.price - paid.log_level
    left = (paid.log_level - tail + place - paid.price - MARGIN * size) / (paid.fresh * units)
    with np.errstate(over="ignore"):  # an infinite moment rejects nothing
        found: Floats = np.expm1(np.minimum(left, 700.0)) / np.expm1(tilt / paid.fresh)
    return found - 128 * UNIT_ROUNDOFF * np.abs(found)


# Variances -------------------------------------------------------------------------------------------------


def variance_width(
    variance: Floats, beyond: Floats, scale: Floats, ways: Sequence[Way], steady: Floats | float = 1.0
) -> Floats:
    """t, rounded up: Pr[answer - expectation > t] <= exp(level), if variances sum to at most ``variance``.

    Claim:    as ``hoeffding_width``, for parts that exceed their means by at most ``beyond``, and for every
              noise from ``steady`` times ``scale`` up to ``scale``.
    Assumes:  as ``hoeffding_width``; the variances of all units' parts sum to at most ``variance``, which
              does not depend on this answer, or holds with a level of its own.
    Source:   derived here, from Bennett 1962.  Theorem: SUBSET-BENNETT.
    """
    given = np.broadcast_arrays(*(np.asarray(part, np.float64) for part in (variance, beyond, scale, steady)))
    spread, most, noise, least = (part.ravel() for part in given)
    if not ((most > 0) & (noise > 0) & (spread >= 0) & (spread < np.inf)).all():
        raise InvalidRequest("a claim needs a range and noise above 0, and a finite variance of at least 0")

    def moment(some: Places) -> Callable[[Floats, Floats], Floats]:
        b = most[some][:, None, None]
        v = np.maximum(spread[some][:, None, None], _LEAST * b**2)  # 0 times what is infinite is nothing
        return lambda tilt, fresh: fresh * v / b**2 * beyond_linear(tilt * b / fresh)

    return least_width(noise, spread, moment, ways, least).reshape(given[0].shape)


def rough_variance_width(
    variance: Floats, beyond: float, scale: float, ways: Sequence[Way], steady: float = 1.0
) -> Floats:
    """The same or a little more, for very many variances: each is raised to the next of a few."""
    if len(variance) <= _MANY:
        return variance_width(variance, np.array(beyond), np.array(scale), ways, steady)
    low = max(float(variance.min()), float(variance.max()) * _DYNAMIC, _LEAST)
    steps = np.geomspace(low, max(float(variance.max()), low), _MANY) * SAFE
    widths = variance_width(steps, np.array(beyond), np.array(scale), ways, steady)
    return widths[np.searchsorted(steps, variance)]


def beyond_linear(x: Floats) -> Floats:
    """exp(x) - 1 - x for x >= 0, rounded up.  Infinite beyond what floats can hold: such a tilt is not used.

    Near 0 it would lose its digits, so there it is x**2 / 2 (1 + x / 3 (1 + x / 4 (...))), whose terms after
    the tenth factor are below 2 x**11 / 13! < 1e-16 of it.  From 1/4 on the subtraction multiplies the error
    of expm1, 64 u, by (exp(x) - 1) / (exp(x) - 1 - x) < 8.4 at most: less than SEVERAL in both cases.
    """
    least, most = (float(x.min()), float(x.max())) if x.size else (0.0, 0.0)
    if most < _SERIES:
        return _series(x) * (1 + SEVERAL)
    cut = np.minimum(x, _LARGEST)
    found: Floats = np.expm1(cut) - cut
    if not least >= _SERIES:
        found = np.where(x < _SERIES, _series(np.minimum(x, _SERIES)), found)
    found *= 1 + SEVERAL
    return found if most < _LARGEST else np.where(x < _LARGEST, found, np.inf)


def _series(x: Floats) -> Floats:
    """exp(x) - 1 - x near 0."""
    first, *others = x / _DIVISORS.reshape(-1, *[1] * x.ndim)
    factor: Floats = 1 + first
    for each in others:
        factor *= each
        factor += 1
    return x * x / 2 * factor


# Ratios ----------------------------------------------------------------------------------------------------


def ratio_ends(
    top: Floats, bottom: Floats, low: Floats, high: Floats, widths: Widths, likely: Ends | None = None
) -> Ends:
    """The ends of an interval with every theta in ``low..high`` at which a_f - theta a_g is within its width.

    ``likely``: about where they are.  It says at which intervals to look first, and is never relied upon.

    Claim:    if for the true theta, with the probability that is claimed, top - theta bottom lies between
              -below and above for the widths at theta, the interval contains theta with that probability.
    Assumes:  theta is in low..high; widths grow with the interval that they are given.
    Source:   derived here, after Fieller 1954.  Theorem: SUBSET-MEANS.
    """
    first, last, places = low.copy(), high.copy(), np.arange(len(top))
    for step in range(_STEPS):
        begin, end, enough = first[places], last[places], _ENOUGH
        if step == 0 and likely is not None and len(top) <= _FEW and np.isfinite(likely).any():
            begin, end, left, right = _first_steps(top, bottom, (begin, end), likely, widths)
            enough = _ENOUGH_OF_SEVERAL
        else:
            left, right = _nearer(top, bottom, begin, end, places, widths)
        empty = left > right  # a width did not hold: say nothing
        first[places] = np.where(empty, low[places], left)
        last[places] = np.where(empty, high[places], right)
        shorter = (right - left) < (1 - enough) * (end - begin)
        places = places[shorter & ~empty]
        if not len(places):
            break
    return first, last


def _nearer(top: Floats, bottom: Floats, begin: Floats, end: Floats, places: Places, widths: Widths) -> Ends:
    """What is left of each interval by the widths for all theta in it."""
    left, right = _solved(top[places], bottom[places], *widths(begin, end, places))
    return np.maximum(left, begin), np.minimum(right, end)


def _first_steps(
    top: Floats, bottom: Floats, whole: Ends, likely: Ends, widths: Widths
) -> tuple[Floats, Floats, Floats, Floats]:
    """Several steps at once: intervals that are reached from ``whole``, and what is left of them.

    Each next interval lies in the one before, and widths of all of them are worked out together.  If what is
    left of one lies in a later one, every theta that is kept lies there: the later one may be looked at next.
    """
    (low, high), cells = whole, np.arange(len(top))
    middle, half = (likely[0] + likely[1]) / 2, (likely[1] - likely[0]) / 2
    known = np.isfinite(middle) & np.isfinite(half)
    middle, half = np.where(known, middle, low).clip(low, high), np.where(known, half, np.inf) * _AROUND
    begin = np.concatenate([low[None], np.maximum(middle - half, low)])
    end = np.concatenate([high[None], np.minimum(middle + half, high)])
    places = np.concatenate([cells] * len(begin))
    ends = _nearer(top, bottom, begin.ravel(), end.ravel(), places, widths)
    left, right = (each.reshape(begin.shape) for each in ends)
    at = np.zeros(len(top), np.int64)
    for _ in _AROUND:
        least, most = left[at, cells], right[at, cells]
        further = ((begin <= least) & (most <= end) & (least <= most)).sum(0) - 1
        if not (further > at).any():
            break
        at = np.maximum(at, further)
    return begin[at, cells], end[at, cells], left[at, cells], right[at, cells]


def _solved(top: Floats, bottom: Floats, above: Floats, below: Floats) -> Ends:
    """All theta with -below <= top - theta bottom <= above, rounded outwards; all where bottom is 0."""
    slack = FEW * np.abs(top)
    least, most = top - above - slack, top + below + slack
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = least / bottom, most / bottom
    low, high = np.minimum(one, other), np.maximum(one, other)
    none = bottom == 0
    if none.any():
        low[none], high[none] = -np.inf, np.inf
    return low - FEW * np.abs(low), high + FEW * np.abs(high)
