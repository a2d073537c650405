"""What may stand in a ledger, and what stands there as text: given back unchanged by every store.

What was released is a text of one explicit shape, checked: no pickle, no import by name.  A column of few
integers is a list of their digits.  One of many is ``{"cells": how many, "bytes": 1 to 8 of each, "base64":
two's complement, the lowest byte first}``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.exact.cells import Cells, largest, whole

_LARGEST_AMOUNT = 10**100  # units; keeps a message or a row from filling the memory
LARGEST_NUMBER = 2**63 - 1
_LONGEST_LABEL = 200  # of a request id or a name
Released = Sequence[Sequence[Sequence[int]]]  # for each part, for each column, the integers of the cells
Keys = list[list[str | int]]

_MANY = 256
_WHOLE = 8  # bytes of a machine integer


# Texts and whole numbers that every store gives back -------------------------------------------------------


def check_text(value: object, what: str) -> None:
    """Text that every store gives back unchanged: half a surrogate pair or a zero byte may not survive."""
    try:
        plain = isinstance(value, str) and b"\0" not in value.encode()
    except UnicodeEncodeError:
        plain = False
    if not plain:
        raise InvalidRequest(f"{what} must be plain Unicode text")


def is_address(place: object) -> bool:
    """Whether it is the address of a database, not the path of a file."""
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def check_number(number: object) -> None:
    if type(number) is not int or not 1 <= number <= LARGEST_NUMBER:
        raise InvalidRequest("the number of a receipt is a whole number from 1 on")


def check_index(index: object) -> None:
    if type(index) is not int or not 0 <= index <= LARGEST_NUMBER:
        raise InvalidRequest("the index of a note is a whole number from 0 on")


def check_amount(value: object, what: str, least: int) -> None:
    # "type is int" and not isinstance: True is an instance of int, and a float may be nan or was rounded.
    if type(value) is not int:
        raise InvalidRequest(f"{what} must be a whole number of units, not a {type(value).__name__}")
    if not least <= value <= _LARGEST_AMOUNT:
        raise InvalidRequest(f"{what} must be from {least} to {_LARGEST_AMOUNT}")


def check_head(head: object) -> None:
    """A digest that was cut off, as tables show it, is no sign of a ledger that was rolled back."""
    if head is None:
        return
    if not isinstance(head, str) or re.fullmatch("[0-9a-f]{64}", head) is None:
        raise InvalidRequest(
            "a head has 64 hexadecimal digits, in lower case: give all of it, as verify shows it"
        )


def check_name(name: object) -> None:
    check_label(name, "the name of who asks")


def check_label(label: object, what: str) -> None:
    if label is None:
        return
    if not isinstance(label, str) or not label.isprintable() or not 1 <= len(label) <= _LONGEST_LABEL:
        raise InvalidRequest(f"{what} must be 1 to {_LONGEST_LABEL} printable characters")


# Released integers -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stored:
    """What was released: noisy integers, and the groups that were discovered if nobody declared them."""

    released: Released
    keys: Keys | None = None
    noisy_number: int = 0


def many_to_text(many: Sequence[Stored]) -> str:
    """A batch of one is stored like one query."""
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
    """Of one query."""
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
    if len(column) < _MANY:
        return [str(z) for z in column]
    array = whole(column)
    if array.dtype == object:
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
