"""What is done with the whole history of a stored ledger: listed, verified, closed for good."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from adyton.errors import LedgerCorrupt
from adyton.ledger.base import FromTotals, Mark, Totals, Verification
from adyton.ledger.links import Order, Receipt
from adyton.ledger.replaying import replay
from adyton.ledger.stored.closing import write_closing
from adyton.ledger.stored.notes import check_notes, numbers_with_notes
from adyton.ledger.stored.restoring import restoring_order, write_restored
from adyton.ledger.stored.tables import (
    Connection,
    append,
    await_answer,
    check_answer,
    check_unanswered,
    find,
    page_after,
    read_closing,
    read_header,
    refuse_if_closed,
    stored_radius,
)

_PAGE = 500  # rows read at once


class StoredHistory(FromTotals):
    """Over a connection.  A back end says what a session and a transaction are."""

    @abstractmethod
    def _session(self) -> AbstractContextManager[Connection]:
        """A connection, for one thread at a time; whatever goes wrong in it is LedgerCorrupt."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Connection]:
        """Alone among all writers, and durable when it ends: what depends on it may be shown."""

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[Connection]:
        """To read several things of one moment."""

    @abstractmethod
    def _check_storage(self, connection: Connection) -> None:
        """LedgerCorrupt if the database itself says that it is damaged."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of the connection."""

    @abstractmethod
    def _newest(self) -> Receipt | None:
        """The last receipt, compared with the last one that this process has seen."""

    def receipts(self) -> Iterator[Receipt]:
        # Page by page, so that a slow reader holds no lock; what is append-only cannot change in between.
        number = 0
        while page := self._page(number):
            yield from page
            number = page[-1].number

    def verify(self, head: str | None = None) -> Verification:
        with self._session() as connection:
            if read_header(connection) != self.header:
                raise LedgerCorrupt("the header of the ledger was exchanged")
            self._check_storage(connection)
            check_unanswered(connection, 0)
        found = replay(self.header, self.receipts(), head, settled=self._stored_radius)
        self._check_answers()
        self._check_notes()
        self._newest()  # also compares with the last receipt that this process has seen
        return found

    def closing(self) -> list[str]:
        """Nothing while it is open; then why it was closed; and a second text when that was carried out."""
        with self._session() as connection:
            return read_closing(connection)

    def close_for_good(self, say: Callable[[Receipt | None], str]) -> list[str]:
        """Nothing is charged, answered or noted from now on; ``say`` gets the last receipt and tells why."""
        with self._transaction() as connection:
            if not read_closing(connection):
                write_closing(connection, say(self._last_of(connection)))
            return read_closing(connection)

    def restore(self, kept: Mark) -> Receipt:
        """Goes on with a copy that was put back, after all that its anchor has seen (``restoring``)."""
        with self._transaction() as connection:
            refuse_if_closed(connection)
            mark, totals = self._mark_of(connection), self._totals_of(connection)
            receipt = self._next(connection, restoring_order(self.header, kept, mark, totals))
            append(connection, receipt)
            await_answer(connection, receipt)
            write_restored(connection, receipt.number, receipt.number - totals.receipts - 1)
            self._written(receipt)
        self._newest()
        return receipt

    def carried_out(self, text: str) -> None:
        """That another ledger goes on where this one was closed."""
        with self._transaction() as connection:
            if len(read_closing(connection)) == 1:
                write_closing(connection, text)

    @abstractmethod
    def _next(self, connection: Connection, order: Order) -> Receipt:
        """The receipt that an order would get, or a refusal."""

    @abstractmethod
    def _written(self, receipt: Receipt) -> None:
        """Called before the transaction of a charge ends."""

    @abstractmethod
    def _mark_of(self, connection: Connection) -> Mark:
        """How far the ledger is, inside of a transaction."""

    @abstractmethod
    def _totals_of(self, connection: Connection) -> Totals:
        """What the next receipt builds on, inside of a transaction."""

    @abstractmethod
    def _last_of(self, connection: Connection) -> Receipt | None:
        """The last receipt, inside of a transaction."""

    def _stored_radius(self, number: int) -> int | None:
        with self._session() as connection:
            receipt = find(connection, "number = ?", number)
            if receipt is None:
                raise LedgerCorrupt(f"receipt {number} of the ledger is missing")
            return stored_radius(connection, receipt)

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
