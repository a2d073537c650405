"""Receipts that were paid for and have no answer yet, by their question: an index, and no part of the chain.

After a crash, or an interrupt, the same question at the same price is read again under its receipt.
"""

from __future__ import annotations

import sqlite3

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.ledger.links import Order, Receipt, question_digest

UNANSWERED = """
CREATE TABLE unanswered (
    number INTEGER PRIMARY KEY REFERENCES receipts, question TEXT NOT NULL
) STRICT;
CREATE INDEX unanswered_by_question ON unanswered (question, number);
CREATE TRIGGER unanswered_update BEFORE UPDATE ON unanswered
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER unanswered_delete BEFORE DELETE ON unanswered
    WHEN NOT EXISTS (SELECT 1 FROM answers WHERE number = OLD.number)
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""
# In the oldest ledgers an answer may have been shown and then lost with the power: what they left unanswered
# stays so, under no question at all.
LOST = ""


def key_of(order: Order) -> str:
    return question_digest(order.question, order.detail, order.amount)


def await_answer(connection: sqlite3.Connection, receipt: Receipt) -> None:
    """In the transaction of a charge, after it."""
    await_under(connection, receipt.number, key_of(receipt.order))


def await_under(connection: sqlite3.Connection, number: int, key: str) -> None:
    connection.execute("INSERT INTO unanswered VALUES (?, ?)", (number, key))


def is_answered(connection: sqlite3.Connection, number: int) -> None:
    """In the transaction that keeps the answer, after it."""
    connection.execute("DELETE FROM unanswered WHERE number = ?", (number,))


def refuse_if_older(connection: sqlite3.Connection, number: int) -> None:
    """Also where a request id leads to the receipt."""
    awaited = "SELECT 1 FROM unanswered WHERE number = ? AND question <> ?"
    if connection.execute(awaited, (number, LOST)).fetchone() is None:
        raise InvalidRequest(
            f"receipt {number} was charged by an older version, which may have shown its answer and lost it: "
            "no second one is kept; ask again under another request id, or none"
        )


def newest_unanswered(connection: sqlite3.Connection, key: str) -> int | None:
    newest = "SELECT number FROM unanswered WHERE question = ? ORDER BY number DESC LIMIT 1"
    row = connection.execute(newest, (key,)).fetchone()
    return None if row is None else int(row[0])


def count_unanswered(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COUNT(*) FROM unanswered").fetchone()[0])


def check_unanswered(connection: sqlite3.Connection, after: int) -> None:
    """Each receipt after this number has an answer or is known to have none, not both and not neither."""
    wrong = connection.execute(
        "SELECT number FROM receipts WHERE number > ? AND (number IN (SELECT number FROM answers)) "
        "= (number IN (SELECT number FROM unanswered)) LIMIT 1",
        (after,),
    ).fetchone()
    if wrong is not None:
        raise LedgerCorrupt(f"the answer of receipt {wrong[0]} of the ledger was removed or put in")
