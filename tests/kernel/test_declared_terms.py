"""Columns as they are declared, groups, and tables of persons: each bound and each default by hand."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel import schema as s
from adyton.kernel.terms import buckets as b
from adyton.kernel.terms import expressions as e
from adyton.kernel.terms import leaves as f
from adyton.kernel.terms import measures as m
from adyton.kernel.terms import names
from adyton.kernel.terms import persons as p
from refusing import refused

F = Fraction
AGE = s.IntegerColumn("age", -4, 9)
RATE = s.RealColumn("rate", F(1, 2), F(5), F(1, 2))
REGION, SMOKER = s.CategoryColumn("region", ("a", "b", "c")), s.BooleanColumn("smoker")
BORN, TOWN = s.DateColumn("born", datetime.date(1970, 1, 2), datetime.date(1972, 3, 1)), s.TextColumn("town")
COLUMNS = (AGE, RATE, REGION, SMOKER, BORN, TOWN)
VISITS = s.Table("visits", COLUMNS, 50, person="who", most_rows=5)


# Columns ---------------------------------------------------------------------------------------------------


def test_steps_are_counted_from_zero() -> None:
    """Mutants: a step that is not divided, another first day, another factor."""
    lattice = s.Lattice(F(3, 2), -4, 6)
    assert lattice.scaled(1) is lattice
    for factor in (2, 3):
        finer = lattice.scaled(factor)
        assert (finer.step, finer.low, finer.high) == (F(3, 2 * factor), -4 * factor, 6 * factor)
    for coarse, fine, times in ((F(3), F(1, 2), 6), (F(3, 2), F(3, 8), 4), (F(1), F(1), 1)):
        assert s.times_finer(coarse, fine) == times
    for one, other, common in ((F(3), F(2), F(1)), (F(1, 2), F(1, 3), F(1, 6)), (F(4, 3), F(2), F(2, 3))):
        assert s.common_step(one, other) == common
    assert (RATE.lattice, AGE.lattice.step) == (s.Lattice(F(1, 2), 1, 10), 1)
    assert BORN.lattice == s.Lattice(F(1), 1, 790)
    assert [s.day_of(n) for n in (0, 1, -1)] == [
        datetime.date(1970, 1, 1),
        datetime.date(1970, 1, 2),
        datetime.date(1969, 12, 31),
    ]
    assert [s.day_number(s.day_of(n)) for n in (-500, 0, 20_000)] == [-500, 0, 20_000]


def test_what_a_column_does_not_say() -> None:
    """Mutants: another default; a text that may be missing; a clock's column under its own name."""
    assert [s.declares_missing(column) for column in COLUMNS] == [False] * 6
    fresh = (
        s.CategoryColumn("x", ("a",)),
        s.BooleanColumn("x"),
        s.IntegerColumn("x", 0, 1),
        s.RealColumn("x", 0, 1, 1),
    )
    assert [column.missing for column in fresh] == [False] * 4
    assert [s.declares_missing(replace(column, missing=True)) for column in COLUMNS[:5]] == [True] * 5  # type: ignore[call-arg]
    assert (TOWN.longest, s.LONGEST_TEXT) == (4096, 4096)
    hour = s.IntegerColumn("hour", 0, 23, clock=s.ClockPart("seen", "hour"))
    assert [s.source_of(column) for column in (AGE, RATE, hour)] == ["age", "rate", "seen"]
    dimension = s.Dimension("regions", "r", "region", ("a", "b"), (s.Attribute(SMOKER, (True, None)),))
    assert (dimension.rows_left_out, replace(VISITS, most_rows=6) == VISITS) == (0, True)


def test_each_check_of_a_declaration() -> None:
    """Mutants: each check left out, and its border moved."""
    far = 2**53
    for low, high, good in (
        (0, 1, True),
        (0, 0, False),
        (1, 0, False),
        (-far, far, True),
        (-far - 1, 0, False),
        (0, far + 1, False),
    ):
        assert refused(lambda low=low, high=high: s.IntegerColumn("x", low, high)) != good
        assert (
            refused(lambda low=low, high=high: s.RealColumn("x", low * F(1, 2), high * F(1, 2), F(1, 2)))
            != good
        )
    day = datetime.date(1999, 1, 1)
    assert [
        refused(lambda d=d: s.DateColumn("x", day, d)) for d in (day, s.day_of(s.day_number(day) + 1))
    ] == [True, False]
    region = s.CategoryColumn("x", ("n", "s"))

    def dimension(keys: tuple[str, ...] = ("a", "b"), *attributes: s.Attribute) -> s.Dimension:
        return s.Dimension("regions", "r", "region", keys, attributes)

    for keys, good in ((("a",), True), (("a", "b", "c"), True), ((), False), (("a", "a"), False)):
        assert refused(lambda keys=keys: dimension(keys)) != good
    for keys, good in ((("a", "b"), True), (("a", "b", "c"), True), (("a", "d"), False)):
        assert refused(lambda keys=keys: s.Table("t", COLUMNS, dimensions=(dimension(keys),))) != good
    steps = s.IntegerColumn("x", 1, 3)
    for column, values, good in (
        (region, ("s", "n"), True), (region, ("n", "n"), False), (region, ("n", None), False), (region, ("n",), False),
        (steps, (3, 1), True), (steps, (1, 2), False), (steps, (0, 3), False), (steps, (1, 3.0), False), (steps, (None, None), False),
        (SMOKER, (True, None), True), (SMOKER, (1, True), False),
    ):  # fmt: skip
        assert refused(lambda c=column, v=values: dimension(("a", "b"), s.Attribute(c, v))) != good  # type: ignore[arg-type]
    three = ("a", "b", "c")
    assert refused(lambda: dimension(three, s.Attribute(steps, (1, 3, 2.0))))  # type: ignore[arg-type]
    assert not refused(lambda: dimension(three, s.Attribute(steps, (1, 3, 2))))
    assert VISITS.column("AGE") is AGE
    for name, hint in (("agge", "; did you mean 'age'?"), ("zzzzzzzz", "'zzzzzzzz'. Columns")):
        with pytest.raises(InvalidRequest) as found:
            VISITS.column(name)
        assert hint in str(found.value)
    assert refused(lambda: s.Table("t", (AGE, replace(RATE, name="AGE"))))


# Groups ----------------------------------------------------------------------------------------------------


def test_a_group_has_as_many_values_as_are_declared() -> None:
    """Mutants: a value more, a missing value that is no group, advice that is about another number."""
    sizes = [
        b.group_size(group)
        for group in (REGION, SMOKER, replace(REGION, missing=True), replace(SMOKER, missing=True))
    ]
    assert sizes == [3, 2, 4, 3]
    value = f.ValueOf(AGE)
    assert [b.group_size(b.Bucket("x", value, null=null)) for null in (False, True)] == [14, 15]
    assert refused(lambda: b.group_size(TOWN))
    high = f.ValueOf(s.IntegerColumn("x", 0, 3))
    labels = ("a", "b", "c", "d")
    assert not refused(lambda: b.Bucket("x", high, labels))
    assert refused(lambda: b.Bucket("x", high, labels[:3]))
    assert refused(lambda: b.Bucket("x", value, tuple("abcdefghijklmn")))
    wide = f.ValueOf(s.IntegerColumn("wide", 0, 999_999))
    assert not refused(lambda: b.Bucket("x", wide))
    for node, advice in (
        (f.ValueOf(s.IntegerColumn("wide", 0, 10**6)), "FLOOR(wide / 1000)"),
        (f.ValueOf(s.IntegerColumn("wide", 1, 10**6 + 10**4)), "FLOOR(wide / 10000)"),
        (e.Negative(f.ValueOf(s.RealColumn("wide", 0, 10**5, F(1, 20)))), "FLOOR(number / 100)"),
    ):
        with pytest.raises(InvalidRequest) as found:
            b.Bucket("x", node)
        assert advice in str(found.value)
    days = f.DayOf(s.DateColumn("day", datetime.date(1, 1, 1), datetime.date(9999, 12, 31)))
    with pytest.raises(InvalidRequest, match=r"YEAR\(day\)"):
        b.Bucket("x", days)


def test_bounds_of_a_persons_sum_are_counted_in_steps() -> None:
    """Mutants: steps that are multiplied, a root that nobody asked for, a product that is not looked at."""
    value = f.ValueOf(RATE)
    assert m.SumOfPersons(value, F(-3, 2), F(4)).steps == (-3, 8)
    assert [
        refused(lambda b=b: m.SumOfPersons(value, *b)) for b in ((F(1, 3), F(1)), (F(1), F(1)), (F(2), F(1)))
    ] == [True] * 3
    assert not m.Variance(value).root
    wide, wider = (f.ValueOf(s.IntegerColumn("x", 0, 2**k)) for k in (28, 30))
    assert not refused(lambda: m.Moments(wide, wide, "slope"))
    assert refused(lambda: m.Moments(wider, f.ValueOf(s.IntegerColumn("y", 0, 2**33)), "slope"))


def test_a_public_value_may_be_missing_as_its_key_may() -> None:
    """Mutants: a column that is no key, names in another case, a node without parts."""
    dimension = s.Dimension(
        "regions", "r", "REGION", ("a", "b"), (s.Attribute(s.CategoryColumn("n", ("x", "y")), ("x", "y")),)
    )
    for missing, other in product((False, True), repeat=2):
        columns = (replace(AGE, missing=other), replace(REGION, missing=missing))
        table = s.Table("visits", columns, dimensions=(dimension,))
        join = s.Join((table,), (s.PublicJoin("visits", dimension, left=False),))
        shown = [entry.shown for entry in names.entries(join)]
        assert [column.name for column in shown] == ["age", "region", "n"]
        assert s.declares_missing(shown[-1]) == missing
    node = e.And((e.Compare(f.ValueOf(AGE), "<", f.Constant(F(1))), f.IsTrue(SMOKER)))
    assert {column.name for column in names.columns_in(node)} == {"age", "smoker"}
    assert [node] == [part for part in names.parts_in(node) if isinstance(part, e.And)]
    assert list(names.columns_in(3.5, AGE)) == [AGE]


# Tables of persons -----------------------------------------------------------------------------------------


def test_a_number_of_a_person_lies_between_bounds() -> None:
    """Mutants: every bound of a count, a sum, an end and a number of values."""
    age, rate, day = f.ValueOf(AGE), f.ValueOf(RATE), f.DayOf(BORN)
    some = f.IsTrue(SMOKER)

    def column(kind: Any, value: Any = None, rows: int = 5, **more: Any) -> Any:
        return p.PersonNumber(kind, value, **more).column("n", rows)

    assert [column("rows", rows=rows) for rows in (2, 5)] == [
        s.IntegerColumn("n", 1, 2),
        s.IntegerColumn("n", 1, 5),
    ]
    assert column("rows", rows=1) == s.IntegerColumn("n", 0, 1)
    assert column("rows", where=some) == s.IntegerColumn("n", 0, 5)
    assert [column("distinct", REGION, rows) for rows in (2, 5)] == [
        s.IntegerColumn("n", 0, 2),
        s.IntegerColumn("n", 0, 3),
    ]
    assert column("sum", age) == s.IntegerColumn("n", -20, 45)
    assert column("sum", rate) == s.RealColumn("n", F(1, 2), F(25), F(1, 2))
    assert column("sum", e.Negative(rate)) == s.RealColumn("n", F(-25), F(-1, 2), F(1, 2))
    for kind in ("least", "greatest"):
        assert column(kind, age) == s.IntegerColumn("n", -4, 9)
        assert column(kind, day) == s.DateColumn("n", BORN.low, BORN.high)
        missing = replace(BORN, missing=True)
        assert column(kind, f.DayOf(missing)).missing
    both = e.Plus(age, f.ValueOf(replace(RATE, missing=True)))
    assert (column("sum", both).missing, column("sum", age).missing) == (True, False)
    near = f.ValueOf(s.IntegerColumn("x", -(2**53), 1))
    high = f.ValueOf(s.IntegerColumn("x", -1, 2**53))
    for node in (near, high):
        assert not refused(lambda node=node: column("sum", node, 1))
        assert refused(lambda node=node: column("sum", node, 2))
    with pytest.raises(InvalidRequest, match=r"2\*\*53 steps"):
        column("sum", near, 2)
    with pytest.raises(InvalidRequest, match="the same for every person"):
        column("least", f.Constant(F(3)))
    for kind, value in (
        ("rows", age),
        ("distinct", age),
        ("sum", day),
        ("sum", REGION),
        ("least", REGION),
        ("least", None),
    ):
        assert refused(lambda kind=kind, value=value: p.PersonNumber(kind, value))


def test_a_table_of_persons_follows_from_the_rows_that_count() -> None:
    """Mutants: each check of the table left out; persons of other rows taken for the same."""
    numbers = (("n", p.PersonNumber("rows")), ("s", p.PersonNumber("sum", f.ValueOf(AGE))))
    made = p.table_of_persons(VISITS, f.EVERY_ROW, numbers)
    assert (made.name, made.rows, made.person, made.most_rows, made.behind) == (
        "visits",
        50,
        "who",
        1,
        VISITS,
    )
    assert made.columns == (s.IntegerColumn("n", 1, 5), s.IntegerColumn("s", -20, 45))
    for of in (
        replace(VISITS, person=None),
        replace(VISITS, most_rows=None),
        replace(VISITS, join=s.Join((VISITS,))),
    ):
        with pytest.raises(InvalidRequest, match="one private table"):
            p.table_of_persons(of, f.EVERY_ROW, numbers)
    with pytest.raises(InvalidRequest, match="bounds of a table of persons"):
        replace(made, columns=(s.IntegerColumn("n", 1, 4), made.columns[1]))
    twice = (("n", p.PersonNumber("rows")), ("N", p.PersonNumber("rows")))
    with pytest.raises(InvalidRequest, match="same name"):
        p.table_of_persons(VISITS, f.EVERY_ROW, twice)
    other = f.IsTrue(s.BooleanColumn("other"))
    with pytest.raises(InvalidRequest, match="not a column"):
        p.table_of_persons(VISITS, other, numbers)
    same = p.table_of_persons(VISITS, f.EVERY_ROW, numbers[:1])
    given = p.table_of_persons(VISITS, f.IsTrue(SMOKER), numbers)
    more = p.table_of_persons(replace(VISITS, name="calls"), f.EVERY_ROW, numbers)
    named = p.table_of_persons(VISITS, f.EVERY_ROW, (("n", p.PersonNumber("rows", where=f.IsTrue(SMOKER))),))
    for tables, alike in (
        ([made], True), ([made, same], True), ([made, given], False), ([made, more], False), ([made, named], False),
        ([made, VISITS], False), ([VISITS], False), ([], False), ([same, made, same], True),
    ):  # fmt: skip
        assert p.are_of_the_same_persons(tables) == alike
