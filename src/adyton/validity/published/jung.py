"""The transfer theorem of Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi and Shenfeld.

Published figures are this width at the point where an optimiser stopped; any point is valid, and a better
search gives a slightly smaller width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from adyton.arithmetic.search import minimise
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, probability, whole
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.exact.special import special

_STEPS = 22


def transfer_width(epsilon: float, empirical: float, c: float, d: float) -> float:
    """empirical + (exp(epsilon) - 1) + c + 2d, rounded up."""
    if not (epsilon >= 0 and empirical >= 0 and c > 0 and d > 0):
        raise InvalidRequest("epsilon and the error on the rows must be at least 0, c and d above 0")
    return (empirical + math.expm1(epsilon) + c + 2 * d) * SAFE


def transfer_failure(beta: float, delta: float, c: float, d: float) -> float:
    """beta / c + delta / d, rounded up.

    Claim:    if a mechanism is (epsilon, delta)-DP and its answers are all within ``empirical`` of the rows'
              averages but for a failure beta, they are all within ``transfer_width`` of the population but
              for this failure, for any c, d > 0.
    Assumes:  independent draws; values in [0, 1]; any adaptive queries.
    Source:   Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi, Shenfeld 2020.  Theorem: JLNRSS-TRANSFER.
    """
    if not (beta >= 0 and delta >= 0 and c > 0 and d > 0):
        raise InvalidRequest("beta and delta must be at least 0, c and d above 0")
    return (beta / c + delta / d) * SAFE


@dataclass(frozen=True, slots=True)
class NoisyWidth:
    """A half-width, and the scale of the noise for it: of Gaussian noise its standard deviation."""

    tolerance: float
    scale: float


def width_at(rows: int, queries: int, failure: Number, rho: float, delta: float) -> float:
    """The published width for Gaussian noise of rho-zCDP an answer, beta = delta and c = d, rounded up.

    epsilon is that of k rho in zCDP, by R + 2 sqrt(R ln(sqrt(pi R) / delta)).  Theorem: JLNRSS-TRANSFER.
    """
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    return _at(n, k, float_down(probability(failure, "the failure probability")), rho, delta)


def _at(n: int, k: int, failure: float, rho: float, delta: float) -> float:
    if not (rho > 0 and 0 < delta < failure / 2):
        return math.inf
    epsilon = closed_form_epsilon(k * rho * SAFE, delta)
    if epsilon > 1:
        return math.inf
    empirical = scale_of(n, rho) * math.sqrt(2) * float(special().erfcinv(delta / k)) * SAFE
    slack = 2 * delta / failure * SAFE
    return transfer_width(epsilon, empirical, slack, slack)


def jlnrss_width(rows: int, queries: int, failure: Number) -> NoisyWidth:
    """The least ``width_at`` that a search finds, and its noise."""
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    share = float_down(probability(failure, "the failure probability"))
    middle = 0.5 / (n * math.sqrt(k))  # there the two parts are about as large

    def best_delta(rho: float) -> float:
        return minimise(lambda delta: _at(n, k, share, rho, delta), share * 1e-6, share / 5, _STEPS)

    rho = minimise(
        lambda rho: _at(n, k, share, rho, best_delta(rho)), middle / k**0.5 / 1e3, middle * 1e3, 30
    )
    return NoisyWidth(_at(n, k, share, rho, best_delta(rho)), scale_of(n, rho))


def scale_of(rows: int, rho: float) -> float:
    """The standard deviation, rounded up, of noise on a mean whose zCDP is rho when a row is replaced."""
    return SAFE / (rows * math.sqrt(2 * rho))


def closed_form_epsilon(rho: float, delta: float) -> float:
    """An epsilon, rounded up, with which rho-zCDP is (epsilon, delta)-DP.

    Source:   Bun, Steinke 2016: rho + 2 sqrt(rho ln(1/delta)), and rho + 2 sqrt(rho ln(sqrt(pi rho)/delta))
              where the logarithm is at least 1.  Theorem: JLNRSS-TRANSFER.
    """
    if not (rho >= 0 and 0 < delta < 1):
        raise InvalidRequest("rho must be at least 0, and delta between 0 and 1")
    inside = math.sqrt(math.pi * rho) / delta
    log = math.log(inside) if math.e <= inside < 1 / delta else -math.log(delta)
    return (rho + 2 * math.sqrt(rho * log)) * SAFE
