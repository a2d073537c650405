"""A statement that is rewritten asks the same as its hand-written form, and gets no more noise at the same price."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from adyton.errors import InvalidRequest
from adyton.query.request import asked_of
from sql_corpus.cases import STATEMENTS, Statement
from sql_corpus.judge import Court, canonical, court, wrong
from support.tries import often

PRICE = 0.01  # not a share: a share that was asked before is the stored answer
WRITTEN_BY_HAND = [s for s in STATEMENTS if s.plain is not None or s.dearer is not None]


@pytest.fixture(scope="module")
def courts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Court]]:
    folder = tmp_path_factory.mktemp("corpus")
    with court("clinic", 5, folder) as clinic, court("shop", 5, folder) as shop:
        yield {"clinic": clinic, "shop": shop}


def noise(here: Court, sql: str) -> list[float]:
    """The scales of all noisy numbers that a query is answered from."""
    return sorted(s for step in here.curator.preview(sql, epsilon=PRICE).steps for s in step.scales)


def test_enough_is_written_by_hand_too() -> None:
    assert len(WRITTEN_BY_HAND) >= 40


@pytest.mark.parametrize("statement", WRITTEN_BY_HAND, ids=lambda s: f"{s.family}-{s.name}")
def test_the_hand_written_form_is_right_and_never_cheaper(
    courts: dict[str, Court], statement: Statement
) -> None:
    here, by_hand = courts[statement.study], statement.plain or statement.dearer
    assert by_hand is not None
    if statement.plain is not None:
        assert wrong(replace(statement, sql=by_hand), here.ask(by_hand), here.plain) is None
    if isinstance(here.ask(statement.sql), InvalidRequest):
        assert not statement.is_expected
        return
    if statement.plain is not None:
        assert canonical(here.study, statement.sql) == canonical(here.study, by_hand)
    asked, dearest = noise(here, statement.sql), noise(here, by_hand)
    assert len(asked) <= len(dearest)
    assert all(one <= other * (1 + 1e-9) for one, other in zip(asked, dearest, strict=False))


QUOTED_OR_NOT = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[^'"]+""")


def outside_quotes(sql: str, change: Callable[[str], str]) -> str:
    return QUOTED_OR_NOT.sub(lambda found: found[0] if found[0][0] in "'\"" else change(found[0]), sql)


@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_law_capitals_say_nothing(courts: dict[str, Court], change: Callable[[str], str]) -> None:
    """Nor do they in how an answer is shown; words that are written in capitals are usually tried in small letters, and
    the few others in capitals.  Mutant: PRECEDING or RANGE in capitals only.
    """
    for statement in STATEMENTS[:: 1 if change is str.lower else often(4, 1)]:
        tables = courts[statement.study].study.tables
        if statement.outcome != "answered" or not statement.is_expected:
            continue
        as_written = asked_of(statement.sql, *tables, dialect=statement.dialect)
        changed = outside_quotes(statement.sql, change)
        assert asked_of(changed, *tables, dialect=statement.dialect) == as_written, changed


def test_persons_with_more_rows_than_count_are_cut_first(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Which of a person's rows are kept is a secret of the study; how many, and whose, is not."""
    folder = tmp_path_factory.mktemp("cut")
    with court("clinic", 1, folder, most=20) as here:
        own = "(SELECT patient_id, least(COUNT(*), 8) AS n FROM visits GROUP BY patient_id)"
        for sql, judge in [
            ("SELECT COUNT(*) AS n FROM visits", f"SELECT SUM(n) AS n FROM {own}"),
            ("SELECT COUNT(DISTINCT patient_id) AS p FROM visits", f"SELECT COUNT(*) AS p FROM {own}"),
            (
                "SELECT COUNT(*) AS n FROM visits JOIN patients USING (patient_id) WHERE patients.sex = 'f'",
                f"SELECT SUM(n) AS n FROM {own} JOIN patients USING (patient_id) WHERE sex = 'f'",
            ),
            (
                "SELECT AVG(n) AS mean_n FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t",
                f"SELECT AVG(n) AS mean_n FROM {own}",
            ),
            (
                "SELECT n, COUNT(*) AS p FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t GROUP BY n",
                f"SELECT n, COUNT(*) AS p FROM {own} GROUP BY n",
            ),
        ]:
            statement = Statement("T", "cut", sql, judge=judge)
            answer = here.ask(sql)
            if isinstance(answer, InvalidRequest):
                assert "(SELECT" in sql
                assert not statement.is_expected
                continue
            assert wrong(statement, answer, here.plain) is None
