"""Zero-concentrated differential privacy and (epsilon, delta), both ways, rounded to the safe side.

rho-zCDP implies (epsilon, delta)-DP for every order alpha > 1 with

    epsilon = alpha rho + ln(1 - 1/alpha) - ln(delta alpha) / (alpha - 1).

Every order gives a valid bound, so the search for the best one cannot break a guarantee; only rounding could,
and the margin pays for it: eight roundings of u = 2**-53 for each term, twice what the operations need.
Below, t = alpha - 1 and log_inverse = ln(1/delta).  The best order solves rho t**2 + ln(1 + t) = ln(1/delta).
"""

from __future__ import annotations

import math

from adyton.kernel.exact.outward import MANY, UNIT_ROUNDOFF

_STEPS = 60


def epsilon_up(rho: float, delta: float) -> float:
    """The least epsilon, rounded up, that this conversion gives for rho-zCDP at ``delta``; not below 0.

    Claim:    rho-zCDP implies (epsilon_up(rho, delta), delta)-DP.
    Assumes:  log and log1p of the C library are within 4 u of the truth, relatively; 0 < delta < 1.
    Source:   Canonne, Kamath, Steinke 2020 (The discrete Gaussian for DP).  Theorem: ZCDP-TO-APPROX.
    """
    return epsilon_at(best_order(rho, delta), rho, delta) if rho > 0 else 0.0


def epsilon_at(t: float, rho: float, delta: float) -> float:
    """The epsilon, rounded up, that the order 1 + t gives; not below 0.

    Claim and assumptions as above, for every t > 0.  Theorem: ZCDP-TO-APPROX.
    """
    fixed, margin = _without_rho(t, -math.log(delta))
    return max(0.0, rho * (1 + t) * (1 + 8 * UNIT_ROUNDOFF) + fixed + margin)


def best_order(rho: float, delta: float) -> float:
    """The t for which ``epsilon_at`` is least, nearly."""
    return _best_order(rho, -math.log(delta))


def rho_down(epsilon: float, delta: float) -> float:
    """The largest rho, rounded down, that this conversion allows inside (epsilon, delta).

    Newton's method: epsilon is a minimum of straight lines in rho, and a step solves the line of one order.
    """
    log_inverse = -math.log(delta)
    rho = (epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))) ** 2 * (1 - MANY)
    for _ in range(_STEPS):
        t = _best_order(rho, log_inverse)
        fixed, margin = _without_rho(t, log_inverse)
        better = (epsilon - fixed - 2 * margin) / (1 + t) * (1 - 32 * UNIT_ROUNDOFF)
        if better <= rho * (1 + 1e-13):
            break
        rho = better
    return rho


def _without_rho(t: float, log_inverse: float) -> tuple[float, float]:
    """What is left of the bound when rho = 0, and a margin for its roundings."""
    gain = math.log1p(1 / t)
    log_alpha = math.log1p(t)
    return (log_inverse - log_alpha) / t - gain, 8 * UNIT_ROUNDOFF * (gain + (log_inverse + log_alpha) / t)


def _best_order(rho: float, log_inverse: float) -> float:
    """Newton's method in ln t, in which the equation's left side is convex: from the right it stays there."""
    log_t = min(0.5 * math.log(log_inverse / rho), log_inverse)
    for _ in range(_STEPS):
        t = math.exp(log_t)
        step = (rho * t * t + math.log1p(t) - log_inverse) / (2 * rho * t * t + t / (1 + t))
        if abs(step) < 1e-9:
            break
        log_t -= step
    return math.exp(log_t)
