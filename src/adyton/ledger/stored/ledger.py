"""A ledger in tables that only grow, whatever database keeps them: SQLite here, Postgres elsewhere.

A charge is one transaction: write lock, look at the last receipt, append, flush to the disk.  It is reported
only after the transaction has ended.

What is checked when a ledger is opened takes a time that does not grow with its history: the checkpoint is
the receipt that is 256 before the newest.  The receipts after it are replayed, and the newest answers and
notes are compared with their digests.  What lies before it is for ``verify``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.exact import decimal_text
from adyton.ledger.base import (
    Charged,
    First,
    Keep,
    Mark,
    Totals,
    charged_before,
    documented,
    next_receipt,
    now,
    same_limit,
    totals_after,
)
from adyton.ledger.links import Header, Order, Receipt, fresh_secret, note_digest, question_digest
from adyton.ledger.marks import mark_of
from adyton.ledger.replaying import replay
from adyton.ledger.stored.history import StoredHistory
from adyton.ledger.stored.notes import add_note, count_notes, read_notes
from adyton.ledger.stored.restoring import refuse_if_restored, restored_at, skipped_numbers
from adyton.ledger.stored.tables import (
    Connection,
    Kept,
    add_answer,
    append,
    await_answer,
    check_unanswered,
    count_unanswered,
    differing_facts,
    find,
    find_counting,
    find_kept,
    find_last,
    find_mentioning,
    find_request,
    is_answered,
    key_of,
    last_of_name,
    newest_unanswered,
    page_after,
    read_answer,
    read_closing,
    read_header,
    refuse_if_closed,
    refuse_if_older,
    settled_radius,
    stored_radius,
)
from adyton.ledger.texts import LARGEST_NUMBER, check_index, check_number, check_settled, check_text

CHECKPOINT = 256
_READ = 10**6  # characters of answers; any answer is compared with its digest before it is given
Found = TypeVar("Found", Receipt, Kept)


@documented
class StoredLedger(StoredHistory):
    """The contract of ``Ledger`` over a connection.  A back end says what a session and a transaction are."""

    _seen: Receipt | None = None

    def _begin(self) -> None:
        """Reads the header and checks what is newest, when the ledger is opened."""
        with self._snapshot() as connection:
            self.header = read_header(connection)
            self._seen = check_newest(connection, self.header)

    def charge(self, order: Order, first: First | None = None) -> Charged:
        with self._transaction() as connection:
            if order.request is not None:
                earlier = find_request(connection, order.request, order.by)
                if earlier is not None:
                    return charged_before(earlier, order)
            refuse_if_closed(connection)
            receipt = self._next(connection, order)
            if first is not None:
                first(receipt)
            append(connection, receipt)
            await_answer(connection, receipt)
            self._written(receipt)
        self._seen = receipt
        return Charged(receipt, fresh=True)

    def remember(self, number: int, answer: str, radius: int | None = None) -> str:
        check_number(number)
        check_text(answer, "an answer")
        # Durable before it is shown: if a shown answer could be lost, its receipt could release a second one.
        with self._transaction() as connection:
            kept = _paid(find_kept(connection, number), number)
            receipt = kept.receipt
            radius = check_settled(radius, receipt.order.radius)
            if kept.answer is not None:
                return kept.answer
            if kept.may_be_closed:
                refuse_if_closed(connection)
                refuse_if_restored(connection, number)
            refuse_if_older(kept)
            add_answer(connection, receipt, key_of(receipt.order), answer, radius)
            is_answered(connection, number)
        return answer

    def recall(self, number: int) -> str | None:
        check_number(number)
        with self._session() as connection:
            receipt = find(connection, "number = ?", number)
            return read_answer(connection, receipt) if receipt else None

    def settled(self, number: int) -> int:
        check_number(number)
        with self._session() as connection:
            return settled_radius(connection, _paid(find(connection, "number = ?", number), number))

    def annotate(self, number: int, index: int, text: str) -> bool:
        check_number(number)
        check_index(index)
        check_text(text, "a note")
        with self._transaction() as connection:
            receipt = _paid(find(connection, "number = ?", number), number)
            refuse_if_closed(connection)
            refuse_if_restored(connection, number)
            return add_note(connection, receipt, index, text)

    def notes(self, number: int, first: int = 0) -> list[str]:
        check_number(number)
        check_index(first)
        with self._session() as connection:
            receipt = find(connection, "number = ?", number)
            return read_notes(connection, receipt, first) if receipt else []

    def receipt(self, number: int) -> Receipt | None:
        check_number(number)
        with self._session() as connection:
            return find(connection, "number = ?", number)

    def repeated(self, question: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        newest = "SELECT number FROM answers WHERE question = ? ORDER BY number DESC LIMIT 1"
        with self._session() as connection:
            row = connection.execute(newest, (question_digest(question, detail, amount),)).fetchone()
            receipt = find(connection, "number = ?", row[0]) if row else None
            answer = read_answer(connection, receipt) if receipt else None
        if receipt is None or answer is None:
            return None
        # The index is not part of the chain: believe the receipt, not the row that led to it.
        order = receipt.order
        if (order.question, order.detail, order.amount) != (question, detail, amount):
            raise LedgerCorrupt(f"answer {receipt.number} of the ledger is filed under another question")
        return receipt, answer

    def unanswered(self, question: str, detail: str, amount: int) -> Receipt | None:
        with self._session() as connection:
            number = newest_unanswered(connection, question_digest(question, detail, amount))
            receipt = find(connection, "number = ?", number) if number is not None else None
            if receipt is None or read_answer(connection, receipt) is not None:
                return None
            if receipt.number < restored_at(connection):
                return None  # it may have been answered, and the copy that was put back has forgotten it
        order = receipt.order  # believe the receipt, as above
        if (order.question, order.detail, order.amount) != (question, detail, amount):
            raise LedgerCorrupt(f"receipt {receipt.number} of the ledger is filed under another question")
        return receipt

    def requested(self, request: str, by: str | None = None) -> Receipt | None:
        with self._session() as connection:
            return find_request(connection, request, by)

    def totals(self) -> Totals:
        with self._session() as connection:
            last, settled = find_last(connection)
        if last != self._seen:  # others have charged: what they wrote is checked
            with self._snapshot() as connection:
                last, settled = self._last(connection)
        return totals_after(last, settled)

    def spent_by(self, by: str | None) -> int:
        with self._session() as connection:
            last = last_of_name(connection, by, LARGEST_NUMBER)
            return last.spent_by if last else 0

    def head(self) -> str:
        last = self._newest()
        return last.digest if last else self.header.digest

    def mentioning(self, words: Sequence[str], after: int) -> list[Receipt]:
        with self._session() as connection:
            return find_mentioning(connection, words, after)

    def counting(self, start: str, end: str, after: int, below: int) -> Receipt | None:
        with self._session() as connection:
            return find_counting(connection, start, end, after, below)

    def mark(self, keep: Keep | None = None) -> Mark:
        with self._snapshot() if keep is None else self._transaction() as connection:
            mark = self._mark_of(connection)
            if keep is not None:
                keep(mark, partial(find, connection, "number = ?"))
            return mark

    def _mark_of(self, connection: Connection) -> Mark:
        last, _ = self._last(connection)
        first = find(connection, "true ORDER BY number LIMIT 1")
        asked = last.number - first.number + 1 - skipped_numbers(connection) if last and first else 0
        answers, closed = asked - count_unanswered(connection), bool(read_closing(connection))
        return mark_of(self.header, last, answers, count_notes(connection), closed=closed)

    def _totals_of(self, connection: Connection) -> Totals:
        return totals_after(*self._last(connection))

    def _next(self, connection: Connection, order: Order) -> Receipt:
        """Looks at the last receipt, at whether it is answered, and at the last one of this name: no more."""
        last, settled = self._last(connection)
        own = last
        if last is not None and last.order.by != order.by:
            own = last_of_name(connection, order.by, last.number)
        return next_receipt(
            self.header, last, order, now(), settled=settled, last_of_name=own, secret=fresh_secret()
        )

    def _newest(self) -> Receipt | None:
        with self._snapshot() as connection:  # of one moment: between two others may charge
            return self._last(connection)[0]

    def _written(self, receipt: Receipt) -> None:
        """Called before the transaction of a charge ends, for stores that may not learn how it ended."""

    def _last_of(self, connection: Connection) -> Receipt | None:
        return self._last(connection)[0]

    def _last(self, connection: Connection) -> tuple[Receipt | None, int]:
        """The last receipt, its digest computed anew, and what its radius came to; what this process saw
        earlier must still be there.
        """
        last, settled = find_last(connection)
        seen = self._seen
        if seen not in (None, last) and find(connection, "number = ?", seen.number) != seen:
            raise LedgerCorrupt("the ledger was rolled back while it was in use; nothing was answered")
        if last is not seen and last != seen:
            check_since(connection, self.header, seen, last)
        self._seen = last
        return last, settled


def _paid(found: Found | None, number: int) -> Found:
    if found is None:
        raise InvalidRequest(f"there is no receipt {number}")
    return found


def check_owner(
    ledger: StoredLedger,
    name: str,
    study: str,
    filter_name: str,
    limit: int,
    facts: Mapping[str, str] | None,
) -> None:
    """InvalidRequest, with what differs, unless the ledger belongs to this very study."""
    header = ledger.header
    differences = [
        f"{what} {theirs}, not {ours}"
        for what, theirs, ours in (
            ("filter", header.filter_name, filter_name),
            ("limit", decimal_text(header.limit), decimal_text(limit)),
        )
        if theirs != ours and not (what == "limit" and same_limit(header.limit, limit))
    ]
    if header.study != study:
        with ledger._session() as connection:
            which = differing_facts(connection, facts)
        differences = [f"other public facts ({which}); {_WAY_OUT}"]
    if differences:
        raise InvalidRequest(
            f"the ledger {name} does not belong to this study: "
            f"it was made for {' and for '.join(differences)}"
        )


_WAY_OUT = (
    "undo what was changed in the study file, go on under corrected facts (adyton amend), "
    "or start a new study"
)


# What is checked when a ledger is opened -------------------------------------------------------------------


def check_newest(connection: Connection, header: Header) -> Receipt | None:
    """The newest receipt, if it and what it rests on since the checkpoint are as they were written."""
    last = find(connection, "true ORDER BY number DESC LIMIT 1")
    check_since(connection, header, None, last)
    number = last.number if last else 0
    for table in ("answers", "notes"):
        (newest,) = connection.execute(f"SELECT MAX(number) FROM {table}").fetchone()
        if newest is not None and newest > number:
            raise LedgerCorrupt(f"receipt {newest} of the ledger is missing; what it paid for is still there")
    check_unanswered(connection, number - CHECKPOINT)
    _check_answers(connection, number)
    _check_notes(connection)
    return last


def check_since(connection: Connection, header: Header, seen: Receipt | None, last: Receipt | None) -> None:
    """Replays what follows the receipt that was seen before, or the checkpoint if that is nearer."""
    if last is None:
        return
    base = seen
    if seen is None or last.number - seen.number > CHECKPOINT:
        base = _checkpoint(connection, last)
    before = base.number if base else 0
    receipts = page_after(connection, before, CHECKPOINT)
    known = {receipt.number: receipt for receipt in (*([base] if base else []), *receipts)}
    again = replay(
        header,
        receipts,
        None,
        base,
        settled=lambda number: stored_radius(connection, known[number]),
        of_name=lambda by: last_of_name(connection, by, before),
    )
    if again.head != last.digest:
        raise LedgerCorrupt(f"receipts before receipt {last.number} of the ledger are missing")


def _checkpoint(connection: Connection, last: Receipt) -> Receipt | None:
    """None if the ledger is shorter than that: then its header is where the replay begins."""
    number = last.number - CHECKPOINT
    first = find(connection, "true ORDER BY number LIMIT 1")
    if first is None or first.number > number:
        return None
    found = find(connection, "number <= ? ORDER BY number DESC LIMIT 1", number)
    if found is None:
        raise LedgerCorrupt(f"receipt {number} of the ledger is missing")
    return found


def _check_answers(connection: Connection, last: int) -> None:
    numbers = "SELECT number FROM answers WHERE number > ? ORDER BY number DESC"
    read = 0
    for (number,) in connection.execute(numbers, (last - CHECKPOINT,)).fetchall():
        receipt = find(connection, "number = ?", number)
        read += len(read_answer(connection, receipt) or "") if receipt else 0
        if read > _READ:
            return


def _check_notes(connection: Connection) -> None:
    """Notes are never deleted, so SQLite numbers them without a gap, in the order of their writing."""
    (most,) = connection.execute("SELECT MAX(rowid) FROM notes").fetchone()
    newest = "SELECT number, place, text, digest FROM notes WHERE rowid > ?"
    rows = connection.execute(newest, (max((most or 0) - CHECKPOINT, 0),)).fetchall()
    if len(rows) != min(most or 0, CHECKPOINT):
        raise LedgerCorrupt("a note of the ledger is missing")
    for number, place, text, digest in rows:
        receipt = find(connection, "number = ?", number)
        if receipt is None or note_digest(receipt, place, text) != digest:
            raise LedgerCorrupt(f"note {place} of receipt {number} was changed")
