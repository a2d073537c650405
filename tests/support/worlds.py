"""Studies and rows that tests share: a table of people, a study on the disk, studies of a shared budget."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import adyton
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, Column, Table
from adyton.study import Study


def study_with(
    table: Table,
    accounting: str = "gdp",
    unit: PrivacyUnit | str = "replace-one",
    epsilon: Fraction | str | int = 1,
    delta: Fraction = Fraction(1, 10**6),
    **more: Any,
) -> Study:
    """A study in memory, by default of rows that are replaced; pure accounting has no delta."""
    unit = unit if isinstance(unit, PrivacyUnit) else PrivacyUnit(unit)  # type: ignore[arg-type]
    budget = Guarantee(Fraction(epsilon), Fraction(0) if accounting == "pure" else delta)
    return Study(table, unit, budget, accounting, **more)


def study_text(
    columns: Mapping[str, Mapping[str, Any]],
    *,
    name: str = "people",
    source: str = "",
    rows: int | None = None,
    adjacency: str = "replace-one",
    epsilon: int = 1,
    delta: str = "1e-9",
    validity: str = "",
    dialect: str = "",
    **privacy: Any,
) -> str:
    """A study file whose unit is a row; ``validity`` is in the words of the file."""
    lines = [f'dialect = "{dialect}"'] if dialect else []
    lines += ["[table]", f'name = "{name}"', f'source = "{source or name + ".parquet"}"']
    lines += [f"rows = {rows}"] if rows is not None else []
    lines += ["[privacy]", 'unit = "row"', f'adjacency = "{adjacency}"', f"epsilon = {epsilon}"]
    lines += [f"delta = {delta}", *_facts(privacy)]
    lines += ["[validity]", validity] if validity else []
    for column, declared in columns.items():
        lines += [f"[columns.{column}]", *_facts(declared)]
    return "\n".join([*lines, ""])


def _facts(facts: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {one if isinstance(one, date) else json.dumps(one)}" for key, one in facts.items()]


# A small study on the disk, for attacks on its ledger from outside.

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


# Studies in memory that share a budget on the disk, for tests of the shared budget.

FLAG = BooleanColumn("f")
SMALL = Fraction(1, 10**9)


def study_of(
    name: str,
    shared_budget: Path | None,
    *,
    columns: tuple[Column, ...] = (FLAG,),
    rows: int | None = 100,
    unit: PrivacyUnit | None = None,
    epsilon: int = 1,
    delta: Fraction = SMALL,
    **more: Any,
) -> Study:
    """A study of rows, without a file of its own."""
    unit = unit or PrivacyUnit("replace-one")
    return Study(
        Table(name, columns, rows), unit, Guarantee(epsilon, delta), shared_budget=shared_budget, **more
    )


def shared_budget_of(path: Path, **facts: Any) -> Path:
    """A shared budget for such studies."""
    said = {"epsilon": 1, "delta": SMALL, "unit": "row", "adjacency": "replace-one", "rows": "same", **facts}
    adyton.SharedBudget.create(path, **said).close()
    return path


# A small table of people, the same every time, for the pages and the reference.

PEOPLE = 5000


def make_people(folder: Path) -> None:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "person_id": np.arange(PEOPLE),
            "age": rng.integers(18, 95, PEOPLE),
            "income": rng.gamma(4.0, 9000.0, PEOPLE).round(2),
            "region": rng.choice(["north", "south", "east", "west"], PEOPLE),
            "smoker": rng.random(PEOPLE) < 0.2,
        }
    )
    frame.to_parquet(folder / "people.parquet")
