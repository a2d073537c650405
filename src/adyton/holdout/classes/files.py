"""Features and rules from files: tables of numbers, and a rule as one JSON object."""

from __future__ import annotations

import contextlib
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from adyton.duckdb_files import connect, parquet_rows
from adyton.errors import InvalidRequest, sealed
from adyton.holdout.files import read_values
from adyton.holdout.metrics import Array


def read_table(path: str | Path) -> Array:
    """All columns of a .npy, .csv or .parquet file, as numbers, in their order."""
    path = Path(path)
    readers = {".npy": _npy, ".csv": _csv, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidRequest(f"{path.name}: features are read from {', '.join(readers)}")
    if not path.is_file():
        raise InvalidRequest(f"there is no file {path.name!r}")
    return sealed(lambda: reader(path), lambda _: f"{path.name} is not a table of numbers")


def read_submitted(path: str | Path, column: str | None = None) -> object:
    """Predictions, or from a .json file the numbers of a rule."""
    path = Path(path)
    if path.suffix.lower() != ".json":
        return read_values(path, column)
    if column is not None:
        raise InvalidRequest(f"{path.name} holds a rule, and a rule has no columns")
    if not path.is_file():
        raise InvalidRequest(f"there is no file {path.name!r}")
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidRequest(f"{path.name} is not the JSON object of a rule")
    return found


def _npy(path: Path) -> Array:
    made: Array = np.load(path, allow_pickle=False)
    return made


def _csv(path: Path) -> Array:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file, strict=True) if row]
    return np.array([[float(cell) for cell in row] for row in rows[1:]])


def _parquet(path: Path) -> Array:
    with contextlib.closing(connect()) as source:
        columns = source.execute(f"SELECT * FROM {parquet_rows(path)}").fetchnumpy()
    if any(np.ma.is_masked(column) for column in columns.values()):
        raise ValueError
    return np.column_stack([np.asarray(column) for column in columns.values()])
