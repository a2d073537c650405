"""CSV, one line a row.

A reader that lets a quoted value run over line ends would let one open quote swallow all rows after it: one
person's row could remove everybody else's.  So a row is a line, and each line is taken apart on its own.  A
line that cannot be read (no valid UTF-8, too long, not the header's number of values, a quote that is not
closed before the next separator or the end) is a row in which everything is missing: it still counts, so
nobody can change the number of rows with it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adyton.duckdb_files import quoted, text_literal
from adyton.errors import InvalidRequest

SEPARATORS = {".csv": ",", ".tsv": "\t"}
LONGEST_LINE = 1_000_000  # bytes
_PART = 4_000_000  # bytes that are in memory at once


def csv_header(path: Path) -> list[str]:
    """The names of the columns."""
    try:
        with path.open("rb") as file:
            line = file.readline(LONGEST_LINE).decode("utf-8-sig")
        names = next(csv.reader([line], delimiter=_separator(path)), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        names = []
    if not names or not all(names) or len({name.casefold() for name in names}) < len(names):
        raise InvalidRequest(f"the first line of {path.name!r} must name the columns, each once")
    return names


def csv_rows(path: Path, lines: str) -> str:
    """What to write after FROM: a table of texts with the names of the header, from a table of lines."""
    names = csv_header(path)
    columns = ", ".join(
        f"CASE WHEN len(plain) = {len(names)} "
        f"THEN coalesce(replace(in_quotes[{i}], '\"\"', '\"'), nullif(plain[{i}], '')) END AS {quoted(name)}"
        for i, name in enumerate(names, start=1)
    )
    return f"(SELECT {columns} FROM ({_taken_apart(path, lines)}))"


def _taken_apart(path: Path, lines: str) -> str:
    """A statement that splits each line: ``plain`` has as many values as the header, unless it is no row."""
    separator = _separator(path)
    split = f"string_split(line, {text_literal(separator)})"  # several times as fast, and most lines allow it
    value = f'{separator}(?:"((?:[^"]|"")*)"|([^{separator}"][^{separator}]*|))'
    closed = f"regexp_full_match({text_literal(separator)} || line, {text_literal(f'(?:{value})*')})"
    found = [
        f"regexp_extract_all({text_literal(separator)} || line, {text_literal(value)}, {group})"
        for group in (1, 2)
    ]
    return (
        f"SELECT CASE WHEN contains(line, '\"') THEN {found[0]} END AS in_quotes, "
        f"CASE WHEN NOT contains(line, '\"') THEN {split} WHEN {closed} THEN {found[1]} END AS plain "
        f"FROM (SELECT CASE WHEN strlen(line) <= {LONGEST_LINE} THEN line END AS line "
        f"FROM (SELECT CAST(line AS VARCHAR) AS line FROM {lines}))"
    )


def load_csv(connection: Any, path: Path, lines: str, target: str, select: str) -> None:
    """Makes the table ``target`` of what ``select`` reads from ``csv_rows``, part by part of the file."""
    for i, part in enumerate(csv_parts(path)):
        connection.register(lines, {"line": np.array(part, dtype=object)})
        connection.execute(f"{f'INSERT INTO {target}' if i else f'CREATE TABLE {target} AS'} {select}")
        connection.unregister(lines)


def count_unreadable(connection: Any, path: Path, lines: str) -> int:
    """The lines in which everything is missing because they cannot be read: for owners."""
    width = len(csv_header(path))
    unread = f"SELECT count(*) FROM ({_taken_apart(path, lines)}) WHERE coalesce(len(plain), 0) <> {width}"
    found = 0
    for part in csv_parts(path):
        connection.register(lines, {"line": np.array(part, dtype=object)})
        ((unreadable,),) = connection.execute(unread).fetchall()
        found += int(unreadable)
        connection.unregister(lines)
    return found


def csv_parts(path: Path) -> Iterator[list[str | None]]:
    """All lines after the header, in parts; None where one cannot be read.  There is at least one part.

    No more than a part is in memory, however long a line is.
    """
    with path.open("rb") as file:
        file.readline(LONGEST_LINE)
        rest, too_long, none_yet = b"", False, True
        while block := file.read(_PART):
            block = rest + block
            end = block.rfind(b"\n") + 1
            rest = block[end:]
            if end:
                lines = _decoded(block[:end])
                if too_long:  # what is left of it
                    lines[0] = None
                yield lines
                too_long = none_yet = False
            if len(rest) > LONGEST_LINE:
                rest, too_long = b"", True
        if rest or too_long:
            yield [None] if too_long else _decoded(rest + b"\n")
        elif none_yet:
            yield []


def _decoded(lines: bytes) -> list[str | None]:
    bare = lines.replace(b"\r\n", b"\n")[:-1]
    try:
        return list(bare.decode().split("\n"))
    except UnicodeDecodeError:
        return [_line(line) for line in bare.split(b"\n")]


def _line(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def _separator(path: Path) -> str:
    return SEPARATORS[path.suffix.lower()]
