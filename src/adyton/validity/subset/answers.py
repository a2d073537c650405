"""How far a Gaussian answer may be from the population, although earlier answers led to its question."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.errors import InvalidRequest
from adyton.exact import float_up
from adyton.validity.outward import square_root_up
from adyton.validity.subset.tails import MARGIN, Floats, Places, Way, hazard, least_width

__all__ = [
    "MARGIN",
    "Floats",
    "Sample",
    "fixed_width",
    "hazard",
    "paid_width",
    "planned_width",
    "price_of",
    "shift",
]


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
    return _widths(sample, 1.0, 0.0, log_level)


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
    found: Floats = (shift(sample, spent) + fixed_width(sample, log_level)) * (1 + MARGIN)
    return found


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
    return _widths(sample, 1 - kept, price_of(sample.units, spent, kept), log_level)


def price_of(units: int, spent: Fraction, kept: float) -> float:
    """((1 - c) / c) A, A = n mu0**2 / 2, rounded up: what earlier answers add to an exponent.

    Theorem: SUBSET-TRANSFER.
    """
    part = Fraction(kept)
    return float_up((1 - part) / part * units * spent / 2)


def hoeffding_width(units: int, span: Floats, scale: Floats, ways: Sequence[Way]) -> Floats:
    """t, rounded up, for sums of ``units`` parts that lie in intervals of length ``span``."""
    length, noise = np.broadcast_arrays(np.asarray(span, np.float64), np.asarray(scale, np.float64))
    proxy = units * length**2 / 4 * (1 + 1e-15)

    def moment(some: Places) -> Callable[[Floats, Floats], Floats]:
        v = proxy[some][:, None, None]
        return lambda tilt, fresh: tilt**2 * v / (2 * fresh)

    return least_width(noise, proxy, moment, ways)


def _widths(sample: Sample, fresh: float, price: float, log_level: Floats | float) -> Floats:
    levels = np.asarray(log_level, dtype=np.float64)
    if not np.all(levels < 0):
        raise InvalidRequest("a level is a probability below 1")
    one = np.array([sample.span]), np.array([sample.scale])
    found = [hoeffding_width(sample.units, *one, [Way(fresh, price, float(level))]) for level in levels.flat]
    return np.array(found).reshape(levels.shape)
