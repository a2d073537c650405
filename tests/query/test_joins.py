"""Joins mean what SQL says: DuckDB reads the same texts on the plain tables, without bounds, and counts alike."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import adyton
from adyton.curator.opening import engine_of, sources_of
from adyton.engines.multi_table import Engines
from adyton.errors import InvalidRequest
from adyton.kernel.schema import IntegerColumn, PublicJoin, Table
from adyton.kernel.terms.measures import Count
from adyton.kernel.terms.names import joined
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.query.sql.read import parse
from adyton.query.text import query_text
from adyton.study import Study, read_study
from support.shorthands import cell_values

STUDY = """
[table]
name = "people"
source = "people.parquet"

[privacy]
unit = "person"
person = "pid"
rows_per_person = 50
adjacency = "add-remove"
epsilon = 100
delta = 1e-9

[columns.region]
kind = "category"
values = ["n", "s", "e", "w", "nowhere"]

[columns.age]
kind = "integer"
low = 0
high = 100

[columns.name]
kind = "category"
values = ["x", "y"]

[private.visits]
source = "visits.parquet"
person = "patient"
rows_per_person = 50

[private.visits.columns.cost]
kind = "integer"
low = 0
high = 9

[private.visits.columns.ward]
kind = "category"
values_from = "wards"

[private.visits.columns.age]
kind = "integer"
low = 0
high = 100

[public.regions]
source = "regions.csv"
key = "region"

[public.wards]
source = "wards.parquet"
key = "code"
joins = "visits.ward"
"""
REGIONS = """region,zone,height,eu,name,since
n,cold,10,true,North,1990-01-01
s,warm,-3,false,South,
e,,7,,East,2001-02-03
w,warm,,true,West,2001-02-03
unknown,odd,5,true,Other,
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("joins"), random.Random(4)
    people = [
        {
            "pid": i % 25 if i % 9 else None,
            "region": rng.choice(["n", "s", "e", "w", "nowhere", None]),
            "age": rng.choice([None, *range(0, 100, 7)]),
            "name": rng.choice(["x", "y", None]),
        }
        for i in range(60)
    ]
    visits = [
        {
            "patient": rng.choice([None, *range(30)]),
            "cost": rng.choice([None, *range(10)]),
            "ward": rng.choice([1, 2, 3, None]),
            "age": rng.randrange(100),
        }
        for _ in range(80)
    ]
    wards = {"code": [1, 2, 3], "floor": [0, 1, 1], "rate": [0.5, 2.25, 0.5]}
    pd.DataFrame(people).convert_dtypes().to_parquet(folder / "people.parquet")
    pd.DataFrame(visits).convert_dtypes().to_parquet(folder / "visits.parquet")
    pd.DataFrame(wards).to_parquet(folder / "wards.parquet")
    (folder / "regions.csv").write_text(REGIONS)
    (folder / "people.toml").write_text(STUDY)
    return folder


@pytest.fixture(scope="module")
def study(folder: Path) -> Study:
    return read_study(folder / "people.toml")


@pytest.fixture(scope="module")
def engine(study: Study) -> Iterator[Engines]:
    engine = engine_of(study, sources_of(study, None))
    assert isinstance(engine, Engines)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def plain(folder: Path) -> Iterator[Any]:
    """The tables as they are, but for rows of nobody."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE people AS FROM '{folder}/people.parquet' WHERE pid IS NOT NULL")
    connection.execute(f"CREATE TABLE visits AS FROM '{folder}/visits.parquet' WHERE patient IS NOT NULL")
    connection.execute(f"CREATE TABLE wards AS FROM '{folder}/wards.parquet'")
    connection.execute(f"CREATE TABLE regions AS FROM read_csv('{folder}/regions.csv')")
    yield connection
    connection.close()


INNER, LEFT = "people JOIN regions USING (region)", "people LEFT JOIN regions USING (region)"
ON_PERSON = "people JOIN visits ON people.pid = visits.patient"
ALL = (
    f"{ON_PERSON} LEFT JOIN regions ON people.region = regions.region JOIN wards ON visits.ward = wards.code"
)
TOTALS = [
    f"SELECT COUNT(*), SUM(age) FROM {INNER}",
    f"SELECT COUNT(*), SUM(height), SUM(height * age), SUM(regions.height + 1) FROM {INNER}",
    f"SELECT COUNT(*), COUNT(zone), COUNT(eu), COUNT(height), COUNT(regions.region) FROM {LEFT}",
    f"SELECT COUNT(*) FROM {INNER} WHERE zone = 'cold'",
    f"SELECT COUNT(*) FROM {INNER} WHERE zone <> 'cold'",
    f"SELECT COUNT(*) FROM {INNER} WHERE NOT zone = 'cold'",
    f"SELECT COUNT(*) FROM {LEFT} WHERE NOT (zone = 'cold' AND age > 20)",
    f"SELECT COUNT(*) FROM {LEFT} WHERE NOT zone IN ('cold')",
    f"SELECT COUNT(*) FROM {LEFT} WHERE zone IS NULL",
    f"SELECT COUNT(*) FROM {LEFT} WHERE regions.region IS NULL",
    f"SELECT COUNT(*) FROM {LEFT} WHERE regions.region = 'n' OR people.region = 's'",
    f"SELECT COUNT(*) FROM {INNER} WHERE regions.region = 'n'",
    f"SELECT COUNT(*) FROM {LEFT} WHERE eu",
    f"SELECT COUNT(*) FROM {LEFT} WHERE NOT eu",
    f"SELECT COUNT(*) FROM {LEFT} WHERE eu IS NULL OR eu",
    f"SELECT COUNT(*) FROM {LEFT} WHERE height BETWEEN 0 AND 8",
    f"SELECT COUNT(*) FROM {LEFT} WHERE height < age AND regions.name <> 'West'",
    f"SELECT COUNT(*) FROM {INNER} WHERE people.name = 'x' AND regions.name = 'North'",
    f"SELECT SUM(CASE WHEN eu THEN height ELSE 1 END) FROM {LEFT}",
    f"SELECT SUM(age) FILTER (WHERE zone = 'warm'), SUM(height) FILTER (WHERE age > 50) FROM {LEFT}",
    "SELECT COUNT(*), SUM(cost) FROM visits v JOIN wards w ON w.code = v.ward WHERE w.floor = 1",
    "SELECT SUM(rate * cost) FROM visits JOIN wards ON visits.ward = wards.code",
    "SELECT COUNT(*), SUM(cost), SUM(age) FROM visits",
    f"SELECT COUNT(*), SUM(cost), SUM(people.age), SUM(visits.age) FROM {ON_PERSON}",
    "SELECT COUNT(*), SUM(v.age) FROM visits AS v INNER JOIN people p ON (v.patient = p.pid) WHERE p.age > v.age",
    f"SELECT COUNT(*), SUM(height), SUM(rate) FROM {ALL} WHERE NOT eu OR floor = 1",
    f"SELECT COUNT(DISTINCT people.pid) FROM {ON_PERSON} WHERE cost > 5",
]
GROUPED = [
    f"SELECT zone, COUNT(*), SUM(age) FROM {LEFT} GROUP BY zone",
    f"SELECT eu, COUNT(*) FROM {INNER} GROUP BY eu",
    f"SELECT regions.name, COUNT(*) FROM {INNER} GROUP BY regions.name",
    f"SELECT regions.region, COUNT(*) FROM {LEFT} GROUP BY regions.region",
    f"SELECT people.region, COUNT(*) FROM {LEFT} GROUP BY people.region",
    f"SELECT since, COUNT(*) FROM {LEFT} GROUP BY since",
    f"SELECT height, COUNT(*) FROM {LEFT} GROUP BY height",
    f"SELECT zone, eu, COUNT(*) FROM {LEFT} WHERE age > 10 GROUP BY zone, eu",
    f"SELECT floor, zone, COUNT(*), SUM(cost) FROM {ALL} GROUP BY floor, zone",
    f"SELECT ward, COUNT(*) FROM {ON_PERSON} GROUP BY ward",
]


def asked(study: Study, engine: Engines, sql: str) -> tuple[Query, list[list[int]]]:
    """For each measure, its integers in all cells."""
    query = parse(sql, *study.tables)
    readings = readings_of(query, study.unit_of(query.table))
    engine.prepare(readings)
    assert all(len(reading.coordinates) == 1 for reading in readings)
    return query, [columns[0] for columns in engine.exact(readings)]


@pytest.mark.parametrize("sql", TOTALS)
def test_law_a_join_means_what_it_means_in_sql(study: Study, engine: Engines, plain: Any, sql: str) -> None:
    query, found = asked(study, engine, sql)
    (wanted,) = plain.execute(sql).fetchall()
    steps = [getattr(measure, "value", None) for _, measure in query.measures]
    steps = [1 if value is None else value.lattice.step for value in steps]
    assert [cells[0] * step for (cells, step) in zip(found, steps, strict=True)] == [w or 0 for w in wanted]
    assert any(wanted)


@pytest.mark.parametrize("sql", GROUPED)
def test_law_groups_of_public_values_mean_what_they_mean_in_sql(
    study: Study, engine: Engines, plain: Any, sql: str
) -> None:
    query, found = asked(study, engine, sql)
    keys = [str(key) for key in _keys(query)]
    wanted = {str(row[: len(query.by)]): row[len(query.by) :] for row in plain.execute(sql).fetchall()}
    for measure, cells in enumerate(found):
        got = {key: value for key, value in zip(keys, cells, strict=True) if value}
        assert got == {
            key: values[measure] for key, values in wanted.items() if "None" not in key and values[measure]
        }
        assert got


def _keys(query: Query) -> list[tuple[Any, ...]]:
    return [tuple(map(_shown, key)) for key in cell_values(query)]


def _shown(value: Any) -> Any:
    import datetime

    iso = isinstance(value, str) and value[4:5] == "-"
    return datetime.date.fromisoformat(value) if iso else value


@pytest.mark.parametrize("sql", TOTALS + GROUPED)
def test_law_the_canonical_text_of_a_join_asks_the_same(study: Study, engine: Engines, sql: str) -> None:
    text = query_text(parse(sql, *study.tables))
    assert query_text(parse(text, *study.tables)) == text
    (one, found), (two, again) = (asked(study, engine, spelled) for spelled in (sql, text))
    assert one.table == two.table
    assert [name for name, _ in one.measures] == [name for name, _ in two.measures]
    assert found == again


def test_spellings_of_one_join_are_one_query(study: Study) -> None:
    spellings = [
        f"SELECT COUNT(*) FROM {ON_PERSON} JOIN regions USING (region) WHERE regions.zone = 'cold'",
        "select count(*) from VISITS v inner join People p on V.patient = P.PID "
        "join Regions r on R.region = p.REGION where R.Zone in ('cold')",
    ]
    texts = {query_text(parse(sql, *study.tables)) for sql in spellings}
    assert texts == {
        "SELECT COUNT(*) AS count FROM people JOIN visits ON people.pid = visits.patient "
        "JOIN regions ON people.region = regions.region WHERE (zone IN ('cold'))"
    }


def test_different_joins_are_different_queries(study: Study) -> None:
    tables = ["people", "visits", INNER, LEFT, ON_PERSON, f"{ON_PERSON} JOIN regions USING (region)", ALL]
    texts = {query_text(parse(f"SELECT COUNT(*) FROM {table}", *study.tables)) for table in tables}
    assert len(texts) == len(tables)


def test_joins_in_other_words_are_one_query(study: Study) -> None:
    spellings = [
        f"{ON_PERSON} JOIN regions USING (region) WHERE cost > 3 AND height > 5",
        "people JOIN visits ON pid = patient AND cost > 3 JOIN regions USING (region) WHERE height > 5",
        "regions r JOIN people p ON p.region = r.region, visits WHERE height > 5 AND cost > 3 AND pid = patient",
        "visits CROSS JOIN main.regions JOIN people ON people.region = regions.region AND pid = patient "
        "AND height > 5 WHERE cost > 3",
        "((people JOIN visits ON pid = patient) JOIN regions USING (region)) WHERE cost > 3 AND height > 5",
        "regions JOIN (people JOIN visits ON pid = patient) ON people.region = regions.region AND cost > 3 "
        "WHERE height > 5",
        "(SELECT * FROM people) p JOIN (SELECT patient AS who FROM visits WHERE cost > 3) v ON v.who = p.pid "
        "JOIN (SELECT region AS r FROM regions WHERE height > 5) q ON q.r = p.region",
    ]
    texts = {query_text(parse(f"SELECT COUNT(*) FROM {tables}", *study.tables)) for tables in spellings}
    assert texts == {
        "SELECT COUNT(*) AS count FROM people JOIN visits ON people.pid = visits.patient "
        "JOIN regions ON people.region = regions.region WHERE ((cost > 3) AND (height > 5))"
    }


REFUSED = [
    ("people JOIN visits", "say on which columns"),
    ("people, visits", "say on which columns"),
    ("people JOIN visits ON TRUE", "joined on the person: write ON people.pid = visits.patient"),
    ("people JOIN visits USING (pid)", "joined on the person: write ON people.pid = visits.patient"),
    ("people JOIN visits ON people.age = visits.age", "joined on the person: write ON people.pid"),
    ("people JOIN visits ON people.pid = people.pid", "joined on the person"),
    ("people JOIN visits ON people.pid < visits.patient", "joined on the person"),
    ("people JOIN visits ON (people.pid < visits.patient)", "joined on the person"),
    (f"{ON_PERSON} OR TRUE", "joined on the person"),
    ("people LEFT JOIN visits ON people.pid = visits.patient", "not LEFT JOIN"),
    ("people RIGHT JOIN visits ON people.pid = visits.patient", "not LEFT JOIN"),
    ("people FULL JOIN visits ON people.pid = visits.patient", "FULL is not supported"),
    ("people CROSS JOIN visits", "say on which columns"),
    ("people NATURAL JOIN visits", "NATURAL is not supported"),
    ("people JOIN people ON people.pid = people.pid", "named twice"),
    ("people a JOIN people b ON a.pid = b.pid", "named twice"),
    ("people JOIN regions r USING (region) JOIN regions s USING (region)", "named twice"),
    ("people a JOIN regions a USING (region)", "named twice"),
    ("people JOIN regions ON people.name = regions.name", "write ON people.region = regions.region"),
    ("people JOIN wards ON people.region = wards.code", "'wards' is joined to 'visits'"),
    ("regions", "'regions' is public"),
    ("regions LEFT JOIN people USING (region)", "put the private table first"),
    ("people JOIN visits USING (pid) RIGHT JOIN regions USING (region)", "RIGHT JOIN is read between two"),
    ("people LEFT JOIN regions ON people.region = regions.region AND eu WHERE zone = 'cold'", "into WHERE"),
    (
        "people JOIN nothing USING (region)",
        "the tables here are called 'people', 'visits', 'regions', 'wards'",
    ),
    ("people JOIN (SELECT 1) x USING (region)", "a sub-select names its table: FROM people"),
    ("people JOIN regions USING (region, name)", "is joined on its key"),
    ("people JOIN regions USING (region) x", "write JOIN table ON a.key = b.key, or JOIN table USING"),
    ("people JOIN LATERAL regions USING (region)", "LATERAL is not supported"),
    ("(people)", "a sub-select is one SELECT"),
    ("people LEFT JOIN (visits JOIN wards ON ward = code) ON pid = patient", "take one table, not several"),
]


@pytest.mark.parametrize(("tables", "says"), REFUSED)
def test_other_joins_are_refused_with_a_reason(study: Study, tables: str, says: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(f"SELECT COUNT(*) FROM {tables}", *study.tables)
    assert says in caught.value.message


def test_names_in_several_tables_must_say_which(study: Study) -> None:
    with pytest.raises(
        InvalidRequest, match=r"'age' is in more than one table; write people\.age or visits\.age"
    ):
        parse(f"SELECT SUM(age) FROM {ON_PERSON}", *study.tables)
    with pytest.raises(InvalidRequest, match=r"the tables here are 'p', 'regions'"):
        parse("SELECT SUM(people.age) FROM people p JOIN regions USING (region)", *study.tables)
    with pytest.raises(InvalidRequest, match="has no column 'zone'"):
        parse("SELECT COUNT(zone) FROM people", *study.tables)
    with pytest.raises(InvalidRequest, match="'visits' has no column 'zone'"):
        parse(f"SELECT COUNT(visits.zone) FROM {ON_PERSON} JOIN regions USING (region)", *study.tables)


def test_persons_of_any_joined_table_can_be_counted_and_not_looked_at(study: Study) -> None:
    texts = {
        query_text(parse(f"SELECT COUNT(DISTINCT {who}) FROM {ON_PERSON}", *study.tables))
        for who in ("pid", "people.pid", "patient", "visits.patient")
    }
    assert len(texts) == 1
    with pytest.raises(InvalidRequest, match="identifies persons"):
        parse(f"SELECT COUNT(*) FROM {ON_PERSON} WHERE visits.patient = 3", *study.tables)
    with pytest.raises(InvalidRequest):
        parse(f"SELECT COUNT(DISTINCT visits.pid) FROM {ON_PERSON}", *study.tables)


def test_four_private_tables_are_too_many() -> None:
    tables = [Table(name, (IntegerColumn("x", 0, 1),), person="pid") for name in "abcd"]
    sql = "SELECT COUNT(*) FROM a JOIN b USING (pid) JOIN c USING (pid)"
    assert parse(sql, *tables).table == joined(tuple(tables[:3]))
    with pytest.raises(InvalidRequest, match="at most 3 private tables"):
        parse(f"{sql} JOIN d USING (pid)", *tables)


# Engines ----------------------------------------------------------------------------------------------------


def test_each_engine_gets_its_own_readings(study: Study, engine: Engines) -> None:
    texts = ["people", "visits", ON_PERSON, "people", "visits"]
    queries = [parse(f"SELECT COUNT(*) FROM {tables}", *study.tables) for tables in texts]
    readings = [r for q in queries for r in readings_of(q, study.unit_of(q.table))]
    engine.prepare(readings)
    one_by_one = [engine.exact([reading])[0] for reading in readings]
    assert engine.exact(readings) == one_by_one
    assert one_by_one[0] == one_by_one[3] != one_by_one[1]


def test_too_little_noise_for_a_join_reads_nothing(study: Study, engine: Engines) -> None:
    """A query about a joined table that was priced as one about a single table."""
    query = parse(f"SELECT COUNT(*) FROM {ON_PERSON}", *study.tables)
    readings = readings_of(query, study.unit)
    with pytest.raises(InvalidRequest, match="the noise does not fit"):
        engine.prepare(readings)
    with pytest.raises(InvalidRequest, match="the noise does not fit"):
        engine.exact(readings)


def test_a_wrong_source_of_one_table_is_found_when_it_is_asked_about(study: Study, folder: Path) -> None:
    broken = replace(study.further[0], source=folder / "nowhere.parquet")
    other = replace(study, further=(broken,))
    engine = engine_of(other, sources_of(other, None))
    assert isinstance(engine, Engines)
    engine.prepare()
    query = parse(f"SELECT COUNT(*) FROM {ON_PERSON}", *other.tables)
    with pytest.raises(InvalidRequest, match=r"'nowhere\.parquet' does not exist"):
        engine.prepare(readings_of(query, other.unit_of(query.table)))
    engine.close()


def test_sources_by_name(study: Study) -> None:
    with pytest.raises(InvalidRequest, match="data has no table 'visit' to fill; there are: people, visits"):
        adyton.open(study, data={"visit": 1})
    bare = replace(study, source=None, ledger=None)
    with pytest.raises(InvalidRequest, match="no source for table 'people'"):
        adyton.open(bare)
    mixed = {"people": "postgresql://h/d", "visits": "visits.csv"}
    engine = engine_of(bare, sources_of(bare, mixed))
    assert isinstance(engine, Engines)
    with pytest.raises(InvalidRequest, match="joined where they lie"):
        engine.of(joined(study.tables))


def test_a_query_of_another_study_is_refused(study: Study) -> None:
    from adyton.query.request import request_of

    mine = Query(joined(study.tables), (("n", Count()),))
    assert request_of(mine, *study.tables).alone is mine
    wider = replace(study.tables[0], columns=(IntegerColumn("age", 0, 10**6),), dimensions=())
    for table in (wider, joined((wider, study.tables[1])), joined(study.tables[::-1])):
        with pytest.raises(InvalidRequest, match="about another table"):
            request_of(Query(table, (("n", Count()),)), *study.tables)


def test_a_joined_table_is_only_what_its_parts_say(study: Study) -> None:
    """Bounds, or a public table, that somebody changed on the way."""
    from adyton.query.request import request_of

    people = study.tables[0]
    (regions,) = people.dimensions
    good = joined(study.tables, (PublicJoin("people", regions, left=False),))
    assert request_of(Query(good, (("n", Count()),)), *study.tables).alone.table == good
    tampered = replace(regions, attributes=regions.attributes[1:])
    wider = tuple(replace(c, high=10**6) if isinstance(c, IntegerColumn) else c for c in good.columns)
    for table in (
        joined(study.tables, (PublicJoin("people", tampered, left=False),)),
        joined(study.tables, (PublicJoin("visits", regions, left=False),)),
        replace(good, columns=wider),
        replace(good, rows=5),
    ):
        with pytest.raises(InvalidRequest, match="about another table"):
            request_of(Query(table, (("n", Count()),)), *study.tables)


def test_how_many_rows_a_join_has_is_not_known() -> None:
    one, two = (Table(name, (IntegerColumn("x", 0, 1),), 5, "pid") for name in ("one", "two"))
    assert joined((one, two)).rows is None
    assert joined((one,)).rows == 5


def test_a_public_table_can_be_joined_and_asked(folder: Path) -> None:
    """From the study file to the answer."""
    with adyton.open(replace(read_study(folder / "people.toml"), ledger=None)) as curator:
        answer = curator.ask(f"SELECT zone, COUNT(*) FROM {INNER} GROUP BY zone", epsilon=Fraction(50))
        assert [row.keys["zone"] for row in answer.rows] == ["cold", "warm"]


def test_ready_queries_may_be_about_every_table_of_the_study(study: Study) -> None:
    """And about no other: bounds of one's own would not fit the noise."""
    from adyton.query.request import request_of

    people, visits = study.tables
    for table in (people, visits, joined((people, visits))):
        query = Query(table, (("n", Count()),))
        assert request_of(query, *study.tables).query == query
    narrower = replace(visits, columns=(IntegerColumn("cost", 0, 1),), dimensions=())
    for table in (narrower, joined((people, narrower))):
        with pytest.raises(InvalidRequest, match="another table"):
            request_of(Query(table, (("n", Count()),)), *study.tables)
    forged = replace(joined((people, visits)), columns=(IntegerColumn("cost", 0, 1),))
    with pytest.raises(InvalidRequest, match="another table"):
        request_of(Query(forged, (("n", Count()),)), *study.tables)
