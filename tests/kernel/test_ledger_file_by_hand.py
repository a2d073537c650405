"""A ledger's file: how it is made, opened, read where nothing can be written, and left before a fork."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger import Header, Order, SqliteLedger
from adyton.kernel.ledger.base import check_first, next_receipt
from adyton.kernel.ledger.faults import is_of_the_disk
from adyton.kernel.ledger.stored import sqlite as s
from adyton.kernel.ledger.stored.ledger import StoredLedger
from adyton.kernel.ledger.validity import FinalCost

HEADER = Header("study", "gdp", 1000, "salt")
ORDER = Order("q", "{}", 7, 5)


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    made = SqliteLedger.create(tmp_path / "a.ledger", HEADER, {"fact": "1"})
    yield made
    made.close()


def fault(name: str) -> sqlite3.OperationalError:
    found = sqlite3.OperationalError("no")
    found.sqlite_errorname = name
    return found


def test_a_connection_flushes_and_trusts_nothing(ledger: SqliteLedger) -> None:
    """Mutants: each pragma left out, a connection of one thread, a format that is not looked at."""
    with ledger.store.read() as connection:
        asked = (
            "journal_mode",
            "synchronous",
            "fullfsync",
            "trusted_schema",
            "busy_timeout",
            "application_id",
            "user_version",
        )
        facts = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in asked]
        assert facts == ["wal", 2, 1, 0, 30_000, int.from_bytes(b"adyt", "big"), 1]
        assert connection.isolation_level is None
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(connection.execute("SELECT 1").fetchone()))
        thread.start()
        thread.join()
        assert found == [(1,)]
    for pragma, match in (("application_id = 1", "not a ledger"), ("user_version = 2", "format 2")):
        with sqlite3.connect(ledger.path) as connection:
            connection.execute(f"PRAGMA {pragma}")
        connection.close()
        opened = s.opened(ledger.path.as_uri() + "?mode=rw")
        with pytest.raises(LedgerCorrupt, match=match):
            s._checked(ledger.path, opened)
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            opened.execute("SELECT 1")
        with sqlite3.connect(ledger.path) as connection:
            connection.execute(f"PRAGMA application_id = {s._APPLICATION}")
        connection.close()


def test_a_file_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: a draft that stays, a folder that is not flushed, a log of another ledger, a first receipt."""
    flushed: list[int] = []
    drafts: list[int] = []
    usual, make = os.fsync, tempfile.mkstemp

    def noted(handle: int) -> None:
        assert os.path.samestat(os.fstat(handle), tmp_path.stat())
        flushed.append(handle)
        usual(handle)

    def draft_made(**facts: Any) -> tuple[int, str]:
        drafts.append((made := make(**facts))[0])
        return made

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(tempfile, "mkstemp", draft_made)
    path, first = (
        tmp_path / "b.ledger",
        next_receipt(HEADER, None, ORDER, "then", final=FinalCost(0), last_of_name=None, secret="x"),
    )
    s.make_file(path, HEADER, None, first)
    assert (len(flushed), len(drafts)) == (1, 1)
    for handle in (*flushed, *drafts):
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(handle)
    assert [file.name for file in tmp_path.iterdir()] == ["b.ledger"]
    made = SqliteLedger(path)
    assert (made.count(), made.unanswered("q", "{}", 7)) == (1, first)
    made.close()
    with pytest.raises(InvalidRequest, match="never overwritten"):
        s.make_file(path, HEADER)
    assert sorted(file.name for file in tmp_path.iterdir() if file.name.startswith(".")) == []
    (tmp_path / "c.ledger-wal").write_bytes(b"left")
    with pytest.raises(InvalidRequest, match="left over"):
        s.make_file(tmp_path / "c.ledger", HEADER)
    (tmp_path / "b.ledger-wal").touch()
    with pytest.raises(InvalidRequest, match="never overwritten"):
        s.make_file(path, HEADER)
    with pytest.raises(LedgerCorrupt):
        s.make_file(tmp_path / "none" / "d.ledger", HEADER)
    with s.draft_beside(path) as draft:
        assert (draft.parent, draft.stat().st_mode & 0o777) == (tmp_path, 0o600)
        for rest in ("-wal", "-shm", "-journal"):
            draft.with_name(draft.name + rest).touch()
    assert [file for file in tmp_path.iterdir() if file.name.startswith(".")] == []
    check_first(HEADER, ORDER)


def test_what_cannot_be_written_is_read(
    ledger: SqliteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its log, and without one.  Mutants: a log that is left out, a copy that can be written to."""
    ledger.charge(ORDER)
    copies = tmp_path / "copies"
    copies.mkdir()
    for file in tmp_path.glob("a.ledger*"):
        shutil.copy(file, copies)
    copy = copies / "a.ledger"
    assert (copies / "a.ledger-wal").stat().st_size
    count = "SELECT COUNT(*) FROM receipts"
    assert s._opened_to_read(copy).execute(count).fetchone() == (1,)
    (copies / "a.ledger-wal").write_bytes(b"")
    assert s._opened_to_read(copy).execute(count).fetchone() == (0,)
    (copies / "a.ledger-wal").unlink()
    alone = s._opened_to_read(copy)
    assert alone.execute(count).fetchone() == (0,)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        alone.execute("DELETE FROM unanswered")
    usual = s.opened
    for name, read in (
        ("SQLITE_READONLY_DIRECTORY", True),
        ("SQLITE_CANTOPEN", True),
        ("SQLITE_CORRUPT", False),
    ):

        def closed(uri: str, name: str = name) -> sqlite3.Connection:
            if "mode=rw" in uri:
                raise fault(name)
            return usual(uri)

        monkeypatch.setattr(s, "opened", closed)
        if read:
            connection = s.connect(copy)
            assert connection.execute("PRAGMA query_only").fetchone() == (1,)
        else:
            with pytest.raises(sqlite3.OperationalError):
                s.connect(copy)
        with pytest.raises(sqlite3.OperationalError):
            s.connect(copies / "none")


def test_a_session_uses_its_own_file_alone(ledger: SqliteLedger, tmp_path: Path) -> None:
    """Mutants: a file that was moved or replaced, a connection that crosses a fork, one that stays closed."""
    first = ledger.store._connection
    assert (first is not None, ledger.store._closed, ledger.store._unsettled) == (True, False, False)
    s._before_fork()
    assert (ledger.store._connection, ledger.store._lock.locked(), s._forking.locked()) == (None, True, True)
    s._after_fork()
    assert (ledger.store._lock.locked(), s._forking.locked(), s._paused) == (False, False, [])
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        first.execute("SELECT 1")  # type: ignore[union-attr]
    assert ledger.count() == 0
    ledger.store._process -= 1
    with pytest.raises(LedgerCorrupt, match="after the fork"):
        ledger.count()
    ledger.store._process += 1
    assert ledger.charge(ORDER).fresh
    log = ledger.path.with_name("a.ledger-wal")
    assert log.stat().st_size > 0
    ledger.store._unsettled = True
    assert (ledger.count(), ledger.store._unsettled, log.stat().st_size) == (1, False, 0)
    moved = ledger.path.rename(tmp_path / "moved")
    with pytest.raises(LedgerCorrupt):
        ledger.count()
    shutil.copy(moved, ledger.path)
    with pytest.raises(LedgerCorrupt, match="moved or replaced"):
        ledger.count()
    ledger.path.unlink()
    moved.rename(ledger.path)
    assert ledger.count() == 1
    ledger.close()
    assert ledger.store._connection is None
    with pytest.raises(LedgerCorrupt, match="is closed"):
        ledger.count()


class HeldLast(SqliteLedger):
    held_last = True


def test_what_is_held_last_is_locked_last_before_a_fork(tmp_path: Path) -> None:
    """Mutants: another order, a store that is not what its ledger says."""
    s.make_file(tmp_path / "g.ledger", HEADER)
    ledgers = [kind(tmp_path / "g.ledger") for kind in (HeldLast, SqliteLedger) * 4]
    assert [one.store.held_last for one in ledgers] == [True, False] * 4  # type: ignore[attr-defined]
    assert not s.SqliteStore(tmp_path / "g.ledger").held_last
    s._before_fork()
    order = [store.held_last for store in s._paused]
    s._after_fork()
    for one in ledgers:
        one.close()
    assert order == sorted(order)
    assert order.count(True) >= 4


def test_a_ledger_that_cannot_be_used_is_let_go_of(tmp_path: Path) -> None:
    """Mutant: a connection that stays open after an error."""
    path = tmp_path / "h.ledger"
    s.make_file(path, HEADER)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER header_update")
        connection.execute("UPDATE header SET study = 'x'")
    connection.close()
    store = s.SqliteStore(path)
    with pytest.raises(LedgerCorrupt, match="header"):
        StoredLedger(store)
    assert (store._closed, store._connection) == (True, None)


def test_what_goes_wrong_in_a_transaction_is_undone(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: a rollback, a commit or a lock left out; a fault of the disk that is forgotten."""
    ledger.charge(ORDER)
    held: list[sqlite3.Connection] = []

    def interrupted(error: type[BaseException]) -> None:
        with ledger.store.lock() as connection:
            held.append(connection)
            connection.execute("CREATE TABLE undone (x)")
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            interrupted(error)
        assert not held[-1].in_transaction
        assert held[-1].execute("SELECT 1 FROM sqlite_schema WHERE name = 'undone'").fetchone() is None
    with ledger.store.read() as connection:
        assert not connection.in_transaction
    with ledger.store.read(one_moment=True) as connection:
        assert connection.in_transaction
    assert not connection.in_transaction
    other = SqliteLedger(ledger.path)
    with ledger.store.lock(), other.store.read() as beside:
        beside.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            beside.execute("BEGIN IMMEDIATE")
    other.close()
    for name, disk in (("SQLITE_IOERR_FSYNC", True), ("SQLITE_FULL", True), ("SQLITE_BUSY", False)):
        assert is_of_the_disk(fault(name)) == disk
        ledger.store._unsettled = False
        with pytest.raises(LedgerCorrupt), ledger.store.read():
            raise fault(name)
        assert (ledger.store._unsettled, ledger.store._connection) == (disk, None)
    ledger.store._unsettled = True

    def busy(path: Path, connection: sqlite3.Connection) -> None:
        raise fault("SQLITE_BUSY")

    with monkeypatch.context() as patched:
        patched.setattr(s, "settle", busy)
        with pytest.raises(LedgerCorrupt, match="locked"):
            ledger.count()
    assert ledger.store._unsettled  # what the disk has lost is not settled by a lock
    assert (ledger.count(), ledger.store._unsettled) == (1, False)

    class Damaged:
        def execute(self, sql: str) -> Damaged:
            return self

        def fetchone(self) -> tuple[str]:
            return ("row 3 missing",)

    with pytest.raises(LedgerCorrupt, match="damaged"):
        ledger.store.check(Damaged())  # type: ignore[arg-type]


def test_a_busy_file_is_not_settled(ledger: SqliteLedger) -> None:
    """Mutants: readers of an old state that are not waited for."""
    ledger.charge(ORDER)
    reader = s.opened(ledger.path.as_uri() + "?mode=rw")
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM receipts").fetchone()
    ledger.charge(Order("other", "{}", 7, 5))
    writer = s.opened(ledger.path.as_uri() + "?mode=rw")
    writer.execute("PRAGMA busy_timeout = 0")
    with pytest.raises(LedgerCorrupt, match="other processes"):
        s.settle(ledger.path, writer)
    reader.close()
    s.settle(ledger.path, writer)
    writer.close()


def test_a_ledger_is_opened_for_its_own_study(tmp_path: Path) -> None:
    """Mutants: a file that is made twice, another study's that is used."""
    path = tmp_path / "e.ledger"
    assert not SqliteLedger.exists(path)
    made = SqliteLedger.open_or_create(path, HEADER)
    again = SqliteLedger.open_or_create(path, HEADER)
    assert (SqliteLedger.exists(path), made.header, again.header) == (True, HEADER, HEADER)
    with pytest.raises(InvalidRequest, match="does not belong"):
        SqliteLedger.open_or_create(path, Header("other", "gdp", 1000, "salt"))
    opened = SqliteLedger.open(path, study="study", accounting="gdp", budget=1000)
    with pytest.raises(InvalidRequest, match="accounting"):
        SqliteLedger.open(path, study="study", accounting="pure", budget=1000)
    (tmp_path / "f.ledger-wal").touch()
    with pytest.raises(InvalidRequest, match="left over"):
        SqliteLedger.open_or_create(tmp_path / "f.ledger", HEADER)
    for one in (made, again, opened):
        one.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER header_update")
        connection.execute("UPDATE header SET study = 'x'")
    connection.close()
    with pytest.raises(LedgerCorrupt):
        SqliteLedger(path)
