"""The exact law of a sparse vector on short sequences, taken from the code itself.

Noise is scripted: the code is run with each value of the threshold's noise, and the least query noise that
it calls above is found by halving.  Probabilities of noise are closed forms, so a sequence's law is one finite sum
over the threshold's noise r, cut off where what is left out has probability ``left_out``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.kernel.noise import two_sided_geometric
from adyton.kernel.special.mechanisms.sparse.sparse import SparseState

Floats = npt.NDArray[np.float64]
Said = tuple[bool, ...]
FLOAT = 1e-9  # what sums of a few thousand floats may err by


@contextmanager
def scripted(noise: Sequence[int], scales: list[float] | None = None) -> Iterator[None]:
    """Every draw takes the next of ``noise``, and its scale is noted in ``scales``."""
    waiting = noise if isinstance(noise, list) else list(noise)
    real = two_sided_geometric.draw

    def draw(scale: float, count: int, bits: Any) -> npt.NDArray[np.int64]:
        if scales is not None:
            scales.append(scale)
        return np.array([waiting.pop(0) for _ in range(count)], np.int64)

    two_sided_geometric.draw = draw
    try:
        yield
    finally:
        two_sided_geometric.draw = real


def tail(scale: float, m: Floats) -> Floats:
    """P(Z >= m) for integers m, with relative accuracy in both tails."""
    q = math.exp(-1 / scale)
    positive = np.exp(-np.maximum(m, 1) / scale) / (1 + q)
    return np.where(m >= 1, positive, 1 - np.exp(-np.maximum(1 - m, 1) / scale) / (1 + q))


@dataclass(frozen=True)
class Table:
    """For one machine: log-free probabilities of above and below, by gap (value - threshold) and by r."""

    weights: Floats
    above: dict[int, Floats]
    below: dict[int, Floats]
    left_out: float
    refresh: bool
    positives: int


def table_of(machine: Any, gaps: Sequence[int], reach: int) -> Table:
    """Everything about ``machine`` that the law of a sequence needs, found by running it."""
    scales: list[float] = []
    with scripted([0], scales):
        positives = machine.start(None).left
    (threshold_scale,) = scales
    grid = np.arange(-reach, reach + 1)
    weights = math.tanh(0.5 / threshold_scale) * np.exp(-np.abs(grid) / threshold_scale)
    above, below = {}, {}
    for gap in gaps:
        above[gap], below[gap] = _chances(machine, gap, grid)
    refresh = _refreshes(machine)
    left_out = 2 * float(tail(threshold_scale, np.array(reach + 1)))
    return Table(weights, above, below, left_out * (positives if refresh else 1), refresh, positives)


def _chances(machine: Any, gap: int, grid: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    scales: list[float] = []
    waiting: list[int] = []
    with scripted(waiting, scales):

        def says(offset: int, noise: int) -> bool:
            waiting[:] = [noise, 0]
            return bool(machine.step(SparseState(1, offset), gap, 0, None)[0])

        says(int(grid[0]), 0)
        if not scales:  # a mutant without query noise
            sure = np.array([float(says(int(r), 0)) for r in grid])
            return sure, 1 - sure
        least = np.array([_least_noise(says, int(r), int(r) - gap) for r in grid], float)
    return tail(scales[0], least), tail(scales[0], 1 - least)


def _least_noise(says: Callable[[int, int], bool], offset: int, guess: int) -> int:
    """The least noise that is called above; the code must be monotone in it, which a test checks in full."""
    if says(offset, guess) and not says(offset, guess - 1):
        return guess
    low, high = -4096, 4096
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if says(offset, middle) else (middle, high)
    assert -4000 < high < 4000
    return high


def _refreshes(machine: Any) -> bool:
    """A positive of a machine that has one more left: does the offset change to the next noise?"""
    with scripted([4000, 77]):
        _, after = machine.step(SparseState(2, 0), 0, 0, None)
    return bool(after.offset == 77)


def answers(length: int, positives: int) -> list[Said]:
    """All sequences of answers: shorter than ``length`` only if the last positive halts it."""
    found = []
    for n in range(1, length + 1):
        for said in itertools.product((False, True), repeat=n):
            halted = sum(said) == positives and said[-1]
            if sum(said) <= positives and (halted or (n == length and sum(said) < positives)):
                found.append(said)
    return found


def law(table: Table, said: Said, gaps: Sequence[Sequence[int]]) -> Floats:
    """P(said) for every sequence of the product of ``gaps``: one axis a query."""
    result: Floats = np.ones(())
    for run, columns in _runs(table, said, gaps):
        joint = table.weights.reshape(-1)
        for above, column in zip(run, columns, strict=True):
            chances = table.above if above else table.below
            rows = np.array([chances[g] for g in column])  # gaps x r
            joint = joint[..., None, :] * rows
        result = np.multiply.outer(result, joint.sum(axis=-1))
    return result


def _runs(
    table: Table, said: Said, gaps: Sequence[Sequence[int]]
) -> Iterator[tuple[Said, Sequence[Sequence[int]]]]:
    """Stretches that share one noise of the threshold."""
    start = 0
    for i, above in enumerate(said):
        if table.refresh and above:
            yield said[start : i + 1], gaps[start : i + 1]
            start = i + 1
    if start < len(said):
        yield said[start:], gaps[start : len(said)]


def worst_loss(
    machine: Any,
    gaps: Sequence[int],
    length: int,
    moves: Sequence[int],
    reach: int = 200,
    value_loss: Callable[[int], float] = lambda move: 0.0,
) -> float:
    """The largest ln(P(said | sequence) / P(said | neighbor)) over all sequences of ``gaps``, all neighbors whose
    queries moved by ``moves``, and all sequences of answers: an upper bound, the cut-off included.
    ``value_loss`` is added for each positive, by how far it moved.
    """
    every = sorted({g + m for g in gaps for m in (*moves, 0)})
    table = table_of(machine, every, reach)
    worst = -math.inf
    for said in answers(length, table.positives):
        here = law(table, said, [gaps] * len(said))
        for move in itertools.product(moves, repeat=len(said)):
            there = law(table, said, [[g + m for g in gaps] for m in move])
            values = sum(value_loss(m) for m, above in zip(move, said, strict=True) if above)
            worst = max(worst, _largest_log_ratio(here + table.left_out, there) + values)
    return worst


def _largest_log_ratio(top: Floats, bottom: Floats) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(top / bottom).max())


def chance(table: Table, said: Said, gaps: Sequence[int]) -> float:
    """P(said) for one sequence of any length."""
    result = 1.0
    for run, columns in _runs(table, said, [[g] for g in gaps]):
        joint = table.weights.copy()
        for above, (gap,) in zip(run, columns, strict=True):
            joint *= (table.above if above else table.below)[gap]
        result *= float(joint.sum())
    return result


def hardest(machine: Any, positives: int, below: int = 30, high: int = 30, low: int = -60) -> float:
    """The loss of the sequence for which the proof loses nothing: many queries far above that are said to be
    below, then the positives, far below; where the threshold is refreshed, that for each positive.  A lower
    bound of the true epsilon, the cut-off included.
    """
    table = table_of(machine, [low - 1, low, high, high + 1], reach=600)
    said = (
        ((False,) * below + (True,)) * positives if table.refresh else (False,) * below + (True,) * positives
    )
    against = 0 if machine.monotone else -1
    here = chance(table, said, [low if above else high for above in said])
    there = chance(table, said, [low + against if above else high + 1 for above in said])
    return math.log(here / (there + table.left_out))
