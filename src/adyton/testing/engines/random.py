"""The part of the engines' contract that asks random queries; ``EngineContract`` includes it.

One statement holds many of them, so that engines which take long to start are tested as thoroughly.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, get_args

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, Table, TextColumn
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.buckets import Bucket, Group
from adyton.kernel.terms.expressions import (
    And,
    Case,
    Clip,
    Compare,
    Condition,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Operator,
    Or,
    Plus,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import (
    Always,
    Constant,
    DatePart,
    Day,
    DayOf,
    IsMissing,
    IsOutside,
    IsTrue,
    Lookup,
    OneOf,
    Part,
    ValueOf,
)
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Quantile,
    Sum,
    SumOfPersons,
)
from adyton.planning.readings import histogram_of_axes, readings_of
from adyton.query.conditions.atoms import Axes, axes_by
from adyton.query.conditions.possible_cells import kept_cells
from adyton.query.nodes import Query
from adyton.testing.engines.cases import (
    AGE,
    BORN,
    INCOME,
    ODD_KEYS,
    PEOPLE,
    REGION,
    SMOKER,
    YEAR,
    readings_of_all_cells,
)
from adyton.testing.engines.reference import Source, SourceColumn, expected, expected_found
from adyton.testing.engines.setup import Open

CITY = TextColumn("city")
# Rows without a value of these are a group of their own.
ZONE = CategoryColumn("zone", ("inner", "outer"), missing=True)
MEMBER = BooleanColumn("member", missing=True)
TABLE = Table("t", (*PEOPLE.columns, CITY, ZONE, MEMBER))

_Made = TypeVar("_Made")


class RandomContract:
    rounds: ClassVar[int] = 8  # fewer for an engine that takes long to plan

    @pytest.mark.parametrize("seed", range(8))
    def test_random_queries_about_random_rows_mean_the_same(self, opened: Open, seed: int) -> None:
        rng = random.Random(seed)
        source = random_source(rng, rng.choice([0, 1, 60]))
        unit = PrivacyUnit("add-remove", "who", rng.choice([1, 2, 5]))
        engine = opened(TABLE, source, unit)
        many = [reading for _ in range(6) for reading in random_readings(rng, unit, discovers_groups=False)]
        assert engine.exact(many) == expected(TABLE, unit, source, "salt", many)
        for _ in range(2):
            readings = random_readings(rng, unit, discovers_groups=True)
            assert engine.found(readings) == expected_found(TABLE, unit, source, "salt", readings)

    @pytest.mark.parametrize("seed", range(2))
    def test_groups_that_are_left_out_hold_nothing(self, opened: Open, seed: int) -> None:
        """In the engine's own meaning of every condition: asked about all groups, it finds 0 in these."""
        rng = random.Random(100 + seed)
        source = random_source(rng, 60)
        unit = PrivacyUnit("add-remove", "who", rng.choice([1, 3]))
        engine = opened(TABLE, source, unit)
        drawn = [random_query(rng, discovers_groups=False) for _ in range(80)]
        queries = [q for q in drawn if any(one.kept is not None for one in readings_of(q, unit))]
        few = [reading for q in queries for reading in readings_of(q, unit)]
        every = [r for q in queries for r in readings_of_all_cells(q, unit)]
        every = [replace(all_of, persons=one.persons) for all_of, one in zip(every, few, strict=True)]
        assert len(queries) >= 4
        for reading, own, whole in zip(few, engine.exact(few), engine.exact(every), strict=True):
            for some, column in zip(own, whole, strict=True):
                kept = range(len(column)) if reading.kept is None else reading.kept
                assert some == [column[place] for place in kept]
                assert sum(map(bool, some)) == sum(map(bool, column))

    @pytest.mark.parametrize("seed", range(3))
    def test_counts_of_public_cells_add_up_to_plain_counts(self, opened: Open, seed: int) -> None:
        rng, unit = random.Random(200 + seed), PrivacyUnit("add-remove", "who", 3)
        engine = opened(TABLE, random_source(rng, 60), unit)
        for _ in range(self.rounds):
            conditions, by, axes = _possible(lambda: random_cells(rng))
            asked = [Query(TABLE, (("n", Count(condition)),)) for condition in conditions]
            grouping = readings_of_all_cells(Query(TABLE, (("n", Count()),), by=by), unit)
            readings = [r for q in asked for r in readings_of(q, unit)]
            histogram = histogram_of_axes(axes, None, unit)
            *plain, grouped, read = engine.exact([*readings, *grouping, histogram.reading])
            counts = histogram.counts(read[0])
            assert [[int(counts[axes.mask(c)].sum())] for c in conditions] == [list(n) for (n,) in plain]
            places = axes.places(by[0])
            assert [int(counts[places == i].sum()) for i in range(len(grouped[0]))] == list(grouped[0])

    def test_bins_within_groups_of_which_some_are_left_out(self, opened: Open) -> None:
        rng, unit = random.Random(9), PrivacyUnit("add-remove", "who", 2)
        source = random_source(rng, 60)
        some = OneOf(REGION, REGION.values[1:3])
        measures = (
            ("q", Quantile(ValueOf(AGE), Fraction(1, 2))),
            ("most", Extreme(ValueOf(INCOME), "greatest")),
        )
        queries = [
            Query(TABLE, measures, some, (REGION,)),
            Query(TABLE, measures, And((some, IsTrue(SMOKER))), (SMOKER, REGION)),
            Query(TABLE, (("f", Cdf(ValueOf(AGE), (Fraction(20), Fraction(60)))),), some, (REGION, SMOKER)),
        ]
        apart = tuple((f"in {value}", Count(OneOf(REGION, (value,)))) for value in REGION.values[1:3])
        queries.append(Query(TABLE, apart, by=(REGION,)))  # other regions are scanned as well
        readings = [reading for query in queries for reading in readings_of(query, unit)]
        assert opened(TABLE, source, unit).exact(readings) == expected(TABLE, unit, source, "salt", readings)


def random_source(rng: random.Random, size: int) -> Source:
    def column(name: str, kind: Any, make: Callable[[], Any]) -> SourceColumn:
        return SourceColumn(name, kind, [None if rng.random() < 0.2 else make() for _ in range(size)])

    day = datetime.date(2024, 12, 31)
    return (
        column("age", "integer", lambda: rng.choice([-(2**63), 2**63 - 1, rng.randint(-9, 130)])),
        column("income", "float", lambda: rng.choice([rng.uniform(-9, 3e5), float("nan"), 1e300, -1e300])),
        column("region", "text", lambda: rng.choice([*REGION.values, "nowhere"])),
        column("year", "integer", lambda: rng.choice([*YEAR.values, 1999])),
        column("smoker", "boolean", lambda: rng.random() < 0.5),
        column("born", "date", lambda: day - datetime.timedelta(rng.randint(-9, 60_000))),
        column("city", "text", lambda: rng.choice(ODD_KEYS)),
        column("zone", "text", lambda: rng.choice(["inner", "outer", "else"])),
        column("member", "boolean", lambda: rng.random() < 0.5),
        column("who", "integer", lambda: rng.randint(1, 9)),
    )


def random_cells(rng: random.Random) -> tuple[list[Condition], tuple[Group], Axes]:
    """Some conditions, a group, and the cells of all of them."""
    conditions = [random_condition(rng, rng.randint(0, 2)) for _ in range(rng.randint(1, 4))]
    group = rng.choice(_groups(rng))
    axes = axes_by(TABLE, conditions, [group])
    axes.check(20_000)
    axes.query()  # refused where bins would have to be too narrow
    return conditions, (group,), axes


def random_readings(rng: random.Random, unit: PrivacyUnit, *, discovers_groups: bool) -> tuple[Reading, ...]:
    """Of one query."""

    return _possible(lambda: readings_of(random_query(rng, discovers_groups=discovers_groups), unit))


def random_query(rng: random.Random, *, discovers_groups: bool) -> Query:
    """One whose groups can match."""

    def attempt() -> Query:
        groups = rng.sample(_groups(rng), rng.choice([0, 1, 1, 2]))
        by = (CITY, *groups[:1]) if discovers_groups else tuple(groups)
        measures = tuple((f"m{i}", random_measure(rng)) for i in range(rng.randint(1, 4)))
        most = rng.choice([None, None, 1, 2])
        query = Query(TABLE, measures, random_condition(rng, 1), by, most)
        kept_cells(query)
        return query

    return _possible(attempt)


def _groups(rng: random.Random) -> list[Group]:
    bucket = _possible(
        lambda: Bucket(
            "bucket",
            Floor(random_number(rng, 1), Fraction(rng.randint(1, 10**5))),
            null=rng.random() < 0.5,
        )
    )
    part = Bucket("part", DatePart(rng.choice(get_args(Part)), DayOf(BORN)), null=rng.random() < 0.5)
    few = bucket.value.lattice.high - bucket.value.lattice.low < 200
    return [REGION, YEAR, SMOKER, ZONE, MEMBER, part, *([bucket] if few else [])]


def random_measure(rng: random.Random) -> Measure:
    def attempt() -> Measure:
        where, value = random_condition(rng, 2), random_number(rng, 3)
        low, steps = value.lattice.low, rng.randint(1, max(1, value.lattice.high - value.lattice.low))
        bounds = (low * value.lattice.step, (low + steps) * value.lattice.step)
        makers: list[Callable[[], Measure]] = [
            lambda: Count(where),
            lambda: CountPersons(where),
            lambda: Sum(value, where),
            lambda: Mean(value, where),
            lambda: SumOfPersons(value, *bounds, where),
        ]
        return rng.choice(makers)()

    return _possible(attempt)


def random_number(rng: random.Random, depth: int) -> NumberExpression:
    return _possible(lambda: _number(rng, depth))


def random_condition(rng: random.Random, depth: int) -> Condition:
    return _possible(lambda: _condition(rng, depth))


def _number(rng: random.Random, depth: int) -> NumberExpression:
    def constant() -> Fraction:
        return Fraction(rng.randint(-1000, 1000), rng.choice([1, 1, 2, 7, 100]))

    def inner() -> NumberExpression:
        return random_number(rng, depth - 1)

    def listed() -> int | None:
        return rng.choice([None, rng.randint(-99, 99)])

    leaves: list[Callable[[], NumberExpression]] = [
        lambda: ValueOf(INCOME),
        lambda: ValueOf(AGE),
        lambda: Constant(constant()),
        lambda: Lookup(REGION, (listed(), listed(), 5, listed()), Fraction(1, rng.randint(1, 3))),
        lambda: DatePart(rng.choice(get_args(Part)), DayOf(BORN)),
    ]
    larger: list[Callable[[], NumberExpression]] = [
        lambda: Plus(inner(), inner()),
        lambda: Times(inner(), inner()),
        lambda: Negative(inner()),
        lambda: Square(inner()),
        lambda: _clip(inner(), rng),
        lambda: Floor(inner(), abs(constant()) or Fraction(1)),
        lambda: Indicator(random_condition(rng, depth - 1)),
        lambda: Case(((random_condition(rng, depth - 1), inner()), (random_condition(rng, 0), inner()))),
        lambda: Case(((random_condition(rng, depth - 1), inner()),), inner()),
    ]
    return rng.choice(larger if depth > 0 and rng.random() < 0.8 else leaves)()


def _clip(inner: NumberExpression, rng: random.Random) -> Clip:
    low, high = sorted(rng.randint(inner.lattice.low - 5, inner.lattice.high + 5) for _ in range(2))
    return Clip(inner, low * inner.lattice.step, high * inner.lattice.step)


def _condition(rng: random.Random, depth: int) -> Condition:
    def inner() -> Condition:
        return random_condition(rng, depth - 1)

    sign = rng.choice(get_args(Operator))
    leaves: list[Callable[[], Condition]] = [
        lambda: Compare(random_number(rng, depth), sign, random_number(rng, 0)),
        lambda: Compare(DayOf(BORN), sign, Day(rng.randint(-30_000, 20_000))),
        lambda: OneOf(REGION, tuple(rng.sample(REGION.values, 2))),
        lambda: IsTrue(SMOKER),
        lambda: IsMissing(rng.choice(TABLE.columns)),
        lambda: IsOutside(rng.choice((AGE, INCOME, REGION, YEAR, BORN))),
        lambda: Always(True),
    ]
    larger: list[Callable[[], Condition]] = [
        lambda: Not(inner()),
        lambda: And((inner(), inner())),
        lambda: Or((inner(), inner())),
    ]
    return rng.choice(larger if depth > 0 and rng.random() < 0.5 else leaves)()


def _possible(make: Callable[[], _Made]) -> _Made:
    """The first that is not refused."""
    while True:
        try:
            return make()
        except InvalidRequest:
            continue
