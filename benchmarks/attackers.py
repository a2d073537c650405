"""A server under attack: how long another analyst waits for fresh answers, and how much memory it takes.

One server of one process.  Two attackers, at nice 19, repeat one attack each for some seconds: a stranger
without a token, and an analyst.  Another analyst asks one query after the other over HTTP, first with
nobody else there.  Rates are lifted, so that all attacks meet the server and not its rate.

The goals: the 99th percentile of a query is at most 4 times as long as without an attack, and the server
never takes 3 times the memory that it had after the first answers.  Only 127.0.0.1 is attacked, and all ends.

    python benchmarks/attackers.py              # all of them, as JSON and as a table
    python benchmarks/attackers.py H1 M5        # some
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import psycopg

from adyton.service.identity import Identity
from adyton.operations.roles import Role
from adyton.service.tokens import Tokens
from service import FREE_OF_LIMITS, Client, _helpers

SECONDS = 20.0  # of each attack
IDLE_SECONDS = 15.0
PATIENCE = 10.0  # seconds for one step of an attacker
NICE = 19
LONGEST, LARGEST = 4.0, 3.0  # goals
SCALE = 2_000
RECEIPTS = 200  # that are there before
FILES = 256  # that the attacked process may open, in M5
WIDE = (
    '[columns.a]\nkind = "integer"\nlow = 0\nhigh = 999\n[columns.b]\nkind = "integer"\nlow = 0\nhigh = 999\n'
)
GROUPS = "SELECT a, b, COUNT(*) AS n FROM people WHERE b < {} GROUP BY a, b"
CATALOG = " /* pg_catalog */"  # so that a statement is not read as a query of the study
FEW_FILES = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))
from adyton.transports.cli.entry import main
sys.argv = ["adyton", *sys.argv[1:]]
main()
"""


@dataclass(frozen=True)
class Target:
    """Where the server is, and the token of the attacker; empty for a stranger."""

    url: str
    port: int  # of PostgreSQL's protocol
    token: str
    holdout: str = ""  # the token of the attacker for that

    def sent(self, path: str, content: bytes, kind: str = "application/json", **headers: str) -> int:
        """The status of one request; 0 if there was no answer in time."""
        address = urlsplit(self.url)
        client = http.client.HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)
        known = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        with contextlib.closing(client), suppress(OSError, http.client.HTTPException):
            with suppress(BrokenPipeError, ConnectionResetError):
                client.request("POST", path, content, {"Content-Type": kind, **known, **headers})
            answer = client.getresponse()
            answer.read()
            return answer.status
        return 0

    def asked(self, path: str, body: object) -> int:
        return self.sent(path, json.dumps(body).encode(), Accept="application/json")

    def sockets(self, number: int, content: bytes) -> None:
        """Connections that send the beginning of a request, and wait."""
        address = urlsplit(self.url)
        with ExitStack() as stack:
            for _ in range(number):
                with suppress(OSError):
                    one = socket.create_connection((address.hostname, address.port), timeout=PATIENCE)
                    stack.enter_context(one).sendall(content)
            time.sleep(1)

    def said(self, *texts: str) -> None:
        """Statements over PostgreSQL's protocol, in one connection."""
        where = (
            f"host=127.0.0.1 port={self.port} dbname=people user=eve password={self.token} connect_timeout=10"
        )
        with suppress(psycopg.Error), psycopg.connect(where, autocommit=True) as connection:
            for text in texts:
                with suppress(psycopg.DatabaseError):
                    connection.pgconn.exec_(text.encode())


def slow_form(at: Target) -> None:
    """A field in a charset that takes quadratic time."""
    part = '--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n'
    content = f"{part}{'a' * 400_000}\r\n--x--\r\n".encode()
    at.sent("/login", content, "multipart/form-data; boundary=x; charset=punycode")


def slow_cookie(at: Target) -> None:
    """A quoted cookie, which the standard library reads in quadratic time."""
    at.sent("/login", b"", Cookie='a="' + "\\" * 60_000 + '"')


def large_tool_call(at: Target) -> None:
    arguments = {"study": "people", "query": GROUPS.format(200), "epsilon": 0.001}
    params = {"name": "preview", "arguments": arguments}
    at.asked("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def lists_for_nobody(at: Target) -> None:
    at.sent("/v1/holdouts/nosuch/score", b'{"predictions": [' + b"[]," * 16_000_000 + b"[]]}")


def unfinished_uploads(at: Target) -> None:
    head = (
        "POST /v1/holdouts/test/score HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {at.holdout}\r\nContent-Length: 50000000\r\n\r\n"
    )
    at.sockets(20, head.encode() + b"[" + b"1," * 20_000_000)


def cursors(at: Target) -> None:
    rows = f"SELECT '{'a' * 9000}' || oid FROM pg_catalog.pg_type"
    pairs = ((f"DECLARE c{i} CURSOR FOR {rows}", f"FETCH 1 FROM c{i}") for i in range(100))
    at.said("BEGIN", *(text for pair in pairs for text in pair))


def empty_statements(at: Target) -> None:
    at.said(";" * 990_000, "SET a=1;" * 20_000)


def long_catalog_statements(at: Target) -> None:
    names = ", ".join(f"adyton.receipts r{i}" for i in range(10))
    texts = " OR ".join(f"replace('a', 'a', '{'b' * 500}') = '{i}'" for i in range(200))
    at.said(
        f"SELECT {','.join('1' * 4000)}{CATALOG}",
        f"SELECT count(*) FROM {names}",
        f"SELECT count(*) FROM generate_series(1, 5000) g WHERE {texts}{CATALOG}",
    )


def one_letter(at: Target) -> None:
    at.sockets(316, b"G")


def large_previews(at: Target) -> None:
    for accept in ("application/json", "text/csv", "application/vnd.apache.arrow.stream"):
        body = json.dumps({"query": GROUPS.format(900), "epsilon": 0.001}).encode()
        at.sent("/v1/studies/people/preview", body, Accept=accept)


def many_values(at: Target) -> None:
    at.said(
        "SELECT DISTINCT a FROM people", "SELECT DISTINCT a, b FROM people", "EXPLAIN " + GROUPS.format(900)
    )


@dataclass(frozen=True)
class Attack:
    """What the two attackers do, and whether the server may open few files."""

    stranger: Callable[[Target], None] | None = None
    analyst: Callable[[Target], None] | None = None
    few_files: bool = False


ATTACKS = {
    "H1, a form": Attack(stranger=slow_form),
    "H1, a cookie": Attack(stranger=slow_cookie),
    "H2, an agent's preview": Attack(analyst=large_tool_call),
    "M1, lists for nobody": Attack(lists_for_nobody, lists_for_nobody),
    "M1, unfinished uploads": Attack(unfinished_uploads, unfinished_uploads),
    "M2, cursors": Attack(analyst=cursors),
    "M3, empty statements": Attack(analyst=empty_statements),
    "M4, long statements": Attack(analyst=long_catalog_statements),
    "M5, one letter": Attack(one_letter, one_letter, few_files=True),
    "M6, large previews": Attack(analyst=large_previews),
    "M6, many values": Attack(analyst=many_values),
}


# The attackers are processes of their own ------------------------------------------------------------------


def attack(name: str, who: str, at: Target, seconds: float) -> None:
    """One attacker: repeats its step until the time is over, and says how often."""
    os.nice(NICE)
    step, times, end = getattr(ATTACKS[name], who), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError):
            step(at)
        times += 1
    print(times)


@contextmanager
def attacked(name: str, targets: dict[str, Target], seconds: float) -> Iterator[dict[str, int]]:
    """While this lasts; afterwards how often each attacker did its step."""
    started, times = dict[str, subprocess.Popen[str]](), dict[str, int]()
    for who, target in targets.items():
        if getattr(ATTACKS[name], who) is not None:
            told = json.dumps(asdict(target))
            command = [sys.executable, __file__, "--attack", name, who, told, str(seconds)]
            started[who] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield times
    finally:
        for who, process in started.items():
            try:
                out, _ = process.communicate(timeout=2 * PATIENCE)
                times[who] = int(out or 0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


# The server, and the analyst who wants to work -------------------------------------------------------------


@dataclass
class Served:
    """A server of one process, and an analyst who asks."""

    process: int
    client: Client
    targets: dict[str, Target]
    number: int = 1_000

    def ask(self) -> float:
        """Seconds until a fresh answer; a connection that the server closed is made anew, as clients do."""
        self.number += 1
        began = time.perf_counter()
        for _ in range(20):
            with suppress(OSError, RuntimeError):
                self.client.ask(self.number)
                break
            self.client._came = b""
            with suppress(OSError):
                self.client.connect()
        return time.perf_counter() - began

    def asked_for(self, seconds: float) -> list[float]:
        self.client.connect()
        self.client.socket.settimeout(60)
        taken, end = list[float](), time.monotonic() + seconds
        while time.monotonic() < end:
            taken.append(self.ask())
        return taken

    def memory(self, what: str) -> int:
        """In bytes."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return int(status.partition(f"{what}:")[2].split()[0]) * 1024


def _written(folder: Path) -> tuple[Path, Path]:
    study = _helpers().write_study(folder, more=WIDE)
    people = pd.read_parquet(folder / "people.parquet")
    people["a"] = people["b"] = np.arange(len(people))
    people.to_parquet(folder / "people.parquet")
    return study, _helpers().write_holdout(folder)


def _token(file: Path, name: str) -> str:
    tokens = Tokens(file)
    made, _ = tokens.make(Identity(name, Role.ANALYST))
    tokens.close()
    return made


@contextmanager
def serving(*, few_files: bool) -> Iterator[Served]:
    helpers = _helpers()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study, holdout = _written(folder)
        (folder / "server.toml").write_text(f"[server]\n{FREE_OF_LIMITS}", encoding="utf-8")
        port, ana, eve = helpers.free_port(), _token(study, "ana"), _token(study, "eve")
        scorer = _token(holdout, "eve")
        options = ("--settings", str(folder / "server.toml"), "--pg-port", str(port), "--mcp")
        program = ["-c", FEW_FILES] if few_files else None
        with helpers.server([study, holdout], *options, program=program) as running:
            targets = {
                "stranger": Target(running.url, port, ""),
                "analyst": Target(running.url, port, eve, scorer),
            }
            made = Served(running.process.pid, Client(running.url, ana), targets)
            made.client.connect()
            for _ in range(RECEIPTS):
                made.ask()
            yield made
            made.client.close()


@dataclass(frozen=True)
class Found:
    """Times in seconds, memory in bytes."""

    attack: str
    queries: int
    steps: dict[str, int]
    idle: tuple[float, float]  # 50th and 99th percentile
    attacked: tuple[float, float]
    before: int
    peak: int

    @property
    def longer(self) -> float:
        return self.attacked[1] / self.idle[1]

    @property
    def larger(self) -> float:
        return self.peak / self.before


def measured(name: str) -> Found:
    with serving(few_files=ATTACKS[name].few_files) as here:
        before = here.memory("VmRSS")
        idle = here.asked_for(IDLE_SECONDS)
        with attacked(name, here.targets, SECONDS) as steps:
            taken = here.asked_for(SECONDS)
        return Found(
            name, len(taken), steps, _percentiles(idle), _percentiles(taken), before, here.memory("VmHWM")
        )


def _percentiles(taken: list[float]) -> tuple[float, float]:
    middle, late = np.percentile(taken, [50, 99]).tolist()
    return middle, late


def run(wanted: Sequence[str] = ()) -> list[dict[str, object]]:
    rows = list[dict[str, object]]()
    for name in ATTACKS:
        if not wanted or any(name.startswith(one) for one in wanted):
            found = measured(name)
            _show(found)
            rows += _rows(found)
    return rows


def _show(found: Found) -> None:
    idle, late = (" / ".join(f"{1000 * one:6.0f}" for one in pair) for pair in (found.idle, found.attacked))
    kept = "yes" if found.longer <= LONGEST and found.larger < LARGEST else "NO"
    print(
        f"{found.attack:24s} idle {idle} ms, attacked {late} ms: {found.longer:5.1f} x; memory "
        f"{found.before / 2**20:4.0f} to {found.peak / 2**20:5.0f} MB: {found.larger:4.1f} x; "
        f"{found.queries:4d} queries, steps {found.steps}; within the goals: {kept}",
        file=sys.stderr,
        flush=True,
    )


def _rows(found: Found) -> list[dict[str, object]]:
    def row(what: str, ours: float, reference: float, unit: str, against: str) -> dict[str, object]:
        name, ratio = f"attacked by {found.attack}: {what}", ours / reference
        return {
            "name": name,
            "ours": ours,
            "reference": reference,
            "ratio": ratio,
            "unit": unit,
            "against": against,
        }

    return [
        row("50th percentile", found.attacked[0], found.idle[0], "s", "nobody attacks"),
        row("99th percentile", found.attacked[1], found.idle[1], "s", f"nobody attacks (goal: {LONGEST:g})"),
        row(
            "memory",
            found.peak / 2**20,
            found.before / 2**20,
            "MB",
            f"after the first answers (goal: {LARGEST:g})",
        ),
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        _, _, name, who, told, seconds = sys.argv
        attack(name, who, Target(**json.loads(told)), float(seconds))
    else:
        print(json.dumps(run(sys.argv[1:]), indent=1))
