"""Whether anything was written to a ledger since somebody looked, by any process; found without waiting."""

from __future__ import annotations

import sqlite3

from adyton.kernel.ledger.base import InFront, Ledger, WithSharedBudget
from adyton.kernel.ledger.stored.sqlite import SqliteLedger, SqliteStore
from adyton.ledgers.on_demand import LedgerOnDemand

Stamp = tuple[sqlite3.Connection, int]


class Changes(SqliteStore):
    """A connection that only looks.  Others that write never make it wait: they write into the log."""

    def stamp(self) -> Stamp:
        """Two that are equal: nothing was committed in between, and the file is still the same.

        SQLite counts what others have committed for each connection anew, so the connection is part of it.
        """
        with self.read() as connection:
            (version,) = connection.execute("PRAGMA data_version").fetchone()
            return connection, version


def changes_of(ledger: Ledger) -> Changes | None:
    """None if there is no file yet, or if answers also depend on something else: a shared budget."""
    while isinstance(ledger, InFront):
        if isinstance(ledger, WithSharedBudget):
            return None
        ledger = ledger.behind
    stored = ledger.stored if isinstance(ledger, LedgerOnDemand) else None
    return Changes(stored.path) if isinstance(stored, SqliteLedger) else None
