"""Ledgers of format 1, which versions before the first release wrote: read and checked, to be converted.

Nothing here writes, and nothing else reads that format.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.ledger.base import Mark
from adyton.ledger.links import Header
from adyton.ledger.stored.checking import stored_facts
from adyton.ledger.texts import receipts_carried

OLD_FORMAT = 1
_PAGE = 500
_HASHED_AS_IT_IS = "text:"  # before the digest of an answer; earlier versions hashed the answer as JSON


@dataclass(frozen=True, slots=True)
class OldReceipt:
    number: int
    question: str
    detail: str
    amount: int
    radius: int
    request: str | None
    spent: int
    spent_radius: int
    asked_at: str
    previous: str

    @property
    def digest(self) -> str:
        return _digest(
            "receipt",
            self.previous,
            self.number,
            self.question,
            self.detail,
            self.amount,
            self.radius,
            self.request,
            self.spent,
            self.spent_radius,
            self.asked_at,
        )


@dataclass(frozen=True, slots=True)
class OldEntry:
    """A receipt with all that belongs to it.  ``lost``: its answer may have been shown, and is not there."""

    receipt: OldReceipt
    answer: str | None
    notes: tuple[str, ...]
    lost: bool


class OldLedger:
    """A connection to one, inside a transaction of whoever opened it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise LedgerCorrupt("the file of the ledger is damaged")
        self._has_notes, self._has_unanswered = self._has("notes"), self._has("unanswered")
        rows = connection.execute('SELECT study, currency, "limit", salt, digest FROM header').fetchall()
        try:
            ((study, filter_name, limit, salt, self.digest),) = rows
            self.header = Header(study, filter_name, int(limit), salt)
        except (ValueError, TypeError, InvalidRequest):
            raise LedgerCorrupt("the header of the ledger is damaged") from None
        if self.digest != _digest("header", study, filter_name, self.header.limit, salt):
            raise LedgerCorrupt("the header of the ledger was changed")

    def entries(self) -> Iterator[OldEntry]:
        """All of them, oldest first, each checked: that it follows, and that nothing of it was changed."""
        last: OldReceipt | None = None
        answers = notes = 0
        while page := self._page(last.number if last else 0):
            for receipt in page:
                self._check_follows(last, receipt)
                entry = self._entry(receipt)
                answers, notes, last = answers + (entry.answer is not None), notes + len(entry.notes), receipt
                yield entry
        if (answers, notes) != self._counts():
            raise LedgerCorrupt("an answer or a note of the ledger has lost its receipt")

    def facts(self) -> dict[str, str] | None:
        return stored_facts(self._connection)

    def mark(self, *, closed: bool) -> Mark:
        """How far it is, to be compared with its anchor."""
        row = self._connection.execute(_RECEIPT + "ORDER BY number DESC LIMIT 1").fetchone()
        last = _to_receipt(row) if row else None
        answers, notes = self._counts()
        if last is None:
            return Mark(self.digest, 0, self.digest, answers, notes, 0, 0, closed)
        totals = (last.spent, last.spent_radius)
        return Mark(self.digest, last.number, last.digest, answers, notes, *totals, closed)

    def receipt(self, number: int) -> OldReceipt | None:
        row = self._connection.execute(_RECEIPT + "WHERE number = ?", (number,)).fetchone()
        return _to_receipt(row) if row else None

    def _page(self, after: int) -> list[OldReceipt]:
        page = _RECEIPT + f"WHERE number > ? ORDER BY number LIMIT {_PAGE}"
        return [_to_receipt(row) for row in self._connection.execute(page, (after,)).fetchall()]

    def _check_follows(self, last: OldReceipt | None, receipt: OldReceipt) -> None:
        carried = receipts_carried(receipt.question, receipt.detail)
        first = (carried, 0, 0, self.digest)
        number, spent, radius, previous = (
            (last.number, last.spent, last.spent_radius, last.digest) if last else first
        )
        due = (number + 1, spent + receipt.amount, radius + receipt.radius, previous)
        told = (receipt.number, receipt.spent, receipt.spent_radius, receipt.previous)
        if told != due or receipt.spent > self.header.limit:
            raise LedgerCorrupt(f"receipt {receipt.number} of the ledger does not follow from the last one")

    def _entry(self, receipt: OldReceipt) -> OldEntry:
        stored = "SELECT answer, digest FROM answers WHERE number = ?"
        row = self._connection.execute(stored, (receipt.number,)).fetchone()
        if row is None:
            return OldEntry(receipt, None, self._notes(receipt), self._lost(receipt))
        answer, digest = row
        if not isinstance(answer, str) or not _is_answer_digest(digest, receipt, answer):
            raise LedgerCorrupt(f"answer {receipt.number} of the ledger was changed")
        return OldEntry(receipt, answer, self._notes(receipt), lost=False)

    def _notes(self, receipt: OldReceipt) -> tuple[str, ...]:
        if not self._has_notes:
            return ()
        stored = "SELECT place, text, digest FROM notes WHERE number = ? ORDER BY place"
        rows = self._connection.execute(stored, (receipt.number,)).fetchall()
        for index, (place, text, digest) in enumerate(rows):
            if place != index or _digest("note", receipt.digest, index, text) != digest:
                raise LedgerCorrupt(f"note {index} of receipt {receipt.number} was changed or is missing")
        return tuple(text for _, text, _ in rows)

    def _lost(self, receipt: OldReceipt) -> bool:
        if not self._has_unanswered:
            return True
        awaited = "SELECT question FROM unanswered WHERE number = ?"
        row = self._connection.execute(awaited, (receipt.number,)).fetchone()
        if row is None:
            raise LedgerCorrupt(f"the answer of receipt {receipt.number} of the ledger was removed")
        return bool(row[0] == "")

    def _counts(self) -> tuple[int, int]:
        """Of answers and of notes."""
        tables = ("answers", *(["notes"] if self._has_notes else []))
        counts = [self._connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables]
        return int(counts[0]), sum(counts[1:])

    def _has(self, table: str) -> bool:
        found = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
        return self._connection.execute(found, (table,)).fetchone() is not None


_RECEIPT = (
    "SELECT number, question, detail, amount, radius, request, spent, spent_radius, asked_at, previous, "
    "digest FROM receipts "
)


def _to_receipt(row: tuple[int, str, str, str, str, str | None, str, str, str, str, str]) -> OldReceipt:
    number, question, detail, amount, radius, request, spent, spent_radius, asked_at, previous, digest = row
    try:
        amounts = (int(amount), int(radius))
        totals = (int(spent), int(spent_radius))
        receipt = OldReceipt(number, question, detail, *amounts, request, *totals, asked_at, previous)
        intact = receipt.digest == digest and receipt.amount > 0 and receipt.radius >= 0
    except (ValueError, TypeError):
        intact = False
    if not intact:
        raise LedgerCorrupt(f"receipt {number} of the ledger was changed")
    return receipt


def _is_answer_digest(digest: str, receipt: OldReceipt, answer: str) -> bool:
    if not digest.startswith(_HASHED_AS_IT_IS):
        return digest == _digest("answer", receipt.digest, answer)
    begin = json.dumps(["adyton", OLD_FORMAT, "text of an answer", receipt.digest])
    return digest == _HASHED_AS_IT_IS + hashlib.sha256((begin + answer).encode()).hexdigest()


def _digest(kind: str, *fields: str | int | None) -> str:
    return hashlib.sha256(json.dumps(["adyton", OLD_FORMAT, kind, *fields]).encode()).hexdigest()
