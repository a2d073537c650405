"""How the price of a sparse vector is best divided."""

from __future__ import annotations

import math
from fractions import Fraction


def queries_per_threshold(positives: int, *, monotone: bool, refresh: bool) -> Fraction:
    """The epsilon of the queries for each 1 of the threshold: (2 c)**(2/3).

    Claim:    this ratio makes the variance of a comparison, 2 s_t**2 + 2 s_q**2, least among all divisions of
              one epsilon.  Every factor that is missing in the noise of the queries is missing in the
              bracket: monotone queries have c**(2/3), and where the threshold is drawn afresh after each
              positive, so that c is a factor of both noise terms, 2**(2/3) and 1.
    Assumes:  the variance of two-sided geometric noise is 2 s**2 (it is about 1/6 less for every s above 1).
    Source:   Lyu, Su, Li 2017.  Theorem: SPARSE-SPLIT.
    """
    bracket = (1 if refresh else positives) * (1 if monotone else 2)
    return Fraction(bracket ** (2 / 3))


def value_share(positives: int, *, monotone: bool, refresh: bool) -> Fraction:
    """The part of epsilon that buys values as loud as the comparisons: w / (1 - w) = c / sqrt(V).

    V is half the least variance of a comparison at epsilon = 1 and D = 1: (1 + (2 c)**(2/3))**3, with the
    other brackets as above and a factor c**2 where the threshold is refreshed.  Theorem: SPARSE-SPLIT.
    """
    half_variance = (1 + float(queries_per_threshold(positives, monotone=monotone, refresh=refresh))) ** 3
    if refresh:
        half_variance *= positives**2
    return 1 / (1 + Fraction(math.sqrt(half_variance) / positives))
