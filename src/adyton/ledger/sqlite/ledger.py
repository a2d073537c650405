"""A ledger in one SQLite file, for any number of threads and processes of one machine.

A charge is one transaction: write lock, look at the last receipt, append, flush to the disk.  It is reported
only after COMMIT has returned.  Whatever SQLite cannot do becomes ``LedgerCorrupt``, and nothing is answered.
The file must be on a local disk: write-ahead logging needs memory that all its readers share.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.exact import decimal_text
from adyton.ledger.base import (
    Charged,
    FromTotals,
    Keep,
    Mark,
    Totals,
    Verification,
    charged_before,
    documented,
    mark_of,
    next_receipt,
    now,
    same_limit,
    totals_after,
)
from adyton.ledger.links import Header, Order, Receipt, fresh_secret, question_digest
from adyton.ledger.replaying import replay
from adyton.ledger.sqlite.closing import write_closing
from adyton.ledger.sqlite.file import (
    SqliteSession,
    differing_facts,
    find_counting,
    find_mentioning,
    make_file,
)
from adyton.ledger.sqlite.notes import add_note, check_notes, count_notes, numbers_with_notes, read_notes
from adyton.ledger.sqlite.tables import (
    Kept,
    add_answer,
    append,
    await_answer,
    check_answer,
    check_newest,
    check_since,
    check_unanswered,
    count_unanswered,
    find,
    find_kept,
    find_last,
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

Found = TypeVar("Found", Receipt, Kept)
_PAGE = 500  # rows read at once when the whole history is read


@documented
class SqliteLedger(FromTotals, SqliteSession):
    """The contract of ``Ledger`` over a file.

    ``SqliteLedger(path)`` takes whatever ledger is there; a curator uses ``open``, which asks whose it is.

    >>> SqliteLedger.create(folder / "my.ledger", MemoryLedger.of(study).header).count()
    0
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._seen: Receipt | None = None
        try:
            with self._snapshot() as connection:
                self.header = read_header(connection)
                self._seen = check_newest(connection, self.header)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | Path, header: Header, facts: Mapping[str, str] | None = None) -> SqliteLedger:
        """A new ledger; an existing file is never overwritten.  ``facts``: what its study says, by name."""
        make_file(Path(path).absolute(), header, facts)
        return cls(path)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        study: str,
        filter_name: str,
        limit: int,
        facts: Mapping[str, str] | None = None,
    ) -> SqliteLedger:
        """The ledger of this very study, or an error that says what differs."""
        ledger = cls(path)
        try:
            _check_owner(ledger, study, filter_name, limit, facts)
        except BaseException:
            ledger.close()
            raise
        return ledger

    @classmethod
    def open_or_create(
        cls, path: str | Path, header: Header, facts: Mapping[str, str] | None = None
    ) -> SqliteLedger:
        """For a study that may be new.  Of several processes that try at once, one creates and all open."""
        path = Path(path).absolute()
        if not path.exists():
            try:
                make_file(path, header, facts)
            except InvalidRequest:
                if not path.exists():
                    raise
        return cls.open(
            path, study=header.study, filter_name=header.filter_name, limit=header.limit, facts=facts
        )

    def charge(self, order: Order) -> Charged:
        with self._transaction() as connection:
            if order.request is not None:
                earlier = find_request(connection, order.request, order.by)
                if earlier is not None:
                    return charged_before(earlier, order)
            refuse_if_closed(connection)
            receipt = self._next(connection, order)
            append(connection, receipt)
            await_answer(connection, receipt)
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

    def receipts(self) -> Iterator[Receipt]:
        # Page by page, so that a slow reader holds no lock; what is append-only cannot change in between.
        number = 0
        while page := self._page(number):
            yield from page
            number = page[-1].number

    def mentioning(self, words: Sequence[str], after: int) -> list[Receipt]:
        with self._session() as connection:
            return find_mentioning(connection, words, after)

    def counting(self, start: str, end: str, after: int, below: int) -> Receipt | None:
        with self._session() as connection:
            return find_counting(connection, start, end, after, below)

    def verify(self, head: str | None = None) -> Verification:
        with self._session() as connection:
            if read_header(connection) != self.header:
                raise LedgerCorrupt("the header of the ledger was exchanged")
            if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise LedgerCorrupt("the file of the ledger is damaged")
            check_unanswered(connection, 0)
        found = replay(self.header, self.receipts(), head, settled=self._stored_radius)
        self._check_answers()
        self._check_notes()
        self._newest()  # also compares with the last receipt that this process has seen
        return found

    def mark(self, keep: Keep | None = None) -> Mark:
        with self._snapshot() if keep is None else self._transaction() as connection:
            last, _ = self._last(connection)
            first = find(connection, "true ORDER BY number LIMIT 1")
            asked = last.number - first.number + 1 if last and first else 0
            answers, closed = asked - count_unanswered(connection), bool(read_closing(connection))
            mark = mark_of(self.header, last, answers, count_notes(connection), closed=closed)
            if keep is not None:
                keep(mark, partial(find, connection, "number = ?"))
            return mark

    def closing(self) -> list[str]:
        """Nothing while it is open; then why it was closed; and a second text when that was carried out."""
        with self._session() as connection:
            return read_closing(connection)

    def close_for_good(self, say: Callable[[Receipt | None], str]) -> list[str]:
        """Nothing is charged, answered or noted from now on; ``say`` gets the last receipt and tells why."""
        with self._transaction() as connection:
            if not read_closing(connection):
                write_closing(connection, say(self._last(connection)[0]))
            return read_closing(connection)

    def carried_out(self, text: str) -> None:
        """That another ledger goes on where this one was closed."""
        with self._transaction() as connection:
            if len(read_closing(connection)) == 1:
                write_closing(connection, text)

    def _next(self, connection: sqlite3.Connection, order: Order) -> Receipt:
        """Looks at the last receipt, at whether it is answered, and at the last one of this name: no more."""
        last, settled = self._last(connection)
        own = last
        if last is not None and last.order.by != order.by:
            own = last_of_name(connection, order.by, last.number)
        return next_receipt(
            self.header,
            last,
            order,
            now(),
            settled=settled,
            last_of_name=own,
            secret=fresh_secret(),
        )

    def _stored_radius(self, number: int) -> int | None:
        with self._session() as connection:
            return stored_radius(connection, _paid(find(connection, "number = ?", number), number))

    def _newest(self) -> Receipt | None:
        with self._snapshot() as connection:  # of one moment: between two others may charge
            return self._last(connection)[0]

    def _last(self, connection: sqlite3.Connection) -> tuple[Receipt | None, int]:
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

    def _page(self, after: int) -> list[Receipt]:
        with self._session() as connection:
            return page_after(connection, after, _PAGE)

    def _check_answers(self) -> None:
        number = 0
        numbers = "SELECT number FROM answers WHERE number > ? ORDER BY number LIMIT ?"
        while True:
            with self._session() as connection:
                page = [row[0] for row in connection.execute(numbers, (number, _PAGE))]
                for number in page:
                    check_answer(connection, number)
            if not page:
                return

    def _check_notes(self) -> None:
        with self._session() as connection:
            numbers = numbers_with_notes(connection)
        for number in numbers:  # one receipt at a time, so that a long stream does not hold the lock
            with self._session() as connection:
                check_notes(connection, find(connection, "number = ?", number), number)


def _paid(found: Found | None, number: int) -> Found:
    if found is None:
        raise InvalidRequest(f"there is no receipt {number}")
    return found


def _check_owner(
    ledger: SqliteLedger, study: str, filter_name: str, limit: int, facts: Mapping[str, str] | None
) -> None:
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
            f"the ledger {ledger.path.name} does not belong to this study: "
            f"it was made for {' and for '.join(differences)}"
        )


_WAY_OUT = (
    "undo what was changed in the study file, go on under corrected facts (adyton amend), "
    "or start a new study"
)
