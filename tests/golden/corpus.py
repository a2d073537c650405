"""Every SQL text that the tests and the reference know: how it is read, and what each kind of study answers to it.

``texts`` has the canonical text, or the refusal, of each; the other files have one line a study and text.  The studies
are those of ``sql_corpus``: of rows, and of persons with up to eight rows each, with each accounting and both
adjacencies.  Each text has a ledger of its own, in which only the number of units was asked before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from adyton.curator.curator import Curator
from adyton.curator.opening import engine_of
from adyton.errors import CuratorError, InvalidRequest
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.privacy import Guarantee
from adyton.query.canonical import canonical_text
from adyton.query.request import Combined, Request, asked_of
from adyton.study import Study, Validity
from golden.held import Entry, digest, shortened
from golden.still import still
from sql_corpus import cases
from sql_corpus.studies import random_rows, study_of
from support.hostile_sql import CLAUSES, HEADS, NESTED, SELECTS, SHAPES, STATEMENTS
from support.strategies import PERSONS
from support.tries import LONG

DOCS = Path(__file__).parents[2] / "docs"
ACCOUNTING_NAMES, BOTH = ("gdp", "zcdp", "pure"), ("replace-one", "add-remove")
PERSON, ROWS_PER_PERSON, MOST_ROWS = "customer", 8, 6
# Each study is asked at another price, so that each way from a price to noise is held.
PRICES: tuple[dict[str, Any], ...] = ({"share": "0.1"}, {"scale": "7.5"}, {"epsilon": "0.3"})
UNITS = {"orders": "SELECT COUNT(*) FROM orders", "visits": "SELECT COUNT(DISTINCT patient_id) FROM visits"}


# How each text is read -------------------------------------------------------------------------------------


def texts() -> Iterator[Entry]:
    """Those of the corpus about their study; those of the documentation and the hostile ones about people."""
    with TemporaryDirectory() as folder:
        tables = {name: study_of(name, Path(folder)).tables for name in ("shop", "clinic")}
    for one in cases.STATEMENTS:
        for way in ("sql", "plain", "dearer"):
            if text := getattr(one, way):
                dialect = one.dialect if way == "sql" else None
                yield Entry(f"{one.name} {way}", _read(text, *tables[one.study], dialect=dialect))
    hostile = {
        "statement": STATEMENTS, "select": SELECTS, "clause": CLAUSES, "nested": NESTED, "shape": SHAPES, "head": HEADS,
    }  # fmt: skip
    for kind, several in hostile.items():
        for number, text in enumerate(several):
            yield Entry(f"{kind} {number}", _read(text, PERSONS))
    for number, text in enumerate(_documented()):
        yield Entry(f"documented {number}", {"text": shortened(text)} | _read(text, PERSONS))


def _read(text: str, *tables: Any, dialect: str | None = None) -> dict[str, Any]:
    try:
        asked = asked_of(text, *tables, dialect=dialect)
    except InvalidRequest as refused:
        return {"refused": refused.message}
    match asked:
        case Request(query):
            return {"canonical": canonical_text(query)}
        case Combined(parts):
            return {"canonical": [canonical_text(part.request.query) for part in parts]}
        case free:
            return {"free": [free.text, free.why]}


def _documented() -> list[str]:
    """What stands in the pages as SQL, in a block or in a line."""
    found: dict[str, None] = {}
    for page in (DOCS / "reference" / "sql.md", DOCS / "how-to" / "bring-your-sql.md"):
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        lines = re.findall(r"`((?:SELECT|WITH|FROM) [^`\n]+)`", text)
        found |= dict.fromkeys([*blocks, *lines])
    return list(found)


# What each study answers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """One of the studies, with its rows, and the price of each query."""

    name: str
    study: Study
    rows: dict[str, Any]
    units: str
    price: dict[str, Any]


def worlds(accounting: str) -> Iterator[World]:
    shop, clinic = _corpus()
    for number, adjacency in enumerate(BOTH):
        for count, (kind, (study, rows)) in enumerate(
            {
                "rows": (shop, _orders()),
                "persons": (_of_persons(shop), _orders(True)),
                "clinic": (_alone(clinic) if adjacency == "replace-one" else clinic, _visits(adjacency)),
            }.items()
        ):
            price = PRICES[(number + count + ACCOUNTING_NAMES.index(accounting)) % len(PRICES)]
            name = f"{kind} {accounting} {adjacency}"
            table = study.table.name
            yield World(name, _with(study, accounting, adjacency), rows, UNITS[table], price)


def answers(accounting: str) -> Callable[[], Iterator[Entry]]:
    """All of them in a long run; usually each text in every second study, in each accounting and both adjacencies."""

    def entries() -> Iterator[Entry]:
        for place, world in enumerate(worlds(accounting)):
            with closing(engine_of(world.study, world.rows, {"threads": 1})) as engine:
                for number, one in enumerate(cases.STATEMENTS):
                    mine = one.study == ("clinic" if world.name.startswith("clinic") else "shop")
                    if mine and (LONG or (number + place) % 2):
                        yield _asked(world, engine, one)

    return entries


def _asked(world: World, engine: Any, one: cases.Statement) -> Entry:
    name, words = f"{world.name}: {one.name}", {} if one.dialect is None else {"dialect": one.dialect}
    with still(name):
        ledger = MemoryLedger.of(world.study)
        curator = Curator(world.study, engine, ledger)
        curator.ask(world.units, scale=20)
        try:
            preview = curator.preview(one.sql, **words, **world.price).to_json()
            answer = curator.ask(one.sql, **words, **world.price).to_json()
        except CuratorError as refused:
            return Entry(name, {"refused": [refused.kind, shortened(refused.message)]}, refused.to_json())
        receipts = curator.receipts().to_json()["receipts"][1:]
        paid = [_paid(receipt, ledger) for receipt in receipts]
        whole = {"preview": preview, "answer": answer, "paid": paid, "head": ledger.head()}
    held = [
        {
            "amount": one["amount"],
            "radius": one["radius"],
            "final": one["final"],
            "validity": one["validity"],
            "subject": one["subject"],
            "stored": shortened(one["stored"] or "", 48),
            "detail": digest(one["detail"]),
        }
        for one in paid
    ]
    digests = {"preview": digest(preview), "answer": digest(answer), "head": whole["head"][:12]}
    return Entry(name, {"paid": held, **digests}, whole)


def _paid(receipt: dict[str, Any], ledger: MemoryLedger) -> dict[str, Any]:
    """A receipt, its final cost, and the noisy integers that it paid for."""
    number = receipt["number"]
    return {**receipt, "final": list(ledger.final_cost(number)), "stored": ledger.recall(number)}


@cache
def _corpus() -> tuple[Study, Study]:
    with TemporaryDirectory() as folder:
        return study_of("shop", Path(folder)), study_of("clinic", Path(folder))


def _with(study: Study, accounting: str, adjacency: str) -> Study:
    pure = accounting == "pure"
    return replace(
        study,
        unit=replace(study.unit, adjacency=adjacency),
        accounting=accounting,
        budget=Guarantee(10, 0 if pure else Fraction(1, 10**9)),
        validity=Validity("0.95", stability="0.1", beyond_plan="answer") if pure else Validity("0.95"),
    )


def _of_persons(shop: Study) -> Study:
    """The same orders, of customers who have several."""
    table = replace(
        shop.table, person=PERSON, most_rows=ROWS_PER_PERSON, rows=_persons(_orders(True), PERSON)
    )
    return replace(shop, table=table, unit=replace(shop.unit, person=PERSON, rows=ROWS_PER_PERSON))


def _alone(clinic: Study) -> Study:
    """Visits alone: where a person is replaced, there is one private table."""
    table = replace(clinic.table, rows=_persons(_visits("replace-one"), clinic.unit.person))
    return replace(clinic, table=table, further=())


def _persons(rows: dict[str, Any], person: str | None) -> int:
    (table,) = rows.values()
    return len(set(table[person].to_pylist()) - {None})


def _orders(with_person: bool = False) -> dict[str, Any]:
    orders = random_rows("shop", 1).arrow("orders")
    if with_person:
        whose = pa.array([number // MOST_ROWS for number in range(orders.num_rows)])
        orders = orders.append_column(PERSON, whose)
    return {"orders": orders}


def _visits(adjacency: str) -> dict[str, Any]:
    rows = random_rows("clinic", 1)
    return {
        table: rows.arrow(table) for table in rows.tables if table == "visits" or adjacency != "replace-one"
    }
