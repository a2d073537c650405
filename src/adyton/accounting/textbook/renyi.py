"""Renyi differential privacy: curves over orders, their sum, and the epsilon at the best order.

A curve bounds the Renyi divergence of order alpha between the outputs on neighboring tables, in nats.
Curves add up order by order.  Every order gives a valid epsilon, so the search for the best one needs no
certificate; the value at the order that was found is evaluated in interval arithmetic and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from adyton.accounting.pld.slots import fold
from adyton.accounting.textbook.composition import checked, checked_delta
from adyton.arithmetic.interval import RealInterval, exp, interval, log, upper
from adyton.arithmetic.search import minimise
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.rules import LARGEST_EPSILON
from adyton.kernel.exact import float_up

_GOLDEN_SECTIONS = 36  # of 24 in the logarithm: less than 1e-6 is left
_FEW = 1e-4  # below it the estimates for steering take the first term of their series


class Curve(Protocol):
    @property
    def pure(self) -> Fraction | None:
        """The curve at infinity: a pure epsilon, if there is one."""
        ...

    def renyi(self, alpha: Fraction) -> RealInterval:
        """The divergence of order ``alpha`` > 1, as an interval that contains it."""
        ...

    def estimate(self, alpha: float) -> float:
        """The same roughly and fast, to find a good order; no guarantee rests on it."""
        ...


Slots = Sequence[tuple[Curve, int]]


@dataclass(frozen=True, slots=True)
class _PureEpsilon:
    """What has a curve that ends in a pure epsilon."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= LARGEST_EPSILON:
            raise InvalidRequest(
                f"epsilon must be above 0 and at most {LARGEST_EPSILON}, not {float(self.epsilon):g}"
            )

    @property
    def pure(self) -> Fraction:
        return self.epsilon


@dataclass(frozen=True, slots=True)
class LaplaceCurve(_PureEpsilon):
    """Laplace noise of scale sensitivity / epsilon.

    Claim:    D_alpha = ln(alpha/(2 alpha - 1) e^((alpha-1) eps) + (alpha-1)/(2 alpha - 1) e^(-alpha eps)) /
              (alpha-1).
    Assumes:  the noise is real-valued.  Integer noise whose steps are as large as the sensitivity is
              randomized response instead: ``PureCurve``.
    Source:   Mironov 2017 (Renyi differential privacy), Table II.  Theorem: LAPLACE-RENYI.
    """

    def renyi(self, alpha: Fraction) -> RealInterval:
        more, a, e = interval(alpha - 1), interval(alpha), interval(self.epsilon)
        return log((a * exp(more * e) + more * exp(-a * e)) / (2 * a - 1)) / more

    def estimate(self, alpha: float) -> float:
        e = float(self.epsilon)
        if alpha * e < _FEW:
            return alpha * e * e / 2
        rest = math.log(alpha / (2 * alpha - 1)) + math.log1p(
            (1 - 1 / alpha) * math.exp(-(2 * alpha - 1) * e)
        )
        return e + rest / (alpha - 1)


@dataclass(frozen=True, slots=True)
class PureCurve(_PureEpsilon):
    """Whatever is epsilon-DP.

    Claim:    D_alpha <= ln(cosh((alpha - 1/2) eps) / cosh(eps / 2)) / (alpha - 1); randomized response
              attains it.
    Source:   Bun, Steinke 2016; derived here.  Theorem: PURE-IMPLIES-RENYI.
    """

    def renyi(self, alpha: Fraction) -> RealInterval:
        more, a, e = interval(alpha - 1), interval(alpha), interval(self.epsilon)
        return log((exp(a * e) + exp(-more * e)) / (exp(e) + 1)) / more

    def estimate(self, alpha: float) -> float:
        e = float(self.epsilon)
        if alpha * e < _FEW:
            return alpha * e * e / 2
        rest = math.log1p(math.exp(-(2 * alpha - 1) * e)) - math.log1p(math.exp(-e))
        return e + rest / (alpha - 1)


@dataclass(frozen=True, slots=True)
class GaussianCurve:
    """Gaussian noise: D_alpha = alpha mu**2 / 2, mu**2 the squared L2 sensitivity over the variance.

    Source:   Mironov 2017, Proposition 7.  Theorem: GAUSSIAN-IS-GDP.
    """

    mu_squared: Fraction

    def __post_init__(self) -> None:
        if self.mu_squared <= 0:
            raise InvalidRequest("mu must be above 0")

    @property
    def pure(self) -> None:
        return None

    def renyi(self, alpha: Fraction) -> RealInterval:
        return interval(alpha * self.mu_squared / 2)

    def estimate(self, alpha: float) -> float:
        return alpha * float(self.mu_squared) / 2


def renyi_total(slots: Slots, alpha: Fraction) -> Fraction:
    """The divergence of order ``alpha`` of all releases together, rounded up.

    Claim:    if each release has at most its curve whatever was released before it, all together have the
              sum.
    Assumes:  the curves are fixed in advance.
    Source:   Mironov 2017, Proposition 1.  Theorem: RENYI-COMPOSITION.
    """
    if alpha <= 1:
        raise InvalidRequest("an order of Renyi divergence is above 1")
    total: Fraction = fold(lambda curve: upper(curve.renyi(alpha)), slots)
    return total


def epsilon_at(slots: Slots, delta: Fraction, alpha: Fraction) -> Fraction:
    """The epsilon that one order gives, rounded up.

    Claim:    all releases together are (D + ln(1 - 1/alpha) - ln(delta alpha)/(alpha - 1), delta)-DP, D
              their total.
    Source:   Canonne, Kamath, Steinke 2020 (The discrete Gaussian for DP).  Theorem: RENYI-TO-APPROX.
    """
    more = interval(alpha - 1)
    converted = log(more / interval(alpha)) - log(interval(delta * alpha)) / more
    return renyi_total(slots, alpha) + upper(converted)


def epsilon_up(slots: Slots, delta: Fraction) -> float:
    """The epsilon at the best order that was found, or the sum of the pure epsilons if that is less.

    Theorem: RENYI-TO-APPROX.
    """
    checked_delta(delta)
    found = epsilon_at(checked(slots), delta, 1 + Fraction(_best_order(slots, float(delta))))
    pure = [curve.pure for curve, _ in slots]
    if None not in pure:
        found = min(found, fold(lambda curve: curve.pure, slots))  # the order infinity
    return float_up(max(found, Fraction(0)))


def _best_order(slots: Slots, delta: float) -> float:
    """alpha - 1, searched around what Gaussian noise would want."""
    log_inverse = -math.log(delta)

    def at(t: float) -> float:
        total: float = fold(lambda curve: curve.estimate(1 + t), slots)
        return total + math.log(t / (1 + t)) + (log_inverse - math.log1p(t)) / t

    slope = fold(lambda curve: curve.estimate(1 + _FEW), slots)
    near = math.sqrt(max(log_inverse, 1e-9) / slope)
    return minimise(at, near * math.exp(-12), near * math.exp(12), _GOLDEN_SECTIONS)
