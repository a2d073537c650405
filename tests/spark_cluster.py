"""A private Spark cluster for the tests: a master and two workers on loopback, each stopped by its own pid."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from spark_session import PATIENCE, SHORT_LIVED

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
