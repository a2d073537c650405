"""The area under the curve as an average: pairs of a positive and a negative item, fixed in advance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest

Array = npt.NDArray[Any]
HALVES = 4
"""Steps of a value that is 0, one half or 1: even, so that the phantom of the theorem is on the lattice."""


def pairs_of(labels: Array) -> tuple[Array, Array]:
    """The i-th item with label 1 and the i-th with label 0, as long as there are both."""
    positive, negative = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    count = min(positive.size, negative.size)
    if count == 0:
        raise InvalidRequest("auc needs items with label 1 and items with label 0")
    return positive[:count], negative[:count]


def pair_values(labels: Array, predictions: Array) -> npt.NDArray[np.uint16]:
    """Each pair's value in steps: all if the positive item has the larger score, half if they are equal.

    Claim:    over pairs of independent items the expectation is Pr[s(x+) > s(x-)] + Pr[s(x+) = s(x-)] / 2,
              the area under the curve of the population.
    Assumes:  the score of an item depends on the item and on earlier answers alone.
    Source:   derived here; Hanley, McNeil 1982 for the area.  Theorem: AUC-BY-PAIRS.
    """
    positive, negative = pairs_of(labels)
    above, below = predictions[positive], predictions[negative]
    wins: npt.NDArray[np.uint16] = (above > below).astype(np.uint16)
    wins *= HALVES // 2
    wins += (above >= below).astype(np.uint16) * np.uint16(HALVES // 2)
    return wins
