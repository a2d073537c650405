"""What cannot be built: terms and columns whose bounds are unknown, too far out, or not what is written.

For each border one value on its inner side, and the next one, which is refused.  That the bounds of what can be built
hold every value is tried in ``test_random_readings``.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel import schema as s
from adyton.kernel.privacy import BoundedRangeCost, GaussianCost, Guarantee, PrivacyUnit, PureCost, Reserve
from adyton.kernel.terms import buckets as b
from adyton.kernel.terms import expressions as e
from adyton.kernel.terms import leaves as f
from adyton.kernel.terms import measures as m
from adyton.kernel.terms import persons as p
from adyton.kernel.terms.names import (
    check_columns,
    columns_in,
    entries,
    is_declared,
    joined,
    outsides_in,
    private_part,
)

F = Fraction
AGE, RATE = s.IntegerColumn("age", 0, 100), s.RealColumn("rate", F(0), F(10), F(1, 2))
REGION, SMOKER = s.CategoryColumn("region", ("a", "b", "c")), s.BooleanColumn("smoker")
BORN = s.DateColumn("born", datetime.date(1960, 1, 1), datetime.date(1999, 12, 31))
TOWN = s.TextColumn("town")
A, R, D = f.ValueOf(AGE), f.ValueOf(RATE), f.DayOf(BORN)
TWO, WHERE = f.Constant(F(2)), f.IsTrue(SMOKER)
FAR, LONG = 2**61, F(1, 10**20)
ANY: Any = None

# A border: what is built, the last value that is taken, and the next, which is not.
Border = tuple[Callable[[Any], object], list[Any], list[Any]]


def wide(low: int, high: int) -> f.ValueOf:
    return f.ValueOf(s.IntegerColumn("wide", low, high))


def dimension(**changes: Any) -> s.Dimension:
    facts = {"keys": ("a", "b"), "attributes": (s.Attribute(SMOKER, (True, None)),)}
    return s.Dimension(**{"name": "regions", "key": "r", "joins": "region", **facts, **changes})


def attribute(column: Any, *values: Any) -> s.Dimension:
    return dimension(attributes=(s.Attribute(column, values),))


COLUMNS: list[Border] = [
    (lambda v: s.Lattice(F(1), *v), [(-FAR, FAR)], [(-FAR - 1, 0), (0, FAR + 1)]),
    (lambda v: s.IntegerColumn("x", *v), [(0, 1), (-(2**53), 2**53)], [(0, 0), (1, 0), (0, 2**53 + 1)]),
    (lambda v: s.IntegerColumn("x", *v), [(-1, 0)], [(-(2**53) - 1, 0), (0.0, 1), (0, True), (False, 1)]),
    (
        lambda v: s.IntegerColumn("x", *v[:2], clock=s.ClockPart("t", v[2])),
        [(0, 23, "hour"), (0, 59, "minute")],
        [
            (0, 24, "hour"),
            (1, 23, "hour"),
            (0, 60, "minute"),
            (1, 59, "minute"),
            (0, 59, "second"),
            (0, 59, "hour"),
        ],
    ),
    (
        lambda v: s.RealColumn("x", *v),
        [(0, 1, 1), ("0.5", 1, "0.5"), (-(2**53), 0, 1), (0, 2**52, "0.5")],
        [
            (0, 1, 0),
            (0, 1, -1),
            (0, 1, 2),
            ("0.3", 1, "0.5"),
            (1, 1, 1),
            (0, 2**52 + 1, "0.5"),
            (-(2**53) - 1, 0, 1),
        ],
    ),
    (lambda v: replace(BORN, high=v), [datetime.date(1960, 1, 2)], [datetime.date(1960, 1, 1)]),
    (
        lambda v: s.CategoryColumn("x", v),
        [("a",), (1, 2)],
        [(), ("a", 1), ("a", "a"), (1, 1), (1.0,), (True, False)],
    ),
    (lambda v: s.TextColumn("x", v), [1, 4096, 10**6], [0, 10**6 + 1, 1.0, True]),
    (lambda v: s.Table("t", v), [(AGE, RATE)], [(AGE, replace(RATE, name="AGE"))]),
    (
        lambda v: s.Table("t", (AGE, REGION), dimensions=(v,)),
        [dimension()],
        [dimension(joins="age"), dimension(joins="x")],
    ),
    (lambda v: dimension(keys=v), [("a", "b")], [(), ("a", "a"), ("a",), ("a", "b", "c")]),
    (
        lambda v: attribute(SMOKER, *v),
        [(True, None), (False, True)],
        [(None, None), (1, False), (True, "x"), (True,)],
    ),
    (
        lambda v: attribute(replace(REGION, values=("n", "s")), *v),
        [("s", "n")],
        [("n", "n"), ("n", "x"), ("n", None)],
    ),
    (
        lambda v: attribute(s.IntegerColumn("x", 1, 2), *v),
        [(1, 2), (2, 1)],
        [(1, 1), (1, 3), (0, 2), (1, True), (1, 2.0)],
    ),
    (lambda v: attribute(s.RealColumn("x", 1, 2, F(1, 2)), *v), [(2, 4)], [(2, 3), (1, 2)]),
]
LEAVES: list[Border] = [
    (f.ValueOf, [AGE, RATE], [REGION, SMOKER, BORN, TOWN]),
    (
        f.Constant,
        [F(10**40), F(-1, 10**40), F(0)],
        [F(10**40 + 1), F(1, 10**40 + 1), F(-(10**40) - 1), 1, 0.5],
    ),
    (lambda v: f.Lookup(REGION, v), [(1, None, 2)], [(1, 2), (None, None, None), (1, 2, 3, 4)]),
    (lambda v: f.Lookup(v, (1, 2, 3)), [REGION], [AGE]),
    (f.DayOf, [BORN], [AGE]),
    (f.Day, [-719162, 2932896], [-719163, 2932897, 1.0]),
    (f.DayFrom, [A, f.Constant(F(2932896)), f.Constant(F(-719162))], [R, D, f.Constant(F(2932897)), "x"]),
    (f.DayFrom, [e.Times(A, TWO)], [f.Constant(F(-719163)), f.Day(1), f.DayFrom(A), AGE, BORN]),
    (f.DayCount, [D], [A, f.Day(1)]),
    (
        lambda v: f.DatePart(*v),
        [("year", D), ("weekday", f.DayFrom(A))],
        [("hour", D), ("year", A), ("year", f.Day(1))],
    ),
    (lambda v: f.OneOf(REGION, v), [("a",), ("c", "b")], [(), ("d",), ("a", "d"), (1,), (None,)]),
    (lambda v: f.OneOf(s.CategoryColumn("n", (0, 1)), v), [(1,)], [(True,), (False, 1), (1.0,), ("1",)]),
    (lambda v: f.OneOf(v, ("a",)), [REGION], [AGE]),
    (f.IsTrue, [SMOKER], [AGE, REGION]),
    (f.IsOutside, [AGE, RATE, BORN, REGION], [SMOKER, TOWN]),
]
EXPRESSIONS: list[Border] = [
    (lambda v: e.Plus(A, v), [R, wide(0, FAR // 2**8 - 100)], [D, WHERE, "x", REGION]),
    (
        lambda v: e.Times(wide(0, 2**53), f.Constant(F(1)) if v is None else v),
        [wide(0, 2**8)],
        [wide(0, 2**8 + 1), D],
    ),
    (e.Negative, [A], [D, WHERE]),
    (e.Square, [wide(-(2**30), 2**30)], [wide(0, 2**31), D]),
    (
        lambda v: e.Clip(A, *map(F, v)),
        [(0, 1), (99, 200), (-9, 1)],
        [(0, 0), (1, 0), (-9, 0), (100, 200), (0, 1.5)],
    ),
    (lambda v: e.Floor(A, v), [F(1, 3), F(500)], [F(0), F(-1)]),
    (
        lambda v: (e.Floor(A, v), e.Floor(wide(-100, 0), v)),
        [F(FAR // 100 - 1, FAR // 100)],
        [F(FAR // 100, FAR // 100 + 1)],
    ),
    (lambda v: e.Floor(wide(-100, 0), v), [F(1, FAR // 100)], [F(FAR // 100, FAR // 100 + 1)]),
    (lambda v: e.Curved("exp", wide(v, 0), 1), [-9999], [-10_000]),
    (lambda v: e.Floor(A, v), [F(1, FAR // 100), F(FAR)], [F(1, FAR // 100 + 1), F(FAR + 1)]),
    (
        lambda v: e.Curved(v[0], wide(*v[1:3]), v[3]),
        [("sqrt", 0, 9999, 9), ("exp", 0, 42, 0)],
        [("sqrt", 0, 10_000, 0), ("exp", 0, 43, 0)],
    ),
    (lambda v: e.Curved(v[0], A, v[1]), [("sqrt", 0)], [("sqrt", -1), ("sqrt", 10), ("tan", 0), ("ln", 0)]),
    (
        lambda v: e.Quotient(A, R, *map(F, v[:2]), v[2]),
        [(0, 1, 0), (0, "0.5", 1), (-(FAR // 10**9), 0, 9)],
        [(0, 0, 0), (1, 0, 0), (0, "0.5", 0), ("0.5", 1, 0), (0, 1, -1), (0, 1, 10)],
    ),
    (
        lambda v: e.Quotient(wide(0, v[0]), wide(0, v[1]), F(0), F(1), 0),
        [(2**53, 2**53)],
        [],
    ),
    (lambda v: e.Quotient(e.Times(wide(0, 2**53), wide(0, v)), A, F(0), F(1), 0), [2**7 - 1], [2**7]),
    (lambda v: e.Quotient(A, e.Times(wide(0, 2**53), wide(0, v)), F(0), F(1), 0), [2**8 - 1], [2**8]),
    (e.Indicator, [WHERE], [A]),
    (
        lambda v: e.Case(*v),
        [(((WHERE, A),),), (((WHERE, A),), R)],
        [((),), (((A, A),),), (((WHERE, WHERE),),)],
    ),
    (lambda v: e.Case(((WHERE, A), v)), [(WHERE, R)], [(WHERE, D), (A, R)]),
    (lambda v: e.Case(((WHERE, A),), v), [R, None], [D, WHERE]),
    (
        lambda v: e.Compare(*v),
        [(A, "<", R), (D, "<", f.Day(1))],
        [(A, "!", R), (A, "<", D), (D, "<", A), (A, "<", WHERE)],
    ),
    (e.Not, [WHERE], [A]),
    (e.And, [(WHERE,), (WHERE, WHERE)], [(), (A,), (WHERE, A)]),
    (e.Or, [(WHERE,)], [(), (A,)]),
    (lambda v: e.Times(f.Constant(v), f.Constant(F(1, 10**20))), [LONG], [LONG / 2]),
    (lambda v: e.Times(f.Constant(v), f.Constant(F(10**20))), [F(10**20)], [F(10**20 + 1)]),
]
ONE, ZERO = f.Constant(F(1)), e.Times(A, f.Constant(F(0)))
MEASURES: list[Border] = [
    *((kind, [WHERE], [A]) for kind in (m.Count, m.CountPersons)),
    *((lambda v, kind=kind: kind(A, where=v), [WHERE], [A]) for kind in (m.Sum, m.Mean, m.Variance)),
    (lambda v: m.Proportion(*v), [(WHERE, WHERE)], [(A, WHERE), (WHERE, A)]),
    (m.Sum, [A, ONE], [ZERO, D, WHERE]),
    (m.Mean, [A], [ONE, ZERO, D]),
    (m.Variance, [A, wide(0, 2**31)], [ONE, wide(0, 2**32)]),
    (
        lambda v: m.Moments(*v),
        [(A, R, "slope")],
        [(A, ONE, "slope"), (ONE, A, "slope"), (A, R, "x"), (A, R, "slope", A)],
    ),
    (lambda v: m.Moments(*v), [], [(A, wide(0, 2**32), "r2"), (wide(0, 2**32), A, "r2")]),
    (
        lambda v: m.SumOfPersons(R, *v),
        [(F(0), F(1, 2))],
        [(F(0), F(0)), (F(1), F(0)), (F(1, 4), F(1)), (F(0), F(1, 4))],
    ),
    (lambda v: m.SumOfPersons(R, *v), [(F(0), F(FAR, 2))], [(F(0), F(FAR + 1, 2)), (F(0), F(1), A)]),
    (lambda v: m.SumOfPersons(v, F(0), F(1)), [A], [ZERO, D]),
    (lambda v: m.Quantile(A, v), [F(1, 10_000), F(9_999, 10_000)], [F(0), F(1), F(1, 10_001), F(-1, 2)]),
    (lambda v: m.Quantile(v, F(1, 2)), [R], [ONE, D]),
    (lambda v: m.Quantile(A, F(1, 2), v), [WHERE], [A]),
    (lambda v: m.Extreme(v, "least"), [R], [ONE, D]),
    (lambda v: m.Extreme(A, "least", v), [WHERE], [A]),
    (
        lambda v: m.Cdf(A, v),
        [(F(1),), tuple(map(F, range(1000)))],
        [(), tuple(map(F, range(1001))), (F(1), F(1)), (F(2), F(1))],
    ),
    (lambda v: m.Cdf(v, (F(1),)), [A], [ONE]),
    (lambda v: m.Cdf(A, (F(1),), v), [WHERE], [A]),
    (lambda v: b.Bucket("x", v), [wide(0, 999_999), D, f.DayFrom(A)], [wide(0, 10**6), WHERE]),
    (lambda v: b.Bucket("x", v, null=True), [wide(1, 999_999)], [wide(0, 999_999)]),
    (lambda v: b.Bucket("x", wide(*v), ("a", "b")), [(0, 1)], [(0, 2), (-1, 1)]),
    (p.PersonNumber, ["rows"], ["sum", "distinct", "least"]),
    (
        lambda v: p.PersonNumber(*v),
        [("sum", A), ("least", D), ("distinct", REGION)],
        [("sum", D), ("rows", A), ("distinct", A)],
    ),
    (
        lambda v: p.PersonNumber(*v),
        [("greatest", A, WHERE)],
        [("greatest", REGION), ("greatest", A, A), ("sum", REGION)],
    ),
]
UNITS: list[Border] = [
    (
        lambda v: PrivacyUnit(*v),
        [("add-remove",), ("replace-one", "pid", 2)],
        [("replace",), ("add-remove", "pid", 0)],
    ),
    (lambda v: PrivacyUnit("add-remove", *v), [(None, 1)], [(None, 2)]),
    (lambda v: PrivacyUnit("add-remove", "pid", 6, rows_in=v), [(2, 3), ()], [(2, 2), (5,)]),
    (lambda v: Guarantee(*v), [(1, 0), ("1e-30", "0.5")], [(0, 0), (-1, 0), (1, -1), (1, 1)]),
    (Reserve, [F(1, 10), F(9, 10)], [F(0), F(1), F(-1)]),
    *((kind, [F(1, 10**30)], [F(0), F(-1)]) for kind in (PureCost, GaussianCost, BoundedRangeCost)),
]


def test_only_an_exchanged_person_of_a_split_study_may_change_parts() -> None:
    """Mutants: ``may_change_parts`` with another condition; other defaults of a unit and a reserve."""
    plain = PrivacyUnit("replace-one")
    assert (plain.rows, plain.parts, plain.word, Reserve(F(1, 2)).opened) == (1, 1, "row", False)
    for adjacency in ("add-remove", "replace-one"):
        for person in (None, "pid"):
            for parts in (1, 2, 3):
                unit = PrivacyUnit(adjacency, person, parts=parts)
                moves = (adjacency, person, parts > 1) == ("replace-one", "pid", True)
                assert unit.may_change_parts == moves


PEOPLE = s.Table("people", (AGE, REGION), rows=5, person="pid", dimensions=(dimension(),), lines=7)
VISITS = s.Table("visits", (R.column, SMOKER), person="pid")
LINK = s.PublicJoin("people", dimension(), False)


def test_only_tables_put_together_from_declared_ones_are_declared() -> None:
    """Others have other bounds, or other rows of a person.  Mutants: ``is_declared`` and ``joined`` without a check."""
    both, known = joined((PEOPLE, VISITS)), (PEOPLE, VISITS)
    linked, left = joined((PEOPLE,), (LINK,)), joined((PEOPLE,), (replace(LINK, left=True),))
    for table in (PEOPLE, VISITS, both, linked, left, joined((PEOPLE, VISITS), (LINK,))):
        assert is_declared(table, known)
    assert joined((PEOPLE,)) is PEOPLE
    assert [(one.rows, one.lines, one.person) for one in (both, linked)] == [
        (None, None, "pid"),
        (5, 7, "pid"),
    ]
    other = replace(PEOPLE, columns=(replace(AGE, high=1), REGION))
    strange = replace(LINK, dimension=dimension(keys=("a", "c")))
    lies = [
        other,
        joined((VISITS, PEOPLE)),
        joined((other, VISITS)),
        joined((PEOPLE,), (strange,)),
        joined((PEOPLE,), (replace(LINK, table="visits"),)),
        replace(both, columns=(replace(AGE, high=1), *both.columns[1:])),
        replace(linked, columns=linked.columns[:1]),
    ]
    assert not any(is_declared(table, known) for table in lies)
    assert not is_declared(both, (PEOPLE,))
    assert private_part(linked) == PEOPLE == private_part(PEOPLE)
    assert private_part(joined((PEOPLE, VISITS), (LINK,))) == both


def test_columns_of_tables_put_together_have_one_name_each() -> None:
    """Mutants: ``entries``, ``_may_miss`` and ``_key`` with another condition."""
    again = s.Table("again", (AGE, SMOKER), person="pid")
    names = [column.name for column in joined((PEOPLE, again), (replace(LINK, left=True),)).columns]
    assert names == ["people.age", "region", "again.age", "again.smoker", "regions.smoker", "regions.r"]
    for missing in (False, True):
        people = replace(
            PEOPLE, columns=(replace(AGE, missing=not missing), replace(REGION, missing=missing))
        )
        shown = {
            column.name: column for column in joined((people, VISITS), (replace(LINK, left=True),)).columns
        }
        assert shown["regions.smoker"].missing == shown["regions.r"].missing == missing
    assert [entry.own.name for entry in entries(joined((PEOPLE,), (LINK,)).join)] == [
        "age",
        "region",
        "smoker",
    ]


def test_every_column_that_a_term_reads_is_checked() -> None:
    """Mutants: ``parts_in`` that stops before the last part, ``check_columns`` left out."""
    deep = e.Case(((e.Not(f.IsMissing(AGE)), e.Clip(R, F(0), F(1))),), f.Lookup(REGION, (1, None, 2)))
    assert {column.name for column in columns_in((deep,), D)} == {"age", "rate", "region", "born"}
    assert [one.column for one in outsides_in(e.And((WHERE, f.IsOutside(AGE))))] == [AGE]
    table = s.Table("t", (AGE, RATE, REGION))
    check_columns(table, deep)
    for node in (WHERE, f.ValueOf(replace(AGE, high=1)), (deep, D)):
        with pytest.raises(InvalidRequest):
            check_columns(table, node)


BORDERS = [*COLUMNS, *LEAVES, *EXPRESSIONS, *MEASURES, *UNITS]


@pytest.mark.parametrize("place", range(len(BORDERS)))
def test_each_border_is_where_it_is(place: int) -> None:
    """Mutants: each check of a column, a term, a measure or a unit, left out, or with another border."""
    build, taken, refused = BORDERS[place]
    for value in taken:
        assert build(value) is not None
    for value in refused:
        with pytest.raises(InvalidRequest):
            print(build(value))  # the one that is not refused
