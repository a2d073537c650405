"""A test of the rows themselves after Gaussian answers led to it: how small its p-value must be."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.kernel.exact import float_down, float_up, probability
from adyton.kernel.exact.outward import MANY, SAFE


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
