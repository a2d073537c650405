"""Queries over HTTP, from 8 clients of a real server, beside the same to a curator from 8 threads.

Each side has a study of its own with the same rows, and a ledger in a file on the disk.  They take turns, so
that a noisy moment of the machine meets all.  Clients are bare sockets in one thread: the server is what is
measured, on a machine that both share.

A curator makes the numbers of an answer when somebody looks at them, and a server always looks: so there is a
side in process that asks, and one that also writes each answer as JSON.  A server of two processes is there
to show what the second core of a machine brings, which one interpreter cannot use.
"""

from __future__ import annotations

import itertools
import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd

import adyton
from adyton.certify import json_text
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from engines import row

TESTS = Path(__file__).parent.parent / "tests"
CLIENTS = 8
ROUNDS = 15
QUERIES = 10  # of each client in a round
AGAIN = 5  # times: what is asked once more is asked by many, as by those who look at the same page
TICK = 0.05  # seconds
SCALE = 2_000  # of the noise: thousands of queries must fit
FREE_OF_LIMITS = "rate_by_token = 1000000\nrate_by_address = 1000000\n"
TEXT = "SELECT COUNT(*) AS n FROM people WHERE income > {}"


class Client:
    """One connection that stays open while it is its side's turn: servers close those that nobody uses."""

    def __init__(self, url: str, token: str) -> None:
        address = urlsplit(url)
        self._place, self.socket = (address.hostname, address.port), socket.socket()
        self._head = (
            f"POST /v1/studies/people/ask HTTP/1.1\r\nHost: {address.netloc}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: "
        )
        self._came = b""

    def connect(self) -> None:
        self.socket.close()
        self.socket = socket.create_connection(self._place)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, number: int) -> None:
        body = json.dumps({"query": TEXT.format(number), "scale": SCALE})
        self.socket.sendall(f"{self._head}{len(body)}\r\n\r\n{body}".encode())

    def has_answer(self) -> bool:
        """Whether all of it has come; waits for the next part."""
        part = self.socket.recv(65536)
        if not part:
            raise RuntimeError("the server closed the connection")
        self._came += part
        head, found, body = self._came.partition(b"\r\n\r\n")
        if not found:
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self._came.decode()[:1000])
        if len(body) < int(head.lower().partition(b"content-length:")[2].split()[0]):
            return False
        self._came = b""
        return True

    def ask(self, number: int) -> None:
        self.send(number)
        while not self.has_answer():
            pass

    def close(self) -> None:
        self.socket.close()


def ask_all(clients: list[Client], first: int) -> None:
    """All at once, each one query after the other; in one thread, which leaves more to the server."""
    with selectors.DefaultSelector() as waiting:
        for place, client in enumerate(clients):
            numbers = iter(_numbers(place, first))
            waiting.register(client.socket, selectors.EVENT_READ, (client, numbers))
            client.send(next(numbers))
        while waiting.get_map():
            for key, _ in waiting.select():
                client, numbers = key.data
                if not client.has_answer():
                    continue
                following = next(numbers, None)
                if following is None:
                    waiting.unregister(client.socket)
                else:
                    client.send(following)


def _numbers(client: int, first: int) -> list[int]:
    """What a client asks about in a round: no two ask the same."""
    return [number * CLIENTS + client for number in range(first, first + QUERIES)]


@dataclass
class Side:
    """Somewhere to ask a whole round, and the processor time that was used there so far."""

    ask: Callable[[int], None]
    used: Callable[[], float]
    ready: Callable[[], None] = lambda: None  # called before its turn


def run() -> list[dict[str, object]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sides = {
            "here": stack.enter_context(_curator(_study(folder / "here"))),
            "here, read": stack.enter_context(_curator(_study(folder / "read"), read=True)),
            "served": stack.enter_context(_served(_study(folder / "served"), tick=0)),
            "by two": stack.enter_context(_served(_study(folder / "two"), tick=0, processes=2)),
            "on the grid": stack.enter_context(_served(_study(folder / "grid"), tick=TICK)),
        }
        rows = _rates(sides)
    return [*rows, _memory(), _importing()]


def _rates(sides: dict[str, Side]) -> list[dict[str, object]]:
    """Of fresh queries on each side, and of the same again."""
    wall: dict[str, list[float]] = {}
    used: dict[str, list[float]] = {}
    numbers = itertools.count(1000, QUERIES)
    for turn in range(ROUNDS + 1):
        first = next(numbers)
        for name, side in sides.items():
            side.ready()
            for what in (name, f"{name}, first", *[f"{name}, again"] * AGAIN):
                seconds, processor = _seconds(side, first)
                if turn:  # before that, what a first query needs is imported
                    wall.setdefault(what, []).append(seconds)
                    used.setdefault(what, []).append(processor)
    asked = CLIENTS * QUERIES
    rate = {what: asked / statistics.median(taken) for what, taken in wall.items()}
    cpu = {what: asked / statistics.mean(taken) for what, taken in used.items()}  # its clock is coarse
    fresh, alone = f"fresh asks over HTTP, {CLIENTS} clients", f"Curator.ask from {CLIENTS} threads"
    read, again = f"{alone}, answers read", f"repeats over HTTP, {CLIENTS} clients"
    once = f"first repeats over HTTP, {CLIENTS} clients"
    return [
        row(fresh, rate["served"], rate["here"], "1/s", alone),
        row(fresh, rate["served"], rate["here, read"], "1/s", read),
        row(f"{fresh}, 2 processes", rate["by two"], rate["here"], "1/s", alone),
        row(f"{fresh}, by CPU time", cpu["served"], cpu["here"], "1/s", alone),
        row(f"{fresh}, by CPU time", cpu["served"], cpu["here, read"], "1/s", read),
        row(f"{fresh}, grid on", rate["on the grid"], CLIENTS / TICK, "1/s", "one a tick and client"),
        row(once, rate["served, first"], rate["served"], "1/s", "fresh asks"),
        row(f"{once}, by CPU time", cpu["served, first"], cpu["served"], "1/s", "fresh asks"),
        row(again, rate["served, again"], rate["served"], "1/s", "fresh asks"),
        row(f"{again}, by CPU time", cpu["served, again"], cpu["served"], "1/s", "fresh asks"),
    ]


def _seconds(side: Side, first: int) -> tuple[float, float]:
    start, used = time.perf_counter(), side.used()
    side.ask(first)
    return time.perf_counter() - start, side.used() - used


def _study(folder: Path) -> Path:
    folder.mkdir()
    return _helpers().write_study(folder)


def _helpers():  # type: ignore[no-untyped-def]
    """How the tests start a server, and stop it by its process id."""
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    from support import servers

    return servers


@contextmanager
def _curator(study: Path, *, read: bool = False) -> Iterator[Side]:
    with adyton.open(study) as curator, ThreadPoolExecutor(CLIENTS) as pool:

        def asking(numbers: list[int]) -> None:
            for number in numbers:
                answer = curator.ask(TEXT.format(number), scale=SCALE)
                if read:
                    json_text(answer.to_json())

        def ask(first: int) -> None:
            list(pool.map(asking, [_numbers(client, first) for client in range(CLIENTS)]))

        yield Side(ask, time.process_time)


@contextmanager
def _served(study: Path, tick: float, processes: int = 1) -> Iterator[Side]:
    with _running(study, tick, processes) as (process, clients):

        def connect() -> None:
            for client in clients:
                client.connect()

        yield Side(lambda first: ask_all(clients, first), lambda: _processor_time(process), connect)


@contextmanager
def _running(study: Path, tick: float, processes: int = 1) -> Iterator[tuple[int, list[Client]]]:
    """The process id of a server, and a client for each name."""
    settings = study.with_name("server.toml")
    settings.write_text(f"[server]\ntick = {tick}\n{FREE_OF_LIMITS}", encoding="utf-8")
    tokens = Tokens(study)
    made = [tokens.make(Identity(f"name {client}", Role.ANALYST))[0] for client in range(CLIENTS)]
    tokens.close()
    options = ("--settings", str(settings), "--processes", str(processes))
    with _helpers().server([study], *options) as running:
        clients = [Client(running.url, token) for token in made]
        try:
            yield running.process.pid, clients
        finally:
            for client in clients:
                client.close()


def _processor_time(process: int) -> float:
    """Of a process and of those that it started."""
    place = Path(f"/proc/{process}")
    fields = (place / "stat").read_text().rpartition(")")[2].split()
    started = (place / "task" / str(process) / "children").read_text().split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_processor_time(int(child)) for child in started)


# Memory and imports ----------------------------------------------------------------------------------------

MANY = 1_000_000  # rows, so that a copy of the table would show
EXTRA = ("fastapi", "jwt", "prometheus_client", "starlette", "uvicorn")
ALONE = """
import sys, adyton
with adyton.open(sys.argv[1]) as curator:
    curator.verify()
    curator.prepare()
    curator.ask(sys.argv[2], scale=float(sys.argv[3])).to_json()
    print(flush=True)
    sys.stdin.read()
"""
IMPORT = "import sys, time; {}start = time.perf_counter(); import adyton; print(time.perf_counter() - start)"


def _memory() -> dict[str, object]:
    """Resident, after the same query."""
    with tempfile.TemporaryDirectory() as folder:
        with _running(_large_study(Path(folder) / "served"), tick=0) as (process, clients):
            clients[0].connect()
            clients[0].ask(30_000)
            ours = _resident(process)
        command = [sys.executable, "-c", ALONE, str(_large_study(Path(folder) / "alone"))]
        command += [TEXT.format(30_000), str(SCALE)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as alone:
            assert alone.stdout is not None
            alone.stdout.readline()
            reference = _resident(alone.pid)
            alone.communicate()  # it waits for the end of its input
    return row(f"memory of a server, {MANY:,} rows", ours, reference, "MB", "the curator in a process")


def _large_study(folder: Path) -> Path:
    study = _study(folder)
    small = pd.read_parquet(folder / "people.parquet")
    small.sample(MANY, replace=True, random_state=1).to_parquet(folder / "people.parquet")
    study.write_text(study.read_text().replace("rows = 1000\n", f"rows = {MANY}\n"), encoding="utf-8")
    return study


def _resident(process: int) -> float:
    """In MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _importing() -> dict[str, object]:
    """With what ``adyton serve`` needs installed, and with that hidden.  Best of several, in turns."""
    hidden = f"sys.modules.update(dict.fromkeys({EXTRA!r})); "
    times: dict[str, list[float]] = {"": [], hidden: []}
    for _ in range(9):
        for before, taken in times.items():
            command = [sys.executable, "-c", IMPORT.format(before)]
            taken.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    ours, reference = (min(taken) for taken in times.values())
    return row("import adyton, with the extra", ours, reference, "s", "import adyton without it")


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
