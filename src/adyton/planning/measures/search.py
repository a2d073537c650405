"""Quantiles, the median, and about the least and the greatest value: a noisy search over public bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from adyton.accounting.noisy_reading import LEVEL
from adyton.certify import Absent, Bound, Intervals, Values
from adyton.exact import each_of, float_up
from adyton.exact.cells import Cells, Line, largest, whole
from adyton.mechanisms.ratio import Ends, Solved
from adyton.mechanisms.search import NoisySearch, rounds_for, surely_between
from adyton.noise import Bits
from adyton.noise.refine import Integers
from adyton.planning.part import Columns, OfOneReading, Read
from adyton.population.base import PopulationContext
from adyton.query.expressions import all_of
from adyton.query.measures import Extreme, Quantile
from adyton.sensitivity import Reading
from adyton.sensitivity.bins import Bins, binned, bins_of, finer, levels_of
from adyton.sensitivity.readings import search_weights

_BEYOND = Absent("a population may have values beyond those of every row")


@dataclass(frozen=True, slots=True)
class Search(OfOneReading):
    """The first value at which times * (rows not above it) - minus * (all rows) + offset is not below 0.

    For a fraction a / b of the rows that is b * (rows not above) - a * (all rows).  A least or greatest value
    is searched as far inside as the noise reaches: at the very end every value would do that lies beyond.
    """

    theorems = ("NOISY-SEARCH",)

    @property
    def noises(self) -> int:
        return self.only.times

    # With the exact integers.

    def release(self, exact: Columns, read: Read, bits: Bits) -> list[Cells]:
        bins, released = self.first_bins, list[Cells]()
        upto, before = Running(exact[0], self._cells), np.zeros(self._cells, np.int64)
        total = upto.at(np.full(self._cells, bins.number - 1))
        while True:
            search = self._search_in(bins)
            noisy = search.release(partial(self._counts_at, upto, before, total), self._cells, bits)
            released += noisy
            if self._cells > 1 or bins.width == 1:
                return released
            chosen = search.found(noisy)
            before, bins = before + upto.at(chosen - 1), finer(bins, int(chosen[0]))
            upto = Running(read(self._reading_of(bins))[0], 1)

    def _counts_at(self, upto: Running, before: Integers, total: Integers, place: Integers) -> Sequence[int]:
        return self.counts(before + upto.at(place), total)

    def counts(self, known: Integers, total: Integers) -> Sequence[int]:
        """What gets noise, from the rows up to a place and all rows."""
        times, minus = search_weights(self._measure)
        return Cells(times * known - minus * total + self._offset)

    def _reading_of(self, bins: Bins) -> Reading:
        inside, bucket = binned(self._measure.value, bins)
        reading = self.only.reading
        return replace(reading, where=all_of(reading.where, inside), by=(*reading.by[:-1], bucket))

    # With what was released.

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        looked_at = list(self._looked_at(released))
        low, high = self._noise_ends(released, looked_at, context.noise_level)
        # A later comparison may be surer than the turn that was taken.
        first, last = (np.minimum(np.maximum(step, low), high) for step in self._found(released))
        noise = Intervals(context.noise_level, *self._outward(low, high))
        population = self._population(released, looked_at, context)
        return Values(Line(self._grain / 2).near(first + last), noise, population)

    def population_bound(
        self, context: PopulationContext, expected_rows: int | None, expect: Fraction | None = None
    ) -> Bound | Absent:
        if isinstance(self._measure, Extreme):
            return _BEYOND
        return context.missing(self.only) or Bound(context.population.level, None)

    def _noise_ends(
        self, released: Columns, looked_at: list[Integers], level: float
    ) -> tuple[Integers, Integers]:
        """An extreme was searched with room for the error at the usual level; only what is beyond counts."""
        error = self._error_at(level)
        match self._measure:
            case Extreme(_, "least"):  # one row is surely not above
                return self._ends(released, looked_at, below=None, above=error - self._error)
            case Extreme():  # one row is surely above
                return self._ends(released, looked_at, below=self._error - error, above=None)
            case _:
                return self._ends(released, looked_at, below=-error, above=error)

    def _population(
        self, released: Columns, looked_at: list[Integers], context: PopulationContext
    ) -> Intervals | Absent:
        absent = _BEYOND if isinstance(self._measure, Extreme) else context.missing(self.only)
        if absent is not None or context.units is None:
            return absent or _BEYOND
        below, above, way = context.population.turns(self.only, context)
        ends = self._ends(released, looked_at, below=-below, above=above)
        return Intervals(context.population.level, *self._outward(*ends), way=way)

    def _ends(
        self, released: Columns, looked_at: list[Integers], *, below: int | None, above: int | None
    ) -> tuple[Integers, Integers]:
        """None: no noisy count proves anything on that side."""
        lattice = self._measure.value.lattice
        if below is None or above is None:
            beyond = 1 + max(largest(whole(column)) for column in released)
            below, above = -beyond if below is None else below, beyond if above is None else above
        first, last = surely_between(looked_at, released, below, above, lattice.low, lattice.high)
        # Comparisons that contradict each other happen only if one was off by more than they should be.
        return np.minimum(first, last), np.maximum(first, last)

    def _found(self, released: Columns) -> tuple[Integers, Integers]:
        """The first and the last step of the bin in which the search ended."""
        *_, (bins, search, noisy) = self.levels(released)
        high, start = self._measure.value.lattice.high, bins.first + search.found(noisy) * bins.width
        end = np.minimum(start + (bins.width - 1), min(bins.last, high))
        return np.minimum(start, high), end

    def _looked_at(self, released: Columns) -> Iterator[Integers]:
        """The last step of the bin that each comparison looked at."""
        high = self._measure.value.lattice.high
        for bins, search, noisy in self.levels(released):
            for place in search.places(noisy):
                yield np.minimum(bins.first + (place + 1) * bins.width - 1, high)

    def levels(self, released: Columns) -> Iterator[tuple[Bins, NoisySearch, Columns]]:
        bins, rest = self.first_bins, released
        while rest:
            search = self._search_in(bins)
            own, rest = rest[: search.rounds], rest[search.rounds :]
            yield bins, search, own
            if rest:
                bins = finer(bins, int(search.found(own)[0]))

    def _outward(self, low: Integers, high: Integers) -> Ends:
        line = Line(self._grain)
        return line.down(low), line.up(high)

    # Public facts.

    def _search_in(self, bins: Bins) -> NoisySearch:
        extra = extra_rounds(self._measure, bins.number) if bins == self.first_bins else 0
        return NoisySearch(bins.number, self.only.mechanism, extra, self._error)

    @property
    def _measure(self) -> Quantile | Extreme:
        return searched(self.only.reading)

    @property
    def _grain(self) -> Fraction:
        return self._measure.value.lattice.grain

    @property
    def _cells(self) -> int:
        return self.only.reading.sensitivity.cells

    @property
    def first_bins(self) -> Bins:
        lattice = self._measure.value.lattice
        return bins_of(lattice.low, lattice.high, self._cells)

    @property
    def _error(self) -> int:
        """What no comparison is off by, with probability LEVEL for all of them together."""
        return self._error_at(LEVEL)

    def _error_at(self, level: float) -> int:
        return self.only.mechanism.error(float_up(each_of(level, self.only.times)))

    @property
    def _offset(self) -> int:
        if isinstance(self._measure, Quantile):
            return 0
        return -self._error - 1 if self._measure.which == "least" else self._error


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
