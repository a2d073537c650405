"""The noise behind what was released: what an auditor who knows the exact integers can work out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from adyton.kernel.ledger.texts import Stored
from adyton.kernel.measurement import Columns
from adyton.kernel.mechanisms.grid import Grid, NoiseOnAGrid
from adyton.kernel.noise.refine import Integers
from adyton.kernel.searching import Running, SearchLevels
from adyton.kernel.sensitivity import Reading
from adyton.kernel.sensitivity.bins import binned, bins_of
from adyton.kernel.sensitivity.reading import search_weights
from adyton.kernel.terms.measures import Extreme, Quantile
from adyton.planning.measures.search import Search
from adyton.planning.plan import QueryPlan

Run = tuple[Sequence[Stored], Sequence[Columns]]  # what was released, and the exact integers


def noise_seen(
    plans: Sequence[QueryPlan], stored: Sequence[Stored], exact: Sequence[Columns]
) -> list[Columns]:
    """Released minus exact.  ``exact`` are the plans' readings, then what searches read again."""
    first, later = iter(exact), iter(exact[sum(len(plan.readings) for plan in plans) :])
    seen: list[Columns] = []
    for plan, own in zip(plans, stored, strict=True):
        for part, released in zip(plan.parts, own.released, strict=True):
            columns = next(first)
            if isinstance(part, Search):
                columns = list(_compared(part, columns[0], released, later))
            seen.append([_minus(z, x) for z, x in zip(released, columns, strict=True)])
    return seen


def is_rounded(plans: Sequence[QueryPlan]) -> bool:
    """Whether a study puts its answers on grids: then all of them."""
    return any(isinstance(noisy.mechanism, NoiseOnAGrid) for plan in plans for noisy in plan.noisy)


def alike_but_for_cells(plans: Sequence[QueryPlan], first: Run, second: Run) -> bool:
    """Whether what was rounded in two runs can have had the same noise.  Behind a grid it is known up to a
    cell, and at either end of the grid on one side only.
    """
    (one, seen), (two, also_seen) = ((_flat(run[0]), noise_seen(plans, *run)) for run in (first, second))
    noises = [part.only.mechanism for plan in plans for part in plan.parts]
    return all(
        _overlap(_between(grid, *here), _between(grid, *there))
        for noise, *columns in zip(noises, one, seen, two, also_seen, strict=True)
        if isinstance(noise, NoiseOnAGrid)
        for grid, a, x, b, y in zip(noise.grids, *columns, strict=True)
        for here, there in zip(zip(a, x, strict=True), zip(b, y, strict=True), strict=True)
    )


def _flat(stored: Sequence[Stored]) -> list[Columns]:
    return [columns for own in stored for columns in own.released]


def _between(grid: Grid, released: int, noise: int) -> tuple[float, float]:
    """From the middle of the cell that was released, and what that is beyond the exact integer."""
    place = (released - grid.low) // grid.step
    first = noise - (grid.step - 1) // 2
    low, high = float(first), float(first + grid.step - 1)
    return -math.inf if place == 0 else low, math.inf if place == grid.cells - 1 else high


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return max(one[0], other[0]) <= min(one[1], other[1])


def _compared(
    part: Search, counts: Sequence[int], released: Columns, later: Iterator[Columns]
) -> Iterator[Sequence[int]]:
    """The exact count of each comparison, where the released ones led the search."""
    cells, levels = part.only.reading.sensitivity.cells, SearchLevels(part.only)
    total = before = np.zeros(cells, np.int64)
    for level, (bins, search, noisy) in enumerate(levels.levels(released)):
        upto = Running(counts if level == 0 else next(later)[0], cells)
        total = upto.at(np.full(cells, bins.number - 1)) if level == 0 else total
        for place in search.places(noisy):
            yield levels.counts(before + upto.at(place), total)
        before = before + upto.at(search.found(noisy) - 1)


def _minus(released: Iterable[int], exact: Iterable[int]) -> list[int]:
    return [z - x for z, x in zip(released, exact, strict=True)]


# How far the integers of two tables are apart --------------------------------------------------------------


def gaps(reading: Reading, first: Columns, second: Columns) -> list[list[int]] | None:
    """For each coordinate and cell, how far what gets noise moved; None where nothing gets noise by itself.

    In a search what gets noise is a comparison, at any place: the farthest counts.
    """
    measure = reading.measure
    if not isinstance(measure, Quantile | Extreme):
        return [_minus(a, b) for a, b in zip(first, second, strict=True)]
    cells, lattice = reading.sensitivity.cells, measure.value.lattice
    if reading.by[-1] != binned(measure.value, bins_of(lattice.low, lattice.high, cells))[1]:
        return None  # the inside of one bin, read again: part of comparisons that the first reading shows
    moved = np.abs(_comparisons(reading, first[0], cells) - _comparisons(reading, second[0], cells))
    return [[int(most) for most in moved.max(axis=1)]]


def _comparisons(reading: Reading, counts: Sequence[int], cells: int) -> Integers:
    assert isinstance(reading.measure, Quantile | Extreme)
    times, minus = search_weights(reading.measure)
    upto = np.cumsum(np.array(counts, np.int64).reshape(cells, -1), axis=1)
    compared: Integers = times * upto - minus * upto[:, -1:]
    return compared


def distances(moved: Sequence[Sequence[int]], scales: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """L1, and L2 squared."""
    scaled = [Fraction(gap) / scale for scale, own in zip(scales, moved, strict=True) for gap in own]
    return sum(map(abs, scaled), Fraction(0)), sum((g * g for g in scaled), Fraction(0))
