"""Quantiles, the median, and about the least and the greatest value: a noisy search over public bins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

import numpy as np

from adyton.arithmetic.lines import Line
from adyton.arithmetic.ratio import Ends, Solved
from adyton.certify import Absent, Bound, Intervals, Values
from adyton.kernel.exact.cells import largest, whole
from adyton.kernel.measurement import Columns
from adyton.kernel.noise.refine import Integers
from adyton.kernel.searching import SearchLevels, searched
from adyton.kernel.terms.measures import Extreme, Quantile
from adyton.planning.part import OfOneReading
from adyton.population.base import PopulationContext

_BEYOND = Absent("a population may have values beyond those of every row")


@dataclass(frozen=True, slots=True)
class Search(OfOneReading):
    """A value between two neighboring steps, from the noisy comparisons of ``SearchLevels``."""

    theorems = ("NOISY-SEARCH",)

    @property
    def noises(self) -> int:
        return self.only.times

    # With what was released.

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        looked_at = list(self._looked_at(released))
        low, high = self._noise_ends(released, looked_at, context.noise_level)
        # A later comparison may be surer than the turn that was taken.
        first, last = (np.minimum(np.maximum(step, low), high) for step in self._found(released))
        noise = Intervals(context.noise_level, *self._outward(low, high))
        population = self._population(released, looked_at, context)
        return Values(Line(self._step / 2).near(first + last), noise, population)

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
        error = self._levels.error_at(level)
        match self._measure:
            case Extreme(_, "least"):  # one row is surely not above
                return self._ends(released, looked_at, below=None, above=error - self._levels.error)
            case Extreme():  # one row is surely above
                return self._ends(released, looked_at, below=self._levels.error - error, above=None)
            case Quantile():
                return self._ends(released, looked_at, below=-error, above=error)
            case _:
                assert_never(self._measure)

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
        *_, (bins, search, noisy) = self._levels.levels(released)
        high, start = self._measure.value.lattice.high, bins.first + search.found(noisy) * bins.width
        end = np.minimum(start + (bins.width - 1), min(bins.last, high))
        return np.minimum(start, high), end

    def _looked_at(self, released: Columns) -> Iterator[Integers]:
        """The last step of the bin that each comparison looked at."""
        high = self._measure.value.lattice.high
        for bins, search, noisy in self._levels.levels(released):
            for place in search.places(noisy):
                yield np.minimum(bins.first + (place + 1) * bins.width - 1, high)

    def _outward(self, low: Integers, high: Integers) -> Ends:
        line = Line(self._step)
        return line.down(low), line.up(high)

    @property
    def _step(self) -> Fraction:
        return self._measure.value.lattice.step

    @property
    def _levels(self) -> SearchLevels:
        return SearchLevels(self.only)

    @property
    def _measure(self) -> Quantile | Extreme:
        return searched(self.only.reading)


def surely_between(
    looked_at: Sequence[Integers], released: Columns, below: int, above: int, low: int, high: int
) -> tuple[Integers, Integers]:
    """Between which numbers of ``low..high`` the first lies at which the count is not below 0.

    Claim:    if a noisy count under ``below`` proves that the count is below 0, and one of at least ``above``
              that it is not, the first such number lies between the two ends, both included.
    Source:   the count rises with the number.  Theorem: NOISY-SEARCH.
    """
    cells = len(released[0])
    first, last = np.full(cells, low, np.int64), np.full(cells, high, np.int64)
    for place, noisy in zip(looked_at, released, strict=True):
        counts = whole(noisy)
        first = np.where(counts < below, np.maximum(first, place + 1), first)
        last = np.where(counts >= above, np.minimum(last, place), last)
    return np.minimum(first, high), last
