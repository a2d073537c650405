"""DuckDB, embedded: the default engine.

The source is read once, into a table of clipped integers that lives in memory; then the database is locked:
no files, no network, no extensions, no settings.  What is asked later can only touch that table.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adyton.engines.base import Exact
from adyton.engines.csv_lines import csv_scan
from adyton.engines.duckdb_sql import loaded_value, quoted, select, text_literal
from adyton.errors import InvalidRequest
from adyton.privacy import PrivacyUnit
from adyton.query.nodes import group_values
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


_NESTED = re.compile(r"\]$|^(STRUCT|MAP|UNION|BLOB|BIT|VARIANT)")


class DuckDBEngine:
    """Answers from a Parquet or CSV file, or from a pandas, polars or Arrow table."""

    def __init__(self, table: Table, unit: PrivacyUnit, source: Path | Any, salt: str = "") -> None:
        self._table, self._unit, self._source, self._salt = table, unit, source, salt
        self._places = {column.name: f"c{i}" for i, column in enumerate(table.columns)}
        self._connection: Any = None
        self._lock = threading.Lock()

    def prepare(self) -> None:
        with self._lock:
            if self._connection is not None:
                return
            connection = _connect()
            try:
                self._load(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection

    def exact(self, readings: Sequence[Reading]) -> Exact:
        with self._lock:
            rows = self._connection.execute(select(readings, self._places, "units")).fetchall()
        return _arranged(rows, readings)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _load(self, connection: Any) -> None:
        with _source(connection, self._source) as (origin, types):
            names = _matched(types, self._table, self._unit)
            values = [
                f"{loaded_value(column, quoted(names[column.name]))} AS {self._places[column.name]}"
                for column in self._table.columns
            ]
            bounded = f"SELECT {', '.join(values) or '1 AS nothing'} FROM {origin}"
            if self._unit.person is not None:
                bounded += self._bound(quoted(names[self._unit.person]))
            _execute(connection, f"CREATE TABLE units AS {bounded}", self._source)
            self._check_size(connection, origin, names)
        for statement in _LOCKED:
            connection.execute(statement)

    def _bound(self, person: str) -> str:
        """Keeps at most the declared rows of each person, and no row without a person.

        Which rows depends on that person's rows alone: a salted hash of their values puts them in order.
        """
        order = f"hash({', '.join([text_literal(self._salt), *self._places.values()])})"
        ranked = f"row_number() OVER (PARTITION BY {person} ORDER BY {order})"
        return f" WHERE {person} IS NOT NULL QUALIFY {ranked} <= {self._unit.rows}"

    def _check_size(self, connection: Any, origin: str, names: dict[str, str]) -> None:
        """Only under ``replace``, where the number of units is public and the same for all neighbours."""
        if self._unit.neighbours != "replace":
            return
        person = self._unit.person
        counted = "*" if person is None else f"DISTINCT {quoted(names[person])}"
        ((found,),) = _execute(connection, f"SELECT count({counted}) FROM {origin}", self._source)
        if found != self._table.rows:
            raise InvalidRequest(
                f"the study says table.rows = {self._table.rows}, but the data holds {found} "
                f"{'persons' if person else 'rows'}: correct the study file"
            )


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


def public_profile(source: Path | Any, column: str, most_values: int) -> tuple[Any, Any, list[Any] | None]:
    """Least, greatest and, if they are few, all values of a column, where the owner says it is public."""
    name = quoted(column)
    with contextlib.closing(_connect()) as connection, _source(connection, source) as (origin, _):
        low, high = connection.execute(f"SELECT min({name}), max({name}) FROM {origin}").fetchone()
        listed = connection.execute(
            f"SELECT DISTINCT {name} FROM {origin} WHERE {name} IS NOT NULL "
            f"ORDER BY 1 LIMIT {most_values + 1}"
        ).fetchall()
    return low, high, [v for (v,) in listed] if len(listed) <= most_values else None


def _connect() -> Any:
    import duckdb  # 0.1 s: only who reads data pays for it

    return duckdb.connect(":memory:")


@contextlib.contextmanager
def _source(connection: Any, source: Path | Any) -> Any:
    """What to write after FROM, and the types of its columns."""
    if isinstance(source, Path):
        origin = _file_scan(source)
    else:
        connection.register("given", source)
        origin = "given"
    described = _execute(connection, f"DESCRIBE SELECT * FROM {origin}", source)
    yield origin, {name: kind for name, kind, *_ in described}
    if not isinstance(source, Path):
        connection.unregister("given")


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

    name = repr(source.name) if isinstance(source, Path) else f"the given {type(source).__name__}"
    try:
        return connection.execute(statement).fetchall()
    except duckdb.Error:
        raise InvalidRequest(f"{name} cannot be read: it is damaged, or not a table") from None


def _matched(types: dict[str, str], table: Table, unit: PrivacyUnit) -> dict[str, str]:
    """The source's spelling of each declared name."""
    spelled = {name.casefold(): name for name in types}
    wanted = [column.name for column in table.columns] + ([unit.person] if unit.person is not None else [])
    for name in wanted:
        if name.casefold() not in spelled:
            known = ", ".join(types)
            raise InvalidRequest(f"the data has no column {name!r}; it has: {known}")
    names = {name: name if name in types else spelled[name.casefold()] for name in wanted}
    for name, found in names.items():
        if _NESTED.search(types[found]):
            raise InvalidRequest(
                f"the data's column {name!r} has type {types[found]}, which holds no single value"
            )
    return names


def _arranged(rows: list[tuple[Any, ...]], readings: Sequence[Reading]) -> Exact:
    """Every declared cell, in the declared order, whether it occurs in the data or not."""
    sizes = [len(group_values(column)) for column in readings[0].by]
    cells = 1
    for size in sizes:
        cells *= size
    exact: Exact = [[[0] * cells for _ in reading.coordinates] for reading in readings]
    columns = [column for reading in exact for column in reading]
    steps = [c.times if c.value is None else 1 for reading in readings for c in reading.coordinates]
    for row in rows:
        cell = 0
        for size, code in zip(sizes, row, strict=False):
            cell = cell * size + code
        for column, value, step in zip(columns, row[len(sizes) :], steps, strict=True):
            column[cell] = int(value) * step  # a count is multiplied here, where no integer is too large
    return exact
