"""What an operator sees: the doctor, the metrics, the settings; and fuzz of the whole document."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from opentelemetry import trace
from typer.testing import CliRunner

from adyton.engines.duckdb import DuckDBEngine
from adyton.kernel.exact import rational
from adyton.service.settings import Settings
from adyton.service.tokens import Tokens
from adyton.transports.cli.app import app
from support.servers import COUNT, QUICK, Served, served, write_holdout, write_study

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def test_the_frozen_document_is_what_a_server_shows(tmp_path: Path) -> None:
    """Written by docs/make_http_reference.py.  A change of the document is a change of the contract."""
    with served([write_study(tmp_path)]) as house:
        shown = house.client.get("/v1/openapi.json").json()
    assert shown == json.loads((REFERENCE / "openapi.json").read_text())


def test_the_page_is_made_of_routes_roles_and_settings() -> None:
    import importlib.util

    place = REFERENCE.parent / "make_http_reference.py"
    spec = importlib.util.spec_from_file_location("make_http_reference", place)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert (REFERENCE / "http.md").read_text() == made.page(
        json.loads((REFERENCE / "openapi.json").read_text())
    )


def test_a_port_that_is_taken_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = CliRunner().invoke(app, ["serve", str(study), "--port", str(port)])
    assert done.exit_code == 2
    assert f"port {port}: something else listens there" in done.stderr
    assert not (tmp_path / "people.tokens").exists()  # an owner token that nobody could use yet


def test_the_doctor_finds_what_is_wrong(tmp_path: Path) -> None:
    study, run = write_study(tmp_path), CliRunner().invoke
    well = json.loads(run(app, ["doctor", str(study), "--json"]).output)
    assert well["ok"]
    assert "not set" in run(app, ["doctor", str(study)]).output  # and never None
    missing = json.loads(run(app, ["doctor", str(tmp_path / "nope.toml"), "--json"]).output)
    assert "there is no file nope.toml" in json.dumps(missing)
    assert well["limits"] == json.loads(json.dumps(Settings().limits))
    tokens = Tokens(study)
    from adyton.operations.roles import Role
    from adyton.service.identity import Identity

    tokens.make(Identity("boss", Role.OWNER))
    (tmp_path / "server.secret").chmod(0o644)
    ill = run(app, ["doctor", str(study)])
    assert ill.exit_code == 2
    assert "chmod 600" in ill.output
    (tmp_path / "server.secret").chmod(0o600)
    (tmp_path / "people.parquet").write_bytes(b"no Parquet")
    told = json.loads(run(app, ["doctor", str(study), str(tmp_path / "none.toml"), "--json"]).output)
    assert [one["what"] for one in told["findings"] if one["ok"] is False] == [
        "people.toml: ledger and data",
        "none.toml",
    ]


def test_metrics_count_routes_and_statuses(tmp_path: Path) -> None:
    from prometheus_client import generate_latest

    from adyton.service.house import House
    from adyton.transports.http.app import make_app

    house = House.of_files([write_study(tmp_path)], QUICK)
    house.load()
    from fastapi.testclient import TestClient

    app = make_app(house)
    with TestClient(app) as client:
        client.get("/healthz")
        client.get("/secret-path-77")
        client.get("/v1/studies/secret-77/budget")
    shown = generate_latest(app.state.metrics.registry).decode()
    assert 'adyton_requests_total{method="GET",route="/healthz",status="200"} 1.0' in shown
    assert 'route="/v1/studies/{study}/budget",status="401"' in shown
    assert "secret" not in shown


class _Spans(trace.TracerProvider, trace.Tracer):
    """Keeps whatever spans are told, as a collector would."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def get_tracer(self, *words: Any, **more: Any) -> trace.Tracer:
        return self

    def start_span(self, *words: Any, **more: Any) -> trace.Span:
        return _Span(self.told, repr((words, more)))

    @contextlib.contextmanager
    def start_as_current_span(self, *words: Any, **more: Any) -> Iterator[trace.Span]:
        yield _Span(self.told, repr((words, more)))


class _Span(trace.NonRecordingSpan):
    def __init__(self, told: list[str], made: str) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self._told = told
        told.append(made)

    def is_recording(self) -> bool:
        return True

    def _tell(self, *words: Any, **more: Any) -> None:
        self._told.append(repr((words, more)))

    update_name = set_attribute = set_attributes = add_event = set_status = record_exception = _tell


def test_spans_hold_routes_and_statuses_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the framework makes spans of its own, with paths as they were typed and words of exceptions."""
    spans = _Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans)
    with served([write_study(tmp_path)]) as house:
        ana = house.made("ana")
        house.client.get("/v1/studies/secret77/budget", headers=ana)
        house.ask(ana, "SELECT secret77 FROM people", within=50)
        assert house.ask(ana, within=50).status_code == 200
        monkeypatch.setattr(house.house, "visitor", lambda token: {}["secret77"])
        assert house.client.get("/v1/studies/people/budget", headers=ana).status_code == 500
    assert sum("'POST /v1/studies/{study}/ask'" in one for one in spans.told) == 2
    assert not [one for one in spans.told if "secret77" in one]


def test_answers_of_neighboring_tables_leave_on_the_same_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow scan and a fast one, both within a tick: what is seen is the tick.  Mutant: the wait is left out.

    Times between charge and answer are compared as the server measures them, so a busy machine does no harm.
    """
    exact, slow, left = DuckDBEngine.exact, threading.Event(), []

    def reading(self: DuckDBEngine, *readings: Any) -> Any:
        time.sleep(0.08 if slow.is_set() else 0.0)
        return exact(self, *readings)

    from adyton.service import grid

    measured = grid.TimedRequest.wait

    def wait(self: grid.TimedRequest) -> float:
        rest = measured(self)
        if self._since is not None:
            left.append((self._grid.now() - self._since + rest) / self._grid.width)
        return rest

    monkeypatch.setattr(DuckDBEngine, "exact", reading)
    monkeypatch.setattr(grid.TimedRequest, "wait", wait)
    with served([write_study(tmp_path)], Settings(**{**asdict(QUICK), "tick": 0.5})) as house:
        headers = house.made("ana")
        for number in range(6):
            slow.clear() if number % 2 else slow.set()
            began = time.monotonic()
            assert (
                house.ask(
                    headers, f"SELECT COUNT(*) FROM people WHERE income > {number}", within=100
                ).status_code
                == 200
            )
            assert time.monotonic() - began >= 0.45
        began = time.monotonic()
        house.ask(headers, "SELECT COUNT(*) FROM people WHERE income > 1", within=100)  # a repeat
        house.ask(headers, COUNT, within=0.001)  # a refusal
        assert len(left) == 6
    assert all(abs(ticks - round(ticks)) < 0.05 for ticks in left)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("fuzzed")
    with served([write_study(folder), write_holdout(folder)]) as made:
        yield made


@pytest.mark.filterwarnings("ignore")
def test_A28_no_request_of_the_document_fails(fuzzed: Served) -> None:
    """Generated from the document, for a study and for a holdout, with tokens that may do everything there: no 5xx,
    and every status is declared.

    Mutant: a route that raises something of its own.
    """
    owners = {study: fuzzed.made(f"fuzz {study}", "owner", study=study) for study in ("people", "test")}
    told = json.loads((REFERENCE / "openapi.json").read_text())
    document, known = schemathesis.openapi.from_dict(told), told["paths"]
    for result in document.get_all_operations():
        operation = result.ok()
        declared = {int(status) for status in known[operation.path][operation.method.lower()]["responses"]}
        check_all(fuzzed.client, operation, owners, declared | {200, 405})


def check_all(client: Any, operation: Any, owners: dict[str, dict[str, str]], declared: set[int]) -> None:
    @settings(
        max_examples=8,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        for study, headers in owners.items():
            send_to(study, headers, case)

    def send_to(study: str, headers: dict[str, str], case: Any) -> None:
        case.path_parameters = {**(case.path_parameters or {}), **_places(case.path_parameters, study)}
        sent = case.as_transport_kwargs(
            base_url="http://testserver", headers={**(case.headers or {}), **headers}
        )
        known = {
            name: value
            for name, value in sent.items()
            if name in ("method", "url", "headers", "params", "json", "content")
        }
        answer = client.request(
            **known, **({"content": sent["data"]} if isinstance(sent.get("data"), bytes | str) else {})
        )
        assert answer.status_code < 500, answer.text
        assert answer.status_code in declared

    send()


def _places(named: dict[str, Any] | None, study: str) -> dict[str, Any]:
    return {name: study for name in (named or {}) if name in ("study", "holdout", "name")}


class Names(RuleBasedStateMachine):
    """Names, tokens and charges against a model: what is spent, by whom, and who gets in."""

    house: Served

    def __init__(self) -> None:
        super().__init__()
        self.tokens: dict[str, tuple[dict[str, str], float]] = {}
        self.spent: dict[str, int] = {}
        self.asked = 0

    @initialize()
    def begin(self) -> None:
        self.turn = f"{time.monotonic_ns()}"

    @rule(name=st.sampled_from(["ana", "ben"]), share=st.sampled_from([None, "0.02", "0.5"]))
    def make(self, name: str, share: str | None) -> None:
        own = f"{name} {self.turn}"
        self.tokens[name] = (self.house.made(own, budget_share=share), 1.0 if share is None else float(share))

    @rule(name=st.sampled_from(["ana", "ben"]))
    def revoke(self, name: str) -> None:
        if name in self.tokens:
            (served,) = self.house.house.served
            served.tokens.revoke(f"{name} {self.turn}")
            headers, _ = self.tokens.pop(name)
            assert self.house.ask(headers, COUNT, within=50).status_code == 401

    @rule(name=st.sampled_from(["ana", "ben"]), price=st.sampled_from([0.05, 0.3, 3]))
    def ask(self, name: str, price: float) -> None:
        if name not in self.tokens:
            return
        headers, share = self.tokens[name]
        self.asked += 1
        (served,) = self.house.house.served
        own, limit = f"{name} {self.turn}", served._header.budget
        total = served._ledger.spent()
        query = f"SELECT COUNT(*) FROM people WHERE income > {time.monotonic_ns() % 10**9 / 10**6:.6f}"
        told = self.house.client.post(
            "/v1/studies/people/preview", headers=headers, json={"query": query, "epsilon": price}
        ).json()
        amount = int(rational(told["cost"]["amount"], "cost") * 10**18)
        fits = total + amount <= limit and self.spent.get(own, 0) + amount <= int(
            rational(str(share), "share") * limit
        )
        answer = self.house.ask(headers, query, epsilon=price)
        assert answer.status_code == (200 if fits else 409), answer.text
        self.spent[own] = self.spent.get(own, 0) + (amount if fits else 0)
        assert served._ledger.spent_by(own) == self.spent[own]
        assert served._ledger.spent() == total + (amount if fits else 0)


def test_names_tokens_and_charges_against_a_model(tmp_path: Path) -> None:
    """Mutants: a budget share that is not looked at; a total that is kept for another name."""
    with served([write_study(tmp_path)]) as house:
        Names.house = house
        run_state_machine_as_test(
            Names,
            settings=settings(
                max_examples=12, stateful_step_count=15, deadline=None, derandomize=True, database=None
            ),
        )
