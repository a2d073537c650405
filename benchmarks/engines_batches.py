"""A batch of 1,000 filtered means beside the same queries asked one by one, and counts on a small table.

All are SQL texts, and the ledger is a file.  The rate of single queries is that of some of them only.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from itertools import count, product
from pathlib import Path
from typing import Any

import duckdb

import adyton
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.study import Study
from engines import PEOPLE, REGIONS, ROWS, _seconds, generator, row

FEW = 1_000
QUERIES = 1_000
SINGLES, ROUNDS = 15, 3
COUNTS = 300


def run() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        return [*_of(ROWS, Path(folder) / "many.parquet"), *_of(FEW, Path(folder) / "few.parquet")]


def _of(rows: int, path: Path) -> list[dict[str, object]]:
    duckdb.connect().execute(f"COPY ({generator(rows, max(1, rows // 10))}) TO '{path}' (FORMAT parquet)")
    budget, ledger = Guarantee(Fraction(500), Fraction(1, 10**9)), path.with_suffix(".ledger")
    found = []
    with adyton.open(Study(PEOPLE, PrivacyUnit("add-remove"), budget, "gdp", path, ledger)) as curator:
        curator.ask("SELECT COUNT(*) FROM people WHERE age > 1", epsilon=1)  # opens everything
        found.append(_batch(curator, rows))
        if rows == FEW:
            found.append(_counts(curator, path))
    return found


def _filtered_means() -> Iterator[str]:
    ages = zip(range(20, 40), range(60, 80), strict=True)
    for (low, high), region in product(ages, REGIONS):
        yield f"SELECT AVG(income) FROM people WHERE age BETWEEN {low} AND {high} AND region = '{region}'"


def _batch(curator: Any, rows: int) -> dict[str, object]:
    """In turns; the batch is new each time because its price differs, and so is every single query."""
    queries = list(_filtered_means())
    assert len(set(queries)) == QUERIES
    prices = (Fraction(1, 10) + Fraction(i, 1024) for i in count())
    together, alone = [], []
    for _ in range(ROUNDS):
        some = queries[:: QUERIES // SINGLES][:SINGLES]
        alone.append(_seconds(lambda some=some: [curator.ask(q, epsilon=next(prices)) for q in some]))
        together.append(_seconds(lambda: curator.ask_many(queries, epsilon=10 * next(prices))))
    name = f"ask_many of {QUERIES:,} filtered means, {rows:,} rows"
    return row(name, QUERIES / min(together), SINGLES / min(alone), "1/s", "the same one by one")


def _counts(curator: Any, path: Path) -> dict[str, object]:
    plain = duckdb.connect()
    plain.execute(f"CREATE TABLE people AS SELECT * FROM '{path}'")
    texts = [f"SELECT COUNT(*) FROM people WHERE age > {20 + i // 5}.{1 + i % 5}" for i in range(COUNTS)]
    ours = _seconds(lambda: [curator.ask(text, epsilon=Fraction(1, 100)) for text in texts])
    theirs = _seconds(lambda: [plain.execute(text).fetchall() for text in texts])
    return row(f"filtered counts, {FEW:,} rows, rows", COUNTS / ours, COUNTS / theirs, "1/s", "plain DuckDB")


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
