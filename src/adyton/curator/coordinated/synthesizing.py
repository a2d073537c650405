"""The walk of a synthetic table: the marginals are chosen, measured and kept for one charge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from adyton.errors import LedgerCorrupt
from adyton.kernel.exact.cells import whole
from adyton.kernel.ledger.texts import Stored, many_from_text, many_to_text
from adyton.kernel.special.mechanisms.marginals.adaptive import NoisyMarginal
from adyton.kernel.special.mechanisms.marginals.tables import size_of
from adyton.synthesis.plan import SynthesisPlan

_NOISE = {True: "gaussian", False: "geometric"}


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """How everything that is selected and measured for one synthetic table is written down."""

    plan: SynthesisPlan

    def made(self, noisy: Sequence[NoisyMarginal]) -> Sequence[NoisyMarginal]:
        return noisy

    def text(self, kept: Sequence[NoisyMarginal]) -> str:
        return to_text(kept)

    def read(self, text: str) -> Sequence[NoisyMarginal]:
        return from_text(text, self.plan.axes.shape)

    def final_cost(self, number: int, kept: Sequence[NoisyMarginal]) -> None:
        return None


def to_text(measured: Sequence[NoisyMarginal]) -> str:
    """Which marginals, with which noise."""
    told = [[list(one.axes), _NOISE[one.gaussian], repr(one.scale)] for one in measured]
    integers = many_to_text([Stored([[one.noisy.tolist()] for one in measured])])
    return json.dumps({"measured": told, "integers": json.loads(integers)})


def from_text(text: str, shape: Sequence[int]) -> list[NoisyMarginal]:
    try:
        known = json.loads(text)
        (stored,) = many_from_text(json.dumps(known["integers"]))
        found = [
            NoisyMarginal(tuple(map(int, axes)), whole(column), float(scale), noise == _NOISE[True])
            for (axes, noise, scale), (column,) in zip(known["measured"], stored.released, strict=True)
        ]
        if any(one.noisy.size != size_of(shape, one.axes) for one in found):
            raise ValueError("not what was stored")
        return found
    except (ValueError, TypeError, KeyError, IndexError):
        raise LedgerCorrupt("a stored synthesis cannot be read back") from None
