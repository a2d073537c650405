"""Where DuckDB reads from: files, and tables in memory.

What DuckDB says when it fails may quote a value.  So it is never repeated, and what is raised in its place is
raised outside of the handler: nothing of it is left in a cause or a context.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from adyton import duckdb_files
from adyton.duckdb_files import quoted
from adyton.engines.loading.clipped import Origin
from adyton.engines.loading.csv_lines import SEPARATORS, count_unreadable, csv_header, csv_rows, load_csv
from adyton.engines.loading.frames import Readable, parquet_columns, readable
from adyton.engines.loading.joining import Joined, Opened
from adyton.engines.spelling.duckdb import DuckDBDialect, kind_of
from adyton.engines.stopping import interruptible
from adyton.errors import InvalidRequest

PARQUET = (".parquet", ".pq")
# What a Parquet file and an Arrow table of it are read alike as.
_PLAIN = ("integer", "float", "decimal", "boolean", "date", "timestamp", "instant")


class Unreadable(InvalidRequest):
    """DuckDB could not read a source: perhaps because of one value."""


def connect() -> Any:
    connection = duckdb_files.connect()
    connection.execute("SET perfect_ht_threshold = 17")  # 65,536 bins are found by their place in an array
    connection.execute("SET pandas_analyze_sample = 0")  # no value may decide how others are read
    connection.execute("SET TimeZone = 'UTC'")  # the day of an instant must not depend on where we are
    return connection


@contextlib.contextmanager
def opened(connection: Any, source: Path | Any, given: str = "given") -> Iterator[Opened]:
    """A source, whose rows may be read once; the lines of a CSV file come in parts, as a table ``given``."""
    if isinstance(source, Path):
        _check_file(source)
        if source.suffix.lower() in SEPARATORS:
            types = dict.fromkeys(csv_header(source), "VARCHAR")  # guessed types would depend on the values
            untyped = frozenset(types)
            origin = Origin(
                csv_rows(source, given), types, dict.fromkeys(types, "text"), untyped, headed=True
            )
            yield Opened(origin, DuckDBDialect())
            return
        yield _described(connection, duckdb_files.parquet_rows(source), Readable(source))
        return
    made = _registered(connection, source, given)
    yield _described(connection, given, made)
    connection.unregister(given)


@contextlib.contextmanager
def opened_with_care(connection: Any, path: Path, names: list[str], given: str) -> Iterator[Opened | None]:
    """Some columns of a Parquet file that DuckDB cannot read by itself; None where there is no other way.

    Whether there is one depends on types, and on what is installed, alone.
    """
    with opened(connection, path) as known:
        kinds, types = known.origin.kinds, known.origin.types
    texts = [name for name in names if types[name] == "VARCHAR"]
    made = None
    if all(name in texts or kinds[name] in _PLAIN for name in names):
        with contextlib.suppress(Exception):  # its words may quote a value too
            made = parquet_columns(path, names)
    if made is None or made.coded != set(texts):
        yield None
        return
    connection.register(given, made.table)
    other = _described(connection, given, made)
    yield other if all(other.origin.kinds[name] == kinds[name] for name in names) else None
    connection.unregister(given)


def execute(connection: Any, statement: str, source: Any) -> Any:
    """The rows of a statement that reads a source."""
    return _reading(source, lambda: connection.execute(statement).fetchall())


def load_lines(connection: Any, path: Path, lines: str, target: str, select: str) -> None:
    """``load_csv``, with the errors of ``execute``."""
    _reading(path, lambda: load_csv(connection, path, lines, target, select))


def _reading(source: Any, read: Callable[[], Any]) -> Any:
    """Only the kind of the source is named."""
    import duckdb

    try:
        with interruptible():
            return read()
    except (duckdb.OutOfMemoryException, duckdb.TransactionException):  # nobody else writes here
        reason = "it needs more memory than allowed"
    except (OSError, duckdb.Error):
        reason = "it is damaged, or not a table"
    raise Unreadable(f"{named(source)} cannot be read: {reason}")


def named(source: Path | Joined | Any) -> str:
    if isinstance(source, Joined):
        return "one of the joined sources"
    return repr(source.name) if isinstance(source, Path) else f"the given {type(source).__name__}"


def describe(source: Path | Any) -> dict[str, str]:
    """Column names and types of a source; no value is read (every CSV column is text)."""
    with contextlib.closing(connect()) as connection, opened(connection, source) as known:
        return dict(known.origin.types)


def count_units(source: Path | Any, person: str | None) -> int:
    """The number of rows, or of persons: for owners who declare it public."""
    counted, wanted = ("*", "1") if person is None else (f"DISTINCT {quoted(person)}", quoted(person))
    with contextlib.closing(connect()) as connection, in_full(connection, source, wanted) as rows:
        ((found,),) = execute(connection, f"SELECT count({counted}) FROM {rows}", source)
        return int(found)


def unreadable_lines(source: Path | Any) -> int | None:
    """How many lines of a CSV file cannot be read; None of any other source.  For owners."""
    if not isinstance(source, Path) or source.suffix.lower() not in SEPARATORS:
        return None
    with contextlib.closing(connect()) as connection:
        return int(_reading(source, lambda: count_unreadable(connection, source, "given")))


@contextlib.contextmanager
def in_full(connection: Any, source: Path | Any, wanted: str = "*") -> Iterator[str]:
    """What to write after FROM to read ``wanted`` of a source, as often as need be."""
    with opened(connection, source) as known:
        if not isinstance(source, Path) or source.suffix.lower() not in SEPARATORS:
            yield known.origin.sql
            return
        load_lines(connection, source, "given", "rows_in_full", f"SELECT {wanted} FROM {known.origin.sql}")
        yield "rows_in_full"


def _described(connection: Any, origin: str, made: Readable) -> Opened:
    found = execute(connection, f"DESCRIBE SELECT * FROM {origin}", made.table)
    types = {name: "VARCHAR" if name in made.coded else kind for name, kind, *_ in found}
    kinds = {name: kind_of(kind) for name, kind in types.items()}
    return Opened(Origin(origin, types, kinds, made.untyped), DuckDBDialect(made.coded))


def _registered(connection: Any, source: Any, given: str) -> Readable:
    """A table in memory under a name of ours; what is none may be quoted by DuckDB's own words."""
    reason = (
        "is not a table that can be read: give a pandas, polars or Arrow table whose columns hold numbers, "
        "strings, booleans or dates, a Spark frame, or the path of a file"
    )
    try:
        made = readable(source)
        connection.register(given, made.table)
        return made
    except InvalidRequest as wrong:
        reason = f"cannot be read: {wrong.message}"
    except Exception:
        pass  # its words may quote a value, so what is raised comes after it is gone
    raise InvalidRequest(f"{named(source)} {reason}")


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise InvalidRequest(f"the data file {path.name!r} does not exist")
    if path.suffix.lower() not in (*PARQUET, *SEPARATORS):
        raise InvalidRequest(f"data files end in .parquet, .csv or .tsv, not {path.suffix.lower()!r}")
