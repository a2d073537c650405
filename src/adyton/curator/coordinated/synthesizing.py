"""The walk of a synthetic table: the marginals are chosen, measured and kept for one charge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adyton.curator.purse import Advice
from adyton.curator.releasing import Releasing
from adyton.errors import LedgerCorrupt
from adyton.exact.cells import whole
from adyton.ledger import Order
from adyton.ledger.texts import Stored, many_from_text, many_to_text
from adyton.mechanisms.marginals.fitting import Measured
from adyton.mechanisms.marginals.tables import Array, Axes, size_of, tables_of
from adyton.sensitivity import Reading
from adyton.synthesis.guessing import first_guess
from adyton.synthesis.plan import SynthesisPlan

_NOISE = {True: "gaussian", False: "geometric"}


@dataclass(frozen=True, slots=True)
class SynthesisRelease:
    """Everything that is selected and measured for one synthetic table."""

    plan: SynthesisPlan
    advice: Advice

    @property
    def readings(self) -> Sequence[Reading]:
        return self.plan.readings

    def order(self, request: str | None) -> Order:
        return self.plan.order(request)

    def release(self, releasing: Releasing, receipt: int) -> Sequence[Measured]:
        exact = self._exact(releasing, receipt)
        return self.plan.machine.release(exact, first_guess(self.plan), self.plan.step, releasing.bits)

    def text(self, released: Sequence[Measured]) -> str:
        return to_text(released)

    def read(self, text: str) -> Sequence[Measured]:
        return from_text(text, self.plan.axes.shape)

    def settled(self, receipt: int, released: Sequence[Measured]) -> int | None:
        return None

    def _exact(self, releasing: Releasing, receipt: int) -> Mapping[Axes, Array]:
        """The whole numbers of every marginal that may be measured."""
        machine, axes = self.plan.machine, self.plan.axes
        wanted = {*machine.candidates, *machine.first}
        found: dict[Axes, Array] = {}
        for by, (column,) in zip(self.plan.read, releasing.exact(self.plan.readings, receipt), strict=True):
            counted = axes.counts(column, by).reshape([axes.shape[place] for place in by])
            here = {own: tuple(map(by.index, own)) for own in wanted - found.keys() if set(own) <= set(by)}
            tables = tables_of(counted, here.values())
            found |= {own: tables[places] for own, places in here.items()}
        return found


def to_text(measured: Sequence[Measured]) -> str:
    """Which marginals, with which noise."""
    told = [[list(one.axes), _NOISE[one.gaussian], repr(one.scale)] for one in measured]
    integers = many_to_text([Stored([[one.noisy.tolist()] for one in measured])])
    return json.dumps({"measured": told, "integers": json.loads(integers)})


def from_text(text: str, shape: Sequence[int]) -> list[Measured]:
    try:
        known = json.loads(text)
        (stored,) = many_from_text(json.dumps(known["integers"]))
        found = [
            Measured(tuple(map(int, axes)), whole(column), float(scale), noise == _NOISE[True])
            for (axes, noise, scale), (column,) in zip(known["measured"], stored.released, strict=True)
        ]
        if any(one.noisy.size != size_of(shape, one.axes) for one in found):
            raise ValueError("not what was stored")
        return found
    except (ValueError, TypeError, KeyError, IndexError):
        raise LedgerCorrupt("a stored synthesis cannot be read back") from None
