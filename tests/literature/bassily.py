"""The width of Bassily, Nissim, Smith, Steinke, Stemmer and Ullman as it was published for Gaussian noise.

Kept for comparison only: the figure is reproduced, and no method of the planner uses it.
"""

from __future__ import annotations

import math

from adyton.arithmetic.search import minimise
from adyton.kernel.exact import Number, float_down, probability, whole
from adyton.validity.published.jung import closed_form_epsilon


def published_width_at(rows: int, queries: int, failure: Number, rho: float, delta: float) -> float:
    """(e**epsilon - 1 + 2t delta + sqrt(ln(4k/delta) / rho) / n) / (1 - (1 - beta)**t), t = floor(1/beta)."""
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    share = float_down(probability(failure, "the failure probability"))
    times = math.floor(1 / share)
    epsilon = closed_form_epsilon(k * rho, delta)
    if epsilon > 1:
        return math.inf
    noise = math.sqrt(math.log(4 * k / delta) / rho) / n
    return (math.expm1(epsilon) + 2 * times * delta + noise) / (1 - (1 - share) ** times)


def published_width(rows: int, queries: int, failure: Number) -> float:
    """The least of them that a search finds."""
    n, k = rows, queries
    middle = 0.5 / (n * math.sqrt(k))

    def over_delta(rho: float) -> float:
        delta = minimise(lambda d: published_width_at(n, k, failure, rho, d), 1e-9, 1e-2, 30)
        return published_width_at(n, k, failure, rho, delta)

    return over_delta(minimise(over_delta, middle / k**0.5 / 1e3, middle * 1e3, 40))
