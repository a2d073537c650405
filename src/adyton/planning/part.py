"""The parts of a planned query: what each can do, whatever it measures."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from adyton.arithmetic.ratio import Ratio, Solved
from adyton.certify import Absent, Bound, Values
from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.kernel.measurement import Columns
from adyton.kernel.mechanisms import Mechanism
from adyton.kernel.mechanisms.grid import NoiseOnAGrid
from adyton.kernel.sensitivity import Reading
from adyton.population.base import PopulationContext
from adyton.study import Study


class MeasurePlan(Protocol):
    """One measure: what is read, the noise, and the way back from noisy integers to values.

    ``values`` and the bounds see released integers and public facts only.
    """

    @property
    def name(self) -> str: ...

    @property
    def only(self) -> NoisyReading:
        """The reading and its noise: all that is paid for."""
        ...

    @property
    def theorems(self) -> tuple[str, ...]: ...

    @property
    def noises(self) -> int:
        """How many noisy values of one cell must be right at the same time."""
        ...

    @property
    def keys(self) -> tuple[str, tuple[float | int, ...]] | None:
        """The name and the values of a key that the measure itself adds to the groups."""
        ...

    def alike(self, context: PopulationContext) -> Hashable:
        """Parts of which this is the same give the same values for the same integers; None: like no other."""
        ...

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        """The ratios whose intervals the values need; those of many parts are found together."""
        ...

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        """``solved`` are the intervals of the ratios, in their order."""
        ...

    def bound(self, expected_rows: int | None) -> Bound:
        """How wide the noise interval will be, before anything is read."""
        ...

    def population_bound(
        self, context: PopulationContext, expected_rows: int | None, expect: Fraction | None = None
    ) -> Bound | Absent: ...


@dataclass(frozen=True, slots=True)
class OfOneReading:
    """What parts with noise of their own have in common, unless they say otherwise."""

    only: NoisyReading

    @property
    def name(self) -> str:
        return self.reading.name

    @property
    def reading(self) -> Reading:
        return self.only.reading

    @property
    def mechanism(self) -> Mechanism:
        return self.only.mechanism

    @property
    def keys(self) -> tuple[str, tuple[float | int, ...]] | None:
        return None

    def over_count(self, top: int) -> NoisyReading:
        """The mean of one of several sums over the count, which comes last, as if these two had been read
        alone; what is paid for is ``only``.
        """
        reading, both = self.reading, (top, len(self.reading.coordinates) - 1)
        coordinates = tuple(reading.coordinates[i] for i in both)
        boxes = tuple(coordinate.box for coordinate in coordinates)
        sensitivity = replace(reading.sensitivity, boxes=boxes, curved=0, squares=Fraction(0))
        pair = replace(reading, coordinates=coordinates, sensitivity=sensitivity)
        return NoisyReading(pair, self.mechanism.at(*both), nats=self.only.nats)

    def alike(self, context: PopulationContext) -> Hashable:
        return None

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        return []

    def bound(self, expected_rows: int | None) -> Bound:
        """How wide it will be depends on the rows."""
        return Bound(LEVEL, None)

    def population_bound(
        self, context: PopulationContext, expected_rows: int | None, expect: Fraction | None = None
    ) -> Bound | Absent:
        return context.missing(self.only) or Bound(context.population.level, None)


def detail_of(noisy: NoisyReading, name: str | None = None) -> list[object]:
    """A mechanism as receipts have it, under the ``name`` of its value there."""
    scales = [repr(float(scale)) for scale in noisy.mechanism.scales]
    times = [noisy.times] if noisy.times > 1 else []
    kept = noisy.reading.kept  # said, so that an answer with all cells is never taken for one without some
    cells = [f"{len(kept)} cells"] if kept is not None else []
    grids = noisy.mechanism.said if isinstance(noisy.mechanism, NoiseOnAGrid) else ()
    return [name or noisy.reading.name, noisy.mechanism.name, *scales, *times, *grids, *cells]


# In a study whose queries each read a part of the units of their own ---------------------------------------


def most_for_each(study: Study) -> int:
    """Each query may have all of the budget, but for the least unit that every later charge takes."""
    return study.allowed - study.parts
