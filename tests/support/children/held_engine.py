"""``adyton`` whose queries wait while a file says so: before their charge, or behind it, when they read.  Started by
tests as a process of its own, with the folder of those files in HELD_ENGINE: ``python held_engine.py serve ...``.
Further processes of that server load this file too, under another name.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from adyton.engines.duckdb import DuckDBEngine
from adyton.service.named_ledger import NamedLedger

PATIENCE = 60.0
PLACES = {"before the charge": (NamedLedger, "charge"), "behind the charge": (DuckDBEngine, "exact")}


def wait_until(seen: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.005)


def hold(place: str, folder: Path) -> None:
    owner, name = PLACES[place]
    done, closed = getattr(owner, name), folder / place

    def waiting(*words: Any) -> Any:
        if not closed.exists():
            return done(*words)
        try:
            with (folder / "held").open("a") as held:
                held.write("1\n")
            wait_until(lambda: not closed.exists())
            return done(*words)
        finally:
            (folder / "done").touch()

    setattr(owner, name, waiting)


if __name__ in ("__main__", "__mp_main__"):
    for one in PLACES:
        hold(one, Path(os.environ["HELD_ENGINE"]))
if __name__ == "__main__":
    from adyton.transports.cli.app import app

    app()
