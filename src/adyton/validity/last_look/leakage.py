"""How many transcripts can be told apart: an answer with noise is one of few, however long its digits are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from adyton.kernel.exact import float_up
from adyton.kernel.exact.outward import CANCELLED, SAFE, square_root_up
from adyton.kernel.exact.special import special
from adyton.validity.last_look.told import NoisyIntegers

_NORMAL_PEAK = 0.3989422804014327 * SAFE  # 1 / sqrt(2 pi)


def gaussian_rate(radius: Fraction) -> float:
    """Of a number with normal noise, if what a unit adds lies within a radius of one point, in scales.

    ``radius`` is squared, as receipts have it.  Theorem: TRANSCRIPT-LEAKAGE.
    """
    return 2 * square_root_up(radius) * _NORMAL_PEAK * SAFE


def geometric_rate(epsilon: Fraction) -> float:
    """Of a number with two-sided geometric noise, if exchanging one unit moves it by at most epsilon scales.

    Theorem: TRANSCRIPT-LEAKAGE.
    """
    return float_up(epsilon / 2)


def pure_distance(radius: Fraction) -> float:
    """The e whose mu**2 is ``radius`` (PURE-IMPLIES-GDP), rounded up: how far from the centre a unit can be.

    ln(P(N < z) / P(N > z)) with 2 z = mu.  Theorem: L1-RADIUS.
    """
    z = square_root_up(radius) / 2
    inside, beyond = special().log_ndtr([z, -z])
    return (float(inside - beyond) + CANCELLED * (1 + abs(float(beyond)))) * SAFE


def numbers_nats(numbers: Iterable[NoisyIntegers], units: int) -> float:
    """ln(1 + n rate) for each number, rounded up.

    Claim:    the density of the answers is at most exp(this) times that of a law that knows no data.
    Assumes:  a unit moves each exact number within an interval that was known before the answer.
    Source:   derived here; cf. Issa, Wagner, Kamath 2020 (maximal leakage).  Theorem: TRANSCRIPT-LEAKAGE.
    """
    return math.fsum(one.many * math.log1p(units * one.rate * SAFE) for one in numbers) * SAFE


def comparisons_nats(above: Iterable[bool]) -> float:
    """What one monitor said, in nats: ln((g + 1)(g + 2)) for each yes after g times no, ln(g + 1) at the end.

    Claim:    exp(-this) is the probability of these answers under a law that knows no data, whatever the
              queries are and whenever they end.
    Assumes:  nothing.
    Source:   derived here.  Theorem: TRANSCRIPT-LEAKAGE.
    """
    nats, gap = 0.0, 0
    for yes in above:
        nats += math.log(gap + 2) if yes else math.log1p(1 / (gap + 1))
        gap = 0 if yes else gap + 1
    return nats * SAFE
