"""Searches for a quantile, level by level: which comparisons are made, and what each of them compares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.kernel.exact import each_of, float_up
from adyton.kernel.exact.cells import Cells
from adyton.kernel.measurement import Columns
from adyton.kernel.mechanisms.search import NoisySearch, rounds_for
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers
from adyton.kernel.sensitivity import Reading
from adyton.kernel.sensitivity.bins import Bins, binned, bins_of, finer, levels_of
from adyton.kernel.sensitivity.reading import search_weights
from adyton.kernel.terms.expressions import all_of
from adyton.kernel.terms.measures import Extreme, Quantile

Read = Callable[[Reading], Columns]


@dataclass(frozen=True, slots=True)
class SearchLevels:
    """The first value at which times * (rows not above it) - minus * (all rows) + offset is not below 0.

    For a fraction a / b of the rows that is b * (rows not above) - a * (all rows).  A least or greatest value
    is searched as far inside as the noise reaches: at the very end every value would do that lies beyond.
    A range that is too long for one count is divided again inside one bin, level by level.

    Claim:    all levels together make ``rounds_of`` comparisons, each with fresh noise of its own, and each
              is moved by one unit as the sensitivity of the reading says.
    Assumes:  as NOISY-SEARCH.
    Source:   adaptive composition.  Theorem: NOISY-SEARCH.
    """

    only: NoisyReading

    def release(self, exact: Columns, read: Read, bits: Bits) -> list[Cells]:
        """From the integers of the reading; ``read`` counts again inside a bin, which is paid for too."""
        bins, released = self.first_bins, list[Cells]()
        upto, before = Running(exact[0], self.cells), np.zeros(self.cells, np.int64)
        total = upto.at(np.full(self.cells, bins.number - 1))
        while True:
            search = self.search_in(bins)
            noisy = search.release(partial(self._counts_at, upto, before, total), self.cells, bits)
            released += noisy
            if self.cells > 1 or bins.width == 1:
                return released
            chosen = search.found(noisy)
            before, bins = before + upto.at(chosen - 1), finer(bins, int(chosen[0]))
            upto = Running(read(self.reading_of(bins))[0], 1)

    def _counts_at(self, upto: Running, before: Integers, total: Integers, place: Integers) -> Sequence[int]:
        return self.counts(before + upto.at(place), total)

    def counts(self, known: Integers, total: Integers) -> Sequence[int]:
        """What gets noise, from the rows up to a place and all rows."""
        times, minus = search_weights(self.measure)
        return Cells(times * known - minus * total + self.offset)

    def reading_of(self, bins: Bins) -> Reading:
        """The rows of each of these bins."""
        inside, bucket = binned(self.measure.value, bins)
        reading = self.only.reading
        return replace(reading, where=all_of(reading.where, inside), by=(*reading.by[:-1], bucket))

    def levels(self, released: Columns) -> Iterator[tuple[Bins, NoisySearch, Columns]]:
        """The bins of each level, how they were searched, and the noisy counts."""
        bins, rest = self.first_bins, released
        while rest:
            search = self.search_in(bins)
            own, rest = rest[: search.rounds], rest[search.rounds :]
            yield bins, search, own
            if rest:
                bins = finer(bins, int(search.found(own)[0]))

    def search_in(self, bins: Bins) -> NoisySearch:
        extra = extra_rounds(self.measure, bins.number) if bins == self.first_bins else 0
        return NoisySearch(bins.number, self.only.mechanism, extra, self.error)

    @property
    def measure(self) -> Quantile | Extreme:
        return searched(self.only.reading)

    @property
    def cells(self) -> int:
        return self.only.reading.sensitivity.cells

    @property
    def first_bins(self) -> Bins:
        lattice = self.measure.value.lattice
        return bins_of(lattice.low, lattice.high, self.cells)

    @property
    def error(self) -> int:
        """What no comparison is off by, with probability LEVEL for all of them together."""
        return self.error_at(LEVEL)

    def error_at(self, level: float) -> int:
        return self.only.mechanism.error(float_up(each_of(level, self.only.times)))

    @property
    def offset(self) -> int:
        if isinstance(self.measure, Quantile):
            return 0
        return -self.error - 1 if self.measure.which == "least" else self.error


def rounds_of(reading: Reading) -> int:
    """How many comparisons a search in this reading needs, over all levels; the first has extra ones."""
    levels = levels_of(searched(reading).value, reading.sensitivity.cells)
    return sum(map(rounds_for, levels)) + extra_rounds(searched(reading), levels[0])


def extra_rounds(measure: Quantile | Extreme, candidates: int) -> int:
    """Half as many again, to find both ends of the interval of a quantile; an extreme has only one."""
    return (rounds_for(candidates) + 1) // 2 if isinstance(measure, Quantile) else 0


def searched(reading: Reading) -> Quantile | Extreme:
    measure = reading.measure
    assert isinstance(measure, Quantile | Extreme)
    return measure


class Running:
    """In each cell, the rows of all bins up to one; bins beyond the last possible value are empty."""

    def __init__(self, counts: Sequence[int], cells: int) -> None:
        known = counts if isinstance(counts, Cells) else Cells(counts)
        self._bins, self._places = len(known) // cells, known.places
        self._sums = np.concatenate([[0], np.cumsum(known.values.astype(np.int64))])
        self._starts = np.arange(cells) * self._bins
        self._before = self._upto(self._starts)

    def at(self, place: Integers) -> Integers:
        """Up to and with a bin of each cell; bin -1 is before all."""
        return self._upto(self._starts + np.minimum(place + 1, self._bins)) - self._before

    def _upto(self, end: Integers) -> Integers:
        counted = end if self._places is None else np.searchsorted(self._places, end)
        return self._sums[counted]
