"""Agents at a server: every tool through the SDK's own client, for every role; what is refused, and how it is said."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import re
import runpy
import threading
import unittest.mock
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams
from prometheus_client import generate_latest

from adyton.engines.duckdb import DuckDBEngine
from adyton.operations.roles import Action, Role, may
from adyton.service import grid
from adyton.service.settings import Settings
from adyton.transports.http.app import make_app
from adyton.transports.mcp.server import Agents
from adyton.transports.mcp.tools import TOOLS
from support.agents import META, PLACE, VERSION, Doors, called, said, with_doors
from support.servers import COUNT, QUICK, write_holdout, write_study

GROUPS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
GUESSES = np.zeros(2000, int).tolist()
OTHERS = [1, *GUESSES[1:]]
NEWEST = "the newest receipt"
# Each tool with what it takes: the action that it is, and arguments that are fine in themselves.
CALLS: dict[str, tuple[Action | None, dict[str, Any]]] = {
    "list_studies": (None, {}),
    "describe": (Action.LOOK, {"name": "people"}),
    "preview": (Action.PREVIEW, {"study": "people", "query": COUNT, "within": 100}),
    "ask": (Action.ASK, {"study": "people", "query": COUNT, "within": 100}),
    "ask_many": (Action.ASK, {"study": "people", "queries": [COUNT, GROUPS], "within": 100}),
    "try_on_mock": (Action.TRY, {"study": "people", "query": COUNT, "within": 100}),
    "budget": (Action.BUDGET, {"name": "people"}),
    "try_many_on_mock": (Action.TRY, {"study": "people", "queries": [COUNT, GROUPS], "within": 100}),
    "last_look": (Action.ALL_RECEIPTS, {"study": "people", "alpha": 0.05}),
    "suggest_bounds": (Action.ASK, {"study": "people", "column": "income", "share": 0.1}),
    "preview_monitor": (Action.PREVIEW, {"study": "people", "positives": 1, "share": 0.01}),
    "open_monitor": (Action.ASK, {"study": "people", "positives": 1, "share": 0.01}),
    "monitor": (Action.ASK, {"study": "people", "number": NEWEST}),
    "feed_monitor": (Action.ASK, {"study": "people", "number": NEWEST, "query": COUNT, "above": 10}),
    "close_monitor": (Action.ASK, {"study": "people", "number": NEWEST}),
    "receipts": (Action.OWN_RECEIPTS, {"name": "people"}),
    "verify": (Action.VERIFY, {"name": "people"}),
    "standings": (Action.STANDINGS, {"holdout": "test"}),
    "scores": (Action.OWN_RECEIPTS, {"holdout": "test"}),
    "submit_on_holdout": (Action.SCORE, {"holdout": "test", "predictions": GUESSES, "name": "a model"}),
    "best_on_holdout": (Action.SCORE, {"holdout": "test", "models": {"a": GUESSES, "b": OTHERS}}),
    "close_holdout": (Action.CLOSE, {"holdout": "ending", "predictions": GUESSES}),
    "score_on_holdout": (Action.SCORE, {"holdout": "test", "predictions": GUESSES}),
    "compare_on_holdout": (Action.SCORE, {"holdout": "test", "first": GUESSES, "second": OTHERS}),
}
ASKED = {"study": "people", "query": COUNT}
NAMES = ("study", "holdout", "name")
CHARGED = ("ask", "ask_many", "suggest_bounds", "open_monitor")
PATIENCE = 30.0
ROOT = Path(__file__).parents[3]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    holdouts = [write_holdout(tmp_path), write_holdout(tmp_path, "ending")]
    return [write_study(tmp_path), write_study(tmp_path, "other"), *holdouts]


def of(tool: str) -> str:
    """What its arguments name."""
    arguments = CALLS[tool][1]
    return next((str(arguments[name]) for name in NAMES if name in arguments), "people")


def role_for(tool: str) -> Role:
    action = CALLS[tool][0]
    return Role.ANALYST if action is None or may(Role.ANALYST, action) else Role.OWNER


async def ready(doors: Doors, headers: dict[str, str], arguments: dict[str, Any]) -> dict[str, Any]:
    """With the number of a monitor that was just opened, where one is meant."""
    if arguments.get("number") != NEWEST:
        return arguments
    async with doors.http(headers) as http:
        opened = await http.post("/v1/studies/people/monitors", json={"positives": 2, "share": 0.001})
    return {**arguments, "number": opened.json()["receipt"]["number"] if opened.status_code == 200 else 1}


def test_every_tool_answers_in_words_and_in_structure(files: list[Path]) -> None:
    """Mutants: an interval less in the words; ``own`` is left out; no advice.  Old clients, with a handshake, too."""

    async def work(doors: Doors) -> None:
        for mode in ("auto", "legacy"):
            for tool, (_, arguments) in CALLS.items():
                role = role_for(tool)
                share = {} if tool == "close_holdout" else {"budget_share": "0.5"}
                headers = doors.made(f"{mode} {tool}", role, study=of(tool), **share)
                known = {one for one, (action, _) in CALLS.items() if action is None or may(role, action)}
                given = await ready(doors, headers, arguments)
                async with doors.agent(headers, mode) as agent:
                    assert {one.name for one in (await agent.list_tools()).tools} == known
                    result = await agent.call_tool(tool, given)
                assert not result.is_error, said(result)
                assert "Next: " in said(result)
                assert "onfidence interval" not in said(result)
                assert isinstance(result.structured_content, dict)
                if tool in ("ask", "ask_many"):
                    shape = r"n = [-\d,]+, noise interval [-\d,]+ to [\d,]+ \(95 %\), population interval [\d,]+ to [\d,]+ \(95 %\)"
                    assert re.search(shape, said(result))
                    assert "Left to you: " in said(result)
                    assert result.structured_content["own"]["by"] == f"{mode} {tool}"

    with_doors(files, work)


def test_an_answer_is_the_object_that_http_gives(files: list[Path]) -> None:
    async def work(doors: Doors) -> None:
        headers = doors.made("ana")
        async with doors.agent(headers) as agent, doors.http(headers) as http:
            asked = await agent.call_tool("ask", {"study": "people", "query": GROUPS, "within": 50})
            same = await http.post("/v1/studies/people/ask", json={"query": GROUPS, "within": 50})
            facts = await agent.call_tool("describe", {"name": "people"})
            assert facts.structured_content == (await http.get("/v1/studies/people")).json()
        first, again = asked.structured_content["answer"], same.json()
        kept = ("query", "answer", "budget", "receipt", "certificate")
        assert {key: first[key] for key in kept} == {key: again[key] for key in kept}
        assert again["repeated"]

    with_doors(files, work)


def test_every_role_at_every_tool(files: list[Path]) -> None:
    """A27 at this door.  Mutant: one tool asks for another action."""

    async def work(doors: Doors) -> None:
        for role in Role:
            for tool, (action, arguments) in CALLS.items():
                headers = doors.made(f"{role}", role, study=of(tool))
                given = await ready(doors, headers, arguments)
                async with doors.http(headers) as http:
                    result = (await called(http, tool, given)).json()["result"]
                allowed = action is None or may(role, action)
                assert result.get("isError", False) is not allowed, (role, tool, result)
                if not allowed:
                    assert result["structuredContent"]["error"]["kind"] == "forbidden"

    with_doors(files, work)


def test_nobody_gets_in_without_a_token_and_a_revoked_one_ends_at_once(files: list[Path]) -> None:
    """Missing, malformed, unknown, revoked: one body.  Mutant: the verifier keeps whom it has seen."""

    async def work(doors: Doors) -> None:
        good = doors.made("ana")
        bad = [
            {}, {"Authorization": "Basic abc"}, {"Authorization": "Bearer "}, {"Authorization": "Bearer x"},
            {"Authorization": "Bearer adyton_" + "0" * 64}, {"Authorization": "Bearer " + "x" * 9000},
        ]  # fmt: skip
        async with doors.agent(good) as agent:
            assert not (await agent.call_tool("ask", {**ASKED, "within": 500})).is_error
            spent = doors.spent()
            doors.study().tokens.revoke("ana")
            with pytest.raises(MCPError):
                await agent.call_tool("ask", {**ASKED, "within": 400})
        seen = set()
        for headers in [*bad, good]:
            async with doors.http(headers) as http:
                answer = await called(http, "ask", {**ASKED, "within": 300})
                seen.add((answer.status_code, answer.content, answer.headers["www-authenticate"]))
        assert len(seen) == 1
        assert seen.pop()[0] == 401
        assert doors.spent() == spent

    with_doors(files, work)


SENT: list[tuple[dict[str, str], int]] = [
    ({"Host": "127.0.0.1:8000"}, 200),
    ({"Host": "localhost"}, 200),
    ({"Host": "stats.example.org"}, 200),
    ({"Host": "stats.example.org:8443", "Origin": "https://stats.example.org"}, 200),
    ({"Origin": "http://localhost:3000"}, 200),
    ({"Host": "evil.example"}, 421),
    ({"Host": "stats.example.org.evil.example"}, 421),
    ({"Host": "127.0.0.1.evil.example:8000"}, 421),
    ({"Host": "evil.example:8000", "Origin": "http://evil.example:8000"}, 421),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "http://stats.example.org"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://localhost.evil.example"}, 403),
]


def test_host_and_origin_are_those_of_the_server(files: list[Path], caplog: pytest.LogCaptureFixture) -> None:
    """Mutants: no transport security; the SDK logs what was sent in their place."""

    async def work(doors: Doors) -> None:
        for number, (headers, status) in enumerate(SENT):
            before = doors.spent()
            async with doors.http({**doors.made("ana"), **headers}) as http:
                answer = await called(http, "ask", {**ASKED, "within": 500 - number})
            assert answer.status_code == status, headers
            assert (doors.spent() > before) is (status == 200), headers

    with_doors(files[:1], work, Settings(**{**asdict(QUICK), "names": ("stats.example.org",)}))
    assert "evil" not in caplog.text


WRONG = [
    ("ask", {**ASKED, "wthin": 50}, "wthin is not known here"),
    ("ask", {**ASKED, "within": 50, "limit": 1000}, "limit is not known here"),
    ("ask", {**ASKED, "within": 50, "token": "adyton_"}, "token is not known here"),
    ("ask", {**ASKED, "within": 50, "path": "/etc/passwd"}, "path is not known here"),
    ("ask", {**ASKED, "within": 50, "by": "owner"}, "by is not known here"),
    ("ask", {"study": "people", "within": 50}, "query is missing"),
    ("ask", {"query": COUNT, "within": 50}, "study is missing"),
    ("ask", {**ASKED, "query": ["SELECT"], "within": 50}, "query must be text"),
    ("ask", {**ASKED, "study": "x" * 300, "within": 50}, "study"),
    ("ask", {**ASKED, "within": True}, "within"),
    ("ask", {**ASKED, "within": 50, "expected_rows": "many"}, "expected_rows must be a whole number"),
    ("ask", {**ASKED, "within": 50, "request": ""}, "request"),
    ("ask_many", {"study": "people", "queries": COUNT, "within": 50}, "queries must be a list"),
    ("ask_many", {"study": "people", "queries": [], "within": 50}, "queries"),
    ("preview", {"study": "people", "within": 50}, "give query, or queries"),
    ("preview", {**ASKED, "queries": [COUNT], "within": 50}, "give query, or queries"),
    ("budget", {}, "name is missing"),
    ("list_studies", {"folder": "/"}, "folder is not known here"),
    ("score_on_holdout", {"holdout": "test", "predictions": 3}, "predictions must be a list"),
    ("compare_on_holdout", {"holdout": "test", "first": GUESSES}, "second is missing"),
]


def test_arguments_outside_the_schema_are_refused_before_any_planning(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: unknown words are let through; the study is looked for before the arguments."""

    async def work(doors: Doors) -> None:
        looked: list[str] = []
        for name in ("study", "holdout", "anything"):
            kept = getattr(doors.house, name)
            monkeypatch.setattr(
                doors.house, name, lambda *words, kept=kept: (looked.append("looked"), kept(*words))[1]
            )
        async with doors.http(doors.made("ana")) as http:
            for tool, arguments, expected in WRONG:
                result = (await called(http, tool, arguments)).json()["result"]
                assert result["isError"], (tool, arguments)
                assert result["structuredContent"]["error"]["kind"] == "invalid_request"
                assert expected in result["content"][0]["text"]
                assert "nothing was charged" in result["content"][0]["text"]
        assert looked == []

    with_doors(files, work)


def test_what_does_not_exist_and_what_is_not_yours_look_the_same(files: list[Path]) -> None:
    """Mutant: a foreign study is forbidden, so that its name is known to exist."""

    async def work(doors: Doors) -> None:
        async with doors.http(doors.made("stranger", "owner", study="other")) as http:
            for tool, (action, arguments) in CALLS.items():
                if action is None:
                    continue
                place = next(name for name in NAMES if name in arguments)
                given = {**arguments, "number": 1} if "number" in arguments else arguments
                foreign, missing = [
                    (await called(http, tool, {**given, place: name})).content
                    for name in (arguments[place], "nothing")
                ]
                assert foreign == missing
                assert b"not_found" in foreign

    with_doors(files, work)


def test_a_call_that_is_sent_again_is_one_charge(files: list[Path]) -> None:
    """Under its id; and by share, as the same query at the same share is a repeat.

    Mutants: no id is made; the id does not depend on the call, or not on what is asked.
    """

    async def work(doors: Doors) -> None:
        async with doors.http(doors.made("ana")) as http:

            async def ask(number: Any, **words: Any) -> dict[str, Any]:
                arguments = {**ASKED, "share": 0.01} | words
                result = (await called(http, "ask", arguments, number)).json()["result"]
                assert not result.get("isError"), result
                return dict(result["structuredContent"]["answer"])

            first, again, text = await ask(7), await ask(7), await ask("7")
            assert again["receipt"] == first["receipt"]
            assert again["answer"] == first["answer"]
            assert again["repeated"]
            assert (text["receipt"], text["answer"]) == (first["receipt"], first["answer"])  # another id
            assert (await ask(8, share=0.02))["receipt"]["number"] == 2
            assert (await ask(7, query=GROUPS))["receipt"]["number"] == 3
            batch = {"study": "people", "queries": [COUNT, GROUPS], "share": 0.01}
            for _ in range(3):
                result = (await called(http, "ask_many", batch, 7)).json()["result"]
                assert result["structuredContent"]["answers"][0]["receipt"]["number"] == 4
            own = [await ask(number, share=0.03, request="mine") for number in (20, 21)]
            assert own[0]["receipt"] == own[1]["receipt"]
            assert doors.study()._curator.ledger.count() == 5
            clash = (await called(http, "ask", {**ASKED, "within": 70, "request": "mine"}, 22)).json()[
                "result"
            ]
            assert clash["structuredContent"]["error"]["kind"] == "request_id_used"

    with_doors(files, work)


def test_a_refusal_says_what_would_fit_and_that_fits(files: list[Path]) -> None:
    async def work(doors: Doors) -> None:
        headers = doors.made("bot", "agent", budget_share="0.01", price_share="0.005")
        async with doors.agent(headers) as agent:
            refused = await agent.call_tool("ask", {**ASKED, "within": 1})
            assert refused.is_error
            (fits,) = re.findall(r"within = (\d+) would fit now", said(refused))
            assert "free of charge" in said(refused)
            assert doors.spent() == 0
            assert refused.structured_content["error"]["fits"] == {"within": fits}
            assert not (await agent.call_tool("ask", {**ASKED, "within": int(fits)})).is_error
            previewed = await agent.call_tool("preview", {"study": "people", "query": GROUPS, "within": 1})
            assert not previewed.is_error
            assert "It does not fit. Next: within = " in said(previewed)

    with_doors(files, work)


def test_resources_and_the_prompt(files: list[Path]) -> None:
    """Mutant: resources of all studies are listed, or read, for everybody."""

    async def work(doors: Doors) -> None:
        async with doors.agent(doors.made("ana")) as agent:
            listed = [str(one.uri) for one in (await agent.list_resources()).resources]
            assert listed == ["adyton://grammar", "adyton://facts/people"]
            facts = json.loads((await agent.read_resource("adyton://facts/people")).contents[0].text)
            assert facts["tables"][0]["columns"][0]["name"] == "income"
            assert "COUNT(*)" in (await agent.read_resource("adyton://grammar")).contents[0].text
            texts = set()
            for uri in (
                "adyton://facts/other",
                "adyton://facts/nothing",
                "adyton://facts/../other",
                "file:///etc/passwd",
            ):
                with pytest.raises(MCPError) as refused:
                    await agent.read_resource(uri)
                texts.add(str(refused.value))
            assert len(texts) == 1
            (prompt,) = (await agent.list_prompts()).prompts
            plain = await agent.get_prompt(prompt.name)
            told = await agent.get_prompt(prompt.name, {"study": "people"})
            assert "preview" in plain.messages[0].content.text
            assert "income: real" in told.messages[0].content.text
            for name, arguments in (
                (prompt.name, {"study": "other"}),
                (prompt.name, {"path": "x"}),
                ("gone", {}),
            ):
                with pytest.raises(MCPError):
                    await agent.get_prompt(name, arguments)

    with_doors(files, work)


def test_the_prompt_and_every_description_name_the_two_intervals() -> None:
    """The prompt and every description speak of the two intervals by their names."""
    from adyton.transports.mcp import guide

    every = " ".join(
        [guide.INSTRUCTIONS, guide.GUIDE, guide.GRAMMAR, *(one.description for one in TOOLS.values())]
    )
    assert "noise interval" in every
    assert "population interval" in every
    assert "confidence interval" not in every


def test_no_tool_has_a_word_for_a_limit_a_token_or_a_path() -> None:
    """Mutant: one more argument."""
    words = {word for tool in TOOLS.values() for word in tool.takes.model_fields}
    assert words == {
        "name", "study", "holdout", "query", "queries", "predictions", "guess", "first", "second", "within",
        "epsilon", "share", "scale", "expected_rows", "expect", "dialect", "strategy", "request", "alpha", "p_value",
        "null", "method", "column", "low_fraction", "high_fraction", "where", "positives", "of", "numeric", "refresh",
        "number", "above", "after", "last", "head", "entrant", "models", "scores",
    }  # fmt: skip
    assert all(tool.takes.model_json_schema()["additionalProperties"] is False for tool in TOOLS.values())


def test_answers_that_read_data_leave_on_the_grid_and_nothing_else_waits(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants: a tool works without the desk; a failure leaves at once."""
    slept: list[float] = []
    monkeypatch.setattr(grid.time, "sleep", slept.append)
    exact = DuckDBEngine.exact
    failing: list[bool] = []

    def scan(*words: Any) -> Any:
        if failing:
            raise RuntimeError("8675309")
        return exact(*words)

    monkeypatch.setattr(DuckDBEngine, "exact", scan)

    async def work(doors: Doors) -> None:
        for tool, (_, arguments) in CALLS.items():
            headers = doors.made(f"{tool}", role_for(tool), study=of(tool))
            given = await ready(doors, headers, arguments)
            async with doors.http(headers) as http:
                for waits in (True, False):  # the second time it is a repeat
                    slept.clear()
                    assert not (await called(http, tool, given)).json()["result"].get("isError")
                    reads = (tool in CHARGED and waits) or "holdout" in tool or tool == "feed_monitor"
                    assert any(seconds > 0 for seconds in slept) is reads, tool
        async with doors.http(doors.made("late")) as http:
            failing.append(True)
            slept.clear()
            failed = (await called(http, "ask", {**ASKED, "within": 123})).json()["result"]
            assert failed["structuredContent"]["error"]["kind"] == "engine_failed"
            assert "8675309" not in str(failed)
            assert any(seconds > 0 for seconds in slept)

    with_doors(files, work, Settings(**{**asdict(QUICK), "tick": 0.05}))


def test_a_call_that_is_cancelled_goes_on_and_keeps_its_place(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid for by then: its answer is kept.  Mutant: the call is cancelled, and its place is free at once."""
    entered, go_on, exact = threading.Event(), threading.Event(), DuckDBEngine.exact

    def slow(*words: Any) -> Any:
        entered.set()
        assert go_on.wait(PATIENCE)
        return exact(*words)

    monkeypatch.setattr(DuckDBEngine, "exact", slow)

    async def work(doors: Doors) -> None:
        desk = doors.app.state.desk
        visitor = await desk.holder(doors.made("ana")["Authorization"].removeprefix("Bearer "))
        agents = Agents(desk, lambda _: visitor, "")
        params = CallToolRequestParams(name="ask", arguments={**ASKED, "within": 50})
        context = unittest.mock.Mock(request_id=1)
        call = asyncio.ensure_future(agents._call_tool(context, params))
        await asyncio.to_thread(entered.wait, PATIENCE)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert desk._places.taken == 1
        go_on.set()
        again = await agents._call_tool(context, params)
        assert again.structured_content["answer"]["receipt"]["number"] == 1
        assert again.structured_content["answer"]["answer"]
        async with asyncio.timeout(PATIENCE):
            while desk._places.taken:
                await asyncio.sleep(0.01)

    with_doors(files, work)


def test_rates_and_places_hold_at_this_door(files: list[Path]) -> None:
    """Mutants: requests of a token are not counted; those of an address are not."""

    async def work(doors: Doors) -> None:
        slow = doors.made("slow", "agent", rate=3)
        async with doors.http(slow) as http:
            answers = [await called(http, "list_studies", {}, number) for number in range(5)]
        assert [answer.status_code for answer in answers] == [200] * 3 + [429] * 2
        assert int(answers[-1].headers["retry-after"]) > 0
        async with doors.http({}) as http:
            statuses = [(await called(http, "list_studies", {})).status_code for _ in range(12)]
        assert statuses[-1] == 429

    with_doors(files, work, Settings(**{**asdict(QUICK), "rate_by_address": 12}))


def test_too_many_bytes_and_what_is_no_call(files: list[Path]) -> None:
    """Others live on."""

    async def work(doors: Doors) -> None:
        async with doors.http(doors.made("ana")) as http:
            large = await called(http, "ask", {**ASKED, "query": "x" * 20_000, "within": 5})
            assert large.status_code == 413
            headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
            modern = {**headers, "MCP-Protocol-Version": VERSION}
            for given in (headers, modern):
                for body in (b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"[" * 5000, b"\xff\xfe"):
                    answer = await http.post("/mcp", content=body, headers=given)
                    assert 400 <= answer.status_code < 500, (body[:20], answer.status_code)
            deep: Any = "x"
            for _ in range(200):
                deep = [deep]
            odd = [
                {"name": "ask", "arguments": deep, "_meta": META},
                {"name": 3, "_meta": META},
                {"_meta": META},
            ]
            for params in odd:
                body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                named = {**modern, "Mcp-Method": "tools/call", "Mcp-Name": "ask"}
                assert (await http.post("/mcp", json=body, headers=named)).status_code < 500
            for method, given in itertools.product(("GET", "DELETE", "PUT", "OPTIONS"), (headers, modern)):
                async with asyncio.timeout(PATIENCE):  # a stream that stays open would never end
                    assert (await http.request(method, "/mcp", headers=given)).status_code == 405
            batch = {"study": "people", "queries": [COUNT] * 4, "within": 500}
            refused = (await called(http, "ask_many", batch)).json()["result"]
            assert "at most 3 queries" in refused["content"][0]["text"]
            unknown = (await called(http, "raise_limit", {"epsilon": 100})).json()
            assert unknown["error"]["code"] == -32602
            assert doors.spent() == 0
            assert "result" in (await called(http, "ask", {**ASKED, "within": 500})).json()

    limited = {"request_bytes": 10_000, "queries_a_batch": 3}
    with_doors(files, work, Settings(**{**asdict(QUICK), **limited}))


def test_what_nobody_expected_is_told_by_its_kind_alone(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Mutant: the text of the exception is passed on."""
    from adyton.service.studies import ServedStudy

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("canary 8675309")

    monkeypatch.setattr(ServedStudy, "perform", broken)

    async def work(doors: Doors) -> None:
        async with doors.agent(doors.made("ana")) as agent:
            result = await agent.call_tool("ask", {**ASKED, "within": 50})
        assert result.is_error
        error = result.structured_content["error"]
        assert error["kind"] == "failed"
        assert error["reference"] in said(result)
        assert "8675309" not in str(result)
        assert f"a tool failed with RuntimeError (reference {error['reference']})" in caplog.text
        assert "8675309" not in caplog.text

    with caplog.at_level(logging.DEBUG):
        with_doors(files, work)


def test_nothing_that_was_typed_is_counted_or_logged(
    files: list[Path], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor in a span.  Mutant: the SDK makes its own, with names as they were typed."""
    spans, counted = list[str](), list[str]()

    def span(name: str, **_: Any) -> contextlib.AbstractContextManager[Any]:
        spans.append(name)
        return contextlib.nullcontext(unittest.mock.MagicMock())

    monkeypatch.setattr("mcp.server._otel.otel_span", span)

    async def work(doors: Doors) -> None:
        app = make_app(doors.house, mcp=True)
        async with app.router.lifespan_context(app), httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url=PLACE, headers=doors.made("ana")
        ) as http:  # fmt: skip
            await called(http, "ask", {**ASKED, "query": "SELECT canary FROM people", "within": 5})
            await called(http, "canary", {"canary": "canary"})
            await called(http, "ask", {**ASKED, "query": COUNT.replace("AS n", "AS canary"), "within": 500})
        counted.append(generate_latest(app.state.metrics.registry).decode())

    with caplog.at_level(logging.DEBUG):
        with_doors(files, work)
    (shown,) = counted
    ours = " ".join(
        record.getMessage() for record in caplog.records if record.name.startswith(("adyton", "mcp"))
    )
    assert 'route="/mcp"' in shown
    assert "canary" not in shown + ours + "".join(spans)


def test_the_page_names_every_tool_and_every_argument() -> None:
    """Written by docs/make_http_reference.py.  Mutant: a tool or an argument more."""
    page = (ROOT / "docs" / "reference" / "mcp.md").read_text(encoding="utf-8")
    section = page.partition("## Tools")[2].partition("## Results")[0]
    tools, arguments = section.split("| argument |")
    assert re.findall(r"^\| `(\w+)` \|", tools, flags=re.MULTILINE) == list(TOOLS)
    listed = {
        (word, tool)
        for word, whose in re.findall(r"^\| `(\w+)` \| (.+?) \|", arguments, flags=re.MULTILINE)
        for tool in re.findall(r"`(\w+)`", whose)
    }
    assert listed == {(word, name) for name, tool in TOOLS.items() for word in tool.takes.model_fields}


def test_the_agent_without_a_model_is_refused_and_adapts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = runpy.run_path(str(ROOT / "examples" / "agent_loop.py"))

    async def work(doors: Doors) -> None:
        headers = doors.made("bot", "agent", budget_share="0.25", price_share="0.2")
        async with doors.agent(headers) as agent:
            print(await loop["analyse"](agent, "people"))

    with_doors([loop["write_people"](tmp_path)], work)
    told = capsys.readouterr().out
    assert "Refused (invalid_request), free of charge: single rows are never answered" in told
    assert "It does not fit. Next: within = " in told
    assert told.splitlines()[-1] == "the mean is largest where region = west, in the population too"
