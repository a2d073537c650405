"""Postgres: the table stays where it is; the session keeps a temporary table of clipped integers.

The role needs CONNECT and TEMPORARY on the database and SELECT on the table, nothing else.  The source is
read once, in one transaction that sees one state of it; afterwards the session is read-only.
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from adyton.duckdb_files import quoted, text_literal
from adyton.engines.loaded import Joined, LoadedEngine, Loading
from adyton.engines.loading.clipped import Origin
from adyton.engines.spelling.kinds import FAR_SECONDS, SourceType
from adyton.engines.spelling.rows import Dialect
from adyton.engines.stopping import SECONDS, SECONDS_TO_LOAD
from adyton.errors import InvalidRequest, sealed
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table, TextColumn
from adyton.kernel.sensitivity import Reading

SCHEMES = ("postgresql://", "postgres://")
# A server that is gone is noticed within two minutes; an address may name other values.
_PATIENCE = {"connect_timeout": 10, "keepalives_idle": 60, "keepalives_interval": 10, "keepalives_count": 6}

# Operators and functions come from Postgres itself, whatever other schemas define under the same names.
_SESSION = (
    "SET search_path = pg_catalog, pg_temp",
    "SET client_encoding = 'UTF8'",
    "SET standard_conforming_strings = on",
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO, YMD'",
    "SET extra_float_digits = 1",
    f"SET statement_timeout = '{SECONDS_TO_LOAD:.0f}s'",
    "SET lock_timeout = '30s'",
)

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), coalesce(b.typname, t.typname),
       coalesce(b.typtype, t.typtype) = 'e'
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typtype = 'd'
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'v', 'm', 'f', 'p')
  AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
KINDS: dict[str, SourceType] = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": "float",
    "float8": "float",
    "numeric": "decimal",
    "bool": "boolean",
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "name": "text",
    "citext": "text",
    "uuid": "text",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "instant",
}

# No step is finer than 1e-40, so what is nearer to zero than this is zero on every lattice.
_NEAREST_TO_ZERO = "1e-300"

DAY_FUNCTION = """
CREATE FUNCTION pg_temp.adyton_day(given text) RETURNS date
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN CAST(given AS date);
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$
"""


@dataclass(frozen=True, slots=True)
class Address:
    """postgresql://user@host:port/database/table, or .../database/schema.table; options after a ``?``."""

    server: str  # what libpq gets; may hold a password, so no message ever repeats it
    schema: str
    table: str

    @classmethod
    def parse(cls, text: str, table: str) -> Address:
        """``table`` is the name where the address gives none."""
        try:
            parts = urlsplit(text)
        except ValueError:
            parts = None  # its own words would repeat the address
        if parts is None:
            raise InvalidRequest("the data's address is not of the form postgresql://HOST/DATABASE")
        database, _, named = parts.path.lstrip("/").partition("/")
        schema, _, relation = named.rpartition(".")
        options = f"?{parts.query}" if parts.query else ""
        server = f"{parts.scheme}://{parts.netloc}/{database}{options}"
        return cls(server, unquote(schema) or "public", unquote(relation) or table)


def is_postgres_address(source: object) -> bool:
    return isinstance(source, str) and source.startswith(SCHEMES)


class PostgresEngine(LoadedEngine):
    """Answers from one table or view of a Postgres database.

    ``timeout`` is in seconds for one scan, ``work_mem`` what one sort or one table of groups may take before
    it goes to the server's disk.
    """

    def __init__(
        self,
        table: Table,
        unit: PrivacyUnit,
        address: str | Joined,
        salt: str = "",
        *,
        timeout: float = SECONDS,
        work_mem: str = "64MB",
        loads: Callable[..., Loading] = Loading,
    ) -> None:
        super().__init__(loads(table, unit, address, salt), "pg_temp.units", PostgresDialect(), timeout)
        self._work_mem = work_mem
        self._addresses = [Address.parse(one.source, one.table.name) for one in self._loading.members]
        if len({address.server for address in self._addresses}) > 1:
            raise InvalidRequest("tables in Postgres are joined where they lie: put both in one database")
        self._connection: Any = None

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        """Also after the server went away: the next query finds a fresh session."""
        known = self._connection
        if known is not None and not known.closed:
            return  # without the lock: whoever is refused must not wait for a scan, and learn how long it was
        with self._lock:
            if self._connection is not None and not self._connection.closed:
                return
            connection = _connect(self._addresses[0])
            try:
                sealed(lambda: self._load(connection), self._unreadable)
            except BaseException:
                connection.close()
                raise
            self._connection = connection

    def _unreadable(self, error: Exception) -> str:
        """The server's own words may quote a value."""
        tables = " or ".join(repr(f"{one.schema}.{one.table}") for one in self._addresses)
        return f"the table {tables} cannot be read: Postgres says {type(error).__name__}"

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        """The server interrupts by itself: from here it might hit the next query."""
        with self._lock, self._time.on(None):
            rows: list[tuple[Any, ...]] = self._connection.execute(sql).fetchall()
        return rows

    def _load(self, connection: Any) -> None:
        for statement in (*_SESSION, DAY_FUNCTION):
            connection.execute(statement)
        connection.execute("SELECT set_config('work_mem', %s, false)", (self._work_mem,))
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            self._make_units(connection)
        connection.execute("ANALYZE pg_temp.units")
        connection.execute(f"SET statement_timeout = {math.ceil(self._time.seconds * 1000)}")
        connection.execute("SET default_transaction_read_only = on")

    def _make_units(self, connection: Any) -> None:
        loading = self._loading
        if any(isinstance(column, TextColumn) for column in loading.table.columns):
            _check_encoding(connection)
        origins = [_origin(connection, address) for address in self._addresses]
        self._units = replace(self._units, told=loading.told(origins))
        connection.execute(f"CREATE TEMPORARY TABLE units AS {loading.sql(origins)}")
        self._check_size(origins, lambda sql: connection.execute(sql).fetchall())


def _check_encoding(connection: Any) -> None:
    """Elsewhere a text can be no valid Unicode, and one row would make an answer fail on its way out."""
    ((encoding,),) = connection.execute("SHOW server_encoding").fetchall()
    if encoding != "UTF8":
        raise InvalidRequest(f"text columns need a database in UTF8, and this one is in {encoding}")


def _origin(connection: Any, address: Address) -> Origin:
    schema, table = address.schema, address.table
    columns = connection.execute(_COLUMNS, (schema, table)).fetchall()
    if not columns:
        raise InvalidRequest(f"the database has no table {f'{schema}.{table}'!r}")
    return Origin(
        f"{quoted(schema)}.{quoted(table)}",
        {name: shown for name, shown, *_ in columns},
        {name: "text" if enum else KINDS.get(kind, "other") for name, _, kind, enum in columns},
        PostgresDialect(),
    )


def _connect(address: Address) -> Any:
    if importlib.util.find_spec("psycopg") is None:
        raise InvalidRequest("data in Postgres needs: pip install 'adyton[postgres]'")
    import psycopg

    try:
        words: dict[str, Any] = _PATIENCE | psycopg.conninfo.conninfo_to_dict(address.server)
        return psycopg.connect(**words, autocommit=True, prepare_threshold=None)
    except psycopg.Error:
        pass  # its own words may repeat the address, and a password in it
    raise InvalidRequest(
        "the database cannot be reached, or refuses the role: check the address and the role"
    )


# How Postgres spells what all engines must mean ------------------------------------------------------------


class PostgresDialect(Dialect):
    text_type = "TEXT"
    division = "/"
    fence = " OFFSET 0"

    def text(self, value: str) -> str:
        return text_literal(value.replace("\0", "\ufffd"))  # no text in Postgres holds a zero

    def double(self, value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE PRECISION)"

    def matches(self, text: str, pattern: str) -> str:
        return f'({text} COLLATE "C" ~ {text_literal(pattern)})'

    def number(self, source: str, kind: SourceType) -> str:
        assert kind != "text", "a text in Postgres is never a number: its type says so"
        if kind == "decimal":
            return _decimal(source)
        return f"CAST({source} AS DOUBLE PRECISION)"

    def not_a_number(self, double: str) -> str:
        return f"({double} = {self.double(float('nan'))})"

    def whole(self, value: str) -> str:
        return f"CAST({value} AS BIGINT)"

    def day(self, source: str, kind: SourceType) -> str:
        return f"pg_temp.adyton_day({source})" if kind == "text" else f"CAST({source} AS DATE)"

    def seconds(self, source: str, kind: SourceType) -> str:
        infinite = f"CASE WHEN {source} = 'infinity' THEN {FAR_SECONDS} ELSE -{FAR_SECONDS} END"
        finite = f"CAST(floor(EXTRACT(EPOCH FROM {source})) AS BIGINT)"
        return f"(CASE WHEN isfinite({source}) THEN {finite} WHEN {source} IS NOT NULL THEN {infinite} END)"

    def days(self, date: str) -> str:
        return f"CAST({date} - DATE '1970-01-01' AS BIGINT)"

    def position(self, text: str, values: tuple[str, ...]) -> str:
        """By a search tree: the list may be long."""
        listed = {value: i for i, value in enumerate(values) if "\0" not in value}
        tree = text_literal(json.dumps(listed, ensure_ascii=False))
        return f"CAST(CAST({tree} AS JSONB) ->> {text} AS INTEGER)"

    def byte_order(self, text: str) -> str:
        return f'{text} COLLATE "C"'

    def key(self, text: str) -> str:
        return f'({text} COLLATE "C")'

    def lookup(self, index: str, numbers: Sequence[int | None]) -> str:
        listed = ",".join("NULL" if number is None else str(number) for number in numbers)
        return f"(CAST('{{{listed}}}' AS BIGINT[]))[{index} + 1]"


def _decimal(source: str) -> str:
    """A numeric can be larger, or nearer to zero, than any double: 2**1000 is beyond every bound."""
    far = f"CAST({2**1000} AS NUMERIC)"
    return (
        f"(CASE WHEN {source} IS NULL THEN NULL WHEN {source} = 'NaN' THEN CAST('NaN' AS DOUBLE PRECISION) "
        f"WHEN abs({source}) < {_NEAREST_TO_ZERO} THEN CAST(0 AS DOUBLE PRECISION) "
        f"ELSE CAST(least(greatest({source}, -{far}), {far}) AS DOUBLE PRECISION) END)"
    )
