"""How far everything that was released can single out these rows, for all functions of a row at once."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.kernel.exact import float_down, float_up, probability
from adyton.kernel.exact.outward import SAFE


def information_bound(units: int, spent: Fraction, failure: Fraction) -> float:
    """(sqrt(A) + sqrt(ln(1 / failure)))**2 nats, A = units * spent / 2, rounded up.

    Claim:    with probability 1 - failure the law of the sample given everything released is at most so far,
              as a divergence, from that of a fresh sample.
    Assumes:  rows are independent draws; everything released about them was Gaussian answers whose squared
              radii sum to at most ``spent``, fixed in advance.
    Source:   derived here.  Theorem: SUBSET-ALL-FUNCTIONS.
    """
    level = float_down(probability(failure, "the failure probability"))
    root = math.sqrt(float_up(units * spent / 2)) + math.sqrt(-math.log(level))
    return root**2 * SAFE


def every_function_width(units: int, spent: Fraction, failure: Fraction) -> float:
    """How far the average of any function with values in 0..1, as the transcript lets one expect it, is from
    the population: mu0 / 2 + sqrt(ln(1 / failure) / (2 n)), rounded up, for all functions at once.
    """
    return math.sqrt(information_bound(units, spent, failure) / (2 * units)) * SAFE
