"""The width of Rogers, Roth, Smith, Srebro, Thakkar and Woodworth: mutual information and a monitor."""

from __future__ import annotations

import math

from adyton.arithmetic.search import minimise
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_down, probability, whole
from adyton.kernel.exact.outward import SAFE, log_up
from adyton.validity.published.jung import NoisyWidth
from adyton.validity.published.mutual_information import best_exponent

_STEPS = 40


def sum_width(rows: int, queries: int, failure: Number, scale: float, *, centred: bool = False) -> float:
    """sqrt(min (2 I - ln(1 - l)) / l / (2 n failure)) + sigma sqrt(2 ln(4k / failure)), rounded up.

    Claim:    Pr[some |a_j - q_j(P)| > width] <= failure, half of it for each term; I = k / (2 n sigma**2), or
              a quarter of that against the centred phantom.
    Assumes:  as ``joint_width``.
    Source:   Rogers, Roth, Smith, Srebro, Thakkar, Woodworth 2020; the sum, because the larger of the two
              terms is not a bound for a given sigma.  Theorem: RRSSTW-MONITOR.
    """
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    share = probability(failure, "the failure probability")
    if not 0 < scale < math.inf:
        raise InvalidRequest(f"the scale of the noise must be finite and above 0, not {scale}")
    return _sum(n, k, float_down(share), log_up(4 * k / share), scale * (2 if centred else 1), scale)


def _sum(n: int, k: int, failure: float, log: float, telling: float, scale: float) -> float:
    """``telling`` is the noise that the information is computed for."""
    information = k / (2 * n * telling * telling) * SAFE
    return (math.sqrt(best_exponent(information) / (2 * n * failure)) + scale * math.sqrt(2 * log)) * SAFE


def rrsstw_width(rows: int, queries: int, failure: Number, *, centred: bool = False) -> NoisyWidth:
    """The least ``sum_width`` over the noise, and that noise."""
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    share = probability(failure, "the failure probability")
    rate, log, factor = float_down(share), log_up(4 * k / share), 2 if centred else 1

    def width(scale: float) -> float:
        return _sum(n, k, rate, log, scale * factor, scale)

    scale = minimise(width, 0.1 / n, 1e3, _STEPS)
    return NoisyWidth(width(scale), scale)
