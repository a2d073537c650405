"""A ledger in one SQLite file, for any number of threads and processes of one machine.

A charge is one transaction: write lock, look at the last receipt, append, flush to the disk.  It is reported
only after COMMIT has returned.  Whatever SQLite cannot do becomes ``LedgerCorrupt``, and nothing is answered.
The file must be on a local disk: write-ahead logging needs memory that all its readers share.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.exact import decimal_text
from adyton.ledger.base import (
    Charged,
    Header,
    Order,
    Receipt,
    Verification,
    answer_digest,
    charged_before,
    next_receipt,
    now,
    question_digest,
    replay,
)
from adyton.ledger.checks import check_index, check_number, check_text
from adyton.ledger.sqlite_file import make_file
from adyton.ledger.sqlite_notes import (
    add_note,
    check_notes,
    make_notes,
    numbers_with_notes,
    read_notes,
)
from adyton.ledger.sqlite_rows import append, check_answer, find, page_after, read_answer, read_header
from adyton.ledger.sqlite_session import SqliteSession

_PAGE = 500  # rows read at once when the whole history is read


class SqliteLedger(SqliteSession):
    """The contract of ``Ledger`` over a file.

    ``SqliteLedger(path)`` takes whatever ledger is there; a curator uses ``open``, which asks whose it is.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._seen: Receipt | None = None
        try:
            with self._session() as connection:
                self.header = read_header(connection)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | Path, header: Header) -> SqliteLedger:
        """A new ledger; an existing file is never overwritten."""
        make_file(Path(path).absolute(), header)
        return cls(path)

    @classmethod
    def open(cls, path: str | Path, *, study: str, currency: str, limit: int) -> SqliteLedger:
        """The ledger of this very study, or an error that says what differs."""
        ledger = cls(path)
        try:
            _check_owner(ledger, study, currency, limit)
        except InvalidRequest:
            ledger.close()
            raise
        return ledger

    @classmethod
    def open_or_create(cls, path: str | Path, header: Header) -> SqliteLedger:
        """For a study that may be new.  Of several processes that try at once, one creates and all open."""
        path = Path(path).absolute()
        if not path.exists():
            try:
                make_file(path, header)
            except InvalidRequest:
                if not path.exists():
                    raise
        return cls.open(path, study=header.study, currency=header.currency, limit=header.limit)

    def charge(self, order: Order) -> Charged:
        with self._transaction() as connection:
            if order.request is not None:
                earlier = find(connection, "request = ?", order.request)
                if earlier is not None:
                    return charged_before(earlier, order)
            receipt = next_receipt(self.header, self._last(connection), order, now())
            append(connection, receipt)
        self._seen = receipt
        return Charged(receipt, fresh=True)

    def remember(self, number: int, answer: str) -> str:
        check_number(number)
        check_text(answer, "an answer")
        # The charge is on the disk.  Who loses the answer with the power may ask, and pay, again.
        with self._transaction(durable=False) as connection:
            receipt = find(connection, "number = ?", number)
            if receipt is None:
                raise InvalidRequest(f"there is no receipt {number}")
            stored = read_answer(connection, receipt)
            if stored is not None:
                return stored
            order = receipt.order
            key = question_digest(order.question, order.detail, order.amount)
            row = (number, key, answer, answer_digest(receipt, answer))
            connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", row)
        return answer

    def recall(self, number: int) -> str | None:
        check_number(number)
        with self._session() as connection:
            receipt = find(connection, "number = ?", number)
            return read_answer(connection, receipt) if receipt else None

    def annotate(self, number: int, index: int, text: str) -> bool:
        check_number(number)
        check_index(index)
        check_text(text, "a note")
        with self._transaction() as connection:
            receipt = find(connection, "number = ?", number)
            if receipt is None:
                raise InvalidRequest(f"there is no receipt {number}")
            make_notes(connection)
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

    def requested(self, request: str) -> Receipt | None:
        with self._session() as connection:
            return find(connection, "request = ?", request)

    def spent(self) -> int:
        last = self._newest()
        return last.spent if last else 0

    def spent_radius(self) -> int:
        last = self._newest()
        return last.spent_radius if last else 0

    def head(self) -> str:
        last = self._newest()
        return last.digest if last else self.header.digest

    def count(self) -> int:
        last = self._newest()
        return last.number if last else 0

    def receipts(self) -> Iterator[Receipt]:
        # Page by page, so that a slow reader holds no lock; what is append-only cannot change in between.
        number = 0
        while page := self._page(number):
            yield from page
            number = page[-1].number

    def verify(self, expected_head: str | None = None) -> Verification:
        with self._session() as connection:
            if read_header(connection) != self.header:
                raise LedgerCorrupt("the header of the ledger was exchanged")
            if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise LedgerCorrupt("the file of the ledger is damaged")
        found = replay(self.header, self.receipts(), expected_head)
        self._check_answers()
        self._check_notes()
        self._newest()  # also compares with the last receipt that this process has seen
        return found

    def _newest(self) -> Receipt | None:
        with self._session() as connection:
            return self._last(connection)

    def _last(self, connection: sqlite3.Connection) -> Receipt | None:
        """The last receipt, its digest computed anew; what this process saw earlier must still be there."""
        last = find(connection, "true ORDER BY number DESC LIMIT 1")
        seen = self._seen
        if seen not in (None, last) and find(connection, "number = ?", seen.number) != seen:
            raise LedgerCorrupt("the ledger was rolled back while it was in use; nothing was answered")
        self._seen = last
        return last

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


def _check_owner(ledger: SqliteLedger, study: str, currency: str, limit: int) -> None:
    header = ledger.header
    differences = [
        f"{what} {theirs}, not {ours}"
        for what, theirs, ours in (
            ("currency", header.currency, currency),
            ("limit", decimal_text(header.limit), decimal_text(limit)),
        )
        if theirs != ours and not (what == "limit" and _same_limit(header.limit, limit))
    ]
    if header.study != study:
        differences = ["other public facts; undo what was changed in the study file, or start a new study"]
    if differences:
        raise InvalidRequest(
            f"the ledger {ledger.path.name} does not belong to this study: "
            f"it was made for {' and for '.join(differences)}"
        )


def _same_limit(theirs: int, ours: int) -> bool:
    """The last digits of a conversion may differ between versions of a library; the written limit rules."""
    return abs(theirs - ours) * 10**6 <= ours
