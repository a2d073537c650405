"""Quantiles, the median, and about the least and the greatest value: a noisy search over public bins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from adyton.certify import Absent, Bound, Interval, Value
from adyton.curator.noised import LEVEL
from adyton.curator.part import Columns, OfOneReading, Read
from adyton.curator.population import Standing
from adyton.exact import ratio_down, ratio_up
from adyton.mechanisms.ratio import Ends
from adyton.mechanisms.search import NoisySearch, rounds_for, surely_between
from adyton.noise import Bits
from adyton.noise.refine import Integers
from adyton.query.nodes import Extreme, Quantile, all_of
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

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("NOISY-SEARCH",)

    @property
    def noises(self) -> int:
        return self.only.times

    # With the exact integers.

    def release(self, exact: list[Columns], read: Read, bits: Bits) -> Columns:
        bins, released = self.first_bins, Columns()
        upto = running(exact[0][0], self._cells, bins.number)
        total, before = upto[:, -1], np.zeros((1, 1), np.int64)
        while True:
            search = self._search_in(bins)
            noisy = search.release(partial(self.counts, upto, total), self._cells, bits)
            released += noisy
            if self._cells > 1 or bins.width == 1:
                return released
            chosen = int(search.found(noisy)[0])
            before = upto[:, chosen - 1 : chosen] if chosen else before
            bins = finer(bins, chosen)
            upto = before + running(read(self._reading_of(bins))[0], 1, bins.number)

    def counts(self, upto: Integers, total: Integers, place: Integers) -> list[int]:
        times, minus = search_weights(self._measure)
        known = upto[np.arange(self._cells), place]
        counts: list[int] = (times * known - minus * total + self._offset).tolist()
        return counts

    def _reading_of(self, bins: Bins) -> Reading:
        inside, bucket = binned(self._measure.value, bins)
        reading = self.only.reading
        return replace(reading, where=all_of(reading.where, inside), by=(*reading.by[:-1], bucket))

    # With what was released.

    def values(self, released: Columns, standing: Standing, solved: list[Ends]) -> list[Value]:
        found, (low, high) = self._found(released), self._noise_ends(released)
        population = self._population(released, standing)
        return [
            Value(
                float((_clipped(a, first, last) + _clipped(b, first, last)) * self._grain / 2),
                Interval(LEVEL, *self._outward(first, last)),
                interval,
            )
            for (a, b), first, last, interval in zip(found, low, high, population, strict=True)
        ]

    def bound(self, matching: int | None) -> Bound:
        return Bound(LEVEL, None)

    def population_bound(self, standing: Standing, matching: int | None) -> Bound | Absent:
        if isinstance(self._measure, Extreme):
            return _BEYOND
        return standing.missing or Bound(standing.population.level, None)

    def _noise_ends(self, released: Columns) -> tuple[list[int], list[int]]:
        match self._measure:
            case Extreme(_, "least"):  # one row is surely not above
                return self._ends(released, below=None, above=0)
            case Extreme():  # one row is surely above
                return self._ends(released, below=0, above=None)
            case _:
                return self._ends(released, below=-self._error, above=self._error)

    def _population(self, released: Columns, standing: Standing) -> list[Interval | Absent]:
        absent = _BEYOND if isinstance(self._measure, Extreme) else standing.missing
        if absent is not None or standing.units is None:
            return [absent or _BEYOND] * self._cells
        reach = math.ceil(standing.population.reach(self.only, standing.at, standing.units))
        ends = zip(*self._ends(released, below=-reach, above=reach), strict=True)
        return [Interval(standing.population.level, *self._outward(a, b)) for a, b in ends]

    def _ends(
        self, released: Columns, *, below: int | None, above: int | None
    ) -> tuple[list[int], list[int]]:
        """None: no noisy count proves anything on that side."""
        lattice = self._measure.value.lattice
        beyond = 1 + max(abs(z) for column in released for z in column)
        first, last = surely_between(
            list(self._looked_at(released)),
            released,
            -beyond if below is None else below,
            beyond if above is None else above,
            lattice.low,
            lattice.high,
        )
        # Comparisons that contradict each other happen only if one was off by more than they should be.
        return np.minimum(first, last).tolist(), np.maximum(first, last).tolist()

    def _found(self, released: Columns) -> list[tuple[int, int]]:
        """The first and the last step of the bin in which the search ended."""
        *_, (bins, search, noisy) = self.levels(released)
        high = self._measure.value.lattice.high
        ends = (bins.ends(place) for place in search.found(noisy).tolist())
        return [(min(a, high), min(b, high)) for a, b in ends]

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

    def _outward(self, low: int, high: int) -> tuple[float, float]:
        top, bottom = self._grain.as_integer_ratio()
        return ratio_down(low * top, bottom), ratio_up(high * top, bottom)

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
        return self.only.mechanism.error(1 - (1 - LEVEL) / self.only.times)

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


def _clipped(step: int, first: int, last: int) -> int:
    """A later comparison may be surer than the turn that was taken."""
    return min(max(step, first), last)


def running(counts: list[int], cells: int, number: int) -> Integers:
    """The counts of all bins up to each; bins beyond the last possible value are empty."""
    by_cell = np.array(counts, np.int64).reshape(cells, -1)
    padded = np.pad(by_cell, ((0, 0), (0, number - by_cell.shape[1])))
    running: Integers = np.cumsum(padded, axis=1)
    return running
