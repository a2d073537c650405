"""A ledger that is made by the first charge: a file, or a schema of a Postgres database.

Until then a study may still be edited: looking at it, or previewing a question, leaves nothing behind.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adyton.errors import InvalidRequest
from adyton.ledger.base import Charged, First, Keep, Mark, Totals, Verification, check_first
from adyton.ledger.links import Header, Order, Receipt
from adyton.ledger.marks import mark_of
from adyton.ledger.replaying import replay
from adyton.ledger.stored.sqlite import SqliteLedger
from adyton.ledger.texts import is_address

if TYPE_CHECKING:
    from adyton.ledger.stored.ledger import StoredLedger


class LedgerOnDemand:
    """The contract of ``Ledger``: empty until the first charge, from then on what is stored at ``place``."""

    def __init__(
        self,
        place: str | Path,
        *,
        study: str,
        filter_name: str,
        limit: int,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        self._address = str(place) if is_address(place) else None
        self._path = Path(place).absolute()
        self._unwritten = Header.fresh(study, filter_name, limit)
        self._facts = facts
        self._file: StoredLedger | None = None
        self._lock = threading.Lock()
        self._written()  # a ledger of another study is refused at once

    @property
    def header(self) -> Header:
        file = self._written()
        return file.header if file else self._unwritten

    @property
    def file(self) -> Path | None:
        """Where it is written; None as long as nothing is, or if that is a database."""
        return self._path if self._address is None and self._file is not None else None

    def charge(self, order: Order, first: First | None = None) -> Charged:
        if self._written() is None:
            check_first(self._unwritten, order)  # what is refused leaves no file either
        return self._opened().charge(order, first)

    def remember(self, number: int, answer: str, radius: int | None = None) -> str:
        return self._opened().remember(number, answer, radius)

    def recall(self, number: int) -> str | None:
        file = self._written()
        return file.recall(number) if file else None

    def settled(self, number: int) -> int:
        file = self._written()
        if file is None:
            raise InvalidRequest(f"there is no receipt {number}")
        return file.settled(number)

    def annotate(self, number: int, index: int, text: str) -> bool:
        return self._opened().annotate(number, index, text)

    def notes(self, number: int, first: int = 0) -> list[str]:
        file = self._written()
        return file.notes(number, first) if file else []

    def receipt(self, number: int) -> Receipt | None:
        file = self._written()
        return file.receipt(number) if file else None

    def repeated(self, question: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        file = self._written()
        return file.repeated(question, detail, amount) if file else None

    def unanswered(self, question: str, detail: str, amount: int) -> Receipt | None:
        file = self._written()
        return file.unanswered(question, detail, amount) if file else None

    def requested(self, request: str, by: str | None = None) -> Receipt | None:
        file = self._written()
        return file.requested(request, by) if file else None

    def totals(self) -> Totals:
        file = self._written()
        return file.totals() if file else Totals()

    def spent(self) -> int:
        file = self._written()
        return file.spent() if file else 0

    def spent_radius(self) -> int:
        file = self._written()
        return file.spent_radius() if file else 0

    def spent_by(self, by: str | None) -> int:
        file = self._written()
        return file.spent_by(by) if file else 0

    def left(self, spent: int) -> int:
        return self.header.limit - spent

    def head(self) -> str:
        file = self._written()
        return file.head() if file else self._unwritten.digest

    def count(self) -> int:
        file = self._written()
        return file.count() if file else 0

    def receipts(self) -> Iterator[Receipt]:
        file = self._written()
        return file.receipts() if file else iter(())

    def mentioning(self, words: Sequence[str], after: int) -> list[Receipt]:
        file = self._written()
        return file.mentioning(words, after) if file else []

    def counting(self, start: str, end: str, after: int, below: int) -> Receipt | None:
        file = self._written()
        return file.counting(start, end, after, below) if file else None

    def verify(self, head: str | None = None) -> Verification:
        file = self._written()
        if file is not None:
            return file.verify(head)
        return replay(self._unwritten, (), head, settled=lambda _: None)

    def mark(self, keep: Keep | None = None) -> Mark:
        file = self._written() if keep is None else self._opened()
        return file.mark(keep) if file else mark_of(self._unwritten, None, 0, 0)

    def restore(self, kept: Mark) -> Receipt:
        """Goes on with a copy that was put back."""
        file = self._written()
        if file is None:
            raise InvalidRequest("there is no ledger: put the newest copy of it back first")
        return file.restore(kept)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _written(self) -> StoredLedger | None:
        """The file as soon as there is one; another process may have made it."""
        return self._opened() if self._file is not None or self._exists() else None

    def _opened(self) -> StoredLedger:
        if self._file is not None:  # and stays so
            return self._file
        with self._lock:
            if self._file is None:
                self._file = self._made()
            return self._file

    def _exists(self) -> bool:
        if self._address is None:
            return self._path.exists()
        from adyton.ledger.stored.postgres import PostgresLedger

        return PostgresLedger.exists(self._address)

    def _made(self) -> StoredLedger:
        if self._address is None:
            return SqliteLedger.open_or_create(self._path, self._unwritten, self._facts)
        from adyton.ledger.stored.postgres import PostgresLedger

        return PostgresLedger.open_or_create(self._address, self._unwritten, self._facts)
