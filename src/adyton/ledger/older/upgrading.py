"""A ledger of format 1 becomes one of format 2; the old file is kept beside it, closed for good.

The new file is written under another name and verified while nobody can write to the old one.  Then the old
one is closed, durably, and gets a second name; and then the new one takes its place, in one step.  So at any
moment there is one ledger where the study looks for it, and at no moment can both be charged.  After a crash
in between, the same command goes on.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.ledger.base import Mark, next_receipt
from adyton.ledger.faults import failed
from adyton.ledger.links import FORMAT, Order, Receipt, fresh_secret, key_of
from adyton.ledger.older.format_1 import OLD_FORMAT, OldEntry, OldLedger, OldReceipt
from adyton.ledger.stored.notes import add_note
from adyton.ledger.stored.sqlite import (
    SqliteLedger,
    draft_beside,
    flush_folder,
    format_of,
    opened,
    settle,
    write_draft,
)
from adyton.ledger.stored.tables import (
    LOST,
    add_answer,
    append,
    await_under,
    read_closing,
    write_closing,
)

CONVERTED = "converted to format 2"


@dataclass(frozen=True, slots=True)
class ForValidity:
    """What validity pays for an order of an old ledger, in the words of the new format."""

    radius: int
    pure: int = 0
    unproved: bool = False


PaidBy = Callable[[OldReceipt], ForValidity]
Check = Callable[[OldLedger, Mark], None]  # raises if the ledger is not the one that it should be


@dataclass(frozen=True, slots=True)
class Upgraded:
    """``old_head`` and ``head`` are the newest digests before and after; ``kept`` is the old file."""

    receipts: int
    old_head: str
    head: str
    kept: Path


def upgrade_file(path: str | Path, paid_by: PaidBy, check: Check) -> Upgraded:
    """Converts the file at ``path``, after ``check`` has seen it; all radii count as they were charged."""
    path = Path(path).absolute()
    kept = path.with_name(f"{path.name}.format-{OLD_FORMAT}")
    if not path.is_file():
        raise InvalidRequest(f"there is no ledger {path.name}: nothing was charged yet")
    try:
        with draft_beside(path) as draft:
            done = _converted(path, draft, kept, paid_by, check)
            if not kept.exists():
                os.link(path, kept)
            draft.replace(path)
            flush_folder(path.parent)
    except (OSError, sqlite3.Error) as fault:
        raise failed(path, fault) from fault
    return done


def _converted(path: Path, draft: Path, kept: Path, paid_by: PaidBy, check: Check) -> Upgraded:
    """The draft is whole when this returns, and the old ledger closed, in one file without a log."""
    with closing(_opened(path)) as connection:
        if kept.exists() and not kept.samefile(path):
            raise InvalidRequest(f"{kept.name} exists already: move it away first")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        reasons = read_closing(connection)
        if reasons and reasons[0] != CONVERTED:
            raise InvalidRequest(
                f"{path.name} was closed when its study was amended: nothing is asked of it any more, so "
                "keep it as it is; convert the ledger of the study that goes on"
            )
        old = OldLedger(connection)
        mark = old.mark(closed=bool(reasons))
        check(old, mark)
        _write(draft, old, mark, paid_by)
        with closing(SqliteLedger(draft)) as made:
            found = made.verify()
        if not reasons:
            write_closing(connection, CONVERTED)
        connection.execute("COMMIT")
        if connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
            raise _in_use(path)
    return Upgraded(found.receipts, mark.head, found.head, kept)


def _opened(path: Path) -> sqlite3.Connection:
    connection, version = open_format(path)
    if version != OLD_FORMAT:
        connection.close()
        if version == FORMAT:
            raise InvalidRequest(f"{path.name} is of format {FORMAT} already: there is nothing to convert")
        raise LedgerCorrupt(f"{path.name} is a ledger of format {version}, which this version does not know")
    return connection


def _write(draft: Path, old: OldLedger, mark: Mark, paid_by: PaidBy) -> None:
    header = replace(old.header, salt=fresh_secret(), converted_from=mark.head)
    write_draft(draft, header, old.facts())
    last: Receipt | None = None
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for entry in old.entries():
            last = next_receipt(
                header,
                last,
                _order(entry.receipt, paid_by(entry.receipt)),
                entry.receipt.asked_at,
                settled=last.order.radius if last else 0,
                last_of_name=last,
                secret=fresh_secret(),
            )
            _add(connection, last, entry)
        connection.execute("COMMIT")
        settle(draft, connection)  # closing would do the same, and say nothing where it fails


def _order(old: OldReceipt, paid: ForValidity) -> Order:
    return Order(
        old.question,
        old.detail,
        old.amount,
        paid.radius,
        old.request,
        pure=paid.pure,
        unproved=paid.unproved,
    )


def _add(connection: sqlite3.Connection, receipt: Receipt, entry: OldEntry) -> None:
    append(connection, receipt)
    if entry.answer is None:
        await_under(connection, receipt.number, LOST if entry.lost else key_of(receipt.order))
    else:
        add_answer(connection, receipt, key_of(receipt.order), entry.answer, receipt.order.radius)
    for index, text in enumerate(entry.notes):
        add_note(connection, receipt, index, text)


def _in_use(path: Path) -> InvalidRequest:
    return InvalidRequest(
        f"other processes have {path.name} open: stop them and run the command again; until then it is closed"
    )


def open_format(path: Path) -> tuple[sqlite3.Connection, int]:
    """A connection to a ledger of any format, and which one it is."""
    connection = opened(path.as_uri() + "?mode=rw")
    try:
        return connection, format_of(path, connection)
    except BaseException:
        connection.close()
        raise
