"""Laws of reading SQL: nothing is dropped, spelling does not matter, and the meaning is that of an engine."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from fractions import Fraction

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot.parser import Parser
from sqlglot.tokens import Tokenizer

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table, day_of
from adyton.kernel.terms.expressions import Compare, Condition
from adyton.query.nodes import Query
from adyton.query.request import Shape
from adyton.query.sql.read import parse, parse_condition, parse_number, parse_request
from adyton.query.text import condition_text, number_text, query_text
from adyton.testing.engines import meaning as engine_meaning
from support.strategies import (
    PEOPLE,
    PERSONS,
    Row,
    conditions,
    evaluate_condition,
    numbers,
    queries,
    rows,
)
from support.tries import often

law = settings(deadline=None, max_examples=often(60, 150))


def asked(sql: str) -> tuple[str, Shape, Fraction | None, Fraction | None] | None:
    """All that the text says, or None if it is refused; any other error escapes."""
    try:
        asking = parse_request(sql, PERSONS)
    except InvalidRequest:
        return None
    return query_text(asking.query), asking.shape, asking.epsilon, asking.delta


def canonical(sql: str) -> str | None:
    """The canonical text, or None if the text is refused."""
    said = asked(sql)
    return None if said is None else said[0]


@law
@given(queries())
def test_law_canonical_text_asks_the_same_query_again(query: Query) -> None:
    text = query_text(query)
    assert query_text(parse(text, PEOPLE)) == text


@law
@given(conditions(), rows())
def test_law_canonical_text_keeps_the_meaning(condition: Condition, row: Row) -> None:
    text = condition_text(condition)
    again = parse_condition(text, PEOPLE)
    assert evaluate_condition(again, row) is evaluate_condition(condition, row)


@law
@given(st.data())
def test_law_canonical_text_keeps_the_number(data: st.DataObject) -> None:
    number = data.draw(numbers())
    again = parse_number(number_text(number), PEOPLE)
    assert number_text(again) == number_text(number)
    try:
        same = Compare(number, "<>", again)
    except InvalidRequest:  # no common step is coarse enough
        return
    assert evaluate_condition(same, data.draw(rows())) is not True


GOOD = [
    "SELECT region , COUNT ( * ) AS n , SUM ( income ) FILTER ( WHERE age > 3 ) FROM people "
    "WHERE region IN ( 'north' , 'south' ) AND born >= DATE '2020-01-31' AND age BETWEEN 1 AND 2 "
    "GROUP BY region",
    "SELECT AVG ( CASE WHEN smoker THEN 1 ELSE 0 END ) FROM people p "
    "WHERE NOT ( p . age = 1 ) OR smoker IS NOT TRUE OR age IS NULL GROUP BY year",
    "SELECT PROPORTION ( age * 2 - 1 / 3 > - income / 12 ) , COUNT ( age ) , COUNT_IF ( year <> 2020 ) "
    "FROM people",
    "SELECT FLOOR ( age / 10 ) AS decade , COUNT ( DISTINCT pid ) , QUANTILE ( income , 0.9 ) AS q FROM people "
    "GROUP BY decade , region HAVING COUNT ( DISTINCT pid ) > 3 AND NOT region IN ( 'north' ) OR q BETWEEN 1 AND 2 "
    "ORDER BY decade DESC , 2 , region ASC LIMIT 5 OFFSET 1",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ( epsilon = 0.5 , delta = 1e-7 , max_groups_contributed = 2 , "
    "privacy_unit_column = pid ) EXTRACT ( YEAR FROM born ) , MIN ( CLAMP ( age , 1 , 9 ) ) , "
    "SUM ( income , contribution_bounds_per_group => ( 0 , 500 ) ) FILTER ( WHERE smoker ) FROM people GROUP BY 1",
    "SELECT HISTOGRAM ( age , 10 ) FILTER ( WHERE LEAST ( age , 9 ) < LOOKUP ( region , 1 , 2 , NULL , 3 ) ) "
    "FROM people GROUP BY CASE WHEN smoker THEN 'a' WHEN age > 3 THEN 'b' ELSE 'c' END , QUARTER ( born )",
    "SELECT CDF ( CASE WHEN smoker THEN age WHEN age > 3 THEN 2 END , 1 , 2 ) FROM people ORDER BY upto LIMIT 3",
]
WORDS = [
    *Tokenizer.KEYWORDS,
    *Tokenizer.SINGLE_TOKENS,
    *("1", "1e3", "'x'", "'2020-01-01'", "age", "region", "smoker", "people", "p", "x", "COUNT", "SUM(age)"),
    *(
        "()",
        "(*)",
        "IF",
        "TOP",
        "FINAL",
        "ESCAPE",
        "SYMMETRIC",
        "COLLATE",
        "IGNORE NULLS",
        "SAMPLE",
        "--",
        "/*",
        "DISTINCT",
        "HAVING",
        "ORDER BY",
        "ORDER BY 1",
        "LIMIT 1",
        "OFFSET 1",
        "ASC",
        "DESC",
        "=>",
        "WITH",
        "OPTIONS",
        "OPTIONS (epsilon = 1)",
        "DIFFERENTIAL_PRIVACY",
        "EXTRACT",
        "FLOOR",
        "pid",
        "NULLS LAST",
        "contribution_bounds_per_group",
    ),
]


def same_meaning(words: list[str], position: int, word: str) -> bool:
    """The few insertions that SQL itself allows without a change of meaning: all of them, as trying every word at
    every place has shown.
    """
    before, after = words[:position], words[position:]
    naming = before[-1:] == ["people"] and (word.isidentifier() or word == "AS")  # an alias that is not used
    as_before = word in (*before[-1:], *after[:1]) and word in (
        "people",
        "region",
    )  # an alias that is the name
    as_usual = word == "COUNT" and before[-1:] == [")"] and after[:1] == ["FROM"]
    sorting = word in ("ASC", "NULLS LAST") and "ORDER" in before and "LIMIT" not in before
    skipping = word in ("ROW", "ROWS") and before[-2:-1] == ["OFFSET"]
    signed = word == "+" or (word == "-" and (after[:1] == ["0"] or after[1:3] == ["IS", "NULL"]))
    ending = word in (";", "--") and not after
    return naming or as_before or as_usual or sorting or skipping or signed or ending


@settings(law, max_examples=600)
@given(st.sampled_from(GOOD), st.sampled_from(WORDS), st.integers(0, 90))
@example(GOOD[0], "ALL", 5)
@example(GOOD[0], "*", 17)
@example(GOOD[0], ",", 1)
@example(GOOD[0], "AS", 1)
def test_law_no_word_is_ignored(sql: str, word: str, position: int) -> None:
    words = sql.split()
    position = min(position, len(words))
    said = asked(" ".join([*words[:position], word, *words[position:]]))
    assert said is None or said != asked(sql) or same_meaning(words, position, word)


@pytest.mark.parametrize("sql", GOOD)
def test_law_no_word_can_be_left_out(sql: str) -> None:
    assert asked(sql) is not None
    words = sql.split()
    for position, word in enumerate(words):
        said = asked(" ".join(words[:position] + words[position + 1 :]))
        if word not in ("AS", "ASC", "DATE", "DIFFERENTIAL_PRIVACY"):  # they may be left out
            assert said is None or said != asked(sql), f"without {word!r}"


@law
@given(st.text())
def test_law_any_text_is_a_query_or_refused(text: str) -> None:
    canonical(text)
    for attempt in (parse_condition, parse_number):
        try:
            attempt(text, PEOPLE)
        except InvalidRequest:
            continue


@settings(law, max_examples=often(200, 400))
@given(
    st.lists(st.sampled_from([*" ".join(GOOD).split(), *WORDS]), max_size=25),
    st.sampled_from(GOOD),
)
def test_law_any_mixture_of_words_is_a_query_or_refused(words: list[str], sql: str) -> None:
    for text in (
        " ".join(words),
        f"{sql} {' '.join(words)}",
        f"SELECT COUNT(*) FROM people WHERE {' '.join(words)}",
    ):
        said = canonical(text)
        assert said is None or canonical(said) == said


@law
@given(st.sampled_from(GOOD), st.integers(0, 400), st.integers(0, 5), st.text(max_size=3))
def test_law_mutated_SQL_is_a_query_or_refused(sql: str, start: int, length: int, text: str) -> None:
    said = canonical(sql[:start] + text + sql[start + length :])
    assert said is None or canonical(said) == said


@law
@given(st.sampled_from(GOOD), st.sampled_from([" ", "\n", "\t ", " /* x */ ", " -- x\n"]), st.data())
def test_law_spelling_does_not_matter(sql: str, space: str, data: st.DataObject) -> None:
    words = sql.replace("GROUP BY", "GROUP~BY").replace("ORDER BY", "ORDER~BY").split()  # one word each
    respelt = [
        word if "'" in word else data.draw(st.sampled_from([word.lower(), word.upper()])) for word in words
    ]
    assert asked(space.join(respelt).replace("~", "\n  ")) == asked(sql)


@law
@given(st.lists(conditions(), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_law_order_and_repetition_do_not_matter(parts: list[Condition], random: object) -> None:
    texts = [condition_text(part) for part in parts]
    for word in (" AND ", " OR "):
        shuffled = texts * 2
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        once, twice = (parse_condition(word.join(t), PEOPLE) for t in (texts, shuffled))
        assert condition_text(once) == condition_text(twice)


@settings(law, max_examples=150)
@given(conditions().filter(lambda c: isinstance(c, Compare)))
def test_law_direction_does_not_matter(compared: Compare) -> None:
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
    other = Compare(compared.right, mirrored[compared.operator], compared.left)  # type: ignore[arg-type]
    assert condition_text(other) == condition_text(compared)


PLAIN = sorted(
    {word.lower() for word in (*Tokenizer.KEYWORDS, *Parser.FUNCTIONS, *Parser.NO_PAREN_FUNCTION_PARSERS)}
)


@pytest.mark.parametrize(
    "letter", sorted({word[0] for word in PLAIN if re.fullmatch(r"[a-z_][a-z0-9_]*", word)})
)
def test_law_any_word_can_be_a_name(letter: str) -> None:
    for word in PLAIN:
        if word.startswith(letter) and re.fullmatch(r"[a-z_][a-z0-9_]*", word):
            table = Table(word, (IntegerColumn(word, 0, 9), BooleanColumn(f"{word} b")))
            quoted = (
                f'SELECT COUNT(*) AS "{word}", SUM("{word}") FROM "{word}" WHERE "{word} b" AND "{word}" > 1'
            )
            text = query_text(parse(quoted, table))
            assert query_text(parse(text, table)) == text


# The meaning of SQL is that of an engine ------------------------------------------------------------------


def flat_numbers() -> st.SearchStrategy[str]:
    """Arithmetic without brackets, so that the order of operations is what is tested."""
    fixed = ["age", "income", "2", "0.5", "-3", "- age", "CASE WHEN smoker THEN 1 ELSE 0 END"]
    fixed += [
        "CASE WHEN age > 30 THEN age WHEN smoker THEN 2 END",
        "CASE WHEN smoker THEN 0.5 ELSE income END",
    ]
    fixed += ["FLOOR(age / 7)", "FLOOR(income / 1000) * 1000", "FLOOR(- age / 7)", "FLOOR(income)"]
    fixed += ["EXTRACT(YEAR FROM born)", "EXTRACT(ISODOW FROM born)", "ISODOW(born)", "YEAR(born)"]
    fixed += ["QUARTER(born)", "MONTH(born)", "DAY(born)"]
    atom = st.sampled_from(fixed)
    signs = st.sampled_from([" + ", " - ", " * "])
    return st.builds(
        lambda first, rest: first + "".join(sign + part for sign, part in rest),
        atom,
        st.lists(st.tuples(signs, atom), max_size=2),
    )


def flat_conditions() -> st.SearchStrategy[str]:
    number = flat_numbers()
    sign = st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="])
    fixed = [
        "smoker",
        "smoker = FALSE",
        "smoker IS TRUE",
        "smoker IS NOT TRUE",
        "smoker IS NOT FALSE",
        "TRUE",
        "FALSE",
    ]
    fixed += [
        "age IS NULL",
        "region IS NOT NULL",
        "region = 'north'",
        "region <> 'north'",
        "'south' = region",
    ]
    fixed += ["region NOT IN ('north', 'east')", "age IN (1, 2, 30)", "age NOT IN (1, 30)", "year = 2021"]
    fixed += ["year NOT IN (2020)", "born < DATE '1980-06-01'", "born >= '1980-06-01'", "'1999-12-31' > born"]
    fixed += [
        "born BETWEEN '1950-01-01' AND DATE '2000-01-01'",
        "born NOT BETWEEN '1950-01-01' AND '2000-01-01'",
    ]
    part = st.one_of(
        st.builds("{} {} {}".format, number, sign, number),
        st.builds("{} BETWEEN {} AND {}".format, number, number, number),
        st.sampled_from(fixed),
    )
    some = st.builds(lambda no, text: "NOT " * no + text, st.integers(0, 2), part)
    return st.lists(st.tuples(st.sampled_from([" AND ", " OR "]), some), min_size=1, max_size=4).map(
        lambda parts: "".join(word + text for word, text in parts).removeprefix(parts[0][0])
    )


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE people (age BIGINT, income DECIMAL(12, 2), region VARCHAR, year BIGINT, "
            "smoker BOOLEAN, born DATE)"
        )
        yield connection


def as_engine_value(name: str, value: object) -> object:
    if value is None or name not in ("income", "born"):
        return value
    assert isinstance(value, int)
    return f"{value // 100}.{value % 100:02d}" if name == "income" else datetime.date.isoformat(day_of(value))


@law
@given(flat_conditions(), st.lists(rows(), min_size=1, max_size=5))
def test_law_conditions_mean_what_an_engine_says(
    engine: duckdb.DuckDBPyConnection, text: str, people: list[Row]
) -> None:
    engine.execute("DELETE FROM people")
    columns = [column.name for column in PEOPLE.columns]
    for row in people:
        values = [as_engine_value(name, row[name]) for name in columns]
        engine.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", values)
    answered = [
        truth for (truth,) in engine.execute(f"SELECT ({text}) FROM people ORDER BY rowid").fetchall()
    ]
    condition = parse_condition(text, PEOPLE)
    assert answered == [engine_meaning.condition(condition, placed(row)) for row in people]


def placed(row: Row) -> dict[str, object]:
    """The row with the place of a category's value in its list, as engines hold it."""
    return {
        column.name: column.values.index(row[column.name])  # type: ignore[arg-type]
        if isinstance(column, CategoryColumn) and row[column.name] is not None
        else row[column.name]
        for column in PEOPLE.columns
    }
