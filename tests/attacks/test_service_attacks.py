"""What was tried against a server, and held only after something was changed: each test names the mutant that it finds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jwt
import numpy as np
import pytest
from prometheus_client import generate_latest

import adyton
from adyton.engines.duckdb import DuckDBEngine
from adyton.errors import InvalidRequest, Unauthenticated
from adyton.holdout.methods.options import Ladder
from adyton.operations.roles import Role
from adyton.service import grid, oidc
from adyton.service.gate import network_of
from adyton.service.identity import Identity
from adyton.service.oidc import ProviderKeys
from adyton.service.settings import Settings
from adyton.service.studies import READING, ServedStudy
from adyton.service.tokens import Tokens
from adyton.transports.http.app import make_app
from support import processes
from support.servers import COUNT, QUICK, Served, served, write_holdout, write_study

ON_A_GRID = Settings(**{**asdict(QUICK), "tick": 0.01})
PATIENCE = 60.0


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Served]:
    with served([write_study(tmp_path), write_holdout(tmp_path)]) as made:
        yield made


@pytest.fixture
def ticking(tmp_path: Path) -> Iterator[Served]:
    split = '[validity]\nindependent = true\nmethod = "split"\nqueries = 5\nconfidence = 0.95'
    other = write_study(tmp_path, "parted")
    other.write_text(other.read_text().replace("[validity]\nindependent = true", split))
    with served([write_study(tmp_path), other], ON_A_GRID) as made:
        yield made


# What comes in ---------------------------------------------------------------------------------------------


def sent(app: Any, path: str, *headers: tuple[bytes, bytes]) -> tuple[int, int]:
    """The status of a request, and how often its body was asked for."""
    statuses: list[int] = []
    asked = 0

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b'{"predictions": []}', "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "headers": [(b"content-type", b"application/json"), *headers],
    }  # fmt: skip
    processes.run(app(scope, receive, send))
    return statuses[0], asked


@pytest.mark.parametrize("path", ["/v1/holdouts/test/score", "/v1/studies/people/ask", "/v1/tokens/people"])
def test_the_body_of_a_stranger_is_not_read(house: Served, path: str) -> None:
    """36 MB of JSON held a whole server up for seconds.  Mutants: the token, or the role, is looked at after the body."""
    app, study = make_app(house.house), "test" if "holdouts" in path else "people"
    assert sent(app, path) == (401, 0)
    for role, may in (("owner", True), ("analyst", "tokens" not in path), ("auditor", False)):
        known = house.made(f"{role} {path}"[:40], role, study=study)["Authorization"].encode()
        status, read = sent(app, path, (b"authorization", known))
        assert (read, status == 403) == ((1, False) if may else (0, True)), role


def test_a_request_with_two_lengths_is_refused(house: Served) -> None:
    """A proxy may believe the other one.  Mutant: the check is left out."""
    known = house.made("ana")["Authorization"].encode()
    lengths = (b"content-length", b"19"), (b"transfer-encoding", b"chunked")
    assert sent(
        make_app(house.house), "/v1/studies/people/ask", (b"authorization", known), *lengths
    ) == (422, 0)  # fmt: skip


def test_too_many_bytes_without_a_length_are_too_many(tmp_path: Path) -> None:
    """Mutant: what is raised while a body comes in is told as a body that is no JSON."""
    with served([write_study(tmp_path)], Settings(**{**asdict(QUICK), "request_bytes": 5000})) as house:
        pieces = (b" " * 1000 for _ in range(10))
        answer = house.client.post("/v1/studies/people/ask", headers=house.made("ana"), content=pieces)
    assert (answer.status_code, answer.json()["error"]["kind"]) == (413, "too_large")


def test_methods_that_nobody_knows_are_one_label(tmp_path: Path) -> None:
    """Each would be a counter of its own, for ever, made by anybody.  Mutant: the method is counted as it came."""
    with served([write_study(tmp_path)]) as house:
        from fastapi.testclient import TestClient

        app = make_app(house.house)
        client = TestClient(app)
        for number in range(5):
            client.request(f"CANARY{number}", "/healthz")
    shown = generate_latest(app.state.metrics.registry).decode()
    assert "CANARY" not in shown
    assert 'adyton_requests_total{method="other",route="/healthz",status="405"} 5.0' in shown


def test_nobody_is_sent_elsewhere(house: Served) -> None:
    """Clients follow with their token.  Mutant: slashes at the end are redirected, to the host that was named."""
    answer = house.client.get(
        "/v1/studies/", headers={**house.made("ana"), "Host": "evil.example"}, follow_redirects=False
    )
    assert answer.status_code == 404
    assert "location" not in answer.headers


def test_one_network_has_one_rate() -> None:
    """Mutant: every address of IPv6 is counted for itself."""
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:2") != network_of("2001:db8:0:1::1")
    assert network_of("192.0.2.1") != network_of("192.0.2.2")
    assert network_of("testclient") == "testclient"


# Who it is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["oidc bob", " ana", "ana ", " ", ""])
def test_no_token_is_made_for_a_name_that_could_be_taken_for_another(tmp_path: Path, name: str) -> None:
    """Mutant: names of the identity provider can be had by a token, and spent from."""
    with pytest.raises(InvalidRequest):
        Tokens(tmp_path / "people.toml").make(Identity(name, Role.ANALYST))


class Provider:
    """Keys that are shown, or an outage."""

    def __init__(self, *names: str) -> None:
        self.names, self.fetched, self.now = list(names), 0, 1000.0
        self.down = False
        self.keys = ProviderKeys(self.fetch, lambda: self.now)

    def fetch(self) -> list[Any]:
        self.fetched += 1
        if self.down:
            raise jwt.PyJWKClientError("no answer")
        return [type("Key", (), {"key_id": name, "key": f"the key {name}"}) for name in self.names]

    def has(self, name: object) -> bool:
        try:
            return bool(self.keys.named(name) == f"the key {name}")
        except Unauthenticated:
            return False


def test_a_key_that_was_withdrawn_is_not_believed_for_long() -> None:
    """Mutant: keys are kept by their names without an end."""
    provider = Provider("a", "b")
    assert provider.has("a")
    provider.names = ["b"]
    provider.now += oidc._KEEP_KEYS + 1
    assert not provider.has("a")
    assert provider.has("b")


def test_unknown_keys_are_no_lever() -> None:
    """Anybody can name one.  Mutant: every unknown name is looked up at the provider."""
    provider = Provider("a")
    assert not any(provider.has(f"stranger {number}") for number in range(100))
    assert provider.fetched == 1
    provider.names.append("new")
    provider.now += oidc._PAUSE
    assert provider.has("new")
    assert provider.fetched == 2


def test_an_outage_of_the_provider_ends_neither_known_keys_nor_patience() -> None:
    """Mutants: keys are forgotten when they cannot be fetched; each request tries again; they are kept for ever."""
    provider = Provider("a")
    assert provider.has("a")
    provider.down, provider.now = True, provider.now + oidc._KEEP_KEYS + 1
    assert all(provider.has("a") and not provider.has("b") for _ in range(50))
    assert provider.fetched == 2
    provider.now += oidc._LONGEST_KEPT
    assert not provider.has("a")


def test_nobody_waits_while_keys_are_fetched() -> None:
    """Mutant: the lock is waited for although keys are known."""
    provider, entered, go_on = Provider("a"), threading.Event(), threading.Event()
    assert provider.has("a")
    fetch = provider.fetch

    def slow() -> list[Any]:
        entered.set()
        go_on.wait(PATIENCE)
        return fetch()

    provider.keys._fetch = slow
    provider.now += oidc._PAUSE
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(provider.has, "stranger")
        assert entered.wait(PATIENCE)
        try:
            meanwhile = pool.submit(lambda: (provider.has("a"), provider.has("other")))
            assert meanwhile.result(PATIENCE) == (True, False)
            assert not waiting.done()
        finally:
            go_on.set()
        assert not waiting.result(PATIENCE)


# Whose part it is ------------------------------------------------------------------------------------------


def predicted(number: int) -> list[int]:
    return np.random.default_rng(number).integers(0, 2, 2000).tolist()


def test_a_name_sends_its_part_of_the_scores_and_no_more(house: Served) -> None:
    """Over all its tokens, and comparisons count.  Mutant: the holdout is used without the name's conditions."""
    share = "0.2"
    scores = house.client.get("/v1/holdouts/test/budget", headers=house.made("eve", "auditor", "test")).json()
    most = int(adyton.kernel.exact.rational(share, "share") * scores["scores_left"])
    first, second = (house.made("ana", study="test", budget_share=share) for _ in range(2))
    assert 3 < most < 60

    def score(headers: dict[str, str], number: int) -> Any:
        return house.client.post(
            "/v1/holdouts/test/score", headers=headers, json={"predictions": predicted(number)}
        )

    compared = house.client.post(
        "/v1/holdouts/test/compare", headers=first, json={"first": predicted(900), "second": predicted(901)}
    )
    assert compared.status_code == 200
    answers = [score(first if number % 2 else second, number) for number in range(most + 3)]
    assert [answer.status_code for answer in answers] == [200] * (most - 1) + [409] * 4
    error = answers[-1].json()["error"]
    assert (error["kind"], error["by"], error["spent"], error["largest"]) == (
        "scores_refused",
        "ana",
        str(most),
        "0",
    )
    assert score(first, 0).status_code == 200  # a repeat is free
    assert score(house.made("bob", study="test"), 999).status_code == 200  # the others go on


def test_a_largest_price_holds_for_scores_too(house: Served) -> None:
    bot = house.made("bot", "agent", "test", budget_share="0.5", price_share="0.000001")
    answer = house.client.post("/v1/holdouts/test/score", headers=bot, json={"predictions": predicted(1)})
    assert (answer.status_code, answer.json()["error"]["by"]) == (409, "bot")


def test_where_all_scores_are_paid_for_at_once_nobody_has_a_part(tmp_path: Path) -> None:
    labels = np.random.default_rng(2).integers(0, 2, 2000)
    path = tmp_path / "climb.toml"
    adyton.Holdout.create(path, labels=labels, method=Ladder(), scores=20).close()
    with served([path]) as house:
        parted = house.made("ana", study="climb", budget_share="0.1")
        body = {"predictions": predicted(1)}
        refused = house.client.post("/v1/holdouts/climb/score", headers=parted, json=body)
        assert (refused.status_code, "paid for at once" in refused.text) == (422, True)
        whole = house.made("bob", study="climb")
        assert house.client.post("/v1/holdouts/climb/score", headers=whole, json=body).status_code == 200


# When it leaves --------------------------------------------------------------------------------------------


def test_whatever_reads_data_is_on_the_grid(ticking: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: ``WatchedEngine`` is left out; then a retry after a failure reads off the grid, where units are split."""
    exact, found, failing = DuckDBEngine.exact, DuckDBEngine.found, threading.Event()
    on_grid: list[bool] = []

    def seen() -> None:
        reading = READING.get()
        on_grid.append(reading is not None and reading.wait() > 0)
        if failing.is_set():
            raise RuntimeError

    monkeypatch.setattr(DuckDBEngine, "exact", lambda *a: (seen(), exact(*a))[1])
    monkeypatch.setattr(DuckDBEngine, "found", lambda *a: (seen(), found(*a))[1])
    ana, parted = ticking.made("ana"), ticking.made("ana", study="parted")
    root = "/v1/studies/people"

    def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = ticking.client.post(root + path, headers=ana, json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json()) if path != "/ask_many" else {}

    for study, headers in (("people", ana), ("parted", parted)):
        for words in ({}, {"request": "one"}):
            query = f"SELECT COUNT(*) AS n FROM people WHERE income > {len(words)}"
            price = {"epsilon": 1}
            failing.set()
            assert ticking.ask(headers, query, study, **price, **words).status_code == 502
            failing.clear()
            before = len(on_grid)
            assert ticking.ask(headers, query, study, **price, **words).status_code == 200
            assert len(on_grid) > before
    post(
        "/ask",
        {
            "query": "SELECT region, COUNT(*) AS n FROM people GROUP BY region ORDER BY n DESC LIMIT 1",
            "epsilon": 0.1,
        },
    )
    post("/ask_many", {"queries": [COUNT, COUNT.replace(">", "<")], "epsilon": 0.1})
    post("/suggest_bounds", {"column": "income", "epsilon": 1})
    number = post("/monitors", {"positives": 1, "epsilon": 0.5})["receipt"]["number"]
    before = len(on_grid)
    post(f"/monitors/{number}/feed", {"query": COUNT, "above": 990})
    assert len(on_grid) == before + 1
    assert all(on_grid)


def hold(monkeypatch: pytest.MonkeyPatch, entered: threading.Event, go_on: threading.Event) -> None:
    """From now on nothing that read data leaves before ``go_on``."""

    class Clock:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def sleep(seconds: float) -> None:
            if seconds:
                entered.set()
                go_on.wait(PATIENCE)

    monkeypatch.setattr(grid, "time", Clock)


def test_a_failure_keeps_its_place_until_the_tick(ticking: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks beside it would see when that is free.  Mutants: a failure does not wait, or waits without its place."""
    ana, entered, go_on = ticking.made("ana"), threading.Event(), threading.Event()
    desk = ticking.client.app.state.desk  # type: ignore[attr-defined]

    def failing(*_: object) -> Any:
        raise RuntimeError

    monkeypatch.setattr(DuckDBEngine, "exact", failing)
    hold(monkeypatch, entered, go_on)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ticking.ask, ana, COUNT, within=50)
        try:
            assert entered.wait(PATIENCE)
            assert not wait([asking], timeout=0.2).done
            assert desk._places.taken == 1
            assert ticking.client.get("/v1/studies/people/budget", headers=ana).status_code == 200
        finally:
            go_on.set()
        assert asking.result(PATIENCE).status_code == 502
    assert desk._places.taken == 0


@pytest.mark.parametrize("kind", ["ask", "feed"])
def test_nothing_is_written_down_before_the_tick(
    ticking: Served, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A repeat, or the chain, would show it at once.  Mutant: an answer is kept before the wait."""
    ana, entered, go_on = ticking.made("ana"), threading.Event(), threading.Event()
    study = next(one for one in ticking.house.served if one.name == "people")
    assert isinstance(study, ServedStudy)
    number, body, path = 1, {"query": COUNT, "within": 50}, "/v1/studies/people/ask"
    if kind == "feed":
        opened = {"positives": 1, "epsilon": 1}
        assert ticking.client.post("/v1/studies/people/monitors", headers=ana, json=opened).status_code == 200
        body, path = {"query": COUNT, "above": 990}, "/v1/studies/people/monitors/1/feed"

    def written() -> int:
        ledger = study._curator.ledger
        return len(ledger.notes(number)) if kind == "feed" else int(ledger.recall(number) is not None)

    before = written()
    hold(monkeypatch, entered, go_on)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ticking.client.post, path, headers=ana, json=body)
        assert entered.wait(PATIENCE)
        try:
            assert study._curator.ledger.receipt(number) is not None  # charged
            assert written() == before
        finally:
            go_on.set()
        assert asking.result(PATIENCE).status_code == 200
    assert written() == before + 1


def test_whoever_is_refused_does_not_wait_for_a_scan(house: Served) -> None:
    """Refusals are free and leave at once: one that waits tells how long a scan took.

    Mutant: ``prepare`` takes the lock of the engine, although the data are loaded.
    """
    study = next(one for one in house.house.served if one.name == "people")
    assert isinstance(study, ServedStudy)
    engine, headers = study._curator._engine, house.made("ana")
    assert isinstance(engine, DuckDBEngine)
    with ThreadPoolExecutor(1) as pool, engine._lock:  # somebody is reading
        refused = pool.submit(house.ask, headers, COUNT, within=0.0001)
        assert refused.result(PATIENCE).status_code == 409


# Before it listens -----------------------------------------------------------------------------------------


def test_what_cannot_be_listened_on_is_said_before_anything_is_made(tmp_path: Path) -> None:
    """Mutant: it is found by whoever opens the port, with a traceback, after the owner's token was shown."""
    import socket

    from adyton.transports.http.serving import Door, serve

    study, said = write_study(tmp_path), []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for door, why in (
            (Door(port=port), "--port"),
            (Door(port=0, metrics_port=port), "--metrics-port"),
            (Door(port=port, metrics_port=port), "--port"),
            (Door(tls_cert=str(study), tls_key=str(study)), "--tls-cert"),
            (Door(tls_cert="missing.pem", tls_key="missing.pem"), "--tls-cert"),
        ):
            with pytest.raises(InvalidRequest, match=why):
                serve([study], None, door, said.append, seen=True)
    assert not said
    assert not Tokens(study).all()
