"""Widths that know the variance: a mean over few rows, a sum of values that rarely use their range.

Bennett's inequality needs the variance of one unit's part, or a bound of it that holds by itself: a declared
one, one that follows from a share, or the upper end of another claim of the study with a level of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adyton.columns import Floats
from adyton.errors import InvalidRequest
from adyton.exact.outward import SAFE, SEVERAL
from adyton.validity.subset.tails import Places, Way, least_width

_LARGEST = 700.0
_LEAST = 2.0**-900
_MANY = 256
_DYNAMIC = 1e-9  # of the largest variance: smaller ones are raised to it
_SERIES = 0.25  # up to here exp(x) - 1 - x is its series, and beyond nine times its loss by cancellation
_TERMS = 10


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
    spread, most, noise, least = np.broadcast_arrays(
        *(np.asarray(part, np.float64) for part in (variance, beyond, scale, steady))
    )
    if not (np.all(most > 0) and np.all(noise > 0) and np.all(spread >= 0) and np.all(np.isfinite(spread))):
        raise InvalidRequest("a claim needs a range and noise above 0, and a finite variance of at least 0")

    def moment(some: Places) -> Callable[[Floats, Floats], Floats]:
        b = most[some][:, None, None]
        v = np.maximum(spread[some][:, None, None], _LEAST * b**2)  # 0 times what is infinite is nothing
        return lambda tilt, fresh: fresh * v / b**2 * _beyond_linear(tilt * b / fresh)

    return least_width(noise, spread, moment, ways, least)


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


def _beyond_linear(x: Floats) -> Floats:
    """exp(x) - 1 - x for x >= 0, rounded up.  Infinite beyond what floats can hold: such a tilt is not used.

    Near 0 it would lose its digits, so there it is x**2 / 2 (1 + x / 3 (1 + x / 4 (...))), whose terms after
    the tenth factor are below 2 x**11 / 13! < 1e-16 of it.  From 1/4 on the subtraction multiplies the error
    of expm1, 64 u, by (exp(x) - 1) / (exp(x) - 1 - x) < 8.4 at most: less than SEVERAL in both cases.
    """
    near, cut = np.minimum(x, _SERIES), np.minimum(x, _LARGEST)
    factor = np.ones_like(near)
    for n in range(_TERMS + 2, 2, -1):
        factor = 1 + near / n * factor
    series, beyond = near * near / 2 * factor, np.expm1(cut) - cut
    found: Floats = np.where(x < _SERIES, series, beyond) * (1 + SEVERAL)
    return np.where(x < _LARGEST, found, np.inf)
