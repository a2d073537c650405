"""A person has at most r * s rows in the join of two tables that keep r and s of them; and may have as many."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from adyton.audit import replay
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.loaded import Joined, JoinMember
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import (
    Attribute,
    BooleanColumn,
    CategoryColumn,
    Dimension,
    IntegerColumn,
    PublicJoin,
    Table,
)
from adyton.kernel.terms.buckets import Bucket
from adyton.kernel.terms.expressions import Plus
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, CountPersons, SumOfPersons
from adyton.kernel.terms.names import joined
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.study import PrivateTable, Study
from support.curators import open_kept
from support.tries import often

WARD = CategoryColumn("ward", ("a", "b"))
PEOPLE = Table("people", (WARD, IntegerColumn("x", 0, 3)), person="pid")
VISITS = Table("visits", (IntegerColumn("y", 0, 3),), person="pid")
BOTH = joined((PEOPLE, VISITS))
BUDGET = Guarantee(Fraction(1), Fraction(1, 10**9))
Rows = list[tuple[Any, ...]]
ONE = (Fraction(1),)


def study(r: int, s: int) -> Study:
    unit = PrivacyUnit("add-remove", "pid", r)
    return Study(PEOPLE, unit, BUDGET, further=(PrivateTable(VISITS, s),))


def opened(people: Rows, visits: Rows, r: int, s: int) -> DuckDBEngine:
    schemas = [pa.schema([("ward", pa.string()), ("x", pa.int64()), ("pid", pa.int64())])]
    schemas.append(pa.schema([("y", pa.int64()), ("pid", pa.int64())]))
    sources = [
        pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        for schema, rows in zip(schemas, (people, visits), strict=True)
    ]
    asked = study(r, s)
    members = (JoinMember(t, asked.unit_of(t), own) for t, own in zip((PEOPLE, VISITS), sources, strict=True))
    engine = DuckDBEngine(BOTH, asked.unit_of(BOTH), Joined(tuple(members)), "salt", threads=1)
    engine.prepare()
    return engine


def kept(people: Rows, visits: Rows, r: int, s: int) -> Counter[tuple[Any, ...]]:
    """The rows of the joined table, as the engine keeps them."""
    engine = opened(people, visits, r, s)
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
    (reading,) = readings_of(Query(BOTH, (("n", Count()),), by=(WARD,)), study(r, s).unit_of(BOTH))
    bound = reading.sensitivity.l1_diameter(ONE)
    assert bound == r * s
    for people, visits in databases(often(2, 6)):
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
    with pytest.raises(InvalidRequest, match=r"several private tables write privacy\.adjacency"):
        Study(people, PrivacyUnit("replace-one", "pid"), BUDGET, further=further)
    with pytest.raises(InvalidRequest, match="joined on the person"):
        Study(Table("people", PEOPLE.columns), PrivacyUnit("add-remove"), BUDGET, further=further)
    unit = PrivacyUnit("add-remove", "pid")
    for person in (None, "other"):
        with pytest.raises(InvalidRequest, match="needs person = 'pid', as the unit"):
            Study(Table("people", PEOPLE.columns, person=person), unit, BUDGET, further=further)


def test_theorem_JOINED_ROWS_a_public_table_never_makes_two_rows_of_one() -> None:
    with pytest.raises(InvalidRequest, match="each only once"):
        Dimension("w", "ward", "ward", ("a", "a"), (Attribute(BooleanColumn("big"), (True, True)),))


def test_units_of_all_tables() -> None:
    asked = study(2, 3)
    assert [asked.unit_of(table).rows for table in (PEOPLE, VISITS, BOTH)] == [2, 3, 6]
    assert [asked.unit_of(table).rows_in for table in (PEOPLE, VISITS, BOTH)] == [(), (), (2, 3)]
    with pytest.raises(InvalidRequest, match="product of those in each"):
        PrivacyUnit("add-remove", "pid", 6, (2, 2))


# Groups of a person ----------------------------------------------------------------------------------------

X, Y = (Bucket(name, ValueOf(IntegerColumn(name, 0, 3))) for name in ("x", "y"))
PUBLIC = Dimension("wards", "ward", "ward", ("a", "b"), (Attribute(BooleanColumn("big"), (True, False)),))
LINKED = joined(BOTH.join.tables, (PublicJoin("people", PUBLIC, left=False),)) if BOTH.join else BOTH
GROUPED: list[tuple[tuple[Any, ...], Callable[[int, int], int]]] = [
    ((), lambda r, s: 1),
    ((X,), lambda r, s: r),
    ((Y,), lambda r, s: s),
    ((WARD, X), lambda r, s: r),
    ((X, Y), lambda r, s: r * s),
    ((Bucket("both", Plus(X.value, Y.value)),), lambda r, s: r * s),
]


@pytest.mark.parametrize(("r", "s"), [(1, 3), (2, 1), (1, 1), (2, 2)])
def test_theorem_JOINED_ROWS_a_person_is_in_as_many_groups_as_own_rows(r: int, s: int) -> None:
    """Counts of persons and sums of persons of all databases, with and without each person: never farther than
    is paid, and as far on one of them.

    Mutants that fail here: 1, or the greatest, in place of the product in ``_most_groups``.
    """
    own_sum = SumOfPersons(ValueOf(IntegerColumn("y", 0, 3)), Fraction(0), Fraction(5))
    unit = study(r, s).unit_of(BOTH)
    readings = []
    for by, most in GROUPED:
        own = readings_of(Query(BOTH, (("n", CountPersons()), ("s", own_sum)), by=by), unit)
        assert [reading.sensitivity.touched for reading in own] == [most(r, s)] * 2
        readings += own
    different: tuple[Rows, Rows] = ([("a", 0, 0), ("b", 3, 0)][:r], [(1, 0), (2, 0), (0, 0)][:s])
    farthest = [Fraction(0)] * len(readings)
    for people, visits in [different, *databases(often(2, 5))]:
        with closing(opened(people, visits, r, s)) as engine:
            whole = engine.exact(readings)
        for person in range(3):
            with closing(opened(without(people, person), without(visits, person), r, s)) as engine:
                rest = engine.exact(readings)
            for i, reading in enumerate(readings):
                moved = sum(abs(a - b) for a, b in zip(whole[i][0], rest[i][0], strict=True))
                assert moved <= reading.sensitivity.l1_diameter(ONE)
                farthest[i] = max(farthest[i], Fraction(moved))
    assert farthest[::2] == [most(r, s) for _, most in GROUPED]


def test_theorem_JOINED_ROWS_a_public_column_is_one_of_the_table_it_joins() -> None:
    """A column of a public table is one of the table that it belongs to."""
    big = BooleanColumn("big")
    unit = PrivacyUnit("add-remove", "pid", 1)
    asked = Study(PEOPLE, unit, BUDGET, further=(PrivateTable(VISITS, 5),))
    (reading,) = readings_of(Query(LINKED, (("n", CountPersons()),), by=(big,)), asked.unit_of(LINKED))
    assert reading.sensitivity.touched == 1


@pytest.mark.parametrize("person", [0, 1, 2])
def test_theorem_REPLAY_of_groups_of_a_table_with_one_row_of_a_person(person: int) -> None:
    """Through the whole curator: the charge is for one group, and nobody moves more."""
    sql = "SELECT ward, COUNT(DISTINCT people.pid) AS n FROM people JOIN visits USING (pid) GROUP BY ward"
    for people, visits in databases(3):
        pair = tuple(
            {
                "people": pd.DataFrame(own, columns=["ward", "x", "pid"]).astype({"pid": "Int64"}),
                "visits": pd.DataFrame(theirs, columns=["y", "pid"]).astype({"pid": "Int64"}),
            }
            for own, theirs in ((people, visits), (without(people, person), without(visits, person)))
        )
        found = replay(study(1, 3), pair, sql, opened_by=open_kept, epsilon="0.1")  # type: ignore[arg-type]
        assert found.faults == ()
        assert all(movement.l1_allowed == 1 for movement in found.movements)
