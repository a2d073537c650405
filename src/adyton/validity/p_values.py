"""Tests after questions: a p-value computed on rows that have been questioned before, made honest.

A hypothesis about one of the asked questions is tested by inverting its width.  Any other test is paid for by
what the transcript says about the rows: as max-information here, as mutual information in
``threshold_after``.
"""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.exact import Number, positive, rational
from adyton.validity.hinge import stability_width
from adyton.validity.max_information import independent_rows_nats
from adyton.validity.noise_part import LEAST_FAILURE, gaussian_multiplier
from adyton.validity.outward import SAFE, probability, square_root_up, whole

_SMALLEST = 1e-12  # p-values are not reported below this
_STEPS = 60


def p_value(excess: Number, rows: int, questions: int, scale: Number) -> float:
    """For "the population value is at most theta": ``excess`` is the answer minus theta.  Rounded up.

    Claim:    under the hypothesis, Pr[some asked question has p <= alpha] <= alpha, for k adaptive questions
              with noise N(0, scale**2): p is a failure probability at which the one-sided joint width is
              below the excess.
    Assumes:  as ``joint_width``.
    Source:   derived here.  Theorem: P-VALUE-BY-INVERSION.
    """
    n, k = whole(rows, "the number of rows"), whole(questions, "the number of questions")
    sigma, over = positive(scale, "the scale"), rational(excess, "the excess")
    mu0 = square_root_up(k / (2 * n * sigma) ** 2)

    def rejects(failure: float) -> bool:
        share = Fraction(failure)
        if share / k < LEAST_FAILURE:
            return False
        t2 = stability_width(mu0, share)
        noise = sigma * Fraction(gaussian_multiplier(share, k, one_sided=True))
        return math.isfinite(t2) and noise + Fraction(t2) < over

    high = 1 - 2.0**-20
    if not rejects(high):
        return 1.0
    low = _SMALLEST
    if rejects(low):
        return low
    for _ in range(_STEPS):  # what is kept as ``high`` has been certified
        middle = math.sqrt(low * high)
        low, high = (low, middle) if rejects(middle) else (middle, high)
        if high / low < 1 + 1e-9:
            break
    return high


def pure_threshold(alpha: Number, rows: int, epsilon: Number, *, failure: Number | None = None) -> float:
    """The same after a pure epsilon-DP interaction on independent rows: (alpha - beta) exp(-I), rounded down.

    ``failure`` is beta; alpha / 5 if not given.  Theorem: EVENT-INFLATION.
    """
    level = probability(alpha, "alpha")
    beta = level / 5 if failure is None else probability(failure, "the failure probability")
    if beta >= level:
        raise InvalidRequest("the failure probability must be below alpha")
    information = independent_rows_nats(rows, epsilon, beta)
    return float(level - beta) * math.exp(-information) / SAFE
