"""Private data: what a receipt paid for is read, and nothing else."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from adyton.errors import EngineFailed, InvalidRequest, LedgerCorrupt, sealed
from adyton.kernel.engine import DiscoveredGroup, Engine, Exact
from adyton.kernel.genuine import require
from adyton.kernel.ledger.base import place_of
from adyton.kernel.measurement import Columns
from adyton.kernel.paid import Paid
from adyton.kernel.sensitivity import Reading

_operator_log = logging.getLogger("adyton.operator")
_Read = TypeVar("_Read")
_AT_ONCE = 2**22  # as many as an engine computes in one scan


class Observer(Protocol):
    """Watches the kernel at work: for audits, for tests, and for a service that must know of every read.

    No method is given an exact integer.
    """

    def prepares(self, readings: Sequence[Reading]) -> None:
        """The engine is asked to check public facts."""
        ...

    def reads(self, readings: Sequence[Reading], *, groups: bool) -> None:
        """Private data are about to be read; ``groups``: those under which something counts."""
        ...

    def releases(self, number: int) -> None:
        """The noise of a receipt is drawn, and nothing is stored yet."""
        ...


class Unobserved:
    """An observer that does nothing, for others to build on."""

    def prepares(self, readings: Sequence[Reading]) -> None:
        pass

    def reads(self, readings: Sequence[Reading], *, groups: bool) -> None:
        pass

    def releases(self, number: int) -> None:
        pass


class Data:
    """Reads for those who paid.  An engine's own words may quote a row, so none of them gets out."""

    def __init__(self, engine: Engine, observer: Observer | None = None) -> None:
        self._engine, self.observer = engine, observer or Unobserved()

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        """The engine checks public facts.  Whatever else goes wrong in it, only the kind of error is told."""
        self.observer.prepares(readings)
        sealed(
            lambda: self._engine.prepare(readings),
            lambda error: f"the data cannot be read: {type(error).__name__}",
        )

    def exact(self, paid: Paid, readings: Sequence[Reading]) -> Exact:
        """The integers of readings that were paid for, at once; TypeError for any other, and nothing is read.

        Where units are split, those of the part with the number of the receipt, and of no other.
        """
        _check_paid(paid, readings)
        return self._exact(_own_part(paid, readings))

    def found(self, paid: Paid) -> tuple[Sequence[DiscoveredGroup], Exact]:
        """The groups under which something is counted, and the integers of all that was paid for."""
        readings = require(paid, Paid).priced.readings
        self.observer.reads(readings, groups=True)
        return self._sealed(partial(self._engine.found, readings))

    def one_cell(self, paid: Paid, reading: Reading) -> list[int]:
        """The number that is compared, or that of all units, if comparisons of it were paid for; of each
        coordinate one.

        Data that are missing are found before they are read.
        """
        priced = require(paid, Paid).priced
        priced.measurement.check(reading, 1, priced.protection)
        self.prepare([reading])
        return [int(cells[0]) for cells in self._exact([reading])[0]]

    def _exact(self, readings: Sequence[Reading]) -> Exact:
        self.observer.reads(readings, groups=False)
        return self._sealed(partial(self._engine.exact, readings))

    def _sealed(self, read: Callable[[], _Read]) -> _Read:
        try:
            return read()
        except Exception as error:
            # The engine's own words may quote a row, so neither the log nor the analyst gets them.
            reference = secrets.token_hex(6)
            _operator_log.error("the engine failed with %s (reference %s)", type(error).__name__, reference)
        raise EngineFailed(reference)


@dataclass(frozen=True, slots=True)
class PaidData:
    """What one receipt paid for.  Satisfies ``Source``."""

    paid: Paid
    data: Data

    @property
    def place(self) -> int:
        return place_of(self.paid.ledger, self.paid.receipt.number)

    def exact(self) -> Iterator[Columns]:
        for some in _together(self.paid.priced.readings):
            yield from self.data.exact(self.paid, some)

    def found(self) -> tuple[Sequence[DiscoveredGroup], Exact]:
        return self.data.found(self.paid)

    def again(self, reading: Reading) -> Columns:
        return self.data.exact(self.paid, [reading])[0]

    def claim(self, number: int) -> None:
        ledger, own = self.paid.ledger, self.paid.receipt
        part = ledger.receipt(number)
        if part is None or (part.order.subject, part.order.amount) != (own.order.subject, own.order.amount):
            raise LedgerCorrupt(f"receipt {number} is no part of what receipt {own.number} paid for")
        ledger.annotate(number, 0, str(own.number))
        if ledger.notes(number) != [str(own.number)]:
            raise InvalidRequest(f"receipt {number} is a part of another choice by now: ask the same again")


def _check_paid(paid: Paid, readings: Sequence[Reading]) -> None:
    priced = require(paid, Paid).priced
    known = set(map(id, priced.readings))
    for reading in readings:
        if id(reading) not in known and not priced.measurement.refines(reading):
            raise TypeError("a reading that was not paid for is not read")


def _own_part(paid: Paid, readings: Sequence[Reading]) -> Sequence[Reading]:
    if paid.priced.protection.unit.parts == 1:
        return readings
    return [replace(reading, part=paid.receipt.number) for reading in readings]


def _together(readings: Sequence[Reading]) -> Iterator[list[Reading]]:
    """Consecutive readings, as many as have ``_AT_ONCE`` integers: decided from public facts."""
    some: list[Reading] = []
    integers = 0
    for reading in readings:
        own = reading.cells * len(reading.coordinates)
        if some and integers + own > _AT_ONCE:
            yield some
            some, integers = [], 0
        some.append(reading)
        integers += own
    if some:
        yield some
