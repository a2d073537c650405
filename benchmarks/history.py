"""Whole queries after 20,000 receipts beside the same queries after ten: on a small table, durable.

With persons and a population, a query also needs the newest count of all persons, which anyone may have
asked: ``opening`` is the first query of a new curator, which looks for it in the whole ledger.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from fractions import Fraction
from pathlib import Path

import duckdb
from ledger import HISTORY, fill

import adyton
from adyton.kernel.ledger import Header, SqliteLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.study import Study, Validity
from engines import _seconds, generator, people, row

ROWS, FEW, QUERIES = 1_000, 10, 40
BUDGET = Guarantee(Fraction(500), Fraction(1, 10**9))
VALIDITY = Validity(Fraction(95, 100))
ROW, PERSON = PrivacyUnit("add-remove"), PrivacyUnit("add-remove", "user_id", 10)


def run() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        duckdb.connect().execute(f"COPY ({generator(ROWS, ROWS // 10)}) TO '{path}' (FORMAT parquet)")
        for name, unit, validity in (("rows", ROW, None), ("persons of a population", PERSON, VALIDITY)):
            study = Study(people(unit), unit, BUDGET, "gdp", path, validity=validity)
            rows += _beside(study, Path(folder), name)
    return rows


def _beside(study: Study, folder: Path, name: str) -> list[dict[str, object]]:
    _times(study, folder / f"{name}-warm.ledger", FEW)  # what a process imports with its first query
    found = [_times(study, folder / f"{name}-{receipts}.ledger", receipts) for receipts in (HISTORY, FEW)]
    (opening, asking), (opening_young, asking_young) = found
    against = f"the same after {FEW} receipts"
    return [
        row(f"a query after {HISTORY:,} receipts, {name}", asking, asking_young, "ms, median", against),
        row(f"opening with {HISTORY:,} receipts, {name}", opening, opening_young, "ms", against),
    ]


def _times(study: Study, path: Path, receipts: int) -> tuple[float, float]:
    """The first query of a new curator, without loading the table, and a query of a running one."""
    header = Header.fresh(study.fingerprint, study.accounting, study.allowed)
    ledger = SqliteLedger.create(path, header)
    fill(ledger, receipts)
    with adyton.open(study, ledger=ledger) as curator:
        curator._engine.prepare()
        text = "SELECT COUNT(*) FROM people WHERE age > {}.5"
        opening = _seconds(lambda: curator.ask(text.format(1), scale=500))
        asking = [_seconds(lambda i=i: curator.ask(text.format(20 + i), scale=500)) for i in range(QUERIES)]
    return opening * 1e3, statistics.median(asking) * 1e3


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
