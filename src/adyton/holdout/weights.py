"""Public weights of items: whole numbers of steps whose sum is a whole number of heaviest items."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from adyton.errors import InvalidRequest
from adyton.holdout.metrics import Array, finite_numbers, one_list
from adyton.kernel.exact.outward import COARSE, MANY

WEIGHT_STEPS = 2**15


@dataclass(frozen=True, slots=True, eq=False)
class ItemWeights:
    """``steps`` sum up to ``units`` times WEIGHT_STEPS, and none is above WEIGHT_STEPS.

    ``stray`` is how far a mean with these weights can be from the mean with the weights that were given.
    """

    units: int
    steps: Array = field(repr=False)
    stray: Fraction

    @property
    def squares(self) -> int:
        """The sum of the squares of the steps: what is spent, and how far a sum strays, goes by it."""
        return int(np.dot(self.steps, self.steps))


def weights_from(given: object, items: int) -> ItemWeights:
    """The weights as counted: scaled so that their sum is a whole number, then rounded, the sum kept.

    Claim:    0 <= steps <= WEIGHT_STEPS, their sum is units * WEIGHT_STEPS, and for values in [0, 1] the two
              weighted means differ by at most ``stray``.
    Source:   derived here.  Theorem: WEIGHTED-SCORES.
    """
    raw = finite_numbers(one_list(given, "weights"), "weights")
    if raw.size != items:
        raise InvalidRequest(f"{items:,} weights are needed, one for each item, not {raw.size:,}")
    if raw.min() < 0 or raw.max() <= 0:
        raise InvalidRequest("weights must not be negative, and one of them must be above 0")
    shares = raw / raw.max()
    whole = math.fsum(shares)
    units = math.floor(whole)  # at least 1, and no more than there are weights above 0
    steps = _rounded(shares * (units / whole) * WEIGHT_STEPS, units * WEIGHT_STEPS)
    apart = math.fsum(np.abs(steps / (units * WEIGHT_STEPS) - shares / whole)) / 2
    return ItemWeights(units, steps, Fraction(apart * (1 + COARSE) + MANY))


def balancing(labels: Array) -> ItemWeights:
    """Every class counts as much as any other: an item as one part of its class.

    They are as secret as the labels; how many items the smallest class has is public.
    Theorem: WEIGHTED-SCORES.
    """
    _, own, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if counts.size < 2:
        raise InvalidRequest("balanced_accuracy needs items of at least two classes")
    return weights_from(counts.min() / counts[own], labels.size)


def _rounded(wanted: Array, whole: int) -> Array:
    """Down, and what is missing goes one by one to the largest remainders that have room."""
    steps: Array = np.minimum(np.floor(wanted), WEIGHT_STEPS).astype(np.int64)
    missing = whole - int(steps.sum())
    order = np.argsort(-(wanted - steps), kind="stable")
    while missing > 0:
        room = order[(steps[order] < WEIGHT_STEPS) & (wanted[order] > 0)][:missing]
        steps[room] += 1
        missing -= room.size
    if missing < 0:  # floats had rounded the sum up
        steps[np.argsort(-steps, kind="stable")[:-missing]] -= 1
    return steps
