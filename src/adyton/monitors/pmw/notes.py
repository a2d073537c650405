"""What is public of the notes of a PMW run: the number of units, and the answers in their order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.errors import LedgerCorrupt
from adyton.kernel.special.monitor import PmwCorrection


@dataclass(frozen=True, slots=True)
class PmwEntry:
    """One query, what was guessed, and, if the guess was found wrong, what was measured."""

    query: str
    guess: int
    found: PmwCorrection | None
    left: int

    @property
    def value(self) -> int:
        """The answer: what was measured, else what was guessed."""
        return self.guess if self.found is None else self.guess + self.found.sign * self.found.excess


def total_of(start: Mapping[str, Any]) -> int:
    """The number of units that all guesses are about."""
    try:
        return int(start["total"])
    except (ValueError, TypeError, KeyError):
        raise _unreadable() from None


def asked_json(query: str, guess: int) -> dict[str, str]:
    """What a note says of a query; digits as text, because other readers of JSON know no large ones."""
    return {"query": query, "guess": str(guess)}


def entry_of(note: Mapping[str, Any] | None) -> PmwEntry:
    if note is None:
        raise _unreadable()
    try:
        found = None if note["found"] is None else PmwCorrection(int(note["found"][0]), int(note["found"][1]))
        if found is not None and found.sign not in (1, -1):
            raise _unreadable()
        return PmwEntry(note["query"], int(note["guess"]), found, int(note["left"]))
    except (ValueError, TypeError, KeyError, IndexError):
        raise _unreadable() from None


def left_after(left: int, entry: PmwEntry) -> int:
    """The updates left after an answer; a note that gives one back, or takes two, is none of ours."""
    if entry.left != left - (entry.found is not None) or entry.left < 0:
        raise _unreadable()
    return entry.left


def first_head(receipt: str, total: int) -> str:
    return _digest([receipt, str(total)])


def chained(head: str, entry: PmwEntry) -> str:
    """The digest of an answer and of all before it, without the secret noise, which it would give away."""
    found = None if entry.found is None else [entry.found.sign, str(entry.found.excess)]
    return _digest([head, entry.query, str(entry.guess), found])


def _digest(said: list[object]) -> str:
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _unreadable() -> LedgerCorrupt:
    return LedgerCorrupt("a note of PMW cannot be read back")  # without its text, which is secret
