"""What is not the theorem's own: answers that were rounded, and persons with several rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import float_up
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.planning.plan import make_plan
from adyton.planning.price import price_of
from adyton.population.claims import CertainAfter
from adyton.population.hinge import HingePopulation
from adyton.population.subset_ends import Coin, single_ends, span_of
from adyton.query.sql.read import parse
from adyton.study import Study, Validity
from adyton.validity.subset.tails import Before
from support.worlds import study_with

TABLE = Table("t", (IntegerColumn("age", 3, 5), IntegerColumn("debt", -2, 1)), 40)


def noisy(sql: str, rows: int = 1, accounting: str = "gdp") -> tuple[Study, NoisyReading]:
    """The study and the first noisy integer of a query, for units of at most so many rows."""
    person = "who" if rows > 1 else None
    table, pure = replace(TABLE, person=person), accounting == "pure"
    validity = Validity(Fraction(9, 10), stability=Fraction(1) if pure else None)
    unit = PrivacyUnit("replace-one", person, rows)
    study = study_with(table, accounting, unit, delta=Fraction(1, 10**9), validity=validity)
    plan = make_plan(study, parse(sql, table), price_of(epsilon="0.5"), study.allowed)
    return study, plan.parts[0].only


def test_theorem_ROUNDED_ANSWERS_an_integer_stands_for_a_whole_interval() -> None:
    """Whatever was rounded to the released integer would have had no end outside."""
    _, part = noisy("SELECT COUNT(*) FROM t WHERE age > 3")
    certain = CertainAfter(Before(Fraction(1, 50)), 40, 0.1)
    coin = Coin(40, *span_of(part), float_up(part.mechanism.scales[0]))
    ways = certain.claims(1 / 2)
    for released in (0, 7, 20, 40):
        ((low,), (high,)) = single_ends(part, np.array([released]), certain)
        for y in released + np.array([-0.5, -0.49, 0.0, 0.3, 0.5]):
            ((least,), (greatest,)) = coin.ends(np.array([y]), np.array([y]), ways)
            assert low <= least
            assert high >= greatest


def test_theorem_ROUNDED_ANSWERS_rounding_and_noise_commute() -> None:
    values = np.random.default_rng(3).normal(0, 10, 1000)
    for total in (-3, 0, 17):
        assert np.array_equal(np.floor(total + values + 0.5), total + np.floor(values + 0.5))


@pytest.mark.parametrize(
    "sql", ["SELECT COUNT(*) FROM t", "SELECT SUM(age) FROM t", "SELECT SUM(debt) FROM t"]
)
def test_theorem_PERSONS_AS_ROWS_a_person_is_one_unit(sql: str) -> None:
    """All that up to three records can add, and nothing else, is the span that the widths use."""
    _, part = noisy(sql, rows=3)
    low, high = part.reading.sensitivity.boxes[0]
    records = range(low, high + 1)
    possible = {sum(some) for count in range(4) for some in combinations_with_replacement(records, count)}
    assert (min(possible), max(possible)) == span_of(part)
    study, part = noisy(sql, rows=3, accounting="pure")
    assert HingePopulation(study)._span(part) == max(possible) - min(possible)


def test_theorem_PERSONS_AS_ROWS_mean_over_records() -> None:
    """Persons of one or three records: E f / E g is the mean of all records, not of the persons' means."""
    people = ([1], [0, 0, 1])
    f = sum(Fraction(sum(values), 3) for values in people)
    g = sum(Fraction(len(values), 3) for values in people)
    assert f / g == Fraction(2, 4)
    assert sum(Fraction(sum(values), len(values)) for values in people) / 2 == Fraction(2, 3)
