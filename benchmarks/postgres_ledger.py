"""A charge in the Postgres ledger: beside a bare INSERT with COMMIT, and after 20,000 receipts of 50 names.

The server is private, on loopback, and flushes every commit to the disk.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from random import choice

import psycopg
from ledger import COLUMNS, HISTORY, ORDER, ORDERS, WARM, fill, medians, row

from adyton.kernel.ledger import Header
from adyton.ledgers.postgres import PostgresLedger

sys.path.append(str(Path(__file__).parent.parent / "tests"))

from support.postgres import NoServer, postgres_server

BARE = "bare Postgres INSERT, same server"
TABLE = f"CREATE TABLE charges (number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {COLUMNS})"
INSERT = f"INSERT INTO charges VALUES (DEFAULT, {', '.join(['%s'] * 6)})"
ROW = (ORDER.query, ORDER.detail, str(ORDER.amount), str(ORDER.radius), "0" * 64, "0" * 64)


def run() -> list[dict[str, object]]:
    try:
        with postgres_server(durable=True) as address:
            times = measure(address)
    except NoServer as missing:
        print(f"left out: {missing}", file=sys.stderr)
        return []
    new, old, bare = times["new"], times["old"], times["bare"]
    return [
        row("charge in Postgres, new ledger", new, bare, BARE),
        row(f"charge in Postgres, {HISTORY:,} receipts", old, bare, BARE),
        row("growth of a charge in Postgres with history", old, new, "the same charge on a new ledger"),
    ]


def measure(address: str) -> dict[str, float]:
    with (
        closing(filled(f"{address}/new", WARM)) as new,
        closing(filled(f"{address}/old", HISTORY)) as old,
        closing(psycopg.connect(address, autocommit=True)) as bare,
    ):
        bare.execute(TABLE)
        return medians(
            {
                "new": lambda: new.charge(choice(ORDERS)),
                "bare": lambda: bare_insert(bare),
                "old": lambda: old.charge(choice(ORDERS)),
            }
        )


def filled(address: str, receipts: int) -> PostgresLedger:
    ledger = PostgresLedger.open_or_create(address, Header.fresh("00" * 32, "gdp", 10**18))
    fill(ledger, receipts)
    return ledger


def bare_insert(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("BEGIN")
    connection.execute(INSERT, ROW)
    connection.execute("COMMIT")


if __name__ == "__main__":
    print(json.dumps(run(), indent=2, ensure_ascii=False))
