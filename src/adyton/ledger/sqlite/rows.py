"""Receipts, answers and the header as rows of a SQLite ledger, each checked by its digest when it is read."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.ledger.checks import check_settled
from adyton.ledger.links import Header, Order, Receipt, answer_digest, text_digest

_COLUMNS = (
    "number, question, detail, amount, radius, request, name, pure, unproved, spent, spent_radius, "
    "spent_pure, unproved_so_far, spent_by, sub_limit, settled, asked_at, previous, secret, digest"
)
_RECEIPT = f"SELECT {_COLUMNS} FROM receipts WHERE "
_NEW_RECEIPT = f"INSERT INTO receipts ({_COLUMNS}) VALUES ({', '.join('?' * len(_COLUMNS.split(',')))})"
_NOBODY = ""  # who asks in process; a name has at least one letter


def read_header(connection: sqlite3.Connection) -> Header:
    stored = 'SELECT study, currency, "limit", salt, converted_from, digest FROM header'
    rows = connection.execute(stored).fetchall()
    try:
        ((study, filter_name, limit, salt, converted_from, digest),) = rows
        header = Header(study, filter_name, int(limit), salt, converted_from)
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
        order.by or _NOBODY,
        str(order.pure),
        int(order.unproved),
        str(receipt.spent),
        str(receipt.spent_radius),
        str(receipt.spent_pure),
        receipt.unproved,
        str(receipt.spent_by),
        None if receipt.sub_limit is None else str(receipt.sub_limit),
        str(receipt.settled),
        receipt.asked_at,
        receipt.previous,
        receipt.secret,
        receipt.digest,
    )
    connection.execute(_NEW_RECEIPT, row)


def find(connection: sqlite3.Connection, where: str, *values: str | int) -> Receipt | None:
    row = connection.execute(_RECEIPT + where, values).fetchone()
    return None if row is None else _to_receipt(row)


def page_after(connection: sqlite3.Connection, number: int, size: int) -> list[Receipt]:
    """At most ``size`` receipts, from the one after ``number`` on."""
    rows = connection.execute(_RECEIPT + "number > ? ORDER BY number LIMIT ?", (number, size))
    return [_to_receipt(row) for row in rows]


def find_mentioning(connection: sqlite3.Connection, words: Sequence[str], after: int) -> list[Receipt]:
    """Receipts after ``after`` with one of these words in their question."""
    mentioned = " OR ".join("instr(question, ?) > 0" for _ in words)
    rows = connection.execute(f"{_RECEIPT} number > ? AND ({mentioned}) ORDER BY number", (after, *words))
    return [_to_receipt(row) for row in rows]


def find_request(connection: sqlite3.Connection, request: str, by: str | None) -> Receipt | None:
    return find(connection, "name = ? AND request = ?", by or _NOBODY, request)


def last_of_name(connection: sqlite3.Connection, by: str | None, up_to: int) -> Receipt | None:
    """The newest receipt of a name up to this number, by an index."""
    newest = "name = ? AND number <= ? ORDER BY number DESC LIMIT 1"
    return find(connection, newest, by or _NOBODY, up_to)


def _to_receipt(row: tuple[Any, ...]) -> Receipt:
    """A row as the receipt it was, if its digest says so."""
    number, question, detail, amount, radius, request, name, pure, unproved, *rest = row
    spent, spent_radius, spent_pure, so_far, spent_by, sub_limit, settled, *texts, digest = rest
    try:
        by = None if name == _NOBODY else name
        of_validity = {"pure": int(pure), "unproved": unproved == 1}
        receipt = Receipt(
            number,
            Order(question, detail, int(amount), int(radius), request, by=by, **of_validity),
            int(spent),
            int(spent_radius),
            int(spent_pure),
            so_far,
            int(spent_by),
            None if sub_limit is None else int(sub_limit),
            int(settled),
            *texts,
        )
        intact = receipt.digest == digest
    except (ValueError, TypeError, InvalidRequest):
        intact = False
    if not intact:
        raise LedgerCorrupt(f"receipt {number} of the ledger was changed")
    return receipt


def add_answer(connection: sqlite3.Connection, receipt: Receipt, key: str, answer: str, radius: int) -> None:
    content = text_digest(answer)
    digest = answer_digest(receipt, radius, content)
    row = (receipt.number, key, str(radius), content, digest, answer)
    connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)


def read_answer(connection: sqlite3.Connection, receipt: Receipt) -> str | None:
    stored = "SELECT radius, content, digest, answer FROM answers WHERE number = ?"
    row = connection.execute(stored, (receipt.number,)).fetchone()
    if row is None:
        return None
    *settled, answer = row
    _checked_radius(receipt, *settled)
    if not isinstance(answer, str) or text_digest(answer) != settled[1]:
        raise LedgerCorrupt(f"answer {receipt.number} of the ledger was changed")
    return answer


def stored_radius(connection: sqlite3.Connection, receipt: Receipt) -> int | None:
    """What its answer settled, None if it has none.  The text, which may be long, is not read for it."""
    stored = "SELECT radius, content, digest FROM answers WHERE number = ?"
    row = connection.execute(stored, (receipt.number,)).fetchone()
    return None if row is None else _checked_radius(receipt, *row)


def settled_radius(connection: sqlite3.Connection, receipt: Receipt | None) -> int:
    """What the radius of a receipt came to: in full while it has no answer."""
    if receipt is None:
        return 0
    stored = stored_radius(connection, receipt)
    return receipt.order.radius if stored is None else stored


def _checked_radius(receipt: Receipt, radius: str, content: str, digest: str) -> int:
    try:
        settled = check_settled(int(radius), receipt.order.radius)
        intact = answer_digest(receipt, settled, content) == digest
    except (ValueError, TypeError, InvalidRequest):
        intact = False
    if not intact:
        raise LedgerCorrupt(f"answer {receipt.number} of the ledger was changed")
    return settled


def check_answer(connection: sqlite3.Connection, number: int) -> None:
    receipt = find(connection, "number = ?", number)
    if receipt is None:
        raise LedgerCorrupt(f"answer {number} of the ledger has lost its receipt")
    read_answer(connection, receipt)
