"""Arithmetic on what is released: it means what SQL means, costs what its aggregates cost, and says its noise.

The first law compares with plain DuckDB on random tables: the aggregates are worked out exactly, and what is
computed from them must be what DuckDB gives for the whole statement.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.curator import Curator
from adyton.curator.mock import mock_of
from adyton.curator.shaping import levels_of
from adyton.errors import InvalidRequest
from adyton.kernel.noise import SystemBits
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, RealColumn, Table, TextColumn
from adyton.kernel.terms.buckets import Bucket
from adyton.kernel.terms.measures import Proportion
from adyton.query.released.answered import Answered, Told
from adyton.query.request import request_of
from adyton.query.text import condition_text, group_value_text, measure_text, query_text
from adyton.study import Study, Validity
from support.curators import open_kept, seeded
from support.tries import LONG
from support.worlds import study_with

REGIONS = ("north", "south", "east")
COLUMNS = (
    IntegerColumn("age", 0, 99),
    RealColumn("income", Fraction(0), Fraction(1000), Fraction(1)),
    CategoryColumn("region", REGIONS),
    BooleanColumn("smoker"),
    IntegerColumn("year", 2019, 2022),
)
TABLE = Table("people", COLUMNS, rows=600)
BY = "FROM people GROUP BY"

STATEMENTS = [
    "SELECT COUNT(*) / 365 AS a, COUNT(*) + 1 AS b, -COUNT(*) AS c, 2 * (COUNT(*) - 3) / 7 AS d FROM people",
    "SELECT SUM(income) / SUM(age) AS a, AVG(income) - AVG(age) AS b, MAX(age) - MIN(age) AS c FROM people",
    "SELECT 100.0 * COUNT(*) FILTER (WHERE smoker) / COUNT(*) AS a FROM people",
    "SELECT COUNT(*) FILTER (WHERE smoker) * 100.0 / NULLIF(COUNT(*), 0) AS a, COUNT(*) AS n FROM people",
    "SELECT SUM(CASE WHEN age > 50 THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS a, SUM(income) / COUNT(*) AS b FROM people",
    "SELECT SUM(income) / COUNT(income) AS a, SUM(income) FILTER (WHERE smoker) / COUNT(*) FILTER (WHERE smoker) AS b FROM people",
    "SELECT COUNT(*) FILTER (WHERE smoker AND age > 30) / COUNT(*) FILTER (WHERE smoker) AS a FROM people",
    "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE smoker) AS s, COUNT(*) FILTER (WHERE smoker) / COUNT(*) AS r FROM people",
    f"SELECT region, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS share {BY} region ORDER BY share DESC, region",
    f"SELECT region, year, COUNT(*) AS n, RANK() OVER (PARTITION BY year ORDER BY COUNT(*) DESC) AS r {BY} region, year ORDER BY region, year",
    f"SELECT year, SUM(COUNT(*)) OVER (ORDER BY year) AS running, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY year) AS d {BY} year ORDER BY year",
    f"SELECT year, AVG(COUNT(*)) OVER (ORDER BY year ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS m, LEAD(COUNT(*), 2, 0) OVER (ORDER BY year) AS l {BY} year ORDER BY year DESC",
    f"SELECT year, FIRST_VALUE(COUNT(*)) OVER (ORDER BY year) AS f, LAST_VALUE(COUNT(*)) OVER (ORDER BY year) AS l, MAX(COUNT(*)) OVER () AS m, MIN(COUNT(*)) OVER (ORDER BY year DESC) AS k, COUNT(*) OVER () AS c {BY} year ORDER BY year",
    f"SELECT region, year, ROW_NUMBER() OVER (ORDER BY region, year) AS a, DENSE_RANK() OVER (ORDER BY year) AS b, PERCENT_RANK() OVER (ORDER BY region, year) AS c, CUME_DIST() OVER (ORDER BY year) AS d, NTILE(5) OVER (ORDER BY region, year) AS e, COUNT(*) AS n {BY} region, year ORDER BY region, year",
    f"SELECT region, AVG(age) AS a {BY} region HAVING COUNT(*) > 190 ORDER BY SUM(income) DESC, region",
    f"SELECT region, year, COUNT(*) AS n {BY} region, year QUALIFY RANK() OVER (PARTITION BY region ORDER BY COUNT(*) DESC) <= 2 ORDER BY region, year",
    f"SELECT region, year, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY region) AS t {BY} region, year HAVING COUNT(*) > 45 ORDER BY t + 1 DESC, year LIMIT 4",
    f"SELECT region, CASE WHEN COUNT(*) > 200 THEN 'big' WHEN COUNT(*) > 190 THEN 'middle' ELSE 'small' END AS size, 7 AS seven, 'x' AS x {BY} region ORDER BY region",
    f"SELECT region, CASE WHEN AVG(age) > AVG(income) / 10 THEN COUNT(*) ELSE 0 END AS a, COALESCE(NULLIF(COUNT(*), 200), -1) AS b {BY} region ORDER BY region",
    "SELECT SQRT(COUNT(*)) AS a, LN(COUNT(*)) AS b, EXP(AVG(age) / 100) AS c, ABS(AVG(age) - AVG(income)) AS d, FLOOR(AVG(age)) AS e, CEIL(AVG(age)) AS f, SIGN(AVG(age) - 50) AS g, POWER(COUNT(*), 2) AS h, LOG10(COUNT(*)) AS i, TRUNC(-AVG(age)) AS j FROM people",
    "SELECT GREATEST(COUNT(*), SUM(age), 5) AS a, LEAST(AVG(age), AVG(income)) AS b, CAST(AVG(age) AS DECIMAL(10, 2)) AS c, CAST(COUNT(*) AS DOUBLE) / 7 AS d, ROUND(AVG(age)) AS e FROM people",
    f"SELECT year, COUNT(*) * year AS a {BY} year ORDER BY year",
    "SELECT COUNT(*) FILTER (WHERE smoker) / COUNT(*) FILTER (WHERE age > 30) AS a FROM people",
    f"SELECT region, year, SUM(COUNT(*)) OVER (ORDER BY year) AS t {BY} region, year ORDER BY region, year",
    f"SELECT region, COUNT(*) AS n, n * 2 AS twice {BY} region HAVING twice > 380 AND n IS NOT NULL ORDER BY twice, region",
    f"SELECT region, COALESCE(COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY region), 0) AS d {BY} region ORDER BY region",
]


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = rng.integers(0, 1001, 600).astype(float)
    income[rng.random(600) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, 600),
            "income": income,
            "region": rng.choice(REGIONS, 600),
            "smoker": rng.random(600) < 0.4,
            "year": rng.integers(2019, 2023, 600),
        }
    )


def _measure(measure: Any) -> str:
    """An aggregate as DuckDB has it."""
    if isinstance(measure, Proportion):
        counted = f"AVG(CASE WHEN {condition_text(measure.condition)} THEN 1.0 ELSE 0 END)"
        return f"{counted} FILTER (WHERE {condition_text(measure.where)})"
    return measure_text(measure)


def _computed(sql: str, data: pd.DataFrame) -> list[dict[str, Any]]:
    """The aggregates exactly, by DuckDB; the rest by adyton."""
    asked = request_of(sql, TABLE)
    query, shape = asked.query, asked.shape
    groups = [group_value_text(group) for group in query.by]
    listed = ", ".join([*groups, *(_measure(measure) for _, measure in query.measures)])
    grouped = f" GROUP BY {', '.join(groups)} ORDER BY {', '.join(groups)}" if groups else ""
    found = duckdb.sql(f"SELECT {listed} FROM data{grouped}").fetchall()
    columns: dict[str, Told] = {}
    for place, group in enumerate(query.by):
        assert isinstance(group, Bucket | CategoryColumn | BooleanColumn)
        columns[group.name] = ([row[place] for row in found], np.arange(len(found)))
    for place, (name, _) in enumerate(query.measures):
        columns[name] = np.array([float(row[len(groups) + place]) for row in found])
    kept = shape.kept(columns, len(found))
    answered = Answered(columns, len(found), {}).at(kept)
    places = shape.places(answered)
    shown = [(group.name, answered.told(_name(group.name))) for group in query.by]
    values = shape.shown or tuple((name, _name(name)) for name, _ in query.measures)
    shown += [(name, answered.told(node)) for name, node in values]
    return [{name: _at(told, place) for name, told in shown} for place in places.tolist()]


def _name(name: str) -> Any:
    from adyton.query.released.nodes import ReleasedName

    return ReleasedName(name)


def _at(told: Told, place: int) -> Any:
    return told[place] if isinstance(told, np.ndarray) else told[0][told[1][place]]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sql", STATEMENTS)
def test_it_means_what_plain_duckdb_says(sql: str, seed: int) -> None:
    data = people(seed)  # DuckDB finds it by its name
    expected = duckdb.sql(sql.replace("FROM people", "FROM data")).df().to_dict("records")
    found = _computed(sql, data)
    assert len(found) == len(expected)
    for own, theirs in zip(found, expected, strict=True):
        assert own.keys() == theirs.keys()
        for name, value in theirs.items():
            if isinstance(value, str | bool):
                assert own[name] == value
            elif pd.isna(value):
                assert math.isnan(own[name])
            else:
                assert own[name] == pytest.approx(float(value), rel=1e-12), name


# With noise.


def study(
    accounting: str = "gdp", adjacency: str = "replace-one", *, valid: bool = True, table: Table = TABLE
) -> Study:
    validity = Validity(Fraction(95, 100), Fraction(1) if accounting == "pure" else None) if valid else None
    return study_with(table, accounting, adjacency, 50, validity=validity)


KINDS = ["gdp", "zcdp", "pure", "gdp without validity"]


@pytest.fixture(params=KINDS)
def curator(request: pytest.FixtureRequest) -> Iterator[Curator]:
    accounting, *without = request.param.split()
    with open_kept(study(accounting, valid=not without), people(1)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("sql", "curator"),
    [
        (sql, kind)
        for place, sql in enumerate(STATEMENTS)
        for kind in (KINDS if LONG else KINDS[place % 2 :: 2])
    ],
    indirect=["curator"],
)
def test_every_statement_is_answered_in_every_kind_of_study(sql: str, curator: Curator) -> None:
    """Usually in two of the four, in turn."""
    preview = curator.preview(sql, share=0.01)
    answer = curator.ask(sql, share=0.01)
    json.dumps([answer.to_json(), preview.to_json()], allow_nan=False)
    assert str(answer)
    assert answer.hidden == preview.hidden
    for names in (answer.to_csv().splitlines()[0].split(","), list(answer.to_pandas().columns)):
        assert [name for name, _ in request_of(sql, TABLE).shape.shown if name not in names] == []
    for row in answer:
        for value in row.values.values():
            assert (
                math.isnan(value.value)
                or value.noise_interval.low <= value.value <= value.noise_interval.high
            )


def test_the_same_aggregates_under_another_expression_are_free() -> None:
    with open_kept(study(), people(1)) as curator:
        first = curator.ask("SELECT region, COUNT(*) FROM people GROUP BY region", epsilon=1)
        for sql in (
            "SELECT region, COUNT(*) / 365 AS per_day FROM people GROUP BY region",
            "SELECT region, RANK() OVER (ORDER BY COUNT(*)) AS r FROM people GROUP BY region ORDER BY COUNT(*) DESC",
            "SELECT region, COUNT(*) * 2 + COUNT(*) AS count FROM people GROUP BY region HAVING COUNT(*) > 3",
        ):
            again = curator.ask(sql, epsilon=1)
            assert again.repeated
            assert again.query == first.query
            assert curator.preview(sql, epsilon=1).repeated
        assert len(curator.receipts()) == 1
        thrice = {row.keys["region"]: row.values["count"].value for row in again}
        assert thrice == pytest.approx({row.keys["region"]: 3 * row.values["count"].value for row in first})


def test_hidden_values_are_asked_for_and_said() -> None:
    sql = "SELECT region, AVG(age) FROM people GROUP BY region HAVING COUNT(*) > 10 ORDER BY SUM(income)"
    with open_kept(study(), people(1)) as curator:
        preview, answer = curator.preview(sql, epsilon=1), curator.ask(sql, epsilon=1)
        asked = "SELECT region, AVG(age) AS avg_age, COUNT(*) AS count, SUM(income) AS sum_income FROM people GROUP BY region"
        assert preview.query == answer.query == asked
        assert preview.hidden == answer.hidden == ("count", "sum_income")
        note = "Asked for, paid for and not shown: count, sum_income."
        assert note in preview.sheet().notes
        assert note in answer.notes()
        assert answer.to_json()["hidden"] == ["count", "sum_income"]
        assert list(answer.rows.values) == ["avg_age"]
        assert preview.cost == curator.preview(asked, epsilon=1).cost
        sums = {row.keys["region"]: row.values["sum_income"].value for row in curator.ask(asked, epsilon=1)}
        assert [row.keys["region"] for row in answer] == sorted(sums, key=sums.__getitem__)


def test_a_hidden_mean_may_have_the_width_that_was_the_price() -> None:
    """The note about widths looks at values that are shown.  Mutant: it looks at all that were named."""
    with open_kept(study(), people(1)) as curator:
        answer = curator.ask("SELECT EXP(AVG(age) / 50) AS e FROM people", within=5)
        assert answer.hidden == ("avg_age",)
        assert "The width of a mean was planned for 600 matching rows" in str(answer)


def test_a_share_is_asked_for_as_a_share_and_a_mean_as_a_mean() -> None:
    for sql, same in {
        "SELECT 100.0 * COUNT(*) FILTER (WHERE smoker) / COUNT(*) AS p FROM people": "PROPORTION(smoker) AS proportion_smoker",
        "SELECT SUM(CASE WHEN smoker THEN 1 ELSE 0 END) / NULLIF(COUNT(*), 0) AS p FROM people": "PROPORTION(smoker) AS proportion_smoker",
        "SELECT SUM(income) / COUNT(income) AS m FROM people": "AVG(income) AS avg_income",
        "SELECT ROUND(1.0 * SUM(income) FILTER (WHERE smoker) / COUNT(income) FILTER (WHERE smoker), 2) AS m FROM people": (
            "AVG(income) FILTER (WHERE smoker) AS avg_income"
        ),
        "SELECT SUM(income) / COUNT(*) FILTER (WHERE smoker) AS m FROM people": (
            "SUM(income) AS sum_income, COUNT(*) FILTER (WHERE smoker) AS count"
        ),
    }.items():
        asked = request_of(sql, TABLE)
        assert query_text(asked.query) == f"SELECT {same} FROM people"


def test_a_single_computed_value_is_the_value_of_its_answer() -> None:
    """With fixed noise: one time in twenty it is so loud that the divisor seems to be known."""
    with seeded(study(), people(1), 1) as curator:
        answer = curator.ask("SELECT SUM(age) / SUM(income) AS r FROM people", share=0.2)
        assert answer.value == answer["r"].value  # type: ignore[union-attr]
        assert answer.noise_interval.low < answer.value < answer.noise_interval.high
        assert "BOX-OF-PARTS" in answer.certificate.theorems
        drowned = curator.ask(
            "SELECT SUM(age) / COUNT(*) FILTER (WHERE age > 98) AS r FROM people", epsilon=0.001
        )
        assert math.isnan(drowned.value)
        (row,) = drowned.to_json()["answer"]
        assert row["values"]["r"]["value"] is None
        assert row["values"]["r"]["noise_interval"] == {"level": 0.95, "low": None, "high": None}
        assert "no value" in row["values"]["r"]["uninformative"]


def test_what_noise_drowned_is_unknown_and_not_null() -> None:
    """COALESCE fills in what is NULL, such as the LAG of the first row; it says nothing for what is unknown."""
    rare = "AVG(income) FILTER (WHERE age > 98)"
    with seeded(study(), people(1), 2) as curator:
        answer = curator.ask(f"SELECT COALESCE({rare}, 0) AS a FROM people", epsilon=0.001)
        assert math.isnan(answer.value)
        kept = curator.ask(f"SELECT {rare} AS a FROM people HAVING {rare} - 1 < 5000", epsilon=0.001)
        assert len(kept) == 0


@pytest.mark.parametrize(
    "measure",
    [
        "COUNT(*)",
        "SUM(income)",
        "AVG(income)",
        "STDDEV(age)",
        "MEDIAN(age)",
        "MIN(age)",
        "MAX(age)",
        "CDF(age, 50)",
    ],
)
@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_a_higher_level_has_a_wider_interval(measure: str, accounting: str) -> None:
    """Every kind of value can say its noise at the level that an expression needs."""
    with open_kept(study(accounting), people(1)) as curator:
        batch = curator._batch([f"SELECT {measure} FROM people"], {"epsilon": 1})
        curator._engine.prepare(batch.readings)
        context, wider = curator._claims.of_next(batch), 0
        for _ in range(20):
            read = SimpleNamespace(
                exact=lambda: iter(curator._engine.exact(batch.readings)),
                again=lambda reading: curator._engine.exact([reading])[0],
            )
            stored = batch.measurement.release(read, SystemBits())  # type: ignore[arg-type]
            told = levels_of(batch.plans[0], 0, lambda stored=stored: stored, context)
            (low,), (high,) = (told(level).values() for level in (0.95, 1 - 1e-9))
            assert high.noise.level == 1 - 1e-9
            assert high.noise.low[0] <= low.noise.low[0] <= low.noise.high[0] <= high.noise.high[0]
            wider += high.noise.high[0] - high.noise.low[0] > low.noise.high[0] - low.noise.low[0]
        assert wider > 10


def test_batches_histograms_and_distributions_compute_too() -> None:
    with open_kept(study(), people(1)) as curator:
        one, two = curator.ask_many(
            [
                "SELECT COUNT(*) / 2 AS h FROM people",
                "SELECT SUM(COUNT(*)) OVER () AS t, year FROM people GROUP BY year",
            ],
            share=0.1,
        )
        assert one.batch_size == two.batch_size == 2
        assert one.value == pytest.approx(300, abs=30)
        assert {round(row.values["t"].value, 6) for row in two} == {round(two[0].values["t"].value, 6)}
        cdf = curator.ask("SELECT 100 * CDF(age, 25, 50) AS percent FROM people", share=0.1)
        assert [row.keys["upto"] for row in cdf] == [25, 50]
        assert cdf[1].values["percent"].value == pytest.approx(50, abs=10)
        many = curator.ask("SELECT HISTOGRAM(year) FROM people ORDER BY COUNT(*) * 2 DESC LIMIT 2", share=0.1)
        assert len(many) == 2
        assert many.rows_hidden == 2


def test_keys_that_are_found_are_ranked() -> None:
    table = Table("people", (*COLUMNS, TextColumn("town")), rows=600)
    data = people(1).assign(town=np.repeat(["oslo", "rome", "bonn"], [300, 200, 100]))
    given = study_with(table, epsilon=50, discovery_delta=Fraction(1, 10**7))
    with adyton.open(given, data=data) as curator:
        answer = curator.ask(
            "SELECT town, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY town) AS d, "
            "RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM people GROUP BY town ORDER BY r",
            share=0.2,
        )
        assert [row.keys["town"] for row in answer] == ["oslo", "rome", "bonn"]
        assert [row.values["r"].value for row in answer] == [1, 2, 3]


def test_windows_over_very_many_rows_are_refused_before_they_are_paid_for() -> None:
    sql = "SELECT FLOOR(income) AS i, age, COUNT(*) AS n{} FROM people GROUP BY 1, 2"
    with pytest.raises(InvalidRequest, match="windows are worked out over at most 10,000 rows"):
        request_of(sql.format(", SUM(COUNT(*)) OVER () AS t"), TABLE)
    assert request_of(sql.format(", COUNT(*) / 2 AS h"), TABLE).query.cells > 10_000


def test_a_mock_computes_too() -> None:
    answer = mock_of(study()).ask(
        "SELECT region, COUNT(*) / SUM(COUNT(*)) OVER () AS s FROM people GROUP BY region", epsilon=1
    )
    assert len(answer) == 3
