"""A ledger in memory: SQLite's own, so the rules and the guards are those of a file."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Protocol

from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.faults import failed
from adyton.kernel.ledger.links import Header
from adyton.kernel.ledger.stored.ledger import StoredLedger
from adyton.kernel.ledger.stored.schema import SQLITE
from adyton.kernel.ledger.stored.sqlite import Appending, InSqlite, opened
from adyton.kernel.ledger.stored.tables import write_header


class Owner(Protocol):
    """What a ledger has to know of a study; a ``Study`` is one."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def accounting(self) -> str: ...
    @property
    def allowed(self) -> int: ...


class MemoryStore(InSqlite):
    """SQLite's memory, of one process."""

    name = "in memory"

    def __init__(self, header: Header) -> None:
        super().__init__()
        self._memory = opened(":memory:")
        self._memory.executescript(f"BEGIN;{SQLITE}")
        write_header(self._memory, header, None)
        self._memory.execute("COMMIT")

    def close(self) -> None:
        """It lasts as long as the object: nothing else has it."""

    def _connected(self) -> Appending:
        # A forked child has a copy of the memory: both copies would spend the same budget.
        if os.getpid() != self._process:
            raise LedgerCorrupt("a ledger in memory does not cross a fork; nothing was answered")
        return self._memory

    def _failed(self, fault: sqlite3.Error) -> LedgerCorrupt:
        return failed(Path(self.name), fault)


class MemoryLedger(StoredLedger):
    """The contract of ``Ledger`` in memory, for tests and notebooks: gone with the process.

    >>> ledger = MemoryLedger.of(study)
    >>> with adyton.open(study, data=people, ledger=ledger) as asked:
    ...     _ = asked.ask("SELECT COUNT(*) FROM people", within=100)
    >>> ledger.count()
    1
    """

    def __init__(self, header: Header) -> None:
        super().__init__(MemoryStore(header))

    @classmethod
    def of(cls, study: Owner) -> MemoryLedger:
        """An empty ledger that belongs to this study."""
        return cls(Header.fresh(study.fingerprint, study.accounting, study.allowed))
