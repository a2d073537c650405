"""From one notion of privacy to another, where that is proved; every bound is rounded up.

A guarantee here is about two neighbouring tables and both directions: P against Q and Q against P.
"""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.accounting import gaussian
from adyton.errors import InvalidRequest
from adyton.exact import Number, float_down, float_up, positive, rational
from adyton.exact.interval import interval, tanh_half, upper
from adyton.exact.outward import UNIT_ROUNDOFF
from adyton.privacy import Guarantee


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


def total_variation_gdp_up(mu: Number) -> float:
    """The largest total variation distance of mu-GDP, 2 Phi(mu / 2) - 1.  Theorem: GDP-TO-APPROX."""
    return gaussian.delta_up(float_up(positive(mu, "mu")), 0.0)


def guarantee_of_total_variation(distance: Number, epsilon: Number) -> Guarantee:
    """What total variation distance t says: (epsilon, t)-DP for every epsilon, and nothing better.

    Claim:    t-TV privacy is (0, t)-DP; publishing everything with probability t attains (epsilon, t) for
              all epsilon.
    Assumes:  a guarantee is written with a positive epsilon, as everywhere here.
    Source:   derived here.  Theorem: TV-IS-DELTA.
    """
    return Guarantee(positive(epsilon, "epsilon"), _share(distance, "the distance"))


def total_variation_together_up(distances: list[tuple[Number, int]]) -> float:
    """Of releases with these distances, each so many times: 1 - product of (1 - t_i), less than the sum.

    Claim:    releases of distance t_i given the past are together within 1 - product of (1 - t_i); some
              attain it.
    Source:   derived here.  Theorem: TV-COMPOSITION.
    """
    kept = interval(1)
    for distance, times in distances:
        if times < 1:
            raise InvalidRequest("the number of releases must be at least 1")
        kept *= interval(1 - _share(distance, "the distance")) ** times
    return float_up(max(Fraction(0), upper(1 - kept)))


def total_variation_of_any_two(distance: Number, rows: int) -> float:
    """Between any two tables of ``rows`` rows, if neighbours are within ``distance``: rows times as much.

    So with a distance below 1 / (2 rows) no two tables can be told apart with confidence, and nothing is
    learned; with 1 / rows a mechanism may publish a whole row most of the time.  A useful epsilon has no
    such dilemma.
    Theorem: TV-IS-DELTA.
    """
    if rows < 1:
        raise InvalidRequest("a table has at least 1 row")
    return float_up(min(Fraction(1), rows * _share(distance, "the distance")))


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
