"""A noisy binary search: from which place on is a count that rises with the place not below zero?

Every comparison gets fresh noise, so each costs the same and all of them are charged, whatever they find.
What is released are the noisy counts themselves: they say where the search went, and how sure each turn was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from adyton.mechanisms.base import Columns, Mechanism
from adyton.noise import Bits
from adyton.noise.refine import Integers


@dataclass(frozen=True, slots=True)
class NoisySearch:
    """For each cell, about the first of ``candidates`` places at which the count is not below 0.

    Claim:    costs ``rounds`` times what one comparison costs, although each place is chosen in the light of
              the comparisons before it.  Without noise it ends at the first such place, or at the last place.
    Assumes:  ``noise`` has one scale; what one unit can do to the count at a place is the same at all places.
    Source:   adaptive composition, post-processing.  Theorem: NOISY-SEARCH.
    """

    candidates: int
    noise: Mechanism

    @property
    def rounds(self) -> int:
        """How many comparisons single out one place."""
        return rounds_for(self.candidates)

    def release(self, count_at: Callable[[Integers], list[int]], cells: int, bits: Bits) -> Columns:
        """One list of noisy counts for each round."""
        released: Columns = []
        for _ in range(self.rounds):
            low, high = self._left(released, cells)
            released += self.noise.release([count_at((low + high) // 2)], bits)
        return released

    def places(self, released: Columns) -> Iterator[Integers]:
        """Where each round looked."""
        for done in range(self.rounds):
            low, high = self._left(released[:done], len(released[0]))
            yield (low + high) // 2

    def found(self, released: Columns) -> Integers:
        """Where the search ended."""
        return self._left(released, len(released[0]))[0]

    def _left(self, released: Columns, cells: int) -> tuple[Integers, Integers]:
        """The first and the last place that are left after these rounds."""
        low, high = np.zeros(cells, np.int64), np.full(cells, self.candidates - 1, np.int64)
        for noisy in released:
            place = (low + high) // 2
            right = np.array([z < 0 for z in noisy])
            low, high = np.where(right, np.minimum(place + 1, high), low), np.where(right, high, place)
        return low, high


def rounds_for(candidates: int) -> int:
    return (candidates - 1).bit_length()


def surely_between(
    looked_at: list[Integers], released: Columns, below: int, above: int, low: int, high: int
) -> tuple[Integers, Integers]:
    """Between which numbers of ``low..high`` the first lies at which the count is not below 0.

    Claim:    if a noisy count under ``below`` proves that the count is below 0, and one of at least ``above``
              that it is not, the first such number lies between the two ends, both included.
    Source:   the count rises with the number.  Theorem: NOISY-SEARCH.
    """
    cells = len(released[0])
    first, last = np.full(cells, low, np.int64), np.full(cells, high, np.int64)
    for place, noisy in zip(looked_at, released, strict=True):
        first = np.where([z < below for z in noisy], np.maximum(first, place + 1), first)
        last = np.where([z >= above for z in noisy], np.minimum(last, place), last)
    return np.minimum(first, high), last
