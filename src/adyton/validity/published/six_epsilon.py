"""The transfer theorem with the constant 6, and Laplace noise that makes use of it.

It is usable in a window only: epsilon from sqrt(12 / n) to 1/5, so no tolerance below 6 sqrt(12 / n) is in
reach.
"""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.arithmetic.search import minimise
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, float_up, positive, probability, rational, whole
from adyton.kernel.exact.outward import SAFE, log_up
from adyton.validity.published.jung import NoisyWidth
from adyton.validity.textbook.concentration import exp_up

LARGEST_EPSILON = Fraction(1, 5)
_STEPS = 20


def six_epsilon_tail(rows: int, epsilon: Number, delta: Number) -> float:
    """max(4 delta / epsilon, exp(-epsilon**2 n / 8)): Pr[|q(S) - q(P)| >= 6 epsilon], rounded up.

    Claim:    for a query that an (epsilon, delta)-DP mechanism chose from the rows.
    Assumes:  sqrt(12 / n) <= epsilon <= 1/5 and delta <= epsilon / 16; independent draws; values in [0, 1].
    Source:   Bassily, Nissim, Smith, Steinke, Stemmer, Ullman 2016; the constants are Roth's.
              Theorem: SIX-EPSILON.
    """
    n, e = whole(rows, "the number of rows"), positive(epsilon, "epsilon")
    d = rational(delta, "delta")
    if not (e * e * n >= 12 and e <= LARGEST_EPSILON and 0 <= d <= e / 16):
        raise InvalidRequest("the theorem needs sqrt(12/rows) <= epsilon <= 1/5 and delta <= epsilon/16")
    return min(1.0, max(float_up(4 * d / e), exp_up(e * e * n / 8)))


def laplace_width(rows: int, queries: int, failure: Number) -> NoisyWidth | None:
    """6 epsilon + the largest of k Laplace noise terms, over everything that may be chosen; None if no window
    is open.

    Claim:    Pr[some |a_j - q_j(P)| > tolerance] <= failure, for means with Laplace noise of this scale.
    Assumes:  as ``six_epsilon_tail``; which answer is worst is post-processing, so no union is needed there.
    Source:   ``six_epsilon_tail``, and the tail of Laplace noise.  Theorem: SIX-EPSILON.
    """
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    total = float_down(probability(failure, "the failure probability"))

    def best(noise: float) -> NoisyWidth | None:
        return _for_shares(n, k, noise, total - noise)

    def value(noise: float) -> float:
        width = best(noise)
        return width.tolerance if width else math.inf

    return best(minimise(value, total / 100, total * 0.99, _STEPS))


def _for_shares(n: int, k: int, noise: float, transfer: float) -> NoisyWidth | None:
    """The best epsilon when these shares of the failure are for the noise and for the transfer."""
    start = max(math.sqrt(12 / n), math.sqrt(-8 * math.log(transfer) / n)) * SAFE
    if start >= LARGEST_EPSILON:
        return None
    log = log_up(k / Fraction(noise)) * SAFE

    def width(epsilon: float) -> float:
        return 6 * epsilon * SAFE + log / (n * _each(epsilon, k, transfer))

    epsilon = minimise(width, start, float(LARGEST_EPSILON), _STEPS)
    return NoisyWidth(width(epsilon) * SAFE, SAFE / (n * _each(epsilon, k, transfer)))


def _each(epsilon: float, k: int, transfer: float) -> float:
    """The epsilon of one answer, rounded down, if all together may have ``epsilon``."""
    delta = min(epsilon / 16, transfer * epsilon / 4) / SAFE
    spread = math.sqrt(-2 * k * math.log(delta)) * SAFE
    each = 2 * epsilon / (spread + math.sqrt(spread * spread + 2 * k * epsilon)) / SAFE  # tanh(e/2) <= e/2
    return max(each, epsilon / k / SAFE)
