"""The only place where exact integers and noise meet: nothing exact leaves it."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from adyton.engines.base import Engine
from adyton.errors import EngineFailed, sealed
from adyton.exact.cells import Cells, whole
from adyton.ledger.texts import Stored
from adyton.noise import Bits
from adyton.planning.keys import KeyFinding
from adyton.planning.part import Columns
from adyton.planning.plan import QuestionPlan
from adyton.sensitivity import Reading

_operator_log = logging.getLogger("adyton.operator")
_Found = TypeVar("_Found")
_AT_ONCE = 2**22  # as many as an engine computes in one scan


class Releasing:
    """Reads what a plan needs, after it was paid for, and adds its noise at once."""

    def __init__(self, engine: Engine, bits: Bits, *, split: bool = False) -> None:
        self._engine, self._bits, self._split = engine, bits, split

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        """The engine checks public facts.  Whatever else goes wrong in it, only the kind of error is told."""
        sealed(
            lambda: self._engine.prepare(readings),
            lambda error: f"the data cannot be read: {type(error).__name__}",
        )

    def release(self, plans: Sequence[QuestionPlan], receipt: int) -> list[Stored]:
        """All plans from few scans, except for keys that must be found.

        Where units are split, from the part with the number of the receipt, and from no other.
        """
        part = receipt if self._split else None
        readings = [reading for plan in plans if plan.finding is None for reading in plan.readings]
        if part is not None:
            readings = [replace(reading, part=part) for reading in readings]
        exact = self._in_turn(readings)
        return [
            Stored(self._with_noise(plan, exact, part))
            if plan.finding is None
            else self._release_found(plan, plan.finding, receipt)
            for plan in plans
        ]

    def _in_turn(self, readings: Sequence[Reading]) -> Iterator[Columns]:
        """Not more at a time than fits into memory: integers that got their noise are let go."""
        for some in _together(readings):
            yield from self._read(partial(self._engine.exact, some))

    def once(self, reading: Reading) -> Columns:
        """The integers of one reading that was paid for before."""
        return self._read(lambda: self._engine.exact([reading]))[0]

    def _release_found(self, plan: QuestionPlan, finding: KeyFinding, receipt: int) -> Stored:
        readings = [finding.counted.reading, *plan.readings]
        keys, (counted, *rest) = self._read(lambda: self._engine.found(readings))
        kept = finding.release(keys, counted, receipt, self._bits)
        exact = iter([[Cells(whole(column)[kept.places]) for column in columns] for columns in rest])
        return Stored(self._with_noise(plan, exact, None), kept.keys, kept.noisy_number)

    def _with_noise(
        self, plan: QuestionPlan, exact: Iterator[Columns], part: int | None
    ) -> list[list[Cells]]:
        def again(reading: Reading) -> Columns:
            return self.once(replace(reading, part=part))

        return [one.release([next(exact) for _ in one.noisy], again, self._bits) for one in plan.parts]

    def _read(self, read: Callable[[], _Found]) -> _Found:
        try:
            return read()
        except Exception as error:
            # The engine's own words may quote a row, so neither the log nor the analyst gets them.
            reference = secrets.token_hex(6)
            _operator_log.error("the engine failed with %s (reference %s)", type(error).__name__, reference)
        raise EngineFailed(reference)


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
