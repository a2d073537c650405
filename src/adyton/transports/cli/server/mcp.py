"""``adyton mcp``: a study for an agent on this machine, over standard input and output."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from adyton.errors import InvalidRequest
from adyton.transports.terminal import run


def mcp(
    files: Annotated[
        list[Path], typer.Argument(help="A study file; also others, and holdout files.", show_default=False)
    ],
    name: Annotated[
        str, typer.Option(help="Who asks: receipts say it, and the budget share is of this name.")
    ] = "agent",
    budget_share: Annotated[
        str, typer.Option(help="The share of the budget that this name may spend in all.", metavar="S")
    ] = "0.25",
    price_share: Annotated[
        str, typer.Option(help="The largest share of the budget that one query may cost.", metavar="S")
    ] = "0.05",
    rate: Annotated[int, typer.Option(help="Requests a minute.", metavar="N")] = 120,
    settings: Annotated[
        Path | None, typer.Option(help="The server file: what one session may do, times.", metavar="FILE")
    ] = None,
) -> None:
    """Serve a study to an agent (MCP) over standard input and output. Agents elsewhere: adyton serve --mcp.

    For example: adyton mcp people.toml --budget-share 0.1
    """

    def work() -> None:
        from adyton.operations.roles import Role
        from adyton.service.identity import PROVIDED, Identity, share_of
        from adyton.service.settings import read_settings

        if name.startswith(PROVIDED) or name != name.strip():
            raise InvalidRequest("choose another --name: without spaces around it, and not of a provider")
        shares = share_of(budget_share, "--budget-share"), share_of(price_share, "--price-share")
        who, known = Identity(name, Role.AGENT, *shares, rate), read_settings(settings)
        try:
            from adyton.transports.mcp.stdio import serve_stdio
        except ImportError:
            raise InvalidRequest("agents need more packages: pip install 'adyton[mcp]'") from None
        before = signal.signal(signal.SIGINT, _leave)
        try:
            serve_stdio(files, known, who)
        finally:
            signal.signal(signal.SIGINT, before)

    run(work, False)


def _leave(*_: object) -> NoReturn:
    """At once: who waits for a line of standard input cannot be told.  A charge is whole, or not there."""
    sys.stderr.write("adyton: interrupted; receipts say what was charged\n")
    sys.stderr.flush()
    os._exit(130)
