"""Whole questions, through plan, durable charge, read, release and certificate, beside the bare aggregate."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb

import adyton
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.schema import CategoryColumn, IntegerColumn, Table
from adyton.study import Study

ROWS = 1_000
QUESTIONS = 300


def run() -> list[dict[str, object]]:
    return [_asking(), _importing()]


def _asking() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        bare = duckdb.connect()
        bare.execute(
            "CREATE TABLE people AS SELECT (hash(i) % 100)::BIGINT AS age, 'r' || (i % 4) AS region "
            f"FROM range({ROWS}) t(i)"
        )
        path = Path(folder) / "people.parquet"
        bare.execute(f"COPY people TO '{path}'")
        table = Table(
            "people", (IntegerColumn("age", 0, 100), CategoryColumn("region", ("r0", "r1", "r2", "r3"))), ROWS
        )
        limit = Guarantee(Fraction(100), Fraction(1, 10**6))
        study = Study(table, PrivacyUnit("replace"), limit, "gdp", path, Path(folder) / "people.ledger")
        with adyton.open(study) as curator:
            sql = "SELECT COUNT(*) FROM people WHERE age > {}"
            curator.ask(sql.format("-1.5"), scale=50)  # opens everything
            ours = _median(lambda i: curator.ask(sql.format(f"{i}.5"), scale=50))
            reference = _median(lambda i: bare.execute(sql.format(f"{i}.5")).fetchall())
    return {
        "name": f"filtered count, {ROWS:,} rows, durable ledger",
        "ours": ours * 1e3,
        "reference": reference * 1e3,
        "ratio": ours / reference,
        "unit": "ms/question",
        "against": "plain DuckDB",
    }


def _median(ask: Callable[[int], object]) -> float:
    times = []
    for i in range(QUESTIONS):
        start = time.perf_counter()
        ask(i)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _importing() -> dict[str, object]:
    """Best of several: the time of a cold start is the disk's, not ours."""

    def best(module: str) -> float:
        code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        return min(
            float(
                subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, check=True
                ).stdout
            )
            for _ in range(7)
        )

    ours, reference = best("adyton"), best("numpy")
    return {
        "name": "import adyton",
        "ours": ours,
        "reference": reference,
        "ratio": ours / reference,
        "unit": "s",
        "against": "import numpy",
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
