"""The bounds of terms, by working out every value: none is missed, and none is wider than it must be."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel import schema as s
from adyton.kernel.terms import disjoint as d
from adyton.kernel.terms import expressions as e
from adyton.kernel.terms import leaves as f
from adyton.kernel.terms import measures as m
from refusing import refused

F = Fraction
SPANS = ((0, 1), (-3, 4), (1, 5), (-6, -1), (-4, 0))
STEPS = (F(1), F(1, 2), F(3))
Numbers = dict[Fraction, None]


def numbers(low: int, high: int, step: Fraction) -> f.ValueOf:
    if step == 1:
        return f.ValueOf(s.IntegerColumn("x", low, high))
    return f.ValueOf(s.RealColumn("x", low * step, high * step, step))


def values(node: e.NumberExpression) -> set[Fraction]:
    lattice = node.lattice
    return {k * lattice.step for k in range(lattice.low, lattice.high + 1)}


def is_tight(node: e.NumberExpression, step: Fraction, found: set[Fraction]) -> bool:
    lattice = node.lattice
    ends = (lattice.low * lattice.step, lattice.high * lattice.step)
    return lattice.step == step and ends == (min(found), max(found))


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("step", STEPS)
def test_one_number_is_turned_into_another(span: tuple[int, int], step: Fraction) -> None:
    """Mutants: every sign, power and end of ``Negative``, ``Square``, ``Floor``, ``Clip``, ``Indicator``."""
    node = numbers(*span, step)
    own = values(node)
    assert own == {k * step for k in range(span[0], span[1] + 1)}
    assert is_tight(e.Negative(node), step, {-v for v in own})
    assert is_tight(e.Square(node), step**2, {v * v for v in own})
    for width in (F(1), F(2), F(1, 3), F(5, 2)):
        assert is_tight(e.Floor(node, width), F(1), {F(math.floor(v / width)) for v in own})
    for low, high in product(range(span[0] - 2, span[1] + 3), repeat=2):
        bounds = (low * step, high * step)
        clipped = {min(max(v, bounds[0]), bounds[1]) for v in own}
        if low < high and len(clipped) > 1:
            assert is_tight(e.Clip(node, *bounds), step, clipped)
        else:
            with pytest.raises(InvalidRequest):
                e.Clip(node, *bounds)
    with pytest.raises(InvalidRequest):
        e.Clip(node, span[0] * step + step / 2, span[1] * step)
    for width in (F(0), F(-1)):
        with pytest.raises(InvalidRequest):
            e.Floor(node, width)
    assert is_tight(e.Indicator(e.Compare(node, "<", node)), F(1), {F(0), F(1)})


@pytest.mark.parametrize(("one", "other"), list(product(SPANS, repeat=2)))
def test_two_numbers_are_turned_into_one(one: tuple[int, int], other: tuple[int, int]) -> None:
    """Mutants: every sign and end of ``Plus``, ``Times``, ``Case``, ``Quotient``; another common step."""
    for step, second in product(STEPS, repeat=2):
        left, right = numbers(*one, step), numbers(*other, second)
        common = F(
            math.gcd(step.numerator * second.denominator, second.numerator * step.denominator),
            step.denominator * second.denominator,
        )
        pairs = list(product(values(left), values(right)))
        assert is_tight(e.Plus(left, right), common, {a + b for a, b in pairs})
        assert is_tight(e.Times(left, right), step * second, {a * b for a, b in pairs})
        both = values(left) | values(right)
        assert is_tight(e.Case(((f.EVERY_ROW, left),), right), common, both)
        assert is_tight(e.Case(((f.EVERY_ROW, left), (f.EVERY_ROW, right))), common, both)
        assert is_tight(e.Case(((f.EVERY_ROW, left),)), step, values(left))
        a, b = e.aligned(left, right)
        assert (a.step, b.step) == (common, common)
        quotient = e.Quotient(left, right, F(-3, 2), F(7, 4), 2)
        assert (quotient.lattice.step, quotient.lattice.low, quotient.lattice.high) == (F(1, 100), -150, 175)
        top, bottom = quotient.factors
        for over, under in ((1, 1), (3, 7)):  # twice the quotient in steps of the result
            assert F(over * top, under * bottom) == 2 * (over * step) / (under * second) * 100


def test_what_is_computed_on_the_way_fits_too() -> None:
    """Mutants: a product that is not looked at, a border of a public list."""

    def fits(make: Callable[[], object]) -> bool:
        return not refused(make)

    for span in ((0, 2), (1, 3), (-1, 2), (-3, -1), (-2, 0)):
        square = e.Square(numbers(*span, F(1))).lattice
        assert square.low == min(k * k for k in range(span[0], span[1] + 1))
    wide, low = numbers(0, 2**53, F(1)), numbers(-(2**53), 0, F(1))
    for node in (wide, low):
        assert [fits(lambda k=k, node=node: e.Floor(node, F(1, 2**k))) for k in (8, 9)] == [True, False]
    assert [fits(lambda w=w: e.Floor(numbers(0, 1, F(1)), w)) for w in (F(2**61), F(2**61 + 1))] == [
        True,
        False,
    ]
    fine = numbers(0, 1, F(1, 2**40))
    assert [fits(lambda n=n: e.Quotient(fine, numbers(0, 2**n, F(1)), F(0), F(1), 0)) for n in (20, 21)] == [
        True,
        False,
    ]
    assert [fits(lambda n=n: e.Quotient(numbers(0, 2**n, F(1)), fine, F(0), F(1), 0)) for n in (19, 20)] == [
        True,
        False,
    ]
    steps = [fits(lambda k=k: e.Curved("sqrt", numbers(9_000, 9_000 + k, F(1)), 2)) for k in (9_999, 10_000)]
    assert steps == [True, False]
    curved = e.Curved("sqrt", numbers(0, 9, F(1)), 2)
    assert curved.numbers == tuple(round(100 * math.sqrt(k)) for k in range(10))
    assert (curved.lattice.step, curved.lattice.low, curved.lattice.high) == (F(1, 100), 0, 300)


BORN = s.DateColumn("born", datetime.date(1969, 12, 30), datetime.date(1971, 1, 2))


def test_a_day_is_counted_from_1970() -> None:
    """And what is listed is as it is listed.  Mutants: another end of a part of a date; a list that is cut."""
    day = f.DayOf(BORN)
    for node in (day, f.DayCount(day), f.DayFrom(f.DayCount(day))):
        assert (node.lattice.step, node.lattice.low, node.lattice.high) == (1, -2, 366)
    every_second = f.DayFrom(numbers(-1, 2, F(2)))
    assert (every_second.lattice.step, every_second.lattice.low, every_second.lattice.high) == (1, -2, 4)
    assert (f.Day(-5).lattice.step, f.Day(-5).lattice.low, f.Day(-5).lattice.high) == (1, -5, -5)
    parts = {"year": (1969, 1971), "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "weekday": (1, 7)}
    for part, (low, high) in parts.items():
        found = f.DatePart(part, day).lattice  # type: ignore[arg-type]
        assert (found.step, found.low, found.high) == (1, low, high)
    listed = f.Lookup(REGION, (3, None, -2), F(1, 2)).lattice
    assert (listed.step, listed.low, listed.high, f.Lookup(REGION, (1, 2, 0)).step) == (F(1, 2), -2, 3, 1)
    assert (f.IsOutside(REGION).word, f.IsOutside(X).word) == ("UNDECLARED", "CLIPPED")


def test_what_was_written_is_what_is_meant() -> None:
    """Mutants: a sign, another middle, another constant."""
    for value in (F(0), F(3), F(-5, 7), F(10**40), F(1, 10**40)):
        node = f.Constant(value)
        assert (node.lattice.low * node.lattice.step, node.lattice.high * node.lattice.step) == (value, value)
        assert node.lattice.step == (abs(value) or 1)
        assert (e.constant_of(node), e.constant_of(e.Negative(e.Negative(e.Negative(node))))) == (
            value,
            -value,
        )
    assert (
        e.constant_of(f.Day(7)),
        e.constant_of(numbers(0, 1, F(1))),
        e.constant_of(e.Negative(numbers(0, 1, F(1)))),
    ) == (7, None, None)
    for bad in (F(10**40 + 1), F(1, 10**40 + 1), F(-(10**40) - 1), 3):
        with pytest.raises(InvalidRequest):
            f.Constant(bad)  # type: ignore[arg-type]
    for span, step in product(SPANS, STEPS):
        node, low, high = numbers(*span, step), span[0] * step, span[1] * step
        square = m.middle_of_square(node).lattice
        assert square.high * square.step == ((high - low) / 2) ** 2
        other = numbers(0, 3, F(1))
        both = m.middle_of_product(node, other).lattice
        assert (both.low * both.step, both.high * both.step) == (
            -(high - low) / 2 * F(3, 2),
            (high - low) / 2 * F(3, 2),
        )
    one, other = e.Compare(numbers(0, 1, F(1)), "<", f.Constant(F(1))), f.IsTrue(s.BooleanColumn("b"))
    assert (e.all_of(), e.all_of(f.EVERY_ROW), e.all_of(one, f.EVERY_ROW)) == (f.EVERY_ROW, f.EVERY_ROW, one)
    assert e.all_of(one, f.EVERY_ROW, other) == e.And((one, other))


# Conditions that exclude each other ------------------------------------------------------------------------


X, REGION, SMOKER = s.IntegerColumn("x", -2, 6), s.CategoryColumn("r", ("a", "b", "c")), s.BooleanColumn("b")
HALF = s.RealColumn("y", -2, 3, F(1, 2))
Row = dict[str, Any]
ROWS: list[Row] = [
    {"x": x, "r": r, "b": b, "y": y}
    for x, r, b, y in product(
        [None, *range(-2, 7)], [None, "a", "b", "c"], [None, True, False], [None, F(-1, 2), F(0), F(1)]
    )
]
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b, ">=": lambda a, b: a >= b, ">": lambda a, b: a > b,
}  # fmt: skip


def holds(condition: Any, row: Row) -> bool | None:
    """Whether it is true of a row; None where it is neither true nor false."""
    match condition:
        case f.OneOf(column, listed):
            return None if row[column.name] is None else row[column.name] in listed
        case f.IsTrue(column):
            return row[column.name]
        case f.IsMissing(column):
            return row[column.name] is None
        case e.Not(inner):
            found = holds(inner, row)
            return None if found is None else not found
        case e.And(parts):
            return all(holds(part, row) is True for part in parts)
        case e.Compare(left, operator, right):
            a, b = (
                row[one.column.name] if isinstance(one, f.ValueOf) else one.value for one in (left, right)
            )
            return None if a is None or b is None else OPERATORS[operator](a, b)
    raise AssertionError(condition)


def compared(constant: Fraction, mirrored: bool, operator: Any, column: Any = X) -> e.Compare:
    left, right = f.ValueOf(column), f.Constant(constant)
    return e.Compare(right, operator, left) if mirrored else e.Compare(left, operator, right)


CONDITIONS: list[Any] = [
    *(compared(F(k, 2), mirrored, op) for k in (-4, 0, 3, 12) for mirrored in (False, True) for op in OPERATORS),
    *(compared(F(k, 4), False, op, HALF) for k in (-2, 1) for op in ("<", "<=", "=", ">=", ">")),
    f.OneOf(REGION, ("a",)), f.OneOf(REGION, ("b", "c")), e.Not(f.OneOf(REGION, ("a",))), e.Not(f.OneOf(REGION, ("a", "b"))),
    f.IsTrue(SMOKER), e.Not(f.IsTrue(SMOKER)), f.IsMissing(SMOKER), f.IsMissing(REGION), f.IsMissing(X),
    e.And((f.IsTrue(SMOKER), compared(F(0), False, "<"))), e.And((compared(F(0), False, ">"), compared(F(3), False, "<="))),
    e.And((f.OneOf(REGION, ("a", "b")), e.Not(f.OneOf(REGION, ("a",))))),
    e.And((e.And((f.IsTrue(SMOKER), f.OneOf(REGION, ("a",)))), compared(F(0), False, "<"))),
]  # fmt: skip


def test_facts_of_a_condition_hold_wherever_it_is_true() -> None:
    """And they say all that one column can say.  Mutants: an end of a range, a sign, a fact that is dropped."""
    for condition in CONDITIONS:
        true = [row for row in ROWS if holds(condition, row) is True]
        for subject, allowed in d.facts_of(condition).items():
            column = {"x": X, "r": REGION, "b": SMOKER, "y": HALF}[subject]  # type: ignore[index]
            seen = {row[subject] for row in true}  # type: ignore[index]
            if isinstance(allowed, frozenset):
                assert seen <= allowed
                assert isinstance(condition, e.And) or seen == allowed
            elif allowed == (1, 0):
                assert seen == {None}
            else:
                step = column.lattice.step  # type: ignore[union-attr]
                assert all(allowed[0] * step <= value <= allowed[1] * step for value in seen)
                if column is X and not isinstance(condition, e.And):
                    assert seen == set(range(allowed[0], allowed[1] + 1))


def test_what_is_not_understood_says_nothing() -> None:
    """Mutants: the other kind of a missing value, a comparison of two numbers, the second of two facts alone."""
    town, outside = s.TextColumn("t"), f.IsOutside(X)
    assert d.facts_of(f.IsMissing(town)) == d.facts_of(f.EVERY_ROW) == {}
    assert (d.facts_of(f.IsMissing(X)), d.facts_of(f.IsMissing(REGION))) == (
        {"x": (1, 0)},
        {"r": frozenset([None])},
    )
    assert d.facts_of(outside) == {outside: frozenset([True])}
    assert d.facts_of(e.Not(outside)) == {outside: frozenset([False])}
    two, three = f.Constant(F(2)), f.Constant(F(3))
    value = f.ValueOf(X)
    for left, right in ((two, three), (value, value)):
        assert d.beside_constant(e.Compare(left, "<", right)) is None
        assert d.facts_of(e.Compare(left, "<", right)) == {}
    assert d.beside_constant(e.Compare(value, "<", two)) == (value, "<", 2)
    assert d.beside_constant(e.Compare(two, "<", value)) == (value, ">", 2)
    assert d.facts_of(e.Compare(f.DayOf(BORN), "<=", f.Day(3))) == {"born": (-2, 3)}
    twice = e.Plus(value, value)
    assert d.facts_of(e.Compare(twice, "<=", three)) == {twice: (-4, 3)}
    for first, second, both in (
        (">", "<=", (3, 3)), ("<=", ">", (-2, 2)), ("=", "=", (2, 2)), (">=", "<=", (2, 3)), ("<", "<", (-2, 1)), ("<", ">", (-2, 1)),
    ):  # fmt: skip
        parts = (e.Compare(value, first, two), e.Compare(value, second, three))  # type: ignore[arg-type]
        assert d.facts_of(e.And(parts)) == {"x": both}, (first, second)
    for parts, found in (
        ((f.IsMissing(X), e.Compare(value, "<", two)), (1, 0)),
        ((e.Compare(value, "<", two), f.IsMissing(X)), (-2, 1)),
        ((f.OneOf(REGION, ("a", "b")), f.OneOf(REGION, ("b", "c"))), frozenset("b")),
        ((f.OneOf(REGION, ("a",)), f.OneOf(REGION, ("c",))), frozenset("a")),
    ):
        assert list(d.facts_of(e.And(parts)).values()) == [found]


def test_only_what_cannot_hold_of_the_same_row_excludes_each_other() -> None:
    """Mutants: two spans that touch, a missing value that is forgotten, a subject that does not tell apart."""
    agreed, true = 0, [{i for i, row in enumerate(ROWS) if holds(one, row) is True} for one in CONDITIONS]
    facts = [d.facts_of(one) for one in CONDITIONS]
    for one, other in product(range(len(CONDITIONS)), repeat=2):
        taken = d.Exclusions()
        assert taken.takes(facts[one]) == bool(facts[one])
        excluded, meets = taken.takes(facts[other]), bool(true[one] & true[other])
        assert not (excluded and meets), (CONDITIONS[one], CONDITIONS[other])
        simple = not any(isinstance(CONDITIONS[place], e.And) for place in (one, other))
        known = facts[one].keys() & facts[other].keys()
        if simple and known and "y" not in known and true[other]:
            assert excluded == (not meets), (CONDITIONS[one], CONDITIONS[other])
            agreed += excluded
    assert agreed > 200


def test_a_row_of_spans_is_taken_in_any_order() -> None:
    """Mutants: a neighbor that is not looked at, a span that is put in its wrong place."""
    spans = [(0, 1), (5, 8), (3, 3), (10, 12), (-4, -1), (4, 4)]
    places = d._Places()
    for span in spans:
        assert places.free(span)
        places.take(span)
    assert places.spans == sorted(spans)
    for low, high in product(range(-6, 15), repeat=2):
        if low <= high:
            assert places.free((low, high)) == all(high < a or b < low for a, b in spans)
    assert places.free((1, 0))
    places.take((1, 0))
    assert (places.free((1, 0)), places.free(frozenset("a"))) == (False, True)
    places.take(frozenset("ab"))
    assert (places.free(frozenset("b")), places.free(frozenset("c"))) == (False, True)
    three = d.Exclusions()
    x = [d.facts_of(e.And((compared(F(k), False, "="), f.IsTrue(SMOKER)))) for k in (0, 1)]
    third = d.facts_of(e.And((compared(F(0), False, "="), e.Not(f.IsTrue(SMOKER)))))
    assert [three.takes(one) for one in (*x, third, x[0])] == [True, True, False, False]
