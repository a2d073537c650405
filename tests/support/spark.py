"""Spark for tests: one for a process, or a private cluster."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

# One Spark for a process: by default a local one, which also serves Spark Connect, stopped by its own pid.

PATIENCE = 60.0
# Many small jobs and a short life: the first compiler, early, and the simplest collector are the quickest, and Spark's
# own classes need no verification.  Most of what statements leave behind dies young, if there is room for the young.
SHORT_LIVED = (
    "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=0.2"
    " -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    " -XX:MetaspaceSize=300m -XX:ReservedCodeCacheSize=200m -XX:-UseCodeCacheFlushing -XX:-UsePerfData"
)
ROOM = "-Xms2g -Xmn1200m"
# Nearly all classes are in these, and Java looks for each in one after the other of 280 files.
LOOKED_IN_FIRST = ("spark-catalyst_*", "spark-sql_*", "spark-core_*", "scala-library-*")
# Every statement names these to Java, which looks for each in all packages that it could be of, in all of the files.
LOOKED_FOR_AGAIN = ("PythonUtils", "PythonSQLUtils")

# Said by pyspark 4.3 of pandas 3, which Connect imports.
MARKS = [pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")]


def skip_without_spark() -> None:
    for module in ("pyspark", "grpc", "grpc_status", "zstandard"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed (pip install 'pyspark[connect]')")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17 or later (apt-get install default-jre-headless)")


INTERPRETED = {  # many small queries: compiling takes longer
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
QUICK = (
    INTERPRETED
    | {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.ui.explainMode": "simple",  # which nobody reads, nor keeps
        "spark.sql.ui.retainedExecutions": "1",
        "spark.sql.maxPlanStringLength": "100",
        "spark.sql.adaptive.enabled": "false",  # plans of one partition need no second thought; the cluster has them
        # The parser remembers every way through deep statements, and many random ones fill a small memory.
        "spark.sql.parser.manageParserCaches": "true",
        "spark.sql.parser.parserDfaCacheFlushThreshold": "50000",
        "spark.sql.session.timeZone": "America/New_York",  # days must be days in UTC all the same
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
)


@contextlib.contextmanager
def spark_session(
    folder: Path, master: str = "local[1]", settings: Mapping[str, str] = QUICK
) -> Iterator[Any]:
    """A classic session in a Java of its own.  The system chooses every port; nothing is written elsewhere."""
    import pyspark
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:  # a process has one Spark; who started it also stops it
        yield running
        return
    jars = Path(pyspark.__file__).parent / "jars"
    own = {
        "spark.driver.extraClassPath": os.pathsep.join(
            str(jar) for pattern in LOOKED_IN_FIRST for jar in jars.glob(f"{pattern}.jar")
        ),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"{SHORT_LIVED} {ROOM} -Djava.io.tmpdir={folder}",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    builder = SparkSession.builder.master(master)
    for name, value in (own | dict(settings)).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    gateway, java = session.sparkContext._gateway, session.sparkContext._jvm
    for name in LOOKED_FOR_AGAIN:
        setattr(java, name, getattr(java, name))
    try:
        session.sparkContext.setLogLevel("OFF")
        yield session
    finally:
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # Spark's Java ends when its input does
        gateway.proc.wait(PATIENCE)


@contextlib.contextmanager
def connect_session(classic: Any) -> Iterator[Any]:
    """A session of Spark Connect, which talks to the same Java by network only."""
    from pyspark.sql.connect.session import SparkSession

    services = classic.sparkContext._jvm.org.apache.spark.sql.connect.service
    port = getattr(getattr(services, "SparkConnectService$"), "MODULE$").localPort()  # of a Scala object
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    try:
        yield session
    finally:
        session.stop()


# A private Spark cluster for the tests: a master and two workers on loopback, each stopped by its own pid.

ON_LOOPBACK = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]  # the system chooses the ports


@contextlib.contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """The address of a fresh standalone master."""
    with contextlib.ExitStack() as running:
        master = running.enter_context(_daemon(folder / "master", ["master.Master", *ON_LOOPBACK]))
        address = _await(master, r"Starting Spark master at (spark://\S+)")
        _await(master, "(New state: ALIVE)")
        words = ["worker.Worker", *ON_LOOPBACK, "--cores", "1", "--memory", "600m", address]
        homes = [folder / f"worker{i}" for i in range(workers)]
        logs = [running.enter_context(_daemon(home, [*words, "--work-dir", str(home)])) for home in homes]
        for log in logs:
            _await(log, "(Successfully registered with master)")
        yield address


@contextlib.contextmanager
def _daemon(home: Path, words: list[str]) -> Iterator[Path]:
    import pyspark

    home.mkdir()
    spark = Path(pyspark.__file__).parent
    command = [str(spark / "bin" / "spark-class"), f"org.apache.spark.deploy.{words[0]}", *words[1:]]
    settings = {
        "SPARK_HOME": str(spark),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        "PYSPARK_PYTHON": sys.executable,
    }
    with (home / "log").open("wb") as log:
        # spark-class replaces itself by Java, so the pid is that of the daemon.
        daemon = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | settings, cwd=home)
    try:
        yield home / "log"
    finally:
        daemon.terminate()  # a worker ends its executors
        try:
            daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _await(log: Path, pattern: str) -> str:
    end = time.monotonic() + PATIENCE
    while (found := re.search(pattern, log.read_text(errors="replace"))) is None:
        if time.monotonic() > end:
            raise TimeoutError(
                f"{log.parent.name} did not start: {log.read_text(errors='replace-one')[-500:]}"
            )
        time.sleep(0.1)
    return found[1]
