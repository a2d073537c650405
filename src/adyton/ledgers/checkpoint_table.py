"""A checkpoint in a database: one row of a table, in a schema of its own, on another server than the
ledger.
"""

from __future__ import annotations

from adyton.ledgers.checkpoint import Checkpoint
from adyton.ledgers.postgres_session import has_table, one_errand, parsed

_TABLE = """CREATE TABLE IF NOT EXISTS checkpoint (
    number INTEGER PRIMARY KEY CHECK (number = 1), text TEXT NOT NULL
)"""


class TableCheckpoint(Checkpoint):
    """``address`` is postgresql://USER@HOST/DATABASE/NAME; NAME is a schema for this checkpoint alone.

    A connection is made each time: a checkpoint is nothing that has to be closed.
    """

    def __init__(self, address: str) -> None:
        self._address, (_, self._schema) = address, parsed(address)

    @property
    def name(self) -> str:
        return self._schema

    def _stored(self) -> str | None:
        with one_errand(self._address) as (connection, schema):
            if not has_table(connection, schema, "checkpoint"):
                return None
            row = connection.execute("SELECT text FROM checkpoint").fetchone()
            return None if row is None else str(row[0])

    def _store(self, text: str) -> None:
        with one_errand(self._address) as (connection, schema):
            if not has_table(connection, schema, "checkpoint"):
                connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
                connection.execute(_TABLE)
            connection.execute(
                "INSERT INTO checkpoint VALUES (1, ?)"
                " ON CONFLICT (number) DO UPDATE SET text = excluded.text",
                (text,),
            )
