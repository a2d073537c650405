"""The guarantee of an engine that joins private tables on the person, as tests.

from adyton.testing import JoinContract

class TestMyJoins(JoinContract):
    @pytest.fixture
    def make_joining(self):
        return lambda table, unit, members, salt: MyEngine(...)    # not yet prepared

``table`` is joined from the tables of ``members``, in their order; a member is a table, a unit that says how
many rows of a person it keeps, and a source.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit, Reserve
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Join, RealColumn, Table
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.expressions import Compare
from adyton.kernel.terms.leaves import Bounded, IsOutside, ValueOf
from adyton.kernel.terms.measures import Count, CountPersons, Mean, Sum, SumOfPersons
from adyton.kernel.terms.names import entries, joined
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.testing.engines.meaning import OUTSIDE, Row
from adyton.testing.engines.reference import Own, Source, SourceColumn, SourceType, exact_of, loaded, told
from adyton.testing.engines.setup import AnyEngine, Open

Member = tuple[Table, PrivacyUnit, Source]
MakeJoining = Callable[[Table, PrivacyUnit, Sequence[Member], str], AnyEngine]

AGE, COST = IntegerColumn("age", 0, 120), RealColumn("cost", Fraction(0), Fraction(10), Fraction(1, 4))
WARD, PAID = CategoryColumn("ward", ("a", "b", "c")), BooleanColumn("paid")
PEOPLE = Table("people", (AGE, WARD), person="pid")
VISITS = Table("visits", (COST, WARD, PAID), person="patient")
DRUGS = Table("drugs", (COST,), person="pid")


def bounded(rows: int, person: str = "pid") -> PrivacyUnit:
    return PrivacyUnit("add-remove", person, rows)


class JoinContract:
    @pytest.fixture
    def make_joining(self) -> MakeJoining:
        raise NotImplementedError("a fixture that returns a new engine for several tables")

    @pytest.fixture
    def opened(self, make_joining: MakeJoining) -> Iterator[Open]:
        made: list[AnyEngine] = []

        def open_(*members: Member) -> AnyEngine:
            table, unit = _together(members)
            made.append(make_joining(table, unit, members, "salt"))
            made[-1].prepare()
            return made[-1]

        yield open_
        for engine in made:
            engine.close()

    def check(self, opened: Open, *members: Member, groups: bool = True) -> list[list[list[int]]]:
        """Every kind of reading is what a plain loop over all combinations of a person's rows finds."""
        table, unit = _together(members)
        readings = [r for one in _about(table) if groups or not one.by for r in readings_of(one, unit)]
        found = opened(*members).exact(readings)
        assert found == _expected(members, readings)
        return found

    @pytest.mark.parametrize("kind", ["integer", "text", "float"])
    def test_all_combinations_of_a_persons_rows(self, opened: Open, kind: SourceType) -> None:
        people = (PEOPLE, bounded(2), _people(kind, 60))
        visits = (VISITS, bounded(3, "patient"), _visits(kind, 80))
        found = self.check(opened, people, visits)
        assert found[0][0][0] > 20
        assert any(reading[0][0] for reading in found[-4:])  # some values came from outside

    def test_one_row_of_each(self, opened: Open) -> None:
        self.check(
            opened,
            (PEOPLE, bounded(1), _people("integer", 40)),
            (VISITS, bounded(1, "patient"), _visits("integer", 40)),
        )

    @pytest.mark.parametrize("kind", ["integer", "text"])
    def test_who_is_in_a_reserve_is_in_no_table(self, opened: Open, kind: SourceType) -> None:
        """Mutant: a reserve that only the first table, or only the second, leaves out."""
        sums = []
        for reserve in (Reserve(Fraction(1, 2)), Reserve(Fraction(1, 2), opened=True), None):
            people = (PEOPLE, replace(bounded(2), reserve=reserve), _people(kind, 60))
            visits = (VISITS, replace(bounded(3, "patient"), reserve=reserve), _visits(kind, 80))
            sums.append(self.check(opened, people, visits, groups=False)[0][0][0])  # who is there, is all
        assert sums[0] + sums[1] == sums[2]
        assert min(sums) > 0

    def test_three_tables(self, opened: Open) -> None:
        rng = random.Random(3)
        drugs = (
            SourceColumn("cost", "float", [rng.uniform(0, 10) for _ in range(40)]),
            SourceColumn("pid", "integer", [rng.randrange(12) for _ in range(40)]),
        )
        self.check(
            opened,
            (PEOPLE, bounded(1), _people("integer", 40)),
            (VISITS, bounded(2, "patient"), _visits("integer", 60)),
            (DRUGS, bounded(2), drugs),
        )

    def test_texts_are_one_person_only_if_every_byte_is_the_same(self, opened: Open) -> None:
        one = ["ada", "Ada", "ada ", "é", "", "straße", None]
        two = ["ada", "ADA", "ada", "e\u0301", "", "strasse", None]
        people = (SourceColumn("age", "integer", range(7)), SourceColumn("pid", "text", one))
        visits = (SourceColumn("cost", "integer", [1] * 7), SourceColumn("pid", "text", two))
        table = Table("people", (AGE,), person="pid")
        found = self.check(opened, (table, bounded(1), people), (DRUGS, bounded(2), visits))
        assert found[0] == [[3]]  # ada twice, and the empty text

    def test_a_table_without_rows_leaves_nothing(self, opened: Open) -> None:
        empty = tuple(replace(column, values=[]) for column in _visits("integer", 1))
        people = (PEOPLE, bounded(2), _people("integer", 9))
        found = self.check(opened, people, (VISITS, bounded(2, "patient"), empty))
        assert {cell for reading in found for column in reading for cell in column} == {0}

    def test_persons_of_two_types_are_never_compared(self, opened: Open) -> None:
        people = (PEOPLE, bounded(2), _people("integer", 9))
        with pytest.raises(InvalidRequest, match=r"'patient' of table 'visits' .* give both the same type"):
            opened(people, (VISITS, bounded(2, "patient"), _visits("text", 9)))


def _together(members: Sequence[Member]) -> tuple[Table, PrivacyUnit]:
    table = joined(tuple(table for table, _, _ in members))
    return table, replace(members[0][1], rows=prod(unit.rows for _, unit, _ in members))


def _about(table: Table) -> Iterator[Query]:
    cost = next(column for column in table.columns if isinstance(column, RealColumn))
    measures: list[Any] = [Count(), CountPersons(), Sum(ValueOf(cost)), Mean(ValueOf(cost))]
    measures.append(SumOfPersons(ValueOf(cost), Fraction(0), Fraction(5)))
    age = next(column for column in table.columns if isinstance(column, IntegerColumn))
    measures.append(Count(Compare(ValueOf(age), "<", ValueOf(cost))))
    named = tuple((f"m{i}", measure) for i, measure in enumerate(measures))
    wards = tuple(column for column in table.columns if isinstance(column, CategoryColumn))
    listed = tuple(column for column in table.columns if isinstance(column, Bounded))
    yield Query(table, named)
    yield Query(table, named, by=wards, most_groups=2)
    yield Query(table, tuple((f"o{i}", Count(IsOutside(one))) for i, one in enumerate(listed)))


def _expected(members: Sequence[Member], readings: Sequence[Reading]) -> list[list[list[int]]]:
    of_each = [loaded(table, unit, source, "salt") for table, unit, source in members]
    shown = [entry.shown.name for entry in entries(Join(tuple(table for table, _, _ in members)))]
    own = [[column.name for column in table.columns] for table, _, _ in members]
    rows: Own = [
        (combined[0][0], _combined([row for _, row in combined], own, shown))
        for combined in itertools.product(*of_each)
        if len({who for who, _ in combined}) == 1
    ]
    return exact_of(rows, told(members[0][1], members[0][2]), "salt", readings)


def _combined(rows: Sequence[Row], own: Sequence[Sequence[str]], shown: Sequence[str]) -> Row:
    """One row of each table beside each other, under the names of the joined table."""
    names = [(row, name) for row, listed in zip(rows, own, strict=True) for name in listed]
    named = list(zip(shown, names, strict=True))
    outside = tuple(said for said, (row, name) in named if name in row[OUTSIDE])
    return {**{said: row[name] for said, (row, name) in named}, OUTSIDE: outside}


def _people(kind: SourceType, size: int) -> Source:
    rng = random.Random(1)
    return (
        SourceColumn("age", "integer", [rng.choice([None, *range(9)]) for _ in range(size)]),
        SourceColumn("ward", "text", [rng.choice(["a", "b", "x", None]) for _ in range(size)]),
        SourceColumn("pid", kind, _persons(kind, size, rng)),
    )


def _visits(kind: SourceType, size: int) -> Source:
    rng = random.Random(2)
    return (
        SourceColumn("cost", "float", [rng.choice([None, rng.uniform(-1, 11)]) for _ in range(size)]),
        SourceColumn("ward", "text", [rng.choice(["a", "b", "c", None]) for _ in range(size)]),
        SourceColumn("paid", "boolean", [rng.choice([True, False, None]) for _ in range(size)]),
        SourceColumn("Patient", kind, _persons(kind, size, rng)),
    )


def _persons(kind: SourceType, size: int, rng: random.Random) -> list[Any]:
    """Some have many rows, some none, and nobody is nobody's neighbor."""
    makers: dict[str, Callable[[int], Any]] = {"integer": int, "text": "pérson {}".format, "float": float}
    odd = {"float": [float("nan"), -0.0, 0.0]}.get(kind, [])
    own = [makers[kind](rng.randrange(1, 15)) for _ in range(12)]
    return [rng.choice([None, *odd, own[0], own[0], *own]) for _ in range(size)]
