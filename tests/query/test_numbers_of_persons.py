"""Numbers of each person mean what SQL says: DuckDB reads the same texts on the plain table, and finds the same."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter
from typing import Any

import duckdb
import pandas as pd
import pytest

import adyton
from adyton.certify import Absent
from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, RealColumn, Table
from adyton.kernel.terms.measures import Count
from adyton.kernel.terms.persons import PersonNumber, TableOfPersons, table_of_persons
from adyton.planning.learned import Learned
from adyton.planning.readings import readings_of
from adyton.population.base import spread_key
from adyton.query.nodes import Query
from adyton.query.request import request_of
from adyton.query.sql.read import parse
from adyton.query.text import query_text
from adyton.study import Study, Validity
from support.shorthands import cell_values
from support.tries import crossed, often

MOST = 12
PERSONS = 40
VISITS = Table(
    "visits",
    (
        IntegerColumn("age", 0, 99),
        RealColumn("cost", Fraction(-5), Fraction(20), Fraction(1, 4)),
        CategoryColumn("ward", ("a", "b", "c")),
        BooleanColumn("urgent"),
        DateColumn("day", datetime.date(2020, 1, 1), datetime.date(2022, 12, 31)),
    ),
    rows=PERSONS,
    person="pid",
    most_rows=MOST,
)


def rows_of(seed: int) -> pd.DataFrame:
    """Nobody has more rows than count, and nothing lies outside of what is declared."""
    rng = random.Random(seed)
    rows = [
        {
            "pid": person,
            "age": rng.choice([None, *range(0, 99, 9)]),
            "cost": rng.choice([None, *(step / 4 for step in range(-20, 81, 7))]),
            "ward": rng.choice(["a", "b", "c", None]),
            "urgent": rng.choice([True, False, None]),
            "day": rng.choice([None, datetime.date(2020, 1, 1) + datetime.timedelta(rng.randrange(1000))]),
        }
        for person in range(PERSONS)
        for _ in range(rng.randint(1, rng.choice([1, 3, MOST])))
    ]
    rng.shuffle(rows)
    return pd.DataFrame(rows).convert_dtypes()


def study(adjacency: Any = "replace-one", most: int = MOST, **more: Any) -> Study:
    unit = PrivacyUnit(adjacency, "pid", most)
    return Study(VISITS, unit, Guarantee(Fraction(100), Fraction(1, 10**9)), **more)


OF_EACH = "SELECT pid, COUNT(*) AS visits, SUM(cost) AS spent, MAX(age) AS oldest FROM visits GROUP BY pid"
TOTALS = [
    f"SELECT COUNT(*), SUM(visits), SUM(spent), SUM(oldest) FROM ({OF_EACH})",
    f"SELECT COUNT(*), SUM(p.visits) FROM ({OF_EACH}) AS p WHERE p.visits > 3",
    f"WITH p AS ({OF_EACH}) SELECT SUM(spent), COUNT(DISTINCT pid) FROM p WHERE oldest IS NOT NULL",
    f"WITH p AS ({OF_EACH}) SELECT COUNT(*) FROM p AS q WHERE q.spent < q.visits",
    "SELECT SUM(v) FROM (SELECT pid, COUNT(*) AS v FROM visits WHERE age > 40 AND urgent GROUP BY pid)",
    "SELECT COUNT(*) FROM (SELECT pid FROM visits WHERE ward = 'a' GROUP BY pid)",
    "SELECT SUM(v) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY 1 HAVING COUNT(*) > 2)",
    "SELECT COUNT(*) FROM (SELECT pid FROM visits GROUP BY pid HAVING SUM(cost) > 10 OR MIN(age) < 20)",
    "SELECT SUM(v) FROM (SELECT pid, COUNT(*) AS v, SUM(cost) AS s FROM visits WHERE age < 90 GROUP BY pid "
    "HAVING MAX(age) > 30) WHERE v BETWEEN 2 AND 5 AND NOT s > 20",
    "SELECT SUM(a), SUM(b), SUM(c) FROM (SELECT pid, COUNT(age) AS a, COUNT(*) FILTER (WHERE urgent) AS b, "
    "SUM(CASE WHEN ward = 'b' THEN 1 ELSE 0 END) AS c FROM visits GROUP BY pid)",
    "SELECT SUM(d), COUNT(*) FILTER (WHERE d = 3) FROM "
    "(SELECT pid, COUNT(DISTINCT ward) AS d FROM visits GROUP BY pid)",
    "SELECT SUM(r) FROM (SELECT pid, MAX(cost) - MIN(cost) AS r FROM visits GROUP BY pid)",
    "SELECT SUM(r) FROM (SELECT pid, MAX(cost) - 2 * MIN(age) + COUNT(*) AS r FROM visits GROUP BY pid)",
    "SELECT SUM(LEAST(v, 4)) FROM (SELECT pid, GREATEST(COUNT(*), 2) AS v FROM visits GROUP BY pid)",
    "SELECT SUM(k) FROM (SELECT pid, CASE WHEN COUNT(*) > 3 THEN SUM(cost) ELSE 0 END AS k "
    "FROM visits GROUP BY pid)",
    "SELECT COUNT(*) FROM (SELECT pid, MIN(day) AS first, MAX(day) FILTER (WHERE urgent) AS last "
    "FROM visits GROUP BY pid) WHERE first < last AND YEAR(first) = 2020",
    "SELECT COUNT(*) FROM (SELECT pid, MIN(day) AS first FROM visits GROUP BY pid) WHERE first > DATE '2020-06-01'",
    "WITH urgent AS (SELECT *, cost * 2 AS dear FROM visits WHERE urgent), p AS (SELECT u.pid, SUM(u.dear) AS s "
    "FROM urgent AS u WHERE age > 10 GROUP BY u.pid) SELECT SUM(s), COUNT(*) FILTER (WHERE s > 3) FROM p",
    "SELECT SUM(n) FROM (SELECT who, COUNT(*) AS n FROM (SELECT pid AS who, age FROM visits) AS q WHERE age < 60 "
    "GROUP BY who HAVING n > 1) AS p",
    "SELECT SUM(e) FROM (SELECT pid, SUM(cost) AS e FROM visits WHERE cost IS NULL GROUP BY pid)",
    "SELECT COUNT(*) FROM (SELECT v.pid, SUM(v.age + v.cost) AS s FROM visits v GROUP BY v.pid) WHERE s IS NULL",
    "SELECT SUM(u) FROM (SELECT pid AS who, SUM(CASE WHEN urgent THEN age ELSE 1 END) AS u FROM visits "
    "GROUP BY pid) AS x",
    # An average is exact, whatever the number of rows: it is counted in 1/27720 of a step.
    "SELECT SUM(m * 110880) FROM (SELECT pid, AVG(cost) AS m FROM visits GROUP BY pid)",
    "SELECT COUNT(*) FROM (SELECT pid, AVG(age) AS m, COUNT(*) AS n FROM visits GROUP BY pid) WHERE m < 30.5",
    "SELECT COUNT(*) FROM (SELECT pid FROM visits GROUP BY pid HAVING AVG(age + 1) >= 50)",
]
GROUPED = [
    f"SELECT visits, COUNT(*), SUM(spent) FROM ({OF_EACH}) GROUP BY visits",
    f"SELECT CASE WHEN visits > 3 THEN 'many' ELSE 'few' END AS often, COUNT(*) FROM ({OF_EACH}) GROUP BY often",
    f"SELECT visits > 3 AS often, SUM(oldest) FROM ({OF_EACH}) GROUP BY visits > 3",
    f"SELECT FLOOR(oldest / 20) AS bin, COUNT(*) FROM ({OF_EACH}) WHERE visits > 1 GROUP BY bin",
    "SELECT often, COUNT(*), SUM(v) FROM (SELECT pid, COUNT(*) AS v, CASE WHEN COUNT(*) > 3 THEN 'many' "
    "ELSE 'few' END AS often FROM visits GROUP BY pid) AS p GROUP BY often",
    "SELECT YEAR(first) AS y, COUNT(*) FROM (SELECT pid, MIN(day) AS first FROM visits GROUP BY pid) GROUP BY y",
    "SELECT d, v, COUNT(*) FROM (SELECT pid, COUNT(DISTINCT ward) AS d, LEAST(COUNT(*), 4) AS v FROM visits "
    "GROUP BY pid) GROUP BY d, v",
]


@pytest.fixture(scope="module", params=range(3))
def data(request: pytest.FixtureRequest) -> pd.DataFrame:
    return rows_of(request.param)


@pytest.fixture(scope="module")
def curator(data: pd.DataFrame) -> Curator:
    curator = adyton.open(study(), data=data)
    curator._engine.prepare()
    return curator


@pytest.fixture(scope="module")
def plain(data: pd.DataFrame) -> Iterator[Any]:
    connection = duckdb.connect()
    connection.register("given", data)
    numbers = "CAST(age AS INTEGER) AS age, CAST(cost AS DOUBLE) AS cost, CAST(day AS DATE) AS day"
    connection.execute(f"CREATE TABLE visits AS SELECT pid, {numbers}, ward, urgent FROM given")
    yield connection
    connection.close()


def asked(curator: Curator, sql: str) -> tuple[Query, list[list[Any]]]:
    """For each measure, its values in all cells."""
    query = parse(sql, *curator.study.tables)
    assert isinstance(query.table, TableOfPersons)
    readings = readings_of(query, curator.study.unit_of(query.table))
    steps = [getattr(measure, "value", None) for _, measure in query.measures]
    steps = [1 if value is None else value.lattice.step for value in steps]
    exact = curator._engine.exact(readings)
    return query, [[cell * step for cell in own[0]] for own, step in zip(exact, steps, strict=True)]


@pytest.mark.parametrize("sql", TOTALS)
def test_law_numbers_of_persons_mean_what_they_mean_in_sql(curator: Curator, plain: Any, sql: str) -> None:
    _, found = asked(curator, sql)
    (wanted,) = plain.execute(sql).fetchall()
    assert [cells[0] for cells in found] == pytest.approx([w or 0 for w in wanted], rel=1e-12)


@pytest.mark.parametrize("sql", GROUPED)
def test_law_groups_of_persons_mean_what_they_mean_in_sql(curator: Curator, plain: Any, sql: str) -> None:
    query, found = asked(curator, sql)
    keys, by = cell_values(query), len(query.by)
    wanted = {tuple(row[:by]): row[by:] for row in plain.execute(sql).fetchall()}
    for measure, cells in enumerate(found):
        got = {key: value for key, value in zip(keys, cells, strict=True) if value}
        assert got == {key: row[measure] for key, row in wanted.items() if None not in key and row[measure]}
        assert got


def random_query(rng: random.Random) -> str:
    """Numbers of persons, computed and filtered inside and outside."""
    conditions = [
        "age > 40",
        "urgent",
        "NOT urgent",
        "ward IN ('a', 'c')",
        "cost IS NULL",
        "day < '2021-06-01'",
    ]
    numbers = ["age", "cost", "age + cost", "CASE WHEN urgent THEN age END", "-age"]

    def aggregate() -> str:
        only = f" FILTER (WHERE {rng.choice(conditions)})" if rng.random() < 0.4 else ""
        name = rng.choice(["COUNT(*)", "COUNT(age)", "COUNT(DISTINCT ward)", "SUM({})", "MIN({})", "MAX({})"])
        return name.format(rng.choice(numbers)) + only

    def computed() -> str:
        one, other = aggregate(), aggregate()
        forms = [one, one, f"{one} - 2 * {other}", f"CASE WHEN {one} > 3 THEN {other} ELSE 1 END"]
        return rng.choice([*forms, "LEAST(COUNT(*), 7)"])  # DuckDB's passes over NULL, ours does not

    inner = f"SELECT pid, {computed()} AS a, {computed()} AS b FROM visits"
    inner += f" WHERE {rng.choice(conditions)}" if rng.random() < 0.5 else ""
    inner += " GROUP BY pid" + (f" HAVING {aggregate()} >= {rng.randint(0, 9)}" if rng.random() < 0.5 else "")
    outside = rng.choice(["", " WHERE a > 2", " WHERE NOT (a < b OR b = 1)", " WHERE a BETWEEN -3 AND 30"])
    return f"SELECT COUNT(*), SUM(a), SUM(a + b), COUNT(*) FILTER (WHERE b > 1) FROM ({inner}) AS p{outside}"


@pytest.mark.parametrize("seed", range(often(20, 40)))
def test_law_random_numbers_of_persons_mean_what_they_mean_in_sql(
    curator: Curator, plain: Any, seed: int
) -> None:
    sql = random_query(random.Random(seed))
    _, found = asked(curator, sql)
    (wanted,) = plain.execute(sql).fetchall()
    assert [cells[0] for cells in found] == [w or 0 for w in wanted], sql
    text = query_text(parse(sql, VISITS))
    assert query_text(parse(text, VISITS)) == text


EACH_SOMEWHERE = sorted(crossed(TOTALS + GROUPED, range(3)), key=itemgetter(1))  # rows are loaded once


@pytest.mark.parametrize(("sql", "data"), EACH_SOMEWHERE, indirect=["data"])
def test_law_the_canonical_text_asks_the_same(curator: Curator, sql: str) -> None:
    text = query_text(parse(sql, VISITS))
    assert query_text(parse(text, VISITS)) == text
    (one, found), (two, again) = (asked(curator, spelled) for spelled in (sql, text))
    assert [name for name, _ in one.measures] == [name for name, _ in two.measures]
    assert found == again


def test_what_nobody_asks_about_is_no_part_of_the_query() -> None:
    short = "SELECT AVG(visits) FROM (SELECT pid, COUNT(*) AS visits FROM visits GROUP BY pid)"
    texts = {query_text(parse(sql, VISITS)) for sql in (short, f"SELECT AVG(visits) FROM ({OF_EACH}) p")}
    assert texts == {short.replace("AVG(visits)", "AVG(visits) AS avg_visits")}


REFUSED = {
    "SELECT AVG(v) FROM (SELECT pid, ward, COUNT(*) AS v FROM visits GROUP BY pid, ward)": "by the person alone",
    "SELECT AVG(v) FROM (SELECT ward, COUNT(*) AS v FROM visits GROUP BY ward)": "unless it is one row for each person",
    "SELECT AVG(v) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY 2)": "unless it is one row for each person",
    "SELECT AVG(age) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid)": "does not list 'age'",
    "SELECT AVG(count) FROM (SELECT pid FROM visits GROUP BY pid HAVING COUNT(*) > 1)": "does not list 'count'",
    "SELECT AVG(a) FROM (SELECT pid, age AS a FROM visits GROUP BY pid)": "one number is needed",
    "SELECT AVG(a) FROM (SELECT pid, COUNT(*) + age AS a FROM visits GROUP BY pid)": "one number is needed",
    "SELECT AVG(a) FROM (SELECT pid, MEDIAN(age) AS a FROM visits GROUP BY pid)": "of the rows of one person",
    "SELECT AVG(a) FROM (SELECT pid, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) AS a FROM visits GROUP BY pid)": "of the rows of one person",
    "SELECT AVG(a) FROM (SELECT pid, COUNT(DISTINCT age) AS a FROM visits GROUP BY pid)": "categories only",
    "SELECT AVG(a) FROM (SELECT pid, COUNT(DISTINCT pid) AS a FROM visits GROUP BY pid)": "count persons outside",
    "SELECT AVG(pid) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid)": "can only be counted",
    "SELECT pid, AVG(v) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid) GROUP BY pid": "only be counted",
    "SELECT AVG(who) FROM (SELECT pid AS who, COUNT(*) AS v FROM visits GROUP BY pid)": "can only be counted",
    "SELECT AVG(pid) FROM (SELECT COUNT(*) AS pid FROM visits GROUP BY pid)": "name this apart",
    "SELECT AVG(v) FROM (SELECT pid, COUNT(*) AS v, SUM(age) AS V FROM visits GROUP BY pid)": "name them apart",
    "SELECT AVG(v) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid ORDER BY v)": "ORDER is not supported",
    "SELECT AVG(v) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid LIMIT 9)": "LIMIT is not supported",
    "SELECT AVG(v) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid) AS p (a, b)": "cannot follow",
    "SELECT AVG(v) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid) JOIN visits USING (pid)": "asked alone",
    "SELECT PROPORTION(CLIPPED(v)) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid)": "for each person",
    "SELECT AVG(visits.v) FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid)": "the only table here",
    "SELECT AVG(v) FROM (SELECT pid, SUM(age * 1e14 + 1) AS v FROM visits GROUP BY pid)": "beyond 2**53",
    "SELECT * FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid)": "only be counted",
    "SELECT v FROM (SELECT pid, COUNT(*) AS v FROM visits GROUP BY pid)": "only be counted",
}  # fmt: skip


@pytest.mark.parametrize("sql", REFUSED)
def test_what_no_person_can_be_asked_is_refused_with_a_reason(sql: str) -> None:
    with pytest.raises(InvalidRequest, match=REFUSED[sql].replace("*", r"\*").replace("(", r"\(")):
        parse(sql, VISITS)


def test_an_average_of_very_many_rows_is_refused() -> None:
    many = replace(VISITS, most_rows=13)
    with pytest.raises(InvalidRequest, match="of up to 13 rows of a person is not exact"):
        parse("SELECT AVG(m) FROM (SELECT pid, AVG(age) AS m FROM visits GROUP BY pid)", many)


@pytest.mark.parametrize("most", [1, 2])
def test_numbers_are_of_the_rows_that_count(data: pd.DataFrame, most: int) -> None:
    """The cut comes first: nobody has more rows than that, and an answer says so.

    Mutant: numbers of all rows, clipped afterwards.
    """
    curator = adyton.open(study(most=most), data=data)
    curator._engine.prepare()
    _, ((visits,), (spent,)) = asked(curator, f"SELECT SUM(visits), SUM(spent) FROM ({OF_EACH})")
    (kept, cost) = curator._engine.exact(
        readings_of(parse("SELECT COUNT(*), SUM(cost) FROM visits", curator.study.table), curator.study.unit)
    )
    assert (visits, spent) == (kept[0][0], cost[0][0] * Fraction(1, 4))
    answer = curator.ask(f"SELECT AVG(spent) FROM ({OF_EACH})", epsilon=1)
    assert answer.left_out_rows is not None
    assert "The numbers of each person are of those rows." in answer.left_out_rows
    assert "TWO-LEVEL" in answer.certificate.theorems
    assert f"at most {most} are used" in answer.certificate.assumptions[0]
    again = curator.ask(f"SELECT AVG(spent) FROM ({OF_EACH}) AS other", epsilon=1)
    assert again.receipt == answer.receipt


def test_a_share_of_all_persons_has_a_public_denominator() -> None:
    """Not if some persons have no such row.  Mutant: public whatever the inner WHERE says."""
    unit = study().unit_of(parse(f"SELECT COUNT(*) FROM ({OF_EACH})", VISITS).table)
    everybody = "SELECT PROPORTION(v > 3) FROM (SELECT pid, COUNT(*) AS v FROM visits{} GROUP BY pid){}"
    known = [
        readings_of(parse(everybody.format(*where), VISITS), unit)[0].public_rows
        for where in [("", ""), (" WHERE urgent", ""), (" HAVING COUNT(*) > 1", ""), ("", " WHERE v > 1")]
        if "HAVING" not in where[0]
    ]
    assert known == [PERSONS, None, None]


def test_a_table_of_persons_is_bounded_by_the_study_that_is_asked() -> None:
    narrow = table_of_persons(
        replace(VISITS, most_rows=2), PARSED.table.given, (("v", PersonNumber("rows")),)
    )
    query = Query(narrow, (("n", Count()),))
    with pytest.raises(InvalidRequest, match="another table"):
        request_of(query, *study().tables)
    with pytest.raises(InvalidRequest, match="do not fit"):
        study().unit_of(narrow)
    with pytest.raises(InvalidRequest, match="follow from the rows of a person that count"):
        replace(narrow, columns=(IntegerColumn("v", 0, 1),))
    wide = replace(PARSED.table, of=replace(VISITS, most_rows=MOST))
    assert request_of(replace(PARSED, table=wide), *study().tables).query == PARSED


PARSED = parse("SELECT AVG(age) FROM (SELECT pid, MAX(age) AS age FROM visits GROUP BY pid)", VISITS)
assert isinstance(PARSED.table, TableOfPersons)


def test_a_variance_of_rows_says_nothing_about_persons(data: pd.DataFrame) -> None:
    """Although both values are called age and lie between the same bounds; a variance of persons does.

    Mutant: ``spread_key`` without the table of persons.
    """
    declared = study(validity=Validity(Fraction(95, 100)))
    curator = adyton.open(declared, data=data)
    mean = "SELECT AVG(age) FROM (SELECT pid, MAX(age) AS age FROM visits GROUP BY pid)"
    (reading,) = readings_of(parse(mean, VISITS), declared.unit_of(PARSED.table))
    (of_rows,) = readings_of(parse("SELECT AVG(age) FROM visits", VISITS), declared.unit)
    assert spread_key(reading) != spread_key(of_rows)
    learned = Learned(declared, curator._ledger)
    curator.ask("SELECT VARIANCE(age) FROM visits", share="0.1")
    learned._has_learned()
    assert spread_key(reading) not in learned._known
    curator.ask(mean.replace("AVG", "VARIANCE"), share="0.1")
    learned._has_learned()
    assert spread_key(reading) in learned._known
    found = curator.ask(mean, share="0.1").rows[0].values["avg_age"].population_interval
    assert not isinstance(found, Absent)


def test_monitors_do_not_ask_about_persons(data: pd.DataFrame) -> None:
    monitor = adyton.open(study("add-remove"), data=data).open_monitor(positives=1, epsilon=1)
    with pytest.raises(InvalidRequest, match="rows, not about numbers of each person"):
        monitor.feed(f"SELECT COUNT(*) FROM ({OF_EACH})", above=3)


def test_a_batch_is_about_the_same_persons(data: pd.DataFrame) -> None:
    """Whatever it asks of them, and filters that exclude each other share a charge.

    Mutant: a name with two meanings in a batch, by which nobody is told apart.
    """
    curator = adyton.open(study("add-remove"), data=data)
    few = f"SELECT COUNT(*) FROM ({OF_EACH}) WHERE visits <= 3"
    many = "SELECT SUM({}) FROM ({}) WHERE visits > 3"
    answers = curator.ask_many([few, many.format("spent", OF_EACH)], epsilon=1)
    assert all("DISJOINT-FILTERS" in answer.certificate.theorems for answer in answers)
    assert len(curator.ask_many([few, f"SELECT AVG(oldest) FROM ({OF_EACH})"], epsilon=1)) == 2
    counted, urgent = (
        OF_EACH.replace("COUNT(*)", "COUNT(age)"),
        OF_EACH.replace(" GROUP", " WHERE urgent GROUP"),
    )
    for other in (counted, urgent, "SELECT age AS visits FROM visits"):
        with pytest.raises(InvalidRequest, match="of a batch are about one table"):
            curator.ask_many([few, many.format("visits", other)], epsilon=1)


def test_the_same_numbers_under_other_names(curator: Curator) -> None:
    """Sums that an engine keeps for the next filter belong to rows: of persons they would be found again under
    names that they do not have.
    """
    text = "SELECT COUNT(*) FROM (SELECT pid, COUNT(*) AS {0} FROM visits GROUP BY pid) WHERE {0} > {1}"
    found = {name: [asked(curator, text.format(name, i))[1] for i in (1, 1, 2)] for name in ("a", "b")}
    assert found["a"] == found["b"]
