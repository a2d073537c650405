"""A query over HTTP: its headers, its body, and what is said where one of them is wrong."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from adyton.service.studies import ServedStudy
from adyton.transports.pages.headers import HEADERS
from support import processes
from support.servers import COUNT, Served, bearer, served, write_study

ASK, BUDGET = "/v1/studies/people/ask", "/v1/studies/people/budget"
BODY = json.dumps({"query": COUNT, "within": 60}).encode()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served([write_study(tmp_path_factory.mktemp("quick"))]) as made:
        yield made


def receipts(house: Served) -> int:
    (study,) = house.house.served
    assert isinstance(study, ServedStudy)
    return study.count()


def sent(house: Served, *messages: dict[str, Any], headers: list[tuple[bytes, bytes]]) -> tuple[int, Any]:
    """What is answered to a query that comes in like this."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": ASK,
        "raw_path": ASK.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
    }
    coming, told = iter(messages), list[Any]()

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        told.append(message)

    processes.run(house.client.app(scope, receive, send))  # type: ignore[arg-type]
    return told[0]["status"], json.loads(told[1]["body"])


def test_every_answer_has_what_browsers_are_told(house: Served) -> None:
    """Once each.  Mutant: only what the framework answers has it."""
    ana = house.made("ana")
    answers = [house.ask(ana, within=50), house.ask(ana, within=50), house.ask(ana, within=50)]
    answers += [house.ask(ana, "SELECT", within=50), house.ask(bearer("none"), within=50)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 422, 401]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers.get_list(name) == [value]


@pytest.mark.parametrize("path", [ASK, "/v1/studies/people/preview"], ids=["ask", "preview"])
def test_a_fault_of_ours_is_told_by_a_reference_alone(
    house: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """Mutants: nobody catches it; it is logged while it is handled, where whoever watches the log can look at it."""
    handled = list[object]()

    def failing(*_: object) -> Any:
        raise RuntimeError("CANARY")

    def watched(record: logging.LogRecord) -> bool:
        handled.append(sys.exc_info()[1])
        return True

    monkeypatch.setattr(ServedStudy, "perform", failing)
    operators = logging.getLogger("adyton.operator")
    operators.addFilter(watched)
    try:
        with caplog.at_level(logging.INFO):
            answer = house.client.post(path, headers=house.made("eve"), json=json.loads(BODY))
    finally:
        operators.removeFilter(watched)
    error = answer.json()["error"]
    assert (answer.status_code, error["kind"]) == (500, "failed")
    assert handled == [None]
    assert error["reference"] in caplog.text
    assert "RuntimeError" in caplog.text
    assert "CANARY" not in answer.text + caplog.text


def test_of_two_tokens_the_first_one_counts_as_everywhere(house: Served) -> None:
    """Whoever stands in front may look at the first one alone.  Mutant: the last one counts."""
    known, stranger = house.made("ana")["Authorization"], bearer("none")["Authorization"]
    for first, second, status in ((known, stranger, 200), (stranger, known, 401)):
        both = [("Authorization", first), ("Authorization", second), ("Content-Type", "application/json")]
        assert house.client.post(ASK, headers=both, content=BODY).status_code == status
        assert house.client.get(BUDGET, headers=both[:2]).status_code == status


def test_headers_of_any_bytes_are_headers(house: Served) -> None:
    """Mutant: they are taken for UTF-8, and a fault is told."""
    known, whole = house.made("ana")["Authorization"].encode(), {"type": "http.request", "body": BODY}
    usual = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]
    for token, accept, status in ((known, b"\xff\xfe", 200), (b"Bearer \xff", b"*/*", 401)):
        headers = [*usual, (b"authorization", token), (b"accept", accept)]
        assert [sent(house, whole, headers=headers)[0] for _ in range(3)] == [status] * 3


def test_what_is_not_said_to_be_json_is_not_taken_for_it(house: Served) -> None:
    """A form of any web page can send that.  Mutant: the type is not looked at."""
    before, ben = receipts(house), house.made("ben")
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        body = BODY.replace(b"60", b"61")
        answer = house.client.post(ASK, headers={**ben, "Content-Type": kind}, content=body)
        assert answer.status_code == 422
    assert receipts(house) == before


def test_a_body_that_ends_early_is_no_query(house: Served) -> None:
    """Also if what came of it would be one.  Mutant: it is taken for the whole."""
    before, body = receipts(house), BODY.replace(b"60", b"62")
    headers = [
        (b"host", b"x"),
        (b"authorization", house.made("ana")["Authorization"].encode()),
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body) + 5).encode()),
    ]
    part = {"type": "http.request", "body": body, "more_body": True}
    status, told = sent(house, part, {"type": "http.disconnect"}, headers=headers)
    assert (status, told["error"]["kind"]) == (422, "invalid_request")
    assert receipts(house) == before
    rest = {"type": "http.request", "body": body[9:] + b"     ", "more_body": False}
    whole = [{**part, "body": body[:9]}, rest]
    assert sent(house, *whole, headers=headers)[0] == 200
    assert receipts(house) == before + 1


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"[" * 10_000, "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[]", "the body must be an object"),
        (b'{"query": 1}', "query must be text"),
        (b'{"within": 60}', "query is missing"),
        (b'{"query": "x", "withn": 60}', "withn is not known here"),
    ],
)
def test_a_body_that_is_no_query_is_refused_with_what_is_wrong(
    house: Served, body: bytes, wrong: str
) -> None:
    """Mutant: what the parser raises is not caught, and is taken for a fault of ours."""
    before, headers = receipts(house), {**house.made("ben"), "Content-Type": "application/json"}
    answer = house.client.post(ASK, headers=headers, content=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["kind"]) == (422, "invalid_request")
    assert error["message"].startswith(wrong)
    assert error["message"].endswith("nothing was charged")
    assert receipts(house) == before


def test_a_number_in_an_address_is_a_whole_number(house: Served) -> None:
    """Mutant: it is taken as text, and is a fault of ours."""
    body = {"query": COUNT, "above": 990}
    for number, wrong in (
        ("1", "receipt 1 did not pay for a monitor"),
        ("x", "number must be a whole number"),
        ("1.5", "number must"),
    ):
        path = f"/v1/studies/people/monitors/{number}/feed"
        answer = house.client.post(path, headers=house.made("ana"), json=body)
        assert answer.status_code == 422
        assert answer.json()["error"]["message"].startswith(wrong)
