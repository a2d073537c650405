"""What a ledger needs of the place where it is kept: to read, and to add rows while nobody else can.

A store has no rules of its own.  ``StoredLedger`` has them all, once for every store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = Sequence[str | int | None]


class Rows(Protocol):
    """What a statement finds."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """SQLite's own, or one that understands the same few statements."""

    def execute(self, sql: str, parameters: Row = (), /) -> Rows: ...

    def append(self, table: str, row: Row) -> None:
        """Adds a row, of which the first value is a number; while the ledger is locked, and only then."""


class Store(Protocol):
    """Tables that only grow.  Whatever goes wrong in it is LedgerCorrupt, and nothing was answered."""

    @property
    def name(self) -> str:
        """What messages call the ledger."""

    def read(self, *, one_moment: bool = False) -> AbstractContextManager[Connection]:
        """For one thread at a time; ``one_moment``: all that is read is of the same moment."""

    def lock(self) -> AbstractContextManager[Connection]:
        """Alone among all writers.  When it ends, what was appended is durable: what depends on it may be
        shown.  If it ends with an error, nothing was appended, or nobody can say.
        """

    def check(self, connection: Connection) -> None:
        """LedgerCorrupt if the database itself says that it is damaged."""

    def close(self) -> None:
        """Lets go of the connection."""
