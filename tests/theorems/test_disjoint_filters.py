"""Parts whose filters exclude each other: against brute force over everything that one unit can be."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adyton.kernel.accounting import accounting_named
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise, Mechanism
from adyton.kernel.noisy import Families, due, families_of, shares_of
from adyton.kernel.privacy import Adjacency, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, Table, day_of
from adyton.kernel.terms.disjoint import Exclusions, Facts, facts_of
from adyton.kernel.terms.expressions import And, Compare, Condition, Not, Or
from adyton.kernel.terms.leaves import Constant, Day, DayOf, IsMissing, IsOutside, IsTrue, OneOf, ValueOf
from adyton.kernel.terms.measures import Count, Measure, Sum
from adyton.noise_intervals.proportions import noise_for_cost
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.testing.engines.meaning import OUTSIDE
from adyton.testing.engines.meaning import condition as holds
from adyton.testing.engines.meaning import number as value_in
from support.tries import often

AGE = IntegerColumn("age", -1, 2)
WIDE = IntegerColumn("wide", -10, 10)
REGION = CategoryColumn("region", ("a", "b", "c"))
SMOKER = BooleanColumn("smoker")
BORN = DateColumn("born", day_of(0), day_of(3))
TABLE = Table("people", (AGE, REGION, SMOKER, BORN), rows=9)


def exclude_each_other(first: Facts, second: Facts) -> bool:
    taken = Exclusions()
    return taken.takes(first) and taken.takes(second)


def outsides(age: int | None, region: int | None) -> list[tuple[str, ...]]:
    """What may have come from outside: a number that lies on a bound, a category that is missing."""
    able = ([("age",)] if age in (-1, 2) else []) + ([("region",)] if region is None else [])
    return [(), *able, *([("age", "region")] if len(able) == 2 else [])]


EVERY_KIND_OF_ROW = [
    {"age": age, "region": region, "smoker": smoker, "born": born, OUTSIDE: outside}
    for age in (-1, 0, 1, 2, None)
    for region in (0, 1, 2, None)
    for outside in outsides(age, region)
    for smoker in (False, True, None)
    for born in (0, 1, 3, None)
]

signs = st.sampled_from(["<", "<=", "=", "<>", ">=", ">"])
simple: st.SearchStrategy[Condition] = st.one_of(
    st.builds(lambda s, c: Compare(ValueOf(AGE), s, Constant(Fraction(c, 2))), signs, st.integers(-4, 6)),
    st.builds(lambda s, c: Compare(Constant(Fraction(c)), s, ValueOf(AGE)), signs, st.integers(-2, 3)),
    st.builds(lambda s, d: Compare(DayOf(BORN), s, Day(d)), signs, st.integers(-1, 4)),
    st.builds(
        lambda v: OneOf(REGION, tuple(sorted(v))), st.sets(st.sampled_from("abc"), min_size=1, max_size=3)
    ),
    st.sampled_from([IsTrue(SMOKER), IsMissing(AGE), IsMissing(SMOKER), IsMissing(REGION), IsOutside(AGE)]),
)
conditions = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(lambda parts: And(tuple(parts)), st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: Or(tuple(parts)), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)


@given(first=conditions, second=conditions)
def test_theorem_DISJOINT_FILTERS_no_row_meets_both_conditions(first: Condition, second: Condition) -> None:
    """What is called disjoint is: there is no kind of row that both conditions keep."""
    if exclude_each_other(facts_of(first), facts_of(second)):
        for row in EVERY_KIND_OF_ROW:
            assert not (holds(first, row) is True and holds(second, row) is True)


SIGNS = ("<", "<=", "=", "<>", ">=", ">")
PLAIN: list[Condition] = [
    *(Compare(ValueOf(AGE), s, Constant(Fraction(c, 2))) for s in SIGNS for c in range(-4, 7)),  # type: ignore[arg-type]
    *(Compare(DayOf(BORN), s, Day(d)) for s in SIGNS for d in range(-1, 5)),  # type: ignore[arg-type]
    *(OneOf(REGION, v) for size in (1, 2, 3) for v in itertools.combinations("abc", size)),
    *(IsMissing(column) for column in (AGE, SMOKER, REGION, BORN)),
    IsTrue(SMOKER),
    *(IsOutside(column) for column in (AGE, REGION)),
]


def test_theorem_DISJOINT_FILTERS_every_pair_of_plain_conditions() -> None:
    """All of them, negated too, alone and with a second one: nothing rests on which examples were drawn."""
    plainly: list[tuple[Condition, Facts, int]] = []
    for one in (*PLAIN, *(Not(one) for one in PLAIN)):
        kept = sum(1 << i for i, row in enumerate(EVERY_KIND_OF_ROW) if holds(one, row) is True)
        plainly.append((one, facts_of(one), kept))
    pairs, excluded = list[tuple[Condition, Facts, int]](), 0
    for (one, _, kept), (other, _, also) in itertools.combinations(plainly[:: often(8, 5)], 2):
        both = And((one, other))  # true where both are
        pairs.append((both, facts_of(both), kept & also))
    for (one, first, kept), (other, second, also) in itertools.product(plainly, [*plainly, *pairs]):
        if exclude_each_other(first, second):
            excluded += 1
            assert not kept & also, (one, other)
    assert excluded > 1000


YOUNG, OLD = (Compare(ValueOf(AGE), sign, Constant(Fraction(0))) for sign in ("<", ">="))


@given(several=st.lists(conditions, min_size=2, max_size=7), rows=st.sampled_from([1, 2]))
@example(
    several=[  # the second is told from the first by age alone: after it regions tell nothing any more
        And((YOUNG, OneOf(REGION, ("a",)))),
        And((OLD, OneOf(REGION, ("a", "b")))),
        And((OLD, OneOf(REGION, ("b",)))),
    ],
    rows=1,
)
def test_theorem_DISJOINT_FILTERS_no_row_meets_two_of_a_family(several: list[Condition], rows: int) -> None:
    """However many came before, and on whichever columns they were told apart; nobody is left out."""
    unit = PrivacyUnit("replace-one", "pid" if rows > 1 else None, rows)
    query = Query(TABLE, tuple((f"m{i}", Count(one)) for i, one in enumerate(several)))
    families = families_of(readings_of(query, unit), unit)
    assert sorted(place for family in families for place in family) == list(range(len(several)))
    for family in families:
        for row in EVERY_KIND_OF_ROW:
            assert sum(holds(several[place], row) is True for place in family) <= 1


bins = st.lists(st.integers(-4, 6), min_size=2, max_size=6, unique=True).map(sorted)


@given(cuts=bins, shuffled=st.randoms())
def test_neighboring_ranges_are_one_family_in_any_order(cuts: list[int], shuffled: random.Random) -> None:
    ranges: list[Condition] = [
        And(
            (
                Compare(ValueOf(WIDE), ">=", Constant(Fraction(a))),
                Compare(ValueOf(WIDE), "<", Constant(Fraction(b))),
            )
        )
        for a, b in itertools.pairwise(cuts)
    ]
    shuffled.shuffle(ranges)
    taken = Exclusions()
    assert all(taken.takes(facts_of(one)) for one in ranges)
    assert not taken.takes(facts_of(shuffled.choice(ranges)))


ALIKE = [
    (OneOf(REGION, ("a",)), OneOf(REGION, ("b", "c"))),
    (OneOf(REGION, ("a",)), Not(OneOf(REGION, ("a",)))),
    (IsTrue(SMOKER), Not(IsTrue(SMOKER))),
    (IsTrue(SMOKER), IsMissing(SMOKER)),
    (Compare(ValueOf(AGE), "<", Constant(Fraction(1))), Compare(ValueOf(AGE), ">=", Constant(Fraction(1)))),
    (Compare(ValueOf(AGE), "=", Constant(Fraction(0))), Compare(ValueOf(AGE), "=", Constant(Fraction(1)))),
    (Compare(Constant(Fraction(0)), ">", ValueOf(AGE)), Compare(ValueOf(AGE), ">", Constant(Fraction(0)))),
    (Compare(DayOf(BORN), "<", Day(2)), Compare(DayOf(BORN), ">", Day(2))),
    (IsMissing(AGE), Compare(ValueOf(AGE), "<", Constant(Fraction(2)))),
]


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_conditions_that_everybody_sees_exclude_each_other(first: Condition, second: Condition) -> None:
    more = And((Compare(ValueOf(AGE), "<>", Constant(Fraction(5))), first))
    assert exclude_each_other(facts_of(first), facts_of(second))
    assert exclude_each_other(facts_of(second), facts_of(more))


PARTS: list[tuple[Measure, ...]] = [
    (Count(OneOf(REGION, ("a",))), Count(OneOf(REGION, ("b",))), Count(OneOf(REGION, ("c",)))),
    (Sum(ValueOf(AGE), IsTrue(SMOKER)), Sum(ValueOf(AGE), Not(IsTrue(SMOKER)))),
    (Count(OneOf(REGION, ("a",))), Sum(ValueOf(AGE), OneOf(REGION, ("b", "c"))), Count()),
    (Sum(ValueOf(AGE), OneOf(REGION, ("a",))), Count(IsTrue(SMOKER)), Count(OneOf(REGION, ("b",)))),
]
NOISE: dict[str, type[GaussianNoise] | type[GeometricNoise]] = {"gdp": GaussianNoise, "pure": GeometricNoise}


@pytest.mark.parametrize("measures", PARTS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("accounting", ["gdp", "pure"])
@pytest.mark.parametrize(("rows", "times"), [(1, 1), (2, 1), (1, 3)])
def test_theorem_DISJOINT_FILTERS_covers_every_unit(
    measures: tuple[Measure, ...], adjacency: Adjacency, accounting: str, rows: int, times: int
) -> None:
    """The amount is never less than what the worst pair of units costs, and less than the plain sum.

    Mutants: noise that is drawn several times is paid for once, by privacy or by validity; half of the distance.
    """
    unit = PrivacyUnit(adjacency, "pid" if rows > 1 else None, rows)
    query = Query(TABLE, tuple((f"m{i}", measure) for i, measure in enumerate(measures)))
    readings = readings_of(query, unit)
    families = families_of(readings, unit)
    assert len(families) < len(measures)
    scales = [Fraction(3, 2), Fraction(2), Fraction(5, 4)]
    parts = [
        NoisyReading(own, NOISE[accounting]((scale,)), times)
        for own, scale in zip(readings, scales, strict=False)
    ]
    rule = accounting_named(accounting)
    paid = due(parts, families, unit, rule)
    worst = times * _worst(parts, adjacency, rows, accounting)
    assert Fraction(paid.amount, UNITS_PER_ONE) >= worst
    assert (
        Fraction(paid.amount, UNITS_PER_ONE) <= worst + Fraction(10, UNITS_PER_ONE)
        or rows > 1
        or len(families) > 1
    )
    assert paid.amount < sum(part.amount(rule) for part in parts) or adjacency == "replace-one"
    if accounting == "gdp":
        assert Fraction(paid.radius, UNITS_PER_ONE) >= times * _farthest_from_nothing(parts, rows, families)


def _vector(parts: list[NoisyReading], unit: tuple[dict[str, object], ...]) -> list[Fraction]:
    found = []
    for part in parts:
        (coordinate,) = part.reading.coordinates
        total = 0
        for row in unit:
            value = 1 if coordinate.value is None else value_in(coordinate.value, row)
            if value is not None and holds(part.reading.where, row) is True:
                total += coordinate.times * value - coordinate.minus
        found.append(Fraction(total) / part.mechanism.scales[0])
    return found


def _units(parts: list[NoisyReading], rows: int) -> set[tuple[Fraction, ...]]:
    kinds = {tuple(_vector(parts, (row,))) for row in EVERY_KIND_OF_ROW} | {(Fraction(0),) * len(parts)}
    return {
        tuple(map(sum, zip(*some, strict=True)))
        for some in itertools.combinations_with_replacement(kinds, rows)
    }


def _worst(parts: list[NoisyReading], adjacency: str, rows: int, accounting: str) -> Fraction:
    units = _units(parts, rows)
    others = units if adjacency == "replace-one" else {(Fraction(0),) * len(parts)}
    power = 2 if accounting == "gdp" else 1
    return max(
        sum((abs(a - b) ** power for a, b in zip(u, v, strict=True)), Fraction(0))
        for u in units
        for v in others
    )


def _farthest_from_nothing(parts: list[NoisyReading], rows: int, families: Families) -> Fraction:
    """A ball around nothing holds everything that one unit can add to the parts that are paid for so."""
    places = [place for family in families if len(family) > 1 for place in family]
    return max(sum((u[place] ** 2 for place in places), Fraction(0)) for u in _units(parts, rows))


def test_shares_never_cost_more_than_the_price() -> None:
    """Noise made for each part's share of 1 costs at most 1 for all parts together."""
    rule = accounting_named("gdp")
    for measures, adjacency in itertools.product(PARTS, ("add-remove", "replace-one")):
        unit = PrivacyUnit(adjacency)  # type: ignore[arg-type]
        query = Query(TABLE, tuple((f"m{i}", measure) for i, measure in enumerate(measures)))
        readings = readings_of(query, unit)
        families = families_of(readings, unit)
        shares = shares_of(families, unit)
        noise: list[Mechanism] = [
            noise_for_cost(GaussianNoise, own.sensitivity, shares[i]) for i, own in enumerate(readings)
        ]
        parts = [NoisyReading(own, one) for own, one in zip(readings, noise, strict=True)]
        assert due(parts, families, unit, rule).amount <= UNITS_PER_ONE + len(parts)


def test_parts_of_persons_stay_alone() -> None:
    """A person's rows may lie in both filters, and each adds one number of the person: both are paid."""
    from adyton.kernel.terms.measures import CountPersons

    measures = (CountPersons(OneOf(REGION, ("a",))), CountPersons(OneOf(REGION, ("b",))))
    query = Query(TABLE, tuple((f"m{i}", measure) for i, measure in enumerate(measures)))
    for rows, expected in ((1, 1), (2, 2)):
        unit = PrivacyUnit("add-remove", "pid", rows)
        readings = readings_of(query, unit)
        assert len(families_of(readings, unit)) == expected
