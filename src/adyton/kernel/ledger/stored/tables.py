"""The tables of a ledger: receipts, answers, what is unanswered, how it was closed.

Every row is checked by its digest when it is read.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from adyton.errors import Forbidden, InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger.links import (
    Header,
    Order,
    Receipt,
    answer_digest,
    key_of,
    note_digest,
    text_digest,
)
from adyton.kernel.ledger.stored.store import Connection
from adyton.kernel.ledger.subjects import Kind, subject_from
from adyton.kernel.ledger.texts import LARGEST_NUMBER
from adyton.kernel.ledger.validity import FinalCost, validity_from

_COLUMNS = (
    "number, kind, look_up, subject, query, detail, amount, radius, request, name, pure, unproved, "
    "validity, spent, spent_radius, spent_pure, unproved_so_far, spent_by, budget_share, final_radius, "
    "final_level, asked_at, previous, secret, digest"
)
_RECEIPT = f"SELECT {_COLUMNS} FROM receipts WHERE "
_PAID = ", ".join(f"paid.{name}" for name in _COLUMNS.split(", "))
_AND_ANSWER = "FROM receipts AS paid LEFT JOIN answers AS given ON given.number = paid.number"
_LAST = (
    f"SELECT {_PAID}, given.number, given.radius, given.level, given.content, given.digest {_AND_ANSWER} "
    "ORDER BY paid.number DESC LIMIT 1"
)
_CLOSED_OR_RESTORED = "EXISTS (SELECT 1 FROM closed) OR EXISTS (SELECT 1 FROM restored)"
_KEPT = (
    f"SELECT {_PAID}, {_CLOSED_OR_RESTORED}, awaited.query, given.number, given.radius, given.level, "
    f"given.content, given.digest, given.answer {_AND_ANSWER} LEFT JOIN unanswered AS awaited "
    "ON awaited.number = paid.number WHERE paid.number = ?"
)
_NOBODY = ""  # who asks in process; a name has at least one letter
PAGE = 500  # rows read at once
_MOST_KEPT = 128  # receipts
CHECKPOINT = 256  # receipts, or notes, that are compared when a ledger is opened
_READ = 10**6  # characters of answers; any answer is compared with its digest before it is given


# The header, receipts and answers --------------------------------------------------------------------------


def write_header(connection: Connection, header: Header, facts: Mapping[str, str] | None) -> None:
    """``facts``: what its study says, by name."""
    row = (1, header.study, header.accounting, str(header.budget), header.salt, header.digest)
    connection.append("header", row)
    if facts is not None:
        connection.append("facts", (1, json.dumps(dict(facts))))


def read_header(connection: Connection) -> Header:
    stored = "SELECT study, accounting, budget, salt, digest FROM header"
    rows = connection.execute(stored).fetchall()
    try:
        ((study, accounting, budget, salt, digest),) = rows
        header = Header(study, accounting, int(budget), salt)
    except (ValueError, TypeError, InvalidRequest):
        raise LedgerCorrupt("the header of the ledger is damaged") from None
    first = find(connection, "true ORDER BY number LIMIT 1")
    if header.digest != digest or (first is not None and first.previous != digest):
        raise LedgerCorrupt("the header of the ledger was changed")
    return header


def append(connection: Connection, receipt: Receipt) -> None:
    order = receipt.order
    row = (
        receipt.number,
        order.kind,
        order.subject.key,
        order.subject.text,
        order.query,
        order.detail,
        str(order.amount),
        str(order.radius),
        order.request,
        order.by or _NOBODY,
        str(order.pure),
        int(order.unproved),
        order.validity.text,
        str(receipt.spent),
        str(receipt.spent_radius),
        str(receipt.spent_pure),
        receipt.unproved,
        str(receipt.spent_by),
        None if receipt.budget_share is None else str(receipt.budget_share),
        str(receipt.final_radius),
        str(receipt.final_level),
        receipt.asked_at,
        receipt.previous,
        receipt.secret,
        receipt.digest,
    )
    connection.append("receipts", row)
    connection.append("unanswered", (receipt.number, key_of(order)))  # until its answer is appended
    _keep(row, receipt)


def find(connection: Connection, where: str, *values: str | int) -> Receipt | None:
    row = connection.execute(_RECEIPT + where, values).fetchone()
    return None if row is None else _to_receipt(row)


def find_last(connection: Connection) -> tuple[Receipt | None, FinalCost]:
    """The newest receipt, and its final cost, by one statement: both are of one moment."""
    row = connection.execute(_LAST).fetchone()
    if row is None:
        return None, FinalCost(0)
    *paid, answered, radius, level, content, digest = row
    receipt = _to_receipt(tuple(paid))
    if answered is None:
        return receipt, FinalCost(receipt.order.radius)
    return receipt, _checked_cost(receipt, radius, level, content, digest)


def find_all(connection: Connection, where: str, *values: str | int) -> list[Receipt]:
    return [_to_receipt(row) for row in connection.execute(_RECEIPT + where, values)]


def page_after(connection: Connection, number: int, size: int) -> list[Receipt]:
    """At most ``size`` receipts, from the one after ``number`` on."""
    return find_all(connection, "number > ? ORDER BY number LIMIT ?", number, size)


def find_request(connection: Connection, request: str, by: str | None) -> Receipt | None:
    return find(connection, "name = ? AND request = ?", by or _NOBODY, request)


def last_of_name(connection: Connection, by: str | None, up_to: int) -> Receipt | None:
    """The newest receipt of a name up to this number, by an index."""
    newest = "name = ? AND number <= ? ORDER BY number DESC LIMIT 1"
    return find(connection, newest, by or _NOBODY, up_to)


_READ_BEFORE: OrderedDict[tuple[Any, ...], Receipt] = OrderedDict()


def _to_receipt(row: tuple[Any, ...]) -> Receipt:
    """A row as the receipt it was, if its digest says so.  The newest one is read again and again, and so is
    the newest of each name: what was written or checked and has not changed by a letter is not checked anew.
    """
    receipt = _READ_BEFORE.get(row)
    if receipt is None:
        receipt = _checked_receipt(row)
        _keep(row, receipt)
    return receipt


def _keep(row: tuple[Any, ...], receipt: Receipt) -> None:
    _READ_BEFORE[row] = receipt
    if len(_READ_BEFORE) > _MOST_KEPT:
        _READ_BEFORE.popitem(last=False)


def _checked_receipt(row: tuple[Any, ...]) -> Receipt:
    number, kind, key, subject, query, detail, amount, radius, request, name, pure, unproved, *rest = row
    validity, spent, spent_radius, spent_pure, so_far, spent_by, share, final, level, *rest = rest
    asked_at, before, secret, digest = rest
    try:
        receipt = Receipt(
            number,
            Order(
                query,
                detail,
                int(amount),
                int(radius),
                request,
                by=None if name == _NOBODY else name,
                pure=int(pure),
                unproved=unproved == 1,
                subject=subject_from(subject),
                validity=validity_from(validity),
            ),
            int(spent),
            int(spent_radius),
            int(spent_pure),
            so_far,
            int(spent_by),
            None if share is None else int(share),
            int(final),
            int(level),
            asked_at,
            before,
            secret,
        )
        filed = (receipt.order.kind, receipt.order.subject.key)  # what receipts are found by is no other
        intact = receipt.digest == digest and filed == (kind, key)
    except (ValueError, TypeError, KeyError, InvalidRequest):
        intact = False
    if not intact:
        raise LedgerCorrupt(f"receipt {number} of the ledger was changed")
    return receipt


def add_answer(connection: Connection, receipt: Receipt, key: str, answer: str, final: FinalCost) -> None:
    content = text_digest(answer)
    digest = answer_digest(receipt, final, content)
    row = (receipt.number, key, str(final.radius), str(final.level), content, digest, answer)
    connection.append("answers", row)


def read_answer(connection: Connection, receipt: Receipt) -> str | None:
    stored = "SELECT radius, level, content, digest, answer FROM answers WHERE number = ?"
    row = connection.execute(stored, (receipt.number,)).fetchone()
    return None if row is None else _checked_answer(receipt, *row)


def _checked_answer(receipt: Receipt, radius: str, level: str, content: str, digest: str, answer: str) -> str:
    _checked_cost(receipt, radius, level, content, digest)
    if not isinstance(answer, str) or text_digest(answer) != content:
        raise LedgerCorrupt(f"answer {receipt.number} of the ledger was changed")
    return answer


class Kept(NamedTuple):
    """A receipt, its answer, the query under which one is awaited, and whether it may be closed."""

    receipt: Receipt
    answer: str | None
    awaited: str | None
    may_be_closed: bool


def find_kept(connection: Connection, number: int) -> Kept | None:
    """All that must be known before an answer is kept, by one statement."""
    row = connection.execute(_KEPT, (number,)).fetchone()
    if row is None:
        return None
    *paid, closing, awaited, answered = row[:-5]
    receipt = _to_receipt(tuple(paid))
    given = None if answered is None else _checked_answer(receipt, *row[-5:])
    return Kept(receipt, given, awaited, bool(closing))


def stored_cost(connection: Connection, receipt: Receipt) -> FinalCost | None:
    """Its final cost, None if it has no answer.  The text, which may be long, is not read for it."""
    stored = "SELECT radius, level, content, digest FROM answers WHERE number = ?"
    row = connection.execute(stored, (receipt.number,)).fetchone()
    return None if row is None else _checked_cost(receipt, *row)


def _checked_cost(receipt: Receipt, radius: str, level: str, content: str, digest: str) -> FinalCost:
    try:
        final = FinalCost.checked(int(radius), int(level), receipt.order.radius)
        intact = answer_digest(receipt, final, content) == digest
    except (ValueError, TypeError, InvalidRequest):
        intact = False
    if not intact:
        raise LedgerCorrupt(f"answer {receipt.number} of the ledger was changed")
    return final


# Receipts without an answer --------------------------------------------------------------------------------


def refuse_if_not_awaited(kept: Kept) -> None:
    """Nobody but whoever changed the file can have removed an answer: a second one is never kept."""
    if kept.awaited is None:
        raise LedgerCorrupt(
            f"the answer of receipt {kept.receipt.number} of the ledger was removed; nothing was answered"
        )


def newest_unanswered(connection: Connection, key: str) -> int | None:
    newest = "SELECT number FROM unanswered WHERE query = ? ORDER BY number DESC LIMIT 1"
    row = connection.execute(newest, (key,)).fetchone()
    return None if row is None else int(row[0])


def count_unanswered(connection: Connection) -> int:
    return int(connection.execute("SELECT COUNT(*) FROM unanswered").fetchone()[0])


def check_unanswered(connection: Connection, after: int) -> None:
    """Each receipt after this number has an answer or is known to have none, not both and not neither."""
    wrong = connection.execute(
        "SELECT number FROM receipts WHERE number > ? AND (number IN (SELECT number FROM answers)) "
        "= (number IN (SELECT number FROM unanswered)) LIMIT 1",
        (after,),
    ).fetchone()
    if wrong is not None:
        raise LedgerCorrupt(f"the answer of receipt {wrong[0]} of the ledger was removed or put in")


# The end ---------------------------------------------------------------------------------------------------


def read_closing(connection: Connection) -> list[str]:
    """Nothing while it is open; then why it was closed; and a second text when that was carried out."""
    return [text for (text,) in connection.execute("SELECT text FROM closed ORDER BY number")]


def write_closing(connection: Connection, text: str) -> None:
    connection.append("closed", (len(read_closing(connection)) + 1, text))


def refuse_if_closed(connection: Connection) -> None:
    if read_closing(connection):
        raise Forbidden(
            "this study was amended and goes on under corrected facts, in another ledger: ask there; "
            "nothing was read and nothing was charged"
        )


# Receipts by their kind and key ----------------------------------------------------------------------------


def find_kind(
    connection: Connection, kind: Kind | None, key: str | None, after: int, below: int | None, most: int
) -> list[Receipt]:
    """The newest first, by an index."""
    known = {"kind": kind, "look_up": key}
    where = [f"{name} = ?" for name, value in known.items() if value is not None]
    values: list[str | int] = [value for value in known.values() if value is not None]
    wanted = " AND ".join([*where, "number > ?", "number < ?"])
    values += [after, LARGEST_NUMBER if below is None else below, most]
    return find_all(connection, f"{wanted} ORDER BY number DESC LIMIT ?", *values)


# What is newest -------------------------------------------------------------------------------------------


def check_newest(connection: Connection, number: int) -> None:
    """The newest answers and notes are as they were written, and none is of a receipt after ``number``."""
    for table in ("answers", "notes"):
        (newest,) = connection.execute(f"SELECT MAX(number) FROM {table}").fetchone()
        if newest is not None and newest > number:
            raise LedgerCorrupt(f"receipt {newest} of the ledger is missing; what it paid for is still there")
    check_unanswered(connection, number - CHECKPOINT)
    _check_answers(connection, number)
    _check_notes(connection)


def _check_answers(connection: Connection, last: int) -> None:
    numbers = "SELECT number FROM answers WHERE number > ? ORDER BY number DESC"
    read = 0
    for (number,) in connection.execute(numbers, (last - CHECKPOINT,)).fetchall():
        receipt = find(connection, "number = ?", number)
        read += len(read_answer(connection, receipt) or "") if receipt else 0
        if read > _READ:
            return


def _check_notes(connection: Connection) -> None:
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
