"""A durable charge: in a new ledger, after 20,000 receipts of 50 names, and beside a bare INSERT."""

from __future__ import annotations

import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import choice

from adyton.kernel.ledger import Header, Order, Receipt, SqliteLedger
from adyton.kernel.ledger.base import next_receipt, now
from adyton.kernel.ledger.links import fresh_secret
from adyton.kernel.ledger.stored.ledger import StoredLedger
from adyton.kernel.ledger.stored.tables import append
from adyton.kernel.ledger.validity import FinalCost

HISTORY = 20_000
WARM = 500  # charges after which SQLite's log has its usual size
ROUNDS = 300
NAMES = 50

ORDER = Order("SELECT count(*) FROM people", '{"mechanism":"gaussian","scale":"100"}', 10**12, 10**12)
ORDERS = [replace(ORDER, by=f"name {number}") for number in range(NAMES)]
COLUMNS = "query TEXT, detail TEXT, amount TEXT, radius TEXT, previous TEXT, digest TEXT"


def medians(actions: dict[str, Callable[[], object]]) -> dict[str, float]:
    """In turns, so that a noisy moment of the machine meets all of them."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def filled(path: Path, receipts: int) -> SqliteLedger:
    ledger = SqliteLedger.create(path, Header.fresh("00" * 32, "gdp", 10**18))
    fill(ledger, receipts)
    return ledger


def fill(ledger: StoredLedger, receipts: int) -> None:
    """What so many charges leave behind, in one transaction."""
    of_name: dict[str | None, Receipt] = {}
    with ledger.store.lock() as connection:
        last, _ = ledger._last(connection)
        for number in range(receipts):
            order = replace(ORDER, by=f"name {number % NAMES}")
            last = next_receipt(
                ledger.header,
                last,
                order,
                now(),
                final=FinalCost(last.order.radius if last else 0),
                last_of_name=of_name.get(order.by),
                secret=fresh_secret(),
            )
            of_name[order.by] = last
            append(connection, last)


def bare_table(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"CREATE TABLE charges (number INTEGER PRIMARY KEY, {COLUMNS})")
    connection.execute("PRAGMA synchronous = OFF")
    for _ in range(WARM):
        bare_insert(connection)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def bare_insert(connection: sqlite3.Connection) -> None:
    row = (ORDER.query, ORDER.detail, str(ORDER.amount), str(ORDER.radius), "0" * 64, "0" * 64)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO charges VALUES (NULL, ?, ?, ?, ?, ?, ?)", row)
    connection.execute("COMMIT")


def measure(folder: Path) -> dict[str, float]:
    with (
        closing(filled(folder / "new.ledger", WARM)) as new,
        closing(filled(folder / "old.ledger", HISTORY)) as old,
        closing(bare_table(folder / "bare.db")) as bare,
    ):
        return medians(
            {
                "new": lambda: new.charge(choice(ORDERS)),
                "old": lambda: old.charge(choice(ORDERS)),
                "bare": lambda: bare_insert(bare),
            }
        )


def row(name: str, ours: float, reference: float, against: str) -> dict[str, object]:
    return {
        "name": name,
        "ours": round(ours * 1e6, 1),
        "reference": round(reference * 1e6, 1),
        "ratio": round(ours / reference, 2),
        "unit": "µs, median",
        "against": against,
    }


def run() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        times = measure(Path(folder))
    new, old, bare = times["new"], times["old"], times["bare"]
    return [
        row("durable charge, new ledger", new, bare, "bare SQLite INSERT, same durability"),
        row(f"durable charge, {HISTORY:,} receipts", old, bare, "bare SQLite INSERT, same durability"),
        row("growth of a charge with history", old, new, "the same charge on a new ledger"),
    ]


if __name__ == "__main__":
    print(json.dumps(run(), indent=2, ensure_ascii=False))
