"""A test of the rows themselves after Gaussian answers led to it: how small its p-value must be."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.exact import float_down, float_up, probability
from adyton.exact.outward import COARSE, MANY, SAFE
from adyton.validity.subset.tails import Before, ways_after


def p_value_threshold(alpha: Fraction, units: int, spent: Fraction) -> float:
    """At or below which a p-value may be called significant at ``alpha``, rounded down.

    Claim:    if every test, as a function of the rows, has level p under the null hypothesis, a test that was
              chosen from the answers rejects a true null with probability at most alpha if it rejects where
              p <= exp(-(sqrt(A) + sqrt(ln(1 / alpha)))**2), A = units * spent / 2.
    Assumes:  rows are independent draws; everything released about them was Gaussian answers whose squared
              radii sum to at most ``spent``, fixed in advance; the result is the last thing anybody learns of
              the rows.
    Source:   derived here.  Theorem: SUBSET-P-VALUES.
    """
    level = probability(alpha, "alpha")
    if spent == 0:
        return float_down(level)
    root = math.sqrt(float_up(units * spent / 2)) + math.sqrt(-math.log(float_down(level)))
    return math.exp(-(root**2) * SAFE) * (1 - MANY)


_KEPT = ((0.25, 0.6), (0.6, 0.3), (0.9, 0.1))
"""Fixed in advance, each with a part of alpha, where the noise was chosen on the way: most of it for few."""

_ANY = 0.5  # ways are asked for at some level, which is then divided out


def p_value_threshold_paid(alpha: Fraction, units: int, before: Before) -> float:
    """The same if the noise, or how many answers there are, was chosen on the way.

    For a part c of the rows that is kept, fixed in advance, (alpha exp(-price))**(1 / (1 - c)); the best of a
    few is taken, which share alpha.  Theorem: SUBSET-P-VALUES.
    """
    level = probability(alpha, "alpha")
    if before.spent == before.pure == 0:
        return float_down(level)  # nothing was released: all of alpha
    ways = ways_after(before, units, float_down(level), kept=_KEPT)
    exponents = [(way.price - way.log_level) / way.fresh for way in ways]
    return math.exp(-min(exponents) * SAFE) * (1 - MANY)


def corrected_p_value(p_value: Fraction, units: int, before: Before) -> float:
    """The least alpha at which a test with this p-value would be significant, rounded up.

    It is itself a valid p-value: p**(1 - c) exp(price) over the part of alpha that c has.
    """
    p = float_up(p_value)
    if before.spent == before.pure == 0:
        return p
    ways = ways_after(before, units, _ANY, kept=_KEPT)
    exponents = [way.fresh * math.log(p) + way.price - way.log_level + math.log(_ANY) for way in ways]
    return min(1.0, math.exp(min(min(exponents), 0.0)) * (1 + COARSE))
