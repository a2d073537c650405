"""What a server answers: the objects of the JSON reference, and for bad input one shape with a place and a fix."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import adyton
from adyton.curator.opening import accept_copy
from adyton.engines.duckdb import DuckDBEngine
from adyton.kernel.ledger import Header, OpenLink, Order, Receipt, replay_open
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.ledger.validity import ValidityRecord
from adyton.service.settings import Settings
from support.servers import COUNT, QUICK, Served, served, write_holdout, write_study
from support.worlds import copied, put_back

GROUPS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
LIMITED = Settings(**{**asdict(QUICK), "request_bytes": 10_000, "queries_a_batch": 3})


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Served]:
    with served([write_study(tmp_path), write_holdout(tmp_path)], LIMITED) as made:
        yield made


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for tests that charge nothing."""
    folder = tmp_path_factory.mktemp("calm")
    with served([write_study(folder), write_holdout(folder)], LIMITED) as made:
        yield made


def spent(house: Served, headers: dict[str, str]) -> str:
    return house.client.get("/v1/studies/people/budget", headers=headers).json()["spent"]["amount"]


def units(text: str) -> int:
    whole, _, rest = text.partition(".")
    return int(whole) * 10**18 + int(rest.ljust(18, "0"))


def test_an_answer_is_the_object_that_the_command_line_prints(house: Served, tmp_path: Path) -> None:
    headers = house.made("ana")
    answer = house.ask(headers, GROUPS, within=50).json()
    with adyton.open(tmp_path / "people.toml") as curator:
        again = json.loads(json.dumps(curator.ask(GROUPS, within=50).to_json()))
    assert again["repeated"]
    assert not answer["repeated"]
    same = ("query", "answer", "budget", "receipt", "certificate")
    assert {key: answer[key] for key in same} == {key: again[key] for key in same}


def test_arrow_and_csv_by_accept(house: Served) -> None:
    headers = house.made("ana")
    plain = house.ask(headers, GROUPS, within=50).json()
    table = house.ask({**headers, "Accept": "application/vnd.apache.arrow.stream"}, GROUPS, within=50)
    read = pa.ipc.open_stream(io.BytesIO(table.content)).read_all()
    assert read.column("n").to_pylist() == [row["values"]["n"]["value"] for row in plain["answer"]]
    text = house.ask({**headers, "Accept": "text/csv"}, GROUPS, within=50)
    assert text.text.splitlines()[0].startswith("region,n,n_noise_low,n_noise_high")
    assert text.headers["adyton-receipt"] == table.headers["adyton-receipt"] == "1"


def test_a_name_spends_its_part_and_no_more(house: Served) -> None:
    """Mutants: the budget share does not travel; ``left`` forgets the own part."""
    ana, ben = house.made("ana", budget_share="0.001"), house.made("ben")
    first = house.ask(ana, COUNT, share=1)
    assert first.status_code == 200
    refused = house.ask(ana, COUNT + " AND region = 'north'", within=200)
    error = refused.json()["error"]
    assert refused.status_code == 409
    assert (error["kind"], error["by"]) == ("privacy_refused", "ana")
    assert "the budget share of ana" in error["message"]
    own = house.client.get("/v1/studies/people/budget", headers=ana).json()["own"]
    assert units(own["spent"]) <= units(own["budget_share"])
    assert house.ask(ben, COUNT + " AND region = 'north'", within=200).status_code == 200


def test_an_agent_pays_at_most_its_largest_price_for_one_query(house: Served) -> None:
    """Mutant: ``charge`` of a name does not look at the largest price."""
    agent = house.made("bot", "agent", budget_share="0.5", price_share="0.0001")
    refused = house.ask(agent, COUNT, share=1)
    assert refused.status_code == 200  # a share is of what it may spend at once
    dear = house.ask(agent, COUNT + " AND region = 'north'", within=5)
    assert dear.status_code == 409
    assert dear.json()["error"]["by"] == "bot"
    assert units(dear.json()["error"]["budget"]) < units(dear.json()["error"]["requested"])


def test_what_one_name_asked_is_free_for_all_but_request_ids_are_its_own(house: Served) -> None:
    ana, ben = house.made("ana"), house.made("ben")
    first = house.ask(ana, COUNT, within=50, request="one")
    assert house.ask(ben, COUNT, within=50).json()["repeated"]
    assert (
        house.ask(ben, GROUPS, within=50, request="one").status_code == 200
    )  # ben knows nothing of ana's id
    clash = house.ask(ana, GROUPS, within=60, request="one")
    assert clash.status_code == 409
    assert clash.json()["error"]["kind"] == "request_id_used"
    again = house.ask(ana, COUNT, within=50, request="one")
    assert again.json()["answer"] == first.json()["answer"]


def test_two_analysts_cannot_read_each_other_and_both_can_replay_the_chain(house: Served) -> None:
    """Mutants: receipts of others are shown; a link says another total."""
    ana, ben, auditor = house.made("ana"), house.made("ben"), house.made("eve", "auditor")
    secret = "SELECT COUNT(*) AS secret_thought FROM people WHERE income > 77777"
    house.ask(ana, secret, within=50, request="ana's own id")
    house.ask(ben, COUNT, within=60)
    seen = house.client.get("/v1/studies/people/receipts", headers=ben)
    assert "77777" not in seen.text
    assert "ana" not in seen.text
    assert "secret" not in [r["by"] for r in seen.json()["receipts"]]
    assert [receipt["by"] for receipt in seen.json()["receipts"]] == ["ben"]
    assert [
        receipt["by"]
        for receipt in house.client.get("/v1/studies/people/receipts", headers=auditor).json()["receipts"]
    ] == ["ana", "ben"]
    header, links, own = told_back(seen.json())
    assert replay_open(header, links, own=own).receipts == 2
    broken = [
        *links[:-1],
        OpenLink(**{**{n: getattr(links[-1], n) for n in OpenLink.__slots__}, "spent": links[-1].spent - 1}),
    ]
    with pytest.raises(adyton.LedgerCorrupt):
        replay_open(header, broken, own=own)


def told_back(told: dict[str, Any]) -> tuple[Header, list[OpenLink], list[Receipt]]:
    known = told["header"]
    header = Header(known["study"], told["accounting"], units(known["budget"]), known["salt"])
    amounts = (
        "amount",
        "radius",
        "pure",
        "final_radius",
        "final_level",
        "spent",
        "spent_radius",
        "spent_pure",
    )
    links = [
        OpenLink(
            **{n: units(link[n]) if n in amounts else link[n] for n in OpenLink.__slots__}
            | {"validity": ValidityRecord.from_json(link["validity"])}
        )
        for link in told["links"]
    ]
    own = []
    for one in told["receipts"]:
        a = {n: units(one[n]) for n in (*amounts, "spent_by")}
        order = Order(
            one["query"],
            one["detail"],
            a["amount"],
            a["radius"],
            one["request"],
            by=one["by"],
            pure=a["pure"],
            subject=ReceiptSubject.from_json(one["subject"]),
            validity=ValidityRecord.from_json(one["validity"]),
        )
        own.append(
            Receipt(
                one["number"], order, a["spent"], a["spent_radius"], a["spent_pure"], one["unproved"], a["spent_by"],
                None if one["budget_share"] is None else units(one["budget_share"]), a["final_radius"], a["final_level"], one["asked_at"], one["previous"],
                one["secret"],
            )
        )  # fmt: skip
    return header, links, own


@pytest.mark.parametrize(
    "price", [{"epsilon": e} for e in (0, -1, "NaN", "inf", 1e308, "1e-30", True, [1], {"x": 1})]
)
def test_A16_odd_prices_are_refused_and_free(calm: Served, price: dict[str, Any]) -> None:
    headers = calm.made("ana")
    answer = calm.ask(headers, COUNT, **price)
    assert 400 <= answer.status_code < 500
    assert spent(calm, headers) == "0"


BAD: list[tuple[Any, int, str]] = [
    ({"query": "SELECT nope FROM people", "within": 5}, 422, "line 1, column 8"),
    ({"query": "DROP TABLE people", "within": 5}, 422, "DROP is not supported"),
    ({"query": COUNT}, 422, "price"),
    ({"query": COUNT, "within": 5, "epsilon": 1}, 422, "2 prices"),
    ({"query": COUNT, "withn": 5}, 422, "withn is not known here"),
    ({"query": 5, "within": 5}, 422, "query must be text"),
    ({"within": 5}, 422, "query is missing"),
    ([], 422, "body"),
    ({"query": COUNT, "within": 5, "request": "x" * 201}, 422, "request"),
    ({"query": COUNT, "within": 5, "request": "a\nb"}, 422, "printable"),
    ({"query": "x" * 20_000, "within": 5}, 413, "bytes"),
]


@pytest.mark.parametrize(("body", "status", "said"), BAD)
def test_bad_input_gets_a_place_and_a_fix(calm: Served, body: Any, status: int, said: str) -> None:
    headers = calm.made("ana")
    answer = calm.client.post("/v1/studies/people/ask", headers=headers, json=body)
    assert answer.status_code == status, answer.text
    assert said in answer.json()["error"]["message"]
    assert spent(calm, headers) == "0"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"query": NaN}', b"[" * 5000])
def test_what_is_no_json_is_refused(calm: Served, content: bytes) -> None:
    headers = {**calm.made("ana"), "Content-Type": "application/json"}
    answer = calm.client.post("/v1/studies/people/ask", headers=headers, content=content)
    assert answer.status_code == 422
    assert answer.json()["error"]["kind"] == "invalid_request"


def test_a_batch_is_bounded(calm: Served) -> None:
    headers = calm.made("ana")
    body = {"queries": [COUNT] * 4, "within": 50}
    answer = calm.client.post("/v1/studies/people/ask_many", headers=headers, json=body)
    assert (answer.status_code, "at most 3" in answer.text) == (422, True)


def test_a_failing_engine_is_502_with_a_reference_and_tells_nothing(
    house: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A19.  Mutant: the text of the error is logged."""
    headers = house.made("ana")

    def failing(*_: object) -> Any:
        raise RuntimeError("canary 77123")

    monkeypatch.setattr(DuckDBEngine, "exact", failing)
    with caplog.at_level(logging.DEBUG):
        answer = house.ask(headers, COUNT, within=50)
    assert answer.status_code == 502
    reference = answer.json()["error"]["reference"]
    assert "77123" not in answer.text
    assert "77123" not in caplog.text
    assert reference in caplog.text
    monkeypatch.undo()
    again = house.ask(headers, COUNT, within=50)  # under the same receipt
    assert again.status_code == 200
    assert again.json()["receipt"]["number"] == 1


def test_what_nobody_expected_is_one_constant_body(
    house: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Mutant: the guard lets the error through, so that its text is logged with a traceback."""
    headers = house.made("ana")
    from adyton.service.studies import ServedStudy

    def failing(*_: object) -> Any:
        raise ZeroDivisionError("canary 77123")

    monkeypatch.setattr(ServedStudy, "facts", failing)
    with caplog.at_level(logging.DEBUG):
        answer = house.client.get("/v1/studies/people", headers=headers)
    assert answer.status_code == 500
    assert set(answer.json()["error"]) == {"kind", "message", "reference"}
    assert "77123" not in answer.text + caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert answer.json()["error"]["reference"] in caplog.text


def test_logs_and_metrics_hold_no_text_value_or_token(
    house: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """A19.  Mutant: the path is logged as it was typed."""
    headers = house.made("ana")
    with caplog.at_level(logging.DEBUG, "adyton"):
        house.ask(
            headers,
            "SELECT COUNT(*) AS canary77 FROM people WHERE income > 77123",
            within=50,
            request="canary77",
        )
        house.client.get("/v1/studies/canary77", headers=headers)
        house.client.get("/canary77?canary77=1", headers={**headers, "X-Canary": "canary77"})
    said = caplog.text
    assert '"route": "/v1/studies/{study}/ask"' in said
    assert "canary77" not in said
    assert "77123" not in said
    assert headers["Authorization"].split()[1] not in said


def test_a_server_that_is_full_refuses_at_once_and_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: places are never given back; more than ``places`` are taken."""
    settings = Settings(**{**asdict(QUICK), "places": 2, "places_by_token": 1})
    held, inside, exact = threading.Event(), threading.Semaphore(0), DuckDBEngine.exact

    def slow(self: DuckDBEngine, *readings: Any) -> Any:
        inside.release()
        assert held.wait(30)
        return exact(self, *readings)

    with served([write_study(tmp_path)], settings) as house:
        ana, ben, cal = (house.made(name) for name in ("ana", "ben", "cal"))
        monkeypatch.setattr(DuckDBEngine, "exact", slow)
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(house.ask, ana, COUNT, within=50)
            assert inside.acquire(timeout=30)
            of_one = house.ask(ana, GROUPS, within=50)
            assert (of_one.status_code, of_one.headers["retry-after"]) == (429, "1")
            second = pool.submit(house.ask, ben, GROUPS, within=50)
            assert inside.acquire(timeout=30)
            full = house.ask(cal, GROUPS, within=51)
            assert (full.status_code, full.json()["error"]["kind"], full.headers["retry-after"]) == (
                503,
                "busy",
                "1",
            )
            assert house.client.get("/healthz").status_code == 200
            held.set()
            assert [first.result().status_code, second.result().status_code] == [200, 200]
        assert house.ask(cal, GROUPS, within=51).status_code == 200
        assert len(house.client.get("/v1/studies/people/receipts", headers=cal).json()["links"]) == 3


def test_nobody_waits_for_those_whose_queries_take_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: the next query waits until the one before is done."""
    held, inside, exact = threading.Event(), threading.Semaphore(0), DuckDBEngine.exact

    def slow(self: DuckDBEngine, *readings: Any) -> Any:
        inside.release()
        assert held.wait(30)
        return exact(self, *readings)

    with served([write_study(tmp_path)]) as house:
        ana = house.made("ana")
        known = house.ask(ana, GROUPS, within=50)
        monkeypatch.setattr(DuckDBEngine, "exact", slow)
        with ThreadPoolExecutor(6) as pool:
            long = [pool.submit(house.ask, ana, COUNT, within=50 + i) for i in range(6)]
            assert all(inside.acquire(timeout=30) for _ in long)
            again = house.ask(ana, GROUPS, within=50)
            assert (again.json()["repeated"], again.json()["answer"]) == (True, known.json()["answer"])
            held.set()
            assert {one.result().status_code for one in long} == {200}


def test_too_many_requests_are_refused(tmp_path: Path) -> None:
    settings = Settings(**{**asdict(QUICK), "rate_by_token": 5})
    with served([write_study(tmp_path)], settings) as house:
        headers = house.made("ana")
        statuses = [house.client.get("/v1/studies/people", headers=headers).status_code for _ in range(6)]
        assert statuses == [200] * 5 + [429]
        assert house.client.get("/v1/studies/people", headers=house.made("ben")).status_code == 200


def test_a_monitor_belongs_to_whoever_opened_it(house: Served) -> None:
    ana, ben = house.made("ana"), house.made("ben", "owner")
    number = house.client.post(
        "/v1/studies/people/monitors", headers=ana, json={"positives": 2, "share": 0.1}
    ).json()["receipt"]["number"]
    path = f"/v1/studies/people/monitors/{number}"
    fed = house.client.post(f"{path}/feed", headers=ana, json={"query": COUNT, "above": 100})
    assert fed.json()["above"] is True
    assert house.client.get(path, headers=ana).json()["answers"] == [fed.json()]
    foreign = house.client.post(f"{path}/feed", headers=ben, json={"query": COUNT, "above": 100})
    missing = house.client.post(
        "/v1/studies/people/monitors/77/feed", headers=ben, json={"query": COUNT, "above": 100}
    )
    assert foreign.status_code == 404
    assert foreign.content == missing.content


def test_made_up_rows_are_free_and_marked(calm: Served) -> None:
    headers = calm.made("ana")
    answer = calm.client.post(
        "/v1/studies/people/mock/ask", headers=headers, json={"query": COUNT, "epsilon": 9.9}
    ).json()
    assert answer["mock"] is True
    assert spent(calm, headers) == "0"
    again = calm.client.post(
        "/v1/studies/people/mock/ask", headers=headers, json={"query": COUNT, "epsilon": 9.9}
    )
    assert again.status_code == 200  # its budget is thrown away each time


def test_scores_comparisons_and_standings(house: Served) -> None:
    headers, labels = house.made("ana", study="test"), np.random.default_rng(2).integers(0, 2, 2000)
    score = house.client.post(
        "/v1/holdouts/test/score", headers=headers, json={"predictions": labels.tolist()}
    ).json()
    assert score["value"] > 0.85
    worse = {"first": labels.tolist(), "second": [0] * 2000}
    assert house.client.post("/v1/holdouts/test/compare", headers=headers, json=worse).json()["value"] > 0.2
    (entry,) = house.client.get("/v1/holdouts/test/standings", headers=headers).json()
    assert (entry["entrant"], entry["rank"]) == ("ana", 1)
    for wrong in ([1], [[1]] * 2000, [None] * 2000, ["x"] * 1999, [1, "a"] * 1000, [1e400] * 2000):
        bad = house.client.post(
            "/v1/holdouts/test/score", headers=headers, content=json.dumps({"predictions": wrong})
        )
        assert bad.status_code == 422, wrong[:2]


def test_tokens_over_http(house: Served) -> None:
    owner = house.made("boss", "owner")
    made = house.client.post(
        "/v1/tokens/people", headers=owner, json={"name": "ana", "role": "analyst", "budget_share": "0.25"}
    ).json()
    ana = {"Authorization": f"Bearer {made['token']}"}
    assert house.ask(ana, COUNT, within=50).status_code == 200
    listed = house.client.get("/v1/tokens/people", headers=owner)
    assert made["token"] not in listed.text
    assert made["id"] in listed.text
    house.client.post("/v1/tokens/people/revoke", headers=owner, json={"token": made["id"]})
    assert house.ask(ana, COUNT, within=50).status_code == 401


def test_no_header_names_a_version(calm: Served) -> None:
    for answer in (
        calm.client.get("/healthz"),
        calm.client.get("/nothing"),
        calm.client.get("/v1/studies"),
    ):
        assert "server" not in answer.headers
        assert not any(
            "python" in value.lower() or "uvicorn" in value.lower() for value in answer.headers.values()
        )


def test_a_study_with_a_shared_budget_is_charged_there_too_by_whoever_asks(tmp_path: Path) -> None:
    """Mutant: ``with_shared_budget`` does not look behind the ledger of a name."""
    shared_budget = {
        "adjacency": "replace-one",
        "unit": "row",
        "epsilon": 10,
        "delta": "1e-9",
        "accounting": "gdp",
    }
    adyton.SharedBudget.create(tmp_path / "all.ledger", **shared_budget, rows="related").close()
    studies = [write_study(tmp_path, name) for name in ("people", "other")]
    for study in studies:
        said = study.read_text().replace("delta = 1e-9", 'delta = 1e-9\nshared_budget = "all.ledger"')
        study.write_text(said, encoding="utf-8")
    with served(studies, LIMITED) as house:
        ana, ben = house.made("ana"), house.made("ben", study="other")
        assert house.ask(ana, COUNT, within=30).status_code == 200
        alone = house.ask(ben, COUNT, study="other", within=30).json()
        assert "SHARED-BUDGET" in alone["certificate"]["theorems"]
        told = house.client.get("/v1/studies/other/budget", headers=ben).json()
        assert units(told["spent"]["amount"]) < units(told["shared_budget"]["spent"]["amount"])


def test_pages_of_the_chain_go_on_over_lost_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that was put back has a gap.  Mutant: a page that is not full is taken for the last one."""
    monkeypatch.setattr("adyton.service.studies.PAGE", 2)
    study = write_study(tmp_path, more='\n[ledger]\ncheckpoint = "people.checkpoint"\n')
    with adyton.open(study) as curator:
        curator.ask(COUNT, within=100)
    copy = copied(study, "copy.ledger")
    with adyton.open(study) as curator:
        for number in range(5):
            curator.ask(f"{COUNT} AND income < {40000 + number}", within=100)
    put_back(study, copy)
    accept_copy(study)
    with served([study], LIMITED) as house:
        headers, after, numbers = house.made("eve", "auditor"), 0, []
        while after is not None:
            page = house.client.get(f"/v1/studies/people/receipts?after={after}", headers=headers).json()
            numbers += [link["number"] for link in page["links"]]
            after = page["next"]
        assert numbers == [1, 7]
        for last, expected in ((1, [7]), (6, [7]), (7, [1, 7])):
            page = house.client.get(f"/v1/studies/people/receipts?last={last}", headers=headers).json()
            assert [link["number"] for link in page["links"]] == expected
        for last in ("0", "501", "x"):
            assert (
                house.client.get(f"/v1/studies/people/receipts?last={last}", headers=headers).status_code
                == 422
            )
