"""One query through MCP at a server, beside the same over HTTP at the same server, in turns.

First from bare sockets, so that the server is what is measured; then with the clients that people have: the
SDK's own, and httpx.  Queries are fresh, and the ledger is a file on the disk.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from engines import row
from service import FREE_OF_LIMITS, SCALE, TESTS, TEXT
from service import Client as PlainClient

ROUNDS = 300
VERSION = "2026-07-28"


class BareAgent(PlainClient):
    """One connection that stays open, and no more of the protocol than one call needs."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token)
        self._head = (
            f"POST /mcp HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: ask\r\nContent-Length: "
        )

    def send(self, number: int) -> None:
        arguments = {"study": "people", "query": TEXT.format(number), "scale": SCALE}
        known = "io.modelcontextprotocol/"
        meta = {f"{known}protocolVersion": VERSION, f"{known}clientCapabilities": {}}
        params = {"name": "ask", "arguments": arguments, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        self.socket.sendall(f"{self._head}{len(body)}\r\n\r\n{body}".encode())


def run() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder, _running(Path(folder)) as (url, token):
        plain, agent = PlainClient(url, token), BareAgent(url, token)
        plain.connect()
        agent.connect()
        bare = _in_turns(agent.ask, plain.ask, itertools.count(1_000))
        plain.close()
        agent.close()
        known = httpx2.get(f"{url}/v1/studies/people/budget", headers={"Authorization": f"Bearer {token}"})
        if known.json()["queries"] != 2 * ROUNDS:  # a refusal would be quick
            raise RuntimeError("not all queries were answered")
        usual = asyncio.run(_usual_clients(url, token))
    return [
        row("MCP ask over HTTP", *bare, "ms", "the same over HTTP"),
        row("MCP ask over HTTP, the SDK's client", *usual, "ms", "the same over HTTP, httpx"),
    ]


def _in_turns(
    ours: Callable[[int], object], reference: Callable[[int], object], numbers: Iterator[int]
) -> tuple[float, float]:
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(ROUNDS):
        for place, ask in enumerate((ours, reference)):
            number, start = next(numbers), time.perf_counter()
            ask(number)
            if turn > 10:  # the first ones import what a query needs
                taken[place].append((time.perf_counter() - start) * 1000)
    return statistics.median(taken[0]), statistics.median(taken[1])


async def _usual_clients(url: str, token: str) -> tuple[float, float]:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {token}"}
    taken: tuple[list[float], list[float]] = ([], [])
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers))
        other = await stack.enter_async_context(httpx2.AsyncClient(headers=headers))
        transport = streamable_http_client(f"{url}/mcp", http_client=other)
        agent = await stack.enter_async_context(Client(transport))
        for turn in range(ROUNDS):
            start, asked = time.perf_counter(), {"query": TEXT.format(50_000 + turn), "scale": SCALE}
            result = await agent.call_tool("ask", {"study": "people", **asked})
            assert not result.is_error
            between, asked = time.perf_counter(), {"query": TEXT.format(60_000 + turn), "scale": SCALE}
            answer = await http.post(f"{url}/v1/studies/people/ask", json=asked)
            assert answer.status_code == 200
            if turn > 10:
                taken[0].append((between - start) * 1000)
                taken[1].append((time.perf_counter() - between) * 1000)
    return statistics.median(taken[0]), statistics.median(taken[1])


@contextmanager
def _running(folder: Path) -> Iterator[tuple[str, str]]:
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    from support import servers

    study = servers.write_study(folder)
    settings = folder / "server.toml"
    settings.write_text(f"[server]\ntick = 0\n{FREE_OF_LIMITS}", encoding="utf-8")
    tokens = Tokens(study)
    token = tokens.make(Identity("ana", Role.ANALYST))[0]
    tokens.close()
    with servers.server([study], "--mcp", "--settings", str(settings)) as running:
        yield running.url, token


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
