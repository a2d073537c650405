"""The file behind a SQLite ledger: how it is made, opened and recognised."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.ledger.base import FORMAT, Header
from adyton.ledger.sqlite_notes import NOTES

_PATIENCE = 30.0  # seconds to wait for other writers
_APPLICATION = 0x61647974  # "adyt", the mark that SQLite keeps in the file for its owner

# Amounts are text because SQLite's integers end at 64 bits.
_TABLES = """
CREATE TABLE header (
    number INTEGER PRIMARY KEY CHECK (number = 1), study TEXT NOT NULL, currency TEXT NOT NULL,
    "limit" TEXT NOT NULL, salt TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
CREATE TABLE receipts (
    number INTEGER PRIMARY KEY, question TEXT NOT NULL, detail TEXT NOT NULL, amount TEXT NOT NULL,
    radius TEXT NOT NULL, request TEXT UNIQUE, spent TEXT NOT NULL, spent_radius TEXT NOT NULL,
    asked_at TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
CREATE TABLE answers (
    number INTEGER PRIMARY KEY REFERENCES receipts, question TEXT NOT NULL, answer TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE INDEX answers_by_question ON answers (question, number);
"""
# INSERT OR REPLACE deletes without asking the DELETE trigger, hence the third one.
_GUARDS = """
CREATE TRIGGER {table}_update BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER {table}_replace BEFORE INSERT ON {table}
    WHEN EXISTS (SELECT 1 FROM {table} WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""
_SCHEMA = "".join(
    [_TABLES, *(_GUARDS.format(table=table) for table in ("header", "receipts", "answers")), *NOTES]
)


def connect(path: Path) -> sqlite3.Connection:
    # mode=rw never creates; isolation_level=None leaves BEGIN and COMMIT to us.
    uri = path.as_uri() + "?mode=rw"
    connection = sqlite3.connect(
        uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if mark != _APPLICATION:
            raise LedgerCorrupt(f"{path.name} is not a ledger")
        if version != FORMAT:
            raise LedgerCorrupt(
                f"{path.name} is a ledger of format {version}, and this version reads {FORMAT}"
            )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # on macOS fsync alone does not reach the disk
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def make_file(path: Path, header: Header) -> None:
    """Build the ledger under another name, then link it into place: nobody ever meets half a ledger."""
    _refuse_leftovers(path)
    draft: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        draft = Path(name)
        os.close(handle)
        _write_draft(draft, header)
        os.link(draft, path)
        _flush_folder(path.parent)
    except FileExistsError:
        raise InvalidRequest(f"{path.name} exists already; a ledger is never overwritten") from None
    except (OSError, sqlite3.Error) as fault:
        raise failed(path, fault) from fault
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def _refuse_leftovers(path: Path) -> None:
    # SQLite would play the log of a deleted ledger into the new one.  Look for the log first: if the file is
    # missing after that, no other process can be creating it with this log.
    log = path.with_name(path.name + "-wal")
    if log.exists() and not path.exists():
        raise InvalidRequest(
            f"{log.name} is left over from another ledger: put that one back or move it away"
        )


def _write_draft(draft: Path, header: Header) -> None:
    row = (1, header.study, header.currency, str(header.limit), header.salt, header.digest)
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.executescript(_SCHEMA)
        connection.execute("INSERT INTO header VALUES (?, ?, ?, ?, ?, ?)", row)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as fault:
        raise failed(path, fault) from fault
    return found.st_dev, found.st_ino


def failed(path: Path, fault: Exception) -> LedgerCorrupt:
    reason = getattr(fault, "sqlite_errorname", type(fault).__name__)
    return LedgerCorrupt(f"the ledger {path.name} cannot be used ({reason}); nothing was answered")
