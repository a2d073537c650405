"""A real server, with two processes: nobody overspends, nothing is answered that was not paid for, nothing is charged twice.

The long form (``make long``) kills it as often as its case asks for, and does everything with both ledgers.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

import adyton
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from support.postgres import NoServer, postgres_server
from support.servers import Server, bearer, server, write_study

LONG = bool(os.environ.get("ADYTON_LONG"))
KILLS = int(os.environ.get("ADYTON_KILLS", "4"))
SCHEMAS = itertools.count()
FAST = "[server]\ntick = 0\nrate_by_token = 1000000\nrate_by_address = 1000000\nplaces = 64\nplaces_by_token = 64\n"
LEDGERS = ["sqlite", "postgres"]


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    try:
        with postgres_server(durable=True) as address:
            yield address
    except NoServer as missing:
        pytest.skip(str(missing))


@pytest.fixture
def study(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A study file whose ledger is of the kind that the test asks for."""
    more = ""
    if getattr(request, "param", "sqlite") == "postgres":
        more = f'\n[ledger]\naddress = "{request.getfixturevalue("database")}/served_{next(SCHEMAS)}"\n'
    (tmp_path / "server.toml").write_text(FAST)
    return write_study(tmp_path, more=more)


@pytest.fixture(scope="module")
def crowded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, dict[str, Path]]]:
    """One server of two processes, and a study for each test that needs such a one."""
    folder, studies = tmp_path_factory.mktemp("crowded"), dict[str, Path]()
    (folder / "server.toml").write_text(FAST)
    for name in ("sqlite", "once"):
        studies[name] = write_study(folder, name)
    with contextlib.suppress(pytest.skip.Exception):  # then the test of it is skipped, and says why
        ledger = f'\n[ledger]\naddress = "{request.getfixturevalue("database")}/served_{next(SCHEMAS)}"\n'
        studies["postgres"] = write_study(folder, "postgres", more=ledger)
    options = ("--settings", str(folder / "server.toml"), "--processes", "2")
    with server(list(studies.values()), *options) as running:
        yield running.url, studies


def started(study: Path, *options: str) -> contextlib.AbstractContextManager[Server]:
    return server([study], "--settings", str(study.with_name("server.toml")), *options)


def token(study: Path, name: str, share: str | None = None) -> dict[str, str]:
    part = None if share is None else adyton.kernel.exact.rational(share, "share")
    return bearer(Tokens(study).make(Identity(name, Role.ANALYST, part))[0])


def query(number: int) -> str:
    return f"SELECT COUNT(*) FROM people WHERE income > {number}"


def asked(
    url: str, headers: dict[str, str], number: int, price: dict[str, Any], study: str = "people", **words: Any
) -> httpx2.Response:
    body = {"query": query(number), **price, **words}
    return httpx2.post(f"{url}/v1/studies/{study}/ask", headers=headers, json=body, timeout=120)


def units(text: str) -> int:
    whole, _, rest = text.partition(".")
    return int(whole) * 10**18 + int(rest.ljust(18, "0"))


@pytest.mark.parametrize("name", LEDGERS)
def test_A20_a_hundred_clients_of_two_processes_spend_exactly_the_limit(
    crowded: tuple[str, dict[str, Path]], name: str, request: pytest.FixtureRequest
) -> None:
    """Mutants: a charge that does not lock; a budget share that is looked at before the transaction."""
    if name == "postgres":
        request.getfixturevalue("database")  # or say why there is none
    url, study = crowded[0], crowded[1][name]
    clients = 100 if LONG or name == "sqlite" else 30
    price = {"epsilon": 2}
    with adyton.open(study) as curator:
        one = curator.preview(query(0), epsilon=2).cost.units
        fitting = curator.study.allowed // one
    part = adyton.kernel.exact.rational("0.3", "share")
    allowed_to_ana = int(part * curator.study.allowed) // one
    assert 5 < fitting < 60
    assert 0 < allowed_to_ana < fitting
    ana, others = token(study, "ana", "0.3"), [token(study, f"name {i}") for i in range(9)]
    barrier = threading.Barrier(clients, timeout=120)

    def client(number: int) -> tuple[str, int]:
        mine = number % 2 == 0
        barrier.wait()
        who = ana if mine else others[number % 9]
        answer = asked(url, who, 100 + number, price, name)
        while answer.status_code == 503:  # one process may get more of the crowd than it has places
            assert answer.json()["error"]["kind"] == "busy"
            time.sleep(0.1)
            answer = asked(url, who, 100 + number, price, name)
        return ("ana" if mine else "others"), answer.status_code

    with ThreadPoolExecutor(clients) as pool:
        seen = Counter(pool.map(client, range(clients)))
    for number in itertools.count(500):  # what was refused only because of the crowd
        status = asked(url, others[0], number, price, name).status_code
        if status != 200:
            break
        seen["others", 200] += 1
    assert {status for _, status in seen} <= {200, 409}
    assert seen["ana", 200] + seen["others", 200] == fitting
    assert seen["ana", 200] <= allowed_to_ana
    with adyton.open(study) as curator:
        assert curator.verify().receipts == fitting
        assert sum(receipt.order.by == "ana" for receipt in curator.receipts()) == seen["ana", 200]


def test_A21_one_request_id_is_one_receipt_and_one_value(crowded: tuple[str, dict[str, Path]]) -> None:
    """64 retries from 32 clients, 320 in a long run, two processes.  Mutant: the id is not looked at in the transaction of the charge."""
    url, study = crowded[0], crowded[1]["once"]
    ana, price = token(study, "ana"), {"within": 40}
    with ThreadPoolExecutor(32) as pool:
        tries = range(320 if LONG else 64)
        answers = list(pool.map(lambda _: asked(url, ana, 30000, price, "once", request="once"), tries))
    assert {answer.status_code for answer in answers} == {200}
    assert len({str(answer.json()["answer"]) for answer in answers}) == 1
    other = asked(url, ana, 30001, price, "once", request="once")
    assert (other.status_code, other.json()["error"]["kind"]) == (409, "request_id_used")
    with adyton.open(study) as curator:
        assert curator.verify().receipts == 1


@pytest.mark.parametrize("study", LEDGERS, indirect=True)
def test_A22_no_kill_gives_an_answer_that_was_not_paid_for(study: Path) -> None:
    """Every value that a client saw is in the ledger, under its receipt.  Mutant: ``remember`` after the answer was sent."""
    chance, ana, seen = random.Random(1), token(study, "ana"), []
    for kill in range(max(1, KILLS // 4)):
        with started(study) as running:
            end = threading.Event()

            def client(start: int, url: str = running.url, end: threading.Event = end) -> None:
                for number in range(start, start + 10_000):
                    if end.is_set():
                        return
                    try:
                        answer = asked(url, ana, number, {"within": 400})
                    except httpx2.HTTPError:
                        return
                    if answer.status_code == 200:
                        seen.append(answer.json())

            threads = [
                threading.Thread(target=client, args=(20_000 + 40_000 * i + 1000 * kill,)) for i in range(4)
            ]
            for thread in threads:
                thread.start()
            enough, patience = len(seen) + chance.randrange(3, 12), time.monotonic() + 60
            while len(seen) < enough and time.monotonic() < patience:
                time.sleep(0.001)
            os.killpg(running.process.pid, signal.SIGKILL)
            running.process.wait(30)
            end.set()
            for thread in threads:
                thread.join(60)
    assert len(seen) > 3
    with adyton.open(study) as curator:
        curator.verify()
        for answer in seen:
            receipt = curator.ledger.receipt(answer["receipt"]["number"])
            assert receipt is not None
            assert receipt.digest == answer["receipt"]["digest"]
            assert curator.ask(receipt.order.query, within=400).to_json()["answer"] == answer["answer"]


def test_a_stopped_server_finishes_what_is_charged(study: Path) -> None:
    ana = token(study, "ana")
    with started(study) as running, ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(asked, running.url, ana, 25_000 + i, {"within": 300}) for i in range(8)]
        time.sleep(0.15)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(30) is not None
        answered = 0
        for one in asking:
            with contextlib.suppress(httpx2.HTTPError):
                answered += one.result().status_code == 200
    with adyton.open(study) as curator:
        charged = curator.verify().receipts
        kept = sum(curator.ledger.recall(number) is not None for number in range(1, charged + 1))
    assert kept == charged >= answered


def test_slow_clients_half_requests_and_clients_that_leave_harm_nobody(study: Path) -> None:
    """A client that goes away after the charge finds its answer under its request id."""
    ana = token(study, "ana")
    with started(study) as running:
        host, port = running.url.removeprefix("http://").split(":")
        head = f"POST /v1/studies/people/ask HTTP/1.1\r\nHost: x\r\nAuthorization: {ana['Authorization']}\r\nContent-Type: application/json\r\n"
        body = f'{{"query": "{query(31_000)}", "within": 40, "request": "left"}}'
        held = []
        for _ in range(40):  # half a request each, kept open
            half = socket.create_connection((host, int(port)), timeout=30)
            half.sendall((head + "Content-Length: 500\r\n\r\n{").encode())
            held.append(half)
        gone = socket.create_connection((host, int(port)), timeout=30)
        gone.sendall((head + f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        gone.close()
        large = httpx2.post(
            f"{running.url}/v1/studies/people/ask",
            headers=ana,
            json={"query": "SELECT " + "x" * 10_000_000},
            timeout=120,
        )
        assert large.status_code == 413
        assert asked(running.url, ana, 32_000, {"within": 40}).status_code == 200
        for half in held:
            half.close()
        again = asked(running.url, ana, 31_000, {"within": 40}, request="left")
        assert again.status_code == 200
    with adyton.open(study) as curator:
        assert curator.verify().receipts == 2


def test_a_request_byte_by_byte_is_sent_away_and_who_waits_is_not(
    study: Path,
) -> None:
    """Mutants: no deadline; one that is not stopped when the request is there; one that every byte starts anew."""
    ana = token(study, "ana")
    study.with_name("server.toml").write_text(FAST.replace("tick = 0", "tick = 1\nrequest_seconds = 0.5"))
    with started(study) as running, contextlib.ExitStack() as connections:
        host, port = running.url.removeprefix("http://").split(":")
        head = f"POST /v1/studies/people/ask HTTP/1.1\r\nHost: x\r\nAuthorization: {ana['Authorization']}\r\nContent-Type: application/json\r\n"
        beginnings = ("", "GET /heal", head, head + "Content-Length: 500\r\n\r\n{")
        slow = [
            connections.enter_context(socket.create_connection((host, int(port)), timeout=60))
            for _ in beginnings
        ]
        for connection, sent in zip(slow, beginnings, strict=True):
            connection.sendall(sent.encode())
        ended, patience = [False] * len(slow), time.monotonic() + 20
        while not all(ended) and time.monotonic() < patience:
            time.sleep(0.1)
            for place, connection in enumerate(slow):
                ended[place] = ended[place] or not _takes_a_byte(connection, silent=not beginnings[place])
        assert all(ended)
        with httpx2.Client(base_url=running.url, timeout=60) as patient:
            end = time.monotonic() + 1
            while time.monotonic() < end:
                assert patient.get("/healthz").status_code == 200
            body = {"query": query(33_000), "within": 40}
            assert patient.post("/v1/studies/people/ask", headers=ana, json=body).status_code == 200
    with adyton.open(study) as curator:
        assert curator.verify().receipts == 1


def _takes_a_byte(connection: socket.socket, *, silent: bool) -> bool:
    """Whether the server still listens; ``silent``: without sending it anything."""
    connection.setblocking(False)
    try:
        if not silent:
            connection.send(b"x")
        return connection.recv(1000) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_only_the_owner_of_the_certificate_speaks_tls(study: Path, tmp_path: Path) -> None:
    """Only the owner of the certificate speaks TLS, and a public address needs it."""
    import subprocess

    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], capture_output=True,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl is not installed")
    with started(
        study, "--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")
    ) as running:
        import ssl

        trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        assert httpx2.get(f"{running.url}/healthz", verify=trusting).status_code == 200
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(running.url.replace("https", "http") + "/healthz")
    from typer.testing import CliRunner

    from adyton.transports.cli.app import app

    refused = CliRunner().invoke(app, ["serve", str(study), "--host", "0.0.0.0"])
    assert refused.exit_code == 2
    assert "--behind-proxy" in refused.output + (refused.stderr or "")


def test_what_is_broken_is_found_before_the_server_listens(study: Path) -> None:
    from typer.testing import CliRunner

    from adyton.transports.cli.app import app

    study.with_name("people.parquet").write_bytes(b"this is no Parquet file")
    broken = CliRunner().invoke(app, ["serve", str(study), "--port", "1"])
    assert broken.exit_code == 2


def test_the_log_of_a_server_holds_no_token_query_or_value(study: Path) -> None:
    """A19, with everything that the process writes."""
    ana = token(study, "ana")
    with started(study) as running:
        answer = asked(running.url, ana, 77_123, {"within": 40}, request="canary77")
        httpx2.get(f"{running.url}/canary77", headers=ana)
        httpx2.get(f"{running.url}/v1/studies/canary77", headers=ana)
        httpx2.post(f"{running.url}/v1/studies/people/ask", headers=ana, content=b"canary77")
        value = str(answer.json()["answer"][0]["values"]["count"]["value"])
        written = re.sub(r"Owner token.*\n", "", running.log.read_text())
        written = re.sub(
            r'"ms": [0-9.]+|127\.0\.0\.1:\d+', "", written
        )  # which may be the same number by chance
    assert '"route": "/v1/studies/{study}/ask"' in written
    for secret in ("canary77", "77123", ana["Authorization"].split()[1], value, "income"):
        assert secret not in written
