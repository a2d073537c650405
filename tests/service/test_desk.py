"""Work is done by threads: one for each place, to the end, and for nobody who has gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adyton.transports.http.desk import Desk
from support import processes
from support.servers import QUICK, Served, served, write_study

PATIENCE = 60.0
PLACES = 3


class Held:
    """Work that ends when it is let go."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return threading.current_thread().name


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Served]:
    settings = replace(QUICK, places=PLACES, places_by_token=PLACES)
    with served([write_study(tmp_path)], settings) as made:
        yield made


def desk_of(house: Served) -> tuple[Desk, Any]:
    token = house.made("ana")["Authorization"].removeprefix("Bearer ")
    return Desk(house.house), house.house.visitor(token)


def test_who_has_a_place_waits_for_no_thread(house: Served) -> None:
    """Others would learn how long a scan takes.  Mutant: one thread fewer than places."""
    desk, ana = desk_of(house)
    held = [Held() for _ in range(PLACES - 1)]

    async def ask() -> int:
        long = [asyncio.create_task(desk.done(ana, one)) for one in held]
        for one in held:
            assert await asyncio.to_thread(one.begun.wait, PATIENCE)
        found = await asyncio.wait_for(desk.done(ana, lambda: 7), PATIENCE)
        for one in held:
            one.go_on.set()
        assert len(set(await asyncio.gather(*long))) == PLACES - 1
        return found

    assert processes.run(ask()) == 7
    desk.close()


def test_the_end_waits_for_what_was_begun(house: Served) -> None:
    """A ledger that is closed under it would lose what was paid for.  Mutant: ``shutdown(wait=False)``."""
    desk, ana = desk_of(house)
    held = Held()

    async def ask() -> str:
        long = asyncio.create_task(desk.done(ana, held))
        assert await asyncio.to_thread(held.begun.wait, PATIENCE)
        closing = asyncio.create_task(asyncio.to_thread(desk.close))
        assert not (await asyncio.wait([closing], timeout=0.1))[0]
        held.go_on.set()
        await asyncio.wait_for(closing, PATIENCE)
        with pytest.raises(RuntimeError):
            await desk.done(ana, lambda: 7)
        return await long

    assert processes.run(ask()).startswith("query")


def test_a_large_body_whose_sender_has_gone_is_not_read(house: Served) -> None:
    """One is read after the other.  Mutants: two at once; it is read for nobody."""
    desk, seen, held = desk_of(house)[0], list[int](), Held()

    async def ask() -> None:
        first = asyncio.create_task(desk.parsed(held))
        unwanted = asyncio.create_task(desk.parsed(lambda: seen.append(1)))
        assert await asyncio.to_thread(held.begun.wait, PATIENCE)
        unwanted.cancel()
        await asyncio.wait([unwanted])
        assert not seen
        held.go_on.set()
        await first
        await desk.parsed(lambda: None)

    processes.run(ask())
    desk.close()
    assert not seen
