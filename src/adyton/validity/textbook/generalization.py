"""From privacy to the population, by max-information: an event that is rare for fresh rows stays rare.

Every form here is for pure epsilon-DP, replacing one of n independent rows.
"""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.kernel.exact import Number, float_down, float_up, positive, probability, whole
from adyton.kernel.exact.outward import SAFE, digits, down
from adyton.validity.textbook.concentration import exp_up

LEAST_SECOND_TAKE = 5.958
"""From r = 5.9577 on, exp(-r (3/2 - 1/sqrt 2)) + exp(-r) <= exp(-3r/4): see ``second_take``."""
_SECOND = Fraction(7928932188134524, 10**16)  # just below 3/2 - 1/sqrt 2


def epsilon_for_event(rows: int, fixed: Number) -> float:
    """sqrt(ln(1 / beta) / (2n)), rounded down: the epsilon up to which ``chosen_event`` holds."""
    n, beta = whole(rows, "the number of rows"), probability(fixed, "the probability")
    mp = digits(40)
    log = mp.log(mp.mpf(beta.denominator) / beta.numerator)
    return down(mp.sqrt(log / (2 * n)) * (1 - mp.mpf(10) ** -30))


def chosen_event(fixed: Number) -> float:
    """3 sqrt(beta): the probability of an event that was chosen by an epsilon-DP mechanism, rounded up.

    Claim:    if Pr[S in R(y)] <= beta for every output y, then Pr[S in R(Y)] <= 3 sqrt(beta).
    Assumes:  epsilon <= ``epsilon_for_event(rows, beta)``; independent rows.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015.  Theorem: DP-GENERALIZES.
    """
    beta = probability(fixed, "the probability")
    return min(1.0, 3 * math.sqrt(float_up(beta)) * SAFE)


def epsilon_for_query(rows: int, tolerance: Number) -> float:
    """sqrt(tau**2 - ln 2 / (2n)), rounded down; 0 if there are too few rows."""
    n, tau = whole(rows, "the number of rows"), positive(tolerance, "the tolerance")
    mp = digits(40)
    square = mp.mpf((tau * tau).numerator) / (tau * tau).denominator - mp.log(2) / (2 * n)
    return down(mp.sqrt(square) * (1 - mp.mpf(10) ** -30)) if square > 0 else 0.0


def query_tail(rows: int, tolerance: Number) -> float:
    """3 sqrt(2) exp(-n tau**2): Pr[|q(S) - q(P)| >= tau] for a query that the mechanism chose, rounded up.

    Assumes:  epsilon <= ``epsilon_for_query(rows, tolerance)``.
    Source:   ``chosen_event`` and Hoeffding's inequality.  Theorem: DP-GENERALIZES.
    """
    exponent = whole(rows, "the number of rows") * positive(tolerance, "the tolerance") ** 2
    return min(1.0, 3 * math.sqrt(2) * SAFE * exp_up(exponent))


def first_take(rows: int, sensitivity: Number, tolerance: Number) -> tuple[float, float]:
    """(epsilon, tail) with epsilon = tau**2 / (n c)**2: Pr[|f(S) - E f| >= tau] <= 2 exp(-tau**2 / (n c**2)).

    Claim:    for f of sensitivity c, chosen by an epsilon-DP mechanism; a mean has c = 1/n, so epsilon =
              tau**2.
    Assumes:  independent rows.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015.
    Theorem: MAX-INFORMATION-GENERALIZES.
    """
    ratio = _ratio(rows, sensitivity, tolerance)
    return float_down(ratio / rows), min(1.0, 2 * exp_up(ratio))


def second_take(rows: int, sensitivity: Number, tolerance: Number) -> tuple[float, float]:
    """(epsilon, tail) with epsilon = tau / (n c): at most 2 exp(-(3/4) tau**2 / (n c**2)), where that is
    proved.

    Claim:    with r = tau**2 / (n c**2) and beta = 2 exp(-r) ``loose_independent_rows_nats`` gives the tail
              2 exp(-r (3/2 - 1/sqrt 2)) + 2 exp(-r), which is below 2 exp(-3r/4) from r = 5.958 on;
              below that the tail itself is returned.
    Assumes:  independent rows.   Source:   derived here.  Theorem: MAX-INFORMATION-GENERALIZES.
    """
    ratio = _ratio(rows, sensitivity, tolerance)
    if ratio >= LEAST_SECOND_TAKE:
        tail = 2 * exp_up(ratio * 3 / 4)
    else:
        tail = 2 * exp_up(ratio * _SECOND) + 2 * exp_up(ratio)
    epsilon = Fraction(positive(tolerance, "the tolerance")) / (
        rows * positive(sensitivity, "the sensitivity")
    )
    return float_down(epsilon), min(1.0, tail * SAFE)


def _ratio(rows: int, sensitivity: Number, tolerance: Number) -> Fraction:
    """tau**2 / (n c**2), the exponent of McDiarmid's inequality, halved."""
    n, c = whole(rows, "the number of rows"), positive(sensitivity, "the sensitivity")
    return positive(tolerance, "the tolerance") ** 2 / (n * c * c)
