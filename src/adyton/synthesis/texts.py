"""What a synthesis released, as the text that the ledger keeps: which marginals, with which noise."""

from __future__ import annotations

import json
from collections.abc import Sequence

from adyton.errors import LedgerCorrupt
from adyton.exact.cells import whole
from adyton.ledger.texts import Stored, many_from_text, many_to_text
from adyton.mechanisms.marginals.fitting import Measured
from adyton.mechanisms.marginals.tables import size_of

_NOISE = {True: "gaussian", False: "geometric"}


def to_text(measured: Sequence[Measured]) -> str:
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
