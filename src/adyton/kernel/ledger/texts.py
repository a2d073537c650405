"""What may stand in a ledger, and what stands there as text: given back unchanged by every store.

What was released is a text of one explicit shape, checked: no pickle, no import by name.  A column of few
integers is a list of their digits.  One of many is ``{"cells": how many, "bytes": 1 to 8 of each, "base64":
two's complement, the lowest byte first}``.

The first receipt of a study that goes on under corrected facts carries what the old ledger has spent.  Its
number goes on where the old ledger ended.  Shares of delta for discovering groups, and shares of the failure
probability, go by the number of a receipt: so none of them is used twice.
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
_CARRIED = "CARRIED FROM THE LEDGER WITH HEAD "
RESTORED = "RESTORED; LOST WAS WHAT CAME UP TO THE HEAD "


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


def check_settled(radius: int | None, most: int) -> int:
    """What a radius came to, once its answer is known: never more than was charged; None: all of it."""
    if radius is None:
        return most
    check_amount(radius, "the settled radius of an answer", least=0)
    if radius > most:
        raise InvalidRequest("the settled radius of an answer cannot be more than its receipt was charged")
    return radius


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


# What is carried on from an older ledger -------------------------------------------------------------------


def carried_texts(head: str, receipts: int, began: str | None = None) -> tuple[str, str]:
    """The query and the detail of an order that carries so many receipts, up to this head.

    ``began``: the digest of the header of the ledger that has receipt 1, where the study shares a budget.
    """
    more = {"began": began} if began is not None else {}
    return _CARRIED + head, json.dumps({"receipts": receipts, **more})


def receipts_carried(query: str, detail: str) -> int:
    """How many receipts an order carries: 0 unless it has exactly the texts of one that carries some."""
    return _receipts_of(_CARRIED, query, detail, ("began",))


def ledger_carried(query: str, detail: str) -> str | None:
    """The digest of the header of the ledger that has receipt 1, if an order that carries receipts has it."""
    if not receipts_carried(query, detail):
        return None
    began: str | None = json.loads(detail).get("began")
    return began


def restored_texts(head: str, receipts: int) -> tuple[str, str]:
    """Those of an order that stands for what a restored copy has lost: so many receipts, up to this head."""
    return RESTORED + head, json.dumps({"receipts": receipts})


def receipts_restored(query: str, detail: str) -> int:
    """The number of the last receipt that was lost: 0 unless it has exactly the texts of such an order."""
    return _receipts_of(RESTORED, query, detail)


def _receipts_of(begin: str, query: str, detail: str, more: tuple[str, ...] = ()) -> int:
    if not query.startswith(begin):
        return 0
    try:
        known = json.loads(detail)
        receipts = known.pop("receipts")
    except (ValueError, TypeError, KeyError, AttributeError):
        return 0
    if type(receipts) is not int or receipts < 1:
        return 0
    if any(name not in more or not isinstance(value, str) for name, value in known.items()):
        return 0
    return receipts if detail == json.dumps({"receipts": receipts, **known}) else 0


_ALL_COUNTED, _NOT_ALL = "SELECT COUNT(", (" WHERE ", " GROUP BY ")


def counts_all(query: str) -> bool:
    """Whether it counts something first, without a filter and without groups."""
    return query.startswith(_ALL_COUNTED) and not any(word in query for word in _NOT_ALL)
