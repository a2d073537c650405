"""Batches: priced together, charged once, read in one go, and the same integers as one by one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adyton
from adyton.certify import Bound
from adyton.curator.curator import Curator
from adyton.curator.tables import MOST_QUERIES
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.scans.reading import KeptCubes, cubes_of, exact_from, read_cube
from adyton.errors import BudgetRefused, InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, RealColumn, Table, TextColumn
from adyton.kernel.terms.expressions import Condition
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, Mean, Sum
from adyton.kernel.terms.names import columns_in
from adyton.planning.readings import readings_of
from adyton.query.conditions.possible import is_understood
from adyton.query.nodes import Query
from adyton.study import Study, Validity
from support.curators import open_kept, standing_of
from support.strategies import conditions
from support.tries import often

ROWS = 400
AGE = IntegerColumn("age", 0, 120)
REGION = CategoryColumn("region", ("north", "south", "east", "west"))
INCOME = RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1, 100))
PEOPLE = Table("people", (AGE, REGION, INCOME, BooleanColumn("smoker"), TextColumn("city")), rows=ROWS)


def frame(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.choice([*range(0, 130, 3), None], ROWS),
            "region": rng.choice(["north", "south", "east", "west", "nowhere"], ROWS),
            "income": rng.choice([0.0, 1e9, -5.0, 12.34, float("nan")], ROWS),
            "smoker": rng.choice([True, False, None], ROWS),
            "city": rng.choice(["a", "b"], ROWS),
        }
    )


def curator(adjacency: str = "replace-one", epsilon: int = 50, **more: Any) -> Curator:
    budget = Guarantee(Fraction(epsilon), Fraction(1, 10**9))
    study = Study(PEOPLE, PrivacyUnit(adjacency), budget, **more)  # type: ignore[arg-type]
    return open_kept(study, data=frame())


FILTERED = [f"SELECT AVG(income) FROM people WHERE age > {age}" for age in range(20)]


def test_a_batch_is_one_charge_and_every_answer_shows_it() -> None:
    asker = curator()
    answers = asker.ask_many(FILTERED, epsilon=1)
    assert [answer.query for answer in answers] == [asker.preview(q, epsilon=1).query for q in FILTERED]
    assert {answer.receipt.number for answer in answers} == {1}
    assert {answer.batch_size for answer in answers} == {20}
    assert asker.budget().queries == 1
    assert 0.999 < asker.study.epsilon_of(asker.budget().spent.units) <= 1 + 1e-9
    assert "for 20 queries together" in str(answers[0])
    assert answers[0].to_json()["batch_size"] == 20


def test_the_same_batch_again_is_free_and_says_the_same() -> None:
    asker = curator()
    first = asker.ask_many(FILTERED, epsilon=1)
    spent = asker.budget().spent
    again = asker.ask_many(FILTERED, epsilon=1)
    assert [a.rows for a in again] == [a.rows for a in first]
    assert all(a.repeated for a in again)
    assert asker.budget().spent == spent
    fewer = asker.ask_many(FILTERED[:19], epsilon=1)
    assert not any(a.repeated for a in fewer)


def test_a_preview_of_a_batch_names_its_price_and_charges_nothing() -> None:
    asker = curator()
    previews = asker.preview_many(FILTERED, epsilon=1)
    assert asker.budget().queries == 0
    answers = asker.ask_many(FILTERED, epsilon=1)
    assert {p.cost for p in previews} == {a.cost for a in answers}
    assert "for 20 queries together" in str(previews[0])
    assert all(p.repeated for p in asker.preview_many(FILTERED, epsilon=1))


def test_one_request_id_is_charged_once() -> None:
    asker = curator()
    first = asker.ask_many(FILTERED, request="mine", epsilon=1)
    again = asker.ask_many(FILTERED, request="mine", epsilon=1)
    assert [a.rows for a in again] == [a.rows for a in first]
    assert asker.budget().queries == 1


def test_all_are_answered_or_none() -> None:
    asker = curator(epsilon=1)
    with pytest.raises(BudgetRefused):
        asker.ask_many(FILTERED, within=1)
    with pytest.raises(InvalidRequest, match="no column"):
        asker.ask_many([*FILTERED, "SELECT AVG(nothing) FROM people"], epsilon="0.1")
    assert asker.budget().queries == 0


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ([], "1 to 10000 queries"),
        (["SELECT COUNT(*) FROM people"] * (MOST_QUERIES + 1), "1 to 10000 queries"),
        (["SELECT city, COUNT(*) FROM people GROUP BY city", "SELECT COUNT(*) FROM people"], "keys"),
        ([f"{q.replace('SELECT', 'SELECT WITH OPTIONS(epsilon = 1)')}" for q in FILTERED[:2]], "named twice"),
    ],
)
def test_what_is_no_batch_is_refused_free_of_charge(asked: list[str], reason: str) -> None:
    asker = curator(discovery_delta=Fraction(1, 10**10))
    with pytest.raises(InvalidRequest, match=reason):
        asker.ask_many(asked, epsilon=1)
    assert asker.budget().queries == 0


@pytest.mark.parametrize(("adjacency", "times"), [("add-remove", 1), ("replace-one", 2)])
def test_filters_that_exclude_each_other_share_the_price(adjacency: str, times: int) -> None:
    """Four regions at the same noise cost what one costs, or two where a unit may move between them."""
    asked = [f"SELECT COUNT(*) FROM people WHERE region = '{r}'" for r in REGION.values]
    alone, together = curator(adjacency), curator(adjacency)
    alone.ask(asked[0], scale=10)
    together.ask_many(asked, scale=10)
    one, four = (asker.receipts()[0].order.amount for asker in (alone, together))
    assert four == times * one
    in_one = curator(adjacency)
    listed = ", ".join(f"COUNT(*) FILTER (WHERE region = '{r}')" for r in REGION.values)
    answer = in_one.ask(f"SELECT {listed} FROM people", scale=10)
    assert in_one.receipts()[0].order.amount == four
    assert "DISJOINT-FILTERS" in answer.certificate.theorems


def test_overlapping_filters_pay_the_sum() -> None:
    asker, alone = curator(), curator()
    asker.ask_many([f"SELECT COUNT(*) FROM people WHERE age > {age}" for age in (1, 2, 3)], scale=10)
    alone.ask("SELECT COUNT(*) FROM people WHERE age > 1", scale=10)
    assert asker.receipts()[0].order.amount == 3 * alone.receipts()[0].order.amount


def test_a_batch_counts_all_its_values_for_the_population() -> None:
    """Twenty answers that must be right at once have wider intervals than one, at the same noise."""
    validity = Validity(Fraction(95, 100))
    asker, asked = (
        curator(validity=validity),
        [f"SELECT COUNT(*) FROM people WHERE age = {n}" for n in range(20)],
    )
    many, one = asker.preview_many(asked, scale=20), asker.preview(asked[3], scale=20)

    def width(preview: adyton.Preview) -> float:
        """That of an answer depends on its noise too."""
        (bound,) = preview.population.values()
        assert isinstance(bound, Bound)
        assert bound.half_width is not None
        return bound.half_width

    assert len({width(preview) for preview in many}) == 1
    assert width(many[0]) > 1.1 * width(one)


def test_a_batch_of_means_has_the_intervals_of_single_means() -> None:
    """Found together, they are what they are alone: the same integers give the same rows."""
    from adyton.curator.certifying import rows_of_many
    from adyton.kernel.ledger.texts import Stored
    from adyton.planning.plan import make_batch
    from adyton.planning.price import price_of
    from adyton.query.request import request_of

    study = curator(validity=Validity(Fraction(95, 100))).study
    asked = [request_of(q, study.table) for q in [*FILTERED, "SELECT VARIANCE(age), COUNT(*) FROM people"]]
    batch = make_batch(study, asked, price_of(epsilon=1), study.allowed)
    context = standing_of(study, ROWS, query=2, before=Fraction(1, 1000), values=21)
    rng = np.random.default_rng(1)
    stored = [
        Stored([[[int(z)] for z in rng.integers(1, 10**8, 2)] for _ in plan.parts])
        for plan in batch.plans[:-1]
    ]
    stored.append(Stored([[[5], [10**9], [10**6]], [[300]]]))
    together = rows_of_many(batch.plans, stored, context)
    each = zip(batch.plans, stored, strict=True)
    assert together == [rows_of_many([plan], [own], context)[0] for plan, own in each]


# The integers ---------------------------------------------------------------------------------------------------


@given(wheres=st.lists(conditions(), min_size=12, max_size=16))
@settings(max_examples=often(30, 60), suppress_health_check=[HealthCheck.too_slow])
def test_law_a_cube_reads_the_same_integers(wheres: list[Condition]) -> None:
    from support.strategies import PEOPLE as WIDE

    engine = _wide_engine()
    measures = [Count(), Sum(ValueOf(WIDE.column("age"))), Mean(ValueOf(WIDE.column("income")))]  # type: ignore[arg-type]
    asked = [Query(WIDE, (("m", measures[i % 3]),), where) for i, where in enumerate(wheres)]
    readings = [r for q in asked for r in readings_of(q, PrivacyUnit("add-remove"))]
    one_by_one = [exact_from(engine._units, engine._run, [reading])[0] for reading in readings]
    assert engine.exact(readings) == one_by_one
    for _ in range(2):  # the second time from what is kept
        assert [engine.exact([reading])[0] for reading in readings] == one_by_one
    places = [place for place, reading in enumerate(readings) if is_understood(reading.where)]
    cubed = [readings[place] for place in places]
    columns = columns_in(*(reading.where for reading in cubed))
    listed = sorted(set(columns), key=lambda column: column.name) or [WIDE.columns[0]]
    found = read_cube(cubed, listed, engine._units, engine._run)  # however large the cube is
    assert found == [one_by_one[place] for place in places]


def test_a_filter_after_another_on_the_same_columns_is_read_from_the_kept() -> None:
    engine, ran = _wide_engine(), list[str]()
    kept = KeptCubes()

    def run(sql: str) -> Any:
        ran.append(sql)
        return engine._run(sql)

    def exact(text: str) -> Any:
        from adyton.query.request import request_of
        from support.strategies import PEOPLE as WIDE

        readings = readings_of(request_of(text, WIDE).query, PrivacyUnit("add-remove"))
        alone = exact_from(engine._units, engine._run, readings)
        assert exact_from(engine._units, run, readings, kept=kept) == alone

    ages = [f"SELECT COUNT(*), AVG(income) FROM people WHERE age > {x} AND smoker" for x in range(0, 120, 9)]
    for text in ages:
        exact(text)
    assert ["GROUP BY" in sql for sql in ran] == [False, True]  # the second query reads the cells
    ran.clear()
    for x in range(5):
        exact(f"SELECT COUNT(*) FROM people WHERE income > {x}")  # more values than are kept
        exact("SELECT COUNT(*) FROM people")
    assert not any("GROUP BY" in sql for sql in ran)
    assert len(ran) == 10


def test_what_is_kept_is_little_and_a_table_without_rows_is_empty() -> None:
    from adyton.engines.scans import reading as module
    from adyton.query.request import request_of

    empty = DuckDBEngine(PEOPLE, PrivacyUnit("add-remove"), frame().head(0))
    empty.prepare()
    kept = KeptCubes()
    for repeat in range(2):
        for x in range(70):
            text = f"SELECT SUM(age + {x + 1}), COUNT(*) FROM people WHERE age > {x // 2} AND NOT smoker"
            readings = readings_of(request_of(text, PEOPLE).query, PrivacyUnit("add-remove"))
            for _ in range(1 + repeat):
                assert exact_from(empty._units, empty._run, readings, kept=kept) == [[[0]], [[0]]]
    assert len(kept._cubes) == module._MOST_KEPT
    empty.close()


def test_filters_on_few_values_make_a_cube_and_others_do_not() -> None:
    def readings(texts: list[str]) -> Any:
        from adyton.query.request import request_of

        asked = [request_of(text, PEOPLE).alone for text in texts]
        return [r for q in asked for r in readings_of(q, PrivacyUnit("add-remove"))]

    ((places, columns),) = cubes_of(readings(FILTERED))
    assert places == list(range(20))
    assert columns == [AGE]
    incomes = [f"SELECT AVG(age) FROM people WHERE income > {x}" for x in range(20)]
    assert cubes_of(readings(incomes)) == []
    grouped = [f"SELECT region, AVG(age) FROM people WHERE age > {x} GROUP BY region" for x in range(20)]
    assert cubes_of(readings(grouped)) == []
    binned = [f"SELECT AVG(age) FROM people WHERE FLOOR(age / 10) = {x}" for x in range(12)]
    ((places, columns),) = cubes_of(readings(binned))  # bins of few values are read off the cube as well
    assert (places, columns) == (list(range(12)), [AGE])
    assert cubes_of(readings(FILTERED[:5])) == []


_opened: dict[str, DuckDBEngine] = {}


def _wide_engine() -> DuckDBEngine:
    """Values of all kinds: missing, clipped, wild."""
    from support.strategies import PEOPLE as WIDE

    if "wide" not in _opened:
        rng, n = np.random.default_rng(2), 300
        data = pd.DataFrame(
            {
                "age": rng.choice([*range(0, 121, 7), None], n),
                "income": rng.choice([0.0, 1e9, -5.0, 12.34, 99_999.99, float("nan")], n),
                "region": rng.choice(["north", "south", "east", "west", "no"], n),
                "year": rng.choice([2020, 2021, 2022, 1999], n),
                "smoker": rng.choice([True, False, None], n),
                "born": rng.choice(["1900-01-01", "1970-01-01", "2030-05-05", "never"], n),
            }
        )
        _opened["wide"] = DuckDBEngine(WIDE, PrivacyUnit("add-remove"), data)
        _opened["wide"].prepare()
    return _opened["wide"]
