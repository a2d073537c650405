"""The matrix mechanism: measure a strategy with noise, infer the questions by least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.exact import float_up
from adyton.exact.cells import Floats
from adyton.exact.outward import COARSE
from adyton.exact.special import special
from adyton.mechanisms.base import quietest
from adyton.mechanisms.workloads.strategy import Strategy
from adyton.mechanisms.workloads.strategy_choice import error_factor
from adyton.mechanisms.workloads.workload import Workload
from adyton.noise import Bits, rounded_gaussian, two_sided_geometric
from adyton.noise.refine import Integers, check_scale
from adyton.privacy import GaussianCost, Neighbours, PureCost

_FINE = 64  # sigma is at least this many steps for each root of a row: rounding costs below half a per cent


@dataclass(frozen=True, slots=True, eq=False)
class GaussianMatrix:
    """Measures ``steps`` times A x plus round(sigma * N), A the strategy; all questions follow from it.

    Claim:    mu-GDP with mu**2 = steps**2 times the squared L2 diameter of A over sigma**2, whatever is
              inferred afterwards; answers are unbiased, with the predicted error as mean squared error.
    Assumes:  the histogram is whole, a unit adds 1 to one cell or to none, and the words of ``bits`` are
              uniform and independent of everything the analyst has seen.
    Source:   Li, Hay, Rastogi, Miklau, McGregor 2010, with rounded Gaussian noise.
    Theorem: MATRIX-MECHANISM-PRIVACY.
    """

    strategy: Strategy
    sigma: Fraction
    steps: int = 1
    theorems: ClassVar[tuple[str, ...]] = ("STRATEGY-SENSITIVITY", "MATRIX-MECHANISM-PRIVACY")

    def __post_init__(self) -> None:
        _check_steps(self.steps)
        check_scale(float_up(self.sigma), "a standard deviation", rounded_gaussian.LARGEST_SIGMA)

    def cost(self, neighbours: Neighbours) -> GaussianCost:
        return GaussianCost(self.steps**2 * self.strategy.l2_diameter_squared(neighbours) / self.sigma**2)

    def radius(self) -> GaussianCost:
        """What validity pays, whatever the neighbours."""
        return GaussianCost(self.steps**2 * self.strategy.l2_radius_squared() / self.sigma**2)

    def release(self, histogram: Integers, bits: Bits) -> Integers:
        noise = rounded_gaussian.draw(float_up(self.sigma), self.strategy.rows, bits)
        return self.strategy.measure(histogram) * np.int64(self.steps) + noise

    def answers(self, workload: Workload, released: Integers) -> Floats:
        return _infer(workload, self.strategy, released, self.steps)

    def predicted_error(self, workload: Workload) -> float:
        """The mean over the questions of the expected squared error.  Theorem: MATRIX-MECHANISM-ERROR."""
        return error_factor(workload, self.strategy) * rounded_variance(float_up(self.sigma)) / self.steps**2

    def error(self, workload: Workload, confidence: float) -> Floats:
        """For each question the half-width that its noise stays within, with this probability.

        Theorem: MATRIX-MECHANISM-ERROR.
        """
        _check_confidence(confidence)
        z = float(-special().ndtri((1 - confidence) / 2))
        width = z * float_up(self.sigma) + math.sqrt(self.strategy.rows) / 2  # half a step of rounding a row
        return _deviations(workload, self.strategy) * (width / self.steps * (1 + COARSE))

    @classmethod
    def for_cost(cls, strategy: Strategy, neighbours: Neighbours, mu_squared: Fraction) -> GaussianMatrix:
        """The least noise whose mu**2 is at most ``mu_squared``, in steps that make rounding small."""
        diameter = strategy.l2_diameter_squared(neighbours)
        ratio = math.sqrt(diameter / mu_squared)
        steps = max(1, math.ceil(_FINE * math.sqrt(strategy.rows) / ratio))
        (sigma,) = quietest(
            lambda s: (Fraction(s),), lambda s: steps**2 * diameter <= mu_squared * s[0] ** 2, steps * ratio
        )
        return cls(strategy, sigma, steps)


@dataclass(frozen=True, slots=True, eq=False)
class GeometricMatrix:
    """Measures A x plus two-sided geometric noise: the pure form.

    Claim:    epsilon-DP with epsilon = the L1 diameter of A over ``scale``, whatever is inferred afterwards.
    Assumes:  as for ``GaussianMatrix``.
    Source:   Li, Hay, Rastogi, Miklau, McGregor 2010, with geometric noise.
    Theorem: MATRIX-MECHANISM-PRIVACY.
    """

    strategy: Strategy
    scale: Fraction
    theorems: ClassVar[tuple[str, ...]] = ("STRATEGY-SENSITIVITY", "MATRIX-MECHANISM-PRIVACY")

    def __post_init__(self) -> None:
        check_scale(float_up(self.scale), "a noise scale", two_sided_geometric.LARGEST_SCALE)

    def cost(self, neighbours: Neighbours) -> PureCost:
        return PureCost(self.strategy.l1_diameter(neighbours) / self.scale)

    def radius(self) -> PureCost:
        return PureCost(self.strategy.l1_radius() / self.scale)

    def release(self, histogram: Integers, bits: Bits) -> Integers:
        noise = two_sided_geometric.draw(float_up(self.scale), self.strategy.rows, bits)
        return self.strategy.measure(histogram) + noise

    def answers(self, workload: Workload, released: Integers) -> Floats:
        return _infer(workload, self.strategy, released, 1)

    def predicted_error(self, workload: Workload) -> float:
        """Theorem: MATRIX-MECHANISM-ERROR."""
        return error_factor(workload, self.strategy) * geometric_variance(float_up(self.scale))

    def error(self, workload: Workload, confidence: float) -> Floats:
        """By Chebyshev's inequality, hence wide: the law of a sum of such noise terms has no short form.

        Theorem: MATRIX-MECHANISM-ERROR.
        """
        _check_confidence(confidence)
        width = math.sqrt(geometric_variance(float_up(self.scale)) / (1 - confidence))
        return _deviations(workload, self.strategy) * (width * (1 + COARSE))

    @classmethod
    def for_cost(cls, strategy: Strategy, neighbours: Neighbours, epsilon: Fraction) -> GeometricMatrix:
        """The least noise whose epsilon is at most ``epsilon``."""
        diameter = strategy.l1_diameter(neighbours)
        (scale,) = quietest(
            lambda s: (Fraction(s),), lambda s: diameter <= epsilon * s[0], float(diameter / epsilon)
        )
        return cls(strategy, scale)


def predicted_error(
    workload: Workload, strategy: Strategy, neighbours: Neighbours, mu_squared: Fraction
) -> float:
    """The mean squared error of a question at this price, before anything is spent.

    Claim:    trace(W (A'A)^+ W') / questions times the variance of the noise, which is the squared L2
              diameter over mu**2, and the rounding's share.  Theorem: MATRIX-MECHANISM-ERROR.
    """
    return GaussianMatrix.for_cost(strategy, neighbours, mu_squared).predicted_error(workload)


def rounded_variance(sigma: float) -> float:
    """Of round(sigma * N): the sum over m >= 1 of (2 m - 1) P(|Z| >= m); from 2 on, one twelfth is added."""
    if sigma >= 2:
        return sigma * sigma + 1 / 12  # the rest is below 1e-30
    return math.fsum(2 * (2 * m - 1) * rounded_gaussian.tail(sigma, m) for m in range(1, 80))


def geometric_variance(scale: float) -> float:
    """2 q / (1 - q)**2 with q = exp(-1 / scale)."""
    return 0.5 / math.sinh(0.5 / scale) ** 2 if scale > 1e-2 else 0.0


def _infer(workload: Workload, strategy: Strategy, released: Integers, steps: int) -> Floats:
    """W A^+ y: the least squares, a function of what was released."""
    _check_determined(workload, strategy)
    cells = strategy.inverse @ (strategy.matrix.T @ released.astype(float)) / steps
    answers: Floats = workload.numerators(cells) / workload.denominator
    return answers


def _deviations(workload: Workload, strategy: Strategy) -> Floats:
    """The standard deviation of each answer if the noise of a row had variance 1."""
    _check_determined(workload, strategy)
    return np.sqrt(np.maximum(workload.variances(strategy.inverse), 0.0))


def _check_determined(workload: Workload, strategy: Strategy) -> None:
    if not math.isfinite(error_factor(workload, strategy)):
        raise InvalidRequest("the strategy does not measure enough to answer the workload")


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InvalidRequest(f"confidence must be above 0 and below 1, not {confidence}")


def _check_steps(steps: int) -> None:
    if not 1 <= steps <= 2**40:
        raise InvalidRequest(f"a mechanism counts in 1 to 2**40 steps, not {steps}")
