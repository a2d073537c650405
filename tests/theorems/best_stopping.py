"""The true delta of an analyst who stops at the best moment: exact laws, by induction from the last query back.

A running epsilon ``shown[n]`` after n queries claims that, whenever somebody stops, P(S) <= E'[exp(shown); S] +
delta for every S.  The worst S is where the loss L is above what is shown, so the least true delta is the value of a
game: the analyst sees L after each query and wins (1 - exp(shown[n] - L))_+ by stopping.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def won(shown: float, loss: Floats) -> Floats:
    return np.maximum(0.0, -np.expm1(np.minimum(shown - loss, 0.0)))


def delta_of_coins(epsilon0: float, shown: Sequence[float]) -> float:
    """Randomized responses of epsilon0, one after the other; ``shown[n]`` after n of them, shown[0] unused."""
    true = 1 / (1 + math.exp(-epsilon0))
    steps = len(shown) - 1
    worth = won(shown[steps], (2 * np.arange(steps + 1) - steps) * epsilon0)
    for n in range(steps - 1, -1, -1):
        goes_on = true * worth[1:] + (1 - true) * worth[:-1]
        stops = won(shown[n], (2 * np.arange(n + 1) - n) * epsilon0) if n else np.zeros(1)
        worth = np.maximum(goes_on, stops)
    return float(worth[0])


def delta_of_gaussians(totals: Sequence[float], shown: Sequence[float], fineness: float = 8) -> float:
    """Gaussian releases whose mu**2 add up to ``totals``, which rise; ``shown[i]`` after totals[i].

    An analyst who may skip totals does no better: whoever goes through them has all the same moments, and more.
    The loss is a normal walk, on a grid of a ``fineness``-th of the first step.
    """
    step, last = math.sqrt(totals[0]) / fineness, totals[-1]
    reach = max(shown) + 2 + 6 * math.sqrt(last)
    grid = np.arange(math.floor(-6 * math.sqrt(last) / step), math.ceil(reach / step) + 1) * step
    worth = won(shown[-1], grid)
    for i in range(len(totals) - 2, -1, -1):
        goes_on = _before(worth, totals[i + 1] - totals[i], step)
        worth = np.maximum(won(shown[i], grid), goes_on)
    return float(np.interp(0.0, grid, _before(worth, totals[0], step)))


def _before(worth: Floats, mu_squared: float, step: float) -> Floats:
    """What is expected of a release of mu: the loss grows by a normal of mean mu**2 / 2 and variance mu**2."""
    far = math.ceil((9.5 * math.sqrt(mu_squared) + mu_squared / 2) / step)
    moves = np.arange(-far, far + 1) * step
    weights = np.exp(-((moves - mu_squared / 2) ** 2) / (2 * mu_squared))
    padded = np.concatenate([np.zeros(far), worth, np.full(far, worth[-1])])
    return np.convolve(padded, (weights / weights.sum())[::-1], mode="valid")
