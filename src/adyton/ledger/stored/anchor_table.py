"""An anchor in a database: one row of a table, in a schema of its own, on another server than the ledger."""

from __future__ import annotations

from contextlib import closing

from adyton.ledger.anchor import Anchor
from adyton.ledger.stored.postgres_session import PostgresSession, parsed

_TABLE = """CREATE TABLE IF NOT EXISTS anchor (
    number INTEGER PRIMARY KEY CHECK (number = 1), text TEXT NOT NULL
)"""
_FOUND = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = 'anchor'"


class TableAnchor(Anchor):
    """``address`` is postgresql://USER@HOST/DATABASE/NAME; NAME is a schema for this anchor alone.

    A connection is made each time: an anchor is nothing that has to be closed.
    """

    def __init__(self, address: str) -> None:
        self._address, (_, self._schema) = address, parsed(address)

    @property
    def name(self) -> str:
        return self._schema

    def _stored(self) -> str | None:
        with closing(PostgresSession(self._address)) as session, session._session() as connection:
            if connection.execute(_FOUND, (self._schema,)).fetchone() is None:
                return None
            row = connection.execute("SELECT text FROM anchor").fetchone()
            return None if row is None else str(row[0])

    def _store(self, text: str) -> None:
        with closing(PostgresSession(self._address)) as session, session._session() as connection:
            if connection.execute(_FOUND, (self._schema,)).fetchone() is None:
                connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"')
                connection.execute(_TABLE)
            connection.execute(
                "INSERT INTO anchor VALUES (1, ?) ON CONFLICT (number) DO UPDATE SET text = excluded.text",
                (text,),
            )
