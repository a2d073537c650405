"""From one notion of privacy to another, where that is proved; every bound is rounded up.

A guarantee here is about two neighboring tables and both directions: P against Q and Q against P.
"""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.arithmetic.interval import interval, tanh_half, upper
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, float_up, positive, rational
from adyton.kernel.exact.outward import UNIT_ROUNDOFF
from adyton.kernel.privacy import Guarantee


def total_variation_up(guarantee: Guarantee) -> float:
    """The largest total variation distance that an (epsilon, delta) guarantee allows.

    Claim:    TV <= delta + (1 - delta) tanh(epsilon / 2), attained by randomized response that tells the
              truth outright with probability delta.  Often quoted instead for delta = 0: (exp(epsilon) - 1)
              / 2, above 1 from ln 3 on.
    Source:   Kairouz, Oh, Viswanath 2015; derived here.  Theorem: DP-IMPLIES-TV.
    """
    tanh = upper(tanh_half(interval(guarantee.epsilon)))
    return min(1.0, float_up(guarantee.delta + (1 - guarantee.delta) * tanh))


def epsilon_for_total_variation(distance: Number) -> float:
    """The largest pure epsilon, rounded down, whose total variation distance stays within ``distance``.

    It is 2 artanh(distance).  Theorem: DP-IMPLIES-TV.
    """
    tv = _share(distance, "the distance")
    near = 2 * math.atanh(float_down(tv)) * (1 - 32 * UNIT_ROUNDOFF)  # atanh is trusted to 8 u
    return max(0.0, near)


def guarantee_of_total_variation(distance: Number, epsilon: Number) -> Guarantee:
    """What total variation distance t says: (epsilon, t)-DP for every epsilon, and nothing better.

    Claim:    t-TV privacy is (0, t)-DP; publishing everything with probability t attains (epsilon, t) for
              all epsilon.
    Assumes:  a guarantee is written with a positive epsilon, as everywhere here.
    Source:   derived here.  Theorem: TV-IS-DELTA.
    """
    return Guarantee(positive(epsilon, "epsilon"), _share(distance, "the distance"))


def divergence_up(epsilon: Number) -> float:
    """The largest Kullback-Leibler divergence of an epsilon-DP mechanism, in nats: epsilon tanh(epsilon / 2).

    Claim:    KL <= epsilon tanh(epsilon / 2), attained by randomized response; epsilon (exp(epsilon) - 1),
              which is often quoted, is more than twice as much everywhere.
    Source:   derived here.  Theorem: DP-IMPLIES-KL.
    """
    e = positive(epsilon, "epsilon")
    return float_up(e * upper(tanh_half(interval(e))))


def _share(value: Number, what: str) -> Fraction:
    share = rational(value, what)
    if not 0 <= share < 1:
        raise InvalidRequest(f"{what} must be at least 0 and below 1, not {value}")
    return share
