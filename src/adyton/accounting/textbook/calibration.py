"""How much Gaussian noise a guarantee needs: the textbook's formula, and the exact answer.

The textbook's sigma = sqrt(2 ln(1.25 / delta)) D / epsilon is often quoted for every epsilon.  It is proved
below 1; from about 7 on it breaks its own delta; and where it is valid it adds more noise than is needed.
"""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.arithmetic.search import edge
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian
from adyton.kernel.accounting.rules import LARGEST_EPSILON, LEAST_DELTA, LEAST_EPSILON
from adyton.kernel.exact import Number, float_down, float_up, positive
from adyton.kernel.exact.outward import UNIT_ROUNDOFF
from adyton.kernel.privacy import Guarantee


def classical_sigma(sensitivity: Number, guarantee: Guarantee, *, unproved: bool = False) -> float:
    """The textbook's standard deviation for an L2 sensitivity, rounded up; refused where nobody proved it.

    Claim:    Gaussian noise of this size is (epsilon, delta)-DP.
    Assumes:  epsilon < 1.  ``unproved=True`` evaluates the formula anyway, to show where it breaks.
    Source:   Dwork, Roth 2014, Theorem 3.22.  Theorem: CLASSICAL-GAUSSIAN.
    """
    _check(guarantee)
    if guarantee.epsilon >= 1 and not unproved:
        raise InvalidRequest(
            "sqrt(2 ln(1.25/delta)) / epsilon is proved for epsilon below 1 only; "
            "the analytic calibration holds for every epsilon"
        )
    widest = float_up(positive(sensitivity, "the sensitivity"))
    near = widest * _root(guarantee.delta) / float_down(guarantee.epsilon)
    return near * (1 + 32 * UNIT_ROUNDOFF)  # a logarithm, a root and a division


def analytic_sigma(sensitivity: Number, guarantee: Guarantee) -> float:
    """The least standard deviation that keeps ``guarantee``, rounded up by less than 1e-8 of it.

    Claim:    Gaussian noise of this size is (epsilon, delta)-DP, for every epsilon, and hardly less would be.
    Assumes:  the library functions keep the accuracy stated in accounting/gaussian.py.
    Source:   Balle, Wang 2018.  Theorem: ANALYTIC-GAUSSIAN.
    """
    _check(guarantee)
    mu = gaussian.mu_down(float_down(guarantee.epsilon), float_down(guarantee.delta))
    return float_up(positive(sensitivity, "the sensitivity") / Fraction(mu))


def true_delta(sensitivity: Number, sigma: float, epsilon: Number) -> float:
    """The delta, rounded up, that noise of ``sigma`` really has at ``epsilon``.  Theorem: GDP-TO-APPROX."""
    mu = float_up(positive(sensitivity, "the sensitivity") / positive(sigma, "sigma"))
    return gaussian.delta_up(mu, float_down(positive(epsilon, "epsilon")))


def classical_breaks_at(delta: Number) -> float:
    """The epsilon from which on the textbook's sigma has a larger delta than it was asked for."""
    guaranteed = positive(delta, "delta")

    def breaks(epsilon: float) -> bool:
        sigma = classical_sigma(1, Guarantee(Fraction(epsilon), guaranteed), unproved=True)
        return true_delta(1, sigma, Fraction(epsilon)) > guaranteed

    return edge(breaks, 40.0, 0.5, halvings=36)


def _root(delta: Fraction) -> float:
    return math.sqrt(2 * math.log(1.25 / float_down(delta)))


def _check(guarantee: Guarantee) -> None:
    if guarantee.delta < LEAST_DELTA:
        raise InvalidRequest("Gaussian noise has delta > 0, and it must be at least 1e-300")
    if not LEAST_EPSILON <= guarantee.epsilon <= LARGEST_EPSILON:
        raise InvalidRequest(f"epsilon must be from 1e-9 to {LARGEST_EPSILON}")
