"""What every measure of a planned question can do, whatever it measures."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from adyton.accounting.noisy_reading import Noised
from adyton.certify import Absent, Bound, Values
from adyton.columns import Cells
from adyton.mechanisms import Mechanism, Ratio
from adyton.mechanisms.ratio import Solved
from adyton.noise import Bits
from adyton.population.base import Standing
from adyton.sensitivity import Reading

Columns = Sequence[Sequence[int]]  # for each coordinate, one integer for each cell
Read = Callable[[Reading], Columns]


class Part(Protocol):
    """One measure: what is read, the noise, and the way back from noisy integers to values.

    ``values`` and the bounds see released integers and public facts only; ``release`` sees the exact ones.
    """

    @property
    def name(self) -> str: ...

    @property
    def noised(self) -> tuple[Noised, ...]:
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

    def alike(self, standing: Standing) -> Hashable:
        """Parts of which this is the same give the same values for the same integers; None: like no other."""
        ...

    def ratios(self, released: Columns, standing: Standing) -> list[Ratio]:
        """The ratios whose intervals the values need; those of many parts are found together."""
        ...

    def values(self, released: Columns, standing: Standing, solved: list[Solved]) -> Values:
        """``solved`` are the intervals of the ratios, in their order."""
        ...

    def bound(self, matching: int | None) -> Bound:
        """How wide the noise interval will be, before anything is read."""
        ...

    def population_bound(
        self, standing: Standing, matching: int | None, expect: Fraction | None = None
    ) -> Bound | Absent: ...


@dataclass(frozen=True, slots=True)
class OfOneReading:
    """What parts that rest on a single reading have in common."""

    only: Noised

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
    def noised(self) -> tuple[Noised, ...]:
        return (self.only,)

    @property
    def keys(self) -> tuple[str, tuple[float | int, ...]] | None:
        return None

    def alike(self, standing: Standing) -> Hashable:
        return None

    def ratios(self, released: Columns, standing: Standing) -> list[Ratio]:
        return []
