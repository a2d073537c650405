"""Processes and event loops of their own, for tests."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

# Processes of their own for the tests.
#
# Each is forked by a server that has loaded what nearly all of them need, and has done nothing else: it has opened no
# study, has no threads and was itself started anew.  So they share nothing but code with the test or with each other,
# and do not load the same modules for a second each.

APART = multiprocessing.get_context("forkserver")
APART.set_forkserver_preload(
    [
        "adyton.curator.opening",
        "adyton.engines.duckdb",
        "adyton.ledgers.shared_budget",
        "adyton.query.sql.read",
        "adyton.transports.cli.app",
        "adyton.transports.http.app",
        "adyton.transports.http.serving",
        "adyton.transports.mcp",
        "anyio._backends._asyncio",
        "duckdb",
        "hypothesis",
        "mcp",
        "pandas",
        "psycopg",
        "pytest",
        "scipy.special",
        "sqlglot.optimizer",
        "uvicorn",
        "uvicorn.protocols.http.httptools_impl",
    ]
)


def _as_command(words: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
    """In the new process: what ``adyton`` followed by ``words`` does, with its own group, output and arguments."""
    from adyton.transports.cli.entry import main

    os.setsid()
    os.environ.update(environment)
    written = os.open(log, os.O_WRONLY | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(written, standard)
    os.close(written)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", buffering=1)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
    sys.argv = ["adyton", *words]
    main()


class Command:
    """``adyton`` in a process of its own, with as much of ``subprocess.Popen`` as tests of servers use."""

    def __init__(self, words: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        log.write_bytes(b"")  # there, whatever becomes of the process
        self._process = APART.Process(target=_as_command, args=(list(words), log, dict(environment or {})))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("adyton", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


# Event loops for tests.

Result = TypeVar("Result")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """``asyncio.run`` in a thread of its own: the main one has a running loop while a browser is open."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
