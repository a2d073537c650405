"""What users of the wire do, done by ``adyton.connect`` and by agents: the SDK's own client, over HTTP and over standard
input.  Costs are compared as exact numbers; other tests of these doors look at each thing closer.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import adyton
from adyton import errors
from adyton.client.faults import InterruptedOnTheWay
from support import processes
from support.agents import agent_at, agent_beside, said
from support.children.held_engine import wait_until
from support.doors import OpenHouse, gate, open_house
from support.servers import bearer, write_study
from support.wire_programs import when

HELD = str(Path(__file__).parents[1] / "support" / "children" / "held_engine.py")
PATIENCE = 60
UNKNOWN = "SELECT COUNT(*) FROM people WHERE agee > 3"
WITHIN = 60
_numbers = itertools.count(20_000)


def fresh() -> str:
    """A query that nobody has asked."""
    return f"SELECT COUNT(*) AS n FROM people WHERE income > {next(_numbers)}"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenHouse]:
    folder = tmp_path_factory.mktemp("remote")
    with open_house([write_study(folder), write_study(folder, "other")]) as made:
        yield made


# adyton.connect --------------------------------------------------------------------------------------------


@pytest.fixture
def asker(house: OpenHouse, request: pytest.FixtureRequest) -> Iterator[Any]:
    with adyton.connect(house.url, house.token(request.node.name)) as connection:
        assert connection.studies() == ["people"]
        yield connection.study("people")


def test_connect_lists_describes_asks_is_refused_and_asks_again(house: OpenHouse, asker: Any) -> None:
    (table,) = asker.facts["tables"]
    assert (table["name"], [one["name"] for one in table["columns"]]) == ("people", ["income", "region"])
    text = fresh()
    before, cost = house.spent(), house.cost(text, within=WITHIN)
    with pytest.raises(errors.InvalidRequest, match="no price was named"):
        asker.ask(text)
    with pytest.raises(errors.PrivacyRefused) as dear:
        asker.ask(text, epsilon=400)
    assert {"requested", "spent", "budget", "largest", "fits"} <= dear.value.facts.keys()
    with pytest.raises(errors.InvalidRequest, match=r"line 1, column 35: agee"):
        asker.ask(UNKNOWN, within=WITHIN)
    assert house.spent() == before
    asked = asker.ask(text, within=WITHIN)
    assert house.spent() == before + cost
    again = asker.ask(text, within=WITHIN)
    assert (again.repeated, again.records()) == (True, asked.records())
    assert house.spent() == before + cost


def test_connect_two_at_once(house: OpenHouse, asker: Any) -> None:
    texts = [fresh(), fresh()]
    before, cost = house.spent(), house.cost(texts[0], within=WITHIN)
    with gate("behind the charge", 2) as held, ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(asker.ask, text, within=WITHIN) for text in texts]
        assert held.held.wait(PATIENCE)
        held.opened.set()
        assert [len(one.result().records()) for one in asked] == [1, 1]
    assert house.spent() == before + 2 * cost


def test_connect_interrupts_a_query_that_runs_and_fetches_its_answer_later(
    house: OpenHouse, asker: Any
) -> None:
    """HTTP has no word to cancel: Ctrl-C ends the waiting, and says under which id the answer is fetched.

    Mutant: a plain KeyboardInterrupt, of which the command says that nothing was charged.
    """
    text = fresh()
    before, cost = house.spent(), house.cost(text, within=WITHIN)
    with gate("behind the charge") as held:
        stop = when(held.held, lambda: os.kill(os.getpid(), signal.SIGINT))
        with stop, pytest.raises(InterruptedOnTheWay, match="with request='by hand'"):
            asker.ask(text, within=WITHIN, request="by hand")
        assert asker.budget().spent.units == before + cost  # the connection goes on
    house.until_idle()
    assert asker.ask(text, within=WITHIN, request="by hand").repeated
    assert house.spent() == before + cost


def test_connect_with_a_wrong_token_an_unknown_and_a_foreign_study(house: OpenHouse) -> None:
    before, told = house.spent(), []
    with pytest.raises(errors.Unauthenticated):
        adyton.connect(house.url, "adyton_" + "0" * 64)
    with adyton.connect(house.url, house.token("foreigner", study="other")) as connection:
        for name in ("people", "nothing"):
            with pytest.raises(errors.NotFound) as refused:
                connection.study(name)
            told.append(refused.value.message)
    assert told == ["there is nothing here for this token"] * 2
    assert house.spent() == before


# Agents ----------------------------------------------------------------------------------------------------


@dataclass
class Door:
    """How an agent enters, what was spent, and how its queries are held until ``go``: ``hold(number)``."""

    agent: Callable[[], AbstractAsyncContextManager[Client]]
    spent: Callable[[], int]
    hold: Callable[[int], AbstractContextManager[Holding]]


@dataclass
class Holding:
    wait: Callable[[], None]  # until as many are held
    go: Callable[[], None]


def over_http(house: OpenHouse, folder: Path) -> Door:
    headers = bearer(house.token("agent over HTTP"))

    @contextlib.contextmanager
    def hold(number: int) -> Iterator[Holding]:
        with gate("behind the charge", number) as held:
            yield Holding(lambda: wait_until(held.held.is_set), held.opened.set)

    return Door(lambda: agent_at(house.url, headers), house.spent, hold)


def over_standard_input(house: OpenHouse, folder: Path) -> Door:
    study, held, closed = write_study(folder), folder / "held", folder / "behind the charge"

    @contextlib.asynccontextmanager
    async def agent() -> AsyncIterator[Client]:
        words = (str(study), "--price-share", "1", "--budget-share", "1")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HELD_ENGINE", str(folder))
            async with agent_beside(folder / "errors.txt", *words, program=[HELD]) as made:
                yield made

    def spent() -> int:
        with adyton.open(study) as curator:
            return int(curator.ledger.spent())

    @contextlib.contextmanager
    def hold(number: int) -> Iterator[Holding]:
        held.write_text("")
        closed.touch()
        go = lambda: closed.unlink(missing_ok=True)  # noqa: E731
        try:
            yield Holding(lambda: wait_until(lambda: held.read_text().count("1") >= number), go)
        finally:
            go()

    return Door(agent, spent, hold)


@pytest.mark.parametrize("door", [over_http, over_standard_input])
def test_agents(house: OpenHouse, tmp_path: Path, door: Callable[[OpenHouse, Path], Door]) -> None:
    """Mutants: a repeat is charged; calls wait for each other."""
    made = door(house, tmp_path)
    cost = house.cost(fresh(), within=WITHIN)

    async def work() -> None:
        async with made.agent() as agent:

            async def ask(text: str, **words: Any) -> Any:
                return await agent.call_tool("ask", {"study": "people", "query": text, **words})

            await look_around(agent)
            await ask_and_be_refused(ask, made, cost)
            await cancel(agent, ask, made, cost)
            await two_at_once(ask, made, cost)

    processes.run(work())


async def look_around(agent: Client) -> None:
    listed = await agent.call_tool("list_studies", {})
    assert [one["name"] for one in listed.structured_content["studies"]] == ["people"]
    described = await agent.call_tool("describe", {"name": "people"})
    assert "income" in said(described)
    assert "region" in said(described)


async def ask_and_be_refused(ask: Callable[..., Any], door: Door, cost: int) -> None:
    text, before = fresh(), door.spent()
    unpriced, dear = await ask(text), await ask(text, epsilon=400)
    wrong = await ask(UNKNOWN, within=WITHIN)
    assert [one.is_error for one in (unpriced, dear, wrong)] == [True] * 3
    assert "no price was named" in said(unpriced)
    assert dear.structured_content["error"]["kind"] == "privacy_refused"
    assert "line 1, column 35: agee" in said(wrong)
    assert door.spent() == before
    first = await ask(text, within=WITHIN)
    assert door.spent() == before + cost
    again = await ask(text, within=WITHIN)
    assert again.structured_content["answer"]["answer"] == first.structured_content["answer"]["answer"]
    assert door.spent() == before + cost


async def cancel(agent: Client, ask: Callable[..., Any], door: Door, cost: int) -> None:
    text, before = fresh(), door.spent()
    with door.hold(1) as held:
        call = asyncio.ensure_future(ask(text, within=WITHIN))
        await asyncio.to_thread(held.wait)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not (await agent.call_tool("budget", {"name": "people"})).is_error
        held.go()
    assert not (await ask(text, within=WITHIN)).is_error
    assert door.spent() == before + cost


async def two_at_once(ask: Callable[..., Any], door: Door, cost: int) -> None:
    before = door.spent()
    with door.hold(2) as held:
        calls = [asyncio.ensure_future(ask(fresh(), within=WITHIN)) for _ in range(2)]
        await asyncio.to_thread(held.wait)
        held.go()
        assert [one.is_error for one in await asyncio.gather(*calls)] == [False, False]
    assert door.spent() == before + 2 * cost


def test_agents_with_a_wrong_token_an_unknown_and_a_foreign_study(house: OpenHouse) -> None:
    """Over standard input nobody has a token."""
    before = house.spent()

    async def work() -> None:
        with pytest.raises(ExceptionGroup) as refused:
            async with agent_at(house.url, bearer("adyton_" + "0" * 64)) as agent:
                await agent.call_tool("list_studies", {})
        assert [type(one) for one in flat(refused.value)] == [MCPError]
        async with agent_at(house.url, bearer(house.token("foreign agent", study="other"))) as agent:
            told = [
                said(await agent.call_tool("ask", {"study": name, "query": fresh(), "within": WITHIN}))
                for name in ("people", "nothing")
            ]
        assert told[0] == told[1]

    processes.run(work())
    assert house.spent() == before


def flat(error: BaseException) -> list[BaseException]:
    """Whatever is in groups of errors."""
    if isinstance(error, BaseExceptionGroup):
        return [one for part in error.exceptions for one in flat(part)]
    return [error]
