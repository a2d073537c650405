"""Optimal composition of different epsilons.

The privacy losses of different randomized responses add up to exponentially many totals.  While they are
few, all are listed.  Beyond that each loss is put on a grid without losing anything that a test could use:
an output whose loss lies between two grid points is split into two outputs, one at each, such that both
tables keep their probabilities of the pair.  Who merges the two again has the original; so the split one
reveals no less.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adyton.accounting.pld.losses import Losses, binomial_losses
from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import UNIT_ROUNDOFF

MOST_GROUPS = 10_000
_MOST_TOTALS = 1 << 16
_WORK = 2 * 10**8  # multiplications: a fraction of a second
_LOOP = 4  # times the work of a dense convolution, for each point
_POINTS = 100_000  # of the half grid, where work allows

Groups = list[tuple[Fraction, int]]


def mixed_losses(groups: Groups, delta: float) -> Losses:
    """An upper bound of the loss of randomized responses of several epsilons, each some number of times.

    Claim:    delta_up of the result is not below the true delta at any epsilon.  With G groups and grid
              step h, the epsilon at delta is above the true one at delta - eta by at most G h**2 / 8 + h
              sqrt(G ln(1/eta) / 2), for any eta; measured, below 0.01 %.
    Assumes:  the guarantees are fixed in advance; ``delta`` says which tail must be resolved.
    Source:   Kairouz, Oh, Viswanath 2015; the grid is derived here.  Theorem: MIXED-COMPOSITION.
    """
    if len(groups) > MOST_GROUPS:
        raise InvalidRequest(f"at most {MOST_GROUPS} different epsilons can be composed optimally")
    parts = [binomial_losses(epsilon, times) for epsilon, times in groups]
    if math.prod(len(part.masses) for part in parts) <= _MOST_TOTALS:
        return _all_totals(parts)
    reach = _reach(groups, delta)
    return _on_a_grid(parts, reach, _half_points(parts, reach))


def _all_totals(parts: list[Losses]) -> Losses:
    """Every sum of one loss of each part; ``delta_up`` forgives the roundings of a few sums."""
    losses, masses = np.zeros(1), np.ones(1)
    for part in parts:
        losses = np.add.outer(losses, part.losses).ravel()
        masses = np.multiply.outer(masses, part.masses).ravel()
    moved = 2 * len(parts) * UNIT_ROUNDOFF * math.fsum(float(np.max(np.abs(part.losses))) for part in parts)
    return Losses(
        losses + moved, masses * (1 + 4 * len(parts) * UNIT_ROUNDOFF), sum(part.beyond for part in parts)
    )


def _reach(groups: Groups, delta: float) -> float:
    """A loss that is passed with probability below delta / 10**6 (Hoeffding), or 5 % above the largest one.

    Splits add up to some sqrt(G) steps, at most 1/400 of the reach, and must not be pushed out of the window.
    """
    squares = sum(times * float(epsilon) ** 2 for epsilon, times in groups)
    mean = sum(times * float(epsilon) * math.tanh(float(epsilon) / 2) for epsilon, times in groups)
    largest = sum(times * float(epsilon) for epsilon, times in groups)
    return min(1.05 * largest, mean + math.sqrt(2 * squares * (14 - math.log(delta))))


def _half_points(parts: list[Losses], reach: float) -> int:
    """The finest grid that the work allows; at least 400 sqrt(G): the splits add 0.01 % of variance."""
    coarsest = math.ceil(400 * math.sqrt(len(parts)))
    points = max(_POINTS, coarsest)
    while points > coarsest:
        step = reach / points
        sizes = (min(2 * _LOOP * len(part.masses), np.ptp(part.losses) / step + 2) for part in parts)
        if 2 * points * sum(sizes) <= _WORK:
            break
        points = max(coarsest, points // 2)
    return points


def _on_a_grid(parts: list[Losses], reach: float, half: int) -> Losses:
    """Index j of the grid stands for the loss (j - half) * step.  All sums are of positive numbers."""
    step = reach / half
    masses, beyond, roundings = np.zeros(2 * half + 1), 1e-290, 0
    masses[half] = 1.0
    for part in parts:
        first, kernel = _split(part, step)
        masses, passed = _window(_convolve(masses, kernel), first, half)
        beyond += passed + part.beyond
        roundings += 2 * int(np.count_nonzero(kernel)) + 8
    error = roundings * UNIT_ROUNDOFF
    return Losses(
        np.arange(-half, half + 1, dtype=np.float64) * step, masses * (1 + error), beyond * (1 + error)
    )


def _split(part: Losses, step: float) -> tuple[int, Floats]:
    """The first grid point of a part and its masses from there on.

    A loss x = n step + r of mass p becomes p (1 - exp(-r)) / (1 - exp(-step)) at n + 1 and the rest at n:
    then the mass under the other table, exp(-loss) times this one, is kept as well.  r is moved up by its
    rounding.
    """
    below = np.floor(part.losses / step)
    rest = part.losses - below * step + 4 * UNIT_ROUNDOFF * np.abs(part.losses)
    share = np.clip(np.expm1(-rest) / math.expm1(-step) * (1 + 32 * UNIT_ROUNDOFF), 0.0, 1.0)
    first = int(below.min())
    index = (below - first).astype(np.int64)
    kernel = np.zeros(int(index.max()) + 2)
    np.add.at(kernel, index, part.masses * (1 - share))
    np.add.at(kernel, index + 1, part.masses * share)
    return first, kernel


def _convolve(masses: Floats, kernel: Floats) -> Floats:
    points = np.flatnonzero(kernel)
    if _LOOP * len(points) > len(kernel):
        return np.convolve(masses, kernel)
    spread = np.zeros(len(masses) + len(kernel) - 1)
    for point in points:
        spread[point : point + len(masses)] += kernel[point] * masses
    return spread


def _window(spread: Floats, first: int, half: int) -> tuple[Floats, float]:
    """The grid again: losses below it are moved up to its first point, the mass above it is returned."""
    start = max(0, -first)  # where the index -half of the grid lies in ``spread``
    inside = np.zeros(2 * half + 1)
    if first >= 0:
        kept = spread[: max(0, 2 * half + 1 - first)]
        inside[first : first + len(kept)] = kept
        return inside, float(spread[len(kept) :].sum())
    kept = spread[start : start + 2 * half + 1]
    inside[: len(kept)] = kept
    inside[0] += spread[:start].sum()
    return inside, float(spread[start + 2 * half + 1 :].sum())
