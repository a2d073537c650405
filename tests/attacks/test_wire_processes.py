"""Several processes behind one port: what all of them charge is one exact total, and a request to cancel finds its
query in whichever process it comes to.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg
import pytest

import adyton
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from adyton.transports.pg.talking.cancelling import Cancels
from support.children.held_engine import PLACES, wait_until
from support.servers import Server, bearer, free_port, server, write_study
from support.wire import HOST

COUNTED = "SELECT COUNT(*) AS n FROM people WHERE income > {}"
FAST = "[server]\ntick = 0\nrate_by_token = 1000000\nrate_by_address = 1000000\nplaces = 64\nplaces_by_token = 64\n"
HELD = str(Path(__file__).parents[1] / "support" / "children" / "held_engine.py")


@dataclass
class Two:
    """A server of two processes, for two studies; ``names`` are tokens of the first, ``token`` of the second."""

    running: Server
    folder: Path
    port: int
    names: list[str]
    token: str


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    folder, port = tmp_path_factory.mktemp("two"), free_port()
    files = [write_study(folder), write_study(folder, "waiting")]
    (folder / "server.toml").write_text(FAST)
    tokens, others = map(Tokens, files)
    names = [tokens.make(Identity(f"name {i}", Role.ANALYST))[0] for i in range(10)]
    token, _ = others.make(Identity("ana", Role.ANALYST))
    options = ("--settings", str(folder / "server.toml"), "--processes", "2", "--pg-port", str(port))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELD_ENGINE", str(folder))
        with server(files, *options, program=[HELD]) as running:
            yield Two(running, folder, port, names, token)


def receipts(study: Path) -> int:
    with adyton.open(study) as curator:
        return curator.verify().receipts


def both_processes(two: Two) -> list[int]:
    where = {"host": HOST, "port": two.port, "user": "x", "password": two.token, "dbname": "waiting"}
    found: set[int] = set()
    for _ in range(200):
        with psycopg.connect(**where) as connection:
            found.add(connection.info.backend_pid)
        if len(found) == 2:
            return list(found)
    raise AssertionError("all connections came to one process")


def test_a_hundred_clients_of_both_doors_spend_exactly_the_limit(two: Two) -> None:
    """Two processes behind one port, one exact total.

    Mutants: a charge that does not lock; a door with a ledger of its own.
    """
    study, names, port = two.folder / "people.toml", two.names, two.port
    with adyton.open(study) as curator:
        one = curator.preview(COUNTED.format(0), epsilon=2).cost.units
        fitting = curator.study.allowed // one
    assert 5 < fitting < 60
    barrier = threading.Barrier(100, timeout=120)

    def client(number: int) -> str:
        token, text = names[number % 10], COUNTED.format(100 + number)
        barrier.wait()
        while True:
            said = over_wire(token, text) if number % 2 else over_http(token, text)
            if said != "busy":
                return said
            time.sleep(0.1)

    def over_http(token: str, text: str) -> str:
        body = {"query": text, "epsilon": 2}
        place = f"{two.running.url}/v1/studies/people/ask"
        answer = httpx2.post(place, headers=bearer(token), json=body, timeout=120)
        return {200: "answered", 409: "refused", 503: "busy"}[answer.status_code]

    def over_wire(token: str, text: str) -> str:
        where = {"host": HOST, "port": port, "user": "x", "password": token, "dbname": "people"}
        price = {"options": "-c adyton.epsilon=2", "connect_timeout": 100}
        try:
            with psycopg.connect(**where, **price, autocommit=True) as connection:
                assert len(connection.execute(text).fetchall()) == 1
                return "answered"
        except psycopg.Error as error:
            return {"53400": "refused", "53000": "busy"}[str(error.sqlstate)]

    with ThreadPoolExecutor(100) as pool:
        seen = Counter(pool.map(client, range(100)))
    assert seen == {"answered": fitting, "refused": 100 - fitting}
    assert len(both_processes(two)) == 2
    assert receipts(study) == fitting
    log = two.running.log.read_text(encoding="utf-8")
    lines = [line for line in log.splitlines() if '"PG"' in line]
    assert len(lines) >= 50
    assert not re.search(r"income|COUNT|" + "|".join(names), "\n".join(lines))


OTHER_PROCESS = """
import asyncio, sys
from adyton.transports.pg.talking.cancelling import Cancels

async def wait():
    cancels, cancelled = Cancels(sys.argv[1]), asyncio.Event()
    await cancels.open()
    print(cancels.fresh_key(cancelled).hex(), flush=True)
    await asyncio.wait_for(cancelled.wait(), 60)
    print("cancelled", flush=True)

asyncio.run(wait())
"""


def test_a_cancel_that_comes_to_another_process_is_passed_on(tmp_path: Path) -> None:
    """Mutant: it is not."""

    async def cancel(key: bytes) -> None:
        cancels = Cancels(str(tmp_path))
        await cancels.open()
        cancels.cancel(key[:4] + b"\0\0\0\0")  # a wrong secret, a process that is not there, no key at all
        cancels.cancel(struct.pack("!iI", 2**31 - 1, 1))
        cancels.cancel(b"")
        cancels.cancel(key)
        await asyncio.sleep(0)
        cancels.close()

    command = [sys.executable, "-c", OTHER_PROCESS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        key = bytes.fromhex(other.stdout.readline().strip())
        assert struct.unpack("!iI", key)[0] == other.pid
        asyncio.run(cancel(key))
        assert other.stdout.readline() == "cancelled\n"


# Cancel ----------------------------------------------------------------------------------------------------


def process_of(connected: socket.socket, processes: set[int]) -> int:
    """Which of the processes has taken this connection, as the system knows it."""
    mine, port = connected.getsockname()[1], connected.getpeername()[1]
    ends = (f"0100007F:{port:04X}", f"0100007F:{mine:04X}")
    found: list[int] = []

    def taken() -> bool:
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
        places = [line[9] for line in lines if tuple(line[1:3]) == ends]
        for process in processes if places else ():
            for file in Path(f"/proc/{process}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(file.readlink()) == f"socket:[{places[0]}]":
                        found.append(process)
        return bool(found)

    wait_until(taken)
    return found[0]


def connection_to(process: int, port: int, processes: set[int]) -> socket.socket:
    """The system chooses who takes a connection, so others are made until it is this one: 200 times the other one is
    chosen with probability 2**-200.
    """
    for _ in range(200):
        made = socket.create_connection((HOST, port), timeout=60)
        if process_of(made, processes) == process:
            return made
        made.close()
    raise AssertionError("all connections came to one process")


@contextlib.contextmanager
def between(port: int, processes: list[int]) -> Iterator[int]:
    """A port whose connections go to these processes in turn, byte by byte as they came."""
    listening = socket.create_server((HOST, 0))
    pumps: list[threading.Thread] = []

    def pump(source: socket.socket, drain: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while content := source.recv(65536):
                drain.sendall(content)
            drain.shutdown(socket.SHUT_WR)

    def take() -> None:
        with contextlib.ExitStack() as ends:
            for process in processes:
                near = ends.enter_context(listening.accept()[0])
                far = ends.enter_context(connection_to(process, port, set(processes)))
                for pair in ((near, far), (far, near)):
                    pumps.append(threading.Thread(target=pump, args=pair))
                    pumps[-1].start()
            for one in pumps:
                one.join(60)

    taking = threading.Thread(target=take)
    taking.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        taking.join(60)
        listening.close()


@pytest.mark.skipif(
    not Path("/proc/net/tcp").exists(), reason="who takes a connection is known on Linux alone"
)
@pytest.mark.parametrize("place", PLACES)
def test_a_query_is_cancelled_by_a_request_to_another_process(two: Two, place: str) -> None:
    """Mutants: a request is passed on to nobody; what is cancelled before its charge is charged."""
    study, text = two.folder / "waiting.toml", COUNTED.format(len(place) + ord(place[2]))
    before, closed = receipts(study), two.folder / place
    for file in ("held", "done"):
        (two.folder / file).unlink(missing_ok=True)
    with between(two.port, both_processes(two)) as port, psycopg.connect(
        host=HOST, port=port, user="x", password=two.token, dbname="waiting", autocommit=True,
        options="-c adyton.within=60",
    ) as connection:  # fmt: skip
        closed.touch()
        try:
            asking = ThreadPoolExecutor(1).submit(connection.execute, text)
            wait_until((two.folder / "held").exists)
            connection.cancel_safe()  # the second connection, to the other process
            assert isinstance(asking.exception(60), psycopg.errors.QueryCanceled)
            assert connection.execute("SELECT 1").fetchone() == (1,)
        finally:
            closed.unlink()
        wait_until((two.folder / "done").exists)
        assert receipts(study) == before + place.startswith("behind")
        assert len(connection.execute(text).fetchall()) == 1
    assert receipts(study) == before + 1
