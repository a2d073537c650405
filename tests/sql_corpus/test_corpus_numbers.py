"""A text whose tree is that of another one, with its own numbers, means what it means when it is parsed alone."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Table
from adyton.query.request import Asked, Free, Request
from adyton.query.sql import read
from adyton.query.sql.read import TextReader, parse_asked
from sql_corpus import cases
from sql_corpus.studies import study_of
from support.hostile_sql import CLAUSES, HEADS, NESTED, SELECTS, SHAPES, STATEMENTS
from support.strategies import PEOPLE
from support.tries import often

NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "5",
    "7",
    "12",
    "030",
    "65",
    "100",
    "987654001",
    "0.5",
    "2.25",
    "1e1",
    ".5",
    "9" * 400,
)
HOSTILE = [*STATEMENTS, *SELECTS, *CLAUSES, *NESTED, *SHAPES, *HEADS]
VARIATIONS = often(3, 50)
TRICKY = [  # two numbers that may be the same, or mean something by their value
    "SELECT COUNT(*) FROM people WHERE age IN (3, 4)",
    "SELECT COUNT(*) FROM people WHERE age > 3 AND age IN (4, 5) AND NOT (income < 7 OR age BETWEEN 8 AND 9)",
    "SELECT COUNT(*) FROM people WHERE 3 < age AND 4 = 5",
    "SELECT COUNT(*) FROM people WHERE age > -3 AND income > 4 / 2",
    "SELECT region, COUNT(*) FROM people WHERE age > 3 GROUP BY 1 HAVING COUNT(*) > 4 LIMIT 5",
    "SELECT COUNT(*) FROM (SELECT age AS a FROM people WHERE age > 3) WHERE a < 4",
    "SELECT AVG(age) FROM people WHERE CASE WHEN age > 3 THEN income > 4 ELSE age < 5 END",
    "SELECT COUNT(*) FROM people WHERE smoker = 1 OR age > 2",
]
REFUSED_FOR_A_NUMBER = [  # a text, a number that is answered there, and one that is not
    ("SELECT region, COUNT(*) FROM people GROUP BY {}", "1", "7"),
    ("SELECT COUNT(*) AS n FROM people WHERE age > 3 LIMIT {}", "5", "2.5"),
    ("SELECT region, COUNT(*) AS n FROM people GROUP BY region\nORDER BY {}", "2", "9"),
    ("SELECT region, COUNT(*) FROM people GROUP BY region HAVING COUNT(*) > 4 OFFSET {}", "1", "0.5"),
    ("SELECT QUANTILE(income, {}) FROM people", "0.5", "7"),
    ("SELECT PERCENTILE_CONT({}) WITHIN GROUP (ORDER BY income) FROM people", "0.5", "3"),
    ("SELECT CDF(income, 10, {}) FROM people", "20", "5"),
    ("SELECT COUNT(*) FROM people\nWHERE FLOOR(age / {}) = 3", "10", "0"),
    ("SELECT COUNT(*) FROM people WHERE age IN (1, {})", "2", "9" * 400),
    ("SELECT COUNT(*) FROM people WHERE age > {}", "3", "9" * 400),
]
ANSWERED = [s for s in cases.STATEMENTS if s.dialect is None]


def with_other_numbers(text: str, rng: random.Random) -> str:
    """Also in strings, names and comments, and numbers of which the text has others beside them."""
    chance = rng.choice((0.0, 0.5, 1.0))
    return re.sub(r"\d+(\.\d+)?", lambda n: rng.choice(NUMBERS) if rng.random() < chance else n[0], text)


def said(ask: Callable[[str], Asked], text: str) -> object:
    try:
        asked = ask(text)
    except InvalidRequest as refused:
        return refused.message
    return asked, None if isinstance(asked, Free) else asked.listed


def differing(tables: Sequence[Table], text: str) -> list[str]:
    rng, reader = random.Random(text), TextReader(*tables)
    texts = [text] * 2 + [with_other_numbers(text, rng) for _ in range(VARIATIONS)]
    return [one for one in texts if said(reader.asked, one) != said(lambda t: parse_asked(t, *tables), one)]


@pytest.mark.parametrize("study", ["clinic", "shop"])
def test_other_numbers_in_statements_of_the_corpus(study: str, tmp_path: Path) -> None:
    """Mutant: marks that are not taken out again; a string that counts as a number."""
    tables = study_of(study, tmp_path).tables
    own = [statement.sql for statement in ANSWERED if statement.study == study]
    assert len(own) > 80
    assert [text for sql in own[:: often(2, 1)] for text in differing(tables, sql)] == []


def test_other_numbers_in_statements_that_are_refused() -> None:
    """Word for word the same refusal.  Mutant: a text that was refused is kept as one that was read."""
    assert [text for sql in HOSTILE[:: often(2, 1)] for text in differing((PEOPLE,), sql)] == []


@pytest.mark.parametrize(("text", "fine", "wrong"), REFUSED_FOR_A_NUMBER)
def test_a_number_that_is_refused_where_another_one_was_answered(text: str, fine: str, wrong: str) -> None:
    """Of such texts a tree is kept, and a copy of it is what is refused first.  What is said has the place in this very
    text.  Mutant: the error of the copy is let out, which knows no place.
    """
    reader = TextReader(PEOPLE)
    for number in (fine, fine):  # after two of them it is kept
        assert isinstance(reader.asked(text.format(number)), Request)
    refused = said(reader.asked, text.format(wrong))
    assert isinstance(refused, str)
    assert refused == said(lambda t: parse_asked(t, PEOPLE), text.format(wrong))
    assert "(line 1, column 1: " not in refused


def test_other_numbers_where_they_decide_more_than_a_comparison() -> None:
    """Mutant: a query is kept wherever its condition holds each number once, as with IN, whose list may shrink."""
    assert [
        text
        for sql in TRICKY
        for other in range(often(10, 30))
        for text in differing((PEOPLE,), f"{sql}{' ' * other}")
    ] == []


def test_a_text_like_an_earlier_one_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def noted(text: str, *args: Any) -> Any:
        parsed.append(text)
        return query_tree(text, *args)

    query_tree = read.query_tree
    monkeypatch.setattr(read, "query_tree", noted)
    reader = TextReader(PEOPLE)
    for number in range(10):
        asked = reader.asked(
            f"SELECT COUNT(*) FROM people WHERE age > {number}.5 AND region <> 'north' LIMIT 1{number}"
        )
        assert asked.shape.limit == 10 + number  # type: ignore[union-attr]
    assert len(parsed) == 3  # the first two, and the second one again with marks for its numbers
    reader.asked("SELECT COUNT(*) FROM people WHERE age > 3.5 AND region <> 'south' LIMIT 10")
    assert len(parsed) == 4  # another word makes another text


def test_a_plain_filter_with_another_number_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, text = (
        TextReader(PEOPLE),
        "SELECT AVG(income) AS a FROM people WHERE age >= {} AND income BETWEEN 2 AND {}",
    )
    for number in range(2):
        reader.asked(text.format(number, 10 + number))
    monkeypatch.setattr(read, "read_select", None)
    asked = reader.asked(text.format(40, 50))
    monkeypatch.undo()
    assert asked == parse_asked(text.format(40, 50), PEOPLE)
