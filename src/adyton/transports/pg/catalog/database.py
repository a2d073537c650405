"""Databases in memory that hold the catalogs of a study, for statements of clients.

They hold public facts alone, have no access to files, networks or extensions, and their settings are
locked.  One statement at a time uses one of them, so what one takes in memory is missed by no other.
All that belongs to a session is in a transaction that is rolled back.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adyton.duckdb_files import connect, quoted
from adyton.service.limits import LIMITS
from adyton.transports.pg.catalog.facts import CatalogFacts
from adyton.transports.pg.catalog.functions import Functions
from adyton.transports.pg.catalog.layout import Relation, all_columns_of, table_type
from adyton.transports.pg.catalog.limits import CatalogWork, too_much, unsupported
from adyton.transports.pg.catalog.tables import rows_of
from adyton.transports.pg.errors import SqlError

_LOOKS = 0.02  # seconds between two looks at the clock
_CLOSED = {  # in this order: the last one locks them
    "temp_directory": "''",
    "disabled_optimizers": "'join_order,build_side_probe_side'",  # rows come in the order of the tables
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "threads": "1",
    "memory_limit": f"'{LIMITS.wire_catalog_bytes} bytes'",
    "lock_configuration": "true",
}
CALLS = {
    "bool": "BOOLEAN",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "int4s": "INTEGER[]",
    "text": "VARCHAR",
    "texts": "VARCHAR[]",
    "changing": "VARCHAR",  # a function that does something
    "pairs": "STRUCT(x INTEGER, n INTEGER)[]",
}
Rows = Sequence[Mapping[str, Any]]


def call_name(kind: str) -> str:
    """What the database calls our own functions that give a value of this kind."""
    return f"adyton_{kind}"


def table_name(relation: Relation) -> str:
    return ".".join(relation)


class CatalogDatabase:
    """The catalogs of one study for one name."""

    def __init__(self, facts: CatalogFacts) -> None:
        self.facts, self._made = facts, set[Relation]()
        self._functions: Functions | None = None
        self._error: Exception | None = None
        self._connection = connect()
        for kind, returned in CALLS.items():
            self._add(kind, returned)
        for name, value in _CLOSED.items():
            self._connection.execute(f"SET {name} = {value}")

    def rows(
        self,
        text: str,
        relations: Sequence[Relation],
        own: Mapping[Relation, Rows],
        functions: Functions,
        work: CatalogWork,
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The types of the columns, and the rows.  ``own``: tables of this session alone."""
        for relation in relations:
            if relation not in self._made and relation not in own:
                self._make(relation, rows_of(relation, self.facts))
                self._made.add(relation)
        self._functions, self._error = functions, None
        self._connection.execute("BEGIN")
        try:
            for relation, rows in own.items():
                self._make(relation, rows)
            return self._answered(text, work)
        finally:
            self._functions = self._error = None
            self._connection.execute("ROLLBACK")

    def _add(self, kind: str, returned: str) -> None:
        words = {"null_handling": "special", "side_effects": kind == "changing"}
        self._connection.create_function(
            call_name(kind), lambda *given: self._call(*given), None, returned, **words
        )

    def close(self) -> None:
        self._connection.close()
        del self._connection  # its functions know this object, which would know it for ever

    def _answered(self, text: str, work: CatalogWork) -> tuple[list[str], list[tuple[Any, ...]]]:
        import duckdb

        try:
            with CLOCK.watching(self._connection, work):
                found = self._connection.execute(text)
                types = [str(column[1]) for column in found.description]
                rows = found.fetchmany(LIMITS.wire_free_rows + 1)
            work.check()
        except duckdb.Error as error:
            work.check()
            raise (self._error or _as_postgres(error)) from None
        if len(rows) > LIMITS.wire_free_rows:
            raise unsupported("so many rows")
        return types, rows

    def _call(self, *given: Any) -> Any:
        """One of our own functions, by its name."""
        assert self._functions is not None
        try:
            return self._functions.call(given[0], given[1:])
        except Exception as error:
            self._error = error  # the database would tell another one
            raise

    def _make(self, relation: Relation, rows: Rows) -> None:
        columns = all_columns_of(relation)
        name, types = quoted(table_name(relation)), {one: table_type(oid) for one, oid in columns.items()}
        listed = ", ".join(f"{quoted(column)} {kind}" for column, kind in types.items())
        self._connection.execute(f"CREATE TABLE {name} ({listed})")
        if rows:
            values = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in types.values())
            given = [[row.get(column) for row in rows] for column in columns]
            self._connection.execute(f"INSERT INTO {name} SELECT {values}", given)


class CatalogClock:
    """Looks at the clock for all statements that run, and interrupts those that take too long."""

    def __init__(self) -> None:
        self.running: dict[int, tuple[Any, CatalogWork]] = {}
        self._lock, self._some, self._never = threading.Lock(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def watching(self, connection: Any, work: CatalogWork) -> Iterator[None]:
        with self._lock:
            self.running[id(work)] = (connection, work)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="catalog clock", daemon=True)
                self._thread.start()
        self._some.set()
        try:
            yield
        finally:
            with self._lock:
                del self.running[id(work)]

    def _watch(self) -> None:
        while self._some.wait():
            self._never.wait(_LOOKS)
            self._look()

    def _look(self) -> None:
        """No connection is remembered between two looks: it would live on when it is closed."""
        with self._lock:
            for connection, work in self.running.values():
                if work.is_over():
                    connection.interrupt()
            if not self.running:
                self._some.clear()


def _as_postgres(error: Exception) -> SqlError:
    """An error of the database.  Its own words are about a text that nobody has written."""
    import duckdb

    message = str(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        return too_much()
    if "More than one row returned" in message:
        return SqlError("21000", "more than one row returned by a subquery used as an expression")
    if isinstance(error, duckdb.ConversionException | duckdb.TypeMismatchException):
        return SqlError("22P02", "a value here is not of the type that it is compared with or made into")
    if isinstance(error, duckdb.OutOfRangeException):
        return SqlError("22003", "a number here is too large")
    return unsupported("this")


class CatalogDatabases:
    """Those that no statement uses at the moment: the newest ones are kept."""

    def __init__(self) -> None:
        self._idle: OrderedDict[int, CatalogDatabase] = OrderedDict()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one(self, facts: CatalogFacts) -> Iterator[CatalogDatabase]:
        """A database for one statement.  One in which anything went wrong is not used again."""
        database = self._taken(facts) or CatalogDatabase(facts)
        try:
            yield database
        except BaseException as error:
            if isinstance(error, SqlError) and error.code not in ("54000", "57014"):
                self._give_back(database)
            else:
                database.close()
            raise
        self._give_back(database)

    def idle(self) -> list[CatalogDatabase]:
        """The oldest first."""
        with self._lock:
            return list(self._idle.values())

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, OrderedDict()
        for database in idle.values():
            database.close()

    def _taken(self, facts: CatalogFacts) -> CatalogDatabase | None:
        with self._lock:
            found = next((key for key, one in reversed(self._idle.items()) if one.facts == facts), None)
            return None if found is None else self._idle.pop(found)

    def _give_back(self, database: CatalogDatabase) -> None:
        with self._lock:
            self._idle[id(database)] = database
            extra = self._idle.popitem(last=False)[1] if len(self._idle) > LIMITS.wire_catalogs else None
        if extra is not None:
            extra.close()


CLOCK = CatalogClock()
DATABASES = CatalogDatabases()
atexit.register(DATABASES.close)
