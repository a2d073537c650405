"""One connection to the schema of a ledger in Postgres: made when it is needed, given up when it breaks.

Statements are written once, for SQLite: here their places are spelt as Postgres spells them, and notes have a
column ``rowid``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger.stored.store import Connection, Row, Rows
from adyton.kernel.ledger.texts import is_address

if TYPE_CHECKING:
    import psycopg

_PATIENCE = {
    "connect_timeout": 10,
    "keepalives_idle": 60,
    "keepalives_interval": 10,
    "keepalives_count": 6,
    "tcp_user_timeout": 120_000,  # milliseconds: a server that fell silent is given up, as one that is idle
}
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,50}")
# A commit that the server reports before it is on its disk could be lost after the answer was shown.
_DURABLE = ("on", "remote_apply", "remote_write", "local")
_Statement = tuple[bytes, tuple[str | int | None, ...]]
_abandoned: list[Any] = []  # connections of a parent process: closing one here would end it there


class PostgresSession:
    """``address`` is postgresql://USER@HOST/DATABASE/NAME; NAME is a schema for this ledger alone."""

    def __init__(self, address: str) -> None:
        self.address, self.name = parsed(address)
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._process = os.getpid()
        self._closed = False

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._disconnect()

    @contextmanager
    def read(self, *, one_moment: bool = False) -> Iterator[Connection]:
        with self._lock, self._sealed():
            connection = self._connected()
            statements = Statements(connection)
            if not one_moment:
                yield statements
                return
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield statements
            finally:
                statements.roll_back()

    @contextmanager
    def _sealed(self) -> Iterator[None]:
        """The words of the server may hold parts of an address or a query: only their kind is told."""
        import psycopg

        why = ""
        try:
            yield
        except psycopg.Error as fault:
            self._disconnect()
            why = _reason(fault)
        if why:
            raise LedgerCorrupt(f"the ledger {self.name} cannot be used: {why}; nothing was answered")

    def _connected(self) -> psycopg.Connection[Any]:
        if self._closed:
            raise LedgerCorrupt(f"the ledger {self.name} is closed; nothing was answered")
        if self._process != os.getpid():
            if self._connection is not None:
                _abandoned.append(self._connection)
            self._connection, self._process = None, os.getpid()
        if self._connection is None or self._connection.closed:
            self._connection = connect(self.address, self.name)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._process == os.getpid():
            with suppress(Exception):
                connection.close()


@contextmanager
def one_errand(address: str) -> Iterator[tuple[Connection, str]]:
    """A connection for one errand, and the name of its schema."""
    with closing(PostgresSession(address)) as session, session.read() as connection:
        yield connection, session.name


def has_table(connection: Connection, schema: str, table: str) -> bool:
    found = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = ?"
    return connection.execute(found, (schema, table)).fetchone() is not None


class Statements:
    """Statements with ``?`` for values.

    What is appended goes together with the next statement: the next one that reads, or the commit.  So
    nothing waits for a journey to the server that tells it nothing.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._unsent: list[_Statement] = []
        self.first: tuple[str, Row] | None = None  # that was appended, and its table

    @property
    def are_cut_off(self) -> bool:
        return self._connection.broken or self._connection.closed

    def execute(self, sql: str, parameters: Row = (), /) -> Rows:
        statement = _spelt(sql).encode(), tuple(parameters)
        unsent, self._unsent = self._unsent, []
        return self._sent([*unsent, statement]) if unsent else self._connection.execute(*statement)

    def append(self, table: str, row: Row) -> None:
        self.first = self.first or (table, row)
        places = ", ".join(["%s"] * len(row))
        self._unsent.append((f"INSERT INTO {table} VALUES ({places})".encode(), tuple(row)))

    def roll_back(self) -> None:
        with suppress(Exception):  # a broken connection has rolled back by itself
            self._connection.execute("ROLLBACK")

    def _sent(self, statements: Sequence[_Statement]) -> Rows:
        """In one journey; what the last one finds.  If one fails, those after it are not carried out."""
        import psycopg

        failed: psycopg.Error | None = None
        with self._connection.pipeline():
            try:
                found = [self._connection.execute(*statement) for statement in statements][-1]
            except psycopg.Error as fault:  # raised in here, it would be logged with the words of the server
                failed = fault
        if failed is not None:
            raise failed
        return found


def connect(address: str, name: str) -> psycopg.Connection[Any]:
    """A connection that commits durably, with the schema of this ledger before all others."""
    import psycopg

    connection = psycopg.connect(address, autocommit=True, **_PATIENCE)  # type: ignore[arg-type]
    try:
        connection.execute("SET client_encoding = 'UTF8'")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET lock_timeout = '30s'")
        connection.execute("SET statement_timeout = '120s'")
        connection.execute("SET idle_in_transaction_session_timeout = '120s'")
        connection.execute(f'SET search_path = "{name}", pg_catalog'.encode())
        _check_durable(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_durable(connection: psycopg.Connection[Any]) -> None:
    names = ("synchronous_commit", "fsync", "full_page_writes")
    shown = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in names]
    settings = {name: row[0] if row else "" for name, row in zip(names, shown, strict=True)}
    for name, value in settings.items():
        if value not in (_DURABLE if name == "synchronous_commit" else ("on",)):
            raise LedgerCorrupt(
                f"this Postgres server has {name} = {value}: a charge could be lost with the power after its "
                "answer was shown; set it to on; nothing was answered"
            )


def parsed(address: str) -> tuple[str, str]:
    """What libpq gets, and the name of the schema."""
    form = "the ledger's address is of the form postgresql://USER@HOST/DATABASE/NAME"
    if importlib.util.find_spec("psycopg") is None:
        raise InvalidRequest("a ledger in Postgres needs psycopg: pip install 'adyton[postgres]'")
    try:
        parts = urlsplit(address)
        password = parts.password
    except ValueError:
        raise InvalidRequest(form) from None
    database, _, name = parts.path.lstrip("/").partition("/")
    if not is_address(address) or not database or _NAME.fullmatch(name) is None:
        raise InvalidRequest(f"{form}; NAME is of small letters, digits and _")
    if password is not None:
        raise InvalidRequest(
            "no password in ledger.address: it belongs into libpq's own places, ~/.pgpass or PGPASSFILE"
        )
    return parts._replace(path=f"/{database}").geturl(), name


@lru_cache(maxsize=256)
def _spelt(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")


def _reason(fault: Exception) -> str:
    kind = getattr(fault, "sqlstate", None) or ""
    words = {
        "42501": "this role may not do that: look at its grants",
        "25006": "the server is read-only",
        "53100": "the disk of the server is full",
        "55P03": "others kept it locked for too long: ask again",
        "57014": "the server took too long",
        "P0001": "it takes no changes, only additions, and something tried to change it",
        "42P01": "its tables are not those of a ledger",
    }
    if kind in words:
        return words[kind]
    if not kind or kind.startswith(("08", "57P")):
        return "the server cannot be reached"
    return f"the server refused with {kind}"
