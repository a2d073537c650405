"""A small study on the disk, for attacks on its ledger from outside."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

STUDY = """
[table]
name = "people"
source = "{name}.csv"
rows = {rows}

[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = {epsilon}
delta = 1e-9
{more}
[columns.age]
kind = "integer"
low = 0
high = {high}
"""
ROWS = 50


def write_study(
    folder: Path,
    *,
    name: str = "people",
    more: str = "",
    high: int = 120,
    rows: int = ROWS,
    epsilon: str = "100",
) -> Path:
    """A study file and its data; the ledger lies beside it."""
    lines = ["age", *(str(20 + row % 60) for row in range(rows))]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    file = folder / f"{name}.toml"
    file.write_text(STUDY.format(name=name, more=more, high=high, rows=rows, epsilon=epsilon))
    return file


def query(number: int) -> str:
    return f"SELECT COUNT(*) FROM people WHERE age > {number}"


def tamper(path: Path, *statements: str) -> None:
    """By somebody who can write to the file and takes away what guards it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)


def copied(study: Path, name: str) -> Path:
    """A consistent copy, as a backup makes it."""
    copy = study.with_name(name)
    with (
        closing(sqlite3.connect(study.with_suffix(".ledger"))) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    return copy


def put_back(study: Path, copy: Path) -> None:
    for rest in ("", "-wal", "-shm"):
        study.with_name(study.stem + ".ledger" + rest).unlink(missing_ok=True)
    shutil.copy(copy, study.with_suffix(".ledger"))
