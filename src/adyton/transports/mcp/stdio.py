"""Agents over standard input and output: one process for one agent, started by whoever owns the study."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from adyton.service.house import House, Visitor
from adyton.service.identity import Identity
from adyton.service.settings import Settings
from adyton.transports.http.desk import Desk
from adyton.transports.mcp.server import Agents


def serve_stdio(files: Sequence[Path], settings: Settings, who: Identity) -> None:
    """Until the other end hangs up.  Nothing but the protocol is written to standard output."""
    house = House.of_files([str(path.absolute()) for path in files], settings)
    try:
        house.load()
        desk = Desk(house)
        try:
            anyio.run(_serve, desk, Visitor("stdio", {one.name: who for one in house.served}))
        finally:
            desk.close()
    finally:
        house.close()


async def _serve(desk: Desk, visitor: Visitor) -> None:
    def caller(_: Any) -> Visitor:
        return desk.let_in(visitor)

    server = Agents(desk, caller, secrets.token_hex(8)).server()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
