"""A query costs the same work after thousands of receipts as after ten: work is counted, never timed."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd
import pytest

import adyton
from adyton.curator.curator import Curator
from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger import Header, MemoryLedger, Order, SqliteLedger
from adyton.kernel.ledger.base import next_receipt
from adyton.kernel.ledger.links import key_of
from adyton.kernel.ledger.stored import sqlite as sqlite_file
from adyton.kernel.ledger.stored import tables
from adyton.kernel.ledger.stored.tables import add_answer, append
from adyton.kernel.ledger.validity import FinalCost
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.study import Study, Validity
from support.tries import LONG, often

FEW, MANY = 10, often(5_000, 20_000)  # what would grow with them is seen, usually a quarter as far away
ROWS = 50
COLUMNS = (IntegerColumn("age", 0, 100),)
BUDGET = Guarantee(Fraction(100), Fraction(1, 10**6))
ROW, PERSON = PrivacyUnit("replace-one"), PrivacyUnit("add-remove", "who", 2)
VALIDITY = Validity(Fraction(95, 100))
ASKED_AT = "2026-01-01T00:00:00+00:00"


def study_of(unit: PrivacyUnit, validity: Validity | None = None) -> Study:
    lines = ROWS if unit.rows > 1 else None
    return Study(Table("people", COLUMNS, ROWS, unit.person, lines=lines), unit, BUDGET, validity=validity)


def header_of(study: Study) -> Header:
    return Header.fresh(study.fingerprint, study.accounting, study.allowed)


def opened(study: Study, ledger: SqliteLedger | MemoryLedger) -> Curator:
    return adyton.open(study, data=pd.DataFrame({"age": range(ROWS), "who": range(ROWS)}), ledger=ledger)


def earlier(number: int) -> Order:
    """A query of the past, each one different, too cheap to use up a limit or a cap."""
    text = f"SELECT COUNT(DISTINCT who) AS count FROM people WHERE age > {number}"
    return Order(text, '[["gaussian","1000000"]]', 1, 1)


def fill(ledger: SqliteLedger, receipts: int) -> None:
    """Receipts with answers, up to this many, in one transaction: what single charges leave, but fast."""
    with ledger.store.lock() as connection:
        last, _ = ledger._last(connection)
        for number in range(last.number + 1 if last else 1, receipts + 1):
            last = next_receipt(
                ledger.header,
                last,
                earlier(number),
                ASKED_AT,
                final=FinalCost(last.order.radius if last else 0),
                last_of_name=last,
                secret=f"secret {number}",
            )
            append(connection, last)  # and answered at once, so it never waits for an answer
            add_answer(connection, last, key_of(last.order), "[]", FinalCost(last.order.radius))
    assert ledger.count() == receipts


def work(ledger: SqliteLedger, action: Callable[[], object]) -> tuple[int, int]:
    """How many statements SQLite runs, and how often its machine goes round in them."""
    connection = ledger.store._connection
    assert connection is not None
    statements, rounds = 0, 0

    def run(_: str) -> None:
        nonlocal statements
        statements += 1

    def went() -> None:
        nonlocal rounds
        rounds += 1

    connection.set_trace_callback(run)
    connection.set_progress_handler(went, 1)
    try:
        action()
    finally:
        connection.set_trace_callback(None)
        connection.set_progress_handler(None, 1)
    assert statements > 0
    return statements, rounds


def query(number: int) -> str:
    return f"SELECT AVG(age) FROM people WHERE age > {number % 40}.5"


# What an analyst does again and again.  A number makes a query new.
ACTIONS: dict[str, Callable[[Curator, int], object]] = {
    "ask": lambda curator, number: curator.ask(query(number), scale=1000 + number),
    "ask by request": lambda curator, number: curator.ask(
        query(number), scale=2000 + number, request=f"r{number}"
    ),
    "ask again": lambda curator, _: curator.ask("SELECT COUNT(*) FROM people WHERE age > 1", scale=1000),
    "ask many": lambda curator, number: curator.ask_many(
        [query(number), query(number + 1)], scale=3000 + number
    ),
    "preview": lambda curator, number: curator.preview(query(number), scale=1000 + number),
    "budget": lambda curator, _: curator.budget(),
}

STUDIES = {
    "rows": study_of(ROW),
    "persons": study_of(PERSON),
    "rows of a population": study_of(ROW, VALIDITY),
    "persons of a population": study_of(PERSON, VALIDITY),
}
NAMES = [*STUDIES] if LONG else ["rows", "persons of a population"]  # the least and the most work


def ready(curator: Curator) -> None:
    """What is done once: the table is loaded, the units are counted, the query asked that is repeated, and a batch."""
    curator.ask("SELECT COUNT(*) FROM people WHERE age > 1", scale=1000)
    counted = "*" if curator.study.unit.rows == 1 else "DISTINCT who"
    curator.ask(f"SELECT COUNT({counted}) FROM people", scale=1000)
    curator.ask_many([query(0), query(1)], scale=9000)  # an index with no batch at all ends a step earlier


def work_of_all(curator: Curator, ledger: SqliteLedger, number: int) -> dict[str, tuple[int, int]]:
    """Once without counting, because what others have asked in between is looked at once."""
    curator.ask(query(number), scale=5000 + number)
    return {name: work(ledger, partial(act, curator, number)) for name, act in ACTIONS.items()}


@pytest.mark.parametrize("name", NAMES)
def test_the_work_of_a_query_does_not_grow_with_the_ledger(name: str, tmp_path: Path) -> None:
    study = STUDIES[name]
    with closing(SqliteLedger.create(tmp_path / "people.ledger", header_of(study))) as ledger:
        curator = opened(study, ledger)
        ready(curator)
        fill(ledger, FEW)
        early = work_of_all(curator, ledger, 1)
        fill(ledger, MANY)
        assert work_of_all(curator, ledger, 2) == early


@pytest.mark.parametrize("name", NAMES)
def test_opening_an_old_ledger_costs_what_opening_a_young_one_costs(name: str, tmp_path: Path) -> None:
    """A new curator looks for a spread that was learned, in the newest thousand receipts, with one statement; and
    for the newest count of all units, where their number is not public: here the second receipt, by an index.
    """
    study = STUDIES[name]
    found = []
    for receipts in (FEW, MANY):
        path = tmp_path / f"{receipts}.ledger"
        with closing(SqliteLedger.create(path, header_of(study))) as ledger:
            ready(opened(study, ledger))
            fill(ledger, receipts)
        with closing(SqliteLedger(path)) as ledger:
            curator = opened(study, ledger)
            found.append(work(ledger, partial(curator.ask, query(1), scale=1000)))
            counted = curator._claims.stand_in.counted
            assert (counted is None) == (study.validity is None)
            assert counted is None or counted.query == 2
    early, late = found
    assert late[0] == early[0]
    assert late[1] <= early[1] + (10_000 if study.validity is not None else 0)


def test_opening_reads_as_much_of_an_old_ledger_as_of_a_young_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 256 receipts on: what lies before the checkpoint is not looked at, and one more level of a tree is.

    A replay of everything would run ten times the lines, or 40 times.
    """
    study, found, opened_file = STUDIES["rows"], [], sqlite_file.opened
    rounds = 0

    def went() -> None:
        nonlocal rounds
        rounds += 1

    def watched(uri: str) -> sqlite3.Connection:
        connection = opened_file(uri)
        connection.set_progress_handler(went, 1)
        return connection

    monkeypatch.setattr(sqlite_file, "opened", watched)
    for receipts in (500, MANY):
        path = tmp_path / f"{receipts}.ledger"
        with closing(SqliteLedger.create(path, header_of(study))) as ledger:
            fill(ledger, receipts)
            ledger.charge(earlier(receipts + 1))
            ledger.annotate(1, 0, "a note")
        rounds = 0
        run = lines(lambda path=path: SqliteLedger(path).close())
        found.append((run, rounds))
    (early, early_rounds), (late, late_rounds) = found
    assert late == early
    assert 1000 < late_rounds <= 1.05 * early_rounds


def lines(action: Callable[[], object]) -> int:
    """How many lines of Python are run."""
    count = 0

    def noticed(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return noticed

    before = sys.gettrace()
    sys.settrace(noticed)
    try:
        action()
    finally:
        sys.settrace(before)
    assert count > 0
    return count


@pytest.mark.parametrize("name", NAMES)
def test_the_lines_run_by_a_query_do_not_grow_with_a_ledger_in_memory(name: str) -> None:
    """Noise takes a few lines more or less, so this is no equality; a walk would take as many as there are receipts, and more."""
    study = STUDIES[name]
    ledger = MemoryLedger(header_of(study))
    curator = opened(study, ledger)
    ready(curator)

    def asked(number: int) -> int:
        curator.ask(query(number), scale=5000 + number)
        return lines(partial(curator.ask, query(number), scale=1000 + number))

    while ledger.count() < FEW:
        ledger.charge(earlier(ledger.count() + 1))
    early = asked(1)
    while ledger.count() < MANY:
        ledger.charge(earlier(ledger.count() + 1))
    assert asked(2) < early + MANY // 10


def test_a_filtered_value_takes_few_statements(tmp_path: Path) -> None:
    """Each of three writes counts twice where a trigger guards it.  Mutants: ``totals`` asked for a price
    that does not depend on them; ``remember`` that looks for the answer, the closing and the receipt apart.
    """
    study = study_of(ROW)
    with closing(SqliteLedger.create(tmp_path / "few.ledger", header_of(study))) as ledger:
        curator = opened(study, ledger)
        curator.ask("SELECT COUNT(*) FROM people WHERE age > 1", scale=1000)
        statements, _ = work(
            ledger, lambda: curator.ask("SELECT COUNT(*) FROM people WHERE age > 2", scale=50)
        )
        assert statements <= 19
        totals, _ = work(ledger, ledger.totals)
        assert totals == 1


def test_what_others_charge_is_checked_before_it_counts(tmp_path: Path) -> None:
    """Mutant: ``totals`` that take the newest receipt of others as it is."""
    study = study_of(ROW)
    path = tmp_path / "both.ledger"
    with closing(SqliteLedger.create(path, header_of(study))) as ledger, closing(SqliteLedger(path)) as other:
        for number in (1, 2, 3):
            other.charge(earlier(number))
        assert ledger.totals() == other.totals()
        assert ledger.totals().receipts == 3
        with closing(sqlite3.connect(path)) as raw:
            raw.executescript("DROP TRIGGER receipts_delete; DELETE FROM receipts WHERE number = 3;")
        with pytest.raises(LedgerCorrupt):
            ledger.totals()
    with closing(SqliteLedger.create(tmp_path / "gap.ledger", header_of(study))) as ledger:
        ledger.charge(earlier(1))
        with closing(SqliteLedger(tmp_path / "gap.ledger")) as other:
            other.charge(earlier(2))
            other.charge(earlier(3))
        with closing(sqlite3.connect(tmp_path / "gap.ledger")) as raw:
            raw.executescript("DROP TRIGGER receipts_delete; DELETE FROM receipts WHERE number = 2;")
        with pytest.raises(LedgerCorrupt):
            ledger.totals()


def test_a_charge_checks_no_receipt_again_whether_one_name_asks_or_fifty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest of all, and the newest of a name, were written here.  Mutant: only the newest eight stay known."""
    checked: list[int] = []

    def counted(row: tuple[Any, ...]) -> Any:
        checked.append(row[0])
        return check(row)

    check = tables._checked_receipt
    monkeypatch.setattr(tables, "_checked_receipt", counted)
    for names in (1, 50):
        path = tmp_path / f"{names}.ledger"
        with closing(SqliteLedger.create(path, header_of(STUDIES["rows"]))) as ledger:
            for number in range(1, 101):
                ledger.charge(replace(earlier(number), by=f"name {number % names}"))
            assert ledger.verify().receipts == 100
    assert checked == []
