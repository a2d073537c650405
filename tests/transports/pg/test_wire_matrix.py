"""Every program at the wire, and everything that a user of it does: look around, ask with and without a price, be refused,
ask again, cancel, two at once, several statements in one text, a wrong token.  Costs are compared as exact numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.doors import OpenHouse, gate, open_house
from support.servers import write_study
from support.wire_programs import (
    Asyncpg,
    JupySql,
    Pandas,
    Pgjdbc,
    Program,
    Psql,
    Psycopg,
    Refused,
    SqlAlchemy,
    Where,
)

PROGRAMS: dict[str, Callable[[Path], Program]] = {
    "psql": lambda _: Psql(),
    "psycopg": lambda _: Psycopg(),
    "sqlalchemy": lambda _: SqlAlchemy(),
    "pandas": lambda _: Pandas(),
    "jupysql": JupySql.started,
    "asyncpg": lambda _: Asyncpg(),
    "pgjdbc": Pgjdbc.started,
}
# Of what was cancelled; all others see the code.
SEES = {"jupysql": "KeyboardInterrupt", "asyncpg": "CancelledError"}
# Of the answers to several statements in one text; all others show all of them.
SHOWN = {"sqlalchemy": slice(1), "pandas": slice(1), "jupysql": slice(1, 2), "asyncpg": slice(0)}
WITHIN = 60
UNKNOWN = "SELECT COUNT(*) FROM people WHERE agee > 3"
DEAR = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 400) COUNT(*) FROM people"
_numbers = itertools.count(20_000)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenHouse]:
    folder = tmp_path_factory.mktemp("matrix")
    with open_house([write_study(folder), write_study(folder, "other")]) as made:
        yield made


@pytest.fixture(scope="module", params=PROGRAMS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def program(name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    made = PROGRAMS[name](tmp_path_factory.mktemp(name))
    yield made
    if isinstance(made, JupySql | Pgjdbc):
        made.child.close()


@pytest.fixture(scope="module")
def free(house: OpenHouse, name: str) -> Where:
    """Where no price is named."""
    return house.where(house.token(name))


@pytest.fixture(scope="module")
def where(free: Where) -> Where:
    return free.paying(f"within={WITHIN}")


def fresh() -> str:
    """A query that nobody has asked."""
    return f"SELECT COUNT(*) AS n FROM people WHERE income > {next(_numbers)}"


def refusal(program: Program, where: Where, text: str) -> Refused:
    with pytest.raises(Refused) as refused:
        program.ask(where, text)
    return refused.value


def number(rows: list[tuple[Any, ...]]) -> float:
    ((value,),) = rows
    return float(value)


def test_connect_list_tables_and_describe(program: Program, free: Where) -> None:
    assert program.tables(free) == ["people"]
    known = [(name, {"float8": "double precision"}.get(kind, kind)) for name, kind in program.columns(free)]
    assert known == [("income", "double precision"), ("region", "text")]


def test_ask_without_and_with_a_price_and_again(
    house: OpenHouse, program: Program, free: Where, where: Where
) -> None:
    """Mutants: a query without a price gets one; a repeat is charged."""
    text = fresh()
    before, cost = house.spent(), house.cost(text, within=WITHIN)
    assert cost > 0
    unpriced = refusal(program, free, text)
    assert (unpriced.code, unpriced.message[:18]) == ("22023", "no price was named")
    assert house.spent() == before
    asked = number(program.ask(where, text))
    assert house.spent() == before + cost
    assert number(program.ask(where, text)) == asked
    assert number(program.ask(free, text)) == asked  # an answer to the very same query is there
    assert house.spent() == before + cost


def test_refused_budgets_have_their_facts_and_wrong_queries_their_place(
    house: OpenHouse, program: Program, where: Where
) -> None:
    """Mutants: no DETAIL; a place that counts from 0."""
    before = house.spent()
    dear = refusal(program, where, DEAR)
    assert dear.code == "53400"
    for fact in ("requested: ", "spent: ", "budget: ", "largest: ", "counted_in: gdp"):
        assert fact in dear.detail
    wrong = refusal(program, where, UNKNOWN)
    assert (wrong.code, wrong.position) == ("42703", UNKNOWN.index("agee") + 1)
    assert house.spent() == before


@pytest.mark.parametrize("place", ["before the charge", "behind the charge"])
def test_cancel(house: OpenHouse, name: str, program: Program, where: Where, place: str) -> None:
    """What is not charged by then never is; what is charged is kept, and free.  The connection goes on.

    Mutants: a cancel is not looked at before the charge; it is not passed to the connection that asks.
    """
    text = fresh()
    before, cost = house.spent(), house.cost(text, within=WITHIN)
    with gate(place) as held:
        seen, usable = program.cancel(where, text, held.held)
        assert (seen, number(usable)) == (SEES.get(name, "57014"), 1)
    house.until_idle()
    assert house.spent() == before + (cost if place.startswith("behind") else 0)
    program.ask(where, text)
    assert house.spent() == before + cost


@pytest.mark.parametrize("name", ["asyncpg", "pgjdbc"], indirect=True)
def test_cancel_by_a_time_out_of_the_program(house: OpenHouse, name: str, program: Any, where: Where) -> None:
    """Whenever it comes: one query, one charge."""
    text = fresh()
    before, cost = house.spent(), house.cost(text, within=WITHIN)
    with gate("behind the charge"):
        seen, usable = program.too_slow(where, text)
        assert (seen, number(usable)) == ("TimeoutError" if name == "asyncpg" else "57014", 1)
    house.until_idle()
    program.ask(where, text)
    assert house.spent() == before + cost


def test_two_connections_ask_at_once(house: OpenHouse, program: Program, where: Where) -> None:
    """Both wait behind their charges until both are there.  Mutants: one query at a time; a lost charge."""
    texts = [fresh(), fresh()]
    before, cost = house.spent(), house.cost(texts[0], within=WITHIN)
    with gate("behind the charge", 2) as held, ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(program.ask, where, text) for text in texts]
        assert held.held.wait(60)
        assert house.spent() == before + 2 * cost
        held.opened.set()
        assert [len(one.result()) for one in asked] == [1, 1]
    assert house.spent() == before + 2 * cost


def test_several_statements_in_one_text(house: OpenHouse, name: str, program: Program, where: Where) -> None:
    """In turn, each a charge of its own, up to the first error.  Mutants: others are asked behind it; none is."""
    texts = [fresh() for _ in range(4)]
    before, cost = house.spent(), house.cost(texts[0], within=WITHIN)
    shown = program.several(where, "; ".join(texts[:2]))
    assert house.spent() == before + 2 * cost
    values = [number(program.ask(where, text)) for text in texts[:2]]
    assert [number(rows) for rows in shown] == values[SHOWN.get(name, slice(2))]
    with pytest.raises(Refused) as refused:
        program.several(where, f"{texts[2]}; {UNKNOWN}; {texts[3]}")
    assert refused.value.code == "42703"
    assert house.spent() == before + 3 * cost
    program.ask(where, texts[2])
    assert house.spent() == before + 3 * cost
    program.ask(where, texts[3])
    assert house.spent() == before + 4 * cost


@pytest.mark.parametrize("name", ["asyncpg"], indirect=True)
def test_what_is_prepared_is_one_statement(house: OpenHouse, program: Program, where: Where) -> None:
    """asyncpg prepares whatever has rows."""
    before = house.spent()
    refused = refusal(program, where, f"{fresh()}; {fresh()}")
    assert (refused.code, refused.message) == ("42601", "a prepared statement is one statement")
    assert house.spent() == before


def test_wrong_token_unknown_study_and_foreign_study(house: OpenHouse, program: Program, free: Where) -> None:
    """One message, nothing charged.  Mutant: an unknown database is told so."""
    before = house.spent()
    foreign = house.token("somebody", study="other")
    places = [
        house.where("adyton_" + "0" * 64),
        house.where(free.token, "nothing"),
        house.where(foreign),
    ]
    told = [refusal(program, place, "SELECT 1") for place in places]
    assert {one.message for one in told} == {told[0].message}
    assert "password authentication failed: the password is a token of the study" in told[0].message
    assert {one.code for one in told} <= {"28P01", ""}  # libpq does not tell the code of a failed connection
    assert house.spent() == before
