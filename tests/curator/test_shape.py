"""How an answer is shown: rows are picked and ordered as SQL would, from released values and keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isnan, nan

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.curator.mock import mock_of
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.query.queries import count
from adyton.query.released.nodes import Every, Opposite, Relation, ReleasedName, Some, Term
from adyton.query.request import AS_ASKED, Request, Shape, request_of
from adyton.query.sql.read import parse
from adyton.study import Study
from support.strategies import PEOPLE, PERSONS
from support.tries import often

GROUPED = (
    "SELECT region, smoker, FLOOR(age / 10) AS decade, COUNT(*) AS n, AVG(income) AS pay FROM people "
    "GROUP BY region, smoker, decade"
)
law = settings(deadline=None, max_examples=often(50, 100))


def answers() -> st.SearchStrategy[list[tuple[dict[str, str | int | bool], dict[str, float]]]]:
    """Rows of an answer; values repeat, so that orders have ties, and some are missing, as NULL is."""
    keys = st.fixed_dictionaries(
        {
            "region": st.sampled_from(["north", "south", "east", "west"]),
            "smoker": st.booleans(),
            "decade": st.integers(0, 12),
        }
    )
    value = st.one_of(st.integers(-3, 3).map(float), st.sampled_from([0.5, -0.25, 1e300, -0.0]), st.just(nan))
    return st.lists(st.tuples(keys, st.fixed_dictionaries({"n": value, "pay": value})), max_size=8)


def havings() -> st.SearchStrategy[str]:
    sign = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    number = st.sampled_from(["0", "1", "-2", "0.5", "n", "pay", "decade", "3"])
    text = st.sampled_from(["'north'", "'south'", "'o'", "region"])
    part = st.one_of(
        st.builds("{} {} {}".format, st.sampled_from(["n", "pay", "decade"]), sign, number),
        st.builds("region {} {}".format, sign, text),
        st.builds("n {}BETWEEN {} AND {}".format, st.sampled_from(["", "NOT "]), number, number),
        st.sampled_from(
            ["smoker", "smoker = FALSE", "smoker <> TRUE", "n IN (0, 1)", "region NOT IN ('east')"]
        ),
    )
    both = st.builds("({} {} {})".format, part, st.sampled_from(["AND", "OR"]), part)
    some = st.builds(lambda no, one: "NOT " * no + one, st.integers(0, 2), st.one_of(part, both))
    return st.lists(st.tuples(st.sampled_from([" AND ", " OR "]), some), min_size=1, max_size=3).map(
        lambda parts: "".join(word + one for word, one in parts).removeprefix(parts[0][0])
    )


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE answer (place INT, region VARCHAR, smoker BOOLEAN, decade INT, n DOUBLE, pay DOUBLE)"
        )
        yield connection


@law
@given(
    answers(),
    st.one_of(st.none(), havings()),
    st.lists(
        st.tuples(
            st.sampled_from(["region", "smoker", "decade", "n", "pay"]),
            st.sampled_from(["", " ASC", " DESC"]),
        ),
        max_size=3,
    ),
    st.one_of(st.none(), st.integers(0, 4)),
    st.one_of(st.none(), st.integers(0, 4)),
)
def test_law_rows_are_shown_as_an_engine_would(
    engine: duckdb.DuckDBPyConnection,
    rows: list[tuple[dict[str, str | int | bool], dict[str, float]]],
    having: str | None,
    order: list[tuple[str, str]],
    limit: int | None,
    offset: int | None,
) -> None:
    terms = [name + direction for name, direction in order]
    tail = f" LIMIT {limit}" if limit is not None else ""
    tail += f" OFFSET {offset}" if offset is not None else ""
    ordered = f" ORDER BY {', '.join(terms)}" if terms else ""
    shape = request_of(GROUPED + (f" HAVING {having}" if having else "") + ordered + tail, PEOPLE).shape
    engine.execute("DELETE FROM answer")
    for i, (keys, values) in enumerate(rows):
        row = {**keys, **values}
        told_row = [i, *(row[name] for name in ("region", "smoker", "decade", "n", "pay"))]
        told_row = [None if cell != cell else cell for cell in told_row]
        engine.execute("INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?)", told_row)
    where = f" WHERE {having}" if having else ""
    told = engine.execute(f"SELECT place FROM answer{where} ORDER BY {', '.join([*terms, 'place'])}{tail}")
    assert list(shape.applied(rows)) == [place for (place,) in told.fetchall()]


@pytest.mark.parametrize(
    "inner", ["n > 0 OR pay > 0", "n > 0 AND pay > 0", "NOT n > 0 OR pay > 0", "n <> 1 AND pay = 0"]
)
@pytest.mark.parametrize(
    "outer", ["{}", "NOT ({})", "NOT (NOT ({}))", "({}) OR n = pay", "NOT ({}) AND n <= 1"]
)
def test_missing_values_have_the_logic_of_sql(
    engine: duckdb.DuckDBPyConnection, inner: str, outer: str
) -> None:
    """All pairs of missing, 0 and 1.  Mutants: NOT of an OR needs one part only; NOT of an AND needs all."""
    having, cells = outer.format(inner), (nan, 0.0, 1.0)
    rows = [
        ({"region": "east", "smoker": True, "decade": 1}, {"n": n, "pay": p}) for n in cells for p in cells
    ]
    engine.execute("DELETE FROM answer")
    for i, (_, values) in enumerate(rows):
        told = [None if isnan(cell) else cell for cell in values.values()]
        engine.execute("INSERT INTO answer VALUES (?, 'east', TRUE, 1, ?, ?)", [i, *told])
    shape = request_of(f"{GROUPED} HAVING {having} ORDER BY n DESC, pay", PEOPLE).shape
    found = engine.execute(f"SELECT place FROM answer WHERE {having} ORDER BY n DESC, pay, place").fetchall()
    assert list(shape.applied(rows)) == [place for (place,) in found]


def test_a_query_without_more_is_shown_as_it_is() -> None:
    asking = request_of("SELECT COUNT(*) FROM people", PEOPLE)
    assert asking == Request(parse("SELECT COUNT(*) FROM people", PEOPLE))
    assert asking.shape == AS_ASKED
    assert AS_ASKED.applied([({}, {"n": 1.0})] * 3) == (0, 1, 2)
    assert request_of(count(), PEOPLE) == asking == request_of(asking.query, PEOPLE)


SHAPES = {
    "ORDER BY 4 DESC": Shape((Term("n", descending=True),)),
    "ORDER BY COUNT(*), AVG(income) DESC": Shape((Term("n"), Term("pay", descending=True))),
    "ORDER BY FLOOR(age / 10), REGION": Shape((Term("decade"), Term("region"))),
    "LIMIT 3": Shape(limit=3),
    "LIMIT 0 OFFSET 2": Shape(limit=0, offset=2),
    "HAVING AVG(income) > 2": Shape(having=Relation(ReleasedName("pay"), ">", Fraction(2))),
    "HAVING 2 < PAY": Shape(having=Relation(Fraction(2), "<", ReleasedName("pay"))),
    "HAVING n > pay": Shape(having=Relation(ReleasedName("n"), ">", ReleasedName("pay"))),
    "HAVING n > 1 / 3": Shape(having=Relation(ReleasedName("n"), ">", Fraction(1, 3))),
    "HAVING NOT smoker": Shape(having=Opposite(Relation(ReleasedName("smoker"), "=", True))),
    "HAVING region IN ('north')": Shape(having=Some((Relation(ReleasedName("region"), "=", "north"),))),
    "HAVING FLOOR(age / 10) BETWEEN 1 AND 2 LIMIT 1": Shape(
        limit=1,
        having=Every(
            (
                Relation(ReleasedName("decade"), ">=", Fraction(1)),
                Relation(ReleasedName("decade"), "<=", Fraction(2)),
            )
        ),
    ),
}


@pytest.mark.parametrize("said", SHAPES)
def test_what_is_said_about_an_answer_is_its_shape(said: str) -> None:
    assert request_of(f"{GROUPED} {said}", PEOPLE) == Request(parse(GROUPED, PEOPLE), SHAPES[said])


def test_distributions_histograms_and_days_have_keys_of_their_own() -> None:
    cdf = request_of("SELECT CDF(age, 1, 2) FROM people HAVING upto > 1 ORDER BY cdf_age DESC", PEOPLE)
    assert cdf.shape == Shape(
        (Term("cdf_age", descending=True),), having=Relation(ReleasedName("upto"), ">", Fraction(1))
    )
    bins = request_of("SELECT HISTOGRAM(age, 10) FROM people ORDER BY 1 DESC, age, COUNT(*)", PEOPLE)
    assert bins.shape.order == (Term("count", descending=True), Term("age"), Term("count"))
    days = request_of(
        "SELECT born, COUNT(*) FROM people GROUP BY born HAVING born >= DATE '2020-01-31'", PEOPLE
    )
    assert days.shape.having == Relation(ReleasedName("born"), ">=", "2020-01-31")
    rows = [({"born": day}, {"count": 1.0}) for day in ("2020-01-30", "2020-01-31", "2020-11-01")]
    assert days.shape.applied(rows) == (1, 2)


def test_two_values_of_one_meaning_are_told_apart_by_place_and_name() -> None:
    twice = "SELECT region, COUNT(*) AS a, COUNT(*) AS b FROM people GROUP BY region ORDER BY"
    ordered = [
        request_of(f"{twice} {term}", PEOPLE).shape.order[0].name for term in ("2", "3", "b", "COUNT(*)")
    ]
    assert ordered == ["a", "b", "b", "a"]


def test_the_head_of_a_query_names_a_price() -> None:
    head = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, delta = 1e-7, privacy_unit_column = pid)"
    asking = request_of(f"{head} COUNT(*) FROM people", PERSONS)
    assert asking == Request(
        parse("SELECT COUNT(*) FROM people", PERSONS), epsilon=Fraction(1, 2), delta=Fraction("1e-7")
    )
    short = request_of("SELECT WITH OPTIONS(epsilon = .5, delta = .01) COUNT(*) FROM people", PERSONS)
    assert (short.epsilon, short.delta) == (Fraction(1, 2), Fraction(1, 100))
    with pytest.raises(InvalidRequest, match="a query alone"):
        parse(f"{head} COUNT(*) FROM people", PERSONS)
    with pytest.raises(InvalidRequest, match="the unit"):
        request_of("SELECT WITH OPTIONS(max_groups_contributed = 2) COUNT(*) FROM people", PEOPLE)


def test_orders_are_total_and_bad_shapes_cannot_be_built() -> None:
    """What says nothing is last in a rising order and in a falling one: a mutant that only turns round fails."""
    rows = [({}, {"n": value}) for value in (nan, 1.0, nan, -1.0)]
    assert Shape((Term("n"),)).applied(rows) == (3, 1, 0, 2)
    assert Shape((Term("n", descending=True),)).applied(rows) == (1, 3, 0, 2)
    for bad in ({"limit": -1}, {"limit": 1.5}, {"offset": -1}, {"offset": True}):
        with pytest.raises(InvalidRequest):
            Shape(**bad)
    with pytest.raises(InvalidRequest):
        Relation(ReleasedName("n"), "~", 1)  # type: ignore[arg-type]


def test_a_column_is_shown_under_the_name_that_it_is_given() -> None:
    """The query is the same: the answer was paid for once, whatever its keys are called."""
    renamed = request_of(
        'SELECT region AS r, smoker AS "Smokes?", COUNT(*) AS n FROM people GROUP BY r, smoker '
        "HAVING r <> 'north' ORDER BY \"Smokes?\" DESC, region",
        PEOPLE,
    )
    plain = request_of(
        "SELECT region, smoker, COUNT(*) AS n FROM people GROUP BY region, smoker "
        "HAVING region <> 'north' ORDER BY smoker DESC, region",
        PEOPLE,
    )
    assert renamed.query == plain.query
    assert (renamed.shape.order, renamed.shape.having) == (plain.shape.order, plain.shape.having)
    keys = {"region": "south", "smoker": True}
    assert renamed.shape.named(keys) == {"r": "south", "Smokes?": True}
    assert plain.shape.named(keys) == keys


def test_names_may_change_places_and_then_mean_what_is_shown() -> None:
    swapped = request_of(
        "SELECT region AS smoker, smoker AS region, COUNT(*) FROM people "
        "GROUP BY people.region, people.smoker ORDER BY region",
        PEOPLE,
    )
    assert swapped.shape.order == (Term("smoker"),)
    assert swapped.shape.named({"region": "south", "smoker": True}) == {"smoker": "south", "region": True}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region AS count, COUNT(*) FROM people GROUP BY region",
        "SELECT region AS n, COUNT(*) AS n FROM people GROUP BY region",
        "SELECT region AS smoker, smoker, COUNT(*) FROM people GROUP BY 1, 2",
        "SELECT region AS upto, CDF(age, 3) FROM people GROUP BY region",
        f'SELECT region AS "{"x" * 101}", COUNT(*) FROM people GROUP BY region',
    ],
)
def test_no_two_things_are_shown_under_one_name(sql: str) -> None:
    with pytest.raises(InvalidRequest):
        request_of(sql, PEOPLE)


def test_the_answer_under_other_names_is_the_same_answer() -> None:
    study = Study(PEOPLE, PrivacyUnit("add-remove"), Guarantee(Fraction(9), Fraction(1, 10**9)))
    with mock_of(study, 50) as curator:
        asked = "SELECT region{}, age > 30 AS older, COUNT(*) AS n FROM people GROUP BY region, older"
        first = curator.ask(asked.format(""), epsilon=1)
        again = curator.ask(asked.format(" AS r"), epsilon=1)
        (preview,) = curator.preview_many([asked.format(" AS r")], epsilon=1)
    assert again.repeated
    assert again.cost.units == 0
    assert [row.values for row in again.rows] == [row.values for row in first.rows]
    renamed = [{"r": row.keys["region"], "older": row.keys["older"]} for row in first.rows]
    assert [row.keys for row in again.rows] == renamed == list(preview.keys or ())
    assert {type(row.keys["older"]) for row in first.rows} == {bool}


COUNTED = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("SELECT DIV(COUNT(*), 7) AS w FROM people", "SELECT TRUNC(COUNT(*) / 7) AS w FROM people"),
        ("SELECT COUNT(*) // 7 AS w FROM people", "SELECT TRUNC(COUNT(*) / 7) AS w FROM people"),
        (
            "SELECT +COUNT(*) AS n FROM people WHERE age > + 5",
            "SELECT COUNT(*) AS n FROM people WHERE age > 5",
        ),
        (f"{COUNTED} HAVING 1 = 1", COUNTED),
        (f"{COUNTED} HAVING TRUE AND n > 3", f"{COUNTED} HAVING n > 3"),
        (f"{COUNTED} HAVING n > 3 OR NOT 'a' <> 'b'", f"{COUNTED} HAVING n > 3"),
        (f"{COUNTED} HAVING n > 3 OR 2 BETWEEN 1 AND 3", COUNTED),
        (f"{COUNTED} QUALIFY 2 IN (1, 2)", COUNTED),
        (
            "SELECT CASE WHEN 1 > 2 THEN 1 WHEN COUNT(*) > 3 THEN 2 WHEN 1 < 2 THEN 3 WHEN COUNT(*) > 9 THEN 5 ELSE 4 END AS c FROM people",
            "SELECT CASE WHEN COUNT(*) > 3 THEN 2 ELSE 3 END AS c FROM people",
        ),
    ],
)
def test_law_what_literals_settle_is_settled_before_anything_is_asked(said: str, plain: str) -> None:
    assert request_of(said, PEOPLE) == request_of(plain, PEOPLE)
