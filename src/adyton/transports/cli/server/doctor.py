"""``adyton doctor``: is everything fit to be served?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.transports.terminal import Json, show


def doctor(
    files: Annotated[list[Path], typer.Argument(help="Study files and holdout files.", show_default=False)],
    settings: Annotated[
        Path | None, typer.Option(help="The server file: rates, sizes, times.", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Look at everything that a server needs: files, ledgers, data, secret, limits. Changes nothing.

    For example: adyton doctor people.toml
    """
    found: list[Any] = []

    def work() -> Any:
        from adyton.service.doctor import examine
        from adyton.service.settings import read_settings

        found.append(examine(files, read_settings(settings)))
        return found[0]

    show(work, as_json, lambda made: made.sheet())
    if not found[0].ok:
        raise typer.Exit(2)
