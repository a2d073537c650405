"""A study behind all its doors on real ports, in this process: so that a test can hold a query where it wants."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from adyton.engines.duckdb import DuckDBEngine
from adyton.service.house import House
from adyton.service.named_ledger import NamedLedger
from adyton.transports.http.app import make_app
from adyton.transports.pg.door import WireDoor
from support.servers import QUICK, Served, free_port
from support.wire_programs import HOST, Where

PATIENCE = 60.0
HELD = {"before the charge": (NamedLedger, "charge"), "behind the charge": (DuckDBEngine, "exact")}


@dataclass
class Gate:
    """Queries that come to it wait until it is opened; ``held`` is set once so many have come."""

    number: int = 1
    held: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)
    _came: int = 0
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def come(self) -> None:
        with self._counting:
            self._came += 1
            if self._came == self.number:
                self.held.set()
        assert self.opened.wait(PATIENCE)


@contextlib.contextmanager
def gate(where: str, number: int = 1) -> Iterator[Gate]:
    """``where``: before or behind the charge."""
    made, (owner, name) = Gate(number), HELD[where]
    done = getattr(owner, name)

    def waiting(*arguments: Any, **words: Any) -> Any:
        made.come()
        return done(*arguments, **words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, waiting)
        try:
            yield made
        finally:
            made.opened.set()


@dataclass
class OpenHouse:
    """``url`` of HTTP and of agents, ``port`` of PostgreSQL's protocol."""

    house: House
    app: Any
    url: str
    port: int

    def token(self, name: str, study: str = "people") -> str:
        headers = Served(self.house, None).made(name, study=study)  # type: ignore[arg-type]
        return headers["Authorization"].removeprefix("Bearer ")

    def where(self, token: str, study: str = "people") -> Where:
        return Where(self.port, token, study)

    def spent(self) -> int:
        return int(self._curator.ledger.spent())

    def cost(self, text: str, **price: Any) -> int:
        return int(self._curator.preview(text, **price).cost.units)

    def until_idle(self) -> None:
        """Also of what nobody waits for any more."""
        end = time.monotonic() + PATIENCE
        while self.app.state.desk._places.taken:
            assert time.monotonic() < end
            time.sleep(0.005)

    @property
    def _curator(self) -> Any:
        (served,) = (one for one in self.house.served if one.name == "people")
        return served._curator  # type: ignore[union-attr]


@contextlib.contextmanager
def open_house(paths: Sequence[Path]) -> Iterator[OpenHouse]:
    house = House.of_files(paths, QUICK)
    house.load()
    port, wire = free_port(), free_port()
    app = make_app(house, wire=WireDoor(HOST, wire), mcp=True)
    server = uvicorn.Server(uvicorn.Config(app, host=HOST, port=port, log_level="warning"))
    serving = threading.Thread(target=server.run)
    serving.start()
    try:
        end = time.monotonic() + PATIENCE
        while not server.started:
            assert serving.is_alive(), "the server stopped"
            assert time.monotonic() < end
            time.sleep(0.01)
        yield OpenHouse(house, app, f"http://{HOST}:{port}", wire)
    finally:
        server.should_exit = True
        serving.join()
