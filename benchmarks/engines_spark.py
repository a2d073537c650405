"""The queries of engines.py to a Spark frame in local mode, beside the same aggregates by Spark alone."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

import adyton
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.study import Study
from engines import GENERATOR, PEOPLE, QUERIES, ROWS, _seconds, row

REPETITIONS = 5


def run() -> list[dict[str, object]]:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        print("Spark is not installed: no rows for it", file=sys.stderr)
        return []
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "6g")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "people.parquet"
            duckdb.connect().execute(f"COPY ({GENERATOR}) TO '{path}' (FORMAT parquet)")
            return _beside_spark(spark, path)
    finally:
        spark.stop()


def _beside_spark(spark: Any, path: Path) -> list[dict[str, object]]:
    frame = spark.read.parquet(str(path))
    plain = spark.read.parquet(str(path)).cache()
    plain.count()  # fills the cache
    plain.createOrReplaceTempView("people")
    budget = Guarantee(Fraction(500), Fraction(1, 10**9))
    study = Study(PEOPLE, PrivacyUnit("add-remove"), budget, ledger=path.with_name("spark.ledger"))
    rows = []
    with adyton.open(study, data=frame) as curator:
        curator.ask("SELECT COUNT(*) FROM people WHERE age > 1", epsilon=1)  # opens everything
        for what, (query, sql) in QUERIES.items():
            ours, theirs = [], []
            for i in range(REPETITIONS):
                ours.append(_seconds(lambda q=query, i=i: curator.ask(q, epsilon=1 + i / 1024)))
                theirs.append(_seconds(lambda s=sql: spark.sql(s).collect()))
            name = f"{what}, {ROWS:,} rows, Spark"
            rows.append(row(name, min(ours) * 1e3, min(theirs) * 1e3, "ms", "plain Spark"))
    return rows


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
