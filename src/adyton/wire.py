"""What sits in the ledger as text, and back.  No pickle, no import by name: one explicit shape, checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from adyton.errors import LedgerCorrupt

Released = list[list[list[int]]]
Keys = list[list[str | int]]


@dataclass(frozen=True, slots=True)
class Stored:
    """What was released: noisy integers, and for groups that nobody declared the keys that were found."""

    released: Released
    keys: Keys | None = None
    noisy_number: int = 0


def stored_to_text(stored: Stored) -> str:
    if stored.keys is None:
        return released_to_text(stored.released)
    found = {"keys": stored.keys, "number": str(stored.noisy_number)}
    return json.dumps({**found, "released": _texts(stored.released)}, ensure_ascii=False)


def many_to_text(many: list[Stored]) -> str:
    """A batch of one is stored like one question."""
    if len(many) == 1:
        return stored_to_text(many[0])
    return json.dumps({"batch": [json.loads(stored_to_text(one)) for one in many]}, ensure_ascii=False)


def many_from_text(text: str) -> list[Stored]:
    try:
        known = json.loads(text)
        if isinstance(known, dict) and "batch" in known:
            return [_stored(one) for one in known["batch"]]
        return [_stored(known)]
    except (ValueError, TypeError, KeyError):
        raise LedgerCorrupt("a stored answer cannot be read back") from None


def released_to_text(released: Released) -> str:
    """Noisy integers as JSON; digits as text, because other readers of JSON know no large integers."""
    return json.dumps(_texts(released))


def released_from_text(text: str) -> Released:
    """Of one question."""
    return many_from_text(text)[0].released


def _stored(known: Any) -> Stored:
    if isinstance(known, list):
        return Stored(_integers(known))
    keys = [[part if isinstance(part, str) else int(part) for part in key] for key in known["keys"]]
    return Stored(_integers(known["released"]), keys, int(known["number"]))


def _texts(released: Released) -> list[list[list[str]]]:
    return [[[str(z) for z in cells] for cells in part] for part in released]


def _integers(texts: list[list[list[str]]]) -> Released:
    return [[[int(z) for z in cells] for cells in part] for part in texts]
