"""How far a Gaussian answer may be from the population, although earlier answers led to its question.

Every tilt, every location and every part of rows that is kept is valid in the bound, so floats choose them;
only the last evaluation is rounded to the safe side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from adyton.errors import InvalidRequest
from adyton.exact import float_up
from adyton.special import special
from adyton.validity.outward import square_root_up

Floats = NDArray[np.float64]

MARGIN = 1e-12
"""Of all terms of an exponent together.  It pays for their roundings, some tens of 1e-16 each, and for a
hazard that is off by as much: see SUBSET-ANSWERS."""
_LEAST_LOCATION = -37.0  # of the normal tail: below, it is 1 to the last digit
_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_STEPS = 60


@dataclass(frozen=True, slots=True)
class Sample:
    """What a claim is about: ``units`` independent draws, the part of each in an interval of length ``span``,
    and normal noise of standard deviation ``scale`` on their sum.
    """

    units: int
    span: float
    scale: float

    def __post_init__(self) -> None:
        if self.units < 1 or not self.span > 0 or not self.scale > 0:
            raise InvalidRequest("a claim needs at least 1 unit, a span above 0 and noise above 0")
        if not math.isfinite(self.span) or not math.isfinite(self.scale):
            raise InvalidRequest("a span and a scale are finite numbers")


def fixed_width(sample: Sample, log_level: Floats | float) -> Floats:
    """t, rounded up: Pr[answer - expectation > t] <= exp(log_level) for a question fixed in advance.

    Claim:    the sum of ``units`` independent parts plus the noise exceeds its expectation by more than t
              with probability at most exp(log_level).
    Assumes:  each part lies in an interval of length ``span``; the noise is normal and independent of them.
    Source:   derived here, from Hoeffding 1963 and the concavity of the logarithm of the normal tail.
              Theorem: SUBSET-ANSWERS.
    """
    return _width(sample, 1.0, 0.0, log_level)


def shift(sample: Sample, spent: Fraction) -> float:
    """How far a question chosen from Gaussian answers is moved, on top of ``fixed_width``: n span mu0 / 2.

    Theorem: SUBSET-OVERFIT.
    """
    return float_up(Fraction(sample.units) * Fraction(sample.span) * Fraction(square_root_up(spent)) / 2)


def planned_width(sample: Sample, spent: Fraction, log_level: Floats | float) -> Floats:
    """The same for a question that was chosen from Gaussian answers whose noise was planned.

    Claim:    Pr[answer - expectation > t] <= exp(log_level), whichever way earlier answers led to the
              question.
    Assumes:  rows are independent draws; everything released about them before was Gaussian answers whose
              squared radii sum to at most ``spent``, a number fixed before any of them.
    Source:   derived here.  Theorem: SUBSET-ANSWERS.
    """
    return _up(shift(sample, spent) + fixed_width(sample, log_level))


def paid_width(sample: Sample, spent: Fraction, kept: float, log_level: Floats | float) -> Floats:
    """The same if the noise too was chosen on the way, for a part of rows ``kept`` that was fixed in advance.

    Claim:    let levels b_j be functions of the answers before j whose sum is at most b on every path.  If
              the width of answer j is taken at b_j / 2 on either side, with what was spent before it, all
              widths hold at once with probability 1 - b.
    Assumes:  rows are independent draws; everything released about them was Gaussian answers; ``kept`` does
              not depend on any of them.
    Source:   derived here.  Theorem: PAY-AS-YOU-GO.
    """
    if not 0 < kept < 1:
        raise InvalidRequest("the part of rows that is kept lies between 0 and 1")
    return _width(sample, 1 - kept, price_of(sample.units, spent, kept), log_level)


def price_of(units: int, spent: Fraction, kept: float) -> float:
    """((1 - c) / c) A, A = n mu0**2 / 2, rounded up: what earlier answers add to an exponent.

    Theorem: SUBSET-TRANSFER.
    """
    part = Fraction(kept)
    return float_up((1 - part) / part * units * spent / 2)


def _width(sample: Sample, fresh: float, price: float, log_level: Floats | float) -> Floats:
    """The least t of the bound, where ``fresh`` = 1 - c of the rows count as fresh and ``price`` is paid.

    With y the location of the normal tail, h its hazard there and r = n span**2 / (4 fresh scale**2), the
    bound at t = scale (y + r h) is log P(N > y) - r h**2 / 2 + price, and falls with y.
    """
    level = np.asarray(log_level, dtype=np.float64)
    if not np.all(level < 0):
        raise InvalidRequest("a level is a probability below 1")
    ratio = (
        float_up(Fraction(sample.units) * Fraction(sample.span) ** 2 / (4 * Fraction(fresh)))
        / sample.scale**2
    )
    ratio *= 1 + 4 * MARGIN
    y = _location(ratio, price, level)
    hazard_there = hazard(y)
    return _up(sample.scale * (y + ratio * hazard_there), sample.scale * (np.abs(y) + ratio * hazard_there))


def _location(ratio: float, price: float, level: Floats) -> Floats:
    """A y at which the bound is certainly at most ``level``: Newton's steps, then steps outwards."""
    wanted = price - level
    y = np.sqrt(2 * wanted / (1 + ratio))
    y = np.where(ratio * hazard(y) ** 2 > 4 * wanted, -1.0, y)
    for _ in range(_STEPS):
        h = hazard(y)
        over = special().log_ndtr(-y) - ratio * h * h / 2 + wanted
        slope = h * (1 + ratio * h * (h - y))
        step = np.clip(over / slope, -2.0, 2.0)
        y = np.maximum(y + step, _LEAST_LOCATION)
        if np.all(np.abs(step) <= 1e-13 * (1 + np.abs(y))):
            break
    away = 1e-13 * (1 + np.abs(y))
    while not np.all(holds := log_bound(ratio, price, y) <= level):
        y, away = np.where(holds, y, y + away), 2 * away
    return y


def log_bound(ratio: float, price: Floats | float, y: Floats) -> Floats:
    """log P(N > y) - ratio hazard(y)**2 / 2 + price, rounded up."""
    tail, gain = special().log_ndtr(-y), ratio * hazard(y) ** 2 / 2
    bound: Floats = tail - gain + price + MARGIN * (1 + np.abs(tail) + gain + np.abs(price))
    return bound


def hazard(y: Floats) -> Floats:
    """phi(y) / P(N > y), the steepness of the logarithm of the normal tail."""
    found: Floats = _ROOT_TWO_OVER_PI / special().erfcx(y * _ROOT_HALF)
    return found


def _up(value: Floats, size: Floats | None = None) -> Floats:
    """Rounded up, by ``MARGIN`` of the size of its parts."""
    raised: Floats = value + MARGIN * np.abs(value if size is None else size)
    return raised
