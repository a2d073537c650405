"""The state of a staged method: notes on the receipt that paid for it, in the order in which they happened.

Note 0 is the first state, its secret noise among it.  Note k is answer k together with what it changed in the
state: one note, so that no crash and no second process can come between the two.  Queries and answers are
chained, as receipts are, from the digest of the receipt on.  The state is not: a digest of secret noise, a
small number, would give it away.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.certify import Proof
from adyton.errors import Interrupted, LedgerCorrupt
from adyton.holdout.answers.bought import no_score_left
from adyton.holdout.methods.base import Reply, State
from adyton.holdout.methods.restoring import StagedPlan
from adyton.holdout.metrics import Steps
from adyton.holdout.senders import Sender
from adyton.kernel.ledger import Ledger, Order, Receipt
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.noise import Bits
from adyton.refusals import refused

_OPENING = "opening"


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """One answer, its link in the chain, and ``repeated`` if it had been given before."""

    reply: Reply
    link: Proof
    repeated: bool


class Transcript:
    """What was answered, by anybody, and what comes next."""

    def __init__(self, method: StagedPlan, ledger: Ledger, bits: Bits) -> None:
        self._method, self._ledger, self._bits = method, ledger, bits
        self._lock = threading.Lock()
        settings, subject = json.dumps(method.settings()), ReceiptSubject("holdout method")
        order = Order(f"HOLDOUT BY {method.name}", settings, method.price, 0, _OPENING, subject=subject)
        self.receipt: Receipt = ledger.charge(order).receipt  # the same receipt, however often it is opened
        notes = ledger.notes(self.receipt.number)
        if not notes:
            ledger.annotate(self.receipt.number, 0, json.dumps(method.start(bits)))
            notes = ledger.notes(self.receipt.number)  # another process may have been first
        self._state: State = _read(notes[0])
        self._count = 0
        self._heads = [self.receipt.digest]
        self._given: dict[str, tuple[int, Reply]] = {}
        self._senders: dict[int, Sender] = {}
        self._follow(notes[1:])

    def ask(
        self, digest: str, guess: Fraction | None, read: Callable[[], Steps], by: Sender | None = None
    ) -> TranscriptEntry:
        """The answer to this query: as it was given before, or a new one, kept before it leaves."""
        query = digest if guess is None else f"{digest} {guess}"
        with self._lock:
            self._catch_up()
            if query in self._given:
                return self._stage(query, True)
            self._refuse_if_over()
            try:
                return self._add(query, read(), guess, by)
            except KeyboardInterrupt:
                self._catch_up()
                given = self._given.get(query)
                raise Interrupted(given[0] if given else None) from None

    def _add(self, query: str, values: Steps, guess: Fraction | None, by: Sender | None) -> TranscriptEntry:
        while True:
            reply, after = self._method.step(self._state, values, guess, self._bits)
            note = _written(query, reply, self._state, after, by)
            if self._ledger.annotate(self.receipt.number, self._count + 1, note):
                self._catch_up()
                return self._stage(query, False)
            # Another process was first: what was found here is forgotten, never released.
            self._catch_up()
            if query in self._given:
                return self._stage(query, True)
            self._refuse_if_over()

    def left(self) -> int | None:
        with self._lock:
            self._catch_up()
            return self._method.left(self._state)

    def count(self) -> int:
        with self._lock:
            self._catch_up()
            return self._count

    def history(self) -> list[TranscriptEntry]:
        """Every answer so far, in order."""
        with self._lock:
            self._catch_up()
            return [self._stage(query, True) for query in self._given]

    def answers(self) -> list[dict[str, Any]]:
        """What each link after the receipt is the digest of, in order.  The state is not among it."""
        with self._lock:
            self._catch_up()
            return [_answer_told(query, reply) for query, (_, reply) in self._given.items()]

    def heads(self) -> list[str]:
        """The digest of the receipt, and of every answer with all before it."""
        with self._lock:
            self._catch_up()
            return list(self._heads)

    def senders(self) -> dict[int, Sender]:
        with self._lock:
            self._catch_up()
            return dict(self._senders)

    def _catch_up(self) -> None:
        """What others have added since."""
        self._follow(self._ledger.notes(self.receipt.number, self._count + 1))

    def _follow(self, notes: list[str]) -> None:
        for text in notes:
            note = _read(text)
            self._count += 1
            self._state = {**self._state, **note["state"]}
            self._given[note["query"]] = (self._count, _reply(note))
            self._heads.append(chained(self._heads[-1], note))
            if note.get("by") is not None:
                self._senders[self._count] = Sender(str(note["by"]), note.get("model"))

    def _stage(self, query: str, repeated: bool) -> TranscriptEntry:
        number, reply = self._given[query]
        return TranscriptEntry(reply, Proof(number, self._heads[number], self._heads[number - 1]), repeated)

    def _refuse_if_over(self) -> None:
        used_up = self._method.used_up(self._state)
        if used_up is not None:
            raise refused(no_score_left(*used_up))


def _written(query: str, reply: Reply, before: State, after: State, by: Sender | None) -> str:
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    note = {
        **_answer_told(query, reply),
        "state": changed,
        **({} if by is None else {"by": by.entrant}),
        **({} if by is None or by.model is None else {"model": by.model}),
    }
    return json.dumps(note)


def _answer_told(query: str, reply: Reply) -> dict[str, Any]:
    """What was asked and answered, as it is chained."""
    value = None if reply.value is None else str(reply.value)
    return {"query": query, "said": reply.said, "value": value, "half_width": reply.half_width}


def chained(head: str, answer: Mapping[str, Any]) -> str:
    """The digest of an answer and of all before it, whose digest is ``head``."""
    said = [head, *(answer[key] for key in ("query", "said", "value", "half_width"))]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _read(text: str) -> State:
    try:
        note: State = json.loads(text)
    except ValueError:
        raise LedgerCorrupt("a note of a holdout cannot be read back") from None  # without its text
    return note


def _reply(note: State) -> Reply:
    value = None if note["value"] is None else Fraction(note["value"])
    return Reply(str(note["said"]), value, note["half_width"])
