"""Widths that know the variance: a mean over few rows, a sum of values that rarely use their range.

Bennett's inequality needs the variance of one unit's part, or a bound of it that holds by itself: a declared
one, one that follows from a share, or the upper end of another claim of the study with a level of its own.
"""

from __future__ import annotations

import math

import numpy as np

from adyton.errors import InvalidRequest
from adyton.special import special
from adyton.validity.subset.answers import MARGIN, Floats, hazard
from adyton.validity.subset.shares import Way

_FINEST = 1.01  # from one knot to the next: at most half of this per cent of width is given away
_ROUNDS = 60
_LARGEST = 700.0


def variance_width(variance: Floats, span: float, scale: float, way: Way) -> Floats:
    """t, rounded up: Pr[answer - expectation > t] <= exp(level), if variances sum to at most ``variance``.

    Claim:    as ``paid_width``, for parts that lie within ``span`` of their mean.
    Assumes:  as ``paid_width``; the variances of all units' parts sum to at most ``variance``, which does not
              depend on this answer, or holds with a level of its own.
    Source:   derived here, from Bennett 1962.  Theorem: SUBSET-BENNETT.
    """
    asked = np.asarray(variance, dtype=np.float64)
    if not (span > 0 and scale > 0 and np.all(asked >= 0) and np.all(np.isfinite(asked))):
        raise InvalidRequest("a claim needs a span and noise above 0, and a finite variance of at least 0")
    knots = _knots_above(asked, span)
    return _width(knots, span, scale, way)[np.searchsorted(knots, asked)]


def _knots_above(variance: Floats, span: float) -> Floats:
    """Few variances, in steps of one per cent, such that each that is asked has one not below it.

    The width grows with the variance, so that of the next knot is valid, and many cells share one search.
    """
    if variance.size <= 64:
        return np.unique(variance)
    low = max(float(variance.min()), span**2 * 1e-3)
    high = max(float(variance.max()), low)
    steps = math.ceil(math.log(high / low) / math.log(_FINEST)) + 1
    knots: Floats = low * np.power(_FINEST, np.arange(steps + 1, dtype=np.float64))
    return knots


def _width(variance: Floats, span: float, scale: float, way: Way) -> Floats:
    low, high = np.full_like(variance, -36.0), np.full_like(variance, 60.0)
    for _ in range(_ROUNDS):
        y = (low + high) / 2
        holds = _log_bound(y, variance, span, scale, way) <= way.log_level
        low, high = np.where(holds, low, y), np.where(holds, y, high)
    if not np.all(_log_bound(high, variance, span, scale, way) <= way.log_level):
        raise InvalidRequest("no width can be certified at so small a level")
    noise, moved = scale * high, _moved(high, variance, span, scale, way)
    width: Floats = noise + moved + MARGIN * (np.abs(noise) + moved)
    return width


def _moved(y: Floats, variance: Floats, span: float, scale: float, way: Way) -> Floats:
    """The location of the rows at which the bound is least: V (exp(tilt) - 1) / span."""
    tilt = np.minimum(hazard(y) * span / (scale * way.fresh), _LARGEST)
    moved: Floats = variance / span * np.expm1(tilt)
    return moved


def _log_bound(y: Floats, variance: Floats, span: float, scale: float, way: Way) -> Floats:
    """log P(N > y) - lambda d + (1 - c) V (exp(tilt) - 1 - tilt) / span**2 + price, rounded up.

    Infinite where the tilt is beyond what floats can hold: such a y is not used.
    """
    h = hazard(y)
    tilt = h * span / (scale * way.fresh)
    tail, gain = special().log_ndtr(-y), h / scale * _moved(y, variance, span, scale, way)
    spread = way.fresh * variance / span**2 * _beyond_linear(np.minimum(tilt, _LARGEST))
    size = 1 + np.abs(tail) + gain + spread + way.price
    bound: Floats = tail - gain + spread + way.price + MARGIN * size
    return np.where(tilt < _LARGEST, bound, np.inf)


def _beyond_linear(x: Floats) -> Floats:
    """exp(x) - 1 - x, which loses its digits near 0 unless its series is used."""
    series = x * x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6))))
    found: Floats = np.where(x < 1e-2, series * (1 + 1e-11), np.expm1(x) - x)
    return found
