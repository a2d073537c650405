"""``adyton doctor``: is everything fit to be served?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from adyton.transports.cli.server.serve import Files, ServerFile
from adyton.transports.terminal import Json, show

if TYPE_CHECKING:  # loaded by the command: others need not wait for it
    from adyton.service.doctor import Examination


def doctor(files: Files, settings: ServerFile = None, as_json: Json = False) -> None:
    """Look at everything that a server needs: files, ledgers, data, secret, limits. Changes nothing.

    For example: adyton doctor people.toml
    """

    def make() -> Examination:
        from adyton.service.doctor import examine
        from adyton.service.settings import read_settings

        return examine(files, read_settings(settings))

    if not show(make, as_json).ok:
        raise typer.Exit(2)
