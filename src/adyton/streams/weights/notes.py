"""The notes of online weights, in the order in which they happened.

Note 0 is the noise of the first threshold, and the number of units that all guesses are about.  Note k is the
answer to the k-th question, together with the next noise: one note, so that no crash can come between.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from adyton.errors import LedgerCorrupt
from adyton.mechanisms import SparseState
from adyton.mechanisms.workloads.private_mw import Found


@dataclass(frozen=True, slots=True)
class WeightsStart:
    watch: SparseState
    total: int


@dataclass(frozen=True, slots=True)
class WeightsEntry:
    """One question, what was guessed, and, if the guess was found wrong, what was measured.

    ``offset`` is the noise of the thresholds from here on.
    """

    question: str
    guess: int
    found: Found | None
    left: int
    offset: int = field(repr=False)

    @property
    def value(self) -> int:
        """The answer: what was measured, else what was guessed."""
        return self.guess if self.found is None else self.guess + self.found.sign * self.found.excess


def start_text(start: WeightsStart) -> str:
    watch = start.watch
    return json.dumps({"left": watch.left, "offset": str(watch.offset), "total": str(start.total)})


def start_from(text: str) -> WeightsStart:
    try:
        note = json.loads(text)
        return WeightsStart(SparseState(int(note["left"]), int(note["offset"])), int(note["total"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _unreadable() from None


def entry_text(entry: WeightsEntry) -> str:
    """Digits as text, because other readers of JSON know no large integers."""
    found = None if entry.found is None else [entry.found.sign, str(entry.found.excess)]
    said = {"question": entry.question, "guess": str(entry.guess), "found": found}
    return json.dumps({**said, "left": entry.left, "offset": str(entry.offset)}, ensure_ascii=False)


def entry_from(text: str) -> WeightsEntry:
    try:
        note = json.loads(text)
        found = None if note["found"] is None else Found(int(note["found"][0]), int(note["found"][1]))
        if found is not None and found.sign not in (1, -1):
            raise _unreadable()
        numbers = (int(note["left"]), int(note["offset"]))
        return WeightsEntry(note["question"], int(note["guess"]), found, *numbers)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        raise _unreadable() from None


def following(watch: SparseState, entry: WeightsEntry) -> SparseState:
    """What to keep after an answer; a note that gives an update back, or takes two, is none of ours."""
    if entry.left != watch.left - (entry.found is not None) or entry.left < 0:
        raise _unreadable()
    return SparseState(entry.left, entry.offset)


def first_head(receipt: str, total: int) -> str:
    return _digest([receipt, str(total)])


def chained(head: str, entry: WeightsEntry) -> str:
    """The digest of an answer and of all before it, without the secret noise, which it would give away."""
    found = None if entry.found is None else [entry.found.sign, str(entry.found.excess)]
    return _digest([head, entry.question, str(entry.guess), found])


def _digest(said: list[object]) -> str:
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _unreadable() -> LedgerCorrupt:
    return LedgerCorrupt("a note of weights cannot be read back")  # without its text, which is secret
