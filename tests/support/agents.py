"""Agents for tests: the SDK's own client, at an application in process, at a server, or over standard input."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from adyton.service.house import House
from adyton.service.settings import Settings
from adyton.transports.http.app import make_app
from support import processes
from support.servers import QUICK, Served

PLACE = "http://127.0.0.1:8000"
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass
class Doors:
    """An application in process that agents may enter too; ``made`` makes the headers of a new token."""

    app: Any
    house: House

    def made(self, *words: Any, **more: Any) -> dict[str, str]:
        return Served(self.house, None).made(*words, **more)  # type: ignore[arg-type]

    def http(self, headers: dict[str, str]) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx2.AsyncClient(transport=transport, base_url=PLACE, headers=headers)

    @contextlib.asynccontextmanager
    async def agent(self, headers: dict[str, str], mode: str = "auto") -> AsyncIterator[Client]:
        async with self.http(headers) as http, Client(
            streamable_http_client(f"{PLACE}/mcp", http_client=http), mode=mode
        ) as client:  # fmt: skip
            yield client

    def study(self, name: str = "people") -> Any:
        (found,) = (one for one in self.house.served if one.name == name)
        return found

    def spent(self, study: str = "people") -> int:
        return int(self.study(study)._curator.ledger.spent())


def with_doors(
    paths: Sequence[Path], work: Callable[[Doors], Awaitable[None]], settings: Settings = QUICK
) -> None:
    """Runs ``work`` while the application lives."""

    async def living() -> None:
        house = House.of_files(paths, settings)
        house.load()
        app = make_app(house, mcp=True)
        async with app.router.lifespan_context(app):
            await work(Doors(app, house))

    processes.run(living())


@contextlib.asynccontextmanager
async def agent_at(url: str, headers: dict[str, str]) -> AsyncIterator[Client]:
    """At a real server."""
    async with httpx2.AsyncClient(headers=headers, timeout=120) as http, Client(
        streamable_http_client(f"{url}/mcp", http_client=http)
    ) as client:  # fmt: skip
        yield client


@contextlib.asynccontextmanager
async def agent_beside(
    errors: Path,
    *words: str,
    mode: str = "auto",
    program: Sequence[str] = ("-m", "adyton.transports.cli.app"),
) -> AsyncIterator[Client]:
    """``adyton mcp`` with these words, as a process of its own; what it says to people goes to ``errors``."""
    started = StdioServerParameters(
        command=sys.executable,
        args=[*program, "mcp", *words],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    with errors.open("w", encoding="utf-8") as log:
        async with Client(stdio_client(started, errlog=log), mode=mode) as client:
            yield client


async def called(http: httpx2.AsyncClient, tool: str, arguments: Any, number: Any = 1) -> httpx2.Response:
    """One call as it travels, under an id of one's own choice."""
    params = {"name": tool, "arguments": arguments, "_meta": META}
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    return await http.post("/mcp", json=body, headers=headers)


def said(result: Any) -> str:
    """The words of a result."""
    (content,) = result.content
    return str(content.text)
