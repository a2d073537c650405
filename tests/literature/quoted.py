"""Bounds as they were published or are quoted in lectures: true, and wider than ours."""

from __future__ import annotations

import math

from adyton.arithmetic.interval import exp, interval, upper
from adyton.arithmetic.search import minimise
from adyton.kernel.exact import Number, float_down, float_up, positive, probability, whole
from adyton.kernel.exact.outward import SAFE, log_up
from adyton.validity.published.mutual_information import best_exponent


def loose_total_variation(epsilon: Number) -> float:
    """(exp(epsilon) - 1) / 2, as quoted in lectures: true and wasteful; see ``total_variation_up``."""
    return float_up(upper((exp(interval(positive(epsilon, "epsilon"))) - 1) / 2))


def loose_divergence(epsilon: Number) -> float:
    """epsilon (exp(epsilon) - 1), as quoted in lectures: true and wasteful; see ``divergence_up``."""
    e = interval(positive(epsilon, "epsilon"))
    return float_up(upper(e * (exp(e) - 1)))


def first_release_width(rows: int, queries: int, failure: Number) -> float:
    """The published figure: twice the larger term, where both are equal.  Theorem: RRSSTW-MONITOR."""
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    share = probability(failure, "the failure probability")
    rate, log = float_down(share), log_up(4 * k / share)

    def terms(scale: float) -> tuple[float, float]:
        information = k / (2 * n * scale * scale)
        return 2 * math.sqrt(best_exponent(information) / (2 * n * rate)), 2 * scale * math.sqrt(2 * log)

    scale = minimise(lambda s: max(terms(s)), 0.1 / n, 1e3, 80)
    return max(terms(scale)) * SAFE
