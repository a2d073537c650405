"""What SQL means: each text that is answered, beside its canonical text."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.kernel.terms.expressions import And, Compare, Indicator, Not, Or, Plus, Times
from adyton.kernel.terms.leaves import Constant, Day, DayOf, IsTrue, OneOf, ValueOf
from adyton.kernel.terms.measures import Count, Mean, Proportion, Sum
from adyton.query.draft import Draft
from adyton.query.nodes import Query
from adyton.query.queries import (
    cdf,
    count,
    count_persons,
    histogram,
    maximum,
    mean,
    median,
    minimum,
    proportion,
    quantile,
    stddev,
    sum_of,
    variance,
)
from adyton.query.request import Requests, request_of
from adyton.query.sql.grammar import NAMED_ARGUMENTS
from adyton.query.sql.read import FUNCTIONS, parse, parse_condition, parse_number
from adyton.query.text import condition_text, number_text, query_text
from support.strategies import AGE, BORN, INCOME, PEOPLE, PERSONS, REGION, SMOKER, YEAR

QUERIES = {
    "SELECT COUNT(*) FROM people": "COUNT(*) AS count FROM people",
    "select count(*) from PEOPLE;": "COUNT(*) AS count FROM people",
    "SELECT AVG(age::INT), COUNT(*) FROM people": "AVG(age) AS avg_age, COUNT(*) AS count FROM people",
    "SELECT SUM(age::INT + 1) FROM people": "SUM((1 + age)) AS sum FROM people",
    "SELECT AVG(income::DECIMAL(10, 2)), AVG(age::INT) AS a FROM people": (
        "AVG(income) AS avg_income, AVG(age) AS a FROM people"
    ),
    "SELECT region::TEXT, COUNT(*) FROM people GROUP BY region::TEXT": (
        "region, COUNT(*) AS count FROM people GROUP BY region"
    ),
    "SELECT COUNT(*) -- all of them\nFROM people /* these */": "COUNT(*) AS count FROM people",
    'SELECT COUNT(*) AS n FROM "people"': "COUNT(*) AS n FROM people",
    "SELECT COUNT(*) N FROM people p WHERE p.age = 3": "COUNT(*) AS n FROM people WHERE (age = 3)",
    'SELECT COUNT(*) AS "N" FROM people': 'COUNT(*) AS "N" FROM people',
    "SELECT COUNT(*) AS select FROM people": 'COUNT(*) AS "select" FROM people',
    "SELECT COUNT(age) FROM people": "COUNT(*) FILTER (WHERE (NOT (age IS NULL))) AS count_age FROM people",
    "SELECT COUNT_IF(age > 3) FROM people": "COUNT(*) FILTER (WHERE (age > 3)) AS count_if FROM people",
    "SELECT COUNTIF(smoker) FROM people": "COUNT(*) FILTER (WHERE smoker) AS count_if_smoker FROM people",
    "SELECT COUNT(1) FROM people": "COUNT(*) AS count FROM people",
    "SELECT COUNT(CASE WHEN smoker THEN 1 END) FROM people": (
        "COUNT(*) FILTER (WHERE smoker) AS count FROM people"
    ),
    "SELECT COUNT(CASE WHEN smoker THEN 1 WHEN age > 3 THEN 0 ELSE NULL END) FROM people": (
        "COUNT(*) FILTER (WHERE ((age > 3) OR smoker)) AS count FROM people"
    ),
    "SELECT age > 3, COUNT(*) FROM people GROUP BY 1": (
        "LABEL(CASE WHEN (age > 3) THEN 1 WHEN (NOT (age > 3)) THEN 0 END, FALSE, TRUE) AS group, "
        "COUNT(*) AS count FROM people "
        "GROUP BY LABEL(CASE WHEN (age > 3) THEN 1 WHEN (NOT (age > 3)) THEN 0 END, FALSE, TRUE)"
    ),
    "SELECT SUM(income), AVG(income) FROM people": (
        "SUM(income) AS sum_income, AVG(income) AS avg_income FROM people"
    ),
    "SELECT AVG(smoker) FROM people": (
        "AVG(CASE WHEN smoker THEN 1 ELSE 0 END) FILTER (WHERE (NOT (smoker IS NULL))) AS avg_smoker "
        "FROM people"
    ),
    "SELECT PROPORTION(smoker) FROM people": "PROPORTION(smoker) AS proportion_smoker FROM people",
    "SELECT PROPORTION(age > 3), PROPORTION(age > 4) FROM people": (
        "PROPORTION((age > 3)) AS proportion, PROPORTION((age > 4)) AS proportion_2 FROM people"
    ),
    "SELECT COUNT(*) AS count_2, COUNT(*), COUNT(*) FROM people": (
        "COUNT(*) AS count_2, COUNT(*) AS count, COUNT(*) AS count_3 FROM people"
    ),
    "SELECT SUM(age) FILTER(WHERE smoker) s FROM people": "SUM(age) FILTER (WHERE smoker) AS s FROM people",
    "SELECT COUNT(age) FILTER (WHERE smoker) AS s FROM people": (
        "COUNT(*) FILTER (WHERE ((NOT (age IS NULL)) AND smoker)) AS s FROM people"
    ),
    "SELECT region, COUNT(*) FROM people GROUP BY region": (
        "region, COUNT(*) AS count FROM people GROUP BY region"
    ),
    "SELECT COUNT(*), smoker FROM people GROUP BY region, smoker": (
        "region, smoker, COUNT(*) AS count FROM people GROUP BY region, smoker"
    ),
    "SELECT COUNT(*) FROM people WHERE TRUE": "COUNT(*) AS count FROM people",
    "SELECT COUNT(DISTINCT pid) FROM people p": "COUNT(DISTINCT pid) AS count_persons FROM people",
    'SELECT COUNT(DISTINCT p."PID") FILTER (WHERE smoker) AS n FROM people p': (
        "COUNT(DISTINCT pid) FILTER (WHERE smoker) AS n FROM people"
    ),
    "SELECT VARIANCE(income), VAR_POP(age), VAR_SAMP(age) FROM people": (
        "VARIANCE(income) AS variance_income, VARIANCE(age) AS variance_age, "
        "VARIANCE(age) AS variance_age_2 FROM people"
    ),
    "SELECT STDDEV(income), STDDEV_POP(age), STDDEV_SAMP(age) FROM people": (
        "STDDEV(income) AS stddev_income, STDDEV(age) AS stddev_age, STDDEV(age) AS stddev_age_2 FROM people"
    ),
    "SELECT MIN(age), MAX(age) FILTER (WHERE smoker) FROM people": (
        "MIN(age) AS min_age, MAX(age) FILTER (WHERE smoker) AS max_age FROM people"
    ),
    "SELECT MEDIAN(age), QUANTILE(age, 0.5), PERCENTILE_CONT(age, 1 / 3) FROM people": (
        "QUANTILE(age, 0.5) AS median_age, QUANTILE(age, 0.5) AS quantile_age, "
        "QUANTILE(age, (1 / 3)) AS quantile_age_2 FROM people"
    ),
    "SELECT QUANTILE_CONT(age, 0.25), QUANTILE_DISC(age, 0.25), APPROX_QUANTILE(age, 0.25) FROM people": (
        "QUANTILE(age, 0.25) AS quantile_age, QUANTILE(age, 0.25) AS quantile_age_2, "
        "QUANTILE(age, 0.25) AS quantile_age_3 FROM people"
    ),
    "SELECT PERCENTILE(age, .9), APPROX_PERCENTILE(age, 9e-1), PERCENTILE_APPROX(age, 0.9) AS q FROM people": (
        "QUANTILE(age, 0.9) AS quantile_age, QUANTILE(age, 0.9) AS quantile_age_2, "
        "QUANTILE(age, 0.9) AS q FROM people"
    ),
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age * 2), "
    "PERCENTILE_DISC(0.9) within group (order by income desc) FILTER (WHERE smoker) AS top FROM people": (
        "QUANTILE((2 * age), 0.5) AS quantile, QUANTILE(income, 0.1) FILTER (WHERE smoker) AS top FROM people"
    ),
    "SELECT MEAN(age), VAR(age), VARP(age), VARIANCE_POP(age) AS v FROM people": (
        "AVG(age) AS avg_age, VARIANCE(age) AS variance_age, VARIANCE(age) AS variance_age_2, "
        "VARIANCE(age) AS v FROM people"
    ),
    "SELECT STD(age), STDEV(age) AS s, STDEVP(age) AS p FROM people": (
        "STDDEV(age) AS stddev_age, STDDEV(age) AS s, STDDEV(age) AS p FROM people"
    ),
    "SELECT CORR(income, age), CORR(age, income), COVAR_SAMP(age, smoker) FROM people": (
        "CORR(age, income) AS corr_income_age, CORR(age, income) AS corr_age_income, "
        "COVAR_POP(CASE WHEN smoker THEN 1 ELSE 0 END, age) FILTER (WHERE (NOT (smoker IS NULL))) "
        "AS covar_samp_age_smoker FROM people"
    ),
    "SELECT REGR_SLOPE(income, age), REGR_INTERCEPT(income, age * 2), REGR_R2(income, age) FROM people": (
        "REGR_SLOPE(income, age) AS regr_slope_income_age, REGR_INTERCEPT(income, (2 * age)) "
        "AS regr_intercept_income, REGR_R2(age, income) AS regr_r2_income_age FROM people"
    ),
    "SELECT REGR_COUNT(income, age), REGR_AVGX(income, age) AS x, REGR_AVGY(income, age) AS y FROM people": (
        "COUNT(*) FILTER (WHERE ((NOT (age IS NULL)) AND (NOT (income IS NULL)))) AS regr_count_income_age, "
        "AVG(age) FILTER (WHERE (NOT (income IS NULL))) AS x, "
        "AVG(income) FILTER (WHERE (NOT (age IS NULL))) AS y FROM people"
    ),
    "SELECT APPROX_COUNT_DISTINCT(pid), APPROX_DISTINCT(p.pid) FILTER (WHERE smoker) FROM people p": (
        "COUNT(DISTINCT pid) AS count_persons, COUNT(DISTINCT pid) FILTER (WHERE smoker) AS count_persons_2 "
        "FROM people"
    ),
    "SELECT CDF(income / 2, 10, 2e4) FROM people": "CDF((0.5 * income), 10, 20000) AS cdf FROM people",
    "SELECT HISTOGRAM(region) FROM people": "region, COUNT(*) AS count FROM people GROUP BY region",
    "SELECT HISTOGRAM(age) AS n FROM people": "age, COUNT(*) AS n FROM people GROUP BY age",
    "SELECT HISTOGRAM(age, 10) FILTER (WHERE smoker) FROM people": (
        "(10 * FLOOR(age / 10)) AS age, COUNT(*) FILTER (WHERE smoker) AS count FROM people "
        "GROUP BY (10 * FLOOR(age / 10))"
    ),
    "SELECT smoker, HISTOGRAM(age * 2, 0.5) FROM people GROUP BY smoker": (
        "smoker, (0.5 * FLOOR((2 * age) / 0.5)) AS bin, COUNT(*) AS count FROM people "
        "GROUP BY smoker, (0.5 * FLOOR((2 * age) / 0.5))"
    ),
    "SELECT SUM(income, contribution_bounds_per_group => (-0.5, 500)) FROM people": (
        "SUM(income, contribution_bounds_per_group => (-0.5, 500)) AS sum_income FROM people"
    ),
    "SELECT COUNT(*, CONTRIBUTION_BOUNDS_PER_GROUP=>(0, 5)) FILTER (WHERE smoker) FROM people": (
        "SUM(1, contribution_bounds_per_group => (0, 5)) FILTER (WHERE smoker) AS count FROM people"
    ),
    "SELECT SUM(age, contribution_bounds_per_row => (0, 9), contribution_bounds_per_group => (0, 20)) "
    "FROM people": "SUM(CLAMP(age, 0, 9), contribution_bounds_per_group => (0, 20)) AS sum_age FROM people",
    "SELECT AVG(age, contribution_bounds_per_row => (0, 9)) FROM people": (
        "AVG(CLAMP(age, 0, 9)) AS avg_age FROM people"
    ),
    "SELECT age, COUNT(*) FROM people GROUP BY age": "age, COUNT(*) AS count FROM people GROUP BY age",
    "SELECT born AS birthday, COUNT(*) FROM people GROUP BY birthday": (
        "born AS birthday, COUNT(*) AS count FROM people GROUP BY born"
    ),
    "SELECT age AS years, COUNT(*) FROM people GROUP BY age": (
        "age AS years, COUNT(*) AS count FROM people GROUP BY age"
    ),
    "SELECT city, COUNT(DISTINCT pid) FROM people GROUP BY city": (
        "city, COUNT(DISTINCT pid) AS count_persons FROM people GROUP BY city"
    ),
    "SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM people GROUP BY decade": (
        "(10 * FLOOR(age / 10)) AS decade, COUNT(*) AS count FROM people GROUP BY (10 * FLOOR(age / 10))"
    ),
    "SELECT FLOOR(age / 10) * 10, COUNT(*), (region) FROM people GROUP BY 3, 1": (
        "region, (10 * FLOOR(age / 10)) AS floor_age, COUNT(*) AS count FROM people "
        "GROUP BY region, (10 * FLOOR(age / 10))"
    ),
    "SELECT COUNT(*) AS floor_age FROM people GROUP BY FLOOR(age / 10)": (
        "FLOOR(age / 10) AS floor_age_2, COUNT(*) AS floor_age FROM people GROUP BY FLOOR(age / 10)"
    ),
    "SELECT year(born), EXTRACT(month FROM born) AS m, COUNT(*) FROM people "
    "GROUP BY EXTRACT(YEAR FROM born), m": (
        "EXTRACT(YEAR FROM born) AS year_born, EXTRACT(MONTH FROM born) AS m, COUNT(*) AS count FROM people "
        "GROUP BY EXTRACT(YEAR FROM born), EXTRACT(MONTH FROM born)"
    ),
    "SELECT COUNT(*) FROM people GROUP BY CASE WHEN age < 18 THEN 0 WHEN age < 65 THEN 1 ELSE 2 END": (
        "CASE WHEN (age < 18) THEN 0 WHEN (age < 65) THEN 1 ELSE 2 END AS group, COUNT(*) AS count "
        "FROM people GROUP BY CASE WHEN (age < 18) THEN 0 WHEN (age < 65) THEN 1 ELSE 2 END"
    ),
    "SELECT CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'it''s' ELSE 'minor' END AS g, COUNT(*) "
    "FROM people GROUP BY 1": (
        "LABEL(CASE WHEN (age < 18) THEN 0 WHEN (age < 65) THEN 1 ELSE 0 END, 'minor', 'it''s') AS g, "
        "COUNT(*) AS count FROM people "
        "GROUP BY LABEL(CASE WHEN (age < 18) THEN 0 WHEN (age < 65) THEN 1 ELSE 0 END, 'minor', 'it''s')"
    ),
    "SELECT LABEL(FLOOR(age / 100), 'young', 'old') AS g, COUNT(*) FROM people GROUP BY g": (
        "LABEL(FLOOR(age / 100), 'young', 'old') AS g, COUNT(*) AS count FROM people "
        "GROUP BY LABEL(FLOOR(age / 100), 'young', 'old')"
    ),
    "SELECT WITH OPTIONS(max_groups_contributed = 2) region, COUNT(DISTINCT pid) FROM people GROUP BY region": (
        "WITH OPTIONS(max_groups_contributed = 2) region, COUNT(DISTINCT pid) AS count_persons FROM people "
        "GROUP BY region"
    ),
    "select with differential_privacy options (privacy_unit_column = PID) COUNT(*) FROM people": (
        "COUNT(*) AS count FROM people"
    ),
}

CONDITIONS = {
    "age = 3": "(age = 3)",
    "3 <= age": "(age >= 3)",
    "age <> 3": "(age <> 3)",
    "age != 3.0": "(age <> 3)",
    "age BETWEEN 1 AND 2 AND smoker": "((age <= 2) AND (age >= 1) AND smoker)",
    "age NOT BETWEEN 1 AND 2": "(NOT ((age <= 2) AND (age >= 1)))",
    "age IN (2, 1, 2)": "((age = 1) OR (age = 2))",
    "age NOT IN (1)": "(NOT (age = 1))",
    "income >= age": "(age <= income)",
    "income = age": "(age = income)",
    "smoker": "smoker",
    "smoker = TRUE": "smoker",
    "FALSE = smoker": "(NOT smoker)",
    "smoker <> TRUE": "(NOT smoker)",
    "smoker IS TRUE": "((NOT (smoker IS NULL)) AND smoker)",
    "smoker IS NOT TRUE": "(NOT ((NOT (smoker IS NULL)) AND smoker))",
    "smoker IS FALSE": "((NOT (smoker IS NULL)) AND (NOT smoker))",
    "region IS NULL": "(region IS NULL)",
    "region IS NOT NULL": "(NOT (region IS NULL))",
    "region = 'north'": "(region IN ('north'))",
    "'north' <> region": "(NOT (region IN ('north')))",
    "region IN ('west', 'north')": "(region IN ('north', 'west'))",
    "region NOT IN ('west')": "(NOT (region IN ('west')))",
    "year = 2020": "(year IN (2020))",
    "year IN (2021, 2020)": "(year IN (2020, 2021))",
    "born >= DATE '2020-01-31'": "(born >= DATE '2020-01-31')",
    "'2020-01-31' > born": "(born < DATE '2020-01-31')",
    "born BETWEEN '1999-01-01' AND DATE '2000-01-01'": (
        "((born <= DATE '2000-01-01') AND (born >= DATE '1999-01-01'))"
    ),
    "born IN ('1999-01-01', '2000-01-01')": "((born = DATE '1999-01-01') OR (born = DATE '2000-01-01'))",
    "NOT smoker AND age = 1 OR age = 2": "(((NOT smoker) AND (age = 1)) OR (age = 2))",
    "TRUE OR FALSE": "(FALSE OR TRUE)",
    "((smoker))": "smoker",
    "CASE WHEN smoker THEN 1 ELSE 0 END = 1": "(CASE WHEN smoker THEN 1 ELSE 0 END = 1)",
    '"AGE" = 3': "(age = 3)",
    "people.age = 3": "(age = 3)",
    "EXTRACT(year FROM born) = 2020": "(EXTRACT(YEAR FROM born) = 2020)",
    "isodow(born) IN (6, 7)": "((EXTRACT(ISODOW FROM born) = 6) OR (EXTRACT(ISODOW FROM born) = 7))",
    "CLAMP(age, 1, 9) > FLOOR(income / 1000)": "(FLOOR(income / 1000) < CLAMP(age, 1, 9))",
}

NUMBERS = {
    "age": "age",
    "1.50": "1.5",
    "1e3": "1000",
    ".5": "0.5",
    "25e-4": "0.0025",
    "1 / 3": "(1 / 3)",
    "- 1 / 3": "(-1 / 3)",
    "-(-2)": "2",
    "-age": "(- age)",
    "age - 5": "(-5 + age)",
    "income - age - 1": "((- age) + -1 + income)",
    "income / 12": "((1 / 12) * income)",
    "2 * (age + 1) * income": "((1 + age) * 2 * income)",
    "CASE WHEN age > 3 THEN 1 ELSE 0 END": "CASE WHEN (age > 3) THEN 1 ELSE 0 END",
    "CASE region WHEN 'north' THEN 2 ELSE 0 END": "CASE WHEN (region IN ('north')) THEN 2 ELSE 0 END",
    "CASE age WHEN 3 THEN income WHEN -1 THEN 5 END": (
        "CASE WHEN (age = 3) THEN income WHEN (age = -1) THEN 5 END"
    ),
    "CASE born WHEN '2020-01-31' THEN 1 ELSE 0 END": (
        "CASE WHEN (born = DATE '2020-01-31') THEN 1 ELSE 0 END"
    ),
    "CASE smoker WHEN FALSE THEN 1 ELSE 0 END": "CASE WHEN (NOT smoker) THEN 1 ELSE 0 END",
    "CASE WHEN smoker THEN 1 END": "CASE WHEN smoker THEN 1 END",
    "CASE WHEN smoker THEN 1 WHEN age > 3 THEN 2 ELSE 0 END": (
        "CASE WHEN smoker THEN 1 WHEN (age > 3) THEN 2 ELSE 0 END"
    ),
    "CASE WHEN smoker THEN age ELSE NULL END": "CASE WHEN smoker THEN age END",
    "CASE WHEN smoker THEN 1.5 WHEN age > 3 THEN - income ELSE 0 END": (
        "CASE WHEN smoker THEN 1.5 WHEN (age > 3) THEN (- income) ELSE 0 END"
    ),
    "CLAMP(income, 10, 2e4)": "CLAMP(income, 10, 20000)",
    "LEAST(age, 100)": "CLAMP(age, 0, 100)",
    "GREATEST(18, age)": "CLAMP(age, 18, 120)",
    "FLOOR(income)": "FLOOR(income / 1)",
    "FLOOR(age / 10)": "FLOOR(age / 10)",
    "FLOOR((age / 10))": "FLOOR(age / 10)",
    "FLOOR(age / 10 / 2)": "FLOOR((0.1 * age) / 2)",
    "FLOOR(age / -2)": "FLOOR((-0.5 * age) / 1)",
    "FLOOR(age * 2 / 3)": "FLOOR((2 * age) / 3)",
    "SQUARE(age - 60)": "SQUARE((-60 + age))",
    "LOOKUP(region, 1, 0.5, NULL, 0)": "LOOKUP(region, 1, 0.5, NULL, 0)",
    "LOOKUP(region, 1, 2, NULL, 0, step => (1))": "LOOKUP(region, 1, 2, NULL, 0)",
    "LOOKUP(region, 1, 2, NULL, 0, step => (0.5))": "LOOKUP(region, 1, 2, NULL, 0, step => (0.5))",
    "Year(born) - QUARTER(born)": "((- EXTRACT(QUARTER FROM born)) + EXTRACT(YEAR FROM born))",
    "MONTH(born) * DAY(born)": "(EXTRACT(DAY FROM born) * EXTRACT(MONTH FROM born))",
}


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_means_its_canonical_text(sql: str) -> None:
    text = query_text(parse(sql, PERSONS))
    assert text == "SELECT " + QUERIES[sql]
    assert query_text(parse(text, PERSONS)) == text


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_means_its_canonical_text(text: str) -> None:
    assert condition_text(parse_condition(text, PEOPLE)) == CONDITIONS[text]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_means_its_canonical_text(text: str) -> None:
    assert number_text(parse_number(text, PEOPLE)) == NUMBERS[text]


def test_every_function_that_is_let_pass_has_a_meaning_and_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "sql.md").read_text()
    assert [name for name in (*FUNCTIONS, *NAMED_ARGUMENTS) if name.lower() not in page.lower()] == []


def test_a_parsed_query_is_the_one_built_by_hand() -> None:
    built = Query(
        PEOPLE,
        (("avg", Mean(Times(Plus(ValueOf(AGE), Constant(Fraction(-5))), ValueOf(INCOME)), IsTrue(SMOKER))),),
        OneOf(REGION, ("north",)),
        (YEAR,),
    )
    sql = "SELECT AVG((age - 5) * income) FILTER (WHERE smoker) FROM people "
    assert parse(sql + "WHERE region = 'north' GROUP BY year", PEOPLE) == built


DRAFTS = {
    "SELECT COUNT(*) FROM people": count(),
    "SELECT COUNT(*) AS n FROM people WHERE age > 3 GROUP BY region": count("age > 3", by="region", name="n"),
    "SELECT SUM(income * 2) FROM people GROUP BY region, smoker": sum_of(
        "income * 2", by=("region", "smoker")
    ),
    "SELECT SUM(income) FROM people WHERE smoker": sum_of(ValueOf(INCOME), where=IsTrue(SMOKER)),
    "SELECT AVG(smoker) FROM people": mean("smoker"),
    "SELECT PROPORTION(smoker) FROM people WHERE age > 3": proportion("smoker", where="age > 3"),
    "SELECT COUNT(*) FROM people WHERE smoker GROUP BY year": histogram("Year", where="smoker"),
    "SELECT COUNT(DISTINCT pid) FROM people WHERE age > 3 GROUP BY city": count_persons("age > 3", by="city"),
    "SELECT WITH OPTIONS(max_groups_contributed = 2) COUNT(DISTINCT pid) FROM people GROUP BY region": (
        count_persons(by="region", groups=2)
    ),
    "SELECT SUM(income, contribution_bounds_per_group => (0, 500.5)) FROM people": sum_of(
        "income", per_person=(0, 500.5)
    ),
    "SELECT WITH OPTIONS(max_groups_contributed = 3) SUM(age, contribution_bounds_per_group => (0, 5)) "
    "FROM people GROUP BY region": sum_of("age", by="region", per_person=(0, 5), groups=3),
    "SELECT VARIANCE(smoker) FROM people": variance("smoker"),
    "SELECT STDDEV(income) FROM people": stddev("income"),
    "SELECT QUANTILE(income, 0.9) FROM people": quantile("income", 0.9),
    "SELECT MEDIAN(income / 12) AS m FROM people": median("income / 12", name="m"),
    "SELECT MIN(age) FROM people": minimum("age"),
    "SELECT MAX(age) FROM people GROUP BY region": maximum(ValueOf(AGE), by="region"),
    "SELECT CDF(age, 10, 20.5) FROM people": cdf("age", [10, "20.5"]),
    "SELECT HISTOGRAM(age, 10) FROM people": histogram("age", width=10),
    "SELECT HISTOGRAM(income / 12, 500) FROM people": histogram("income / 12", width=500),
    "SELECT smoker, HISTOGRAM(age) AS n FROM people GROUP BY smoker": histogram("age", by="smoker", name="n"),
    "SELECT COUNT(*) FROM people GROUP BY age, FLOOR(age / 10), YEAR(born)": count(
        by=["age", "FLOOR(age / 10)", "year(born)"]
    ),
    "SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM people GROUP BY decade": count(
        by={"decade": "10 * FLOOR(age / 10)"}
    ),
}


@pytest.mark.parametrize("sql", DRAFTS)
def test_a_draft_and_its_SQL_are_one_query(sql: str) -> None:
    drafted, asked = request_of(DRAFTS[sql], PERSONS).alone, request_of(sql, PERSONS).alone
    assert query_text(drafted) == query_text(asked)
    assert drafted.measures == asked.measures


BAD_DRAFTS = [
    count(by="income"),
    count(by=("born", "age")),
    count(by="1 < 3"),
    count(by="COUNT(*)"),
    count(by="3"),
    count(by={"r": "region"}),
    count(by={"n": "FLOOR(age / 10)"}, name="n"),
    count(by=("region", "region")),
    count_persons(),
    count(by="FLOOR(age / 10); DROP TABLE people"),
    sum_of("age", per_person=(0, 5)),
    quantile("age", 1),
    quantile("age", 0),
    median("smoker"),
    median("born"),
    minimum("region"),
    cdf("age", []),
    cdf("age", [3, 2]),
    histogram("region", width=2),
    histogram("age", width=0),
    variance("3"),
    stddev("region"),
    Draft("quantile", "age"),
    Draft("sum of persons", "age"),
    count(by=[3]),  # type: ignore[list-item]
    count(where="SELECT 1"),
    count(where=ValueOf(AGE)),  # type: ignore[arg-type]
    count(name=""),
    count(by="region", name="Region"),
    mean("age; DROP TABLE people"),
    mean("agee"),
    mean(IsTrue(SMOKER)),  # type: ignore[arg-type]
    sum_of("region"),
    sum_of("0"),
    proportion("age"),
    Draft("mean"),
    Draft("proportion"),
    Draft("count", "age"),
    histogram("income"),
    mean(ValueOf(IntegerColumn("age", 0, 1))),
]


@pytest.mark.parametrize("draft", BAD_DRAFTS, ids=str)
def test_an_ill_typed_draft_is_refused(draft: Draft) -> None:
    with pytest.raises(InvalidRequest):
        draft.on(PEOPLE)


HASTY = {
    "a pair is needed": lambda: sum_of("age", per_person=5),
    "and no more": lambda: sum_of("age", per_person=(1, 2, 3)),
    "groups without persons": lambda: sum_of("age", groups=2),
    "not a number": lambda: quantile("age", "half"),
    "a list is needed": lambda: cdf("age", "10"),
    "a width is a number": lambda: histogram("age", width="wide"),
}


@pytest.mark.parametrize("case", HASTY)
def test_what_no_table_could_mean_is_refused_at_once(case: str) -> None:
    with pytest.raises(InvalidRequest):
        HASTY[case]()


def test_a_query_about_another_table_is_refused() -> None:
    other = Table("people", (IntegerColumn("age", 0, 1),))
    query = Query(other, (("n", Count()),))
    assert request_of(query, other).alone is query
    for asked in (query, 3, None, b"SELECT COUNT(*) FROM people"):
        with pytest.raises(InvalidRequest):
            request_of(asked, PEOPLE)  # type: ignore[arg-type]


OTHER_AGE = IntegerColumn("age", 0, 1)
ILL_TYPED = {
    "category as number": lambda: ValueOf(REGION),
    "boolean as number": lambda: ValueOf(SMOKER),
    "date as number": lambda: ValueOf(BORN),
    "number as date": lambda: DayOf(AGE),
    "number as truth": lambda: IsTrue(AGE),
    "number as category": lambda: OneOf(AGE, (1,)),
    "unknown value": lambda: OneOf(REGION, ("nowhere",)),
    "truth as value": lambda: OneOf(YEAR, (True,)),
    "no value": lambda: OneOf(REGION, ()),
    "float": lambda: Constant(0.5),
    "enormous number": lambda: Constant(Fraction(10**41)),
    "tiny number": lambda: Constant(Fraction(1, 10**41)),
    "day out of range": lambda: Day(10**7),
    "date with number": lambda: Compare(DayOf(BORN), "<", Constant(Fraction(1))),
    "text with number": lambda: Compare(ValueOf(AGE), "=", "x"),
    "unknown sign": lambda: Compare(ValueOf(AGE), "~", ValueOf(AGE)),
    "no parts": lambda: And(()),
    "no choices": lambda: Or(()),
    "number in AND": lambda: And((ValueOf(AGE),)),
    "not a number": lambda: Not(ValueOf(AGE)),
    "sum of a condition": lambda: Sum(IsTrue(SMOKER)),
    "plus a condition": lambda: Plus(ValueOf(AGE), IsTrue(SMOKER)),
    "indicator of a number": lambda: Indicator(ValueOf(AGE)),
    "mean of a constant": lambda: Mean(Constant(Fraction(1))),
    "sum of zeros": lambda: Sum(Constant(Fraction(0))),
    "proportion of a number": lambda: Proportion(ValueOf(AGE)),
    "too large": lambda: Times(*[Times(*[Times(ValueOf(INCOME), ValueOf(INCOME))] * 2)] * 2),
    "no measure": lambda: Query(PEOPLE, ()),
    "a node as measure": lambda: Query(PEOPLE, (("n", ValueOf(AGE)),)),
    "two of one name": lambda: Query(PEOPLE, (("n", Count()), ("N", Count()))),
    "name of a group": lambda: Query(PEOPLE, (("region", Count()),), by=(REGION,)),
    "unprintable name": lambda: Query(PEOPLE, (("a\x1b[2J", Count()),)),
    "group by number": lambda: Query(PEOPLE, (("n", Count()),), by=(AGE,)),
    "a column with other bounds": lambda: Query(PEOPLE, (("s", Sum(ValueOf(OTHER_AGE))),)),
    "a hidden other column": lambda: Query(
        PEOPLE, (("n", Count(Not(And((Compare(ValueOf(OTHER_AGE), "=", ValueOf(AGE)),))))),)
    ),
    "a group of another table": lambda: Query(PEOPLE, (("n", Count()),), by=(BooleanColumn("gone"),)),
}


@pytest.mark.parametrize("case", ILL_TYPED)
def test_an_ill_typed_node_cannot_be_built(case: str) -> None:
    with pytest.raises(InvalidRequest):
        ILL_TYPED[case]()


def test_drafts_load_no_parser_until_text_is_read() -> None:
    code = "import adyton.query.queries, sys; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_text_read_lately_is_not_read_again_and_its_refusal_is_repeated() -> None:
    asked = Requests(PEOPLE)
    text = "SELECT COUNT(*) FROM people WHERE age > 3 ORDER BY 1"
    assert asked.of(text) is asked.of(text)
    assert asked.of(text) == request_of(text, PEOPLE)
    assert Requests(PEOPLE).of(text) is not asked.of(text)  # of another study
    for _ in range(2):
        with pytest.raises(InvalidRequest, match="no column"):
            asked.of("SELECT AVG(nothing) FROM people")
    with pytest.raises(InvalidRequest, match="not a list"):
        asked.of([text])  # type: ignore[arg-type]
