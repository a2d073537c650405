"""What one charge pays for: what may be read, what that costs, and how noise is added to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from adyton.kernel.engine import DiscoveredGroup, Exact
from adyton.kernel.noise import Bits
from adyton.kernel.protection import Protection
from adyton.kernel.sensitivity import Reading

Columns = Sequence[Sequence[int]]  # for each coordinate, one integer for each cell
_Noisy = TypeVar("_Noisy", covariant=True)


@dataclass(frozen=True, slots=True)
class Due:
    """What a measurement costs, in whole units: ``amount`` for privacy, under the study's accounting.

    ``radius`` is what validity pays for Gaussian noise, ``pure`` what it pays for the rest; ``unproved`` says
    that no theorem about the population covers it.  ``gaussian``: of each Gaussian release how many numbers
    it has, at most, and their radius, which is part of that; ``coded_nats`` pays for outcomes by length.
    ``everything``: whatever is left of the budget is charged, so that nothing comes after it.
    """

    amount: int
    radius: int
    pure: int = 0
    unproved: bool = False
    gaussian: tuple[tuple[int, int], ...] = ()
    coded_nats: int = 0
    everything: bool = False


class Source(Protocol):
    """The exact integers that one receipt paid for.  Only the kernel makes one, for one release."""

    @property
    def place(self) -> int:
        """The number by which discovered groups get their share of delta."""
        ...

    def exact(self) -> Iterator[Columns]:
        """Of each reading, in order.  No more at a time than fits into memory."""
        ...

    def found(self) -> tuple[Sequence[DiscoveredGroup], Exact]:
        """The groups under which something is counted, and the integers of all readings in each of them."""
        ...

    def again(self, reading: Reading) -> Columns:
        """Of a reading that refines one that was paid for."""
        ...

    def claim(self, number: int) -> None:
        """A part of the price, with a receipt of its own, is for this release and for no other."""
        ...


class Measurement(Protocol[_Noisy]):
    """A closed set: ``kernel.price`` refuses every class that is not in it."""

    @property
    def readings(self) -> Sequence[Reading]:
        """All that may be read, as far as it is known before the charge."""
        ...

    def due(self, protection: Protection) -> Due:
        """What it costs, worked out from how far one protected unit can move what is read."""
        ...

    def release(self, source: Source, bits: Bits) -> _Noisy:
        """Noisy integers: the only method of the project that is given exact ones, outside of mechanisms."""
        ...

    def refines(self, reading: Reading) -> bool:
        """Whether ``reading`` is one of these again, in a smaller range, and paid for already."""
        ...

    def check(self, reading: Reading, factor: int, protection: Protection) -> None:
        """Refuses a number that is compared later, unless comparisons of it were paid for."""
        ...


class ReadOnce:
    """What measurements have in common that read what they name, once, and compare nothing later."""

    __slots__ = ()

    def refines(self, reading: Reading) -> bool:
        return False

    def check(self, reading: Reading, factor: int, protection: Protection) -> None:
        raise TypeError("this receipt did not pay for comparisons")


AnyMeasurement = Measurement[Any]
