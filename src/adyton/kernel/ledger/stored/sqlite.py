"""A ledger in one SQLite file, for any number of threads and processes of one machine.

A charge is reported only after COMMIT has returned.  Whatever SQLite cannot do becomes ``LedgerCorrupt``, and
nothing is answered.  The file must be on a local disk: write-ahead logging needs memory that all its readers
share.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger.faults import failed, is_of_the_disk
from adyton.kernel.ledger.links import FORMAT, Header, Receipt
from adyton.kernel.ledger.stored.ledger import StoredLedger, owned
from adyton.kernel.ledger.stored.schema import SQLITE
from adyton.kernel.ledger.stored.store import Connection, Row
from adyton.kernel.ledger.stored.tables import append, write_header

_PATIENCE = 30.0  # seconds to wait for other writers
_APPLICATION = 0x61647974  # "adyt", the mark that SQLite keeps in the file for its owner


class Appending(sqlite3.Connection):
    """Satisfies ``Connection``."""

    def append(self, table: str, row: Row) -> None:
        self.execute(_insert(table, len(row)), row)


@lru_cache(maxsize=16)
def _insert(table: str, values: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * values)})"


def connect(path: Path) -> Appending:
    """To read and to write; only to read where the file lies in a folder that cannot be written to."""
    try:
        # mode=rw never creates.
        return _checked(path, opened(path.as_uri() + "?mode=rw"))
    except sqlite3.Error as fault:
        name = fault.sqlite_errorname
        if not path.is_file() or not name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
            raise
        read_only = _checked(path, _opened_to_read(path))
        read_only.execute("PRAGMA query_only = ON")
        return read_only


def opened(uri: str) -> Appending:
    # isolation_level=None leaves BEGIN and COMMIT to us.
    return sqlite3.connect(
        uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, factory=Appending
    )


def _opened_to_read(path: Path) -> Appending:
    """Of a ledger where nothing can be written: an auditor's copy, or a folder that is read-only.

    SQLite reads a log only where it may write beside it, and leaves it out of a file that cannot change.  So
    a ledger without a log is read as it is, and one with a log is put together in memory.
    """
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size:
        return opened(path.as_uri() + "?mode=ro&immutable=1")
    with tempfile.TemporaryDirectory() as folder:  # for its owner alone, as the ledger is
        copy = Path(folder, path.name)
        for file, place in ((path, copy), (log, copy.with_name(log.name))):
            shutil.copyfile(file, place)
        memory = opened(":memory:")
        with closing(sqlite3.connect(copy)) as whole:
            whole.backup(memory)
    return memory


def format_of(path: Path, connection: sqlite3.Connection) -> int:
    if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise LedgerCorrupt(f"{path.name} is not a ledger")
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _checked(path: Path, connection: Appending) -> Appending:
    try:
        version = format_of(path, connection)
        if version != FORMAT:
            raise LedgerCorrupt(
                f"{path.name} is a ledger of format {version}, and this version reads {FORMAT}; "
                "nothing was answered"
            )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # on macOS fsync alone does not reach the disk
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def settle(path: Path, connection: sqlite3.Connection) -> None:
    """After a failed flush nobody knows what of the log is on the disk: put all of it into the file first."""
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise LedgerCorrupt(
            f"the disk of the ledger {path.name} reported an error, and other processes have it open: close "
            "them first; nothing was answered"
        )


def make_file(
    path: Path, header: Header, facts: Mapping[str, str] | None = None, first: Receipt | None = None
) -> None:
    """Build the ledger under another name, then link it into place: nobody ever meets half a ledger.

    ``facts`` are what its study says, by name; ``first`` carries what another ledger has spent.
    """
    _refuse_leftovers(path)
    try:
        with draft_beside(path) as draft:
            write_draft(draft, header, facts, first)
            os.link(draft, path)
            flush_folder(path.parent)
    except FileExistsError:
        raise InvalidRequest(f"{path.name} exists already; a ledger is never overwritten") from None
    except (OSError, sqlite3.Error) as fault:
        raise failed(path, fault) from fault


@contextmanager
def draft_beside(path: Path) -> Iterator[Path]:
    """An empty file that is gone afterwards, with all that SQLite puts beside it."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
    finally:
        for rest in ("", "-wal", "-shm", "-journal"):  # a full disk leaves all of them behind
            draft.with_name(draft.name + rest).unlink(missing_ok=True)


def _refuse_leftovers(path: Path) -> None:
    # SQLite would play the log of a deleted ledger into the new one.  Look for the log first: if the file is
    # missing after that, no other process can be creating it with this log.
    log = path.with_name(path.name + "-wal")
    if log.exists() and not path.exists():
        raise InvalidRequest(
            f"{log.name} is left over from another ledger: put that one back or move it away"
        )


def write_draft(
    draft: Path, header: Header, facts: Mapping[str, str] | None, first: Receipt | None = None
) -> None:
    with closing(opened(draft.as_uri())) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(f"BEGIN;{SQLITE}")  # all in one flush
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        write_header(connection, header, facts)
        if first is not None:
            append(connection, first)
        connection.execute("COMMIT")
        settle(draft, connection)  # closing would do the same, and say nothing where it fails


def flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def identity(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116  # each read and each charge looks, and a Path takes longer
    except OSError as fault:
        raise failed(Path(path), fault) from fault
    return found.st_dev, found.st_ino


# The store -------------------------------------------------------------------------------------------------


class InSqlite(ABC):
    """The verbs of a ``Store`` in SQLite, wherever that keeps it."""

    def __init__(self) -> None:
        self._lock, self._process = threading.Lock(), os.getpid()

    @abstractmethod
    def _connected(self) -> Appending: ...

    @abstractmethod
    def _failed(self, fault: sqlite3.Error) -> LedgerCorrupt: ...

    def read(self, *, one_moment: bool = False) -> AbstractContextManager[Appending]:
        return self._within("BEGIN" if one_moment else "")

    def lock(self) -> AbstractContextManager[Appending]:
        return self._within("BEGIN IMMEDIATE")

    @contextmanager
    def _within(self, begin: str) -> Iterator[Appending]:
        with self._lock:
            try:
                connection = self._connected()
                try:
                    if begin:
                        connection.execute(begin)
                    yield connection
                    if begin:
                        connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.rollback()
            except sqlite3.Error as fault:
                raise self._failed(fault) from fault

    def check(self, connection: Connection) -> None:
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise LedgerCorrupt("the file of the ledger is damaged")


class SqliteStore(InSqlite):
    """A file.  Its connection is opened when it is needed, closed by a fork, and used for no other file."""

    def __init__(self, path: str | Path, *, held_last: bool = False) -> None:
        super().__init__()
        self.path = Path(path).absolute()
        self.name, self._place = self.path.name, str(self.path)
        self.held_last = held_last  # whether a thread may hold another store while it waits for this one
        self._file = identity(self._place)
        self._connection: Appending | None = None
        self._closed = False
        self._unsettled = False
        _watch(self)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._disconnect()

    def _connected(self) -> Appending:
        if self._closed:
            raise LedgerCorrupt(f"the ledger {self.name} is closed; nothing was answered")
        # A charge in a file that has lost its name, or its place to a backup, would be forgotten.
        if identity(self._place) != self._file:
            raise LedgerCorrupt(f"the ledger {self.name} was moved or replaced; nothing was answered")
        if self._connection is None:
            self._connection, self._process = connect(self.path), os.getpid()
        if self._process != os.getpid():
            raise LedgerCorrupt(f"open the ledger {self.name} after the fork; nothing was answered")
        if self._unsettled:
            settle(self.path, self._connection)
            self._unsettled = False
        return self._connection

    def _failed(self, fault: sqlite3.Error) -> LedgerCorrupt:
        self._unsettled = self._unsettled or is_of_the_disk(fault)
        self._disconnect()  # rolls back whatever was not committed
        return failed(self.path, fault)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):  # every caller either raises already or has nothing left to write
                connection.close()


# SQLite notes in memory which file locks its process holds, and a fork copies the notes but not the locks:
# the child would write into a log that others may delete.  So connections are closed before a fork, and each
# of the two processes opens its own when it needs one.

_forking = threading.Lock()
_watched: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
_paused: list[SqliteStore] = []


def _watch(store: SqliteStore) -> None:
    with _forking:
        _watched.add(store)


def _before_fork() -> None:
    _forking.acquire()
    # In the order in which a charge takes them: else each of two threads could wait for the other.
    _paused.extend(sorted(_watched, key=lambda store: store.held_last))
    for store in _paused:
        store._lock.acquire()
        store._disconnect()


def _after_fork() -> None:
    for store in _paused:
        store._lock.release()
    _paused.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


# The ledger ------------------------------------------------------------------------------------------------


class SqliteLedger(StoredLedger):
    """The contract of ``Ledger`` over a file.

    ``SqliteLedger(path)`` takes whatever ledger is there; a curator uses ``open``, which asks whose it is.

    >>> SqliteLedger.create(folder / "my.ledger", MemoryLedger.of(study).header).count()
    0
    """

    held_last = False  # as its store

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        super().__init__(SqliteStore(self.path, held_last=self.held_last))

    @classmethod
    def create(cls, path: str | Path, header: Header, facts: Mapping[str, str] | None = None) -> SqliteLedger:
        """A new ledger; an existing file is never overwritten.  ``facts``: what its study says, by name."""
        make_file(Path(path).absolute(), header, facts)
        return cls(path)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        study: str,
        accounting: str,
        budget: int,
        facts: Mapping[str, str] | None = None,
    ) -> SqliteLedger:
        """The ledger of this very study, or an error that says what differs."""
        ours = Header.fresh(study, accounting, budget)
        return owned(cls(path), ours, facts)

    @classmethod
    def exists(cls, path: str | Path) -> bool:
        """Whether there is a file."""
        return Path(path).exists()

    @classmethod
    def open_or_create(
        cls, path: str | Path, header: Header, facts: Mapping[str, str] | None = None
    ) -> SqliteLedger:
        """For a study that may be new.  Of several processes that try at once, one creates and all open."""
        path = Path(path).absolute()
        if not path.exists():
            try:
                make_file(path, header, facts)
            except InvalidRequest:
                if not path.exists():
                    raise
        return owned(cls(path), header, facts)
