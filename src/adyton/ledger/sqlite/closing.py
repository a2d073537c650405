"""A ledger that was closed for good: it can be read, and nothing is charged, answered or noted any more."""

from __future__ import annotations

import sqlite3

from adyton.errors import Forbidden

# One statement each, because a script would commit the transaction that it is part of.
_CLOSED = (
    """CREATE TABLE IF NOT EXISTS closed (
    number INTEGER PRIMARY KEY CHECK (number IN (1, 2)), text TEXT NOT NULL
) STRICT;
""",
    """CREATE TRIGGER IF NOT EXISTS closed_update BEFORE UPDATE ON closed
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
""",
    """CREATE TRIGGER IF NOT EXISTS closed_delete BEFORE DELETE ON closed
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
""",
)


def read_closing(connection: sqlite3.Connection) -> list[str]:
    """Nothing while it is open; then why it was closed; and a second text when that was carried out."""
    found = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'closed'"
    if connection.execute(found).fetchone() is None:
        return []
    return [text for (text,) in connection.execute("SELECT text FROM closed ORDER BY number")]


def write_closing(connection: sqlite3.Connection, text: str) -> None:
    for statement in _CLOSED:
        connection.execute(statement)
    connection.execute("INSERT INTO closed VALUES (?, ?)", (len(read_closing(connection)) + 1, text))


def refuse_if_closed(connection: sqlite3.Connection) -> None:
    if read_closing(connection):
        raise Forbidden(
            "this study was amended and goes on under corrected facts, in another ledger: ask there; "
            "nothing was read and nothing was charged"
        )
