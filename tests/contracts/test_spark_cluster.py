"""One study on DuckDB, on a Spark cluster of two workers, and through Spark Connect: the same integers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spark_cluster import spark_cluster

# In a process of its own: a process has one Spark, and the other tests use theirs.
PROGRAM = """
import random, sys
import pandas as pd
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.spark import SparkEngine, is_spark_frame
from adyton.privacy import PrivacyUnit
from adyton.query.nodes import Count, Mean, Question, Sum, ValueOf
from adyton.schema import Table
from adyton.sensitivity import readings_of
from adyton.testing.engine_cases import AGE, INCOME, REGION
from pyspark.sql import SparkSession

rng, size = random.Random(9), 5000
columns = {
    "who": [rng.randrange(400) for _ in range(size)],
    "age": [rng.randrange(-5, 140) for _ in range(size)],
    "income": [rng.uniform(-100, 250_000) for _ in range(size)],
    "region": [rng.choice(["north", "south", "nowhere"]) for _ in range(size)],
}
rows = list(zip(*columns.values()))
builder = SparkSession.builder
if sys.argv[1].startswith("spark://"):
    builder = (
        builder.master(sys.argv[1]).config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "512m").config("spark.cores.max", "2")
    )
else:
    builder = builder.remote(sys.argv[1])
spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
frame = spark.createDataFrame(rows, "who bigint, age bigint, income double, region string").repartition(4)
assert is_spark_frame(frame)
table, unit = Table("t", (AGE, INCOME, REGION)), PrivacyUnit("add-or-remove", "who", 5)
question = Question(
    table, (("n", Count()), ("s", Sum(ValueOf(INCOME))), ("m", Mean(ValueOf(AGE)))), by=(REGION,)
)
found = []
for engine in (
    DuckDBEngine(table, unit, pd.DataFrame(columns), "salt"),
    SparkEngine(table, unit, frame, "salt"),
):
    engine.prepare()
    found.append(engine.exact(readings_of(question, unit)))
    engine.close()
assert found[0] == found[1], found
print("the same integers")
spark.stop()
"""


def _run(address: str, folder: Path) -> None:
    settings = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, address],
        capture_output=True, text=True, cwd=folder, env=settings, timeout=180,
    )  # fmt: skip
    assert done.stdout.strip().endswith("the same integers"), done.stderr[-2000:]


@pytest.fixture
def installed() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed (pip install 'adyton[spark]')")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17 (apt-get install default-jre-headless)")


@pytest.mark.usefixtures("installed")
def test_a_cluster_of_two_workers(tmp_path: Path) -> None:
    with spark_cluster(tmp_path) as address:
        _run(address, tmp_path)
        logs = [path.read_text() for path in tmp_path.glob("worker*/log")]
    assert all("Asked to launch executor" in log for log in logs), "both workers took part"


@pytest.mark.usefixtures("installed")
def test_a_connect_frame(tmp_path: Path) -> None:
    reason = "Spark Connect is not installed (pip install 'pyspark[connect]')"
    for module in ("grpc", "grpc_status", "google.rpc", "zstandard"):
        pytest.importorskip(module, reason=reason)
    _run("local[1]", tmp_path)
