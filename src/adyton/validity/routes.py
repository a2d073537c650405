"""The routes of the textbooks from a mechanism to the population, as half-widths that can be compared.

Two of them start from pure differential privacy: k adaptive means get Laplace noise, each with its part of
epsilon, and whatever a mechanism of that epsilon points at is about as near to the population as a query
that was fixed in advance.  Which answer is worst, and on which side, is such a pointing: no union is needed.
The others hold under a condition that only the analyst can know, or say something weaker.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from adyton.arithmetic.search import minimise
from adyton.kernel.exact import Number, float_down, probability, whole
from adyton.kernel.exact.outward import SAFE, log_up
from adyton.validity.published.jung import NoisyWidth
from adyton.validity.textbook.generalization import LEAST_SECOND_TAKE
from adyton.validity.textbook.stability import expected_error, tv_from_multiplicative

_STEPS = 40
_FARTHEST = 1.0
_ROOT_18 = 18**0.5  # 3 sqrt 2


def dp_width(rows: int, queries: int, failure: Number) -> NoisyWidth | None:
    """tau + the largest of k Laplace terms of scale k / (n epsilon), epsilon = sqrt(tau**2 - ln 2 / (2n)).

    Claim:    Pr[some |a_j - q_j(P)| > tolerance] <= failure, for means of values in [0, 1] with Laplace noise
              of this scale; None where no tau below 1 will do.
    Assumes:  independent rows; 3 sqrt(2) exp(-n tau**2) is at most half of the failure.
    Source:   ``query_tail``, and the tail of Laplace noise.  Theorem: LAPLACE-ROUTES.
    """
    n, half = whole(rows, "the number of rows"), _half(failure)
    least = math.sqrt(math.log(_ROOT_18 * SAFE / half) / n) * SAFE
    return _best(n, queries, half, least, lambda tau: math.sqrt(max(tau * tau - math.log(2) / (2 * n), 0.0)))


def max_information_width(rows: int, queries: int, failure: Number) -> NoisyWidth | None:
    """The better of the two takes: epsilon = tau**2 at the tail 2 exp(-n tau**2), or epsilon = tau at
    2 exp(-(3/4) n tau**2).

    Claim:    as ``dp_width``.
    Assumes:  independent rows; the tail is at most half of the failure, and for the second take n tau**2 is
              at least 5.958.
    Source:   ``first_take`` and ``second_take``, and the tail of Laplace noise.  Theorem: LAPLACE-ROUTES.
    """
    n, half = whole(rows, "the number of rows"), _half(failure)
    log = math.log(2 * SAFE / half)
    first = _best(n, queries, half, math.sqrt(log / n) * SAFE, lambda tau: tau * tau)
    exponent = max(log * 4 / 3, LEAST_SECOND_TAKE)
    second = _best(n, queries, half, math.sqrt(exponent / n) * SAFE, lambda tau: tau)
    made = [width for width in (first, second) if width is not None]
    return min(made, key=lambda width: width.tolerance) if made else None


def expected_width(rows: int, queries: int) -> NoisyWidth:
    """tanh(epsilon / 2) + k (1 + ln k) / (n epsilon), at the best epsilon: the *expected* largest error.

    Claim:    E max |a_j - q_j(P)| is at most this, for means with Laplace noise of this scale.  It is an
              expectation and no confidence.
    Assumes:  independent, identically distributed rows; values in [0, 1].
    Source:   ``expected_error``; E max of k exponential variables is 1 + 1/2 + ... + 1/k <= 1 + ln k.
    Theorem: LAPLACE-ROUTES.
    """
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    noise = k * (1 + math.log(k)) / n * SAFE

    def width(epsilon: float) -> float:
        return expected_error(tv_from_multiplicative(epsilon), noise / epsilon)

    epsilon = minimise(width, min(math.sqrt(2 * noise) / 10, 1.0), 10 * math.sqrt(2 * noise), _STEPS)
    return NoisyWidth(width(epsilon), k / (n * epsilon) * SAFE)


def yes_no_width(rows: int, queries: int, failure: Number) -> float:
    """sqrt((k ln 2 + ln(2 / failure)) / (2n)): of the averages behind k yes and no answers, rounded up.

    A tree of k queries with two answers each has 2**k - 1 nodes.  Theorem: FORKING-PATHS.
    """
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    log = log_up(Fraction(2) / probability(failure, "the failure probability"))
    return math.sqrt((k * math.log(2) * SAFE + log) / (2 * n)) * SAFE


def _half(failure: Number) -> float:
    """One half of the failure is for the noise, the other for the rows."""
    return float_down(probability(failure, "the failure probability") / 2)


def _best(
    rows: int, queries: int, half: float, least: float, epsilon: Callable[[float], float]
) -> NoisyWidth | None:
    """Over tau, which must be at least ``least``; ``epsilon`` of it may be rounded, and is made smaller."""
    k = whole(queries, "the number of queries")
    if least >= _FARTHEST:
        return None
    most = math.log(k / half) * SAFE

    def scale(tau: float) -> float:
        each = epsilon(tau) / SAFE**2
        return k / (rows * each) * SAFE if each > 0 else math.inf

    def width(tau: float) -> float:
        return (tau + scale(tau) * most) * SAFE

    tau = minimise(width, least, _FARTHEST, _STEPS)
    found = min((least, tau, _FARTHEST), key=width)
    return NoisyWidth(width(found), scale(found)) if math.isfinite(width(found)) else None
