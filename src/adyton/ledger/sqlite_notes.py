"""Notes on receipts in SQLite: append only, in order, each tied to its receipt and place by a digest."""

from __future__ import annotations

import sqlite3

from adyton.errors import LedgerCorrupt
from adyton.ledger.base import Receipt, is_next_note, note_digest

# One statement each, because a script would commit the transaction that it is part of.
NOTES = (
    """CREATE TABLE IF NOT EXISTS notes (
    number INTEGER NOT NULL REFERENCES receipts, place INTEGER NOT NULL, text TEXT NOT NULL,
    digest TEXT NOT NULL, PRIMARY KEY (number, place)
) STRICT;
""",
    """CREATE TRIGGER IF NOT EXISTS notes_update BEFORE UPDATE ON notes
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
""",
    """CREATE TRIGGER IF NOT EXISTS notes_delete BEFORE DELETE ON notes
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
""",
    """CREATE TRIGGER IF NOT EXISTS notes_order BEFORE INSERT ON notes
    WHEN NEW.place <> COALESCE((SELECT MAX(place) + 1 FROM notes WHERE number = NEW.number), 0)
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
""",
)


def make_notes(connection: sqlite3.Connection) -> None:
    """For a ledger that was made before there were notes; inside the transaction that needs them."""
    if not has_notes(connection):
        for statement in NOTES:
            connection.execute(statement)


def add_note(connection: sqlite3.Connection, receipt: Receipt, index: int, text: str) -> bool:
    (last,) = connection.execute(
        "SELECT MAX(place) FROM notes WHERE number = ?", (receipt.number,)
    ).fetchone()
    if not is_next_note(receipt, index, 0 if last is None else last + 1):
        return False
    row = (receipt.number, index, text, note_digest(receipt, index, text))
    connection.execute("INSERT INTO notes VALUES (?, ?, ?, ?)", row)
    return True


def read_notes(connection: sqlite3.Connection, receipt: Receipt, first: int) -> list[str]:
    """The notes from ``first`` on, each of them checked."""
    if not has_notes(connection):
        return []
    stored = "SELECT place, text, digest FROM notes WHERE number = ? AND place >= ? ORDER BY place"
    texts = []
    for index, (place, text, digest) in enumerate(connection.execute(stored, (receipt.number, first)), first):
        if place != index:
            raise LedgerCorrupt(f"note {index} of receipt {receipt.number} is missing")
        if not isinstance(text, str) or note_digest(receipt, index, text) != digest:
            raise LedgerCorrupt(f"note {index} of receipt {receipt.number} was changed")
        texts.append(text)
    return texts


def numbers_with_notes(connection: sqlite3.Connection) -> list[int]:
    if not has_notes(connection):
        return []
    return [number for (number,) in connection.execute("SELECT DISTINCT number FROM notes ORDER BY number")]


def count_notes(connection: sqlite3.Connection) -> int:
    """They are never deleted, so SQLite's own number of the newest is how many there are."""
    if not has_notes(connection):
        return 0
    return int(connection.execute("SELECT COALESCE(MAX(rowid), 0) FROM notes").fetchone()[0])


def check_notes(connection: sqlite3.Connection, receipt: Receipt | None, number: int) -> None:
    if receipt is None:
        raise LedgerCorrupt(f"notes of receipt {number} have lost their receipt")
    read_notes(connection, receipt, 0)


def has_notes(connection: sqlite3.Connection) -> bool:
    found = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'notes'"
    return connection.execute(found).fetchone() is not None
