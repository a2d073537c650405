"""One study on DuckDB and on Spark whose executors are processes of their own: the same integers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.spark import skip_without_spark, spark_cluster
from support.tries import LONG

# In a process of its own: a process has one Spark, and the other tests use theirs.
PROGRAM = """
import random, sys
from pathlib import Path
import pandas as pd
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.spark import SparkEngine, is_spark_frame
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, Mean, Sum
from adyton.query.nodes import Query
from adyton.kernel.schema import Table
from adyton.kernel.sensitivity import readings_of
from adyton.testing.engines.cases import AGE, INCOME, REGION
from support.spark import INTERPRETED, SHORT_LIVED, spark_session

rng, size = random.Random(9), 2000
columns = {
    "who": [rng.randrange(400) for _ in range(size)],
    "age": [rng.randrange(-5, 140) for _ in range(size)],
    "income": [rng.uniform(-100, 250_000) for _ in range(size)],
    "region": [rng.choice(["north", "south", "nowhere"]) for _ in range(size)],
}
table, unit = Table("t", (AGE, INCOME, REGION)), PrivacyUnit("add-remove", "who", 5)
query = Query(
    table, (("n", Count()), ("s", Sum(ValueOf(INCOME))), ("m", Mean(ValueOf(AGE)))), by=(REGION,)
)
cluster = INTERPRETED | {
    "spark.sql.execution.arrow.pyspark.enabled": "true",  # else every worker starts a Python to read the rows
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": SHORT_LIVED,
    "spark.cores.max": "2",
    "spark.sql.shuffle.partitions": "2",
}
with spark_session(Path.cwd(), sys.argv[1], cluster) as spark:
    frame = spark.createDataFrame(pd.DataFrame(columns)).repartition(2)
    assert is_spark_frame(frame)
    found = []
    for engine in (
        DuckDBEngine(table, unit, pd.DataFrame(columns), "salt"),
        SparkEngine(table, unit, frame, "salt"),
    ):
        engine.prepare()
        found.append(engine.exact(readings_of(query, unit)))
        engine.close()
    apart = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is one of them
assert found[0] == found[1], found
assert apart == 2, "both workers took part"
print("the same integers")
"""
WITHIN = (
    "local-cluster[2,1,600]"  # Spark's own: master and workers in the driver's Java, executors in their own
)


def same_integers(address: str, folder: Path) -> None:
    import pyspark

    tests = str(Path(__file__).parent.parent)
    path = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
    settings = {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": path,
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, address],
        capture_output=True, text=True, cwd=folder, env=os.environ | settings, timeout=300,
    )  # fmt: skip
    assert done.stdout.strip().endswith("the same integers"), done.stderr[-2000:]


@pytest.mark.skipif(not LONG, reason="three Javas for one query, in a long run only")
def test_two_executors(tmp_path: Path) -> None:
    skip_without_spark()
    same_integers(WITHIN, tmp_path)


@pytest.mark.skipif(not LONG, reason="three more Javas, in a long run only")
def test_a_cluster_of_two_workers(tmp_path: Path) -> None:
    skip_without_spark()
    with spark_cluster(tmp_path) as address:
        same_integers(address, tmp_path)
        logs = [path.read_text() for path in tmp_path.glob("worker*/log")]
    assert len(logs) == 2
    assert all("Asked to launch executor" in log for log in logs), "both workers took part"
