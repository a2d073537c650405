"""What is checked when a ledger is opened.

It takes a time that does not grow with the history: the checkpoint is the receipt that is 256 before the
newest.  The receipts after it are replayed, and the newest answers and notes are compared with their digests.
What lies before it is for ``verify``.
"""

from __future__ import annotations

import sqlite3

from adyton.errors import LedgerCorrupt
from adyton.ledger.links import Header, Receipt, note_digest
from adyton.ledger.sqlite.tables import CHECKPOINT, check_since, check_unanswered, find, read_answer

_READ = 10**6  # characters of answers; any answer is compared with its digest before it is given


def check_newest(connection: sqlite3.Connection, header: Header) -> Receipt | None:
    """The newest receipt, if it and what it rests on since the checkpoint are as they were written."""
    last = find(connection, "true ORDER BY number DESC LIMIT 1")
    check_since(connection, header, None, last)
    number = last.number if last else 0
    for table in ("answers", "notes"):
        (newest,) = connection.execute(f"SELECT MAX(number) FROM {table}").fetchone()
        if newest is not None and newest > number:
            raise LedgerCorrupt(f"receipt {newest} of the ledger is missing; what it paid for is still there")
    check_unanswered(connection, number - CHECKPOINT)
    _check_answers(connection, number)
    _check_notes(connection)
    return last


def _check_answers(connection: sqlite3.Connection, last: int) -> None:
    numbers = "SELECT number FROM answers WHERE number > ? ORDER BY number DESC"
    read = 0
    for (number,) in connection.execute(numbers, (last - CHECKPOINT,)).fetchall():
        receipt = find(connection, "number = ?", number)
        read += len(read_answer(connection, receipt) or "") if receipt else 0
        if read > _READ:
            return


def _check_notes(connection: sqlite3.Connection) -> None:
    """Notes are never deleted, so SQLite numbers them without a gap, in the order of their writing."""
    (most,) = connection.execute("SELECT MAX(rowid) FROM notes").fetchone()
    newest = "SELECT number, place, text, digest FROM notes WHERE rowid > ?"
    rows = connection.execute(newest, (max((most or 0) - CHECKPOINT, 0),)).fetchall()
    if len(rows) != min(most or 0, CHECKPOINT):
        raise LedgerCorrupt("a note of the ledger is missing")
    for number, place, text, digest in rows:
        receipt = find(connection, "number = ?", number)
        if receipt is None or note_digest(receipt, place, text) != digest:
            raise LedgerCorrupt(f"note {place} of receipt {number} was changed")
