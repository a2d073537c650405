"""DuckDB in memory, for files: a connection of its own, and how its SQL names columns, texts and one file."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any


def connect() -> Any:
    import duckdb  # imported late: 0.1 s, needed only to read or write data

    connection = duckdb.connect(":memory:")
    # Standard output is not ours.  A notebook without ipywidgets has no bar, and refuses to turn it off.
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def parquet_rows(path: Path) -> str:
    """What to write after FROM: this very file, even if its name has a star in it.

    What its folders are called (``year=2024``) is no column of it.
    """
    return f"read_parquet({text_literal(glob.escape(str(path)))}, hive_partitioning = false)"
