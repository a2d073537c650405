"""The price that a plan names: its part of what all may spend, never more, whatever is asked and under whatever filter."""

from __future__ import annotations

from fractions import Fraction

import pytest

from adyton.kernel.privacy import Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.planning.planned_price import planned_batch
from adyton.query.request import request_of
from adyton.study import PrivateTable, Study, Validity
from support.curators import population_of

COLUMNS = (
    IntegerColumn("age", 0, 100),
    IntegerColumn("income", 0, 2**17),
    CategoryColumn("region", ("north", "south", "east")),
    BooleanColumn("smoker"),
    TextColumn("word"),
)
VISITS = PrivateTable(Table("visits", (IntegerColumn("cost", 0, 1000),), None, "who"), 4)
ASKED = (
    ("SELECT COUNT(*) FROM t",),
    ("SELECT region, COUNT(*), AVG(age), SUM(income) FROM t GROUP BY region",),
    ("SELECT VARIANCE(age), PROPORTION(smoker) FROM t WHERE age > 50",),
    ("SELECT MEDIAN(income), MIN(age) FROM t",),
    ("SELECT region, QUANTILE(income, 0.9) FROM t GROUP BY region",),
    ("SELECT region, CDF(age, 10, 20, 30, 40, 50) FROM t GROUP BY region",),
    ("SELECT COUNT(*) FILTER (WHERE smoker), AVG(age) FILTER (WHERE NOT smoker) FROM t",),
    ("SELECT word, region, AVG(age), COUNT(*) FROM t GROUP BY word, region",),
    ("SELECT COUNT(*) FROM t", "SELECT AVG(age) FROM t WHERE smoker", "SELECT MEDIAN(age) FROM t"),
)
OF_PERSONS = (
    ("SELECT COUNT(DISTINCT who) FROM t",),
    ("SELECT word, COUNT(DISTINCT who) FROM t GROUP BY word",),
    ("SELECT region, COUNT(*), AVG(cost) FROM t JOIN visits ON t.who = visits.who GROUP BY region",),
)


def study(
    accounting: str,
    adjacency: Adjacency,
    epsilon: Fraction,
    rows: int,
    queries: int,
    *,
    persons: bool = False,
    tolerance: Fraction = Fraction(1),
) -> Study:
    discovery_delta = Fraction(1, 10**14)
    return Study(
        Table("t", COLUMNS, rows, "who" if persons else None),
        PrivacyUnit(adjacency, "who", 3) if persons else PrivacyUnit(adjacency),
        Guarantee(epsilon, discovery_delta if accounting == "pure" else Fraction(1, 10**13)),
        accounting,
        validity=Validity(Fraction(9, 10), queries=queries, tolerance=tolerance),
        discovery_delta=discovery_delta,
        further=(VISITS,) if persons else (),
    )


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(500)])
@pytest.mark.parametrize(("rows", "queries", "persons"), [(5000, 10, False), (10**5, 7000, True)])
def test_every_query_of_a_plan_gets_its_part_up_to_a_millionth(
    accounting: str, epsilon: Fraction, rows: int, queries: int, persons: bool
) -> None:
    """Also where the study's budget could not pay for it: that is for the ledger to say."""
    adjacency: Adjacency = "add-remove" if persons else "replace-one"
    made = study(accounting, adjacency, epsilon, rows, queries, persons=persons)
    each = population_of(made).each(1)
    assert each is not None
    for texts in ASKED + (OF_PERSONS if persons else ()):
        batch = planned_batch(made, [request_of(text, *made.tables) for text in texts], each, None)
        assert (1 - Fraction(1, 10**6)) * each <= batch.radius <= each, texts


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
@pytest.mark.parametrize(
    ("rows", "queries", "tolerance"),
    [(10**9, 10**6, "0.0025"), (10**9, 10**9, "0.02"), (10**10, 10**11, "0.02")],
)
def test_where_a_part_is_few_units_it_is_still_never_passed(
    accounting: str, rows: int, queries: int, tolerance: str
) -> None:
    """Radii are whole units, rounded up for each noise: steps of a search of 27 comparisons are 27 units wide.

    A plan with Gaussian noise spends no more than its tolerance needs, so there it is near the least possible.
    """
    within = Fraction(1) if accounting == "pure" else Fraction(tolerance)
    made = study(accounting, "add-remove", Fraction(1), rows, queries, persons=True, tolerance=within)
    each = population_of(made).each(1)
    assert each is not None
    for texts in ASKED + OF_PERSONS:
        batch = planned_batch(made, [request_of(text, *made.tables) for text in texts], each, None)
        assert each - 300 <= batch.radius <= each, texts
