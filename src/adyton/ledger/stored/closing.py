"""How a ledger is closed for good: why, and then that another one goes on where it ended."""

from __future__ import annotations

from adyton.ledger.stored.tables import HAS_CLOSING, Connection, read_closing

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


def write_closing(connection: Connection, text: str) -> None:
    if connection.execute(HAS_CLOSING).fetchone() is None:
        for statement in _CLOSED:
            connection.execute(statement)
    connection.execute("INSERT INTO closed VALUES (?, ?)", (len(read_closing(connection)) + 1, text))
