"""The comparisons that one receipt paid for, and their state, which lives in the ledger.

The state is a list of notes on the receipt.  Note 0 holds the first noise of the threshold.  Note k is the
answer to the k-th comparison, together with the noise of the threshold from there on: one note, so that no
crash can come between the two.  So neither a crash nor a second process can see another threshold, or get a
positive back.  That noise stays secret: nothing outside of this file is given it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adyton.errors import LedgerCorrupt
from adyton.kernel.data import Data
from adyton.kernel.genuine import require
from adyton.kernel.ledger import Ledger, Receipt
from adyton.kernel.noise import Bits
from adyton.kernel.paid import Paid
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.mechanisms.sparse.sparse import SparseState
from adyton.kernel.special.monitor import Monitor, Pmw
from adyton.kernel.special.scores import AnswersOfHoldout

CLOSED = '{"closed": true}'
Note = Mapping[str, Any]  # what is public of one comparison
_SECRET = "offset"


@dataclass(frozen=True, slots=True)
class Asked:
    """One comparison: with which number, or on which grid, and what its note says of it; after ``feeds``
    others.  ``kept``: what it says as well where the outcome is a value.
    """

    feeds: int
    against: Any
    public: Note
    kept: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _State:
    watch: SparseState
    feeds: int = 0
    closed: bool = False


class Comparisons:
    """Compares one number after another, as far as was paid for.

    Claim:    all that is noted in public is one release of the mechanism that the receipt paid for.
    Assumes:  notes are kept as they were written; nobody reads the secret ones but this class.
    Source:   derived on the theorem's page.  Theorem: MONITOR-IS-ONE-RELEASE.
    """

    def __init__(self, paid: Paid, data: Data, bits: Bits) -> None:
        measurement = require(paid, Paid).priced.measurement
        if not isinstance(measurement, Monitor | Pmw | AnswersOfHoldout):
            raise TypeError("this receipt did not pay for comparisons")
        self._paid, self._data, self._bits, self._measurement = paid, data, bits, measurement
        self._seen = _State(self._begin())

    @property
    def ledger(self) -> Ledger:
        return self._paid.ledger

    @property
    def receipt(self) -> Receipt:
        return self._paid.receipt

    @property
    def number(self) -> int:
        return self._paid.receipt.number

    def compare(
        self, reading: Reading, factor: int, asked: Callable[[], Asked | None]
    ) -> tuple[Note, int] | None:
        """The public note of the next comparison, and its number; None if ``asked`` says not to compare.

        ``asked`` is called again where another process was first: what was compared here is then forgotten.
        """
        self._measurement.check(reading, factor, self._paid.priced.protection)
        if asked() is None:  # public facts end here: until now a refusal reads nothing
            return None
        exact = [factor * one for one in self._data.one_cell(self._paid, reading)]
        while (what := asked()) is not None:
            state = self._state()
            if state.closed or state.watch.left < 1:
                if asked() is None:  # another ended it since: the caller refuses it, in words of its own
                    return None
                raise TypeError("nothing is compared after the end")
            if what.feeds > state.feeds:
                raise self._lost()
            if what.feeds < state.feeds:
                continue  # another process was first
            outcome, after = self._measurement.compare(state.watch, exact, what.against, self._bits)
            kept = what.kept if outcome.get("value") is not None else {}
            note = {**what.public, **kept, **outcome, "left": after.left}
            text = json.dumps({**note, _SECRET: str(after.offset)}, ensure_ascii=False)
            if self.ledger.annotate(self.number, state.feeds + 1, text):
                self._seen = self._after(state, text)
                return note, state.feeds + 1
        return None

    def close(self) -> None:
        """For good: nothing is compared after it, here or in any other process."""
        while not (state := self._state()).closed:
            self.ledger.annotate(self.number, state.feeds + 1, CLOSED)

    def start(self) -> Note:
        """What is public of the start."""
        return _public(self.ledger.notes(self.number)[0], self._measurement.word)

    def notes(self, first: int = 1) -> list[Note | None]:
        """What is public of each comparison; None where it was closed."""
        return public_notes(self.ledger, self.number, first, self._measurement.word)

    def _begin(self) -> SparseState:
        """The first noise of the threshold: drawn and stored once, whoever comes first."""
        if not self.ledger.notes(self.number):
            read = lambda reading: self._data.one_cell(self._paid, reading)  # noqa: E731
            watch, public = self._measurement.begin(read, self._bits)
            note = {"left": watch.left, _SECRET: str(watch.offset), **public}
            self.ledger.annotate(self.number, 0, json.dumps(note))
        return self._watch(_parsed(self.ledger.notes(self.number)[0], self._measurement.word))

    def _state(self) -> _State:
        """What this object knows, and what others have added since.

        The last note that it has seen must still be there.
        """
        known = self._seen
        notes = self.ledger.notes(self.number, known.feeds + known.closed)
        if not notes:
            raise self._lost()
        for text in notes[1:]:
            known = self._after(known, text)
        self._seen = known
        return known

    def _lost(self) -> LedgerCorrupt:
        return LedgerCorrupt(f"receipt {self.number} of the ledger has lost notes; nothing was answered")

    def _after(self, known: _State, text: str) -> _State:
        """After one more note; one that gives a positive back, or takes two, is none of ours."""
        if known.closed:
            raise _unreadable(self._measurement.word)
        if text == CLOSED:
            return _State(known.watch, known.feeds, closed=True)
        note = _parsed(text, self._measurement.word)
        after = self._watch(note)
        if after.left != known.watch.left - self._measurement.uses_up(note) or after.left < 0:
            raise _unreadable(self._measurement.word)
        return _State(after, known.feeds + 1)

    def _watch(self, note: Mapping[str, Any]) -> SparseState:
        try:
            return SparseState(int(note["left"]), int(note[_SECRET]))
        except (ValueError, TypeError, KeyError):
            pass
        raise _unreadable(self._measurement.word)


def public_notes(ledger: Ledger, number: int, first: int, word: str) -> list[Note | None]:
    """What is public of the comparisons that a receipt paid for; None where they were closed."""
    return [None if text == CLOSED else _public(text, word) for text in ledger.notes(number, first)]


def _public(text: str, word: str) -> Note:
    note = _parsed(text, word)
    return {name: value for name, value in note.items() if name != _SECRET}


def _parsed(text: str, word: str) -> dict[str, Any]:
    try:
        note = json.loads(text)
    except (ValueError, RecursionError):
        note = None
    if not isinstance(note, dict):
        raise _unreadable(word)
    return note


def _unreadable(word: str) -> LedgerCorrupt:
    return LedgerCorrupt(f"a note of {word} cannot be read back")  # without its text, which is secret
