"""The weights of a dictionary: over all that can be asked they sum to at most 1, whatever is asked.

Queries are written here by code of its own, as SQL, and read as everybody's are; so a weight that is given
twice, a choice that is free, or a list that sums to more than 1 is found.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import get_args

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.exact.curves import Curve
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, Lattice, Table
from adyton.kernel.terms.expressions import (
    And,
    Case,
    Compare,
    Condition,
    Curved,
    Days,
    NumberExpression,
    Plus,
    Quotient,
)
from adyton.kernel.terms.leaves import EVERY_ROW, Constant, DatePart, DayOf, Lookup, Part, ValueOf
from adyton.kernel.terms.measures import Count, Extreme, Measure, Moments, Which
from adyton.kernel.terms.persons import PersonNumber
from adyton.query import description_weights as description
from adyton.query.calendar import day_of_year, iso_week, iso_year
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.description import Describer, Dictionary, _limit_nats, _person_number_nats, canonical_value
from adyton.query.description_weights import (
    CONSTANTS,
    DAYS,
    FRACTIONS,
    FROM,
    GROUPS,
    KINDS,
    LETTERS,
    MEASURES,
    NUMBERS,
    OF_A_BOOLEAN,
    OF_A_CATEGORY,
    OF_A_TEXT,
    OF_AN_ORDER,
    OF_DAYS,
    OPERATORS,
    OTHER_FRACTION,
    OTHER_LETTER,
    PARTS,
    WITH_NULL,
    constant_nats,
    day_nats,
    function_nats,
    rational_nats,
    several_nats,
    text_nats,
    whole_nats,
)
from adyton.query.nodes import Query
from adyton.query.request import request_of

NUMBER = IntegerColumn("n", 0, 9)
TINY = Table("t", (BooleanColumn("b"), CategoryColumn("c", ("x", "y", "z")), NUMBER), rows=100)


def weight(nats: float | None) -> float:
    return 0.0 if nats is None else math.exp(-nats)


@pytest.mark.parametrize(
    "weights",
    [
        *(FROM, MEASURES, NUMBERS, DAYS, PARTS, OF_A_BOOLEAN, OF_A_CATEGORY, OF_AN_ORDER, OF_A_TEXT),
        *(OPERATORS, CONSTANTS, OF_DAYS, GROUPS, KINDS, WITH_NULL),
    ],
)
def test_theorem_DESCRIBED_QUERIES_lists_of_weights_sum_to_at_most_one(weights) -> None:
    assert all(0 < each <= 1 for each in weights.values())
    assert sum(weights.values()) <= 1


def test_theorem_DESCRIBED_QUERIES_letters_and_fractions_sum_to_at_most_1() -> None:
    assert sum(LETTERS.values()) + description.END_OF_TEXT + 0x110000 * OTHER_LETTER <= 1
    assert sum(FRACTIONS.values()) + OTHER_FRACTION <= 1


def test_theorem_DESCRIBED_QUERIES_every_kind_of_node_has_a_weight_or_none() -> None:
    """A new node without a weight fails here, before it could be asked."""
    assert {kind.__name__ for kind in get_args(NumberExpression)} == NUMBERS.keys() - {"part"}
    assert {kind.__name__ for kind in get_args(Days)} == DAYS.keys() - {"function"}
    assert {kind.__name__ for kind in get_args(Measure)} - {Extreme.__name__} == MEASURES.keys()
    known = {"Compare", "OneOf", "IsTrue", "IsMissing", "IsOutside", "Always", "Not", "And", "Or"}
    assert {kind.__name__ for kind in get_args(Condition)} == known


LATTICES = [
    *(Lattice(Fraction(1), 0, 9), Lattice(Fraction(1), 0, 999), Lattice(Fraction(1), -20, 20)),
    *(Lattice(Fraction(1, 10), 0, 1000), Lattice(Fraction(10), 0, 15_000), Lattice(Fraction(1), 7, 8)),
    *(Lattice(Fraction(1, 3), -5, 40), Lattice(Fraction(1, 100), 150, 250)),
]


def rationals() -> Iterator[Fraction]:
    yield from (Fraction(n, d) for n in range(-1100, 1101) for d in range(1, 4))
    yield from (Fraction(s * n, 10**d) for s in (-1, 1) for n in range(1, 2000) for d in range(1, 4))
    yield from (Fraction(s * n * 10**d) for s in (-1, 1) for n in range(1, 1000) for d in range(6))


@pytest.mark.parametrize("lattice", LATTICES, ids=str)
def test_theorem_DESCRIBED_QUERIES_constants_sum_to_at_most_one(lattice: Lattice) -> None:
    """Mutants: a decimal without its power of ten; a place without how many digits it has."""
    steps = [lattice.step * step for step in range(lattice.low, lattice.high + 1)]
    span = (lattice.high - lattice.low) * lattice.step
    places = [
        lattice.low * lattice.step + span * Fraction(k, 10**s) for s in (1, 2, 3) for k in range(10**s + 1)
    ]
    every = {*steps, *places, *rationals()}
    assert 0.5 < sum(weight(constant_nats(value, lattice)) for value in every) <= 1


def test_theorem_DESCRIBED_QUERIES_days_sum_to_at_most_one() -> None:
    lattice = DateColumn("d", datetime.date(2019, 11, 3), datetime.date(2024, 2, 29)).lattice
    outside = 3_652_059 - (lattice.high - lattice.low + 1)
    inside = sum(weight(day_nats(day, lattice)) for day in range(lattice.low, lattice.high + 1))
    assert 0.5 < inside + outside * weight(day_nats(lattice.high + 100, lattice)) <= 1


def test_theorem_DESCRIBED_QUERIES_numbers_and_texts_sum_to_at_most_one() -> None:
    """Whole numbers and texts sum to at most one."""
    few = sum(weight(whole_nats(n)) for n in range(200_000))
    assert 0.75 < few + sum(weight(whole_nats(n * 10**k)) for n in range(1, 2000) for k in range(6, 12)) <= 1
    assert sum(weight(rational_nats(Fraction(n, d))) for n, d in coprime(300)) <= 1
    assert sum(weight(text_nats("".join(t))) for k in range(4) for t in product("abcxyz019_ ", repeat=k)) <= 1


def coprime(most: int) -> Iterator[tuple[int, int]]:
    pairs = product(range(-most, most), range(1, most))
    return ((n, d) for n, d in pairs if math.gcd(n, d) == 1)


# All queries of a tiny schema ------------------------------------------------------------------------------


CONDITIONS = [
    *("b", "NOT b", "b IS NULL", "b IS NOT NULL", "c IS NULL", "c IS NOT NULL", "n IS NULL", "n IS NOT NULL"),
    *("UNDECLARED(c)", "CLIPPED(n)", "NOT UNDECLARED(c)", "NOT CLIPPED(n)"),
    *(f"c = '{v}'" for v in "xyz"),
    *(f"c <> '{v}'" for v in "xyz"),
    *(f"c IN ('{v}', '{w}')" for v, w in combinations("xyz", 2)),
    *(f"c NOT IN ('{v}', '{w}')" for v, w in combinations("xyz", 2)),
    *(f"n {sign} {k}" for sign in ("<", "<=", "=", "<>", ">=", ">") for k in range(10)),
    *(f"n > {k} AND n <= {m}" for k, m in combinations(range(10), 2)),
    *(f"n IN ({k}, {m})" for k, m in combinations(range(10), 2)),
    *(f"(b OR c = '{v}')" for v in "xyz"),
    *("(b OR n < 5)", "NOT (b AND n < 5)", "n * n > 20", "n + n < 7", "2 * n < 7"),
]
VALUES = [
    *("COUNT(*)", "SUM(n)", "AVG(n)", "VARIANCE(n)", "MEDIAN(n)", "QUANTILE(n, 0.9)", "QUANTILE(n, 0.31)"),
    *("SUM(n * n)", "AVG(2 * n)", "AVG(CLAMP(n, 2, 5))", "AVG(CASE WHEN b THEN n ELSE 0 END)"),
    *("SUM(CASE WHEN b THEN 1 ELSE 0 END)", "AVG(CASE WHEN c = 'x' THEN n END)", "CDF(n, 3)", "CDF(n, 4)"),
    *(f"PROPORTION({condition})" for condition in ("b", "c = 'x'", "n < 5", "b AND n < 5")),
]
BY = ["", " GROUP BY b", " GROUP BY c", " GROUP BY b, c", " GROUP BY FLOOR(n / 2)", " GROUP BY n"]


@cache
def queries() -> dict[str, Query]:
    """Every value alone, under some conditions and in groups; counts under every pair of conditions."""
    some = ["", *(f" WHERE {condition}" for condition in CONDITIONS[::9])]
    written = [f"SELECT {v} FROM t{w}{g}" for v, w, g in product(VALUES, some, BY)]
    written += [f"SELECT {v} FROM t WHERE {condition}" for v in VALUES[:3] for condition in CONDITIONS]
    written += [f"SELECT COUNT(*) FROM t WHERE {a} AND {b}" for a, b in combinations(CONDITIONS[::5], 2)]
    found = {}
    for text in written:
        query = request_of(text, TINY).query
        with suppress(InvalidRequest):  # groups that no row can be in
            number_of_cells(query)
            found[canonical_value(query, query.measures[0][1])] = query
    return found


def described(dictionary: Dictionary) -> dict[str, float]:
    """For each value that means something of its own how many nats it has, its cell included."""
    nats = {text: dictionary.nats(q, q.measures[0][1]) for text, q in queries().items()}
    return {text: length for text, length in nats.items() if length is not None}


def mass(dictionary: Dictionary) -> float:
    """The weight of all cells of all queries."""
    nats = described(dictionary)
    return sum(number_of_cells(queries()[text]) * weight(length) for text, length in nats.items())


def test_theorem_DESCRIBED_QUERIES_thousands_of_queries_sum_to_at_most_one() -> None:
    """Each by its canonical text, so that nothing counts twice; each cell counts by itself.

    Of the dictionary "schema" the words are drawn and listed by a program: see ``test_described_words``.
    """
    assert len(described(Dictionary(TINY, "universal"))) > 1_500
    assert mass(Dictionary(TINY, "universal")) <= 1


def test_theorem_DESCRIBED_QUERIES_registered_ones_have_half_of_all_weight() -> None:
    counts = [_asked(f" WHERE n < {k}") for k in range(1, 6)]
    listed = frozenset(canonical_value(*asked) for asked in counts)
    assert len(listed) == 5
    few, all_others = described(Dictionary(TINY, "schema", listed)), described(Dictionary(TINY, "schema"))
    assert [few[text] for text in listed] == [pytest.approx(math.log(10), abs=1 / 32)] * 5
    for text in few.keys() - listed:
        assert few[text] == pytest.approx(all_others[text] + math.log(2), abs=1 / 32)
    assert mass(Dictionary(TINY, "schema", listed)) <= 1


def test_theorem_DESCRIBED_QUERIES_ranges_share_a_weight_with_their_ends() -> None:
    """Of all ranges of one column between two of ten steps.  Mutant: ends that are left out for nothing."""
    column = Describer(TINY.columns)
    steps = [Constant(Fraction(step)) for step in range(10)]
    ranges = [
        And((Compare(ValueOf(NUMBER), above, low), Compare(ValueOf(NUMBER), below, high)))
        for above, below, low, high in product((">", ">="), ("<", "<="), steps, steps)
    ]
    one_part, of_column = math.exp(-several_nats(1)), PARTS["column"] / len(TINY.columns)
    constants = sum(weight(constant_nats(step.value, NUMBER.lattice)) for step in steps)
    together = sum(weight(column.where(each)) for each in ranges)
    assert together <= one_part * of_column * OF_AN_ORDER["between"] * constants**2 * (1 + 1e-9)


DAY = DateColumn("d", datetime.date(2019, 11, 3), datetime.date(2024, 2, 29))
DIGIT, ONE_DAY = ValueOf(NUMBER), DayOf(DAY)
OF_ALL = Describer((*TINY.columns, DAY))
BELOW = Compare(DIGIT, "<", Constant(Fraction(5)))


def choices() -> dict[str, tuple[list[float], float]]:
    """For kinds of nodes: nats of all that differ in one choice alone, and those without it."""
    of, inner, day = OF_ALL.number, OF_ALL.number(DIGIT), OF_ALL.day(ONE_DAY)
    quotients = [Quotient(DIGIT, DIGIT, Fraction(0), Fraction(3), d) for d in range(10)]
    ends = 2 * inner + rational_nats(Fraction(0)) + rational_nats(Fraction(3))
    cases = [
        Case(((BELOW, DIGIT),)),
        *(Case(((BELOW, DIGIT),), Constant(Fraction(k))) for k in range(-50, 50)),
    ]
    listed = [Lookup(TINY.columns[1], (7, 7, k)) for k in (None, *range(-50, 50))]  # type: ignore[arg-type]
    moved = [
        f" {sign} INTERVAL {count} {unit})"
        for sign in "+-"
        for count in range(3000)
        for unit in ("DAY", "MONTH")
    ]
    kinds = [PersonNumber(kind, DIGIT) for kind in ("sum", "least", "greatest")]  # type: ignore[arg-type]
    kinds += [PersonNumber(kind, ONE_DAY) for kind in ("least", "greatest")]  # type: ignore[arg-type]
    kinds += [PersonNumber("rows"), PersonNumber("distinct", TINY.columns[1])]  # type: ignore[arg-type]
    return {
        "curve": (
            [of(Curved(c, Plus(DIGIT, Constant(Fraction(1))), d)) for c in get_args(Curve) for d in range(5)],
            NUMBERS.nats["Curved"]
            + math.log(2)
            + of(Plus(DIGIT, Constant(Fraction(1)))),  # half of the decimals
        ),
        "quotient": ([of(one) for one in quotients], NUMBERS.nats["Quotient"] + ends),
        "case": (
            [of(one) for one in cases],
            NUMBERS.nats["Case"] + math.log(2) + OF_ALL.where(BELOW) + inner,
        ),
        "list": (
            [of(one) for one in listed],
            NUMBERS.nats["Lookup"]
            + 2 * (math.log(4 / 3) + rational_nats(Fraction(7)))
            + rational_nats(Fraction(1)),
        ),
        "part of a day": (
            [of(DatePart(part, ONE_DAY)) for part in get_args(Part)],
            NUMBERS.nats["DatePart"] + day,
        ),
        "function of days": (
            [of(one) for one in (day_of_year(ONE_DAY), iso_week(ONE_DAY), iso_year(ONE_DAY))],
            NUMBERS.nats["part"] + day,
        ),
        "day": ([function_nats(")")] * 5 + [function_nats(behind) for behind in moved], 0.0),
        "moments": (
            [OF_ALL.measure(Moments(DIGIT, DIGIT, which)) for which in get_args(Which)],
            MEASURES.nats["Moments"] + 2 * inner,
        ),
        "of persons": ([_person_number_nats(OF_ALL, one) for one in kinds], OF_ALL.where(EVERY_ROW)),
        "groups of a person": (
            [_limit_nats(Query(TINY, (("n", Count()),), most_groups=most)) for most in (None, *range(1, 60))],
            0.0,
        ),
    }


def test_theorem_DESCRIBED_QUERIES_choices_in_a_node_sum_to_at_most_one() -> None:
    """Mutants: a number of decimals, a curve, a part of a date or a kind that is chosen for nothing."""
    for name, (differing, without) in choices().items():
        assert 0.3 < sum(math.exp(without - nats) for nats in differing) <= 1 + 1e-9, name


def _asked(where: str) -> tuple[Query, Measure]:
    query = request_of(f"SELECT COUNT(*) FROM t{where}", TINY).query
    return query, query.measures[0][1]
