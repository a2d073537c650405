"""Intervals for shares and means by inversion: what a rare value can do is bounded by what it is.

A value in an interval has, given its mean, no larger exponential moments than a value at the two ends with
that mean.  So the ends of an interval for the mean m follow in closed form from the location of the tangent
at the normal tail: for every location y, all m below

    (exp(e(y) / (fresh n)) - 1) / (exp(tilt / fresh) - 1)

are rejected, where e(y) is what the exponent has left.  Any location is valid; the best is searched for on
few answers, and taken in between for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.special import special
from adyton.validity.subset.answers import MARGIN, Floats, hazard

_KNOTS = 129
_ROUNDS = 48
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class Way:
    """One valid way to pay for what was seen before: ``fresh`` = 1 - c, the price, and its own level.

    Arrays say it for each answer.
    """

    fresh: float | Floats
    price: float | Floats
    log_level: float | Floats


def least_share(answers: Floats, units: int, scale: float | Floats, ways: Sequence[Way]) -> Floats:
    """The lower ends, rounded down, of the expected share of ``units`` that have a property.

    Claim:    the expected share is below its end with probability at most the sum of the levels, if
              ``answers`` are noisy counts of the units that have the property.
    Assumes:  as ``paid_width``.
    Source:   derived here.  Theorem: SUBSET-SHARES.
    """
    asked = np.asarray(answers, dtype=np.float64)
    ends = [_least(asked, units, scale, way) for way in ways]
    found: Floats = np.clip(np.maximum.reduce(ends), 0.0, 1.0)
    return found


def greatest_share(answers: Floats, units: int, scale: float, ways: Sequence[Way]) -> Floats:
    """The upper ends, rounded up: those who lack the property are a share as well."""
    found: Floats = 1 - least_share(units - np.asarray(answers, dtype=np.float64), units, scale, ways)
    return np.minimum(found + 2.0**-52, 1.0)


def _least(answers: Floats, units: int, scale: float | Floats, way: Way) -> Floats:
    if not answers.size:
        return answers
    if answers.size <= _KNOTS or np.ndim(scale) or np.ndim(way.price):
        return _rejected(_best_location(answers, units, scale, way), answers, units, scale, way)
    knots = np.unique(np.linspace(answers.min(), answers.max(), _KNOTS))
    best = _best_location(knots, units, scale, way)
    return _rejected(np.interp(answers, knots, best), answers, units, scale, way)


def _best_location(answers: Floats, units: int, scale: float | Floats, way: Way) -> Floats:
    """The location with the highest end, by golden sections: it rises and then falls.

    At the best one the normal tail alone is not below the level over the price, so it is not far from
    zero; much
    farther out an end that rejects nothing rises again.
    """
    a, b = np.full_like(answers, -36.0), np.full_like(answers, 0.0)
    b += np.minimum(np.sqrt(2 * (way.price - way.log_level)), 37.0) + 0.5
    for _ in range(_ROUNDS):
        x, y = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        higher = _rejected(x, answers, units, scale, way) >= _rejected(y, answers, units, scale, way)
        a, b = np.where(higher, a, x), np.where(higher, y, b)
    return (a + b) / 2


def _rejected(y: Floats, answers: Floats, units: int, scale: float | Floats, way: Way) -> Floats:
    """Below it every share is rejected, rounded down; 0 or less where this location rejects nothing."""
    h = hazard(y)
    tail, place = special().log_ndtr(-y), h * (answers / scale - y)
    size = 1 + np.abs(tail) + np.abs(h * answers / scale) + np.abs(h * y) + way.price - way.log_level
    left = (way.log_level - tail + place - way.price - MARGIN * size) / (way.fresh * units)
    with np.errstate(over="ignore"):  # an infinite moment rejects nothing
        found: Floats = np.expm1(np.minimum(left, 700.0)) / np.expm1(h / (scale * way.fresh))
    return found - 64 * 2.0**-52 * np.abs(found)
