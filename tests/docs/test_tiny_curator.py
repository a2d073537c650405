"""The laws of the whole design, on the page that shows it whole."""

from __future__ import annotations

import math
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT, program

PATH = ROOT / "docs" / "tiny_curator.py"
tc = program("tiny_curator")
PEOPLE = tc.Table("people", (tc.Column("age", 0, 100),), rows_per_person=2)
AGES = (30, 40, 1000, -5)
positive = st.fractions(min_value=Fraction(1, 50), max_value=50)


def data_of(ages: tuple[int, ...]) -> sqlite3.Connection:
    data = sqlite3.connect(":memory:")
    data.execute("CREATE TABLE people (age INTEGER)")
    data.executemany("INSERT INTO people VALUES (?)", [(age,) for age in ages])
    return data


@pytest.fixture
def ledger() -> Iterator[tc.Ledger]:  # type: ignore[name-defined]
    connection = sqlite3.connect(":memory:")
    yield tc.Ledger(connection, Fraction(1))
    connection.close()


@pytest.fixture
def curator(ledger: tc.Ledger) -> Iterator[tc.Curator]:  # type: ignore[name-defined]
    data = data_of(AGES)
    yield tc.Curator(PEOPLE, tc.SqliteEngine(data), ledger, random.Random(7).randrange)
    data.close()


def test_it_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PATH)], capture_output=True, text=True, check=True
    )
    assert [line.rpartition("spent ")[2] for line in done.stdout.splitlines()] == [
        "1/4 of 1",
        "1/2 of 1",
        "1/2 of 1",
    ]


@given(scale=positive, shift=st.integers(1, 6))
def test_law_no_output_tells_two_neighbors_apart_by_more_than_the_cost(scale: Fraction, shift: int) -> None:
    cost = tc.GeometricNoise(scale).cost(shift).epsilon
    assert all(abs(output - shift) / scale - abs(output) / scale <= cost for output in range(-40, 41))


def test_law_the_sampler_follows_its_density() -> None:
    scale, draws = Fraction(3, 2), 20_000
    mechanism, coin = tc.GeometricNoise(scale), random.Random(1).randrange
    seen = [mechanism.release(0, coin) for _ in range(draws)]
    q = math.exp(-1 / float(scale))
    for z in range(-3, 4):
        expected = (1 - q) / (1 + q) * q ** abs(z)
        assert abs(seen.count(z) / draws - expected) < 5 * math.sqrt(expected / draws)


@pytest.mark.parametrize("query", [tc.Count(), tc.Sum("age")], ids=repr)
def test_law_removing_a_person_obeys_the_sensitivity(query: object) -> None:
    rng = random.Random(3)
    for _ in range(100):
        rows = tuple(rng.randrange(-500, 500) for _ in range(6))
        assert abs(exact(query, rows) - exact(query, rows[2:])) <= tc.sensitivity(query, PEOPLE)


def exact(query: object, rows: tuple[int, ...]) -> int:
    data = data_of(rows)
    try:
        return int(tc.SqliteEngine(data).exact(query, PEOPLE))
    finally:
        data.close()


@settings(deadline=None, max_examples=20)
@given(cost=positive, times=st.integers(1, 12))
def test_law_n_charges_equal_one_charge_of_n(cost: Fraction, times: int) -> None:
    connections = [sqlite3.connect(":memory:") for _ in range(2)]
    many, one = (tc.Ledger(connection, Fraction(10_000)) for connection in connections)
    for _ in range(times):
        many.charge(tc.Count(), tc.Cost(cost))
    one.charge(tc.Count(), tc.Cost(cost * times))
    assert many.spent() == one.spent()
    for connection in connections:
        connection.close()


def test_law_charge_precedes_reading(ledger: tc.Ledger) -> None:  # type: ignore[name-defined]
    class Broken:
        def exact(self, query: object, table: object) -> int:
            raise RuntimeError("row 3 holds 1000")

    with pytest.raises(tc.EngineFailed) as caught:
        tc.Curator(PEOPLE, Broken(), ledger).ask(tc.Count(), epsilon=Fraction(1, 2))
    assert ledger.spent() == Fraction(1, 2)
    assert "1000" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_law_refusal_costs_nothing(curator: tc.Curator) -> None:  # type: ignore[name-defined]
    curator.ask(tc.Count(), epsilon=Fraction(3, 4))
    with pytest.raises(tc.BudgetRefused):
        curator.ask(tc.Count(), epsilon=Fraction(1, 2))
    assert curator.ledger.spent() == Fraction(3, 4)


def test_law_the_same_query_again_is_free(curator: tc.Curator) -> None:  # type: ignore[name-defined]
    answers = [curator.ask(tc.Sum("age"), epsilon=Fraction(3, 4)) for _ in range(3)]
    assert len({answer.value for answer in answers}) == 1
    assert [answer.cost for answer in answers] == [Fraction(3, 4), 0, 0]
    assert curator.ledger.spent() == Fraction(3, 4)


def test_law_an_edited_history_is_noticed() -> None:
    connection = sqlite3.connect(":memory:")
    ledger = tc.Ledger(connection, Fraction(1))
    for _ in range(3):
        ledger.charge(tc.Count(), tc.Cost(Fraction(1, 4)))
    assert ledger.verify()
    connection.execute("UPDATE receipts SET epsilon = '1/8' WHERE rowid = 2")
    assert not ledger.verify()
    connection.close()


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1)])
def test_law_no_charge_gives_budget_back(curator: tc.Curator, epsilon: Fraction) -> None:  # type: ignore[name-defined]
    with pytest.raises(tc.InvalidRequest):
        curator.ask(tc.Count(), epsilon=epsilon)
    assert curator.ledger.spent() == 0


def test_its_theorems_have_pages(curator: tc.Curator) -> None:  # type: ignore[name-defined]
    pages = {page.stem for page in (ROOT / "docs" / "theorems").glob("*.md")}
    cited = set(re.findall(r"Theorem: ([A-Z0-9-]+)", PATH.read_text()))
    named = set(curator.ask(tc.Count(), epsilon=Fraction(1, 2)).certificate.theorems)
    assert cited <= named <= pages
