"""What one session of an agent may do, at every door; and retries by share, which depend on what was left."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import adyton
from adyton.engines.duckdb import DuckDBEngine
from adyton.service.settings import Settings
from support.agents import Doors, said, with_doors
from support.servers import COUNT, QUICK, Served, served, write_holdout, write_study


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [write_study(tmp_path), write_holdout(tmp_path)]


def capped(**section: Any) -> Settings:
    return Settings(**{**asdict(QUICK), "agent": section})


def about(number: int, **words: Any) -> dict[str, Any]:
    return {"query": COUNT.replace("30000", str(number)), **(words or {"within": 500})}


def test_so_many_queries_a_session_whatever_connects(files: list[Path]) -> None:
    """Mutants: sessions are counted by connection; the caps hold at one door alone; repeats are counted."""

    async def work(doors: Doors) -> None:
        bot, ana = doors.made("bot", "agent"), doors.made("ana")
        for number in (1, 2):  # each time another connection
            async with doors.agent(bot) as agent:
                assert not (await agent.call_tool("ask", {"study": "people", **about(number)})).is_error
        async with doors.agent(bot) as agent, doors.http(bot) as http:
            assert (await http.post("/v1/studies/people/ask", json=about(3))).status_code == 200
            refused = await agent.call_tool("ask", {"study": "people", **about(4)})
            assert refused.is_error
            assert "has asked the 3 queries of its session" in said(refused)
            assert "Next: stop asking" in said(refused)
            elsewhere = await http.post("/v1/studies/people/ask", json=about(4))
            assert (elsewhere.status_code, elsewhere.json()["error"]["kind"]) == (409, "session_refused")
            assert not (await agent.call_tool("ask", {"study": "people", **about(1)})).is_error
            previewed = await agent.call_tool("preview", {"study": "people", **about(5)})
            assert "It does not fit" in said(previewed)
            budget = await agent.call_tool("budget", {"name": "people"})
            assert budget.structured_content["own"]["session"]["queries_left"] == 0
            sessions = doors.study().sessions
            now = sessions._clock()
            sessions._clock = lambda: now + 86_400
            assert not (await agent.call_tool("ask", {"study": "people", **about(4)})).is_error
        async with doors.agent(ana) as agent, doors.http(ana) as http:  # whoever comes through this door
            for number in (11, 12, 13):
                assert not (await agent.call_tool("ask", {"study": "people", **about(number)})).is_error
            assert (await agent.call_tool("ask", {"study": "people", **about(14)})).is_error
            assert (await http.post("/v1/studies/people/ask", json=about(14))).status_code == 200
        assert doors.study()._curator.verify().receipts == 8

    with_doors(files, work, capped(queries=3))


def test_so_much_a_session(files: list[Path]) -> None:
    """Mutant: the cap is a share of what is left."""

    async def work(doors: Doors) -> None:
        limit = doors.study()._curator.ledger.header.budget
        async with doors.agent(doors.made("bot", "agent")) as agent:
            accepted = 0
            for number in range(40):
                result = await agent.call_tool("ask", {"study": "people", **about(number, epsilon=0.2)})
                accepted += not result.is_error
            price = doors.spent() // accepted
            assert accepted == limit // 100 // price
            assert doors.spent() <= limit // 100 < doors.spent() + price
            assert "would fit now" in said(result)
            told = (await agent.call_tool("budget", {"name": "people"})).structured_content["own"]
            assert (
                adyton.kernel.exact.rational(told["session"]["left"], "left") * 10**18
                == limit // 100 - doors.spent()
            )

    with_doors(files, work, capped(budget_share="0.01"))


def test_scores_of_a_session(files: list[Path]) -> None:
    async def work(doors: Doors) -> None:
        async with doors.agent(doors.made("bot", "agent", study="test")) as agent:
            results = []
            for number in (0, 1, 2, 0):
                predictions = [1] * number + [0] * (2000 - number)
                sent = {"holdout": "test", "predictions": predictions}
                results.append((await agent.call_tool("score_on_holdout", sent)).is_error)
            assert results == [False, False, True, False]

    with_doors(files, work, capped(queries=2))


@pytest.fixture
def house(tmp_path: Path) -> Any:
    with served([write_study(tmp_path)]) as made:
        yield made


def test_a_retry_by_share_is_one_charge(house: Served) -> None:
    """What is left has changed by then, for all and for the name.  Mutant: the share is taken of what is left now."""
    ana, bot = house.made("ana", budget_share="0.5"), house.made("bot", "agent", price_share="0.01")
    for number, headers in enumerate((ana, bot)):
        asked = COUNT.replace("3", str(8 + number))
        first = house.ask(headers, asked, share=0.5, request="one").json()
        house.ask(headers, COUNT.replace("3", "4"), share=0.1)
        house.ask(house.made("bob"), COUNT.replace("3", "5"), share=0.1)
        again = house.ask(headers, asked, share=0.5, request="one").json()
        assert (again["receipt"], again["answer"]) == (first["receipt"], first["answer"])
        assert again["repeated"]
        other = house.ask(headers, asked, share=0.4, request="one")
        assert other.json()["error"]["kind"] == "request_id_used"


def test_what_an_engine_lost_is_not_charged_again_by_share(
    house: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a name with a largest price too.  Mutant: what was left then is what is left now, and the amount."""
    exact = DuckDBEngine.exact

    def broken(*_: Any) -> None:
        raise RuntimeError

    for number, headers in enumerate((house.made("ana"), house.made("bot", "agent", price_share="0.01"))):
        query = COUNT.replace("3", str(6 + number))
        monkeypatch.setattr(DuckDBEngine, "exact", broken)
        assert house.ask(headers, query, share=0.9).status_code == 502
        monkeypatch.setattr(DuckDBEngine, "exact", exact)
        assert house.ask(headers, query, share=0.9).json()["receipt"]["number"] == number + 1
