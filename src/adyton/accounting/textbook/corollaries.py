"""Advanced composition solved for the epsilon of one release, by rules of thumb.

Two corollaries are in circulation.  They differ by a factor of 2, and only the cautious one is proved.
``largest_price`` in comparison.py solves the theorems themselves, so nobody needs either; they are here
because people compare with them.
"""

from __future__ import annotations

from fractions import Fraction

from adyton.accounting.textbook.composition import checked_delta, checked_times
from adyton.arithmetic.interval import interval, log, lower, sqrt
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, positive, rational

_LARGEST_DELTA = Fraction(1, 2)


def approximate_epsilon0(target: Number, times: int, delta: Number) -> float:
    """epsilon / sqrt(2 k ln(1/delta)).  Approximate: not a proof.

    It drops the drift of advanced composition.  With k = 10,000, epsilon = 1 and delta = exp(-32) it says
    1/800, for which the theorem it came from yields 1.0156, not 1.  (Optimal composition yields 0.8916, so
    in that example the conclusion is true; this argument does not show it.)
    """
    return float_down(_without_drift(positive(target, "epsilon"), times, rational(delta, "delta")))


def cautious_epsilon0(target: Number, times: int, delta: Number) -> float:
    """epsilon / (2 sqrt(2 k ln(1/delta))), rounded down.

    Claim:    k releases of this epsilon each are (target, delta)-DP together.
    Assumes:  target <= 1 and delta <= 1/2; the textbook does not state the second, and needs it.
    Source:   Dwork, Roth 2014, Corollary 3.21.  Theorem: CAUTIOUS-COROLLARY.
    """
    epsilon, total_delta = positive(target, "epsilon"), rational(delta, "delta")
    if epsilon > 1 or total_delta > _LARGEST_DELTA:
        raise InvalidRequest("this corollary is proved for epsilon up to 1 and delta up to 1/2 only")
    return float_down(_without_drift(epsilon, times, total_delta) / 2)


def _without_drift(target: Fraction, times: int, delta: Fraction) -> Fraction:
    rounds = 2 * checked_times(times) * -log(interval(checked_delta(delta)))
    return lower(interval(target) / sqrt(rounds))
