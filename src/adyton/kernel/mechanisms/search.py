"""A noisy binary search: from which place on is a count that rises with the place not below zero?

Every comparison gets fresh noise, so each costs the same and all of them are charged, whatever they find.
What is released are the noisy counts themselves: they say where the search went, and how sure each turn was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adyton.kernel.exact.cells import Cells, whole
from adyton.kernel.mechanisms.base import Columns, Mechanism
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers


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

    def release(self, count_at: Callable[[Integers], Sequence[int]], cells: int, bits: Bits) -> list[Cells]:
        """The noisy counts of all cells, for each round."""
        released: list[Cells] = []
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

    def _walk(self, cells: int) -> Generator[Integers, Sequence[int], None]:
        """Yields a place for each round, and is sent the noisy counts there."""
        low, high = self._ends(cells)
        seen: list[tuple[Integers, Sequence[int]]] = []
        for _ in range(rounds_for(self.candidates)):
            place = (low + high) // 2
            noisy = yield place
            seen.append((place, noisy))
            low, high = _turned(low, high, noisy)
        if self.extra:
            beside = _Beside(low, *self._ends(cells), self.sure)
            for place, noisy in seen:
                beside.look(place, noisy)
            for _ in range(self.extra):
                place = beside.place()
                beside.look(place, (yield place))

    def _ends(self, cells: int) -> tuple[Integers, Integers]:
        return np.zeros(cells, np.int64), np.full(cells, self.candidates - 1, np.int64)


class _Beside:
    """What is not sure yet on either side of what was ``found``, in each cell."""

    def __init__(self, found: Integers, first: Integers, last: Integers, sure: int) -> None:
        self._found, self._sure = found, sure
        self._first, self._last = first, last
        self._left_end, self._right_start = found, found

    def look(self, place: Integers, noisy: Sequence[int]) -> None:
        """Takes note of the noisy counts at a place."""
        counts = whole(noisy)
        below, above = counts < -self._sure, counts >= self._sure
        self._first = np.where(below, np.maximum(self._first, place + 1), self._first)
        self._last = np.where(above, np.minimum(self._last, place), self._last)
        self._left_end = np.where(below, self._left_end, np.minimum(self._left_end, place))
        self._right_start = np.where(above, self._right_start, np.maximum(self._right_start, place))

    def place(self) -> Integers:
        """The middle of the wider stretch, left or right of what was found, of which nothing is sure yet."""
        left, right = self._left_end - self._first, self._last - 1 - self._right_start
        in_left, in_right = self._first + self._left_end - 1, self._right_start + self._last
        middle = np.where(left >= right, in_left // 2, in_right // 2)
        open_still = np.maximum(left, right) > 0
        return np.where(open_still, middle, self._found)


def _turned(low: Integers, high: Integers, noisy: Sequence[int]) -> tuple[Integers, Integers]:
    """What is left of low..high after looking at its middle."""
    place = (low + high) // 2
    right = whole(noisy) < 0
    return np.where(right, np.minimum(place + 1, high), low), np.where(right, high, place)


def _next_place(walk: Generator[Integers, Sequence[int], None], noisy: Sequence[int]) -> Integers | None:
    try:
        return walk.send(noisy)
    except StopIteration:
        return None


def rounds_for(candidates: int) -> int:
    """How many comparisons single out one place."""
    return (candidates - 1).bit_length()
