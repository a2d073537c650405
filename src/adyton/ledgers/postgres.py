"""A ledger in a schema of a Postgres database, for any number of processes on any number of machines.

Storage only: every rule is in ``kernel/ledger``.  Whether a commit that broke off was carried out is looked
up, after the same lock, before anything is read: it was, or it was not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.links import FORMAT, Header
from adyton.kernel.ledger.stored.ledger import StoredLedger, owned
from adyton.kernel.ledger.stored.schema import POSTGRES
from adyton.kernel.ledger.stored.store import Connection, Row
from adyton.kernel.ledger.stored.tables import write_header
from adyton.ledgers.postgres_session import PostgresSession, Statements, has_table, one_errand

_LOCK = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT 1 FROM turn FOR UPDATE"


class CommitUnknown(LedgerCorrupt):
    """The connection broke while COMMIT was under way: it may have happened or not."""


class PostgresStore(PostgresSession):
    """A schema with the tables of a ledger.  Satisfies ``Store``."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        try:
            with self.read() as connection:
                self.check(connection)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def lock(self) -> Iterator[Connection]:
        """One row is locked by whoever writes: charges wait for each other, and see what came before."""
        with self._lock, self._sealed():
            statements = self._locked()
            try:
                yield statements
            except BaseException:
                statements.roll_back()
                raise
            try:
                self._commit(statements)
            except CommitUnknown:
                if statements.first is None:
                    raise
                self._find(*statements.first)

    def check(self, connection: Connection) -> None:
        row = connection.execute("SELECT format FROM format").fetchone()
        if row is None or row[0] != FORMAT:
            raise LedgerCorrupt(
                f"the schema {self.name} holds no ledger of this version; nothing was answered"
            )

    def _locked(self) -> Statements:
        connection = self._connected()
        statements = Statements(connection)
        try:
            connection.execute(_LOCK)
        except BaseException:
            statements.roll_back()
            raise
        return statements

    def _commit(self, statements: Statements) -> None:
        import psycopg

        try:
            statements.execute("COMMIT")
            return
        except psycopg.OperationalError:
            if not statements.are_cut_off:
                raise
            self._disconnect()
        raise CommitUnknown(f"the connection to the ledger {self.name} broke; nothing was answered")

    def _find(self, table: str, row: Row) -> None:
        """Whoever was committing has ended when the lock is free.  Of what is appended together all is there
        or nothing, and the first of it stays; it has a digest, or a text, that nobody else would write.
        """
        statements = self._locked()
        found = statements.execute(f"SELECT * FROM {table} WHERE number = ?", row[:1]).fetchall()
        statements.roll_back()
        if not any(tuple(one[: len(row)]) == tuple(row) for one in found):
            raise LedgerCorrupt(
                f"the connection to the ledger {self.name} broke before anything was written: nothing was "
                "charged and nothing was answered"
            )


class PostgresLedger(StoredLedger):
    """The contract of ``Ledger`` over a schema.

    ``PostgresLedger(address)`` takes whatever ledger is there; a curator uses ``open_or_create``, which asks
    whose it is.
    """

    def __init__(self, address: str) -> None:
        super().__init__(PostgresStore(address))

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
        return owned(cls(address), header, facts)


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
