"""Whole queries, through plan, durable charge, read, release and certificate, beside the bare aggregate."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import duckdb
import sqlglot

import adyton
from adyton.kernel.ledger import Header, Order, SqliteLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.planning.plan import make_batch
from adyton.planning.price import agreed_price
from adyton.query.request import Requests
from adyton.study import Study

ROWS = 1_000
QUERIES = 300
PARSER = "sqlglot's parser alone"
TABLE = Table(
    "people", (IntegerColumn("age", 0, 100), CategoryColumn("region", ("r0", "r1", "r2", "r3"))), ROWS
)
BUDGET = Guarantee(Fraction(100), Fraction(1, 10**6))
ORDER = Order("SELECT COUNT(*) AS count FROM people", '[["count", "gaussian", "50.0"]]', 10**12, 10**12)


LONG_TEXT = """
-- how incomes differ by region
SELECT
    region AS "Region",
    COUNT(*) AS people,
    COUNT(*) FILTER (WHERE age < 30) AS young,
    SUM(
        CASE
            WHEN age >= 65 THEN 1
            ELSE 0
        END
    ) AS retired,
    AVG(age) AS mean_age,
    AVG(
        CASE
            WHEN age > 20 THEN age
        END
    ) AS mean_age_of_adults,
    SUM(age) AS years
FROM people
WHERE
    age BETWEEN {} AND 80
    AND region IN (
        'r0', 'r1',
        'r2'
    )
    AND NOT (age < 21 AND region = 'r3')
GROUP BY region
HAVING COUNT(*) > 100
ORDER BY mean_age DESC
LIMIT 10
"""


def run() -> list[dict[str, object]]:
    return [*_asking(), *_planning(), _importing()]


def _asking() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        bare = duckdb.connect()
        bare.execute(
            "CREATE TABLE people AS SELECT (hash(i) % 100)::BIGINT AS age, 'r' || (i % 4) AS region "
            f"FROM range({ROWS}) t(i)"
        )
        path = Path(folder) / "people.parquet"
        bare.execute(f"COPY people TO '{path}'")
        study = Study(TABLE, PrivacyUnit("replace-one"), BUDGET, "gdp", path, Path(folder) / "people.ledger")
        charges = SqliteLedger.create(Path(folder) / "bare.ledger", Header.fresh("00" * 32, "gdp", 10**18))
        with adyton.open(study) as curator, closing(charges):
            sql = "SELECT COUNT(*) FROM people WHERE age > {}"
            curator.ask(sql.format("-1.5"), scale=50)  # opens everything
            wall, cpu = _medians(
                {
                    "query": lambda i: curator.ask(sql.format(f"{i}.5"), scale=50),
                    "repeat": lambda i: curator.ask(sql.format(f"{i}.5"), scale=50),
                    "charge": lambda _: charges.charge(ORDER),
                    "duckdb": lambda i: bare.execute(sql.format(f"{i}.5")).fetchall(),
                }
            )
    name = f"filtered count, {ROWS:,} rows, durable ledger"
    alone = "charges of the same ledger alone"
    return [
        _row(name, wall["query"] * 1e3, wall["duckdb"] * 1e3, "ms/query", "plain DuckDB"),
        _row(f"{name}, rate", 1 / wall["query"], 1 / wall["charge"], "1/s", alone),
        _row(f"{name}, rate by CPU time", 1 / cpu["query"], 1 / cpu["charge"], "1/s", alone),
        _row("the same query again", wall["repeat"] * 1e3, wall["charge"] * 1e3, "ms", "a charge"),
    ]


def _planning() -> list[dict[str, object]]:
    """A text that is new each time, one with another number in it than the last, and one that was read
    before, beside sqlglot's parser alone.
    """
    study, known = Study(TABLE, PrivacyUnit("replace-one"), BUDGET, "gdp"), Requests(TABLE)

    def planned(text: str) -> None:
        asked = [known.of(text)]
        make_batch(study, asked, agreed_price(asked, {"epsilon": 1}, study), study.allowed)

    def new(i: int) -> str:
        return LONG_TEXT.format(i % 60).replace("AS people", f"AS people_{i}")

    _, cpu = _medians(
        {
            "new text": lambda i: planned(new(i)),
            "text with another number": lambda i: planned(LONG_TEXT.format(f"{i % 60}.{i}")),
            "text read before": lambda i: planned(LONG_TEXT.format(1)),
            "sqlglot": lambda i: sqlglot.parse_one(new(i)),
        }
    )
    lines, against = LONG_TEXT.strip().count("\n") + 1, cpu.pop("sqlglot")
    return [
        _row(f"reading and planning {lines} lines, {what}", own * 1e3, against * 1e3, "ms of CPU", PARSER)
        for what, own in cpu.items()
    ]


def _row(name: str, ours: float, reference: float, unit: str, against: str) -> dict[str, object]:
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "ratio": ours / reference,
        "unit": unit,
        "against": against,
    }


def _medians(actions: dict[str, Callable[[int], object]]) -> tuple[dict[str, float], dict[str, float]]:
    """Of the time on the wall, and of this process, in turns: a noisy moment of the machine meets all."""
    wall: dict[str, list[float]] = {name: [] for name in actions}
    cpu: dict[str, list[float]] = {name: [] for name in actions}
    for i in range(QUERIES):
        for name, action in actions.items():
            start, used = time.perf_counter(), time.process_time()
            action(i)
            wall[name].append(time.perf_counter() - start)
            cpu[name].append(time.process_time() - used)
    middle = [{name: statistics.median(own) for name, own in taken.items()} for taken in (wall, cpu)]
    return middle[0], middle[1]


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
