"""CSV, one line a row.

A reader that lets a quoted value run over line ends would let one open quote swallow all rows after it: one
person's row could remove everybody else's.  So a row is a line, each line is taken apart on its own, and a
line that does not have the header's number of values is a missing row.
"""

from __future__ import annotations

import csv
from pathlib import Path

from adyton.engines.duckdb_sql import quoted, text_literal
from adyton.errors import InvalidRequest

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_LONGEST_HEADER = 1_000_000


def csv_scan(path: Path) -> str:
    """What to write after FROM: a table of texts with the names of the header."""
    separator = SEPARATORS[path.suffix.lower()]
    names = _header(path, separator)
    # A separator that no text holds, and no quotes: every line arrives whole, as the only column.
    lines = (
        f"read_csv({text_literal(str(path))}, columns = {{'line': 'VARCHAR'}}, auto_detect = false, "
        "header = false, skip = 1, delim = '\x01', quote = '', escape = '', ignore_errors = true, "
        "strict_mode = false)"
    )
    value = f'{separator}(?:"((?:[^"]|"")*)"|([^{separator}]*))'
    split = ", ".join(
        f"regexp_extract_all({text_literal(separator)} || line, {text_literal(value)}, {group}) AS {name}"
        for group, name in ((1, "in_quotes"), (2, "plain"))
    )
    columns = ", ".join(
        f"coalesce(replace(in_quotes[{i}], '\"\"', '\"'), nullif(plain[{i}], '')) AS {quoted(name)}"
        for i, name in enumerate(names, start=1)
    )
    return f"(SELECT {columns} FROM (SELECT {split} FROM {lines}) WHERE len(plain) = {len(names)})"


def _header(path: Path, separator: str) -> list[str]:
    try:
        with path.open("rb") as file:  # as bytes: a text reader would already stumble over later lines
            line = file.readline(_LONGEST_HEADER).decode("utf-8-sig")
        names = next(csv.reader([line], delimiter=separator), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        names = []
    if not names or not all(names) or len({name.casefold() for name in names}) < len(names):
        raise InvalidRequest(f"the first line of {path.name!r} must name the columns, each once")
    return names
