"""A ledger file that is made by the first charge.

Until then a study may still be edited: looking at it, or previewing a question, leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adyton.ledger.base import Charged, Header, Ledger, Order, Receipt, Verification
from adyton.ledger.memory import MemoryLedger
from adyton.ledger.sqlite import SqliteLedger


class LedgerOnDemand:
    """The contract of ``Ledger``: empty until the first charge, from then on the file."""

    def __init__(self, path: Path, *, study: str, currency: str, limit: int) -> None:
        self._path, self._study, self._currency, self._limit = path, study, currency, limit
        self._file: SqliteLedger | None = None
        self._empty = MemoryLedger(Header.fresh(study, currency, limit))
        self._now()  # a ledger of another study is refused at once

    @property
    def header(self) -> Header:
        return self._now().header

    def charge(self, order: Order) -> Charged:
        return self._opened().charge(order)

    def remember(self, number: int, answer: str) -> str:
        return self._opened().remember(number, answer)

    def recall(self, number: int) -> str | None:
        return self._now().recall(number)

    def repeated(self, question: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        return self._now().repeated(question, detail, amount)

    def requested(self, request: str) -> Receipt | None:
        return self._now().requested(request)

    def spent(self) -> int:
        return self._now().spent()

    def spent_radius(self) -> int:
        return self._now().spent_radius()

    def head(self) -> str:
        return self._now().head()

    def count(self) -> int:
        return self._now().count()

    def receipts(self) -> Iterator[Receipt]:
        return self._now().receipts()

    def verify(self, expected_head: str | None = None) -> Verification:
        return self._now().verify(expected_head)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _now(self) -> Ledger:
        """The file as soon as there is one; another process may have made it."""
        return self._opened() if self._file is not None or self._path.exists() else self._empty

    def _opened(self) -> SqliteLedger:
        if self._file is None:
            self._file = SqliteLedger.open_or_create(
                self._path, study=self._study, currency=self._currency, limit=self._limit
            )
        return self._file
