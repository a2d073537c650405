"""What the noise of a well-known slide about the sparse vector technique costs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from adyton.arithmetic.search import edge
from adyton.errors import InvalidRequest


class SlideCost(NamedTuple):
    """Epsilon at the named delta, by three compositions of the same c comparisons."""

    basic: float
    advanced: float
    optimal: float


def slide_cost(positives: int, epsilon: float, delta: float) -> SlideCost:
    """What sigma = 2 sqrt(2 c ln(1/delta)) / epsilon really costs: T + Lap(sigma) against f + Lap(2 sigma).

    Claim:    each of c runs is (2 / sigma)-DP.  Together they are (e, delta)-DP for each of the three e, the
              third being the least for c mechanisms of which only (2 / sigma)-DP is known.  The second is
              always above ``epsilon``: the usual corollary of advanced composition drops its last term.
    Assumes:  the runs halt after c positives, not c + 1; floats are good enough, because nothing is charged
              by these numbers.
    Source:   Dwork, Roth 2014, Theorem 3.20; Kairouz, Oh, Viswanath 2017.  Theorem: SLIDE-SPARSE-COST.
    """
    if positives < 1 or epsilon <= 0 or not 0 < delta < 1:
        raise InvalidRequest("at least 1 positive, epsilon above 0 and delta between 0 and 1")
    spread = math.sqrt(2 * positives * math.log(1 / delta))
    each = epsilon / spread
    basic = positives * each
    advanced = spread * each + positives * each * math.expm1(each)
    return SlideCost(basic, advanced, _optimal(positives, each, delta))


def late_halt_cost(positives: int, epsilon: Fraction) -> Fraction:
    """The pure epsilon of noise for c positives if ``count > c`` lets one more pass: (c + 1) / c epsilon.

    Theorem: SLIDE-SPARSE-COST.
    """
    return epsilon * (positives + 1) / positives


def _optimal(runs: int, each: float, delta: float) -> float:
    """The least epsilon at ``delta`` of ``runs`` randomized responses, by halving."""
    return edge(lambda epsilon: _delta_of(runs, each, epsilon) <= delta, runs * each, 0.0, halvings=100)


def _delta_of(runs: int, each: float, epsilon: float) -> float:
    """sum over i lies of C(runs, i) (e**((runs - i) each) - e**(epsilon + i each))+ / (1 + e**each)**runs."""
    log_total = runs * math.log1p(math.exp(each))
    terms = []
    for lies in range(runs + 1):
        gap = (runs - 2 * lies) * each - epsilon  # how far the likelihood ratio is above e**epsilon
        if gap > 0:
            ways = math.lgamma(runs + 1) - math.lgamma(lies + 1) - math.lgamma(runs - lies + 1)
            terms.append(math.exp(ways + (runs - lies) * each - log_total) * -math.expm1(-gap))
    return math.fsum(terms)
