"""Files that a server keeps beside a study: its secret, and small databases.  Only their owner can read them.

Without the secret the stored hash of a token says nothing about the token.  It comes from the environment, or
from a file, which is made when it is missing.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TextIO

from adyton.errors import InvalidRequest, LedgerCorrupt

VARIABLE = "ADYTON_SECRET"
FILE = "server.secret"
OWNER_FILE = ".owner"  # with the name of a study: the first token, where nobody looks at a terminal
_LEAST = 32  # characters


def secret_beside(path: Path) -> bytes:
    """The secret for the files in the folder of ``path``."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        if len(given) < _LEAST:
            raise InvalidRequest(f"{VARIABLE} must have at least {_LEAST} characters")
        return given.encode()
    file = path.absolute().parent / FILE
    try:
        return _read(file)
    except FileNotFoundError:
        return _made(file)


def keyed_hash(secret: bytes, purpose: str, text: str) -> str:
    """HMAC-SHA256; what was made for one purpose is no use for another.

    Not by ``hmac.digest``, which lets other threads go first and then waits for them.
    """
    return hmac.new(secret, f"adyton {purpose}\n{text}".encode(), "sha256").hexdigest()


def is_open_to_others(file: Path) -> bool:
    return bool(file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def who_else_writes(folder: Path) -> Literal["everybody", "its group"] | None:
    """Whoever can write to a folder can replace the files in it, or be the first to make them."""
    mode = folder.stat().st_mode
    return "everybody" if mode & stat.S_IWOTH else "its group" if mode & stat.S_IWGRP else None


@contextmanager
def hidden_file(file: Path) -> Iterator[TextIO]:
    """A new file in the place of ``file``, which nobody else can read."""
    file.unlink(missing_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as written:
        yield written
        written.flush()
        os.fsync(written.fileno())


def _read(file: Path) -> bytes:
    if is_open_to_others(file):
        raise InvalidRequest(f"{file.name} can be read by others: chmod 600 {file.name}")
    content = file.read_bytes().strip()
    if len(content) < _LEAST:
        raise InvalidRequest(f"{file.name} is damaged: it must have at least {_LEAST} characters")
    return content


def _made(file: Path) -> bytes:
    """Of several processes that make it at once, one wins; a half-written one is never seen."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with hidden_file(draft) as written:
            written.write(secrets.token_hex(32) + "\n")
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    return _read(file)


class Database:
    """A SQLite file that is made when it is first used, with one connection for all threads.

    ``prepare`` gets each new connection and sees to its tables; an error says that ``what`` cannot be used.
    """

    def __init__(self, path: Path, what: str, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self.path, self._what, self._prepare = path, what, prepare
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    @contextmanager
    def work(self) -> Iterator[sqlite3.Connection]:
        """One transaction.  After a fault the next one begins with a new connection."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._connected()
                with self._connection as connection:  # commits, or rolls back
                    yield connection
            except sqlite3.Error as fault:
                with suppress(sqlite3.Error):
                    self._let_go()
                name = type(fault).__name__
                raise LedgerCorrupt(f"{self._what} in {self.path.name} cannot be used: {name}") from None

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def _connected(self) -> sqlite3.Connection:
        if not self.path.exists():
            self.path.touch(mode=0o600)
        connection = sqlite3.connect(self.path, timeout=10, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        self._prepare(connection)
        connection.commit()
        return connection

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
