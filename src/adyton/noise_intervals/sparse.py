"""Sparse vectors: the least noise for a price, how that is best divided, and how wrong the answers may be."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up
from adyton.kernel.exact.outward import FEW, next_up
from adyton.kernel.noise import two_sided_geometric
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, check_positives, reach


def sparse_for_cost(
    epsilon: Fraction,
    positives: int,
    *,
    sensitivity: int = 1,
    monotone: bool = False,
    refresh: bool = False,
    threshold_share: Fraction | None = None,
) -> Sparse:
    """The least noise for ``epsilon``; by default ``threshold_share`` makes comparisons vary least."""
    check_positives(positives)
    share = threshold_share
    if share is None:
        share = 1 / (1 + queries_per_threshold(positives, monotone=monotone, refresh=refresh))
    thresholds = positives if refresh else 1
    return Sparse(
        positives,
        scale_for(Fraction(thresholds * sensitivity), share * epsilon),
        scale_for(positives * reach(sensitivity, monotone), (1 - share) * epsilon),
        sensitivity,
        monotone,
        refresh,
    )


def numeric_sparse_for_cost(
    epsilon: Fraction,
    positives: int,
    *,
    sensitivity: int = 1,
    monotone: bool = False,
    refresh: bool = False,
    share: Fraction | None = None,
) -> NumericSparse:
    """The least geometric noise for ``epsilon``; by default values become as loud as comparisons."""
    check_positives(positives)
    part = value_share(positives, monotone=monotone, refresh=refresh) if share is None else share
    if not 0 < part < 1:
        raise InvalidRequest("the share of the values is above 0 and below 1")
    sparse = sparse_for_cost(
        (1 - part) * epsilon, positives, sensitivity=sensitivity, monotone=monotone, refresh=refresh
    )
    return NumericSparse(sparse, scale_for(Fraction(positives * sensitivity), part * epsilon))


def scale_for(moved: Fraction, epsilon: Fraction) -> Fraction:
    """The least float at which noise hides a move of ``moved`` to within ``epsilon``."""
    if epsilon <= 0:
        raise InvalidRequest("each part of the price of a comparison must be above 0")
    return Fraction(float_up(moved / epsilon))


def queries_per_threshold(positives: int, *, monotone: bool, refresh: bool) -> Fraction:
    """The epsilon of the queries for each 1 of the threshold: (2 c)**(2/3).

    Claim:    this ratio makes the variance of a comparison, 2 s_t**2 + 2 s_q**2, least among all divisions of
              one epsilon.  Every factor that is missing in the noise of the queries is missing in the
              bracket: monotone queries have c**(2/3), and where the threshold is drawn afresh after each
              positive, so that c is a factor of both noise terms, 2**(2/3) and 1.
    Assumes:  the variance of two-sided geometric noise is 2 s**2 (it is about 1/6 less for every s above 1).
    Source:   Lyu, Su, Li 2017.  Theorem: SPARSE-SPLIT.
    """
    bracket = (1 if refresh else positives) * (1 if monotone else 2)
    return Fraction(bracket ** (2 / 3))


def value_share(positives: int, *, monotone: bool, refresh: bool) -> Fraction:
    """The part of epsilon that buys values as loud as the comparisons: w / (1 - w) = c / sqrt(V).

    V is half the least variance of a comparison at epsilon = 1 and D = 1: (1 + (2 c)**(2/3))**3, with the
    other brackets as above and a factor c**2 where the threshold is refreshed.  Theorem: SPARSE-SPLIT.
    """
    half_variance = (1 + float(queries_per_threshold(positives, monotone=monotone, refresh=refresh))) ** 3
    if refresh:
        half_variance *= positives**2
    return 1 / (1 + Fraction(math.sqrt(half_variance) / positives))


def comparison_error(machine: Sparse | NumericSparse, confidence: float, queries: int) -> int:
    """How far from its threshold an integer must be for its answer, and all ``queries``, to be right.

    Half of what may fail is for the thresholds, half for the queries.  Theorem: SPARSE-ACCURACY.
    """
    sparse = machine.sparse if isinstance(machine, NumericSparse) else machine
    if not 0 < confidence < 1 or queries < 1:
        raise InvalidRequest("confidence lies between 0 and 1, and there is at least 1 query")
    fail = (1 - confidence) / 2
    return _radius(sparse.threshold_scale, fail / sparse.runs) + _radius(sparse.query_scale, fail / queries)


def _radius(scale: Fraction, fail: float) -> int:
    if fail < FEW:
        raise InvalidRequest("no float is that close to certainty; ask for less confidence or fewer queries")
    return two_sided_geometric.coverage_radius(float_up(scale), next_up(1 - fail))
