"""What SQL is refused: every construct without a meaning here, with its place, before anything is charged."""

from __future__ import annotations

import logging
import re
import time

import pytest

from adyton.errors import InvalidRequest
from adyton.query.sql.read import parse, parse_condition, parse_number, parse_request
from support.hostile_sql import CLAUSES, HEADS, NESTED, SELECTS, SHAPES, STATEMENTS, quotes_the_text
from support.strategies import PEOPLE, PERSONS

CONDITIONS = [
    "",
    "age",
    "region",
    "born",
    "1",
    "'a'",
    "NULL",
    "agee = 1",
    "rowid = 1",
    "age = NULL",
    "NULL = age",
    "age <> NULL",
    "age IN (1, NULL)",
    "age BETWEEN NULL AND 1",
    "age IS 5",
    "age IS smoker",
    "age IS UNKNOWN",
    "age NOT NULL",
    "age ISNULL",
    "age > 3 IS TRUE",
    "age IS TRUE",
    "age = 1 = 1",
    "1 < age < 3",
    "age = (age = 1)",
    "age = 'x'",
    "age = TRUE",
    "age = region",
    "age = born",
    "age = DATE '2020-01-01'",
    "smoker = 2",
    "smoker = 'TRUE'",
    "smoker < TRUE",
    "region = 3",
    "region = 'nowhere'",
    'region = "north"',
    "region IN ('north', 3)",
    "region LIKE 'x%'",
    "region LIKE age",
    "region LIKE 'n%' ESCAPE 'ab'",
    "region LIKE 'n!' ESCAPE '!'",
    "region LIKE",
    "age LIKE '1%'",
    "year LIKE '2%'",
    "UPPER(region) = 'north'",
    "UPPER(region, region) = 'NORTH'",
    "region > 3",
    "region < 'a'",
    "region || born = 'x'",
    "region ||",
    "SUBSTR(region, 0) = 'n'",
    "SUBSTR(region, age) = 'n'",
    "STARTS_WITH(region, region)",
    "CONTAINS(region)",
    "CASE WHEN smoker THEN 1 ELSE TRUE END",
    "COALESCE(smoker, 1)",
    "(age > 3) = 1",
    "(age > 3) < TRUE",
    "age IS DISTINCT FROM region",
    "CAST(region AS BOOLEAN)",
    "CAST(smoker AS DATE) = born",
    "born > TIMESTAMP '2020-01-01 12:00:00'",
    "born > TIMESTAMP 'noon'",
    "born > born + INTERVAL 1 HOUR",
    "born > born + INTERVAL '1 year 2 months'",
    "born > born + INTERVAL age DAY",
    "born > born + 0.5",
    "born + born > born",
    "born * 2 > born",
    "- born > born",
    "born + INTERVAL 9999 YEAR > born",
    "DATE_TRUNC('century', born) = born",
    "DATE_TRUNC(born, WEEK) = born",
    "DATE_TRUNC('month', age) = born",
    "STRFTIME(born, '%H') = '12'",
    "STRFTIME(born, 'x') = 'x'",
    "STRFTIME(born, born) = 'x'",
    "region SIMILAR TO 'n'",
    "region ~ 'n'",
    "region = 'nor' 'th'",
    "region = N'north'",
    "region = E'north'",
    "region COLLATE nocase = 'north'",
    "year = 2020.5",
    "year = 1999",
    "born = 3",
    "born = 'yesterday'",
    "born = '20200131'",
    "born = '2020-02-30'",
    "born = '2020-W01-1'",
    "born = '0000-01-01'",
    "born = '２０２０-01-01'",
    "born > DATE 2020",
    "born > CURRENT_DATE",
    "born > now()",
    "born.year = 2020",
    "EXTRACT(YEAR FROM age) = 2020",
    "EXTRACT(YEAR FROM born, born) = 2020",
    "EXTRACT(YEAR, born) = 2020",
    "EXTRACT(born) = 2020",
    "EXTRACT() = 2020",
    "EXTRACT('YEAR' FROM born) = 2020",
    "EXTRACT(YEAR born) = 2020",
    "EXTRACT(WEEKDAY FROM born) = 1",
    "EXTRACT(EPOCH FROM born) = 1",
    "YEAR(born FROM born) = 2020",
    "YEAR(FROM born) = 2020",
    "YEAR() = 2020",
    "YEAR(born, 1) = 2020",
    "YEAR(age) = 2020",
    "DAYOFWEEK(born) = 1",
    "WEEKDAY(born) = 1",
    "YEAR(born) = DATE '2020-01-01'",
    "age IN ()",
    "age IN (1,)",
    "age IN 1",
    "age IN region",
    "age IN (age)",
    "age IN (1, 'x')",
    "age IN (SELECT age FROM people)",
    "age = (SELECT 1)",
    "age = ANY (SELECT 1)",
    "age = ANY (1)",
    "EXISTS (SELECT 1)",
    "(age, income) = (1, 2)",
    "(age, income) IN ((1, 2, 3))",
    "age BETWEEN 1",
    "age BETWEEN 1 2",
    "age BETWEEN 1 income",
    "age BETWEEN SYMMETRIC 2 AND 1",
    "age OVERLAPS age",
    "age >",
    "NOT",
    "AND smoker",
    "smoker AND",
    "smoker smoker",
    "smoker XOR smoker",
    "smoker && smoker",
    "smoker | smoker",
    "!smoker",
    "smoker, smoker",
    "smoker AS x",
    "smoker; smoker",
    "smoker GROUP BY region",
    "(smoker",
    "smoker)",
    "[smoker]",
    "{smoker}",
    "{{ smoker }}",
    "{% smoker %}",
    "`smoker`",
    "@smoker",
    ":smoker",
    "$1 = 1",
    "? = 1",
    "#smoker",
    "smoker\\",
    "age = 1 /*",
    "age = 'x",
    'age = "x',
    "sm\x00oker",
    "smoker\x1b[2J",
    "region = '\ud800'",
    "ѕmoker",
    "smoker\u200b",
    "‘north’ = region",
    "age ＝ 1",
    "COUNT(*) > 1",
    "PROPORTION(smoker) > 1",
    "getenv('HOME') = 'x'",
    "sleep(10)",
    "pg_sleep(10)",
    "repeat('x', 2000000000) = 'x'",
]

NUMBERS = [
    "",
    "smoker",
    "region",
    "born",
    "'1'",
    "TRUE",
    "NULL",
    "*",
    "age > 3",
    "1 / age",
    "age / income",
    "age / 0",
    "age / (1 - 1)",
    "age / 0.000",
    "age ^ 2",
    "age ** 2",
    "age & 1",
    "age << 1",
    "~age",
    "age++",
    "+ + 5",
    "+ * 5",
    "age +",
    "* age",
    "age age",
    "age 1",
    "1 age",
    "1abc",
    "1_000",
    "0x1F",
    "x'1F'",
    "0b101",
    "1e",
    "1e999999",
    "1e41",
    "1e-41",
    "9" * 61,
    "1.5.3",
    "age.5",
    "NaN",
    "Infinity",
    "-inf",
    "'NaN'::FLOAT",
    "١",
    "１",
    "LN(age)",
    "POWER(age, 100)",
    "random()",
    "TRY_CAST(region AS INT)",
    "CASE WHEN smoker THEN 1 / 0 ELSE 0 END",
    "CASE WHEN smoker THEN '1' ELSE '0' END",
    "CASE WHEN smoker THEN smoker ELSE 1 END",
    "CASE WHEN smoker THEN age > 3 ELSE 1 END",
    "CASE WHEN smoker THEN region END",
    "CASE WHEN smoker THEN 1 ELSE 2 ELSE 3 END",
    "CASE WHEN smoker THEN 1 ELSE 2",
    "CASE WHEN smoker, age > 3 THEN 1 ELSE 2 END",
    "CASE smoker WHEN TRUE THEN 1 WHEN 2 THEN 2 END",
    "CASE age WHEN income THEN 1 END",
    "CASE age WHEN NULL THEN 1 ELSE 2 END",
    "CASE region WHEN 'nowhere' THEN 1 ELSE 2 END",
    "CASE WHEN THEN 1 END",
    "ISODOW(income)",
    "CLAMP(age)",
    "CLAMP(age, 1)",
    "CLAMP(age, 3, 1)",
    "CLAMP(age, 1, 1)",
    "CLAMP(age, 0.5, 3)",
    "CLAMP(age, 200, 300)",
    "CLAMP(age, 1, income)",
    "CLAMP(age, 1, 2, 3)",
    "CLAMP(region, 1, 2)",
    "CLAMP(age, low => 1, high => 2)",
    "LEAST(age)",
    "LEAST(age, 0)",
    "GREATEST(age, 120)",
    "FLOOR()",
    "FLOOR(age, 2)",
    "FLOOR(age TO DAY)",
    "FLOOR(region)",
    "FLOOR(age / income)",
    "FLOOR(age / 0)",
    "FLOOR(age > 3)",
    "SQUARE()",
    "SQUARE(age, age)",
    "SQUARE(SQUARE(SQUARE(income)))",
    "LOOKUP(region)",
    "LOOKUP(region, 1, 2)",
    "LOOKUP(region, 1, 2, 3, 4, 5)",
    "LOOKUP(region, NULL, NULL, NULL, NULL)",
    "LOOKUP(region, 1, 2, 3, age)",
    "LOOKUP(region, 1, 2, 3, '4')",
    "LOOKUP(age, 1, 2)",
    "LOOKUP(region, 1, 2, 3, 4, step => (0))",
    "LOOKUP(region, 1, 2, 3, 4, step => (2))",
    "LOOKUP(region, 1, 2, 3, 4, step => (1, 2))",
    "LOOKUP(region, 1, 2, 3, step => (1), 4)",
    "LOOKUP(region, step => (1))",
    "LOOKUP(region, 1, 2, 3, 4, contribution_bounds_per_row => (1))",
    "FLOOR(age, step => (1))",
    "LABEL(age, 'a')",
    "HISTOGRAM(age)",
    "COUNT(DISTINCT age)",
    "DISTINCT age",
    "age => 3",
    "contribution_bounds_per_group => (1, 2)",
    "age FROM people",
    "(age FROM people)",
    "CASE smoker WHEN smoker THEN 1 ELSE 0 END",
    "CASE WHEN age THEN 1 ELSE 0 END",
    "CASE ELSE 0 END",
    "CASE END",
    "income * income * income * income",
    "(age, age)",
    "(SELECT 1)",
    "age; age",
    "age AS x",
    "SUM(age)",
    "[1, 2][1]",
    "age -> 1",
    "INTERVAL '1' DAY",
]


def _refused(attempt: object, text: str, table: object = PEOPLE) -> str:
    with pytest.raises(InvalidRequest) as refused:
        attempt(text, table)  # type: ignore[operator]
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    assert 10 < len(refused.value.message) < 400
    assert refused.value.message.isprintable()
    assert quotes_the_text(refused.value.message, text)
    about_all = refused.value.message.startswith(("the text ", "SQL is a string", "a query alone"))
    assert about_all or re.search(r" \(line \d+, column \d+: .+\)$", refused.value.message)
    return refused.value.message


@pytest.mark.parametrize("sql", STATEMENTS + SELECTS + CLAUSES + NESTED + SHAPES + HEADS)
def test_a_statement_outside_the_language_is_refused(
    sql: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        for table in (PEOPLE, PERSONS):
            _refused(parse_request, sql, table)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_outside_the_language_is_refused(text: str) -> None:
    _refused(parse_condition, text)
    _refused(parse, f"SELECT COUNT(*) FROM people WHERE {text}\n GROUP BY year")


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_outside_the_language_is_refused(text: str) -> None:
    _refused(parse_number, text)
    _refused(parse, f"SELECT COUNT(*) FROM people WHERE ({text}\n) > 1")


@pytest.mark.parametrize("text", [None, 3, b"SELECT COUNT(*) FROM people", ["SELECT"]])
def test_only_text_is_read(text: str) -> None:
    for attempt in (parse, parse_condition, parse_number):
        _refused(attempt, text)


@pytest.mark.parametrize(
    "said",
    ["ORDER BY n", "LIMIT 3", "OFFSET 1", "HAVING n > 3", "ORDER BY 1 DESC LIMIT 0"],
)
def test_where_a_query_alone_is_needed_nothing_is_said_about_its_answer(said: str) -> None:
    asked = f"SELECT region, COUNT(*) AS n FROM people GROUP BY region {said}"
    assert parse_request(asked, PEOPLE).query == parse(asked.removesuffix(said), PEOPLE)
    assert "a query alone is needed" in _refused(parse, asked)


WHERE = "SELECT COUNT(*) FROM people WHERE "
BOMBS = {
    "long": "SELECT COUNT(*) FROM people" + " " * 10_000,
    "brackets": WHERE + "(" * 5000 + "smoker" + ")" * 5000,
    "open brackets": "(" * 9999,
    "3000 ANDs": WHERE + " AND ".join(["smoker"] * 3000),
    "NOTs": WHERE + "NOT " * 2400 + "smoker",
    "signs": WHERE + "age = " + "- " * 4900 + "1",
    "cases": WHERE + "CASE WHEN " * 900,
    "calls": "SELECT " + "COUNT(" * 1600,
    "selects": "SELECT " * 1400,
    "commas": "," * 9999,
    "quotes": "'" * 9999,
    "names": "a." * 4999,
    "dollars": "$" * 9999,
    "braces": "{" * 9999,
    "name": WHERE + "x" * 9900,
    "value": WHERE + "region = '" + "x" * 9900 + "'",
    "digits": WHERE + "age = " + "9" * 9900,
    "between": WHERE + "age BETWEEN " * 800,
    "in": WHERE + "age IN (" * 1200,
    "is": WHERE + "smoker IS " * 900,
    "equalities": WHERE + "age" + " = 1" * 2400,
    "functions": WHERE + "ABS(1 - " * 19 + "age" + ")" * 19 + " > 1",
    "choices": WHERE + "COALESCE(" * 19 + "smoker" + ", FALSE)" * 19,
    "months": WHERE + "(INTERVAL 1 MONTH + " * 19 + "born" + ")" * 19 + " > born",
    "casts": WHERE + "age" + "::INT" * 1900 + " > 1",
    "remainders": WHERE + "age" + " % 3 * 2" * 1000 + " > 1",
    "truths": WHERE + "smoker" + " IS TRUE" * 1000,
    "patterns": WHERE + "region" + " LIKE 'n%'" * 900,
    "strings": WHERE + "region = region" + " || region" * 900,
    "steps": "SELECT AVG(" + "1/3/7/11*" * 900 + "age) FROM people",
    "items": "SELECT " + ",".join(["COUNT(*)"] * 1000) + " FROM people",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_in_time(bomb: str) -> None:
    start = time.process_time()
    _refused(parse, BOMBS[bomb])
    assert time.process_time() - start < 2


LARGE = {
    "ANDs": WHERE + "AND".join(["(smoker)"] * 900),
    "terms": WHERE + "1 < " + "+".join(["age"] * 2400),
    "factors": WHERE + "age > 1" + "*1" * 4000,
    "divisions": WHERE + "age > 1" + "/1" * 4000,
    "values": WHERE + "age IN (" + ",".join(["1"] * 4900) + ")",
    "brackets": WHERE + "(" * 20 + "smoker" + ")" * 20,
    "items": "SELECT " + ",".join(["COUNT(*)"] * 100) + " FROM people",
}


@pytest.mark.parametrize("case", LARGE)
def test_a_large_query_is_read_in_time(case: str) -> None:
    start = time.process_time()
    parse(LARGE[case], PEOPLE)
    assert time.process_time() - start < 2


MESSAGES = {
    "SELECT COUNT(*) FROM people WHERE DAYOFWEEK(born) = 1": ["ISODOW(born)", "column 35"],
    "SELECT COUNT(*) FROM people WHERE BOOL_OR(smoker)": ["BOOL_OR is an aggregate", "column 35: BOOL_OR(s"],
    "SELECT COUNT(*) FROM people WHERE age": ["is an integer column, not a boolean", "column 35: age"],
    "SELECT COUNT(*) FROM people WHERE AGE(born) > 3": ["DATE_DIFF('month', born"],
    "SELECT COUNT(*) FROM people WHERE NOW() > born": ["must not depend on the day", "DATE '"],
    "SELECT SUM(LOG(age)) FROM people": ["LN(age + 1)", "base differs"],
    "SELECT SUM(age ^ 2) FROM people": ["POWER(age, 2)"],
    "SELECT SUM(SQRT(income)) FROM people": ["at most 10000", "FLOOR"],
    "SELECT SUM(age / income) FROM people": ["division by a literal"],
    "SELECT COUNT(*) FROM people WHERE UPPER(region) = 'north'": ["'NORTH'", "column 35"],
    "SELECT COUNT(*) FROM people GROUP BY EXTRACT(EPOCH FROM born)": ["ISODOW", "Monday"],
    "SELECT COUNT(*)\nFROM people\nORDER BY age": ["ORDER BY", "count", "line 3, column 10"],
    "SELECT COUNT(*)\nFROM people\nFETCH FIRST 3": ["FETCH", "LIMIT", "line 3, column 1"],
    "SELECT WITH OPTIONS(max_rows_contributed = 3) COUNT(*) FROM people": ["in the study", "column 21"],
    "SELECT DISTINCT COUNT(*) FROM people": ["DISTINCT is not supported"],
    "SELECT TOP 5 PERCENT region, COUNT(*) FROM people GROUP BY 1": ["PERCENT is not supported"],
    "SELECT SUM(age, bounds => (0, 5)) FROM people": ["contribution_bounds_per_group", "column 24"],
    "SELECT COUNT(*) AS n FROM people ORDER BY DESC n": ["DESC stands behind", "column 43"],
    "SELECT AVG(MAX(age)) FROM people": ["MAX", "aggregate", "column 12"],
    "SELECT COUNT(*) FROM people GROUP BY income": ["20000001", "FLOOR"],
    "SELECT COUNT(DISTINCT income) FROM people": ["20000001", "FLOOR"],
    "SELECT COUNT(DISTINCT age, region) FROM people": [
        "unit of this study is a row",
        "column 14: DISTINCT age, region",
    ],
    "SELECT MAX(age) - age FROM people": ["what is released", "max_age", "column 19"],
    "SELECT MAX(age) - MIN(age) FROM people": ["a query alone is needed", "arithmetic"],
    "SELECT COUNT(*) > 3 FROM people": ["CASE WHEN", "column 8"],
    "SELECT COUNT(*) % age FROM people": ["what is released", "column 19"],
    "SELECT COUNT(*) % 2.5 FROM people": ["by a whole number", "column 8"],
    "SELECT RANK() OVER (ORDER BY age) FROM people": ["rows of the answer"],
    "SELECT LOG(COUNT(*)) FROM people": ["LN", "LOG10", "column 8"],
    "SELECT age FROM people": ["'age'", "GROUP BY age"],
    "SELECT COUNT(*) FROM people WHERE agee = 1": ["'agee'", "did you mean 'age'"],
    "SELECT COUNT(*) FROM people WHERE region = 3": ["'region' holds strings", "region = 3"],
    "SELECT COUNT(*) FROM people WHERE age = 'x'": ["a number", "the string 'x'"],
    "SELECT COUNT(*) FROM people WHERE age = NULL": ["IS NULL"],
    "SELECT COUNT(*) FROM people WHERE LN(age) > 1": ["LN", "above 0", "LN(x + 1)"],
    "SELECT COUNT(*) FROM people WHERE HYPOT(age) > 1": ["HYPOT", "there is no function"],
    "SELECT * FROM people": ["single rows are never answered"],
    "SELECT MODE(region), COUNT(*) FROM people": ["only aggregate", "query of their own", "column 22"],
    "SELECT 2 * COUNT(DISTINCT region) FROM people": [
        "SELECT COUNT(DISTINCT region) FROM people",
        "column 18",
    ],
    "SELECT 2 * APPROX_COUNT_DISTINCT(region) FROM people": ["asked alone", "column 12"],
    "SELECT ANY_VALUE(region) FROM people": ["ANY_VALUE", "single rows"],
    "SELECT LISTAGG(region, ',') WITHIN GROUP (ORDER BY region) FROM people": ["LISTAGG", "single rows"],
    "SELECT ARG_MAX(region, age) FROM people": ["a single row", "MAX(age)"],
    "SELECT KURTOSIS(age) FROM people": ["AVG, VARIANCE and QUANTILE of age"],
    "SELECT MEDIAN(age) WITHIN GROUP (ORDER BY age) FROM people": ["PERCENTILE_CONT(fraction) WITHIN GROUP"],
    "SELECT COUNT(*) FROM main.persons": ["the table here is called 'people'"],
    "SELECT COUNT(*) FROM people WHERE age > ?": ["write the value itself"],
    "SELECT SUM(1 / age) FROM people": ["division", "age", "column 16"],
    "SELECT COUNT(*) / 0 FROM people": ["by 0", "column 19"],
    "SELECT SAFE_DIVIDE(SUM(age), 0) FROM people": ["by 0"],
    "SELECT COUNT(*) FROM people; SELECT 1": ["one query at a time", "--file", "column 28"],
    "SELECT COUNT(*) FROM people WHERE (age = 1": ["line 1, column 42"],
    "SELECT COUNT(*)\nFROM (SELECT age FROM people LIMIT 5)": ["LIMIT inside", "line 2, column 30: LIMIT 5"],
    "SELECT AVG(b)\nFROM (SELECT a AS b FROM\n(SELECT ag AS a FROM people))": ["'ag'", "line 3, column 9"],
    "SELECT AVG(b)\nFROM (SELECT region AS b FROM people)": ["not a number", "line 2, column 14"],
    "SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM people)": ["an aggregate inside"],
    "SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people)": ["public tables only"],
    "SELECT age + 1 AS a, COUNT(*) FROM people WHERE a > 1 GROUP BY 1": ["WHERE is read before SELECT"],
    'SELECT COUNT(*) FROM people WHERE region = "north"': ["no column 'north'", "single quotes: 'north'"],
    "SELECT SUM(income * income * income * income) FROM people": ["too large", "CLAMP("],
}


@pytest.mark.parametrize("sql", MESSAGES)
def test_a_refusal_names_construct_place_and_fix(sql: str) -> None:
    message = _refused(parse, sql)
    assert [word for word in MESSAGES[sql] if word not in message] == []


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT AVG(region)\nFROM people", "line 1, column 12: region"),
        ("SELECT COUNT(*) FROM people\n WHERE age > 3 AND heigth < 4", "line 2, column 20: heigth"),
        ("SELECT COUNT(*) FROM people WHERE region = 'nowhere'", "line 1, column 35: region = 'nowhere'"),
        ("SELECT COUNT(*) FROM people WHERE age = NULL", "line 1, column 41: NULL"),
        ("SELECT AVG(age), SUM(CLAMP(age, 9, 3)) FROM people", "line 1, column 22: CLAMP(age, 9, 3)"),
        ("SELECT AVG(CASE WHEN smoker THEN 1 END) FROM people", "line 1, column 8: AVG("),
        ("SELECT COUNT(*) FROM people WHERE\n age = 1e400", "line 2, column 8: 1e400"),
        ("SELECT COUNT(*) AS a, AVG(age) AS a FROM people", "line 1, column 1: SELECT COUNT(*) AS a"),
        ("SELECT COUNT(*) FROM people WHERE region = 'north", "line 1, column 44: 'north"),
        ("SELECT WITH OPTIONS(epsilon = 0) COUNT(*) FROM people", "line 1, column 8: WITH"),
    ],
)
def test_also_what_only_the_study_makes_wrong_is_refused_with_its_place(sql: str, place: str) -> None:
    assert place in _refused(parse_request, sql)
