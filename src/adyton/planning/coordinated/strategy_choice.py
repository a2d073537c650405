"""Which strategy answers a workload best: a search over public facts, before anything is spent."""

from __future__ import annotations

import math

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy
from adyton.planning.coordinated.range_workload import LinearQueries

MOST_OPTIMISED = 1024  # cells: some seconds on a quiet machine
_GRID = 2**12  # whole steps in the length of a column of an optimised strategy
_ROUNDS = 100
_UNSEEN = 1e-6  # of the squared length of a query: far more than floats make of nothing
_RIDGE = 1e-9  # of the mean diagonal: directions that no query needs stay invertible


def error_factor(workload: LinearQueries, strategy: Strategy) -> float:
    """The mean over the queries of the variance of W A^+ z, where the z are independent of variance 1.

    Claim:    trace(W (A'A)^+ W') / queries; infinite where the strategy does not determine the answers.
    Source:   Li, Hay, Rastogi, Miklau, McGregor 2010.  Theorem: MATRIX-MECHANISM-ERROR.
    """
    if workload.cells != strategy.cells:
        raise InvalidRequest(f"the workload has {workload.cells} cells, the strategy {strategy.cells}")
    if not _determines(strategy, workload):
        return math.inf
    return float((workload.gram() * strategy.inverse).sum()) / workload.queries


def _determines(strategy: Strategy, workload: LinearQueries) -> bool:
    """Whether each query is a combination of what is measured: of its length nothing is unseen.

    Each by itself: in a sum over all queries a small one would be lost among the large.
    """
    if strategy.unseen is None:
        return True
    lost, whole = workload.variances(strategy.unseen), workload.variances(np.eye(workload.cells))
    return bool((lost <= _UNSEEN * whole).all())


def the_queries(workload: LinearQueries) -> Strategy:
    """The queries themselves: sensible where they are few, as marginals are."""
    columns = [workload.numerators(cell) for cell in np.eye(workload.cells, dtype=np.int64)]
    return Strategy("the queries", np.stack(columns, axis=1))


def with_free_total(strategy: Strategy) -> Strategy:
    """The same with as much of the total as replacing a unit cannot reveal.

    Claim:    its replace-one diameter is that of ``strategy``: the total of two units is the same, and a unit
              that is in no cell is no farther from the others than these are from each other.
    """
    room = strategy.l2_diameter_squared("replace-one") - strategy.l2_diameter_squared("add-remove")
    weight = math.isqrt(room)
    if weight == 0:
        return strategy
    total = np.full((1, strategy.cells), weight, dtype=np.int64)
    return Strategy(f"{strategy.name}, and the total", np.concatenate([strategy.matrix, total]))


def optimal_strategy(workload: LinearQueries, grid: int = _GRID) -> Strategy:
    """The strategy with the least error among all, for add-remove and Gaussian noise, rounded to a grid.

    X = A'A minimises trace(W'W / X) under diag X <= 1.  With multipliers v of the constraints the optimum is
    X = V^(-1/2) (V^(1/2) W'W V^(1/2))^(1/2) V^(-1/2), and v = diag (V^(1/2) W'W V^(1/2))^(1/2) fixes v: the
    iteration below.  Nothing depends on how well it converges but accuracy.
    Source:   Yuan, Yang, Zhang, Hao 2016 (the convex problem); Denisov, McMahan, Rush, Smith, Thakurta 2022
              (the fixed point, for prefix sums).  Theorem: OPTIMAL-STRATEGY.
    """
    if workload.cells > MOST_OPTIMISED:
        raise InvalidRequest(f"a strategy is optimised for at most {MOST_OPTIMISED} cells")
    wanted = workload.gram()
    if not wanted.any():
        raise InvalidRequest("a workload that asks nothing has no best strategy")
    wanted = wanted + np.eye(workload.cells) * (_RIDGE * np.trace(wanted) / workload.cells)
    multipliers = np.sqrt(np.diag(wanted))
    for _ in range(_ROUNDS):
        renewed = (_root(wanted, multipliers) ** 2).sum(axis=0) * multipliers
        settled = np.abs(renewed - multipliers).max() <= 1e-4 * multipliers.max()
        multipliers = np.maximum(renewed, 1e-12 * renewed.max())
        if settled:
            break
    root = _root(wanted, multipliers)
    root *= grid / np.sqrt((root**2).sum(axis=0).max())
    return Strategy("optimised", np.rint(root).astype(np.int64))


def _root(wanted: Floats, multipliers: Floats) -> Floats:
    """A matrix B with B'B = X for these multipliers."""
    scale = np.sqrt(multipliers)
    values, vectors = np.linalg.eigh(scale[:, None] * wanted * scale)
    quarter = np.maximum(values, 0.0) ** 0.25
    root: Floats = quarter[:, None] * vectors.T / scale
    return root
