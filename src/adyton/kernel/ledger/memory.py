"""A ledger in memory: SQLite's own, so the rules and the guards are those of a file."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.faults import failed
from adyton.kernel.ledger.links import Header
from adyton.kernel.ledger.stored.schema import SQLITE
from adyton.kernel.ledger.stored.sqlite import InSqlite, opened
from adyton.kernel.ledger.stored.tables import write_header


class Owner(Protocol):
    """What a ledger has to know of a study; a ``Study`` is one."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def accounting(self) -> str: ...
    @property
    def allowed(self) -> int: ...


class MemoryLedger(InSqlite):
    """The contract of ``Ledger`` in memory, for tests and notebooks: gone with the process.

    >>> ledger = MemoryLedger.of(study)
    >>> with adyton.open(study, data=people, ledger=ledger) as asked:
    ...     _ = asked.ask("SELECT COUNT(*) FROM people", within=100)
    >>> ledger.count()
    1
    """

    def __init__(self, header: Header) -> None:
        self._lock, self._process = threading.Lock(), os.getpid()
        self._memory = opened(":memory:")
        self._memory.executescript(f"BEGIN;{SQLITE}")
        write_header(self._memory, header, None)
        self._memory.execute("COMMIT")
        self._begin()

    @classmethod
    def of(cls, study: Owner) -> MemoryLedger:
        """An empty ledger that belongs to this study."""
        return cls(Header.fresh(study.fingerprint, study.accounting, study.allowed))

    def close(self) -> None:
        """It lasts as long as the object: nothing else has it."""

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        # A forked child has a copy of the memory: both copies would spend the same budget.
        if os.getpid() != self._process:
            raise LedgerCorrupt("a ledger in memory does not cross a fork; nothing was answered")
        with self._lock:
            try:
                yield self._memory
            except sqlite3.Error as fault:
                raise failed(Path("in memory"), fault) from fault
