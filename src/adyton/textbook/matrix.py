"""The matrix mechanism: measure a strategy with noise, infer the queries by least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise.refine import Integers
from adyton.kernel.special.mechanisms.workloads.measured import (
    GaussianMeasured,
    GeometricMeasured,
)
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy
from adyton.noise_intervals.laws import gaussian_tail
from adyton.noise_intervals.strategies import geometric_variance, widths_of
from adyton.planning.coordinated.range_workload import LinearQueries
from adyton.planning.coordinated.strategy_choice import error_factor


@dataclass(frozen=True, slots=True, eq=False)
class GaussianMatrix(GaussianMeasured):
    """Measures ``steps`` times A x plus round(sigma * N), A the strategy; all queries follow from it.

    Claim:    as ``GaussianMeasured``; answers are unbiased, with the predicted error as mean squared error.
    Assumes:  as ``GaussianMeasured``.
    Source:   Li, Hay, Rastogi, Miklau, McGregor 2010, with rounded Gaussian noise.
    Theorem: MATRIX-MECHANISM-PRIVACY.
    """

    strategy: Strategy

    def answers(self, workload: LinearQueries, released: Integers) -> Floats:
        return _infer(workload, self.strategy, released, self.steps)

    def predicted_error(self, workload: LinearQueries) -> float:
        """The mean over the queries of the expected squared error.  Theorem: MATRIX-MECHANISM-ERROR."""
        return error_factor(workload, self.strategy) * rounded_variance(float_up(self.sigma)) / self.steps**2

    def error(self, workload: LinearQueries, confidence: float) -> Floats:
        """For each query the half-width that its noise stays within, with this probability.

        Theorem: MATRIX-MECHANISM-ERROR.
        """
        return _half_widths(self, workload, confidence)


@dataclass(frozen=True, slots=True, eq=False)
class GeometricMatrix(GeometricMeasured):
    """Measures A x plus two-sided geometric noise: the pure form.

    Claim:    as ``GeometricMeasured``.
    Assumes:  as ``GeometricMeasured``.
    Source:   Li, Hay, Rastogi, Miklau, McGregor 2010, with geometric noise.
    Theorem: MATRIX-MECHANISM-PRIVACY.
    """

    strategy: Strategy

    def answers(self, workload: LinearQueries, released: Integers) -> Floats:
        return _infer(workload, self.strategy, released, 1)

    def predicted_error(self, workload: LinearQueries) -> float:
        """Theorem: MATRIX-MECHANISM-ERROR."""
        return error_factor(workload, self.strategy) * geometric_variance(float_up(self.scale))

    def error(self, workload: LinearQueries, confidence: float) -> Floats:
        """By exponential moments, as if one noise alone had all of the variance.

        Theorem: MATRIX-MECHANISM-ERROR.
        """
        return _half_widths(self, workload, confidence)


def rounded_variance(sigma: float) -> float:
    """Of round(sigma * N): the sum over m >= 1 of (2 m - 1) P(|Z| >= m); from 2 on, one twelfth is added."""
    if sigma >= 2:
        return sigma * sigma + 1 / 12  # the rest is below 1e-30
    return math.fsum(2 * (2 * m - 1) * gaussian_tail(sigma, m) for m in range(1, 80))


def _infer(workload: LinearQueries, strategy: Strategy, released: Integers, steps: int) -> Floats:
    """W A^+ y: the least squares, a function of what was released."""
    _check_determined(workload, strategy)
    cells = strategy.inverse @ (strategy.matrix.T @ released.astype(float)) / steps
    answers: Floats = workload.numerators(cells) / workload.denominator
    return answers


def _half_widths(
    mechanism: GaussianMatrix | GeometricMatrix, workload: LinearQueries, confidence: float
) -> Floats:
    """From the standard deviation that each answer would have if the noise of a row had variance 1."""
    if not 0 < confidence < 1:
        raise InvalidRequest(f"confidence must be above 0 and below 1, not {confidence}")
    _check_determined(workload, mechanism.strategy)
    deviations = np.sqrt(np.maximum(workload.variances(mechanism.strategy.inverse), 0.0))
    return widths_of(mechanism, deviations, deviations, confidence)


def _check_determined(workload: LinearQueries, strategy: Strategy) -> None:
    if not math.isfinite(error_factor(workload, strategy)):
        raise InvalidRequest("the strategy does not measure enough to answer the workload")
