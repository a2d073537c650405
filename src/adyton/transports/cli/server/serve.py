"""``adyton serve``: studies and holdouts for people elsewhere."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import typer

from adyton.errors import InvalidRequest
from adyton.transports.terminal import run

Files = Annotated[list[Path], typer.Argument(help="Study files and holdout files.", show_default=False)]
ServerFile = Annotated[
    Path | None, typer.Option(help="The server file: rates, sizes, times.", metavar="FILE")
]


def serve(
    files: Files,
    port: Annotated[int, typer.Option(help="Where to listen.", min=1, max=65535)] = 8000,
    host: Annotated[
        str, typer.Option(help="On which address; a public one needs TLS or a proxy in front.")
    ] = "127.0.0.1",
    settings: ServerFile = None,
    pg_port: Annotated[
        int | None,
        typer.Option(help="Where clients of PostgreSQL are let in, if at all.", min=1, max=65535),
    ] = None,
    processes: Annotated[int, typer.Option(help="How many; each loads the data.", min=1, max=64)] = 1,
    tls_cert: Annotated[str | None, typer.Option(help="Certificate, PEM.", metavar="FILE")] = None,
    tls_key: Annotated[str | None, typer.Option(help="Its key, PEM.", metavar="FILE")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Something in front of it speaks TLS.")
    ] = False,
    metrics_port: Annotated[
        int | None, typer.Option(help="Counts for Prometheus, on loopback.", min=1, max=65535)
    ] = None,
    mcp: Annotated[bool, typer.Option("--mcp", help="Let agents in too, at /mcp of the same port.")] = False,
) -> None:
    """Serve studies and holdouts over HTTP, and studies to clients of PostgreSQL. The first start gives
    one owner token: it is printed on a terminal, and else written to a file beside the first study.

    For example: adyton serve people.toml --port 8000 --pg-port 5433
    """

    def work() -> None:
        try:
            import fastapi  # noqa: F401  what the extra brings

            from adyton.transports.http.serving import Door
            from adyton.transports.http.serving import serve as listen
        except ImportError:
            raise InvalidRequest("serving needs more packages: pip install 'adyton[server]'") from None
        if mcp and importlib.util.find_spec("mcp") is None:
            raise InvalidRequest("agents need more packages: pip install 'adyton[mcp]'")
        door = Door(host, port, processes, tls_cert, tls_key, behind_proxy, metrics_port, pg_port, mcp)
        listen(files, settings, door, lambda line: typer.echo(line), seen=sys.stdout.isatty())

    run(work, False)
