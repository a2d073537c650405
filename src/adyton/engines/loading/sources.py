"""Where DuckDB reads from, files and tables in memory, and how it spells their loading.

What DuckDB says when it fails may quote a value.  So it is never repeated, and what is raised in its place
is raised outside of the handler: nothing of it is left in a cause or a context.
"""

from __future__ import annotations

import contextlib
import glob
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from adyton import duckdb_files
from adyton.duckdb_files import quoted, text_literal
from adyton.engines.loaded import Joined
from adyton.engines.loading.clipped import Origin
from adyton.engines.loading.csv_lines import SEPARATORS, count_unreadable, csv_header, csv_rows, load_csv
from adyton.engines.loading.frames import Readable, parquet_columns, readable
from adyton.engines.loading.parting import kept_by, part_of
from adyton.engines.spelling.kinds import FAR_SECONDS, SourceType
from adyton.engines.spelling.rows import Dialect
from adyton.engines.stopping import interruptible
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit

_KINDS: tuple[tuple[str, SourceType], ...] = (
    (r"U?(TINY|SMALL|BIG|HUGE)INT$|U?INTEGER$", "integer"),
    (r"FLOAT$|DOUBLE$", "float"),
    (r"DECIMAL", "decimal"),
    (r"BOOLEAN$", "boolean"),
    (r"DATE$", "date"),
    (r"TIMESTAMP WITH TIME ZONE$|TIMESTAMPTZ", "instant"),
    (r"TIMESTAMP", "timestamp"),
)
_NESTED = re.compile(r"\]$|^(STRUCT|MAP|UNION|BLOB|BIT|VARIANT|GEOMETRY)")
PARQUET = (".parquet", ".pq")
# What a Parquet file and an Arrow table of it are read alike as.
_PLAIN = ("integer", "float", "decimal", "boolean", "date", "timestamp", "instant")


_SETTINGS = "; ".join(
    (
        "SET perfect_ht_threshold = 17",  # 65,536 bins are found by their place in an array
        "SET pandas_analyze_sample = 0",  # no value may decide how others are read
        "SET TimeZone = 'UTC'",  # the day of an instant must not depend on where we are
    )
)


class Unreadable(InvalidRequest):
    """DuckDB could not read a source: perhaps because of one value."""


def connect(**options: Any) -> Any:
    """A connection with these settings.  It has read nothing yet, so the reason of a failure is no data."""
    import duckdb

    statement = _SETTINGS
    try:
        connection = duckdb_files.connect()
        connection.execute(statement)
        for option, value in options.items():
            statement = f"SET {option} = {text_literal(str(value))}"
            connection.execute(statement)
        return connection
    except duckdb.Error as error:
        reason = str(error)
    raise InvalidRequest(f"DuckDB does not start: {statement}: {reason}")


@contextlib.contextmanager
def opened(connection: Any, source: Path | Any, given: str = "given") -> Iterator[Origin]:
    """A source, whose rows may be read once; the lines of a CSV file come in parts, as a table ``given``."""
    if isinstance(source, Path):
        _check_file(source)
        if source.suffix.lower() in SEPARATORS:
            types = dict.fromkeys(csv_header(source), "VARCHAR")  # guessed types would depend on the values
            kinds: dict[str, SourceType] = dict.fromkeys(types, "text")
            lines, untyped = csv_rows(source, given), frozenset(types)
            yield Origin(lines, types, kinds, DuckDBDialect(), untyped, headed=True)
            return
        origin = _described(connection, duckdb_files.parquet_rows(source), Readable(source))
        yield replace(origin, merged=_merged(_names_in(connection, source)))
        return
    made = _registered(connection, source, given)
    schema: Any = getattr(made.table, "schema", None)
    names: Any = getattr(schema, "names", None) or getattr(made.table, "columns", ())
    yield replace(_described(connection, given, made), merged=_merged(map(str, names)))
    connection.unregister(given)


@contextlib.contextmanager
def opened_with_care(
    connection: Any, path: Path, known: Origin, names: list[str], given: str
) -> Iterator[Origin]:
    """Some columns of a Parquet file that DuckDB cannot read by itself; ``known`` if there is no other way.

    Whether there is one depends on types, and on what is installed, alone.
    """
    kinds, texts = known.kinds, [name for name in names if known.types[name] == "VARCHAR"]
    made = None
    if names and all(name in texts or kinds[name] in _PLAIN for name in names):
        with contextlib.suppress(Exception):  # its words may quote a value too
            made = parquet_columns(path, names)
    if made is None or made.coded != set(texts):
        yield known
        return
    connection.register(given, made.table)
    other = _described(connection, given, made)
    yield other if all(other.kinds[name] == kinds[name] for name in names) else known
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
        return dict(known.types)


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
            yield known.sql
            return
        load_lines(connection, source, "given", "rows_in_full", f"SELECT {wanted} FROM {known.sql}")
        yield "rows_in_full"


def _described(connection: Any, origin: str, made: Readable) -> Origin:
    found = execute(connection, f"DESCRIBE SELECT * FROM {origin}", made.table)
    types = {name: "VARCHAR" if name in made.coded else kind for name, kind, *_ in found}
    kinds = {name: kind_of(kind) for name, kind in types.items()}
    return Origin(origin, types, kinds, DuckDBDialect(made.coded), made.untyped)


def _merged(names: Iterable[str]) -> frozenset[str]:
    """DuckDB calls the second of two such columns by a name of its own."""
    return frozenset(name for name, times in Counter(map(str.casefold, names)).items() if times > 1)


def _names_in(connection: Any, path: Path) -> Iterator[str]:
    """Of the columns of a Parquet file, as they are written there: parts of a column follow it."""
    file = text_literal(glob.escape(str(path)))
    listed = f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({file})"
    parts = 0
    for name, children in execute(connection, listed, path)[1:]:  # the first is the whole
        if not parts:
            yield name
        parts = max(0, parts - 1) + children


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


@contextlib.contextmanager
def one_thread(connection: Any) -> Iterator[None]:
    """While it lasts, rows come into DuckDB's tables in the order of their source.

    Several threads that read Python objects (the lines of a CSV file, a pandas column of dtype object) take
    turns as they like: the same row would be in another part whenever the source is read.
    """
    ((threads,),) = connection.execute("SELECT current_setting('threads')").fetchall()
    connection.execute("SET threads = 1")
    yield
    connection.execute(f"SET threads = {int(threads)}")  # after a failure nobody uses this connection


def parted_by_position(unit: PrivacyUnit, salt: str) -> str:
    """Statements that add the column ``part`` to DuckDB's table of units, and take out of it what is kept in
    a reserve; if that is opened, they take out the others, and its rows get the column ``position``.  The
    table has the rows in their order: it must have been filled by ``one_thread``.

    ``rowid`` counts them from 0.
    """
    dialect, reserve = DuckDBDialect(), unit.reserve
    listed = ["*", *([f"{part_of('rowid', salt, dialect)} AS part"] if unit.parts > 1 else [])]
    listed += ["rowid AS position"] if reserve is not None and reserve.opened else []
    kept = f" WHERE {kept_by(reserve, 'rowid', dialect)}" if reserve is not None else ""
    return (
        f"CREATE TABLE parted AS SELECT {', '.join(listed)} FROM units{kept}; DROP TABLE units; "
        "ALTER TABLE parted RENAME TO units"
    )


# How DuckDB spells what all engines must mean --------------------------------------------------------------


def kind_of(type_name: str) -> SourceType:
    """Anything that has a text and is nothing else (an enum, a UUID, a time of day) is read as its text."""
    if _NESTED.search(type_name):
        return "other"
    return next((kind for pattern, kind in _KINDS if re.match(pattern, type_name)), "text")


class DuckDBDialect(Dialect):
    """``coded`` are columns whose texts came as bytes: DuckDB would refuse all of a source where one is no
    valid Unicode.
    """

    text_type = "VARCHAR"
    division = "//"
    in_order = True

    def __init__(self, coded: frozenset[str] = frozenset()) -> None:
        self._coded = coded

    def text_of(self, name: str, longest: int) -> str:
        if name in self._coded:
            return f"CASE WHEN octet_length({quoted(name)}) <= {longest} THEN TRY(decode({quoted(name)})) END"
        text = f"CAST({quoted(name)} AS VARCHAR)"
        return f"CASE WHEN strlen({text}) <= {longest} THEN {text} END"

    def text(self, value: str) -> str:
        return text_literal(value)

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_matches({text}, {text_literal(pattern)})"

    def number(self, source: str, kind: SourceType) -> str:
        # Not every version rounds a wide decimal only once; its text is.
        return super().number(f"CAST({source} AS VARCHAR)" if kind == "decimal" else source, kind)

    def seconds(self, source: str, kind: SourceType) -> str:
        moment = f"TRY_CAST({source} AS {'TIMESTAMPTZ' if kind == 'instant' else 'TIMESTAMP'})"
        micro = f"epoch_us(CASE WHEN isfinite({moment}) THEN {moment} END)"
        up = f"{moment} > TIMESTAMP '1970-01-01'"
        down = f"({micro} - (({micro} % 1000000 + 1000000) % 1000000))"
        infinite = f"CASE WHEN {up} THEN {FAR_SECONDS} ELSE -{FAR_SECONDS} END"
        return f"(CASE WHEN {moment} IS NOT NULL THEN coalesce({down} // 1000000, {infinite}) END)"

    def days(self, date: str) -> str:
        return f"date_diff('day', DATE '1970-01-01', {date})"

    def position(self, text: str, values: tuple[str, ...]) -> str:
        listed = ", ".join(map(text_literal, values))
        return f"enum_code(TRY_CAST({text} AS ENUM ({listed})))"

    def key(self, text: str) -> str:
        return text

    def code(self, number: str, size: int) -> str:
        """Groups of a small type are found by their place in an array, not by a hash."""
        small = "UTINYINT" if size <= 2**8 else "USMALLINT" if size <= 2**16 else "INTEGER"
        return f"CAST({number} AS {small})"

    def quotient(self, dividend: str, divisor: int) -> str:
        if divisor & (divisor - 1) == 0:  # a shift is several times faster
            return f"({dividend} >> {divisor.bit_length() - 1})"
        return super().quotient(dividend, divisor)

    def lookup(self, index: str, numbers: Sequence[int | None]) -> str:
        listed = ", ".join("NULL" if number is None else str(number) for number in numbers)
        # Written as one text: a long list of expressions takes longer to plan than to look up.
        return f"list_extract(CAST('[{listed}]' AS BIGINT[]), CAST({index} AS BIGINT) + 1)"
