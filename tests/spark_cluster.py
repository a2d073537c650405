"""A private Spark cluster for the tests: a master and two workers on loopback, each stopped by its own pid."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 60.0


@contextlib.contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """The address of a fresh standalone master."""
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    master = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(_free_port())]
    with contextlib.ExitStack() as running:
        log = running.enter_context(_daemon(folder / "master", master))
        _await(log, "New state: ALIVE")
        for i in range(workers):
            options = [
                "--host",
                "127.0.0.1",
                "--cores",
                "1",
                "--memory",
                "600m",
                "--webui-port",
                str(_free_port()),
            ]
            home = folder / f"worker{i}"
            log = running.enter_context(
                _daemon(home, ["worker.Worker", *options, "--work-dir", str(home), address])
            )
            _await(log, "Successfully registered with master")
        yield address


@contextlib.contextmanager
def _daemon(home: Path, words: list[str]) -> Iterator[Path]:
    import pyspark

    home.mkdir()
    spark = Path(pyspark.__file__).parent
    command = [str(spark / "bin" / "spark-class"), f"org.apache.spark.deploy.{words[0]}", *words[1:]]
    settings = {"SPARK_HOME": str(spark), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with (home / "log").open("wb") as log:
        # spark-class replaces itself by Java, so the pid is that of the daemon.
        daemon = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | settings, cwd=home)
    try:
        yield home / "log"
    finally:
        daemon.terminate()
        daemon.wait(PATIENCE)


def _await(log: Path, words: str) -> None:
    end = time.monotonic() + PATIENCE
    while words not in log.read_text(errors="replace"):
        if time.monotonic() > end:
            raise TimeoutError(f"{log.parent.name} did not start")
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
