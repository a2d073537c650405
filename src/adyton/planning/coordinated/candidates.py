"""The strategies that a batch may be measured by, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Literal

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.privacy import Adjacency
from adyton.kernel.special.mechanisms.workloads.product import Product
from adyton.kernel.special.mechanisms.workloads.residuals import ResidualAttribute
from adyton.kernel.special.mechanisms.workloads.strategy import MOST_ENTRIES, Strategy
from adyton.kernel.terms.buckets import MOST_CELLS
from adyton.planning.coordinated.linear import CellSums, LinearBatch, Set
from adyton.planning.coordinated.measuring import Atoms, MarginalTables, Matrix, Measuring, Products
from adyton.planning.coordinated.range_workload import LinearQueries
from adyton.planning.coordinated.strategies import best_residuals, components, identity, tree, wavelet
from adyton.planning.coordinated.strategy_choice import (
    MOST_OPTIMISED,
    error_factor,
    optimal_strategy,
    the_queries,
    with_free_total,
)
from adyton.planning.coordinated.workload import DenseWorkload, LinearWorkload

StrategyName = Literal["independent", "atoms", "tree", "optimised", "product", "marginals"]
_QUICK = 200  # cells, for which an optimum is a moment's work; more only for batches that are as large
_MOST_WORK = 2**28  # weights of all values, written out
_MOST_PRODUCTS = 2**33  # multiplications, about
_STEPS = 2**6  # in a column of an optimised factor: products must stay exact
_BRANCHINGS = (2, 3, 4, 6, 8, 16)


@lru_cache(maxsize=16)
def measurings(
    problem: LinearBatch, adjacency: Adjacency, gaussian: bool, strategy: StrategyName | None
) -> tuple[Measuring, ...]:
    """All that could be best; InvalidRequest where the one that is named is not possible."""
    several = strategy is None and len(problem.shape) > 1
    matrix = strategy if strategy in ("tree", "optimised") else None
    ways: list[Callable[[], Measuring]] = []
    if strategy in (None, "atoms"):
        ways.append(lambda: _atoms(problem, adjacency, gaussian))
    if strategy is None or matrix is not None:
        ways.append(lambda: _best_matrix(problem, adjacency, gaussian, matrix))
    if strategy == "product" or several:
        ways.append(lambda: _products(problem, gaussian))
    if strategy == "marginals" or several:
        ways.append(lambda: _marginals(problem, adjacency, gaussian))
    found, reason = [], ""
    for way in ways:
        try:
            found.append(way())
        except InvalidRequest as impossible:
            reason = impossible.message
    if not found:
        raise InvalidRequest(f"{reason}: ask for less at a time, or leave the strategy out")
    return tuple(found)


def _atoms(problem: LinearBatch, adjacency: Adjacency, gaussian: bool) -> Measuring:
    _check_cells(problem, MOST_CELLS)
    return Atoms(problem.shape, total=adjacency == "replace-one" and gaussian)


def _check_cells(problem: LinearBatch, most: int) -> None:
    if problem.cells > most:
        raise InvalidRequest(
            f"these queries divide the rows into {problem.cells:,} cells; "
            f"this strategy is for at most {most:,}"
        )


def _best_matrix(
    problem: LinearBatch, adjacency: Adjacency, gaussian: bool, strategy: Literal["tree", "optimised"] | None
) -> Measuring:
    """Trees are for cells in one line; optima take time."""
    _check_cells(problem, MOST_OPTIMISED)
    workload = LinearWorkload(problem)
    found = [one for one in _matrices(problem, workload, strategy) if one.rows * one.cells <= MOST_ENTRIES]
    if adjacency == "replace-one" and gaussian:
        found += [with_free_total(one) for one in found]
    if not found:
        raise InvalidRequest(
            f"a strategy for {problem.cells:,} cells and {problem.values:,} values is too large"
        )
    best = min(found, key=lambda one: _price_of_accuracy(workload, one, adjacency, gaussian))
    return Matrix(problem.shape, best)


def _price_of_accuracy(workload: LinearQueries, one: Strategy, adjacency: Adjacency, gaussian: bool) -> float:
    size = one.l2_diameter_squared(adjacency) if gaussian else one.l1_diameter(adjacency) ** 2
    return error_factor(workload, one) * size


def _matrices(
    problem: LinearBatch, workload: LinearWorkload, strategy: StrategyName | None
) -> Iterator[Strategy]:
    in_line, cells = len(problem.shape) == 1, problem.cells
    if strategy == "tree" or (strategy is None and in_line and cells > 2):
        yield wavelet(cells)
        yield from (tree(cells, branching) for branching in _BRANCHINGS if branching < max(cells, 3))
    quick = cells <= _QUICK or problem.values >= cells
    if strategy == "optimised" or (strategy is None and quick):
        yield optimal_strategy(workload)
        if problem.values <= 4 * cells:
            yield the_queries(workload)


def _products(problem: LinearBatch, gaussian: bool) -> Measuring:
    """Along each axis what is best for how the values look at it; the others do not matter to the choice."""
    widest, columns = max(problem.shape), len(problem.shape)
    if widest > _QUICK:
        raise InvalidRequest(
            f"these queries divide the values of a column into {widest:,} classes; "
            f"a product of strategies is for at most {_QUICK}"
        )
    together = sum(linear.size for linear in problem.linears if linear.factors(problem.shape) is None)
    if problem.cells * (together + 1) * widest > _MOST_PRODUCTS:
        raise InvalidRequest(f"a product of strategies for {problem.cells:,} cells is too much work")
    factors = [_best_along(problem, axis, gaussian) for axis in range(columns)]
    with suppress(InvalidRequest):  # the entries of a product multiply: sums of many could be rounded
        return Products(problem.shape, Product(factors))
    raise InvalidRequest(
        f"these queries are about {columns} columns; a product of strategies for so many is not exact"
    )


def _best_along(problem: LinearBatch, axis: int, gaussian: bool) -> Strategy:
    seen = np.concatenate([_seen_along(linear, problem.shape, axis) for linear in problem.linears])
    values, vectors = np.linalg.eigh(seen.T @ seen)
    workload = DenseWorkload((np.sqrt(np.maximum(values, 0.0)) * vectors).T)
    size = problem.shape[axis]
    found = [identity(size), optimal_strategy(workload, _STEPS)]
    found += [tree(size, branching) for branching in _BRANCHINGS if branching < size]
    return min(found, key=lambda one: _price_of_accuracy(workload, one, "add-remove", gaussian))


def _seen_along(linear: CellSums, shape: tuple[int, ...], axis: int) -> Floats:
    """The parts of each class of one axis in the values, which have the length 1."""
    if axis not in linear.by:
        return np.full((1, shape[axis]), shape[axis] ** -0.5)
    place, own = linear.by.index(axis), [shape[a] for a in linear.by]
    codes = np.unravel_index(np.arange(len(linear.places)), own)[place]
    inside = linear.places >= 0
    parts = np.zeros((linear.size, shape[axis]))
    np.add.at(parts, (linear.places[inside], codes[inside]), 1.0)
    lengths = np.sqrt((parts**2).sum(axis=1, keepdims=True))
    alike: Floats = parts / np.maximum(lengths, 1.0)
    return alike


def _marginals(problem: LinearBatch, adjacency: Adjacency, gaussian: bool) -> Measuring:
    if sum(linear.size * len(linear.places) for linear in problem.linears) > _MOST_WORK:
        raise InvalidRequest(f"marginals for {problem.values:,} values are too much work")
    attributes = [
        ResidualAttribute(size - aside, aside)
        for size, aside in zip(problem.shape, problem.aside, strict=True)
    ]
    energies: dict[Set, float] = {}
    for linear in problem.linears:
        for _, weights in linear.weights():
            for kept, own in components(attributes, linear.by, weights):
                energies[kept] = energies.get(kept, 0.0) + float(np.einsum("ij,ij->", own, own))
    return MarginalTables(best_residuals(attributes, energies, adjacency, gaussian))
