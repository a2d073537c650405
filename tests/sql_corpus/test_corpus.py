"""Statements as people paste them: each is answered, free or refused as it says, and right against brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from adyton.errors import InvalidRequest
from sql_corpus.cases import FAMILIES, NOT_YET, STATEMENTS, Statement
from sql_corpus.judge import Court, court, judged_text, says_where, wrong
from support.tries import often

SEEDS = range(often(2, 10))


@pytest.fixture(scope="module", params=SEEDS)
def courts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Court]]:
    folder = tmp_path_factory.mktemp("corpus")
    with court("clinic", request.param, folder) as clinic, court("shop", request.param, folder) as shop:
        yield {"clinic": clinic, "shop": shop}


def test_the_corpus_is_large_and_every_statement_is_one_of_a_kind() -> None:
    many = Counter(statement.family for statement in STATEMENTS)
    assert len(STATEMENTS) >= 260
    assert {family: number for family, number in many.items() if number < 25} == {}
    assert many.keys() == FAMILIES.keys()
    for unique in ([s.name for s in STATEMENTS], [(s.sql, s.dialect) for s in STATEMENTS]):
        assert [one for one, number in Counter(unique).items() if number > 1] == []
    assert NOT_YET.difference(FAMILIES, (statement.name for statement in STATEMENTS)) == set()


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: f"{s.family}-{s.name}")
def test_a_statement_is_answered_as_it_says(courts: dict[str, Court], statement: Statement) -> None:
    here = courts[statement.study]
    charged = here.ledger.count()
    answer = here.ask(statement.sql, statement.dialect)
    paid = here.ledger.count() - charged
    if isinstance(answer, InvalidRequest):
        assert paid == 0
        assert says_where(answer, statement.sql, statement.dialect)
    if not is_as_it_says(statement, answer):
        assert not statement.is_expected, answer
    if not isinstance(answer, InvalidRequest):
        assert statement.outcome != "refused"
        assert (answer.free is None) == (statement.outcome == "answered") or not statement.is_expected
        assert paid == (answer.free is None and not answer.repeated)  # another may ask the very same
        assert wrong(statement, answer, here.plain) is None


def is_as_it_says(statement: Statement, answer: Any) -> bool:
    if not isinstance(answer, InvalidRequest):
        return statement.outcome != "refused"
    return statement.outcome == "refused" and statement.reason.casefold() in answer.message.casefold()


@pytest.mark.parametrize("missing", sorted(NOT_YET))
def test_what_is_said_to_be_missing_is_missing(courts: dict[str, Court], missing: str) -> None:
    """Otherwise its letter, or its name, has to be taken out of ``NOT_YET``."""
    waiting = [s for s in STATEMENTS if missing in (s.family, s.name)]
    assert not all(is_as_it_says(s, courts[s.study].ask(s.sql, s.dialect)) for s in waiting)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_judge_understands_every_statement(courts: dict[str, Court], family: str) -> None:
    """Also those that are refused so far; and what it says is no empty table, with which everything would agree."""
    for statement in STATEMENTS:
        if statement.family != family or statement.outcome == "refused":
            continue
        found = courts[statement.study].plain.execute(judged_text(statement)).fetchall()
        free = statement.outcome == "free" and statement.judge is None
        assert free or any(value is not None for row in found for value in row), statement.name
