"""Strategies to choose from: cells, trees, wavelets, and the best weights for marginals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import MANY
from adyton.kernel.privacy import Adjacency
from adyton.kernel.special.mechanisms.workloads.residuals import ResidualAttribute, Residuals, Set, _square
from adyton.kernel.special.mechanisms.workloads.strategy import MOST_ENTRIES, Strategy


def identity(cells: int) -> Strategy:
    """Every cell by itself: the best for the cells themselves."""
    _check_cells(cells)
    return Strategy("identity", np.eye(cells, dtype=np.int64))


def tree(cells: int, branching: int = 4) -> Strategy:
    """Sums of intervals whose length is a power of ``branching``, down to single cells.

    The best branching for all ranges under Gaussian noise is 4 or nearby for a few hundred to a few thousand
    cells; a batch compares several.
    Source: Hay, Rastogi, Miklau, Suciu 2010; Qardaji, Yang, Li 2013 (on the branching).
    """
    _check_cells(cells)
    if branching < 2:
        raise InvalidRequest(f"a tree has a branching of at least 2, not {branching}")
    levels, length = [np.eye(cells, dtype=np.int64)], branching
    cell = np.arange(cells)
    while length < cells * branching:
        node = cell // length
        levels.append((np.arange(node[-1] + 1)[:, None] == node).astype(np.int64))
        length *= branching
    return Strategy(f"tree of {branching}", np.concatenate(levels[::-1]))


def wavelet(cells: int) -> Strategy:
    """The total, and the difference of the two halves of every dyadic interval: Haar's wavelets.

    Source: Xiao, Wang, Gehrke 2010 (Privelet).
    """
    _check_cells(cells)
    size = 1 << (cells - 1).bit_length()
    cell = np.arange(cells)
    rows, length = [np.ones((1, cells), dtype=np.int64)], size
    while length > 1:
        node = np.arange(size // length)[:, None]
        sign = np.where(cell % length < length // 2, 1, -1)
        rows.append(np.where(cell // length == node, sign, 0))
        length //= 2
    matrix = np.concatenate(rows)
    return Strategy("wavelet", matrix[matrix.any(axis=1)])


def _check_cells(cells: int) -> None:
    if not 1 <= cells <= math.isqrt(MOST_ENTRIES):
        raise InvalidRequest(f"a strategy has between 1 and {math.isqrt(MOST_ENTRIES)} cells, not {cells}")


_GRID = 2**14  # steps in the largest weight


def components(
    attributes: Sequence[ResidualAttribute], by: Set, weights: Floats
) -> Iterator[tuple[Set, Floats]]:
    """For each subset of ``by``, by what its residuals are multiplied if their weight is 1."""
    whole = weights.reshape(-1, *(attributes[a].classes for a in by))
    for kept in subsets(by):
        own, axis = whole, 1
        for a in by:
            own = _combined(attributes[a], own, axis) if a in kept else _averaged(attributes[a], own, axis)
            axis += a in kept
        yield kept, own.reshape(len(whole), -1)


def subsets(by: Set) -> Iterator[Set]:
    for size in range(len(by) + 1):
        yield from combinations(by, size)


def best_residuals(
    attributes: Sequence[ResidualAttribute],
    energies: Mapping[Set, float],
    adjacency: Adjacency,
    gaussian: bool,
) -> Residuals:
    """The weights with the least total variance at one price, up to their rounding to whole numbers.

    ``energies``: of each set, the sum of the squares of ``components`` over all queries.

    Claim:    for add-remove no other weights have less; for replace-one the total is measured as well as it
              can be without moving the diameter.
    Source:   Xiao, He, Zhang, Kifer 2023 (the square root); the cube root derived on the theorem's page.
    Theorem: RESIDUAL-STRATEGY.
    """
    most = max(energies.values(), default=0.0)
    if most <= 0:
        raise InvalidRequest("marginals that ask nothing have no best strategy")
    needed = {kept: energy for kept, energy in energies.items() if energy > MANY * most}
    sizes = {kept: _reach(attributes, kept, gaussian) for kept in needed}
    free_total = adjacency == "replace-one" and gaussian and () in needed and len(needed) > 1
    wanted = {
        kept: math.sqrt(math.sqrt(energy / sizes[kept])) if gaussian else (energy / sizes[kept]) ** (1 / 3)
        for kept, energy in needed.items()
        if kept or not free_total
    }
    least = _GRID / max(wanted.values())
    whole = {kept: max(1, round(weight * least)) for kept, weight in wanted.items()}
    if not free_total:
        return Residuals(attributes, whole)
    without = Residuals(attributes, whole)
    room = without.l2_diameter_squared("replace-one") - without.l2_diameter_squared("add-remove")
    return Residuals(attributes, {(): max(1, math.isqrt(max(room, 1))), **whole})


def _reach(attributes: Sequence[ResidualAttribute], kept: Set, gaussian: bool) -> float:
    """What a unit adds to the residuals of a set, in the norm; squared where that is L2."""
    each: Callable[[int], int] = _square if gaussian else lambda size: 2 * (size - 1)
    return float(prod(each(attributes[a].size) for a in kept))


def combination(residuals: Residuals, by: Set, weights: Floats) -> Floats:
    """For each row of weights of the cells of ``by``: by what all measured numbers are multiplied.

    Claim:    the sum is an unbiased estimate, the least squares of all that was measured.
    Assumes:  all subsets of ``by`` that the weights need are measured, which is checked.
    Source:   derived on the theorem's page.  Theorem: RESIDUAL-STRATEGY.
    """
    made = np.zeros((len(weights), residuals.rows))
    sizes = map(residuals.table_size, residuals.weights)
    starts = dict(zip(residuals.weights, np.cumsum([0, *sizes]), strict=False))
    for kept, own in components(residuals.attributes, by, weights):
        if kept in residuals.weights:
            start = starts[kept]
            made[:, start : start + own.shape[1]] = own / residuals.weights[kept]
        elif float((own**2).sum()) > MANY * float((weights**2).sum()):
            raise InvalidRequest("the strategy does not measure enough to answer this")
    return made


def _combined(attribute: ResidualAttribute, weights: Floats, axis: int) -> Floats:
    """By what each measured number of a set with this attribute is multiplied."""
    shown, aside = np.split(weights, [attribute.size], axis=axis)
    mean = shown.mean(axis=axis, keepdims=True)
    beside = (aside - mean) / (attribute.size - 1)
    return np.concatenate([(shown - mean) / attribute.size, beside], axis=axis)


def _averaged(attribute: ResidualAttribute, weights: Floats, axis: int) -> Floats:
    """The same for a set without it."""
    mean: Floats = np.split(weights, [attribute.size], axis=axis)[0].mean(axis=axis)
    return mean
