"""In a study that rounds its answers: the grid of each integer, and how many bits an answer can have.

A grid covers all that the integer can be, by public facts: the number of units and what each can add.  Its
step is the study's part of that range.
"""

from __future__ import annotations

import math

from adyton.errors import InvalidRequest
from adyton.kernel.mechanisms import GaussianNoise, Mechanism
from adyton.kernel.mechanisms.grid import Grid, NoiseOnAGrid
from adyton.kernel.sensitivity import Sensitivity
from adyton.noise_intervals.widths import largest_ratio, padding
from adyton.study import Study


def on_grid(study: Study, sensitivity: Sensitivity, noise: Mechanism) -> NoiseOnAGrid:
    """The noise, and the grids that its answers are rounded to."""
    if not isinstance(noise, GaussianNoise):
        raise InvalidRequest("only Gaussian noise is rounded to a grid")
    grids = []
    for place, (low, high) in enumerate(_ranges(study, sensitivity)):
        beyond = padding(noise, place) if len(sensitivity.boxes) > 1 else 0
        grids.append(Grid.over(low - beyond, high + beyond, _step(study, low, high)))
    return NoiseOnAGrid(noise, tuple(grids))


def room_for_noise(study: Study, sensitivity: Sensitivity, half_width: float) -> float:
    """What a half-width, in steps of the (first) integer, leaves for noise: the grid takes the rest."""
    halves = [_step(study, *ends) // 2 for ends in _ranges(study, sensitivity)]
    weights = [1.0] if len(halves) == 1 else [1.0, largest_ratio(sensitivity)]
    taken = math.fsum(half * weight for half, weight in zip(halves, weights, strict=True))
    if half_width <= taken:
        times = 1.01 * taken / half_width if half_width else math.inf  # to tell: nothing rests on it
        raise InvalidRequest(
            "within is not wider than half a cell of the grid that answers are rounded to: ask for about "
            f"{times:.3g} times this width or more, or name an epsilon; the grid is fixed by the study "
            "(validity.grid)"
        )
    return (half_width - taken) * (1 - 2.0**-20)  # for the noise beyond the padding of a ratio, 2e-9 of it


def _ranges(study: Study, sensitivity: Sensitivity) -> list[tuple[int, int]]:
    """Between which numbers the integers of one cell lie: each unit adds a part of its box, or nothing."""
    assert study.table.rows is not None
    most = study.table.rows * sensitivity.rows
    return [(min(low, 0) * most, max(high, 0) * most) for low, high in sensitivity.boxes]


def _step(study: Study, low: int, high: int) -> int:
    assert study.grid is not None
    return math.ceil(study.grid * (high - low + 1))
