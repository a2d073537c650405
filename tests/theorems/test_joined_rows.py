"""A person has at most r * s rows in the join of two tables that keep r and s of them; and may have as many."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.joining import Joined, Member
from adyton.errors import InvalidRequest
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.query.nodes import Count, Question
from adyton.query.scope import joined
from adyton.schema import Attribute, BooleanColumn, CategoryColumn, Dimension, IntegerColumn, Table
from adyton.sensitivity import readings_of
from adyton.study import PrivateTable, Study

WARD = CategoryColumn("ward", ("a", "b"))
PEOPLE = Table("people", (WARD, IntegerColumn("x", 0, 3)), person="pid")
VISITS = Table("visits", (IntegerColumn("y", 0, 3),), person="pid")
BOTH = joined((PEOPLE, VISITS))
LIMIT = Guarantee(Fraction(1), Fraction(1, 10**9))
Rows = list[tuple[Any, ...]]
ONE = (Fraction(1),)


def study(r: int, s: int) -> Study:
    unit = PrivacyUnit("add-or-remove", "pid", r)
    return Study(PEOPLE, unit, LIMIT, further=(PrivateTable(VISITS, s),))


def kept(people: Rows, visits: Rows, r: int, s: int) -> Counter[tuple[Any, ...]]:
    """The rows of the joined table, as the engine keeps them."""
    schemas = [pa.schema([("ward", pa.string()), ("x", pa.int64()), ("pid", pa.int64())])]
    schemas.append(pa.schema([("y", pa.int64()), ("pid", pa.int64())]))
    sources = [
        pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        for schema, rows in zip(schemas, (people, visits), strict=True)
    ]
    asked = study(r, s)
    members = (Member(t, asked.unit_of(t), own) for t, own in zip((PEOPLE, VISITS), sources, strict=True))
    engine = DuckDBEngine(BOTH, asked.unit_of(BOTH), Joined(tuple(members)), "salt", threads=1)
    engine.prepare()
    found = engine._connection.execute("SELECT c0, c1, c2 FROM units").fetchall()
    engine.close()
    return Counter(found)


def without(rows: Rows, person: int) -> Rows:
    return [row for row in rows if row[-1] != person]


def databases(number: int) -> list[tuple[Rows, Rows]]:
    rng = random.Random(11)
    return [
        (
            [(rng.choice("ab"), rng.randrange(4), rng.choice([0, 0, 1, 2, None])) for _ in range(9)],
            [(rng.randrange(4), rng.choice([0, 0, 1, 3, None])) for _ in range(9)],
        )
        for _ in range(number)
    ]


@pytest.mark.parametrize(("r", "s"), [(1, 1), (2, 3), (3, 1)])
def test_theorem_JOINED_ROWS_a_person_moves_at_most_the_product(r: int, s: int) -> None:
    (reading,) = readings_of(Question(BOTH, (("n", Count()),), by=(WARD,)), study(r, s).unit_of(BOTH))
    bound = reading.sensitivity.l1_diameter(ONE)
    assert bound == r * s
    for people, visits in databases(6):
        whole = kept(people, visits, r, s)
        for person in range(4):
            rest = kept(without(people, person), without(visits, person), r, s)
            assert rest <= whole, "a person changed the rows of another"
            assert (whole - rest).total() <= bound


def test_theorem_JOINED_ROWS_is_attained_and_less_would_be_refuted() -> None:
    people, visits = [("a", 1, 7)] * 9 + [("b", 2, 8)], [(3, 7)] * 9 + [(1, 8)]
    moved = kept(people, visits, 2, 3) - kept(without(people, 7), without(visits, 7), 2, 3)
    assert moved == {(0, 1, 3): 6}
    assert moved.total() > max(2, 3)


def test_theorem_JOINED_ROWS_rows_are_chosen_before_the_join() -> None:
    """Which rows of a table are kept does not depend on the other table."""
    people, visits = databases(1)[0]
    alone = {row[:2] for row in kept(people, [(0, p) for p in range(4)], 2, 3)}
    joined_rows = {row[:2] for row in kept(people, visits, 2, 3)}
    assert joined_rows <= alone


def test_theorem_JOINED_ROWS_replace_and_rows_are_refused() -> None:
    further = (PrivateTable(VISITS, 2),)
    people = Table("people", PEOPLE.columns, 10, "pid")
    with pytest.raises(InvalidRequest, match=r"several private tables write privacy\.neighbours"):
        Study(people, PrivacyUnit("replace", "pid"), LIMIT, further=further)
    with pytest.raises(InvalidRequest, match="joined on the person"):
        Study(Table("people", PEOPLE.columns), PrivacyUnit("add-or-remove"), LIMIT, further=further)
    unit = PrivacyUnit("add-or-remove", "pid")
    for person in (None, "other"):
        with pytest.raises(InvalidRequest, match="needs person = 'pid', as the unit"):
            Study(Table("people", PEOPLE.columns, person=person), unit, LIMIT, further=further)


def test_theorem_JOINED_ROWS_a_public_table_never_makes_two_rows_of_one() -> None:
    with pytest.raises(InvalidRequest, match="each only once"):
        Dimension("w", "ward", "ward", ("a", "a"), (Attribute(BooleanColumn("big"), (True, True)),))


def test_units_of_all_tables() -> None:
    asked = study(2, 3)
    assert [asked.unit_of(table).rows for table in (PEOPLE, VISITS, BOTH)] == [2, 3, 6]
