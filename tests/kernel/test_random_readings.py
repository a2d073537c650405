"""Random readings, made of the kernel's own terms: no row, and no unit, moves them farther than is charged.

``test_neighbors`` asks SQL, and planning makes the readings.  Here nothing but the kernel takes part: random numbers
and conditions are put together to readings, whose sensitivity the kernel works out and charges.  All that a row of
the small table below can be is tried; the integers come from a plain loop over rows.
"""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from test_neighbors import BOTH, RULES, Moved, apart, integers, lost

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.accounting.rules import accounting_named
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noisy import NoisyQueries, NoisyQuery
from adyton.kernel.price import Label, price
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.protection import Protection
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    Join,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.kernel.searching import rounds_of
from adyton.kernel.sensitivities import sensitivity_of
from adyton.kernel.sensitivity import Coordinate, Persons, Reading, Sensitivity
from adyton.kernel.sensitivity.bins import bins_of, upto
from adyton.kernel.sensitivity.reading import centred_and_counted, moment_values, squared_values
from adyton.kernel.terms import expressions as e
from adyton.kernel.terms import leaves as f
from adyton.kernel.terms import measures as m
from adyton.kernel.terms.buckets import Bucket, group_size, has_null
from adyton.kernel.terms.disjoint import Exclusions, facts_of
from adyton.kernel.terms.expressions import NumberExpression
from adyton.kernel.terms.persons import PersonNumber, table_of_persons
from adyton.query.labels import group_values
from adyton.query.length import weight
from adyton.testing.engines.meaning import OUTSIDE, Row, condition, number, number_of_person
from support.tries import often

F = Fraction
AGE, RATE = IntegerColumn("age", -2, 1), RealColumn("rate", F(0), F(1), F(1, 2))
REGION, SMOKER = CategoryColumn("region", ("a", "b"), missing=True), BooleanColumn("smoker")
BORN = DateColumn("born", datetime.date(1969, 12, 31), datetime.date(1970, 1, 1))
COLUMNS = (AGE, RATE, REGION, SMOKER, BORN)
EVERY: list[Row] = [
    {"age": age, "rate": rate, "region": region, "smoker": smoker, "born": born, OUTSIDE: ()}
    for age, rate, region, smoker, born in itertools.product(
        (-2, -1, 0, 1, None), (0, 1, 2, None), (0, 1, None), (False, True), (-1, 0)
    )
]


# Terms -----------------------------------------------------------------------------------------------------


def random_number(rng: random.Random, depth: int = 2) -> NumberExpression:
    """One that can be built; others are refused, and thrown again."""
    while True:
        try:
            return _random_number(rng, depth)
        except InvalidRequest:
            pass


def _random_number(rng: random.Random, depth: int) -> NumberExpression:
    if depth == 0 or rng.random() < 0.2:
        leaf = rng.choice((AGE, RATE, 1, "list", "day", "year"))
        if leaf == "list":
            return f.Lookup(REGION, rng.choice(((2, 5), (None, -3))), F(1, 2))
        if leaf == "day":
            return f.DayCount(f.DayOf(BORN))
        if leaf == "year":
            return f.DatePart(rng.choice(("year", "month", "weekday")), f.DayOf(BORN))
        return f.ValueOf(leaf) if leaf != 1 else f.Constant(F(rng.randint(-3, 3), rng.choice((1, 2, 3))))
    inner, other = random_number(rng, depth - 1), random_number(rng, depth - 1)
    low, bins = F(rng.randint(-3, 2)), F(rng.randint(1, 3), rng.choice((1, 2)))
    match rng.randrange(9):
        case 0:
            return e.Plus(inner, other)
        case 1:
            return e.Times(inner, other)
        case 2:
            return e.Negative(inner)
        case 3:
            return e.Square(inner)
        case 4:
            return e.Clip(inner, low, low + rng.randint(1, 3))
        case 5:
            return e.Floor(inner, bins)
        case 6:
            return e.Case(((random_condition(rng, 0), inner),), rng.choice((other, None)))
        case 7:
            return e.Quotient(inner, other, low, low + 2, rng.choice((0, 1)))
        case _:
            return e.Indicator(random_condition(rng, 0))


def random_condition(rng: random.Random, depth: int = 1) -> e.Condition:
    if depth and rng.random() < 0.5:
        some = (random_condition(rng, depth - 1), random_condition(rng, depth - 1))
        return rng.choice((e.And(some), e.Or(some), e.Not(some[0])))
    compared = e.Compare(
        random_number(rng, depth), rng.choice(list(e.MIRRORED)), f.Constant(F(rng.randint(-3, 3), 2))
    )
    others = f.OneOf(REGION, (rng.choice("ab"),)), f.IsTrue(SMOKER), f.IsMissing(rng.choice((AGE, REGION)))
    chosen = rng.choice((compared, compared, compared, *others))
    return rng.choice((chosen, e.Not(chosen)))


def plain(node: NumberExpression, row: Row) -> Fraction | None:
    """What it means, with no lattice anywhere."""
    parts = {
        name: plain(own, row)
        for name in ("left", "right", "inner", "over", "under")
        if isinstance(own := getattr(node, name, None), NumberExpression)
    }
    if None in parts.values():
        return None
    match node:
        case f.ValueOf(column):
            steps = row[column.name]
            return None if steps is None else steps * getattr(column, "step", F(1))
        case f.Constant(value):
            return value
        case f.Lookup(column, numbers, step):
            steps = None if row[column.name] is None else numbers[row[column.name]]
            return None if steps is None else steps * step
        case f.DayCount():
            return F(row["born"])
        case f.DatePart(part):
            day = datetime.date(1970, 1, 1) + datetime.timedelta(row["born"])
            quarter = -(-day.month // 3)
            return F({"quarter": quarter, "weekday": day.isoweekday()}.get(part) or getattr(day, part))
        case e.Plus():
            return parts["left"] + parts["right"]
        case e.Times():
            return parts["left"] * parts["right"]
        case e.Negative():
            return -parts["inner"]
        case e.Square():
            return parts["inner"] ** 2
        case e.Clip(_, low, high):
            return min(max(parts["inner"], low), high)
        case e.Floor(_, step):
            return F(parts["inner"] // step)
        case e.Case(branches, otherwise):
            met = [then for when, then in branches if condition(when, row) is True]
            chosen = next(iter(met), otherwise)
            return None if chosen is None else plain(chosen, row)
        case e.Quotient(_, _, low, high, decimals):
            if parts["under"] == 0:
                return None
            ratio = parts["over"] / parts["under"] * 10**decimals
            rounded = (2 * abs(ratio) + 1) // 2 * (1 if ratio > 0 else -1)
            return min(max(rounded / F(10**decimals), low), high)
        case e.Indicator(inner):
            return F(condition(inner, row) is True)
    raise AssertionError(node)


@pytest.mark.parametrize("seed", range(often(6, 100)))
def test_a_number_is_a_whole_number_of_steps_between_its_bounds(seed: int) -> None:
    """Mutants: any lattice of ``expressions`` and ``leaves`` with another step, or a bound too far inside."""
    rng = random.Random(seed)
    for _ in range(50):
        node = random_number(rng)
        lattice = node.lattice
        for row in rng.sample(EVERY, 40):
            exact, steps = plain(node, row), number(node, row)
            assert (exact is None) == (steps is None), (node, row)
            if exact is not None:
                assert lattice.low <= steps <= lattice.high, (node, row)
                assert steps * lattice.step == exact, (node, row)


A, B, C, D = f.ValueOf(AGE), f.ValueOf(RATE), f.Lookup(REGION, (2, -3)), f.DayCount(f.DayOf(BORN))
FIVE, SMALL = f.Constant(F(5)), f.Constant(F(-1, 3))


def tight() -> list[NumberExpression]:
    """Made anew in each test: a node knows its bounds from when it is built."""
    a, b, c, d = f.ValueOf(AGE), f.ValueOf(RATE), f.Lookup(REGION, (2, -3)), f.DayCount(f.DayOf(BORN))
    five, small = f.Constant(F(5)), f.Constant(F(-1, 3))
    ends = ((F(-1), F(0)), (F(-9), F(0)), (F(-1), F(9)), (F(-9), F(9)))
    return [
        *(a, b, c, d, five, small, f.Lookup(REGION, (None, 7))),
        *(e.Plus(*pair) for pair in ((a, b), (b, small), (d, c))),
        *(e.Times(*pair) for pair in ((a, b), (a, c), (e.Negative(b), a), (five, d), (b, d))),
        *(e.Negative(one) for one in (a, b, c, d)),
        *(e.Square(one) for one in (a, b, d, e.Plus(a, five), e.Plus(a, e.Negative(five)))),
        *(e.Square(e.Plus(a, f.Constant(F(n)))) for n in (-2, -1, 1, 2, 3)),
        *(e.Clip(a, *own) for own in ends),
        e.Clip(b, F(1, 2), F(3, 2)),
        *(e.Floor(one, step) for one in (a, b) for step in (F(1), F(2), F(3, 2), F(1, 4))),
        e.Case(((f.IsTrue(SMOKER), a), (f.OneOf(REGION, ("a",)), five)), b),
        e.Case(((f.IsTrue(SMOKER), b),)),
        e.Quotient(a, five, F(-2, 5), F(1, 5), 1),
        e.Quotient(b, small, F(-3), F(0), 0),
        e.Indicator(f.IsTrue(SMOKER)),
        e.Curved("exp", a, 1),
        e.Curved("sqrt", b, 2),
        f.DatePart("year", f.DayOf(BORN)),
        f.DatePart("year", f.DayFrom(a)),
    ]


@pytest.mark.parametrize("place", range(len(tight())))
def test_the_bounds_of_a_number_are_reached(place: int) -> None:
    """Otherwise every answer would cost more than it must.  Mutants: a bound of a lattice that is too far out."""
    node = tight()[place]
    steps = {number(node, row) for row in EVERY} - {None}
    assert (min(steps), max(steps)) == (node.lattice.low, node.lattice.high)


@pytest.mark.parametrize("decimals", [0, 1, 3])
def test_a_rounded_number_counts_in_steps_of_its_decimals(decimals: int) -> None:
    """Mutants: the lattice of ``Curved`` and of ``Quotient``, and ``factors``, with another step."""
    step = F(1, 10**decimals)
    for node in (
        e.Curved("exp", f.ValueOf(AGE), decimals),
        e.Quotient(f.ValueOf(AGE), f.ValueOf(RATE), F(0), F(2), decimals),
    ):
        assert node.lattice.step == step
    for over, under in ((AGE, RATE), (RATE, AGE), (RATE, RATE)):
        node = e.Quotient(f.ValueOf(over), f.ValueOf(under), F(0), F(2), decimals)
        top, bottom = node.factors
        assert F(top, bottom) == 2 * over.lattice.step / under.lattice.step / step


@pytest.mark.parametrize("part", ["year", "quarter", "month", "day", "weekday"])
def test_a_part_of_a_date_has_the_bounds_of_the_calendar(part: Any) -> None:
    """Of all days of two years.  Mutants: each of the bounds."""
    days = DateColumn("born", datetime.date(2019, 1, 1), datetime.date(2020, 12, 31))
    node = f.DatePart(part, f.DayOf(days))
    found = {plain(node, {"born": day}) for day in range(days.lattice.low, days.lattice.high + 1)}
    assert node.lattice.step == 1
    assert (min(found), max(found)) == (node.lattice.low, node.lattice.high)


A, B = f.ValueOf(AGE), f.ValueOf(RATE)


@pytest.mark.parametrize("seed", range(often(6, 100)))
def test_no_row_meets_two_conditions_that_exclude_each_other(seed: int) -> None:
    """Mutants: ``facts_of``, ``_range``, ``_both`` or ``free`` with another end, sign, or side of a constant."""
    rng, found = random.Random(seed), 0
    for _ in range(often(200, 1000)):
        taken, some = Exclusions(), []
        for _ in range(4):
            new = random_condition(rng)
            if rng.random() < 0.5:
                new = e.Compare(A, rng.choice(list(e.MIRRORED)), f.Constant(F(rng.randint(-5, 3), 2)))
            if rng.random() < 0.3:
                new = e.And((new, random_condition(rng, 0)))
            if taken.takes(facts_of(new)):
                some.append(new)
        found += len(some) > 1
        for row in EVERY:
            assert sum(condition(one, row) is True for one in some) <= 1, (some, row)
    assert found > 25


ATOMS: dict[str, list[e.Condition]] = {
    "age": [
        *(
            e.Compare(A, sign, f.Constant(F(n, 2)))
            for sign in e.MIRRORED
            if sign != "<>"
            for n in range(-5, 4)
        ),
        *(e.Compare(f.Constant(F(n)), sign, A) for sign in ("<", ">=") for n in range(-2, 1)),
        *(
            e.And((e.Compare(A, ">", f.Constant(F(n))), e.Compare(A, "<=", f.Constant(F(n + 2)))))
            for n in (-2, -1)
        ),
        e.Compare(A, ">", e.Negative(f.Constant(F(1)))),
        e.Compare(e.Negative(e.Negative(f.Constant(F(-1)))), ">=", A),
        f.IsMissing(AGE),
    ],
    "born": [
        *(e.Compare(f.DayOf(BORN), sign, f.Day(day)) for sign in ("<=", "=", ">") for day in (-1, 0)),
        f.IsMissing(BORN),
    ],
    "region": [
        *(f.OneOf(REGION, own) for own in (("a",), ("b",), ("a", "b"))),
        *(e.Not(f.OneOf(REGION, (own,))) for own in "ab"),
        e.And((f.OneOf(REGION, ("a", "b")), e.Not(f.OneOf(REGION, ("a",))))),
        e.And((e.Not(f.OneOf(REGION, ("b",))), f.OneOf(REGION, ("a", "b")))),
        f.IsMissing(REGION),
    ],
    "smoker": [f.IsTrue(SMOKER), e.Not(f.IsTrue(SMOKER)), f.IsTrue(SMOKER)],
    "outside": [f.IsOutside(AGE), e.Not(f.IsOutside(AGE))],
}


@pytest.mark.parametrize("subject", ATOMS)
def test_conditions_on_one_column_exclude_each_other_if_no_row_meets_both(subject: str) -> None:
    """Then they cost the greatest only.  Mutants: what finds less: ``_fact``, ``_range``, ``free`` and ``take``."""
    rows = [{**row, OUTSIDE: came} for row in EVERY for came in ((), ("age",))]
    rows += [{**row, "born": None} for row in EVERY]
    met = [(one, {i for i, row in enumerate(rows) if condition(one, row) is True}) for one in ATOMS[subject]]
    can_be, rng = [own for own in met if own[1]], random.Random(subject)
    for _ in range(often(300, 3000)):
        exclusions, taken = Exclusions(), set[int]()
        for one, own in rng.sample(can_be, min(4, len(can_be))):
            assert exclusions.takes(facts_of(one)) == taken.isdisjoint(own), (one, taken)
            taken |= own if taken.isdisjoint(own) else set()


def test_a_group_has_a_value_for_each_of_its_places() -> None:
    """Mutants: ``group_values`` and ``group_size`` with one more or fewer, another step, or no NULL."""
    groups: list[tuple[Any, tuple[Any, ...]]] = [
        (SMOKER, (False, True)),
        (REGION, ("a", "b", None)),
        (Bucket("x", A), (-2, -1, 0, 1)),
        (Bucket("x", B, null=True), (0, 0.5, 1, None)),
        (Bucket("x", e.Times(A, f.Constant(F(3)))), (-6, -3, 0, 3)),
        (Bucket("x", e.Plus(A, f.Constant(F(3))), ("no", "a", "b", "c", "d")), ("a", "b", "c", "d")),
        (Bucket("x", f.DayOf(BORN)), ("1969-12-31", "1970-01-01")),
        (Bucket("x", f.DatePart("year", f.DayOf(BORN)), null=True), (1969, 1970, None)),
    ]
    for group, values in groups:
        found = group_values(group)
        assert (found, [type(one) for one in found]) == (values, [type(one) for one in values])
        assert group_size(group) == len(values)
        assert has_null(group) == (values[-1] is None)
    with pytest.raises(InvalidRequest):
        group_values(TextColumn("town"))


NUMBERS: list[tuple[Any, ...]] = [
    ("rows",),
    ("distinct", REGION),
    *((kind, value) for kind in ("sum", "least", "greatest") for value in (f.ValueOf(AGE), f.ValueOf(RATE))),
    *(("sum", e.Plus(f.ValueOf(AGE), f.Constant(F(n)))) for n in (2, 3, -2)),
    *((kind, f.DayOf(BORN)) for kind in ("least", "greatest")),
]


@pytest.mark.parametrize("where", [f.EVERY_ROW, f.IsTrue(SMOKER)], ids=["every row", "some"])
@pytest.mark.parametrize("place", range(len(NUMBERS)))
def test_a_number_of_a_person_is_within_its_column_and_reaches_its_bounds(
    place: int, where: e.Condition
) -> None:
    """Of one row, and of two.  Mutants: ``column`` with another bound, step, or number of rows."""
    number_of, rng = (
        PersonNumber(*NUMBERS[place][:1], *(NUMBERS[place][1:] or (None,)), where),
        random.Random(place),
    )
    for most in (2, 3):
        column = number_of.column("n", most)
        ends = rng.sample(EVERY, 60) + [
            row for row in EVERY if row["age"] in (-2, 1) and row["rate"] in (0, 2)
        ]
        persons = [[row] * n for row in ends for n in range(1, most + 1)]
        persons += [[rng.choice(EVERY) for _ in range(rng.randint(1, most))] for _ in range(200)]
        found = {number_of_person(number_of, rows) for rows in persons} - {None}
        assert (min(found), max(found)) == (column.lattice.low, column.lattice.high)
        assert column.lattice.step == (F(1) if place in (0, 1) else number_of.value.lattice.step)
    missing = PersonNumber("sum", f.Lookup(REGION, (1, 2)), where).column("n", 2)
    assert (missing.missing, number_of.column("n", 2).missing) == (True, False)


def test_numbers_of_persons_that_no_column_can_hold_are_refused() -> None:
    """Mutants: ``_numbers``, ``columns_of_persons`` and ``TableOfPersons`` without a check."""
    wide, rows = f.ValueOf(IntegerColumn("wide", -(2**52), 2**52)), PersonNumber("rows")
    assert PersonNumber("sum", wide).column("n", 2).high == 2**53
    never = e.Times(f.ValueOf(AGE), f.Constant(F(0)))
    for number_of, most in ((PersonNumber("sum", wide), 3), (PersonNumber("least", never), 1)):
        with pytest.raises(InvalidRequest):
            number_of.column("n", most)
    assert [rows.column("n", most).low for most in (1, 2)] == [0, 1]
    people = Table("people", COLUMNS, person="pid", most_rows=2)
    table = table_of_persons(
        people, f.IsTrue(SMOKER), (("n", rows), ("age", PersonNumber("sum", f.ValueOf(AGE))))
    )
    assert (table.most_rows, table.behind) == (1, people)
    for other in (
        replace(people, person=None),
        replace(people, most_rows=None),
        replace(people, join=Join((people,))),
    ):
        with pytest.raises(InvalidRequest):
            table_of_persons(other, f.EVERY_ROW, (("n", rows),))
    elsewhere = f.ValueOf(IntegerColumn("age", 0, 1))
    for changes in ({"columns": table.columns[:1]}, {"given": e.Compare(elsewhere, "<", f.Constant(F(1)))}):
        with pytest.raises(InvalidRequest):
            replace(table, **changes)


LISTED = CategoryColumn("code", tuple(range(40)))
WEIGHTS: list[tuple[Any, int, int]] = [  # to write it, and to ask whether it has a value
    (f.ValueOf(AGE), 1, 1),
    (f.Constant(F(2)), 1, 0),
    (e.Plus(f.ValueOf(AGE), f.ValueOf(RATE)), 2, 2),
    (e.Times(f.ValueOf(AGE), f.Constant(F(2))), 2, 1),
    (e.Negative(f.ValueOf(AGE)), 1, 1),
    (e.Floor(f.ValueOf(AGE), F(1, 2)), 1, 1),
    (e.Square(e.Plus(f.ValueOf(AGE), f.ValueOf(RATE))), 4, 2),
    (e.Clip(e.Plus(f.ValueOf(AGE), f.ValueOf(RATE)), F(-1), F(1)), 4, 2),
    (f.DatePart("year", f.DayFrom(f.ValueOf(AGE))), 1, 1),
    (f.DayCount(f.DayOf(BORN)), 1, 1),
    (f.Lookup(REGION, (1, 2)), 1, 1),
    (f.Lookup(LISTED, tuple(range(40))), 3, 3),
    (e.Indicator(e.And((f.IsTrue(SMOKER), f.OneOf(LISTED, tuple(range(33)))))), 4, 0),
    (e.Indicator(e.Compare(f.ValueOf(AGE), "<", f.ValueOf(RATE))), 2, 0),
    (e.Indicator(e.Or((f.IsMissing(AGE), f.EVERY_ROW, e.Not(f.IsOutside(AGE))))), 3, 0),
    (e.Curved("exp", f.ValueOf(IntegerColumn("x", -40, -1)), 1), 3, 1),
    (
        e.Case(((f.IsTrue(SMOKER), f.ValueOf(AGE)), (f.IsMissing(AGE), f.Constant(F(1)))), f.ValueOf(RATE)),
        5,
        4,
    ),
    (e.Quotient(e.Plus(f.ValueOf(AGE), f.ValueOf(RATE)), e.Square(f.ValueOf(RATE)), F(0), F(1), 0), 15, 5),
]


@pytest.mark.parametrize("place", range(len(WEIGHTS)))
def test_a_weight_is_how_often_a_column_or_a_number_is_read(place: int) -> None:
    """A clip asks whether there is a value, too.  Mutants: each pair of ``_PAIRS``."""
    node, once, present = WEIGHTS[place]
    assert weight(node) == once
    lattice = e.Plus(node, f.ValueOf(AGE)).lattice
    clipped = e.Clip(e.Plus(node, f.ValueOf(AGE)), lattice.low * lattice.step, lattice.high * lattice.step)
    assert weight(clipped) == once + present + 2


# Readings --------------------------------------------------------------------------------------------------


def protection(rule: str, adjacency: str, rows: int | None) -> Protection:
    person = None if rows is None else "pid"
    unit = PrivacyUnit(adjacency, person, rows or 1)  # type: ignore[arg-type]
    return Protection(Table("people", COLUMNS, person=person), unit, accounting_named(rule))


def with_sensitivity(reading: Reading, known: Protection) -> Reading:
    return replace(reading, sensitivity=sensitivity_of(reading, known.unit))


def random_reading(rng: random.Random, known: Protection) -> Reading:
    by = tuple(rng.sample([SMOKER, REGION, Bucket("sign", e.Floor(A, F(2)))], rng.choice((0, 0, 1, 2))))
    where = rng.choice((f.EVERY_ROW, random_condition(rng)))
    value, other = random_number(rng), random_number(rng)
    varies = value.lattice.low < value.lattice.high and other.lattice.low < other.lattice.high
    kinds = ["count", "sum"] + varies * ["mean", "squares", "variance", "moments", "search", "extreme", "cdf"]
    kind = rng.choice(kinds + (known.unit.person is not None) * ["persons", "sum of persons"])
    first = Reading(
        "n", m.Count(), where, (Coordinate(),), by, Sensitivity(((0, 0),), 1, "add-remove"), groups=len(by)
    )
    first = replace(first, table=known.table)
    low = rng.randint(-4, 3)
    persons = Persons(low, low + rng.randint(0, 3), rng.choice((1, 2)))
    changes: dict[str, Any] = {
        "count": dict,
        "sum": lambda: {"coordinates": (Coordinate(value, rng.randint(1, 3), rng.randint(-2, 2)),)},
        "mean": lambda: {"measure": m.Mean(value), "coordinates": centred_and_counted(value)},
        "variance": lambda: {"measure": m.Variance(value), "coordinates": squared_values(value)},
        "squares": lambda: {"measure": m.Mean(value), "coordinates": squared_values(value)},
        "cdf": lambda: {"by": (*by, upto(value, (F(-1), F(1, 2))))},
        "moments": lambda: {
            "measure": m.Moments(value, other, "slope"),
            "coordinates": moment_values(other, value),
        },
        "search": lambda: searched(m.Quantile(value, F(rng.randint(1, 4), 5)), by),
        "extreme": lambda: searched(m.Extreme(value, rng.choice(("least", "greatest"))), by),
        "persons": lambda: {"persons": Persons(1, 1, persons.groups)},
        "sum of persons": lambda: {"persons": persons, "coordinates": (Coordinate(value),)},
    }
    found = with_sensitivity(replace(first, **changes[kind]()), known)
    return found if any(map(any, found.sensitivity.boxes)) else random_reading(rng, known)


def searched(measure: Any, by: tuple[Any, ...]) -> dict[str, Any]:
    """All bins at once: the lattices here are short."""
    lattice = measure.value.lattice
    bins = bins_of(lattice.low, lattice.high, 4)
    assert bins.width == 1
    bucket = (
        Bucket("bin", measure.value)
        if lattice.step == 1
        else Bucket("bin", e.Floor(measure.value, lattice.step))
    )
    return {"measure": measure, "by": (*by, bucket)}


def with_random_noise(rng: random.Random, reading: Reading, rule: str) -> NoisyReading:
    scales = tuple(F(rng.randint(1, 40), rng.randint(1, 4)) for _ in reading.sensitivity.boxes)
    kind = GeometricNoise if rule == "pure" else GaussianNoise
    search = isinstance(reading.measure, m.Quantile | m.Extreme)
    times = rounds_of(reading) if search else rng.choice((1, 1, 2))
    return NoisyReading(reading, kind(scales), times)


def moves(readings: list[Reading], known: Protection, rng: random.Random) -> list[Moved]:
    """Of every row, or of some persons; exchanged for nothing, or for each other."""
    rows = known.unit.rows
    units = [[row] for row in EVERY] if rows == 1 else list(some_persons(rng, rows))
    reach = apart([integers(readings, [("unit", row) for row in unit]) for unit in units])
    if known.unit.adjacency == "add-remove":
        return reach
    return apart([[a - b for a, b in zip(one, two, strict=True)] for one in reach for two in reach])


def some_persons(rng: random.Random, rows: int) -> Iterator[list[Row]]:
    """Copies of one row; and rows that differ."""
    yield from ([row] * rows for row in rng.sample(EVERY, 40))
    yield from ([rng.choice(EVERY) for _ in range(rng.randint(1, rows))] for _ in range(40))


CASES = list(itertools.product(RULES, BOTH, (None, 1, 3)))


@pytest.mark.parametrize(("rule", "adjacency", "rows"), CASES)
def test_no_unit_moves_random_readings_farther_than_is_charged(
    rule: str, adjacency: str, rows: int | None
) -> None:
    """And some unit moves some of them as far.

    Mutants: those that ``test_neighbors`` names, any bound of any term, and any of them too far out.
    """
    rng, known = random.Random(f"{rule} {adjacency} {rows}"), protection(rule, adjacency, rows)
    tight = 0
    for _ in range(often(8, 100)):
        readings = [random_reading(rng, known) for _ in range(rng.choice((1, 1, 2)))]
        parts = [with_random_noise(rng, reading, rule) for reading in readings]
        amount = price(NoisyQueries((NoisyQuery(tuple(parts)),)), known, Label("q", "d")).due.amount
        losses = [sum(map(lost, parts, moved)) for moved in moves(readings, known, rng)]
        worst = UNITS_PER_ONE * max(losses) / (2 if rule == "zcdp" else 1)
        assert worst <= amount, parts
        tight += worst > amount - 3
    assert tight or rows == 3  # of whose persons only some are tried
