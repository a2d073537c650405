"""Receipts, answers and the header as rows of a SQLite ledger, each checked by its digest when it is read."""

from __future__ import annotations

import sqlite3

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.ledger.base import Header, Order, Receipt, is_answer_digest

_RECEIPT = (
    "SELECT number, question, detail, amount, radius, request, "
    "spent, spent_radius, asked_at, previous, digest FROM receipts WHERE "
)


def read_header(connection: sqlite3.Connection) -> Header:
    rows = connection.execute('SELECT study, currency, "limit", salt, digest FROM header').fetchall()
    try:
        ((study, currency, limit, salt, digest),) = rows
        header = Header(study, currency, int(limit), salt)
    except (ValueError, TypeError, InvalidRequest):
        raise LedgerCorrupt("the header of the ledger is damaged") from None
    first = find(connection, "true ORDER BY number LIMIT 1")
    if header.digest != digest or (first is not None and first.previous != digest):
        raise LedgerCorrupt("the header of the ledger was changed")
    return header


def append(connection: sqlite3.Connection, receipt: Receipt) -> None:
    order = receipt.order
    row = (
        receipt.number,
        order.question,
        order.detail,
        str(order.amount),
        str(order.radius),
        order.request,
        str(receipt.spent),
        str(receipt.spent_radius),
        receipt.asked_at,
        receipt.previous,
        receipt.digest,
    )
    connection.execute("INSERT INTO receipts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def find(connection: sqlite3.Connection, where: str, *values: str | int) -> Receipt | None:
    row = connection.execute(_RECEIPT + where, values).fetchone()
    return None if row is None else _to_receipt(row)


def page_after(connection: sqlite3.Connection, number: int, size: int) -> list[Receipt]:
    """At most ``size`` receipts, from the one after ``number`` on."""
    rows = connection.execute(_RECEIPT + "number > ? ORDER BY number LIMIT ?", (number, size))
    return [_to_receipt(row) for row in rows]


def _to_receipt(row: tuple[int, str, str, str, str, str | None, str, str, str, str, str]) -> Receipt:
    """A row as the receipt it was, if its digest says so."""
    number, question, detail, amount, radius, request, spent, spent_radius, asked_at, previous, digest = row
    try:
        order = Order(question, detail, int(amount), int(radius), request)
        receipt = Receipt(number, order, int(spent), int(spent_radius), asked_at, previous)
        intact = receipt.digest == digest
    except (ValueError, TypeError, InvalidRequest):
        intact = False
    if not intact:
        raise LedgerCorrupt(f"receipt {number} of the ledger was changed")
    return receipt


def read_answer(connection: sqlite3.Connection, receipt: Receipt) -> str | None:
    stored = "SELECT answer, digest FROM answers WHERE number = ?"
    row = connection.execute(stored, (receipt.number,)).fetchone()
    if row is None:
        return None
    answer, digest = row
    if not isinstance(answer, str) or not is_answer_digest(digest, receipt, answer):
        raise LedgerCorrupt(f"answer {receipt.number} of the ledger was changed")
    return answer


def check_answer(connection: sqlite3.Connection, number: int) -> None:
    receipt = find(connection, "number = ?", number)
    if receipt is None:
        raise LedgerCorrupt(f"answer {number} of the ledger has lost its receipt")
    read_answer(connection, receipt)
