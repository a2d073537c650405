"""Intervals for shares and means by inversion: what a rare value can do is bounded by what it is.

A value in an interval has, given its mean, no larger exponential moments than a value at the two ends with
that mean.  So the ends of an interval for the mean m follow in closed form from the location of the tangent
at the normal tail: for every location y, all m below

    (exp(e(y) / (fresh n)) - 1) / (exp(tilt / fresh) - 1)

are rejected, where e(y) is what the exponent has left.  Any location is valid.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adyton.columns import Floats
from adyton.exact.outward import FEW, UNIT_ROUNDOFF
from adyton.validity.subset.tails import MARGIN, Paid, Places, Way, greatest, tangent


def least_share(answers: Floats, units: int, scale: float | Floats, ways: Sequence[Way]) -> Floats:
    """The lower ends, rounded down, of the expected share of ``units`` that have a property.

    Claim:    the expected share is below its end with probability at most the sum of the levels, if
              ``answers`` are noisy counts of the units that have the property.
    Assumes:  as ``hoeffding_width``.
    Source:   derived here.  Theorem: SUBSET-SHARES.
    """
    asked = np.asarray(answers, dtype=np.float64)
    noises = np.broadcast_to(np.asarray(scale, np.float64), asked.shape)
    likely = np.clip(asked, 0.0, units)  # about as many have the property
    spread = np.maximum(likely * (1 - likely / units), 1.0)

    def ends(some: Places, paid: Paid, factors: Floats) -> Floats:
        own, noise, moved = (part[some][:, None, None] for part in (asked, noises, spread))
        return _rejected(paid.tilt(noise, moved) * factors, own, units, noise, paid)

    found: Floats = np.clip(greatest(ends, likely, ways), 0.0, 1.0)
    return found


def greatest_share(answers: Floats, units: int, scale: float, ways: Sequence[Way]) -> Floats:
    """The upper ends, rounded up: those who lack the property are a share as well."""
    found: Floats = 1 - least_share(units - np.asarray(answers, dtype=np.float64), units, scale, ways)
    return np.minimum(found + FEW, 1.0)


def _rejected(tilts: Floats, answers: Floats, units: int, noise: Floats, paid: Paid) -> Floats:
    """Below it every share is rejected, rounded down; 0 or less where this location rejects nothing."""
    tilt, y, tail = tangent(tilts, noise)
    place = tilt * (answers - noise * y)
    size = 1 + np.abs(tail) + tilt * (np.abs(answers) + noise * np.abs(y)) + paid.price - paid.log_level
    left = (paid.log_level - tail + place - paid.price - MARGIN * size) / (paid.fresh * units)
    with np.errstate(over="ignore"):  # an infinite moment rejects nothing
        found: Floats = np.expm1(np.minimum(left, 700.0)) / np.expm1(tilt / paid.fresh)
    return found - 128 * UNIT_ROUNDOFF * np.abs(found)
