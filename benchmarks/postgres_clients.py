"""Queries through psycopg beside the same through HTTP, of one server, one after the other, the grid off.

HTTP is spoken by a bare socket that stays open: the server is what is measured, and psycopg's own work counts
against it.  A catalog query is the longest that psql sends for ``\\d people``, beside ``SELECT 1``.
"""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from engines import row
from service import FREE_OF_LIMITS, TEXT, Client, _helpers, _study

ROUNDS, QUERIES = 15, 10
WIDTH = 4000  # of an interval: the same noise for both
COLUMNS = """SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
  (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d
   WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull,
  (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t
   WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
  a.attidentity, a.attgenerated
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = '16384' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""


def run() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        study = _study(Path(folder) / "served")
        settings = study.with_name("server.toml")
        settings.write_text(f"[server]\ntick = 0\n{FREE_OF_LIMITS}", encoding="utf-8")
        token = Tokens(study).make(Identity("somebody", Role.ANALYST))[0]
        port = _helpers().free_port()
        options = ("--settings", str(settings), "--pg-port", str(port))
        with _helpers().server([study], *options) as running:
            plain = Client(running.url, token)
            where = f"host=127.0.0.1 port={port} dbname=people user=somebody password={token}"
            with psycopg.connect(where, autocommit=True) as connection:
                connection.execute(f"SET adyton.within = {WIDTH}")
                rows = [*_asking(plain, connection), _catalog(connection)]
            plain.close()
    return rows


def _asking(plain: Client, connection: psycopg.Connection[tuple[object, ...]]) -> list[dict[str, object]]:
    numbers = itertools.count(1000)

    def wired(number: int) -> object:
        return connection.execute(TEXT.format(number)).fetchall()

    sides: dict[str, Callable[[int], object]] = {"HTTP": plain.ask, "psycopg": wired}
    plain.connect()
    taken: dict[str, list[float]] = {}
    for ask in sides.values():
        ask(next(numbers))  # imports what a first query needs
    for _ in range(ROUNDS):
        plain.connect()  # servers close connections that nobody uses
        for name, ask in sides.items():
            fresh = [next(numbers) for _ in range(QUERIES)]
            for what in (name, f"{name}, again"):
                taken.setdefault(what, []).append(_seconds(lambda: [ask(number) for number in fresh]))  # noqa: B023
    times = {what: statistics.median(own) / QUERIES for what, own in taken.items()}
    return [
        row("an ask through psycopg", times["psycopg"], times["HTTP"], "s", "HTTP"),
        row("a repeat through psycopg", times["psycopg, again"], times["HTTP, again"], "s", "HTTP"),
    ]


def _catalog(connection: psycopg.Connection[tuple[object, ...]]) -> dict[str, object]:
    times: dict[str, list[float]] = {COLUMNS: [], "SELECT 1": []}
    for text in times:
        connection.execute(text.encode())
    for _ in range(100):
        for text, taken in times.items():
            taken.append(_seconds(lambda: connection.execute(text.encode()).fetchall()))  # noqa: B023
    ours, reference = (statistics.median(taken) for taken in times.values())
    return row("a catalog query of psql's \\d people", ours, reference, "s", "SELECT 1")


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
