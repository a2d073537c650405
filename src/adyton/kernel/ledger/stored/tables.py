"""The tables of a ledger: receipts, answers, what is unanswered, how it was closed.

Every row is checked by its digest when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

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
from adyton.kernel.ledger.stored.schema import COUNTS_ALL, SQLITE_CLOSED
from adyton.kernel.ledger.texts import check_settled

_COLUMNS = (
    "number, query, detail, amount, radius, request, name, pure, unproved, spent, spent_radius, "
    "spent_pure, unproved_so_far, spent_by, sub_limit, settled, asked_at, previous, secret, digest"
)
_RECEIPT = f"SELECT {_COLUMNS} FROM receipts WHERE "
_PAID = ", ".join(f"paid.{name}" for name in _COLUMNS.split(", "))
_AND_ANSWER = "FROM receipts AS paid LEFT JOIN answers AS given ON given.number = paid.number"
_LAST = (
    f"SELECT {_PAID}, given.number, given.radius, given.content, given.digest {_AND_ANSWER} "
    "ORDER BY paid.number DESC LIMIT 1"
)
HAS_CLOSING = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'closed'"
HAS_RESTORED = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'restored'"
HAS_ENDINGS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name IN ('closed', 'restored')"
_KEPT = (
    f"SELECT {_PAID}, EXISTS ({HAS_ENDINGS}), awaited.query, given.number, given.radius, given.content, "
    f"given.digest, given.answer {_AND_ANSWER} LEFT JOIN unanswered AS awaited "
    "ON awaited.number = paid.number WHERE paid.number = ?"
)
_NEW_RECEIPT = f"INSERT INTO receipts ({_COLUMNS}) VALUES ({', '.join('?' * len(_COLUMNS.split(',')))})"
_NOBODY = ""  # who asks in process; a name has at least one letter
PAGE = 500  # rows read at once
CHECKPOINT = 256  # receipts, or notes, that are compared when a ledger is opened
_READ = 10**6  # characters of answers; any answer is compared with its digest before it is given


class Rows(Protocol):
    """What a statement finds."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """SQLite's own, or one that understands the same few statements."""

    def execute(self, sql: str, parameters: Sequence[str | int | None] = (), /) -> Rows: ...


# The header, receipts and answers --------------------------------------------------------------------------


def write_header(connection: Connection, header: Header, facts: Mapping[str, str] | None) -> None:
    """``facts``: what its study says, by name."""
    row = (1, header.study, header.accounting, str(header.limit), header.salt)
    connection.execute("INSERT INTO header VALUES (?, ?, ?, ?, ?, ?)", (*row, header.digest))
    if facts is not None:
        connection.execute("INSERT INTO facts VALUES (1, ?)", (json.dumps(dict(facts)),))


def read_header(connection: Connection) -> Header:
    stored = 'SELECT study, currency, "limit", salt, digest FROM header'
    rows = connection.execute(stored).fetchall()
    try:
        ((study, accounting, limit, salt, digest),) = rows
        header = Header(study, accounting, int(limit), salt)
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
        order.query,
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


def find(connection: Connection, where: str, *values: str | int) -> Receipt | None:
    row = connection.execute(_RECEIPT + where, values).fetchone()
    return None if row is None else _to_receipt(row)


def find_last(connection: Connection) -> tuple[Receipt | None, int]:
    """The newest receipt, and what its radius came to, by one statement: both are of one moment."""
    row = connection.execute(_LAST).fetchone()
    if row is None:
        return None, 0
    *paid, answered, radius, content, digest = row
    receipt = _to_receipt(tuple(paid))
    if answered is None:
        return receipt, receipt.order.radius
    return receipt, _checked_radius(receipt, radius, content, digest)


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


@lru_cache(maxsize=128)
def _to_receipt(row: tuple[Any, ...]) -> Receipt:
    """A row as the receipt it was, if its digest says so.  The newest one is read again and again, and so is
    the newest of each name: what was checked and has not changed by a letter is not checked anew.
    """
    number, query, detail, amount, radius, request, name, pure, unproved, *rest = row
    spent, spent_radius, spent_pure, so_far, spent_by, sub_limit, settled, *texts, digest = rest
    try:
        by = None if name == _NOBODY else name
        of_validity = {"pure": int(pure), "unproved": unproved == 1}
        receipt = Receipt(
            number,
            Order(query, detail, int(amount), int(radius), request, by=by, **of_validity),
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


def add_answer(connection: Connection, receipt: Receipt, key: str, answer: str, radius: int) -> None:
    content = text_digest(answer)
    digest = answer_digest(receipt, radius, content)
    row = (receipt.number, key, str(radius), content, digest, answer)
    connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)


def read_answer(connection: Connection, receipt: Receipt) -> str | None:
    stored = "SELECT radius, content, digest, answer FROM answers WHERE number = ?"
    row = connection.execute(stored, (receipt.number,)).fetchone()
    return None if row is None else _checked_answer(receipt, *row)


def _checked_answer(receipt: Receipt, radius: str, content: str, digest: str, answer: str) -> str:
    _checked_radius(receipt, radius, content, digest)
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
    *paid, closing, awaited, answered, radius, content, digest, answer = row
    receipt = _to_receipt(tuple(paid))
    given = None if answered is None else _checked_answer(receipt, radius, content, digest, answer)
    return Kept(receipt, given, awaited, bool(closing))


def stored_radius(connection: Connection, receipt: Receipt) -> int | None:
    """What its answer settled, None if it has none.  The text, which may be long, is not read for it."""
    stored = "SELECT radius, content, digest FROM answers WHERE number = ?"
    row = connection.execute(stored, (receipt.number,)).fetchone()
    return None if row is None else _checked_radius(receipt, *row)


def settled_radius(connection: Connection, receipt: Receipt) -> int:
    """What the radius of a receipt came to: in full while it has no answer."""
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


# Receipts without an answer --------------------------------------------------------------------------------


def await_answer(connection: Connection, receipt: Receipt) -> None:
    """In the transaction of a charge, after it."""
    await_under(connection, receipt.number, key_of(receipt.order))


def await_under(connection: Connection, number: int, key: str) -> None:
    connection.execute("INSERT INTO unanswered VALUES (?, ?)", (number, key))


def is_answered(connection: Connection, number: int) -> None:
    """In the transaction that keeps the answer, after it."""
    connection.execute("DELETE FROM unanswered WHERE number = ?", (number,))


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
    if connection.execute(HAS_CLOSING).fetchone() is None:
        return []
    return [text for (text,) in connection.execute("SELECT text FROM closed ORDER BY number")]


def write_closing(connection: Connection, text: str) -> None:
    if connection.execute(HAS_CLOSING).fetchone() is None:
        for statement in SQLITE_CLOSED:
            connection.execute(statement)
    connection.execute("INSERT INTO closed VALUES (?, ?)", (len(read_closing(connection)) + 1, text))


def refuse_if_closed(connection: Connection) -> None:
    if read_closing(connection):
        raise Forbidden(
            "this study was amended and goes on under corrected facts, in another ledger: ask there; "
            "nothing was read and nothing was charged"
        )


# Receipts by the words of their queries ------------------------------------------------------------------


def find_mentioning(connection: Connection, words: Sequence[str], after: int) -> list[Receipt]:
    """Receipts after ``after`` with one of these words in their query."""
    mentioned = " OR ".join("instr(query, ?) > 0" for _ in words)
    return find_all(connection, f"number > ? AND ({mentioned}) ORDER BY number", after, *words)


def find_counting(connection: Connection, start: str, end: str, after: int, below: int) -> Receipt | None:
    """By an index of such receipts alone."""
    ends = "substr(query, 1, ?) = ? AND substr(query, length(query) - ? + 1) = ?"
    newest = f"{COUNTS_ALL} AND number > ? AND number < ? AND {ends} ORDER BY number DESC LIMIT 1"
    return find(connection, newest, after, below, len(start), start, len(end), end)


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
