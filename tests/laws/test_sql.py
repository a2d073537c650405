"""What SQL means: each text that is answered, beside its canonical text."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest

from adyton.errors import InvalidRequest
from adyton.query.draft import Draft, count, histogram, mean, proportion, question_of, sum_of
from adyton.query.nodes import (
    And,
    Compare,
    Constant,
    Count,
    Day,
    DayOf,
    Indicator,
    IsTrue,
    Mean,
    Not,
    OneOf,
    Or,
    Plus,
    Proportion,
    Question,
    Sum,
    Times,
    ValueOf,
)
from adyton.query.sql import parse, parse_condition, parse_number
from adyton.query.text import condition_text, number_text, question_text
from adyton.schema import BooleanColumn, IntegerColumn, Table
from strategies import AGE, BORN, INCOME, PEOPLE, REGION, SMOKER, YEAR

QUESTIONS = {
    "SELECT COUNT(*) FROM people": "COUNT(*) AS count FROM people",
    "select count(*) from PEOPLE;": "COUNT(*) AS count FROM people",
    "SELECT COUNT(*) -- all of them\nFROM people /* these */": "COUNT(*) AS count FROM people",
    'SELECT COUNT(*) AS n FROM "people"': "COUNT(*) AS n FROM people",
    "SELECT COUNT(*) N FROM people p WHERE p.age = 3": "COUNT(*) AS n FROM people WHERE (age = 3)",
    'SELECT COUNT(*) AS "N" FROM people': 'COUNT(*) AS "N" FROM people',
    "SELECT COUNT(*) AS select FROM people": 'COUNT(*) AS "select" FROM people',
    "SELECT COUNT(age) FROM people": "COUNT(*) FILTER (WHERE (NOT (age IS NULL))) AS count_age FROM people",
    "SELECT COUNT_IF(age > 3) FROM people": "COUNT(*) FILTER (WHERE (age > 3)) AS count_if FROM people",
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
}


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_question_means_its_canonical_text(sql: str) -> None:
    assert question_text(parse(sql, PEOPLE)) == "SELECT " + QUESTIONS[sql]


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_means_its_canonical_text(text: str) -> None:
    assert condition_text(parse_condition(text, PEOPLE)) == CONDITIONS[text]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_means_its_canonical_text(text: str) -> None:
    assert number_text(parse_number(text, PEOPLE)) == NUMBERS[text]


def test_a_parsed_question_is_the_one_built_by_hand() -> None:
    built = Question(
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
}


@pytest.mark.parametrize("sql", DRAFTS)
def test_a_draft_and_its_SQL_are_one_question(sql: str) -> None:
    assert question_of(DRAFTS[sql], PEOPLE) == question_of(sql, PEOPLE)


BAD_DRAFTS = [
    count(by="age"),
    count(by=("region", "region")),
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


def test_a_question_about_another_table_is_refused() -> None:
    other = Table("people", (IntegerColumn("age", 0, 1),))
    question = Question(other, (("n", Count()),))
    assert question_of(question, other) is question
    for asked in (question, 3, None, b"SELECT COUNT(*) FROM people"):
        with pytest.raises(InvalidRequest):
            question_of(asked, PEOPLE)  # type: ignore[arg-type]


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
    "no measure": lambda: Question(PEOPLE, ()),
    "a node as measure": lambda: Question(PEOPLE, (("n", ValueOf(AGE)),)),
    "two of one name": lambda: Question(PEOPLE, (("n", Count()), ("N", Count()))),
    "name of a group": lambda: Question(PEOPLE, (("region", Count()),), by=(REGION,)),
    "unprintable name": lambda: Question(PEOPLE, (("a\x1b[2J", Count()),)),
    "group by number": lambda: Question(PEOPLE, (("n", Count()),), by=(AGE,)),
    "a column with other bounds": lambda: Question(PEOPLE, (("s", Sum(ValueOf(OTHER_AGE))),)),
    "a hidden other column": lambda: Question(
        PEOPLE, (("n", Count(Not(And((Compare(ValueOf(OTHER_AGE), "=", ValueOf(AGE)),))))),)
    ),
    "a group of another table": lambda: Question(PEOPLE, (("n", Count()),), by=(BooleanColumn("gone"),)),
}


@pytest.mark.parametrize("case", ILL_TYPED)
def test_an_ill_typed_node_cannot_be_built(case: str) -> None:
    with pytest.raises(InvalidRequest):
        ILL_TYPED[case]()


def test_drafts_load_no_parser_until_text_is_read() -> None:
    code = "import adyton.query.draft, sys; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
