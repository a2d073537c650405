"""Queries to 10 million rows beside plain DuckDB: the same aggregates of the same loaded table, in one run.

The table holds people with about 10 rows each; ADYTON_BENCH_ROWS makes it smaller.  The plain side keeps the
types of the file.  What our side adds is the plan, the durable charge, the noise and the certificate.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

import adyton
from adyton.engines.duckdb import DuckDBEngine
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, RealColumn, Table
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Quantile
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.study import Study

ROWS = int(os.environ.get("ADYTON_BENCH_ROWS", 10_000_000))
PERSONS = max(1, ROWS // 10)
REPETITIONS = 7
FRESH_QUERIES = 15

REGIONS = tuple(f"region {i}" for i in range(50))
AGES = tuple(range(18, 91))  # with the regions: 50 * 73 = 3,650 groups
PEOPLE = Table(
    "people",
    (
        IntegerColumn("age", 18, 90),
        CategoryColumn("age_group", AGES),
        RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1)),
        CategoryColumn("region", REGIONS),
        BooleanColumn("smoker"),
    ),
)


def people(unit: PrivacyUnit) -> Table:
    """The table as a study of this unit declares it."""
    return replace(PEOPLE, person=unit.person)


def generator(rows: int, persons: int) -> str:
    return f"""
SELECT (hash(i, 'who') % {persons})::BIGINT AS user_id,
       (18 + hash(i, 'age') % 73)::BIGINT AS age,
       age AS age_group,
       (hash(i, 'income') % 20000000) / 100.0::DOUBLE AS income,
       'region ' || floor(50 * ((hash(i, 'region') % 1000000) / 1e6) ** 2)::INTEGER AS region,
       hash(i, 'smoker') % 4 = 0 AS smoker
FROM range({rows}) t(i)
"""


GENERATOR = generator(ROWS, PERSONS)
QUERIES = {  # ours, and the same without privacy
    "count": ("SELECT COUNT(*) FROM people", "SELECT count(*) FROM people"),
    "mean": ("SELECT AVG(income) FROM people", "SELECT avg(income) FROM people"),
    "50 groups": (
        "SELECT region, COUNT(*) FROM people GROUP BY region",
        "SELECT region, count(*) FROM people GROUP BY region",
    ),
    "3650-group sum": (
        "SELECT region, age_group, SUM(income) FROM people GROUP BY region, age_group",
        "SELECT region, age, sum(income) FROM people GROUP BY region, age",
    ),
}
FRESH = {  # the first numbers of filters: on few values, whose cells are kept, and on many
    "fresh count by age": ("SELECT COUNT(*) FROM people WHERE age > {}", 30),
    "fresh mean by age": ("SELECT AVG(income) FROM people WHERE age > {}", 30),
    "fresh count by income": ("SELECT COUNT(*) FROM people WHERE income > {}", 90_000),
    "fresh mean by income": ("SELECT AVG(income) FROM people WHERE income > {}", 90_000),
}
MEDIAN = ("SELECT MEDIAN(income) FROM people", "SELECT median(income) FROM people")
BOUNDED = "QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY hash(age, income, region, smoker)) <= 10"


def row(name: str, ours: float, reference: float, unit: str, against: str) -> dict[str, object]:
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "ratio": ours / reference,
        "unit": unit,
        "against": against,
    }


def run() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        duckdb.connect().execute(f"COPY ({GENERATOR}) TO '{path}' (FORMAT parquet)")
        rows = [
            *_queries(path, PrivacyUnit("add-remove"), "rows", ""),
            *_queries(path, PrivacyUnit("add-remove", "user_id", 10), "persons", BOUNDED),
        ]
        plain = duckdb.connect()
        plain.execute(f"CREATE TABLE people AS SELECT * FROM '{path}'")
        rows.append(_histogram(path, plain))
        plain.close()
        peaks = [_peak(path, side) for side in ("ours", "plain")]
        return [*rows, row(f"peak memory, {ROWS:,} rows", *peaks, "MB", "plain DuckDB")]


def _queries(path: Path, unit: PrivacyUnit, name: str, bound: str) -> list[dict[str, object]]:
    study = Study(
        people(unit),
        unit,
        Guarantee(Fraction(500), Fraction(1, 10**9)),
        "gdp",
        path,
        path.with_name(f"{name}.ledger"),
    )
    plain = duckdb.connect()
    plain.execute(f"CREATE TABLE people AS SELECT * FROM '{path}' {bound}")
    with adyton.open(study) as curator:
        start = time.perf_counter()
        curator.ask("SELECT COUNT(*) FROM people WHERE age > 1", epsilon=1)
        opening = time.perf_counter() - start
        rows = [_beside(curator, plain, f"{what}, {ROWS:,} rows, {name}", QUERIES[what]) for what in QUERIES]
        rows.append(_beside(curator, plain, f"median, {ROWS:,} rows, {name}", MEDIAN))
        rows.append(_rate(curator, plain, name))
        rows += [_fresh(curator, plain, f"{what}, {ROWS:,} rows, {name}", FRESH[what]) for what in FRESH]
    start = time.perf_counter()
    plain.execute(f"CREATE OR REPLACE TABLE people AS SELECT * FROM '{path}' {bound}")
    return [row(f"opening, {name}", opening, time.perf_counter() - start, "s", "plain DuckDB"), *rows]


def _beside(curator: Any, plain: Any, name: str, texts: tuple[str, str]) -> dict[str, object]:
    """Both sides in turn, best of several; each of our queries is new: its price differs."""
    query, sql = texts
    ours, theirs = [], []
    for i in range(REPETITIONS):
        ours.append(_seconds(lambda i=i: curator.ask(query, epsilon=1 + i / 1024)))
        theirs.append(_seconds(lambda: plain.execute(sql).fetchall()))
    return row(name, min(ours) * 1e3, min(theirs) * 1e3, "ms", "plain DuckDB")


def _fresh(curator: Any, plain: Any, name: str, asked: tuple[str, int]) -> dict[str, object]:
    """Medians of both sides, in turn; each query has a filter of its own."""
    text, start = asked
    ours, theirs = [], []
    for i in range(FRESH_QUERIES):
        sql = text.format(start + i)
        ours.append(_seconds(lambda sql=sql: curator.ask(sql, epsilon="0.5")))
        theirs.append(_seconds(lambda sql=sql: plain.execute(sql).fetchall()))
    return row(name, statistics.median(ours) * 1e3, statistics.median(theirs) * 1e3, "ms", "plain DuckDB")


def _histogram(path: Path, plain: Any) -> dict[str, object]:
    """What a median is found in: the rows of each bin.  The search itself needs no data."""
    income = PEOPLE.column("income")
    assert isinstance(income, RealColumn)
    unit = PrivacyUnit("add-remove")
    readings = readings_of(Query(PEOPLE, (("m", Quantile(ValueOf(income), Fraction(1, 2))),)), unit)
    engine = DuckDBEngine(PEOPLE, unit, path)
    engine.prepare()
    ours, theirs = [], []
    for _ in range(REPETITIONS):
        ours.append(_seconds(lambda: engine.exact(readings)))
        theirs.append(_seconds(lambda: plain.execute("SELECT median(income) FROM people").fetchall()))
    engine.close()
    name = f"histogram for a median, {ROWS:,} rows"
    return row(name, min(ours) * 1e3, min(theirs) * 1e3, "ms", "plain DuckDB's exact median")


def _rate(curator: Any, plain: Any, name: str) -> dict[str, object]:
    """Warm filtered counts: how many a second."""
    sql, times = "SELECT COUNT(*) FROM people WHERE age > {}.5", 30
    ours = _seconds(lambda: [curator.ask(sql.format(20 + i), epsilon=1) for i in range(times)])
    theirs = _seconds(lambda: [plain.execute(sql.format(20 + i)).fetchall() for i in range(times)])
    return row(f"filtered counts, {ROWS:,} rows, {name}", times / ours, times / theirs, "1/s", "plain DuckDB")


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _peak(path: Path, side: str) -> float:
    """The peak of a process of its own, that loads the table and asks the largest query."""
    code = f"import engines; engines.peak_of({str(path)!r}, {side!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def peak_of(path: str, side: str) -> None:
    query, sql = QUERIES["3650-group sum"]
    if side == "plain":
        plain = duckdb.connect()
        plain.execute(f"CREATE TABLE people AS SELECT * FROM '{path}'")
        plain.execute(sql).fetchall()
    else:
        budget = Guarantee(Fraction(100), Fraction(1, 10**9))
        with adyton.open(Study(PEOPLE, PrivacyUnit("add-remove"), budget, "gdp", Path(path))) as curator:
            curator.ask(query, epsilon=1)
    status = Path("/proc/self/status").read_text()  # getrusage would count the process that started us
    print(int(status.partition("VmHWM:")[2].split()[0]) / 1024)


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
