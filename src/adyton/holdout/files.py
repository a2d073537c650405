"""Labels and predictions from files: .npy, .csv, .parquet and .jsonl, one value for each item, in order.

Whoever is refused brought the file, so a message may name its lines and columns; values it never shows, nor
does anything that hangs on the error.
"""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adyton.duckdb_files import connect, parquet_rows, quoted
from adyton.errors import InvalidRequest, sealed
from adyton.holdout.metrics import Array

_OTHER_SEPARATORS = ";\t|"
_MOST_LETTERS = 50_000_000  # of texts in an array


def read_values(path: str | Path, column: str | None = None, *, most: int | None = None) -> Array:
    """The values of one column; it need not be named if there is only one.

    ``most``: so many values at most, looked at before they are read: small files can say very much.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path, str | None], Array]] = {
        ".npy": lambda path, column: _npy(path, column, most),
        ".csv": _csv,
        ".parquet": lambda path, column: _parquet(path, column, most),
        ".jsonl": _jsonl,
    }
    kind = path.suffix.lower()
    if path.is_dir():
        raise InvalidRequest(f"{path.name} is a folder, not a file")
    if kind not in readers:
        raise InvalidRequest(f"{path.name}: values are read from {', '.join(readers)}")
    if not path.is_file():
        raise InvalidRequest(f"there is no file {path.name!r}")
    found = sealed(lambda: readers[kind](path, column), lambda error: _unreadable(path, error))
    if found.size == 0:
        raise InvalidRequest(f"{path.name} has no values")
    return found


def _unreadable(path: Path, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"{path.name} is not text in UTF-8"
    return f"{path.name} cannot be read as {path.suffix.lower()}"


def _npy(path: Path, column: str | None, most: int | None) -> Array:
    if column is not None:
        raise InvalidRequest(f"{path.name} has no columns, as no .npy file has")
    objects, made = False, None
    try:
        made = np.load(path, allow_pickle=False)
    except ValueError as fault:
        objects = "Object arrays" in str(fault)
    if objects:
        raise InvalidRequest(
            f"{path.name} holds Python objects, which are never loaded: save numbers or strings"
        )
    if not isinstance(made, np.ndarray):  # several arrays, under a wrong name
        raise ValueError
    _check_number(path, len(made) if made.ndim and made.itemsize else made.size, most)
    return made


def _check_number(path: Path, number: int, most: int | None) -> None:
    if most is not None and number > most:
        raise InvalidRequest(f"{path.name} has {number:,} values, and there are {most:,} items")


def texts_array(texts: Sequence[str]) -> Array:
    """NumPy gives each text the room of the longest."""
    if len(texts) * max(map(len, texts), default=0) > _MOST_LETTERS:
        raise InvalidRequest("a text among the values is too long for as many as there are")
    return np.array(texts)


def _csv(path: Path, column: str | None) -> Array:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file, strict=True)  # an open quote would swallow the lines after it
        names = next(rows, [])
        _check_names(path, names)
        place = names.index(_column(path, names, column))
        cells, empty = [], 0
        for row in rows:
            if row:
                cells.append(row[place] if len(row) > place else "")
                if not cells[-1].strip():
                    empty = empty or rows.line_num
    made = _typed([cell for cell in cells if cell.strip()] if empty else cells)
    if not empty:
        return made
    if made.dtype.kind in "if":
        raise InvalidRequest(f"{path.name}: a value is missing in line {empty}")
    return texts_array(cells)  # an empty text is a text


def _check_names(path: Path, names: list[str]) -> None:
    if len(names) == 1 and any(mark in names[0] for mark in _OTHER_SEPARATORS):
        raise InvalidRequest(f"{path.name}: columns are separated by commas")
    counted = [str(i) for i in range(len(names))]  # what pandas writes for columns without a name
    if names and names != counted and _typed(names).dtype.kind in "if":
        raise InvalidRequest(f"{path.name}: the first line must name the columns")


def _jsonl(path: Path, column: str | None) -> Array:
    """Each line a value, or an object with the column among its keys."""
    lines: list[Any] = []
    with path.open(encoding="utf-8-sig") as file:
        for i, line in enumerate(file, 1):
            if line.strip():
                lines.append(_parsed(path, i, line))
    if lines and all(isinstance(line, dict) for line in lines):
        name = _column(path, list(lines[0]), column)
        lines = [line.get(name) for line in lines]
    return np.array(lines, dtype=object)


def _parsed(path: Path, number: int, line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        pass
    raise InvalidRequest(f"{path.name}: line {number} is not JSON")


def _parquet(path: Path, column: str | None, most: int | None) -> Array:
    with contextlib.closing(connect()) as source:
        described = source.execute(f"DESCRIBE SELECT * FROM {parquet_rows(path)}").fetchall()
        kinds = {name: kind for name, kind, *_ in described}
        name = _column(path, list(kinds), column)
        values = f"SELECT {quoted(name)} AS value FROM {parquet_rows(path)}"
        if most is not None:
            _check_size(path, source, values, kinds[name], most)
        found: Any = source.execute(values).fetchnumpy()["value"]
    if np.ma.is_masked(found):
        row = int(np.argmax(np.ma.getmaskarray(found))) + 1
        raise InvalidRequest(f"{path.name}: a value is missing in row {row:,}")
    return np.asarray(found)


def _check_size(path: Path, source: Any, values: str, kind: str, most: int) -> None:
    (number,) = source.execute(f"SELECT COUNT(*) FROM ({values})").fetchone()
    _check_number(path, number, most)
    if kind == "VARCHAR":
        (letters,) = source.execute(f"SELECT SUM(STRLEN(value)) FROM ({values})").fetchone()
        if letters is not None and letters > _MOST_LETTERS:
            raise InvalidRequest(f"{path.name} has texts that are too long for values")
    elif kind == "BLOB" or (any(mark in kind for mark in "[(") and not kind.startswith(("DECIMAL", "ENUM"))):
        raise InvalidRequest(f"{path.name}: values are numbers, truths or texts")


def _column(path: Path, names: list[str], wanted: str | None) -> str:
    if not names:
        raise InvalidRequest(f"{path.name} is empty")
    if wanted is None and len(names) == 1:
        return names[0]
    listed = ", ".join(names)[:200]
    if wanted is None:
        raise InvalidRequest(f"{path.name} has several columns, name one of them: {listed}")
    if wanted not in names:
        raise InvalidRequest(f"{path.name} has no column {wanted!r}, only: {listed}")
    if names.count(wanted) > 1:
        raise InvalidRequest(f"{path.name} has several columns that are called {wanted!r}")
    return wanted


def _typed(cells: list[str]) -> Array:
    """Numbers if all of them are, texts otherwise; 1_0 is a number for Python alone."""
    for kind in () if any("_" in cell for cell in cells) else (int, float):
        try:
            return np.array([kind(cell) for cell in cells])
        except (ValueError, OverflowError):
            continue
    return texts_array(cells)
