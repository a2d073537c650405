"""Sample splitting: fresh rows for every query, the method that needs no theorem."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adyton.kernel.exact import Number, float_down, probability, whole
from adyton.kernel.exact.outward import SAFE, log_up
from adyton.validity.binomial import exact_width
from adyton.validity.plans.expected import Expected
from adyton.validity.plans.misses import deviations
from adyton.validity.textbook.concentration import hoeffding_width


def splitting_width(rows: int, queries: int, failure: Number) -> float | None:
    """sqrt(ln(2k / failure) / (2 m)) with m = floor(rows / k) rows for each query; None if m = 0.

    Claim:    Pr[some |q_j(S_j) - q_j(P)| > width] <= failure, for any adaptive queries, without noise.
    Assumes:  independent rows; no row is used twice.
    Source:   Hoeffding 1963 and a union bound.  Theorem: SAMPLE-SPLITTING.
    """
    each, chance = _for_one(rows, queries, failure)
    return hoeffding_width(each, chance) if each else None


def exact_splitting_width(
    rows: int, queries: int, failure: Number, share: Number | None = None
) -> float | None:
    """The same for queries with values 0 and 1, by exact binomial intervals; of a ``share`` if it is known.

    Theorem: SAMPLE-SPLITTING.
    """
    each, chance = _for_one(rows, queries, failure)
    return exact_width(each, chance, share) if each else None


def expected_splitting_width(rows: int, queries: int, failure: Number, expected: Expected) -> float | None:
    """The same for queries of which a share, a spread or a group is expected, by Chernoff's bound.

    Theorem: SAMPLE-SPLITTING.
    """
    each, chance = _for_one(rows, queries, failure)
    if not each:
        return None
    deviation = float(deviations(expected).beyond(np.array(log_up(2 / chance) / each)))
    part = 1.0 if expected.group is None else float_down(expected.group)
    return deviation / part * SAFE


def _for_one(rows: int, queries: int, failure: Number) -> tuple[int, Fraction]:
    """The rows that a query gets, and its part of the failure."""
    n, k = whole(rows, "the number of rows"), whole(queries, "the number of queries")
    return n // k, probability(failure, "the failure probability") / k
