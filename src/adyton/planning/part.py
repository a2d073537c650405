"""What every measure of a planned question can do, whatever it measures."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from adyton.accounting.noisy_reading import NoisyReading
from adyton.certify import Absent, Bound, Values
from adyton.columns import Cells
from adyton.mechanisms import Mechanism, Ratio
from adyton.mechanisms.ratio import Solved
from adyton.noise import Bits
from adyton.population.base import PopulationContext
from adyton.sensitivity import Reading

Columns = Sequence[Sequence[int]]  # for each coordinate, one integer for each cell
Read = Callable[[Reading], Columns]


class MeasurePlan(Protocol):
    """One measure: what is read, the noise, and the way back from noisy integers to values.

    ``values`` and the bounds see released integers and public facts only; ``release`` sees the exact ones.
    """

    @property
    def name(self) -> str: ...

    @property
    def noisy(self) -> tuple[NoisyReading, ...]:
        """All that is paid for."""
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

    def release(self, exact: Sequence[Columns], read: Read, bits: Bits) -> list[Cells]:
        """From the integers of each reading; ``read`` reads more, which is already paid for."""
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
    """What parts that rest on a single reading have in common."""

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
    def noisy(self) -> tuple[NoisyReading, ...]:
        return (self.only,)

    @property
    def keys(self) -> tuple[str, tuple[float | int, ...]] | None:
        return None

    def alike(self, context: PopulationContext) -> Hashable:
        return None

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        return []
