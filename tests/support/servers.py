"""A study and a holdout that are served, for tests: in process, or by a real server on a free port."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pandas as pd
from fastapi.testclient import TestClient

import adyton
from adyton.operations.roles import Role
from adyton.service.house import House
from adyton.service.identity import Identity
from adyton.service.settings import Settings
from adyton.transports.http.app import make_app
from support.processes import Command

Process = Command | subprocess.Popen[str]

ROWS = 1000
STUDY = """
[table]
name = "people"
source = "people.parquet"
rows = 1000
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 10
delta = 1e-9
[validity]
independent = true
[columns.income]
kind = "real"
low = 0
high = 200000
[columns.region]
kind = "category"
values = ["north", "south", "east", "west"]
"""
COUNT = "SELECT COUNT(*) AS n FROM people WHERE income > 30000"
AS_MODULE = ("-m", "adyton.transports.cli.app")
QUICK = Settings(tick=0, rate_by_token=10**6, rate_by_address=10**6, places_by_token=64, places=64)


def write_study(folder: Path, name: str = "people", more: str = "", rows: int = ROWS) -> Path:
    rng = np.random.default_rng(1)
    people = {
        "income": rng.gamma(4, 9000, rows),
        "region": rng.choice(["north", "south", "east", "west"], rows),
    }
    pd.DataFrame(people).to_parquet(folder / "people.parquet")
    path = folder / f"{name}.toml"
    path.write_text(STUDY.replace("rows = 1000", f"rows = {rows}") + more, encoding="utf-8")
    return path


def write_holdout(folder: Path, name: str = "test") -> Path:
    labels = np.random.default_rng(2).integers(0, 2, 2000)
    path = folder / f"{name}.toml"
    adyton.Holdout.create(path, labels=labels, tolerance="0.1").close()
    return path


@dataclass
class Served:
    """An application in process, and a token for each role."""

    house: House
    client: TestClient
    tokens: dict[str, str] = field(default_factory=dict)

    def made(self, name: str, role: str = "analyst", study: str = "people", **words: Any) -> dict[str, str]:
        """The headers of a new token."""
        (served,) = (one for one in self.house.served if one.name == study)
        expires = words.pop("expires", "1d" if role == "agent" else None)
        if role == "agent":
            words = {"budget_share": "0.5", "price_share": "0.5", "rate": 10**6} | words
        shares = {
            what: None if words.get(what) is None else adyton.kernel.exact.rational(words[what], what)
            for what in ("budget_share", "price_share")
        }
        identity = Identity(
            name, Role(role), shares["budget_share"], shares["price_share"], words.get("rate")
        )
        return bearer(served.tokens.make(identity, expires)[0])

    def ask(
        self, headers: dict[str, str], query: str = COUNT, study: str = "people", **words: Any
    ) -> httpx2.Response:
        return self.client.post(f"/v1/studies/{study}/ask", headers=headers, json={"query": query, **words})


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@contextlib.contextmanager
def served(paths: Sequence[Path], settings: Settings = QUICK) -> Iterator[Served]:
    house = House.of_files(paths, settings)
    house.load()
    with TestClient(make_app(house), raise_server_exceptions=False) as client:
        yield Served(house, client)


@dataclass
class Server:
    """A real one."""

    url: str
    owner: dict[str, str]
    process: Process
    log: Path


@contextlib.contextmanager
def server(
    files: Sequence[Path],
    *options: str,
    patience: float = 120.0,
    stop: int = signal.SIGTERM,
    program: Sequence[str] | None = None,
) -> Iterator[Server]:
    """``adyton serve`` on a free port, stopped by its own process id.

    One that has several processes, or is another ``program``, is started as people start it.
    """
    port, log = free_port(), files[0].with_suffix(".log")
    words = ["serve", *map(str, files), "--port", str(port), *options]
    if program is None and "--processes" not in words:
        process: Process = Command(words, log)
    else:
        process = _started([sys.executable, *(program or AS_MODULE), *words], log)
    scheme = "https" if "--tls-cert" in options else "http"
    try:
        url = f"{scheme}://127.0.0.1:{port}"
        await_ready(url, process, log, patience)
        kept = files[0].with_suffix(".owner")
        yield Server(url, bearer(kept.read_text().strip()) if kept.exists() else {}, process, log)
    finally:
        if process.poll() is None:
            process.send_signal(stop)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)


def _started(command: Sequence[str], log: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with log.open("w", encoding="utf-8") as written:
        return subprocess.Popen(
            command, stdout=written, stderr=written, text=True, env=environment, start_new_session=True
        )


def await_ready(url: str, process: Process, log: Path, patience: float) -> None:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if process.poll() is not None:
            raise AssertionError(f"the server stopped: {log.read_text(encoding='utf-8')[-2000:]}")
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(f"{url}/readyz", verify=False, timeout=5).status_code == 200:
                return
        time.sleep(0.02)
    raise AssertionError(f"the server did not answer: {log.read_text(encoding='utf-8')[-2000:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
