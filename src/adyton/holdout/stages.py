"""The answers of a staged method: notes on the receipt that paid for them, which the kernel writes.

Queries and answers are chained, as receipts are, from the digest of the receipt on.  Secret noise is not: the
digest of a small number would give it away.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.certify import Proof
from adyton.errors import Interrupted, LedgerCorrupt
from adyton.holdout.answers.bought import no_score_left
from adyton.holdout.labels import LabelReader
from adyton.holdout.measures import Measures
from adyton.holdout.methods.base import Reply, State
from adyton.holdout.methods.ladder import FreeLadderPlan
from adyton.holdout.methods.restoring import StagedPlan
from adyton.holdout.metrics import Submission, packed, unpacked
from adyton.holdout.senders import Sender
from adyton.kernel.data import Data
from adyton.kernel.ledger import Ledger, Receipt
from adyton.kernel.noise import Bits
from adyton.kernel.paid import charge
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.comparing import Asked, Comparisons, Note
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

    def __init__(
        self, method: StagedPlan, measures: Measures, labels: LabelReader, ledger: Ledger, bits: Bits
    ) -> None:
        self._method, self._measures, self._labels = method, measures, labels
        self._lock = threading.Lock()
        query, settings = f"HOLDOUT BY {method.name}", json.dumps(method.settings())
        priced = measures.priced(method.measurement, query, settings)
        paid = charge(ledger, priced, _OPENING)  # the same receipt, however often it is opened
        self._comparisons = Comparisons(paid, Data(labels), bits)
        self.receipt: Receipt = paid.receipt
        self._state: State = method.start()
        self._best: Submission | None = None
        self._count = 0
        self._heads = [self.receipt.digest]
        self._given: dict[str, tuple[int, Reply]] = {}
        self._senders: dict[int, Sender] = {}
        self._catch_up()

    def ask(
        self, submission: Submission, guess: Fraction | None, by: Sender | None = None
    ) -> TranscriptEntry:
        """The answer to this query: as it was given before, or a new one, kept before it leaves."""
        query = _query(submission, guess)
        with self._lock:
            self._catch_up()
            if query in self._given:
                return self._stage(query, True)
            self._refuse_if_over()
            try:
                return self._add(submission, guess, by)
            except KeyboardInterrupt:
                self._catch_up()
                given = self._given.get(query)
                raise Interrupted(given[0] if given else None) from None

    def _add(self, submission: Submission, guess: Fraction | None, by: Sender | None) -> TranscriptEntry:
        query, best = _query(submission, guess), self._best
        public: Note = {
            "query": query,
            **({} if guess is None else {"guess": str(guess)}),
            **({} if by is None else {"by": by.entrant}),
            **({} if by is None or by.model is None else {"model": by.model}),
        }
        kept = {"best": packed(submission)} if isinstance(self._method, FreeLadderPlan) else {}

        def asked() -> Asked | None:
            """Nothing where another process was first with the same, the last, or a better one."""
            self._catch_up()
            if query in self._given or self._best is not best or self._method.used_up(self._state):
                return None
            return Asked(self._count, self._method.question(self._state, guess), public, kept)

        noted = self._comparisons.compare(self._reading(submission), 1, asked)
        self._catch_up()
        if noted is not None or query in self._given:
            return self._stage(query, noted is None)
        self._refuse_if_over()
        return self._add(submission, guess, by)

    def _reading(self, submission: Submission) -> Reading:
        """A ladder without a parameter looks at the difference to the best, too."""
        if self._best is None:
            return self._measures.reading(self._labels.name(submission))
        return self._measures.reading_beside(self._labels.name(submission, self._best))

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
        for note in self._comparisons.notes(self._count + 1):
            if note is None:
                raise self._unreadable()
            try:
                self._follow(note)
            except (KeyError, TypeError, ValueError):
                raise self._unreadable() from None  # without its text

    def _follow(self, note: Note) -> None:
        query, guess, value = str(note["query"]), note.get("guess"), note["value"]
        if value is not None and type(value) is not int:
            raise TypeError
        expected = None if guess is None else Fraction(guess)
        reply, self._state = self._method.answered(self._state, expected, value)
        self._count += 1
        self._given[query] = (self._count, reply)
        self._heads.append(chained(self._heads[-1], _answer_told(query, reply)))
        if "best" in note:
            self._best = unpacked(note["best"], query)
        if note.get("by") is not None:
            self._senders[self._count] = Sender(str(note["by"]), note.get("model"))

    def _unreadable(self) -> LedgerCorrupt:
        return LedgerCorrupt("a note of a holdout cannot be read back")

    def _stage(self, query: str, repeated: bool) -> TranscriptEntry:
        number, reply = self._given[query]
        return TranscriptEntry(reply, Proof(number, self._heads[number], self._heads[number - 1]), repeated)

    def _refuse_if_over(self) -> None:
        used_up = self._method.used_up(self._state)
        if used_up is not None:
            raise refused(no_score_left(*used_up))


def _query(submission: Submission, guess: Fraction | None) -> str:
    return submission.digest if guess is None else f"{submission.digest} {guess}"


def _answer_told(query: str, reply: Reply) -> dict[str, Any]:
    """What was asked and answered, as it is chained."""
    value = None if reply.value is None else str(reply.value)
    return {"query": query, "said": reply.said, "value": value, "half_width": reply.half_width}


def chained(head: str, answer: Mapping[str, Any]) -> str:
    """The digest of an answer and of all before it, whose digest is ``head``."""
    said = [head, *(answer[key] for key in ("query", "said", "value", "half_width"))]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
