"""A ledger that is stored by its first charge."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from adyton.errors import InvalidRequest
from adyton.kernel.ledger.base import Charged, First, Keep, Ledger, Mark, check_first
from adyton.kernel.ledger.links import Header, Order, Receipt
from adyton.kernel.ledger.memory import MemoryLedger
from adyton.kernel.ledger.stored.sqlite import SqliteLedger
from adyton.kernel.ledger.texts import is_address

if TYPE_CHECKING:
    from adyton.kernel.ledger.stored.ledger import StoredLedger
    from adyton.ledgers.postgres import PostgresLedger


class LedgerOnDemand(Ledger):
    """The contract of ``Ledger``: empty until the first charge, from then on what is stored at ``place``: a
    file, or a schema of a Postgres database.

    Until then a study may still be edited: looking at it, or previewing a query, leaves nothing behind.
    """

    def __init__(
        self,
        place: str | Path,
        *,
        study: str,
        accounting: str,
        budget: int,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        self._kind: Callable[[], type[SqliteLedger] | type[PostgresLedger]]
        self._place, self._kind = str(Path(place).absolute()), _in_file
        if is_address(place):
            self._place, self._kind = str(place), _in_postgres
        self._unwritten = Header.fresh(study, accounting, budget)
        self._facts = facts
        self.stored: StoredLedger | None = None  # as soon as somebody has looked and it was there
        self._lock = threading.Lock()
        self._empty: tuple[int, MemoryLedger] | None = None
        self._written()  # a ledger of another study is refused at once

    @property
    def behind(self) -> Ledger:
        return self._written() or self._nothing()

    def _nothing(self) -> MemoryLedger:
        """An empty ledger, one in each process, because one in memory does not cross a fork."""
        if self._empty is None or self._empty[0] != os.getpid():
            self._empty = os.getpid(), MemoryLedger(self._unwritten)
        return self._empty[1]

    def charge(self, order: Order, first: First | None = None) -> Charged:
        if self._written() is None:
            check_first(self._unwritten, order)  # what is refused leaves no file either
        return self._opened().charge(order, first)

    def mark(self, keep: Keep | None = None) -> Mark:
        return (self.behind if keep is None else self._opened()).mark(keep)

    def restore(self, kept: Mark) -> Receipt:
        """Goes on with a copy that was put back."""
        file = self._written()
        if file is None:
            raise InvalidRequest("there is no ledger: put the newest copy of it back first")
        return file.restore(kept)

    def close(self) -> None:
        if self.stored is not None:
            self.stored.close()

    def _written(self) -> StoredLedger | None:
        """The file as soon as there is one; another process may have made it."""
        return self._opened() if self.stored is not None or self._kind().exists(self._place) else None

    def _opened(self) -> StoredLedger:
        if self.stored is not None:  # and stays so
            return self.stored
        with self._lock:
            if self.stored is None:
                self.stored = self._kind().open_or_create(self._place, self._unwritten, self._facts)
            return self.stored


def _in_file() -> type[SqliteLedger]:
    return SqliteLedger


def _in_postgres() -> type[PostgresLedger]:
    from adyton.ledgers.postgres import PostgresLedger

    return PostgresLedger
