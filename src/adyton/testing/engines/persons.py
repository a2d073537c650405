"""The part of the engines' contract that speaks of persons; ``EngineContract`` includes it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import IntegerColumn, RealColumn, Table
from adyton.kernel.sensitivity import Coordinate, Persons
from adyton.kernel.terms.buckets import Bucket
from adyton.kernel.terms.expressions import Compare, Floor, Plus
from adyton.kernel.terms.leaves import EVERY_ROW, Constant, IsMissing, IsOutside, IsTrue, ValueOf
from adyton.kernel.terms.measures import Count, CountPersons, Mean, Quantile, Sum, SumOfPersons, Variance
from adyton.kernel.terms.persons import PersonNumber, table_of_persons
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.testing.engines.cases import AGE, INCOME, REGION, SMOKER
from adyton.testing.engines.reference import Source, SourceColumn, SourceType, expected
from adyton.testing.engines.setup import Open

TABLE = Table("t", (AGE, INCOME, REGION, SMOKER))
CHANGE = Plus(ValueOf(INCOME), Constant(Fraction(-100_000)))
YOUNG = Compare(ValueOf(AGE), "<", Constant(Fraction(40)))
MEASURES: tuple[Any, ...] = (
    CountPersons(),
    CountPersons(YOUNG),
    SumOfPersons(ValueOf(AGE), Fraction(20), Fraction(200)),
    SumOfPersons(ValueOf(AGE), Fraction(-5), Fraction(10**9), IsTrue(SMOKER)),
    SumOfPersons(CHANGE, Fraction(-50_000), Fraction(50_000)),
    SumOfPersons(CHANGE, Fraction(-1, 100), Fraction(1, 100), YOUNG),
    SumOfPersons(ValueOf(AGE), Fraction(10**5), Fraction(10**6)),
    SumOfPersons(ValueOf(AGE), Fraction(-9), Fraction(-2)),
    SumOfPersons(Constant(Fraction(1)), Fraction(0), Fraction(3), YOUNG),
    Count(YOUNG),
    Mean(ValueOf(INCOME)),
)


def _people(kind: SourceType = "integer", size: int = 300) -> Source:
    """Few persons with many rows, one with very many, and rows that are nobody's."""
    rng = random.Random(5)
    makers: dict[str, Callable[[int], Any]] = {"integer": int, "text": "pérson {}".format, "float": float}
    odd = {"float": [float("nan"), -0.0, 0.0]}.get(kind, [])
    known = [*odd, *map(makers[kind], range(20)), *[makers[kind](7)] * 9]
    return (
        SourceColumn("age", "integer", [rng.choice([None, *range(-5, 130)]) for _ in range(size)]),
        SourceColumn("income", "float", [rng.choice([None, rng.uniform(-9, 3e5)]) for _ in range(size)]),
        SourceColumn("region", "text", [rng.choice(["north", "south", "no", None]) for _ in range(size)]),
        SourceColumn("smoker", "boolean", [rng.choice([True, False, None]) for _ in range(size)]),
        SourceColumn("Who", kind, [rng.choice([None, *known]) for _ in range(size)]),
    )


class PersonsContract:
    @pytest.mark.parametrize("rows", [1, 3, 100])
    @pytest.mark.parametrize("kind", ["integer", "text", "float"])
    def test_the_same_rows_of_a_person_are_kept(self, opened: Open, rows: int, kind: SourceType) -> None:
        source, unit = _people(kind), PrivacyUnit("add-remove", "who", rows)
        measures = (("n", Count()), ("a", Sum(ValueOf(AGE))), ("i", Mean(ValueOf(INCOME))))
        readings = readings_of(Query(TABLE, measures, by=(SMOKER,)), unit)
        found = opened(TABLE, source, unit, "salt 'n' pepper").exact(readings)
        assert found == expected(TABLE, unit, source, "salt 'n' pepper", readings)

    @pytest.mark.parametrize("rows", [1, 2, 3])
    def test_which_copy_is_kept_depends_on_the_person_alone(self, opened: Open, rows: int) -> None:
        """Rows that are equal once they are clipped, but did not come alike.

        Mutant: copies numbered in any order (ORDER BY told): then how others' rows lie decides.
        """
        rng = random.Random(rows)
        ages, regions = [119, 120, 121, 500], ["north", "no", "NO", None]
        known = [(who, rng.choice(ages), rng.choice(regions)) for who in range(80) for _ in range(6)]
        unit, asked = PrivacyUnit("add-remove", "who", rows), (IsOutside(AGE), IsOutside(REGION))
        table = Table("t", (AGE, REGION))
        query = Query(table, tuple((f"m{i}", Count(one)) for i, one in enumerate(asked)))
        readings = readings_of(query, unit)
        for _ in range(2):
            rng.shuffle(known)
            whose, age, region = zip(*known, strict=True)
            source = (
                SourceColumn("age", "integer", age),
                SourceColumn("region", "text", region),
                SourceColumn("who", "integer", whose),
            )
            assert opened(table, source, unit).exact(readings) == expected(
                table, unit, source, "salt", readings
            )

    @pytest.mark.parametrize("most", [None, 1, 2])
    @pytest.mark.parametrize(("rows", "kind"), [(1, "integer"), (4, "integer"), (4, "float"), (100, "text")])
    def test_one_number_of_each_person(
        self, opened: Open, rows: int, kind: SourceType, most: int | None
    ) -> None:
        source, unit = _people(kind), PrivacyUnit("add-remove", "who", rows)
        engine = opened(TABLE, source, unit)
        named = tuple((f"m{i}", measure) for i, measure in enumerate(MEASURES))
        decade = Bucket("decade", Floor(ValueOf(AGE), Fraction(10)))
        for by in ((), (SMOKER,), (REGION, decade)):
            readings = readings_of(Query(TABLE, named, by=by, most_groups=most), unit)
            assert engine.exact(readings) == expected(TABLE, unit, source, "salt", readings), by

    def test_a_person_counts_in_no_more_cells_than_declared(self, opened: Open) -> None:
        """And every person, whatever the others do, chooses cells alone."""
        source = (
            SourceColumn("age", "integer", [*range(100), *range(100), 5]),
            SourceColumn("who", "integer", [1] * 100 + [2] * 100 + [3]),
        )
        table, unit = Table("t", (AGE,)), PrivacyUnit("add-remove", "who", 100)
        engine, by = opened(table, source, unit), (Bucket("age", ValueOf(AGE)),)
        for most in (1, 7, 99, 100):
            query = Query(table, (("p", CountPersons()),), by=by, most_groups=most)
            (((cells),),) = engine.exact(readings_of(query, unit))
            assert sum(cells) == 2 * most + 1
            assert cells[5] >= 1

    def test_rows_outside_a_filter_or_a_group_use_up_no_cell(self, opened: Open) -> None:
        source = (
            SourceColumn("age", "integer", [1, 2, 3, None]),
            SourceColumn("region", "text", ["north", "south", "nowhere", "west"]),
            SourceColumn("who", "text", ["me"] * 4),
        )
        table, unit = Table("t", (AGE, REGION)), PrivacyUnit("add-remove", "who", 9)
        engine = opened(table, source, unit)
        old = Compare(ValueOf(AGE), ">=", Constant(Fraction(2)))
        measures = (
            ("p", CountPersons(old)),
            ("s", SumOfPersons(ValueOf(AGE), Fraction(0), Fraction(9), old)),
        )
        readings = readings_of(Query(table, measures, by=(REGION,), most_groups=1), unit)
        assert engine.exact(readings) == [[[0, 1, 0, 0]], [[0, 2, 0, 0]]]

    @pytest.mark.parametrize("rows", [1, 10**6])
    def test_no_persons_sum_overflows(self, opened: Open, rows: int) -> None:
        """The largest values that a column may declare, clipped beyond what 64 bits can hold."""
        x = IntegerColumn("x", -(2**53), 2**53)
        table, unit = Table("t", (x,)), PrivacyUnit("add-remove", "who", rows)
        source = (
            SourceColumn("x", "integer", [2**63 - 1] * 3000 + [-(2**63)] * 2000),
            SourceColumn("who", "integer", [1] * 3000 + [2] * 2000),
        )
        engine = opened(table, source, unit)
        far = 2**53 * 2**11
        bounds = ((-far, far), (-far, 0), (-(10**45), 10**45), (5, 6), (10**45, 10**46))
        (reading,) = readings_of(Query(table, (("n", CountPersons()),)), unit)
        asked = [
            replace(reading, coordinates=(Coordinate(ValueOf(x)),), persons=Persons(*ends, 1))
            for ends in bounds
        ]
        sums = (min(rows, 3000) * 2**53, -min(rows, 2000) * 2**53)
        wanted = [[[sum(min(max(own, low), high) for own in sums)]] for low, high in bounds]
        assert engine.exact(asked) == wanted
        assert expected(table, unit, source, "salt", asked) == wanted

    @pytest.mark.parametrize("rows", [1, 3, 100])
    @pytest.mark.parametrize("kind", ["integer", "text", "float"])
    def test_a_row_for_each_person(self, opened: Open, rows: int, kind: SourceType) -> None:
        """Rows are cut first; what is known of a person is made of those that are left."""
        source, unit = _people(kind), PrivacyUnit("add-remove", "who", rows)
        inner = replace(TABLE, person="who", most_rows=rows)
        one_row = replace(unit, rows=1)
        readings = [
            reading
            for given in (EVERY_ROW, IsTrue(SMOKER), Compare(ValueOf(AGE), ">", Constant(Fraction(60))))
            for query in _about_persons(table_of_persons(inner, given, OWN))
            for reading in readings_of(query, one_row)
        ]
        plain = readings_of(Query(TABLE, (("n", Count()), ("a", Sum(ValueOf(AGE))))), unit)
        asked = [*readings[:5], *plain, *readings[5:]]
        assert opened(TABLE, source, unit).exact(asked) == expected(TABLE, unit, source, "salt", asked)

    def test_a_table_of_persons_for_fewer_rows_is_not_read(self, opened: Open) -> None:
        inner = replace(TABLE, person="who", most_rows=2)
        (reading, *_) = readings_of(
            Query(table_of_persons(inner, EVERY_ROW, OWN), (("n", Sum(ValueOf(VISITS))),)),
            PrivacyUnit("add-remove", "who"),
        )
        with pytest.raises(InvalidRequest, match="do not fit"):
            opened(TABLE, _people(), PrivacyUnit("add-remove", "who", 3)).exact([reading])


OWN = (
    ("changed", PersonNumber("sum", CHANGE, YOUNG)),
    ("most", PersonNumber("greatest", ValueOf(INCOME))),
    ("outside", PersonNumber("rows", where=IsOutside(AGE))),
    ("regions", PersonNumber("distinct", REGION, YOUNG)),
    ("visits", PersonNumber("rows")),
    ("youngest", PersonNumber("least", ValueOf(AGE), IsTrue(SMOKER))),
)
VISITS = IntegerColumn("visits", 1, 2)


def _about_persons(table: Table) -> tuple[Query, ...]:
    """Every kind of reading of every column, also where persons are grouped by what is known of them."""
    numbers = [ValueOf(column) for column in table.columns if isinstance(column, IntegerColumn | RealColumn)]
    often = Compare(numbers[-2], "<=", Constant(Fraction(2)))
    sums = tuple((f"s{i}", Sum(number)) for i, number in enumerate(numbers))
    means = tuple((f"m{i}", Mean(number, often)) for i, number in enumerate(numbers))
    filtered = tuple(
        (f"f{i}", Count(Compare(numbers[-1], ">=", Constant(Fraction(10 * i))))) for i in range(10)
    )
    how_often = Bucket("often", numbers[-2])
    return (
        Query(table, (("n", Count()), ("who", CountPersons()), *sums, *means)),
        Query(table, (("n", Count()), *sums), often, (how_often,)),
        Query(table, (("q", Quantile(numbers[0], Fraction(1, 2))), ("v", Variance(numbers[1])))),
        Query(table, (*filtered, ("clipped", SumOfPersons(numbers[1], Fraction(5), Fraction(99))))),
        Query(table, (("none", Count(IsMissing(table.columns[-1]))),)),
    )
