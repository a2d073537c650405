"""``adyton serve`` with an engine that takes the longer the richer the richest row is: what one row may do to the time of
a scan, by construction.  Started by tests as a process of its own: ``python slow_engine.py serve ...``.
"""

from __future__ import annotations

import time
from typing import Any

from adyton.engines.duckdb import DuckDBEngine

EXTREME = {"near": 160_000, "far": 200_000}  # incomes; everybody else has less
SECONDS = {"near": 0.06, "far": 0.25}  # a part of a tick, and more than one
TICK = 0.2  # enough for a scan on a busy machine, so that what is a part of a tick stays in it

if __name__ == "__main__":
    from adyton.transports.cli.app import app

    scan = DuckDBEngine.exact

    def exact(self: DuckDBEngine, *readings: Any) -> Any:
        ((richest,),) = self._run("SELECT 10 * MAX(c0) FROM units")
        time.sleep(max([SECONDS[name] for name, income in EXTREME.items() if richest >= income], default=0))
        return scan(self, *readings)

    DuckDBEngine.exact = exact  # type: ignore[method-assign]
    app()
