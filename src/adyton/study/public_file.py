"""Reading a file that its owner declares public: its values may be looked at, and quoted.

CSV values are texts; a Parquet file knows better.  What is empty is missing.
"""

from __future__ import annotations

import csv
import datetime
import math
from contextlib import closing, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from adyton.duckdb_files import connect, parquet_rows
from adyton.errors import InvalidRequest

MOST_KEYS = 10_000

Raw = str | int | bool | Decimal | None


@dataclass(frozen=True, slots=True)
class PublicFile:
    """The columns of a public file by name; ``where`` says in errors what it is to the study."""

    where: str
    columns: dict[str, list[Raw]]

    def column(self, name: str) -> list[Raw]:
        if name not in self.columns:
            raise InvalidRequest(
                f"{self.where}: the file has no column {name!r}; it has: {', '.join(self.columns)}"
            )
        return self.columns[name]


def read_public_file(path: Path, where: str) -> PublicFile:
    """``where`` names the section of the study file."""
    if not path.is_file():
        raise InvalidRequest(f"{where}.source: the file {path.name!r} does not exist")
    match path.suffix.lower():
        case ".csv" | ".tsv":
            names, rows = _csv_rows(path, where)
        case ".parquet" | ".pq":
            names, rows = _parquet_rows(path, where)
        case other:
            raise InvalidRequest(f"{where}.source: files end in .parquet, .csv or .tsv, not {other!r}")
    if len(rows) > MOST_KEYS:
        raise InvalidRequest(f"{where}.source: {path.name!r} has more than {MOST_KEYS} rows")
    if len({name.casefold() for name in names}) < len(names) or not all(names):
        raise InvalidRequest(f"{where}.source: the columns of {path.name!r} need names, each its own")
    return PublicFile(where, {name: [row[i] for row in rows] for i, name in enumerate(names)})


def _csv_rows(path: Path, where: str) -> tuple[list[str], list[list[Raw]]]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    rows: list[list[Raw]] = []
    reason = None
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter, strict=True)
            names = next(lines, [])
            for line in lines:
                if line and len(line) != len(names):
                    raise InvalidRequest(
                        f"{where}.source: line {lines.line_num} of {path.name!r} has {len(line)} fields, "
                        f"not {len(names)}"
                    )
                rows += [[text.strip() or None for text in line]] if line else []
                if len(rows) > MOST_KEYS:
                    break
    except UnicodeDecodeError:
        reason = "it is not text in UTF-8"
    except (OSError, csv.Error) as error:
        reason = str(error)
    if reason is not None:
        raise InvalidRequest(f"{where}.source: {path.name!r} cannot be read: {reason}")
    return [name.strip() for name in names], rows


def _parquet_rows(path: Path, where: str) -> tuple[list[str], list[list[Raw]]]:
    import duckdb

    with suppress(duckdb.Error), closing(connect()) as connection:
        found = connection.execute(f"SELECT * FROM {parquet_rows(path)} LIMIT {MOST_KEYS + 1}")
        names = [column[0] for column in found.description or ()]
        return names, [[_plain(value) for value in row] for row in found.fetchall()]
    raise InvalidRequest(f"{where}.source: {path.name!r} is not a readable Parquet file")


def _plain(value: Any) -> Raw:
    match value:
        case None | bool() | int() | Decimal():
            return value
        case float():
            return None if math.isnan(value) else Decimal(repr(value))
        case datetime.date():
            return value.isoformat()
        case _:
            return str(value).strip() or None
