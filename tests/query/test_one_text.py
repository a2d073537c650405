"""One query, one canonical text, one charge, one stored answer: however it is named and filtered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adyton
from adyton.errors import InvalidRequest
from adyton.kernel.terms.expressions import And, Compare, Condition, Not, Or
from adyton.kernel.terms.leaves import Constant, Day, DayOf, IsMissing, IsTrue, OneOf, ValueOf
from adyton.query.canonical import canonical_text
from adyton.query.conditions.covering import covered
from adyton.query.nodes import Query
from adyton.query.queries import count, mean
from adyton.query.request import Request, asked_of
from adyton.query.sql.read import parse
from adyton.query.text import condition_text
from support.random_queries import all_queries
from support.servers import write_study
from support.strategies import (
    AGE,
    BORN,
    INCOME,
    PERSONS,
    REGION,
    SMOKER,
    YEAR,
    Row,
    conditions,
    evaluate_condition,
    rows,
)
from support.tries import often

law = settings(deadline=None, max_examples=often(100, 1000))


def text_of(sql: str) -> str:
    asked = asked_of(sql, PERSONS)
    assert isinstance(asked, Request)
    return canonical_text(asked.query)


# Filters ----------------------------------------------------------------------------------------------------

THERE = "(NOT ({} IS NULL))"
SAME = {
    "age IS NOT NULL": THERE.format("age"),
    "age >= 0": THERE.format("age"),
    "-1 < age": THERE.format("age"),
    "age BETWEEN 0 AND 120": THERE.format("age"),
    "age >= 0 AND age <= 120 AND age IS NOT NULL": THERE.format("age"),
    "NOT age < 0": THERE.format("age"),
    "NOT (age < 0 OR age > 120)": THERE.format("age"),
    "age NOT BETWEEN 0 AND 10 OR age <= 10": THERE.format("age"),
    "born >= DATE '1900-01-01' AND born <= DATE '2024-12-31'": THERE.format("born"),
    "born BETWEEN '1900-01-01' AND '2024-12-31'": THERE.format("born"),
    "EXTRACT(YEAR FROM born) BETWEEN 1900 AND 2024": THERE.format("born"),
    "region IN ('west', 'east', 'south', 'north')": THERE.format("region"),
    "region = 'north' OR region <> 'north'": THERE.format("region"),
    "region NOT IN ('north') OR region = 'north'": THERE.format("region"),
    "year IN (2020, 2021, 2022)": THERE.format("year"),
    "year >= 2020": THERE.format("year"),
    "smoker IN (TRUE, FALSE)": THERE.format("smoker"),
    "age + income >= 0": f"({THERE.format('age')} AND {THERE.format('income')})",
    "smoker IS NULL OR smoker OR NOT smoker": "",
    "CASE WHEN smoker THEN 1 ELSE 0 END >= 0": "",
    "age >= 0 OR region = 'north'": f"({THERE.format('age')} OR (region IN ('north')))",
}
OTHERS = [
    "age <= 119",
    "age > 0",
    "age <> 7",
    "age < 0",
    "NOT (age >= 0)",
    "region IN ('north', 'south', 'east')",
    "smoker",
    "COALESCE(age, 3) >= 0",
    "LOOKUP(region, 1, NULL, 2, 3) > 0",
    "born > DATE '1900-01-01'",
]


@pytest.mark.parametrize("written", SAME)
def test_a_filter_that_excludes_nothing_has_one_canonical_text(written: str) -> None:
    """Mutants: a column that may be missing is taken for one that may not; NOT IN for IN."""
    where = f" WHERE {SAME[written]}" if SAME[written] else ""
    assert (
        text_of(f"SELECT COUNT(*) FROM people WHERE {written}")
        == f"SELECT COUNT(*) AS count FROM people{where}"
    )
    own = f" FILTER (WHERE {SAME[written]})" if SAME[written] else ""
    filtered = text_of(f"SELECT COUNT(*) FILTER (WHERE {written}) FROM people")
    assert filtered == f"SELECT COUNT(*){own} AS count FROM people"


@pytest.mark.parametrize("written", OTHERS)
def test_a_filter_that_may_exclude_a_value_keeps_its_text(written: str) -> None:
    plain = condition_text(parse(f"SELECT COUNT(*) FROM people WHERE {written}", PERSONS).where)
    assert (
        text_of(f"SELECT COUNT(*) FROM people WHERE {written}")
        == f"SELECT COUNT(*) AS count FROM people WHERE {plain}"
    )


def covers() -> st.SearchStrategy[Condition]:
    """Filters that exclude nothing, or nearly: ends that are one off, lists that lack a value."""
    operators = st.sampled_from(["<", "<=", ">", ">=", "=", "<>"])
    ends = st.sampled_from([-1, 0, 1, 119, 120, 121, 200_000])
    numbers = st.builds(
        lambda column, operator, end: Compare(ValueOf(column), operator, Constant(Fraction(end))),
        st.sampled_from([AGE, INCOME]),
        operators,
        ends,
    )
    low, high = DayOf(BORN).lattice.low, DayOf(BORN).lattice.high
    days = st.builds(
        lambda operator, day: Compare(DayOf(BORN), operator, Day(day)),
        operators,
        st.sampled_from([low - 1, low, low + 1, high, high + 1]),
    )
    lists = st.sampled_from([REGION, YEAR]).flatmap(
        lambda column: st.lists(st.sampled_from(column.values), min_size=1, unique=True).map(
            lambda values: OneOf(column, tuple(values))
        )
    )
    whole = st.sampled_from([OneOf(REGION, REGION.values), OneOf(YEAR, YEAR.values), IsTrue(SMOKER)])
    missing = st.sampled_from([IsMissing(AGE), IsMissing(REGION), IsMissing(SMOKER)])
    leaf = st.one_of(numbers, days, lists, whole, missing, conditions())
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
        ),
        max_leaves=6,
    )


@law
@given(covers(), rows())
def test_law_the_canonical_filter_is_true_of_the_same_rows(filter_: Condition, row: Row) -> None:
    """Missing values too.  Mutants: what is never false is TRUE; the parts of NOT are read as they are."""
    found = covered(filter_)
    assert (evaluate_condition(found, row) is True) == (evaluate_condition(filter_, row) is True)
    assert covered(found) == found


def test_numbers_of_a_person_that_are_never_missing_lose_their_cover() -> None:
    table = replace(PERSONS, most_rows=5)
    inner = "SELECT pid, COUNT(*) AS n, SUM(age) AS total FROM people WHERE {} GROUP BY pid"

    def said(given_: str, outer: str) -> str:
        asked = asked_of(f"SELECT COUNT(*) FROM ({inner.format(given_)}) AS t WHERE {outer}", table)
        assert isinstance(asked, Request)
        return canonical_text(asked.query)

    every = said("smoker IN (TRUE, FALSE)", "n >= 1")
    assert every == said("smoker IS NOT NULL", "n BETWEEN 0 AND 5")
    assert "WHERE (n" not in every
    assert "(NOT (total IS NULL))" in said("smoker", "total >= 0")


# Names ------------------------------------------------------------------------------------------------------


@law
@given(all_queries(), st.text("abcxyz_", min_size=1, max_size=8))
def test_law_the_canonical_text_has_no_names_that_were_given(query: Query, stem: str) -> None:
    """Mutants: the names of groups are kept; values are not numbered apart."""
    named = tuple((f"{stem}{place}", measure) for place, (_, measure) in enumerate(query.measures))
    try:
        other = replace(query, measures=named)
    except InvalidRequest:  # a group is called so
        return
    text = canonical_text(query)
    assert canonical_text(other) == text
    if len(text) <= 10_000:
        assert canonical_text(parse(text, PERSONS)) == text


def test_long_and_equal_names_make_a_text_that_can_be_read() -> None:
    long = "x" * 100
    table = replace(PERSONS, columns=(replace(AGE, name=long), REGION))
    sql = f"SELECT SUM({long}) AS a, SUM({long}) AS b, COUNT(*) AS region2, FLOOR({long} / 10) AS c FROM people GROUP BY c"
    text = canonical_text(parse(sql, table))
    assert canonical_text(parse(text, table)) == text


# One charge -------------------------------------------------------------------------------------------------


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[adyton.Curator]:
    with adyton.open(write_study(tmp_path)) as made:
        yield made


ASKED = [
    ("SELECT COUNT(*) AS a FROM people", ["a"]),
    ("SELECT COUNT(*) AS b FROM people", ["b"]),
    ("SELECT COUNT(*) FROM people", ["count"]),
    ("SELECT COUNT(*) AS c FROM people ORDER BY c LIMIT 3", ["c"]),
]


@pytest.mark.parametrize("price", [{"within": 95}, {"epsilon": "0.1"}, {"scale": 40}])
def test_another_name_is_the_stored_answer(curator: adyton.Curator, price: dict[str, object]) -> None:
    """Mutants: ``detail`` with the names that were given; the newest numbers are shown under the names of before."""
    answers = []
    for sql, names in ASKED:
        assert curator.preview(sql, **price).repeated == bool(answers)  # type: ignore[arg-type]
        answers.append(curator.ask(sql, **price))  # type: ignore[arg-type]
        assert list(answers[-1][0].values) == names
        assert f"COUNT(*) AS {names[0]} FROM" in answers[-1].query
    drafted = curator.ask(count(name="d"), **price)  # type: ignore[arg-type]
    batched = curator.ask_many([count(name="e")], **price)[0]  # type: ignore[arg-type]
    for again in (*answers[1:], drafted, batched):
        assert again.repeated
        assert again.value == answers[0].value
        assert again.receipt == answers[0].receipt
    assert len(curator.receipts()) == 1
    assert "COUNT(*) AS count FROM" in curator.receipts()[0].order.query


def test_a_batch_under_other_names_is_the_stored_batch(curator: adyton.Curator) -> None:
    first = [
        "SELECT region AS r, COUNT(*) AS n FROM people GROUP BY region",
        "SELECT AVG(income) AS m FROM people",
    ]
    again = ["SELECT region, COUNT(*) FROM people GROUP BY region", "SELECT AVG(income) AS mean FROM people"]
    told = curator.ask_many(first, epsilon="0.3")
    repeated = curator.ask_many(again, epsilon="0.3")
    assert [one.repeated for one in repeated] == [True, True]
    assert [row.values["n"] for row in told[0]] == [row.values["count"] for row in repeated[0]]
    assert len(curator.receipts()) == 1


def test_another_name_of_a_group_is_the_stored_answer(curator: adyton.Curator) -> None:
    """Mutant: the names of groups are kept."""
    first = curator.ask("SELECT FLOOR(income / 50000) AS a, COUNT(*) FROM people GROUP BY a", within=200)
    again = curator.ask("SELECT FLOOR(income / 50000) AS b, COUNT(*) FROM people GROUP BY 1", within=200)
    assert (again.repeated, again.receipt, list(again[0].keys)) == (True, first.receipt, ["b"])


def test_a_filter_that_excludes_nothing_is_the_stored_answer(curator: adyton.Curator) -> None:
    """Also one that excludes missing values, where rows without them do not count anyway.

    Mutants: a group that is no reason; a value that is none; a reason although NULL is a group, or although
    another value counts all rows.
    """
    low, high = curator.study.table.column("income").low, curator.study.table.column("income").high  # type: ignore[union-attr]
    regions = ", ".join(repr(one) for one in curator.study.table.column("region").values)  # type: ignore[union-attr]
    same = [f"income BETWEEN {low} AND {high}", "income IS NOT NULL", f"income >= {low} AND income <= {high}"]
    answers = [
        curator.ask(f"SELECT region, COUNT(*) AS n FROM people WHERE {w} GROUP BY region", within=200)
        for w in same
    ]
    assert [one.repeated for one in answers] == [False, True, True]
    everywhere = [f"region IN ({regions})", "region IS NOT NULL", "region = 'north' OR region <> 'north'"]
    grouped = [
        curator.ask(f"SELECT region, COUNT(*) FROM people WHERE {w} GROUP BY region", within=200)
        for w in everywhere
    ]
    assert [one.repeated for one in grouped] == [False, True, True]
    assert curator.ask("SELECT region, COUNT(*) FROM people GROUP BY region", within=200).repeated
    drafted = curator.ask(mean("income", where="income >= 0"), within=5000)
    assert (
        curator.ask("SELECT AVG(income) AS m FROM people WHERE income IS NOT NULL", within=5000).receipt
        == drafted.receipt
    )
    assert curator.ask("SELECT AVG(income) AS m FROM people", within=5000).repeated
    both = "SELECT AVG(income) AS m, COUNT(*) AS n FROM people"
    curator.ask(both, epsilon="0.01")
    assert not curator.ask(f"{both} WHERE income IS NOT NULL", epsilon="0.01").repeated
    assert not curator.ask("SELECT COUNT(*) FROM people WHERE income IS NOT NULL", epsilon="0.01").repeated
