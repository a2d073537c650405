"""DuckDB, embedded: the default engine.

The source is read once, into a table of clipped integers that lives in memory; then the database is locked:
no files, no network, no extensions, no settings.  What is asked later can only touch that table.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from adyton.columns import Array, weighted
from adyton.engines.asking import exact_from, found_from
from adyton.engines.base import Exact, Key
from adyton.engines.csv_lines import csv_scan
from adyton.engines.duckdb_sql import DuckDBDialect, kind_of, quoted, text_literal
from adyton.engines.interrupts import interruptible
from adyton.engines.joining import Joined, Loading, Opened
from adyton.engines.loading import Origin, check_size
from adyton.engines.scan import Units
from adyton.engines.time_limit import SECONDS, SECONDS_TO_LOAD, TimeLimit
from adyton.errors import InvalidRequest
from adyton.privacy import PrivacyUnit
from adyton.schema import Table
from adyton.sensitivity import Reading

_LOCKED = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)

_HALF = 2**62  # a machine integer holds what is left of a division by it

# DuckDB would write what does not fit into memory, in clear, to a folder ``.tmp`` of whoever started us.
_MEMORY_ONLY = ""


class DuckDBLimits(TypedDict, total=False):
    memory_limit: str
    threads: int
    temp_directory: str


class DuckDBEngine:
    """Answers from a Parquet or CSV file, or from a pandas, polars or Arrow table.

    ``timeout`` is in seconds for one scan.  ``limits`` are DuckDB's own: ``memory_limit`` (four fifths of
    the machine unless given), ``threads``, and ``temp_directory``, a folder for what does not fit into memory
    (none unless given: then it fails).
    """

    def __init__(
        self,
        table: Table,
        unit: PrivacyUnit,
        source: Path | Any,
        salt: str = "",
        *,
        timeout: float = SECONDS,
        loads: Callable[..., Loading] = Loading,
        **limits: Unpack[DuckDBLimits],
    ) -> None:
        places = {column.name: f"c{i}" for i, column in enumerate(table.columns)}
        self._loading = loads(table, unit, source, places, salt)
        self._time, self._limits = TimeLimit(timeout), limits
        self._units = Units("units", places, DuckDBDialect(), unit.rows, salt, marks=self._loading.marks)
        self._connection: Any = None
        self._lock = threading.Lock()

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        with self._lock:
            if self._connection is not None:
                return
            connection = _connect()
            try:
                with self._time.on(connection.interrupt, SECONDS_TO_LOAD):
                    self._load(connection)
            except BaseException as error:
                connection.close()
                if isinstance(error, TimeoutError):
                    raise InvalidRequest(f"{_named(self._loading.source)} cannot be read: {error}") from None
                raise
            self._connection = connection

    def exact(self, readings: Sequence[Reading]) -> Exact:
        return exact_from(self._units, self._run, readings, self._run_columns)

    def found(self, readings: Sequence[Reading]) -> tuple[list[Key], Exact]:
        return found_from(self._units, self._run, readings)

    def close(self) -> None:
        self._time.close()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        with self._lock, interruptible(), self._time.on(self._connection.interrupt):
            rows: list[tuple[Any, ...]] = self._connection.execute(sql).fetchall()
        return rows

    def _run_columns(self, sql: str, keys: int, values: int) -> list[Array]:
        """A sum has 128 bits, of which numpy knows nothing: each comes in two parts."""
        names = [f"k{i}" for i in range(keys)], [f"v{i}" for i in range(values)]
        parts = [f"CAST({v} {sign} {_HALF} AS BIGINT)" for v in names[1] for sign in ("//", "%")]
        present = " AND ".join(f"{key} IS NOT NULL" for key in names[0])
        listed = [*names[0], *(f"coalesce({part}, 0) AS p{i}" for i, part in enumerate(parts))]
        inner = f"({sql}) AS found({', '.join([*names[0], *names[1]])})"
        statement = f"SELECT {', '.join(listed)} FROM {inner} WHERE {present or 'true'}"
        with self._lock, self._time.on(self._connection.interrupt):
            told = list(self._connection.execute(statement).fetchnumpy().values())
        sides = [np.asarray(side).astype(np.int64) for side in told]
        pairs = zip(sides[keys::2], sides[keys + 1 :: 2], strict=True)
        return sides[:keys] + [weighted((_HALF, high), (1, low)) for high, low in pairs]

    def _load(self, connection: Any) -> None:
        for option, value in ({"temp_directory": _MEMORY_ONLY} | self._limits).items():
            connection.execute(f"SET {option} = {text_literal(str(value))}")
        loading = self._loading
        with contextlib.ExitStack() as sources:
            opened = [
                sources.enter_context(_opened(connection, member.source, f"given{i}"))
                for i, member in enumerate(loading.members)
            ]
            self._units = replace(self._units, told=loading.told(opened))
            _execute(connection, f"CREATE TABLE units AS {loading.sql(opened)}", loading.source)
            counted = loading.counted(opened)
            if counted is not None:
                ((found,),) = _execute(connection, counted, loading.source)
                check_size(found, loading.table, loading.unit)
        for statement in _LOCKED:
            connection.execute(statement)


def describe(source: Path | Any) -> dict[str, str]:
    """Column names and types of a source; no value is read (every CSV column is text)."""
    with contextlib.closing(_connect()) as connection, _source(connection, source) as (_, types):
        return dict(types)


def count_units(source: Path | Any, person: str | None) -> int:
    """The number of rows, or of persons: for owners who declare it public."""
    counted = "*" if person is None else f"DISTINCT {quoted(person)}"
    with contextlib.closing(_connect()) as connection, _source(connection, source) as (origin, _):
        ((found,),) = _execute(connection, f"SELECT count({counted}) FROM {origin}", source)
        return int(found)


def _connect() -> Any:
    import duckdb  # 0.1 s: only who reads data pays for it

    connection = duckdb.connect(":memory:")
    connection.execute("SET enable_progress_bar = false")  # standard output is not ours
    connection.execute("SET perfect_ht_threshold = 17")  # 65,536 bins are found by their place in an array
    connection.execute("SET pandas_analyze_sample = 0")  # no value may decide how others are read
    connection.execute("SET TimeZone = 'UTC'")  # the day of an instant must not depend on where we are
    return connection


@contextlib.contextmanager
def _source(connection: Any, source: Path | Any, given: str = "given") -> Any:
    """What to write after FROM, and the types of its columns."""
    origin = _file_scan(source) if isinstance(source, Path) else _registered(connection, source, given)
    described = _execute(connection, f"DESCRIBE SELECT * FROM {origin}", source)
    yield origin, {name: kind for name, kind, *_ in described}
    if not isinstance(source, Path):
        connection.unregister(given)


def _registered(connection: Any, source: Any, given: str) -> str:
    """A table in memory under a name of ours; what is none may be quoted by DuckDB's own words."""
    with contextlib.suppress(Exception):
        connection.register(given, _value_by_value(source))
        return given
    raise InvalidRequest(
        f"{_named(source)} is not a table that can be read: give a pandas, polars or Arrow table whose "
        "columns hold numbers, texts, truths or dates, a Spark frame, or the path of a file"
    )


def _value_by_value(source: Any) -> Any:
    """A pandas frame without categories other than texts.

    DuckDB would write all of them anew where one is missing: 1 becomes 1.0, and true becomes True.
    """
    dtypes: Any = getattr(source, "dtypes", None)
    if not hasattr(dtypes, "items"):  # polars has a list of them
        return source
    known = {name: getattr(kind, "categories", None) for name, kind in dtypes.items()}
    listed = [name for name, values in known.items() if values is not None and str(values.dtype) != "str"]
    return source.astype(dict.fromkeys(listed, object)) if listed else source


@contextlib.contextmanager
def _opened(connection: Any, source: Path | Any, given: str) -> Any:
    with _source(connection, source, given) as (sql, types):
        kinds = {name: kind_of(kind) for name, kind in types.items()}
        yield Opened(Origin(sql, types, kinds), DuckDBDialect())


def _file_scan(path: Path) -> str:
    if not path.is_file():
        raise InvalidRequest(f"the data file {path.name!r} does not exist")
    match path.suffix.lower():
        case ".parquet" | ".pq":
            return f"read_parquet({text_literal(str(path))})"
        case ".csv" | ".tsv":
            return csv_scan(path)  # all text: types guessed from values would depend on the data
        case other:
            raise InvalidRequest(f"data files end in .parquet, .csv or .tsv, not {other!r}")


def _execute(connection: Any, statement: str, source: Path | Any) -> Any:
    """Loading errors may quote values, so only the kind of source is named."""
    import duckdb

    try:
        with interruptible():
            return connection.execute(statement).fetchall()
    except duckdb.OutOfMemoryException:
        raise InvalidRequest(f"{_named(source)} cannot be read: it needs more memory than allowed") from None
    except duckdb.Error:
        raise InvalidRequest(f"{_named(source)} cannot be read: it is damaged, or not a table") from None


def _named(source: Path | Joined | Any) -> str:
    if isinstance(source, Joined):
        return "one of the joined sources"
    return repr(source.name) if isinstance(source, Path) else f"the given {type(source).__name__}"
