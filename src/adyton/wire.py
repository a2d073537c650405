"""What sits in the ledger as text, and back.  No pickle, no import by name: one explicit shape, checked.

A column of few integers is a list of their digits.  One of many is
``{"cells": how many, "bytes": 1 to 8 of each, "base64": two's complement, the lowest byte first}``.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.columns import Cells, largest, whole
from adyton.errors import LedgerCorrupt

Released = Sequence[Sequence[Sequence[int]]]  # for each part, for each column, the integers of the cells
Keys = list[list[str | int]]

_MANY = 256
_WHOLE = 8  # bytes of a machine integer


@dataclass(frozen=True, slots=True)
class Stored:
    """What was released: noisy integers, and for groups that nobody declared the keys that were found."""

    released: Released
    keys: Keys | None = None
    noisy_number: int = 0


def many_to_text(many: Sequence[Stored]) -> str:
    """A batch of one is stored like one question."""
    told = [_told(one) for one in many]
    return json.dumps(told[0] if len(told) == 1 else {"batch": told}, ensure_ascii=False)


def many_from_text(text: str) -> list[Stored]:
    try:
        known = json.loads(text)
        if isinstance(known, dict) and "batch" in known:
            return [_stored(one) for one in known["batch"]]
        return [_stored(known)]
    except (ValueError, TypeError, KeyError):
        raise LedgerCorrupt("a stored answer cannot be read back") from None


def released_from_text(text: str) -> Released:
    """Of one question."""
    return many_from_text(text)[0].released


def _told(stored: Stored) -> Any:
    released = [[_column_told(column) for column in part] for part in stored.released]
    if stored.keys is None:
        return released
    return {"keys": stored.keys, "number": str(stored.noisy_number), "released": released}


def _stored(known: Any) -> Stored:
    if isinstance(known, list):
        return Stored(_released(known))
    keys = [[part if isinstance(part, str) else int(part) for part in key] for key in known["keys"]]
    return Stored(_released(known["released"]), keys, int(known["number"]))


def _released(known: list[list[Any]]) -> Released:
    return [[_column(column) for column in part] for part in known]


def _column_told(column: Sequence[int]) -> Any:
    """Digits as text, because other readers of JSON know no large integers."""
    array = whole(column)
    if len(array) < _MANY or array.dtype == object:
        return [str(z) for z in array.tolist()]
    size = largest(array).bit_length() // 8 + 1  # with a sign
    octets = array.astype("<i8").view(np.uint8).reshape(-1, _WHOLE)[:, :size].tobytes()
    return {"cells": len(array), "bytes": size, "base64": base64.b64encode(octets).decode("ascii")}


def _column(known: Any) -> Cells:
    if isinstance(known, list):
        return Cells([int(z) for z in known])
    octets, size = binascii.a2b_base64(known["base64"], strict_mode=True), known["bytes"]
    if size not in range(1, _WHOLE + 1) or len(octets) != known["cells"] * size:
        raise ValueError("not what was stored")
    # Eight bytes from the place of each on: its own, and others that are shifted out at the top.
    overlapping = np.ndarray(known["cells"], "<i8", octets + bytes(_WHOLE - size), strides=(size,))
    array = overlapping.astype(np.int64)
    array <<= 8 * (_WHOLE - size)
    array >>= 8 * (_WHOLE - size)  # the sign comes down with it
    return Cells(array)
