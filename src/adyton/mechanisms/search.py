"""A noisy binary search: from which place on is a count that rises with the place not below zero?

Every comparison gets fresh noise, so each costs the same and all of them are charged, whatever they find.
What is released are the noisy counts themselves: they say where the search went, and how sure each turn was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np

from adyton.mechanisms.base import Columns, Mechanism
from adyton.noise import Bits
from adyton.noise.refine import Integers


@dataclass(frozen=True, slots=True)
class NoisySearch:
    """For each cell, about the first of ``candidates`` places at which the count is not below 0.

    A search that turned at a count close to 0 looks at one side only, and is sure of nothing on the other.
    So ``extra`` comparisons follow: each halves the wider stretch, left or right, of which nothing is sure.
    A noisy count is sure if it is ``sure`` or more away from 0.

    Claim:    costs ``rounds`` times what one comparison costs, although each place is chosen in the light of
              the comparisons before it.  Without noise it ends at the first such place, or at the last place.
    Assumes:  ``noise`` has one scale; what one unit can do to the count at a place is the same at all places.
    Source:   adaptive composition, post-processing.  Theorem: NOISY-SEARCH.
    """

    candidates: int
    noise: Mechanism
    extra: int = 0
    sure: int = 0

    @property
    def rounds(self) -> int:
        return rounds_for(self.candidates) + self.extra

    def release(self, count_at: Callable[[Integers], list[int]], cells: int, bits: Bits) -> Columns:
        """One list of noisy counts for each round."""
        released: Columns = []
        walk = self._walk(cells)
        place = next(walk, None)
        while place is not None:
            released += self.noise.release([count_at(place)], bits)
            place = _next_place(walk, released[-1])
        return released

    def places(self, released: Columns) -> Iterator[Integers]:
        """Where each round looked."""
        walk = self._walk(len(released[0]))
        place = next(walk, None)
        for noisy in released:
            assert place is not None
            yield place
            place = _next_place(walk, noisy)

    def found(self, released: Columns) -> Integers:
        """Where the search ended; the extra comparisons do not move it."""
        low, high = self._ends(len(released[0]))
        for noisy in released[: rounds_for(self.candidates)]:
            low, high = _turned(low, high, noisy)
        return low

    def _walk(self, cells: int) -> Generator[Integers, list[int], None]:
        """Yields a place for each round, and is sent the noisy counts there."""
        low, high = self._ends(cells)
        seen: list[tuple[Integers, list[int]]] = []
        for _ in range(rounds_for(self.candidates)):
            place = (low + high) // 2
            noisy = yield place
            seen.append((place, noisy))
            low, high = _turned(low, high, noisy)
        for _ in range(self.extra):
            place = self._beside(low, seen)
            noisy = yield place
            seen.append((place, noisy))

    def _beside(self, found: Integers, seen: list[tuple[Integers, list[int]]]) -> Integers:
        """The middle of the wider stretch, left or right of what was found, of which nothing is sure yet."""
        first, last = self._ends(len(found))
        left_end, right_start = found, found
        for place, noisy in seen:
            below = np.array([z < -self.sure for z in noisy])
            above = np.array([z >= self.sure for z in noisy])
            first = np.where(below, np.maximum(first, place + 1), first)
            last = np.where(above, np.minimum(last, place), last)
            left_end = np.where(below, left_end, np.minimum(left_end, place))
            right_start = np.where(above, right_start, np.maximum(right_start, place))
        left, right = left_end - first, last - 1 - right_start
        middle = np.where(left >= right, (first + left_end - 1) // 2, (right_start + last) // 2)
        open_still = np.maximum(left, right) > 0
        return np.where(open_still, middle, found)

    def _ends(self, cells: int) -> tuple[Integers, Integers]:
        return np.zeros(cells, np.int64), np.full(cells, self.candidates - 1, np.int64)


def _turned(low: Integers, high: Integers, noisy: list[int]) -> tuple[Integers, Integers]:
    """What is left of low..high after looking at its middle."""
    place = (low + high) // 2
    right = np.array([z < 0 for z in noisy])
    return np.where(right, np.minimum(place + 1, high), low), np.where(right, high, place)


def _next_place(walk: Generator[Integers, list[int], None], noisy: list[int]) -> Integers | None:
    try:
        return walk.send(noisy)
    except StopIteration:
        return None


def rounds_for(candidates: int) -> int:
    """How many comparisons single out one place."""
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
