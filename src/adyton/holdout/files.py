"""Labels and predictions from files: .npy, .csv, .parquet and .jsonl, one value for each item, in order."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.holdout.metrics import Array


def read_values(path: str | Path, column: str | None = None) -> Array:
    """The values of one column; it need not be named if there is only one."""
    path = Path(path)
    readers: dict[str, Callable[[Path, str | None], Array]] = {
        ".npy": _npy,
        ".csv": _csv,
        ".parquet": _parquet,
        ".jsonl": _jsonl,
    }
    if path.suffix not in readers:
        raise InvalidRequest(f"{path.name}: values are read from {', '.join(readers)}")
    if not path.is_file():
        raise InvalidRequest(f"there is no file {path.name!r}")
    try:
        return readers[path.suffix](path, column)
    except (OSError, ValueError, EOFError, csv.Error, RecursionError):
        raise InvalidRequest(f"{path.name} cannot be read as {path.suffix}") from None


def _npy(path: Path, column: str | None) -> Array:
    if column is not None:
        raise InvalidRequest("a .npy file has no columns")
    made: Array = np.load(path, allow_pickle=False)
    return made


def _csv(path: Path, column: str | None) -> Array:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        names = next(rows, [])
        place = names.index(_column(names, column))
        cells = [row[place] if len(row) > place else "" for row in rows if row]
    return _typed(cells)


def _jsonl(path: Path, column: str | None) -> Array:
    """Each line a value, or an object with the column among its keys."""
    with path.open(encoding="utf-8") as file:
        lines: list[Any] = [json.loads(line) for line in file if line.strip()]
    if lines and all(isinstance(line, dict) for line in lines):
        name = _column(list(lines[0]), column)
        lines = [line.get(name) for line in lines]
    return np.array(lines, dtype=object)


def _parquet(path: Path, column: str | None) -> Array:
    import duckdb  # 0.1 s, and only for who brings such a file

    source = duckdb.connect(":memory:")
    try:
        names = [
            name
            for name, *_ in source.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
        ]
        name = _column(names, column).replace('"', '""')
        found = source.execute(f'SELECT "{name}" FROM read_parquet(?)', [str(path)]).fetchall()
    except duckdb.Error:
        raise ValueError from None
    finally:
        source.close()
    return np.array([value for (value,) in found], dtype=object)


def _column(names: list[str], wanted: str | None) -> str:
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None or wanted not in names:
        raise InvalidRequest(f"name one of the columns: {', '.join(names)[:200]}")
    return wanted


def _typed(cells: list[str]) -> Array:
    """Numbers if all of them are, texts otherwise."""
    for kind in (int, float):
        try:
            return np.array([kind(cell) for cell in cells])
        except (ValueError, OverflowError):
            continue
    return np.array(cells)
