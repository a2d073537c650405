"""The view of hypothesis testing: what an attacker who must tell two neighboring tables apart can reach.

``false`` is the probability of crying wolf; ``true_positives_up`` the largest probability of being right
when there is one. The trade-off curve is the least type II error, 1 minus that.  A privacy profile is the
least delta for each epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from adyton.arithmetic.interval import exp, interval, upper
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian
from adyton.kernel.exact import Number, float_down, float_up, rational
from adyton.kernel.exact.outward import MANY
from adyton.kernel.exact.special import special
from adyton.kernel.privacy import Guarantee


class Testable(Protocol):
    def true_positives_up(self, false: Number) -> float: ...

    def delta_up(self, epsilon: float) -> float: ...


@dataclass(frozen=True, slots=True)
class ApproximateView:
    """(epsilon, delta)-DP, or pure for delta = 0.

    Claim:    TPR <= min(e^epsilon FPR + delta, 1 - e^-epsilon (1 - delta - FPR)), and both bounds are
              attained.
    Source:   Wasserman, Zhou 2010; Kairouz, Oh, Viswanath 2015.  Theorem: TESTING-VIEW.
    """

    guarantee: Guarantee

    def true_positives_up(self, false: Number) -> float:
        fpr, one = _probability(false), self.guarantee
        grown = upper(exp(interval(one.epsilon)))
        shrunk = 1 - (1 - one.delta - fpr) / grown
        return float_up(max(Fraction(0), min(Fraction(1), grown * fpr + one.delta, shrunk)))

    def delta_up(self, epsilon: float) -> float:
        """If nothing else is known: 1 - (1 - delta)(1 + e^epsilon) / (1 + e^epsilon0)."""
        one, at = self.guarantee, _at_least_zero(epsilon)
        if at >= one.epsilon:
            return float_up(one.delta)
        kept = (1 + exp(interval(at))) / (1 + exp(interval(one.epsilon)))
        return float_up(1 - (1 - one.delta) * (1 - upper(1 - kept)))


@dataclass(frozen=True, slots=True)
class GaussianView:
    """mu-GDP: as hard as telling N(0, 1) from N(mu, 1) by one draw.

    Claim:    TPR <= Phi(Phi^-1(FPR) + mu), attained by the Gaussian mechanism.
    Source:   Dong, Roth, Su 2022.  Theorem: TESTING-VIEW-GDP.
    """

    mu: float

    def __post_init__(self) -> None:
        if not 0 < self.mu < math.inf:
            raise InvalidRequest(f"mu must be above 0, not {self.mu:g}")

    def true_positives_up(self, false: Number) -> float:
        fpr = float_up(_probability(false))
        if fpr in (0.0, 1.0):
            return fpr
        raised = float(special().ndtri(fpr)) + self.mu
        reached = float(special().ndtr(raised + MANY * (1 + abs(raised) + self.mu)))
        return min(1.0, reached * (1 + MANY))

    def delta_up(self, epsilon: float) -> float:
        return gaussian.delta_up(self.mu, float(_at_least_zero(epsilon)))


@dataclass(frozen=True, slots=True)
class LaplaceView:
    """Laplace noise of scale sensitivity / epsilon0.

    Claim:    delta(epsilon) = 1 - e^((epsilon - epsilon0) / 2), and TPR <= e^epsilon0 FPR for FPR <=
              e^-epsilon0 / 2, 1 - e^-epsilon0 / (4 FPR) up to 1/2, and 1 - e^-epsilon0 (1 - FPR) from
              there.
    Source:   Dong, Roth, Su 2022; derived here.  Theorem: TESTING-VIEW-LAPLACE.
    """

    epsilon0: Fraction

    def true_positives_up(self, false: Number) -> float:
        fpr, grown = _probability(false), upper(exp(interval(self.epsilon0)))
        if 2 * fpr * grown <= 1:
            return float_up(grown * fpr)
        lost = 1 / (4 * fpr) if 2 * fpr <= 1 else 1 - fpr
        return float_up(1 - lost / grown)

    def delta_up(self, epsilon: float) -> float:
        gap = interval(self.epsilon0 - _at_least_zero(epsilon))
        return float_up(max(Fraction(0), upper(1 - exp(-gap / 2))))


def trade_off(view: Testable, false: Number) -> float:
    """The least type II error at a type I error of ``false``, rounded down: the trade-off curve f."""
    return float_down(1 - Fraction(view.true_positives_up(false)))


def _probability(value: Number) -> Fraction:
    probability = rational(value, "a probability")
    if not 0 <= probability <= 1:
        raise InvalidRequest(f"a probability is from 0 to 1, not {value}")
    return probability


def _at_least_zero(epsilon: float) -> Fraction:
    at = rational(epsilon, "epsilon")
    if at < 0:
        raise InvalidRequest(f"epsilon must be at least 0, not {epsilon}")
    return at
