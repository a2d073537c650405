"""CLIPPED and UNDECLARED: what analysts may ask, at a price, about values as they came."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adyton import queries
from adyton.audit import replay
from adyton.curator.mock import mock_of
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import ADJACENCIES, Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import Attribute, CategoryColumn, Dimension, IntegerColumn, PublicJoin, Table
from adyton.kernel.terms.expressions import Case, Not
from adyton.kernel.terms.leaves import IsOutside
from adyton.kernel.terms.measures import Count
from adyton.kernel.terms.names import joined
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.query.request import request_of
from adyton.query.sql.read import parse, parse_condition, parse_number
from adyton.query.text import condition_text, query_text
from adyton.study import Study
from support.curators import open_kept
from support.strategies import AGE, BORN, INCOME, PEOPLE, PERSONS, REGION, YEAR
from support.worlds import study_with

ROWS = 400


@pytest.mark.parametrize(
    ("text", "meant", "canonical"),
    [
        ("clipped(AGE)", IsOutside(AGE), "CLIPPED(age)"),
        ("CLIPPED ((income))", IsOutside(INCOME), "CLIPPED(income)"),
        ("Clipped(people.born)", IsOutside(BORN), "CLIPPED(born)"),
        ("NOT UNDECLARED(region)", Not(IsOutside(REGION)), "(NOT UNDECLARED(region))"),
        ("UNDECLARED(year)", IsOutside(YEAR), "UNDECLARED(year)"),
    ],
)
def test_a_condition_means_its_canonical_text(text: str, meant: Any, canonical: str) -> None:
    condition = parse_condition(text, PEOPLE)
    assert condition == meant
    assert condition_text(condition) == canonical
    assert parse_condition(canonical, PEOPLE) == condition


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("CLIPPED(age + 1)", "CLIPPED needs a column"),
        ("CLIPPED(CLAMP(age, 1, 2))", "CLIPPED needs a column"),
        ("CLIPPED()", r"write CLIPPED\(column\)"),
        ("CLIPPED(age, income)", r"write CLIPPED\(column\)"),
        ("CLIPPED(region)", r"write UNDECLARED\(region\)"),
        ("UNDECLARED(age)", r"write CLIPPED\(age\)"),
        ("UNDECLARED(born)", r"write CLIPPED\(born\)"),
        ("UNDECLARED(smoker)", "neither bounds nor a list; ask where smoker IS NULL"),
        ("UNDECLARED(city)", "text column: no values of it are declared"),
        ("CLIPPED(city)", "text column: no values of it are declared"),
        ("CLIPPED(pid)", "identifies persons"),
        ("CLIPPED(nobody)", "has no column 'nobody'"),
        ("CLAMP(age, 1, 2)", "a condition is needed here, not CLAMP"),
        ("AVG(age)", "AVG is an aggregate"),
    ],
)
def test_what_is_no_such_condition_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=reason):
        parse_condition(text, PERSONS)


def test_it_is_a_condition_and_not_a_number() -> None:
    with pytest.raises(InvalidRequest, match="a number is needed here, not a condition"):
        parse_number("CLIPPED(age) + 1", PEOPLE)
    with pytest.raises(InvalidRequest, match="a number is needed here, not a condition"):
        parse("SELECT MEDIAN(CLIPPED(age)) FROM people", PEOPLE)


def test_a_column_may_be_called_like_a_function() -> None:
    table = Table("t", (IntegerColumn("clipped", 0, 1), IntegerColumn("undeclared", 0, 1)))
    query = parse("SELECT AVG(clipped) FROM t WHERE CLIPPED(undeclared) OR undeclared = 1", table)
    text = query_text(query)
    assert "WHERE ((undeclared = 1) OR CLIPPED(undeclared))" in text
    assert query_text(parse(text, table)) == text


def test_values_and_groups_are_called_after_it() -> None:
    sql = (
        "SELECT CLIPPED(age) AS far, PROPORTION(CLIPPED(income)), COUNT_IF(UNDECLARED(region)) "
        "FROM people GROUP BY 1"
    )
    query = parse(sql, PEOPLE)
    assert [name for name, _ in query.measures] == [
        "proportion_clipped_income",
        "count_if_undeclared_region",
    ]
    assert isinstance(query.by[0].value, Case)  # type: ignore[union-attr]
    assert parse(query_text(query), PEOPLE) == query
    draft = queries.proportion("CLIPPED(income)", where="NOT UNDECLARED(region)", by="smoker")
    assert (
        request_of(draft, PEOPLE).alone
        == request_of(
            "SELECT PROPORTION(CLIPPED(income)) FROM people WHERE NOT UNDECLARED(region) GROUP BY smoker",
            PEOPLE,
        ).alone
    )


def test_columns_of_public_tables_are_refused() -> None:
    """Also where the query is built by hand; the private key beside them is not."""
    city = CategoryColumn("city", ("ur", "kish"))
    size, code = IntegerColumn("size", 1, 2), CategoryColumn("kind", ("old", "older"))
    dimension = Dimension(
        "cities", "name", "city", ("ur", "kish"), (Attribute(size, (1, 2)), Attribute(code, ("old", "older")))
    )
    people = Table("people", (city, AGE), dimensions=(dimension,))
    for left in (False, True):
        table = joined((people,), (PublicJoin("people", dimension, left),))
        for column in (size, code):
            with pytest.raises(InvalidRequest, match=f"{column.name!r} is a column of a public table"):
                Query(table, (("n", Count(IsOutside(column))),))
        join = "LEFT JOIN" if left else "JOIN"
        head = f"FROM people {join} cities ON people.city = cities.name"
        with pytest.raises(InvalidRequest, match="is a column of a public table"):
            parse(f"SELECT PROPORTION(CLIPPED(size)) {head}", people)
        query = parse(f"SELECT PROPORTION(UNDECLARED(people.city)), COUNT_IF(CLIPPED(age)) {head}", people)
        readings = readings_of(query, PrivacyUnit("add-remove"))
        assert all(reading.table == people for reading in readings)
    with pytest.raises(InvalidRequest, match="is a column of a public table"):
        parse(
            "SELECT COUNT(*) FROM people LEFT JOIN cities ON people.city = cities.name WHERE UNDECLARED(cities.name)",
            people,
        )


# Through a curator ------------------------------------------------------------------------------------------


def _people(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(-30, 160, ROWS),
            "income": np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(1e5, 1e5, ROWS)),
            "region": rng.choice(np.array(["north", "North", "moon", None], dtype=object), ROWS),
            "year": rng.integers(2018, 2024, ROWS),
            "smoker": rng.random(ROWS) < 0.5,
            "born": [
                datetime.date(1890, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 60_000, ROWS)
            ],
        }
    )


def _study(adjacency: Adjacency = "replace-one", epsilon: int = 100, accounting: str = "gdp") -> Study:
    table = Table("people", PEOPLE.columns, rows=ROWS)
    return study_with(table, accounting, adjacency, epsilon, Fraction(1, 10**9))


def exactly(sql: str, study: Study, data: Any) -> list[int]:
    """The integers behind the answer, one for each value: what gets noise afterwards."""
    with open_kept(study, data=data) as curator:
        curator._engine.prepare()
        found = curator._engine.exact(readings_of(parse(sql, study.table), study.unit))
    return [reading[0][0] for reading in found]


def test_what_an_analyst_is_told_is_what_is_clipped_and_undeclared() -> None:
    people = _people()
    far = ~people.age.between(0, 120)
    rich, known = ~people.income.between(0, 200_000), people.income.notna()
    late = ~people.born.between(BORN.low, BORN.high)
    other, said = ~people.region.isin(REGION.values), people.region.notna()
    wanted = {
        "COUNT_IF(CLIPPED(age))": far,
        "PROPORTION(CLIPPED(income))": rich & known,
        "COUNT_IF(NOT CLIPPED(income))": ~rich & known,
        "COUNT_IF(UNDECLARED(region))": other & said,
        "COUNT_IF(NOT UNDECLARED(region))": ~other,
        "COUNT_IF(UNDECLARED(year))": ~people.year.isin(YEAR.values),
        "COUNT_IF(CLIPPED(born))": late,
        "COUNT(*) FILTER (WHERE CLIPPED(age) AND NOT CLIPPED(born))": far & ~late,
        "SUM(CASE WHEN CLIPPED(age) THEN 1 ELSE 2 END)": 2 - far,
        "COUNT(CASE WHEN CLIPPED(income) OR UNDECLARED(region) THEN 1 END)": (rich & known) | (other & said),
    }
    found = exactly(f"SELECT {', '.join(wanted)} FROM people", _study(), people)
    assert found == [int(truth.sum()) for truth in wanted.values()]
    with open_kept(_study(), data=people) as curator:
        answer = curator.ask("SELECT PROPORTION(CLIPPED(age)) FROM people", epsilon=50)
    assert answer.value == pytest.approx(far.mean(), abs=0.05)  # noise of about half a row in 400


def test_a_made_up_table_answers_it_too() -> None:
    curator = mock_of(_study())
    answer = curator.ask(
        "SELECT PROPORTION(CLIPPED(age)), COUNT_IF(UNDECLARED(region)) FROM people", share=0.5
    )
    assert len(answer.rows[0].values) == 2


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_theorem_REPLAY_finds_no_fault_where_a_value_came_from_outside(
    adjacency: Adjacency, accounting: str
) -> None:
    """One row moves from inside to outside of everything: no farther than allowed."""
    here = _people().assign(age=50, income=5.0, region="north")
    there = here.copy()
    there.loc[0, ["age", "income", "region"]] = [500, 1e9, "moon"]
    if adjacency == "add-remove":
        there = here.iloc[1:]
    for sql in (
        "SELECT PROPORTION(CLIPPED(income)) FROM people WHERE NOT UNDECLARED(region)",
        "SELECT COUNT_IF(CLIPPED(age)), COUNT_IF(NOT CLIPPED(age)) FROM people",
        "SELECT UNDECLARED(region) AS odd, SUM(age) FROM people GROUP BY odd",
    ):
        found = replay(
            _study(adjacency, 100, accounting), (here, there), sql, opened_by=open_kept, epsilon="1"
        )
        assert found.faults == ()
        assert found.movements


def test_both_sides_of_it_share_a_price() -> None:
    """No row is clipped and not clipped, so the two counts cost as much as the dearer of them."""
    asked = [f"SELECT COUNT(*) FROM people WHERE {one}CLIPPED(age)" for one in ("", "NOT ")]
    other = [asked[0], "SELECT COUNT(*) FROM people WHERE CLIPPED(income)"]
    with open_kept(_study("add-remove"), data=_people()) as curator:
        one, apart, together = (
            curator.preview_many(some, scale=10)[0].cost for some in (asked[:1], other, asked)
        )
    assert (together, apart) == (one, replace(one, units=2 * one.units))


def test_csv_texts_that_are_no_numbers_are_missing_and_not_clipped(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,region\n500,north\nold,moon\n,\n50,\n-1,Moon\n")
    table = Table("people", (AGE, REGION), rows=5)
    study = Study(table, PrivacyUnit("replace-one"), Guarantee(Fraction(1), Fraction(1, 10**9)))
    asked = ("CLIPPED(age)", "age IS NULL", "UNDECLARED(region)", "region IS NULL")
    sql = f"SELECT {', '.join(f'COUNT_IF({one})' for one in asked)} FROM people"
    assert exactly(sql, study, tmp_path / "people.csv") == [2, 2, 2, 4]
