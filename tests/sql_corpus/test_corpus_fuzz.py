"""Random statements: none crashes, none is answered wrongly, and what is asked is asked again by its own text."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.terms.disjoint import Exclusions, facts_of
from adyton.query.sql.read import parse_condition
from sql_corpus.cases import STATEMENTS as STATEMENTS_OF_ALL
from sql_corpus.cases import Statement
from sql_corpus.grammar import ORDERS, PATIENTS, VISITS, Writer, written
from sql_corpus.judge import SHARE, Court, canonical, court, judged_text, says_where, wrong
from sql_corpus.studies import TABLES
from support.tries import often

STATEMENTS, JUDGED, PAIRS = often(400, 20_000), often(60, 1_500), often(1_000, 15_000)
LONGEST = 10_000  # characters of a text that is read


@pytest.fixture(scope="module")
def courts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Court]]:
    folder = tmp_path_factory.mktemp("fuzz")
    with court("clinic", 7, folder) as clinic, court("shop", 7, folder) as shop:
        yield {"clinic": clinic, "shop": shop}


def study_of(statement: Statement) -> str:
    return next((TABLES[t] for t in ("orders", "visits", "patients") if t in statement.sql), "shop")


# Names that the reader has for itself, and once told to whoever was refused.
TOLD_INTERNALS = [
    "SELECT CASE WHEN GROUPING(channel) = 1 THEN colour ELSE channel END AS c, COUNT(*) FROM orders GROUP BY ROLLUP (channel)",
    "SELECT COALESCE(status, 'none') AS s, COUNT(*) AS n FROM orders GROUP BY status",
    "SELECT week(ordered) FROM orders",
    "SELECT ucase(status) FROM orders",
    "SELECT CAST(priority AS orders), COUNT(*) FROM orders GROUP BY 1",
    "SELECT AVG(gift::MAP) AS share FROM orders",
    "SELECT COUNT(*) . n FROM orders",
    "SELECT status, COUNT(*) FROM orders GROUP BY ALL status",
]


def test_a_refusal_has_no_word_but_those_of_its_text_and_the_reference(
    courts: dict[str, Court],
) -> None:
    """Mutants: a node is called by its class, or a part by the parser's name for it; what is not grouped is quoted as it
    is kept; a call that was rewritten is called by its new name.
    """
    page = (Path(__file__).parents[2] / "docs/reference/sql.md").read_text()
    with duckdb.connect() as database:
        keywords = database.execute("SELECT upper(keyword_name) FROM duckdb_keywords()").fetchall()
    known = {*re.findall(r"\w+", page), "SQL", "DIFFERENTIAL_PRIVACY", *(word for (word,) in keywords)}
    refusals = [refusal(courts, sql) for sql in (*TOLD_INTERNALS, *changed_statements(often(1_500, 30_000)))]
    for sql, said in (one for one in refusals if one is not None):
        reason = re.sub(r"'[^']*'|\"[^\"]*\"", "", said.rpartition(" (line ")[0])
        words = set(re.findall(r"\b[A-Z]{2}[A-Z_0-9]*\b|\b[A-Z][a-z]+[A-Z]\w*", reason))
        assert {word for word in words if word not in sql.upper()} <= known, f"{sql}: {said}"
    assert None not in refusals[: len(TOLD_INTERNALS)]
    assert not any("LOOKUP" in said for _, said in refusals[: len(TOLD_INTERNALS)])
    assert sum(one is not None for one in refusals) > 500


def refusal(courts: dict[str, Court], sql: str) -> tuple[str, str] | None:
    try:
        canonical(courts["shop" if "orders" in sql else "clinic"].study, sql)
    except InvalidRequest as refused:
        return sql, refused.message
    return None


def changed_statements(many: int) -> Iterator[str]:
    """Statements of the corpus with a word too many, too few or of another statement."""
    rng = random.Random(19)
    split = [
        re.findall(r"\s+|\w+|'[^']*'|[^\w\s]", one.sql) for one in STATEMENTS_OF_ALL if one.dialect is None
    ]
    pool = sorted({word for words in split for word in words})
    for _ in range(many):
        words = list(rng.choice(split))
        at = rng.randrange(len(words))
        words[at : at + rng.randrange(2)] = rng.choice([[], [rng.choice(pool)], [" ", rng.choice(pool), " "]])
        yield "".join(words)


# Where a part is missing, a pair in a list is unknown here, as SQL has it, and false for DuckDB.
PAIRS_IN_LIST = re.compile(r"\(\w+, \w+\) (NOT )?IN\b")


@pytest.mark.parametrize("part", range(4))
def test_law_a_random_statement_is_a_query_or_refused_with_its_place(
    courts: dict[str, Court], part: int
) -> None:
    asked = 0
    for seed in range(part, STATEMENTS, 4):
        statement = written(seed)
        study = courts[study_of(statement)].study
        try:
            texts = canonical(study, statement.sql)
        except InvalidRequest as refused:
            if not says_where(refused, statement.sql):
                pytest.fail(f"{statement.sql}: {refused.message}")
            continue
        asked += 1
        for text in texts:
            assert len(text) > LONGEST or canonical(study, text) in ([text], []), statement.sql
    assert asked > STATEMENTS // 30  # so that the law speaks of something


def test_law_a_random_statement_is_answered_as_duckdb_does(courts: dict[str, Court]) -> None:
    judged, refused = 0, 0
    for seed in range(10**6, 10**6 + 20 * JUDGED):
        statement = written(seed)
        if statement.outcome != "answered" or PAIRS_IN_LIST.search(statement.sql):
            continue
        here = courts[study_of(statement)]
        answer, read = reading(here, statement.sql)
        if isinstance(answer, InvalidRequest):
            refused += 1
            continue
        try:
            reason = wrong(statement, answer, here.plain, may_say_nothing=True)
        except (duckdb.BinderException, duckdb.ConversionException, duckdb.OutOfRangeException):
            continue  # DuckDB has another grammar: there is no judge
        if reason:
            pytest.fail(f"{statement.sql}: {reason}")
        judged += 1
        texts = canonical(here.study, statement.sql)
        own = [one for text in texts for one in reading(here, text)[1]]
        assert max(map(len, texts)) > LONGEST or own == read, statement.sql
        if judged >= JUDGED:
            break
    assert judged == JUDGED


def reading(here: Court, sql: str) -> tuple[Any, list[Any]]:
    """The answer, and the exact integers that it was made of."""
    del here.read[:]
    share = Fraction(SHARE) * (
        1 + Fraction(here.ledger.count() + 1, 10**6)
    )  # at another one it is read again
    answer = here.ask(sql, share=share)
    return answer, [[list(column) for column in columns] for _, columns in here.read]


def test_law_DISJOINT_FILTERS_of_random_conditions_have_no_row_in_common(courts: dict[str, Court]) -> None:
    """Conditions of the whole grammar: where the plan lets two of them share a price, no row may meet both."""
    excluded = 0
    for seed in range(PAIRS):
        rng = random.Random(f"pair {seed}")
        words = rng.choice([ORDERS, VISITS, PATIENTS])
        writer = Writer(rng, words, "F" * (seed % 2))
        here = courts[TABLES[words.table]]
        table = next(one for one in here.study.tables if one.name == words.table)
        texts = pair(writer)
        try:
            facts = [facts_of(parse_condition(text, table)) for text in texts]
        except InvalidRequest:
            continue
        taken = Exclusions()
        if not (taken.takes(facts[0]) and taken.takes(facts[1])):
            continue
        excluded += 1
        both = Statement(
            "fuzz", "both", f"SELECT COUNT(*) AS n FROM {words.table} WHERE ({texts[0]}) AND ({texts[1]})"
        )
        assert counted(both, here) == 0, both.sql
    assert excluded > PAIRS // 100


def pair(writer: Writer) -> list[str]:
    """Two conditions: any, or on one number, whose ranges meet or miss by one, or on one category."""
    if writer.chance(0.4):
        return [writer.condition(1) for _ in range(2)]
    if writer.chance(0.5):
        number, signs = writer.number(1), ("<", "<=", "=", ">=", ">", "<>")
        return [f"{number} {writer.of(*signs)} {writer.rng.randint(2, 5)}" for _ in range(2)]
    name, values = writer.rng.choice(list(writer.words.category.items()))
    ways = ("= '{}'", "<> '{}'", "IN ('{}', '{}')", "NOT IN ('{}', '{}')")
    return [f"{name} {writer.of(*ways).format(*writer.rng.sample(values, 2))}" for _ in range(2)]


def counted(statement: Statement, here: Court) -> int:
    ((rows,),) = here.plain.execute(judged_text(statement)).fetchall()
    return int(rows)
