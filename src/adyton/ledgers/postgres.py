"""A ledger in a schema of a Postgres database, for any number of processes on any number of machines.

Storage only: every rule is in ``ledger/base.py``.  A charge whose commit broke off is looked for, after the
same lock, before anything is read: it was made, or it was not.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.base import Charged, First, documented
from adyton.kernel.ledger.links import FORMAT, Header, Order, Receipt
from adyton.kernel.ledger.stored.ledger import StoredLedger, owned
from adyton.kernel.ledger.stored.schema import POSTGRES
from adyton.kernel.ledger.stored.tables import Connection, write_header
from adyton.ledgers.postgres_session import CommitUnknown, PostgresSession, has_table, one_errand


@documented
class PostgresLedger(PostgresSession, StoredLedger):
    """The contract of ``Ledger`` over a schema.

    ``PostgresLedger(address)`` takes whatever ledger is there; a curator uses ``open_or_create``, which asks
    whose it is.
    """

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._writing = threading.local()
        try:
            with self._session() as connection:
                _check_format(connection, self.name)
            self._begin()
        except BaseException:
            self.close()
            raise

    @classmethod
    def exists(cls, address: str) -> bool:
        """Whether a ledger was made there."""
        with one_errand(address) as (connection, name):
            return has_table(connection, name, "header")

    @classmethod
    def open_or_create(
        cls, address: str, header: Header, facts: Mapping[str, str] | None = None
    ) -> PostgresLedger:
        """For a study that may be new.  Of several processes that try at once, one creates and all open."""
        if not cls.exists(address):
            _make(address, header, facts)
        ledger = cls(address)
        return owned(ledger, ledger.name, header, facts)

    def charge(self, order: Order, first: First | None = None) -> Charged:
        try:
            return super().charge(order, first)
        except CommitUnknown:
            pass
        receipt = self._writing.receipt
        with self._transaction():  # whoever was committing has ended when the lock is free
            found = self.receipt(receipt.number)
        if found != receipt:
            raise LedgerCorrupt(
                f"the connection to the ledger {self.name} broke before the charge was written; nothing was "
                "charged and nothing was answered"
            )
        self._seen = receipt
        return Charged(receipt, fresh=True)

    def remember(self, number: int, answer: str, radius: int | None = None, level: int = 0) -> str:
        try:
            return super().remember(number, answer, radius, level)
        except CommitUnknown:
            return super().remember(number, answer, radius, level)  # the first one wins, if it was written

    def annotate(self, number: int, index: int, text: str) -> bool:
        try:
            return super().annotate(number, index, text)
        except CommitUnknown:
            pass
        if super().annotate(number, index, text):
            return True
        return self.notes(number, index)[:1] == [text]  # it was written, and by us: its noise is fresh

    def _written(self, receipt: Receipt) -> None:
        self._writing.receipt = receipt

    def _check_storage(self, connection: Connection) -> None:
        _check_format(connection, self.name)


def _make(address: str, header: Header, facts: Mapping[str, str] | None) -> None:
    """All of it appears at once; one that somebody else has made meanwhile stays as it is."""
    with one_errand(address) as (connection, name):
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")  # who waited sees what the other one made
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (f"adyton {name}",))
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{name}"')
        if not has_table(connection, name, "header"):
            connection.execute(POSTGRES)
            write_header(connection, header, facts)
            connection.execute(f'REVOKE ALL ON ALL TABLES IN SCHEMA "{name}" FROM PUBLIC')
        connection.execute("COMMIT")


def _check_format(connection: Connection, name: str) -> None:
    row = connection.execute("SELECT format FROM format").fetchone()
    if row is None or row[0] != FORMAT:
        raise LedgerCorrupt(f"the schema {name} holds no ledger of this version; nothing was answered")
