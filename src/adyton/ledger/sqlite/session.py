"""One connection to the file of a ledger, for one thread at a time, in one process.  Fails closed."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adyton.errors import LedgerCorrupt
from adyton.ledger.faults import failed, is_of_the_disk
from adyton.ledger.sqlite.file import connect, identity, settle


class SqliteSession:
    """A connection that is opened when it is needed, closed by a fork, and never used for another file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._file = identity(self.path)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._closed = False
        self._unsettled = False
        _watch(self)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._disconnect()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """On the disk before it ends: what depends on it may be shown."""
        with self._session() as connection:
            connection.execute("PRAGMA synchronous = FULL")
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.rollback()
                raise

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """To read several things of one moment."""
        with self._session() as connection:
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.rollback()

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time.  Fails closed."""
        with self._lock:
            try:
                yield self._connected()
            except sqlite3.Error as fault:
                self._unsettled = self._unsettled or is_of_the_disk(fault)
                self._disconnect()  # rolls back whatever was not committed
                raise failed(self.path, fault) from fault

    def _connected(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerCorrupt(f"the ledger {self.path.name} is closed; nothing was answered")
        # A charge in a file that has lost its name, or its place to a backup, would be forgotten.
        if identity(self.path) != self._file:
            raise LedgerCorrupt(f"the ledger {self.path.name} was moved or replaced; nothing was answered")
        if self._connection is None:
            self._connection, self._process = connect(self.path), os.getpid()
        if self._process != os.getpid():
            raise LedgerCorrupt(f"open the ledger {self.path.name} after the fork; nothing was answered")
        if self._unsettled:
            settle(self.path, self._connection)
            self._unsettled = False
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):  # every caller either raises already or has nothing left to write
                connection.close()


# SQLite notes in memory which file locks its process holds, and a fork copies the notes but not the locks:
# the child would write into a log that others may delete.  So connections are closed before a fork, and each
# of the two processes opens its own when it needs one.

_forking = threading.Lock()
_watched: weakref.WeakSet[SqliteSession] = weakref.WeakSet()
_paused: list[SqliteSession] = []


def _watch(session: SqliteSession) -> None:
    with _forking:
        _watched.add(session)


def _before_fork() -> None:
    _forking.acquire()
    _paused.extend(_watched)
    for session in _paused:
        session._lock.acquire()
        session._disconnect()


def _after_fork() -> None:
    for session in _paused:
        session._lock.release()
    _paused.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
