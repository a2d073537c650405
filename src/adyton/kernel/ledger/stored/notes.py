"""Notes on receipts in SQLite: append only, in order, each tied to its receipt and place by a digest."""

from __future__ import annotations

from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.base import is_next_note
from adyton.kernel.ledger.links import Receipt, note_digest
from adyton.kernel.ledger.stored.store import Connection


def add_note(connection: Connection, receipt: Receipt, index: int, text: str) -> bool:
    (last,) = connection.execute(
        "SELECT MAX(place) FROM notes WHERE number = ?", (receipt.number,)
    ).fetchone()
    if not is_next_note(receipt, index, 0 if last is None else last + 1):
        return False
    connection.append("notes", (receipt.number, index, text, note_digest(receipt, index, text)))
    return True


def read_notes(connection: Connection, receipt: Receipt, first: int) -> list[str]:
    """The notes from ``first`` on, each of them checked."""
    stored = "SELECT place, text, digest FROM notes WHERE number = ? AND place >= ? ORDER BY place"
    texts = []
    for index, (place, text, digest) in enumerate(connection.execute(stored, (receipt.number, first)), first):
        if place != index:
            raise LedgerCorrupt(f"note {index} of receipt {receipt.number} is missing")
        if not isinstance(text, str) or note_digest(receipt, index, text) != digest:
            raise LedgerCorrupt(f"note {index} of receipt {receipt.number} was changed")
        texts.append(text)
    return texts


def numbers_with_notes(connection: Connection) -> list[int]:
    return [number for (number,) in connection.execute("SELECT DISTINCT number FROM notes ORDER BY number")]


def count_notes(connection: Connection) -> int:
    """They are never deleted, so SQLite's own number of the newest is how many there are."""
    return int(connection.execute("SELECT COALESCE(MAX(rowid), 0) FROM notes").fetchone()[0])
