"""One cheap request over HTTP, by a stranger or an analyst: it ends with a sentence, and others are answered meanwhile.

The server is a process of its own.  A request that is sent after a bomb is answered before the bomb, or the bomb is refused
at once: so nothing that a bomb costs is done by the thread that answers others.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.limits import LIMITS
from adyton.service.tokens import Tokens
from adyton.transports.http import desk
from adyton.transports.http.crowd import Crowd, Faults
from support.doors import open_house
from support.servers import COUNT, Server, bearer, server, write_holdout, write_study

PATIENCE = 60  # seconds
WIDE = """
[columns.a]
kind = "integer"
low = 0
high = 999
[columns.b]
kind = "integer"
low = 0
high = 999
"""
SETTINGS = "[server]\ntick = 0\nrate_by_token = 1000000\nrate_by_address = 1000000\nrequest_seconds = 30\n"
GROUPS = "SELECT a, b, COUNT(*) AS n FROM people WHERE b < {} GROUP BY a, b"
SCORE = "/v1/holdouts/{}/score"
LISTS = b'{"predictions": [' + b"[]," * 5_000_000 + b"[]]}"


@dataclass(frozen=True)
class House:
    running: Server
    token: dict[str, str]
    scores: dict[str, str]
    spent: Any

    @property
    def place(self) -> tuple[str, int]:
        address = urlsplit(self.running.url)
        return str(address.hostname), int(address.port or 0)

    def post(self, path: str, content: bytes, **headers: str) -> httpx2.Response:
        url = f"{self.running.url}{path}"
        return httpx2.post(url, content=content, headers=headers, timeout=PATIENCE)

    def json(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        sent = {"Content-Type": "application/json", **self.token, **headers}
        return self.post(path, json.dumps(body).encode(), **sent)

    def memory(self, name: str) -> int:
        """In bytes."""
        status = Path(f"/proc/{self.running.process.pid}/status").read_text()
        return int(status.partition(f"{name}:")[2].split()[0]) * 1024


def write_wide(folder: Path) -> Path:
    study = write_study(folder, more=WIDE)
    people = pd.read_parquet(folder / "people.parquet")
    people["a"] = people["b"] = np.arange(len(people))
    people.to_parquet(folder / "people.parquet")
    return study


def made(file: Path, name: str) -> dict[str, str]:
    tokens = Tokens(file)
    token, _ = tokens.make(Identity(name, Role.ANALYST))
    tokens.close()
    return bearer(token)


@contextlib.contextmanager
def started(folder: Path, *options: str) -> Iterator[House]:
    study, holdout = write_wide(folder), write_holdout(folder)
    settings = folder / "server.toml"
    settings.write_text(SETTINGS)
    ana, scorer = made(study, "ana"), made(holdout, "sam")
    with server([study, holdout], "--settings", str(settings), "--mcp", *options) as running:

        def spent() -> str:
            told = httpx2.get(f"{running.url}/v1/studies/people/budget", headers=ana, timeout=PATIENCE)
            return str(told.json()["spent"])

        yield House(running, ana, scorer, spent)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with started(tmp_path_factory.mktemp("bombs")) as made:
        assert made.json(
            "/v1/studies/people/preview", {"query": "SELECT COUNT(*) FROM people", "epsilon": 1}
        ).is_success
        yield made


@contextlib.contextmanager
def sent(
    house: House, path: str, content: bytes, headers: dict[str, str]
) -> Iterator[http.client.HTTPConnection]:
    """A request that was sent, whose answer nobody has read yet."""
    connection = http.client.HTTPConnection(*house.place, timeout=PATIENCE)
    with contextlib.closing(connection), contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.request("POST", path, content, headers)
        yield connection


def seconds_of_others(house: House) -> float:
    began = time.monotonic()
    assert httpx2.get(f"{house.running.url}/healthz", timeout=PATIENCE).status_code == 200
    return time.monotonic() - began


def part(name: str, value: str, boundary: str = "x") -> str:
    return f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'


# Strangers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "charset", ["punycode", "utf-7", "idna", "rot13", "hex", "zlib", "utf-16", "nonsense", "undefined"]
)
def test_a_form_is_sent_in_utf_8(house: House, charset: str) -> None:
    """Punycode takes quadratic time.  Mutant: the charset is not looked at; then the framework decodes by it."""
    form = (part("token", "a" * 10_000) + "--x--\r\n").encode()
    for kind in (
        f"multipart/form-data; boundary=x; charset={charset}",
        f"application/x-www-form-urlencoded; charset={charset}",
    ):
        answer = house.post("/login", form, **{"Content-Type": kind})
        assert answer.status_code == 415
        assert "UTF-8" in answer.text
    assert (
        house.post(
            "/login", form, **{"Content-Type": 'multipart/form-data; boundary=x; charset="UTF-8"'}
        ).status_code
        == 403
    )


def test_the_log_in_form_is_small(house: House) -> None:
    """Mutants: what a stranger sends is read up to the largest request; its length is not counted if it is not told."""
    long = b"token=" + b"a" * LIMITS.head_bytes
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert house.post("/login", long, **kind).status_code == 413
    answer = httpx2.post(
        f"{house.running.url}/login", content=iter([long[:9000], long[9000:]]), headers=kind, timeout=PATIENCE
    )
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "broken",
    [
        b"a=" + b"&b=" * 500,
        b"\xff" * 100,
        b"%ff=%ff",
        b"--x\r\nContent-Disposition: form-data\r\n\r\nv\r\n--x--",
    ],
)
def test_a_form_that_is_none_is_refused_with_a_sentence(house: House, broken: bytes) -> None:
    for kind in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
    ):
        assert house.post("/login", broken, **{"Content-Type": kind}).status_code in (400, 403)


def test_a_cookie_is_read_at_once(house: House) -> None:
    """The standard library takes seconds for one that is quoted.  Mutant: ``request.cookies``."""
    cookie = 'a="' + "\\" * 15_000 + '"'
    plain, quoted = (
        _used(house, {"Cookie": one, "Accept": "text/html"}) for one in ("a=" + "b" * 15_000, cookie)
    )
    assert quoted < 5 * plain + 1


def _used(house: House, headers: dict[str, str]) -> float:
    before = _processor(house)
    for path in ("/login", "/", "/nothing", "/healthz", "/v1/studies") * 3:
        httpx2.get(f"{house.running.url}{path}", headers=headers, timeout=PATIENCE)
    return _processor(house) - before


def _processor(house: House) -> float:
    fields = Path(f"/proc/{house.running.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_an_address_is_short(house: House) -> None:
    """Mutant: a query is parsed, whatever its length.  A head is as long, so it is refused before."""
    answer = httpx2.get(f"{house.running.url}/login?next=" + "a" * 15_900, timeout=PATIENCE)
    assert answer.status_code == 200
    with socket.create_connection(house.place, timeout=PATIENCE) as client:
        client.sendall(b"GET /login?" + b"a&" * 9_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 400 ")


# Bodies ----------------------------------------------------------------------------------------------------


def test_a_body_is_read_once_there_is_something_to_send_it_to(house: House) -> None:
    """Mutant: it is read and parsed before it is known that there is no such holdout, or that it may not be scored."""
    before = house.memory("VmRSS")
    for headers, name, status in (
        ({}, "test", 401), (house.token, "nosuch", 404), (house.token, "test", 404), (house.scores, "nosuch", 404),
    ):  # fmt: skip
        with sent(house, SCORE.format(name), LISTS, {**headers, "Content-Type": "application/json"}) as bomb:
            assert seconds_of_others(house) < PATIENCE
            assert bomb.getresponse().status == status
    assert house.memory("VmHWM") < 2 * before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (LISTS, 413),
        (b"[" * 200_000, 413),
        (b'{"predictions": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", 413),
        (b'{"predictions": [' + b"1," * 5_000_000 + b"1]}", 413),
        (b'{"predictions": ["' + b"a" * 5_000_000 + b'"]}', 413),
        (b"{" + b",".join(b'"%d": 1' % i for i in range(50_000)) + b"}", 413),
        (b'{"predictions": ' + b"1" * 50_000 + b"}", 422),
        (b'{"predictions": [1, ' + b" " * 50_000, 422),
        (b"\xff" * 50_000, 422),
    ],
    ids=["lists", "only opened", "deep", "many", "long", "members", "digits", "cut", "no text"],
)  # fmt: skip
def test_a_large_body_is_bounded_and_parsed_by_a_thread(house: House, body: bytes, status: int) -> None:
    """Mutants: no depth, no number of values, no length of a text, no number of members."""
    before = house.memory("VmHWM")
    headers = {**house.scores, "Content-Type": "application/json"}
    with sent(house, SCORE.format("test"), body, headers) as bomb:
        seconds_of_others(house)
        answer = bomb.getresponse()
        told = json.loads(answer.read())
    assert (answer.status, "nothing was charged" in told["error"]["message"]) == (status, True)
    assert house.memory("VmHWM") <= max(before, 6 * len(body) + house.memory("VmRSS"))


def test_unfinished_uploads_hold_few_bytes(house: House) -> None:
    """Mutants: what came so far is not counted; it is not given back when the connection ends."""
    most, many = 50_000_000, 8
    head = f"POST {SCORE.format('test')} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {most}\r\n"
    head += f"Authorization: {house.scores['Authorization']}\r\n\r\n"
    before = house.memory("VmRSS")
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(house.place, timeout=PATIENCE)) for _ in range(many)
        ]
        for client in clients:
            with contextlib.suppress(ConnectionError):
                client.sendall(head.encode() + b'{"predictions": [' + b"1," * 10_000_000)  # 20 MB
        answers = [client.recv(300) for client in clients[3:]]
        assert all(answer.startswith(b"HTTP/1.1 429 ") for answer in answers)
        assert house.memory("VmRSS") < before + 3 * most
        assert house.json("/v1/studies/people/preview", {"query": COUNT, "epsilon": 1}).is_success
    body = {"predictions": [0] * 2000, "guess": None}
    end = time.monotonic() + PATIENCE
    while (again := house.json(SCORE.format("test"), body, **house.scores)).status_code == 429:
        assert time.monotonic() < end, again.text
        time.sleep(0.05)
    large = json.dumps({**body, "predictions": [0.0] * 2000, "guess": None}, indent=8).encode()
    assert len(large) > LIMITS.small_bytes
    answer = house.post(SCORE.format("test"), large, **house.scores, **{"Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text


def test_large_and_small_bodies_are_understood_alike(house: House) -> None:
    """The same refusals, whichever way they went.  Mutant: a large body is checked by the framework alone, in the loop."""
    path, blanks = "/v1/studies/people/ask", " " * LIMITS.small_bytes
    for body, said in (
        ('{"query": "SELECT", "epsilon": 1, "wrong": 1}', "wrong is not known here"),
        ('{"query": 3}', "query must be text"),
        ("[]", "the body must be an object"),
        ('{"query": "x", "epsilon": }', "not JSON"),
        ('{"query": "SELECT COUNT(*) FROM people", "epsilon": 100}', "would cost"),
    ):
        told = [
            house.post(path, sent.encode(), **house.token, **{"Content-Type": "application/json"})
            for sent in (body, body + blanks)
        ]
        assert [one.status_code for one in told] in ([422, 422], [409, 409])
        assert told[0].json()["error"]["message"] == told[1].json()["error"]["message"]
        assert said in told[0].text
    spent = house.spent()
    ok = json.dumps({"query": COUNT, "epsilon": 0.01}) + blanks
    assert (
        house.post(path, ok.encode(), **house.token, **{"Content-Type": "application/json"}).status_code
        == 200
    )
    assert house.spent() != spent


# What is free ----------------------------------------------------------------------------------------------


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def test_a_large_preview_is_a_table_or_a_sentence(house: House) -> None:
    """Mutants: JSON of any size; no Arrow and no CSV."""
    path, body = "/v1/studies/people/preview", {"query": GROUPS.format(900), "epsilon": 0.001}
    refused = house.json(path, body)
    assert refused.status_code == 422
    for said in ("900,000 values", f"{LIMITS.free_values:,}", "text/csv", "nothing was charged"):
        assert said in refused.text
    assert (
        house.json(
            "/v1/studies/people/preview_many", {"queries": [GROUPS.format(60)] * 2, "epsilon": 1}
        ).status_code
        == 422
    )
    assert house.json("/v1/studies/people/mock/ask", body).status_code == 422
    table = house.json(path, {**body, "query": GROUPS.format(3)}, Accept="text/csv")
    rows = table.text.splitlines()
    assert rows[0] == "a,b,n_noise_half_width,n_population_half_width"
    assert len(rows) == 3001
    known = house.json(path, {**body, "query": GROUPS.format(3)}).json()["answer"][0]["values"]["n"]
    assert float(rows[1].split(",")[2]) == known["noise_interval"]["half_width"]
    arrow = house.json(
        path, {**body, "query": GROUPS.format(3)}, Accept="application/vnd.apache.arrow.stream"
    )
    assert pa.ipc.open_stream(arrow.content).read_all().num_rows == 3000
    assert arrow.headers["Adyton-Cost-Share"] == table.headers["Adyton-Cost-Share"]


def test_an_agent_is_shown_few_values(house: House) -> None:
    """Mutants: previews, answers or made-up rows of any size; a query is charged before it is refused."""
    spent = house.spent()
    for tool, named in (
        ("preview", "query"),
        ("ask", "query"),
        ("try_on_mock", "query"),
        ("ask_many", "queries"),
    ):
        text = GROUPS.format(200)
        asked = call(tool, study="people", epsilon=0.001, **{named: [text] if named == "queries" else text})
        told = house.json("/mcp", asked, Accept="application/json").json()["result"]
        assert told["isError"]
        assert "200,000 values" in told["content"][0]["text"]
        assert "text/csv" in told["content"][0]["text"]
    assert house.spent() == spent
    small = call("preview", study="people", epsilon=0.001, query=GROUPS.format(1))
    assert (
        len(
            house.json("/mcp", small, Accept="application/json").json()["result"]["structuredContent"][
                "previews"
            ][0]["answer"]
        )
        == 1000
    )


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 50_000, -32700),
        (b"3", -32600),
        (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "tools/list", "params": 3}', -32600),
        (b"[{}]", -32600),
    ],
)
def test_what_is_no_message_is_told_so_in_a_sentence(house: House, body: bytes, code: int) -> None:
    """Mutant: the SDK answers, with what pydantic says and with what was typed."""
    headers = {**house.token, "Content-Type": "application/json", "Accept": "application/json"}
    answer = house.post("/mcp", body, **headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code
    assert "pydantic" not in answer.text
    assert "nothing was charged" in answer.text
    assert house.post("/mcp", b" " * LIMITS.agent_bytes + b"{}", **headers).status_code == 413


def test_a_name_is_a_name(house: House) -> None:
    """Mutant: the SDK takes whatever follows a colon for a port."""
    asked = call("list_studies")
    port = house.place[1]
    for name, status in (
        (f"http://localhost:{port}", 200), ("http://127.0.0.1", 200), ("http://localhost:1@evil", 403), ("null", 403),
        ("http://localhost:1.evil", 403), ("http://localhost.evil", 403), ("http://localhost:", 403),
    ):  # fmt: skip
        assert house.json("/mcp", asked, Origin=name, Accept="application/json").status_code == status
    for name in ("localhost:1@evil", "localhost:x", "evil"):
        assert house.json("/mcp", asked, Host=name, Accept="application/json").status_code in (403, 421)


@pytest.mark.parametrize("number", [2**31, 2**63, 2**64, 10**30, -1, 0])
def test_no_number_is_a_fault_of_ours(house: House, number: int) -> None:
    """A rate beyond what the file of tokens holds.  Mutant: it has no largest one."""
    owner = house.running.owner
    answer = house.json("/v1/tokens/people", {"name": "x", "role": "analyst", "rate": number}, **owner)
    assert answer.status_code == 422
    for method, path in (("GET", "receipts?after={}"), ("GET", "monitors/{}"), ("POST", "monitors/{}/close")):
        url = f"{house.running.url}/v1/studies/people/{path.format(number)}"
        assert httpx2.request(method, url, headers=house.token, timeout=PATIENCE).status_code < 500
    for more in (
        {"expected_rows": number},
        {"within": number},
        {"epsilon": number},
        {"share": number},
        {"scale": number},
    ):
        body = {"query": "SELECT AVG(income) FROM people", **more}
        assert house.json("/v1/studies/people/preview", body).status_code < 500
    order = {"positives": number, "epsilon": 1}
    assert house.json("/v1/studies/people/monitors/preview", order).status_code < 500


# Connections -----------------------------------------------------------------------------------------------

FEW_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from adyton.transports.cli.entry import main
sys.argv = ["adyton", *sys.argv[1:]]
main()
"""


def test_whoever_holds_all_connections_locks_nobody_out(tmp_path: Path) -> None:
    """Mutants: any number of connections; the newest makes room; faults of the loop are told with a traceback each."""
    study = write_study(tmp_path)
    token = made(study, "ana")
    with server([study], program=["-c", FEW_FILES]) as running, contextlib.ExitStack() as stack:
        address = urlsplit(running.url)
        place = (str(address.hostname), int(address.port or 0))
        for _ in range(400):
            client = stack.enter_context(socket.create_connection(place, timeout=PATIENCE))
            with contextlib.suppress(ConnectionError):
                client.sendall(b"G")
            if _ % 40 == 0:
                assert (
                    httpx2.get(f"{running.url}/v1/studies", headers=token, timeout=PATIENCE).status_code
                    == 200
                )
        assert httpx2.get(f"{running.url}/v1/studies", headers=token, timeout=PATIENCE).status_code == 200
        log = running.log.read_text()
    assert "Traceback" not in log
    assert len(log) < 20_000


def test_a_fault_of_the_loop_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """Mutants: each is told; the exception is told, which may hold values."""
    now = [0.0]
    faults = Faults(lambda: now[0])
    loop: Any = None
    with caplog.at_level(logging.ERROR, "adyton.operator"):
        for _ in range(1000):
            faults(
                loop, {"message": "socket.accept() out of system resource", "exception": OSError("CANARY")}
            )
        faults(loop, {"exception": ValueError("CANARY")})
        now[0] = 61.0
        faults(loop, {"exception": OSError("CANARY")})
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "the server met OSError 1 times",
        "the server met ValueError 1 times",
        "the server met OSError 1000 times",
    ]


def test_the_oldest_that_waits_makes_room() -> None:
    """Mutants: one that is at work is ended; an address may have them all."""

    class Fake:
        def __init__(self) -> None:
            self.transport, self.ended = self, False

        def abort(self) -> None:
            self.ended = True

    crowd, working, waiting = Crowd(4, 3), Fake(), [Fake() for _ in range(4)]
    assert crowd.enter(working, "a")
    for one in waiting[:2]:
        assert crowd.enter(one, "a")
        crowd.waits(one, idle=True)
    crowd.waits(waiting[0], idle=False)
    crowd.waits(waiting[0], idle=True)  # it has waited less long than the other one now
    assert crowd.enter(waiting[2], "a")  # a fourth one from there
    assert [working.ended, *(one.ended for one in waiting)] == [False, False, True, False, False]
    assert crowd.enter(waiting[3], "b")
    assert not any(one.ended for one in (working, waiting[0], waiting[3]))
    assert crowd.enter(Fake(), "b")
    assert waiting[0].ended
    full = Crowd(1)
    assert full.enter(working, "a")
    assert not full.enter(Fake(), "b")


# Answers that nobody reads ---------------------------------------------------------------------------------


def test_answers_that_nobody_reads_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats are free, so a connection for each would take all memory.  Mutant: they are not counted."""
    monkeypatch.setattr(desk, "LIMITS", replace(LIMITS, unsent_bytes=10_000_000))
    path, body = "/v1/studies/people/ask", {"query": GROUPS.format(20), "epsilon": 0.0001}
    with open_house([write_wide(tmp_path)]) as house, contextlib.ExitStack() as stack:
        token, seen, sent = bearer(house.token("ana")), list[bytes](), json.dumps(body)
        first = httpx2.post(f"{house.url}{path}", json=body, headers=token, timeout=PATIENCE)
        assert len(first.json()["answer"]) == 20_000
        assert len(first.content) > 2_000_000
        lines = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(sent)}\r\n"
        address = urlsplit(house.url)
        for _ in range(8):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(PATIENCE)
            client.connect((address.hostname, address.port))
            client.sendall(f"{lines}Authorization: {token['Authorization']}\r\n\r\n{sent}".encode())
            seen.append(client.recv(12))
        assert seen[:3] == [b"HTTP/1.1 200"] * 3
        assert seen[-1] == b"HTTP/1.1 429"
        stack.close()
        end = time.monotonic() + PATIENCE
        while (last := httpx2.post(f"{house.url}{path}", json=body, headers=token)).status_code == 429:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert last.json()["answer"] == first.json()["answer"]
