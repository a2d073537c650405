"""Catalogs: what tools ask for, what a real PostgreSQL would say, and what takes too long."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import adyton
from adyton.service.identity import Identity
from adyton.service.roles import Role
from adyton.service.studies import ServedStudy
from adyton.transports.pg.catalog.layout import EMPTY as EMPTY_TABLES
from adyton.transports.pg.catalog.matching import is_like, matches
from adyton.transports.pg.catalog.reading import Catalog, is_catalog
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.settings import SessionSettings
from adyton.transports.pg.values import Field
from postgres_server import NoServer, postgres_server
from served import write_study
from wire import Wired, wired
from wire_statements import (
    ABOUT_CATALOGS,
    DBEAVER,
    DBEAVER_REFUSED,
    EMPTY,
    METABASE,
    METABASE_RECORDED,
    QUERIES,
    ROWS,
    TABLEAU,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("catalog")


@pytest.fixture(scope="module")
def house(folder: Path) -> Iterator[Wired]:
    with wired([write_study(folder)]) as made:
        yield made


@pytest.fixture(scope="module")
def connection(house: Wired) -> Iterator[psycopg.Connection[Any]]:
    with house.connect(house.token("ana"), epsilon="0.01") as made:
        yield made


@pytest.fixture(scope="module")
def served(folder: Path, house: Wired) -> ServedStudy:
    (one,) = house.house.served
    assert isinstance(one, ServedStudy)
    return one


def answer(served: ServedStudy, text: str, **values: Any) -> tuple[list[Field], list[list[Any]]]:
    catalog = Catalog("people", served.study, "ana")
    assert is_catalog(text, catalog.tables_of_study)
    given = {int(name[1:]): value for name, value in values.items()}
    return catalog.answer(text, given, SessionSettings("ana"), served, Identity("ana", Role.ANALYST))


# What tools send -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ABOUT_CATALOGS)
def test_recorded_statements_about_catalogs_are_answered(
    connection: psycopg.Connection[Any], statement: str
) -> None:
    cursor = connection.execute(statement.encode())
    if cursor.description is not None:
        assert all(len(row) == len(cursor.description) for row in cursor.fetchall())


def test_what_tools_learn_of_columns(connection: psycopg.Connection[Any]) -> None:
    described = connection.execute(METABASE_RECORDED[0].encode()).fetchall()
    assert [(row[0], row[1], row[2], row[3], row[4]) for row in described] == [
        ("income", "float8", 0, "public", "people"),
        ("region", "text", 1, "public", "people"),
    ]
    assert described[1][6] == "one of north, south, east, west"
    assert [row[7:] for row in described] == [(False, False)] * 2
    privileges = {
        row[1:3] for row in connection.execute(METABASE["current-user-table-privileges"].encode()).fetchall()
    }
    assert privileges == {
        ("adyton", "columns"),
        ("adyton", "receipts"),
        ("adyton", "budget"),
        ("public", "people"),
    }
    attributes = connection.execute(DBEAVER["PostgreSchema, TableCache, columns"].encode()).fetchall()
    assert {row[0] for row in attributes} == {"people"}


def test_a_recorded_statement_that_is_not_answered_is_refused_with_a_word(
    connection: psycopg.Connection[Any],
) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="not known in statements about catalogs"):
        connection.execute(DBEAVER_REFUSED.encode())


def test_what_tools_learn_of_tables(connection: psycopg.Connection[Any]) -> None:
    """Mutants: rows of a table are counted; views are tables; a table is in no schema."""
    views = [("adyton", name, "VIEW") for name in ("budget", "columns", "receipts")]
    listed = connection.execute(METABASE["get-tables-sql"].encode()).fetchall()
    assert [row[:3] for row in listed] == [("public", "people", "TABLE"), *views]
    assert {row[4] for row in listed} == {None}
    described = connection.execute(METABASE["describe-fields-sql"].encode()).fetchall()
    assert {row[3:5] for row in described} == {row[:2] for row in listed}
    cursor = connection.execute(DBEAVER["PostgreSchema, TableCache"].encode())
    assert cursor.description is not None
    names = [one.name for one in cursor.description]
    (table,) = (dict(zip(names, row, strict=True)) for row in cursor.fetchall())
    assert (table["relname"], table["relkind"], table["relnamespace"]) == ("people", "r", 2200)
    for nothing in ("ConstraintCache", "IndexCache", "ProceduresCache"):
        assert connection.execute(DBEAVER[f"PostgreSchema, {nothing}"].encode()).fetchall() == []


def test_recorded_charts_are_answered_and_rows_are_not(connection: psycopg.Connection[Any]) -> None:
    for statement in QUERIES:
        assert connection.execute(statement.encode()).fetchall()
    for statement in ROWS:
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(statement.encode())
        assert refused.value.sqlstate == "0A000"
    for statement in EMPTY:
        cursor = connection.execute(statement.encode())
        assert cursor.fetchall() == []
        assert cursor.description is not None
        assert [(one.name, one.type_code) for one in cursor.description] == [("income", 701), ("region", 25)]


def test_tableau_fetches_from_cursors(house: Wired) -> None:
    """At a price with so little noise that a thousand rows are never taken for none."""
    with house.connect(house.token("tableau"), epsilon="0.5") as connection:
        _fetch_from_cursors(connection)


def _fetch_from_cursors(connection: psycopg.Connection[Any]) -> None:
    cursor = connection.execute(TABLEAU[0].encode())
    while cursor.description is None:
        assert cursor.nextset()
    assert [row[0] for row in cursor.fetchall()] == ["north", "south", "east", "west"]
    assert connection.execute(TABLEAU[1].encode()).fetchall() == []
    for statement in TABLEAU[2:4]:
        connection.execute(statement.encode())
    assert len(connection.execute(TABLEAU[4].encode()).fetchall()) == 1


# What a real one would say ---------------------------------------------------------------------------------

SAME = [  # the same rows
    "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','p','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' ORDER BY 1, 2",
    "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attnum, a.attlen FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'people'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
    "SELECT table_name, column_name, data_type, udt_name, is_nullable, numeric_precision, ordinal_position FROM information_schema.columns WHERE table_schema = 'public' ORDER BY ordinal_position",
    "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public'",
    "SELECT count(*), max(attnum), min(attname), array_agg(attname ORDER BY attname DESC), string_agg(attname, '-' ORDER BY attname) FROM pg_attribute WHERE attrelid = 'people'::regclass AND attnum > 0",
    "SELECT relkind, count(*) FROM pg_class WHERE relname = 'people' GROUP BY relkind HAVING count(*) > 0",
    "SELECT typname, oid, typlen, typtype, typcategory, typelem, typarray FROM pg_type WHERE typname IN ('int4', '_int4', 'text', 'float8', 'date', 'bool', 'numeric') ORDER BY oid",
    "SELECT CASE WHEN NULL THEN 1 WHEN 2 > 1 THEN 2 END, NULL IS NULL, 1 = ANY (ARRAY[1, 2]), 'a' <> ALL ('{b,c}'::text[]), 3 IN (1, NULL) IS NULL, 'abc' LIKE 'a_c', 'abc' ~ '^a.c$', 'ABC' ~* 'b', 'a' || 1, coalesce(NULL, 'x'), nullif(1, 1)",
    "SELECT 'people'::regclass::text, 'pg_class'::regclass::oid, format_type(20, NULL), quote_ident('A b'), array_to_string(ARRAY['a', NULL, 'b'], ','), (current_schemas(false))[1], array_upper(ARRAY[5, 6], 1)",
    "WITH t AS (SELECT attname, attnum FROM pg_attribute WHERE attrelid = 'people'::regclass AND attnum > 0) SELECT x.attname, (SELECT count(*) FROM t y WHERE y.attnum <= x.attnum) FROM t x ORDER BY x.attnum DESC LIMIT 1 OFFSET 1",
    "SELECT s.n, p.attname FROM generate_series(1, 3) s(n) LEFT JOIN pg_attribute p ON p.attnum = s.n AND p.attrelid = 'people'::regclass ORDER BY 1",
    "SELECT attname FROM pg_attribute WHERE attrelid = 'people'::regclass AND attnum > 0 UNION SELECT 'income' UNION ALL SELECT 'z' ORDER BY 1",
    "SELECT attname, row_number() OVER (PARTITION BY attrelid ORDER BY attnum DESC) AS place FROM pg_attribute WHERE attrelid = 'people'::regclass AND attnum > 0 ORDER BY 2",
    "SELECT DISTINCT attrelid = 'people'::regclass FROM pg_attribute WHERE attrelid = 'people'::regclass",
    "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg/_' || '%' ESCAPE '/' ORDER BY 1 DESC",
    "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'people'), NOT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'nothing')",
    "SELECT x FROM (SELECT 1 AS x UNION ALL SELECT NULL UNION ALL SELECT 2) pg_x ORDER BY x DESC NULLS LAST",
    "SELECT x FROM (SELECT 1 AS x UNION ALL SELECT NULL UNION ALL SELECT 2) pg_x ORDER BY x NULLS FIRST",
    "SELECT x FROM (SELECT 1 AS x UNION ALL SELECT NULL UNION ALL SELECT 2) pg_x ORDER BY x DESC",
    "SELECT 't' = true, true = 't', 'f' = true, 'a' = 'A', '{a,b}' = ARRAY['a', 'b'], ARRAY['a'] = '{b}', - 3, - (2 - 5)",
    "SELECT pg_collation_is_visible(100), pg_is_other_temp_schema(2200), row_security_active('people'::regclass)",
    "SELECT relname FROM pg_class WHERE oid = (SELECT max(attrelid) FROM pg_attribute WHERE attname = 'income') AND relname IS NOT NULL",
]
COLUMNS_ONLY = [  # what names its columns itself
    one
    for one in ABOUT_CATALOGS
    if re.match(r"\s*(SELECT|WITH)", one, re.IGNORECASE)
    and not re.search(r"(\.|SELECT )\*", one, re.IGNORECASE)
]


@pytest.fixture(scope="module")
def real() -> Iterator[psycopg.Connection[Any]]:
    try:
        with postgres_server() as address, psycopg.connect(address, autocommit=True) as made:
            made.execute("CREATE TABLE people (income double precision, region text)")
            made.execute("CREATE SCHEMA adyton")
            yield made
    except NoServer as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("statement", SAME)
def test_the_evaluator_says_what_postgres_says(
    connection: psycopg.Connection[Any], real: psycopg.Connection[Any], statement: str
) -> None:
    ours, theirs = connection.execute(statement.encode()), real.execute(statement.encode())
    assert ours.fetchall() == theirs.fetchall()
    assert ours.description is not None
    assert theirs.description is not None
    assert [one.name for one in ours.description] == [one.name for one in theirs.description]


@pytest.mark.parametrize("statement", COLUMNS_ONLY)
def test_columns_are_called_as_postgres_calls_them(
    connection: psycopg.Connection[Any], real: psycopg.Connection[Any], statement: str
) -> None:
    ours, theirs = connection.execute(statement.encode()), real.execute(statement.encode())
    assert ours.description is not None
    assert theirs.description is not None
    assert [one.name for one in ours.description] == [one.name for one in theirs.description]


@pytest.mark.parametrize("name", EMPTY_TABLES)
def test_all_columns_of_tables_without_rows(
    connection: psycopg.Connection[Any], real: psycopg.Connection[Any], name: str
) -> None:
    schema = "pg_catalog" if name.startswith("pg_") else "information_schema"
    text = f"SELECT * FROM {schema}.{name} WHERE 1 <> 1".encode()
    ours, theirs = connection.execute(text).description, real.execute(text).description
    assert ours is not None
    assert theirs is not None
    assert [one.name for one in ours] == [one.name for one in theirs]


# What takes too long, or is not known ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM pg_type a, pg_type b, pg_type c, pg_type d",
        "SELECT * FROM generate_series(1, 1000000000)",
        "SELECT count(*) FROM generate_series(1, 9999) a, generate_series(1, 9999) b",
        "SELECT 1 FROM pg_class WHERE 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' ~ '(a+)+b'",
        "SELECT 1 FROM pg_class WHERE 'aaaa' ~ '(.*)*x'",
        "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT * FROM t",
        "SELECT " + "(" * 3000 + "1" + ")" * 3000 + " FROM pg_class",
        "SELECT 1 FROM pg_class WHERE " + " AND ".join(["1 = 1"] * 20_000),
        "SELECT -'a' FROM pg_class",
        "SELECT relname FROM pg_class LIMIT 'x'",
        "SELECT DISTINCT ON (relkind) relname FROM pg_class ORDER BY relkind, relname",
    ],
)
def test_bombs_end_with_a_word(connection: psycopg.Connection[Any], text: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(text.encode())
    assert str(refused.value.sqlstate)[:2] in ("54", "0A", "42", "22")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_like_looks_at_each_letter_a_few_times() -> None:
    began = time.process_time()
    assert not is_like("a" * 300, "%a" * 150 + "b")
    assert time.process_time() - began < 30  # a walk back for every sign would never end
    table = {
        ("abc", "a%"): True,
        ("abc", "%c"): True,
        ("abc", "a_"): False,
        ("", "%"): True,
        ("a%", r"a\%"): True,
        ("ab", r"a\%"): False,
    }
    assert {pair: is_like(*pair) for pair in table} == table
    assert matches("pg_toast", "^pg_toast")
    with pytest.raises(SqlError):
        matches("x", "(x*)*")


def test_a_statement_about_both_is_a_query(served: ServedStudy) -> None:
    own = frozenset({"people", "pg_mine"})
    table = {
        "SELECT 1": True,
        "SELECT current_user, version()": True,
        "SELECT COUNT(*)": False,
        "SELECT age": False,
        "SELECT COUNT(*) FROM people": False,
        "SELECT COUNT(*) FROM people, pg_class": False,
        "SELECT COUNT(*) FROM pg_mine": False,
        "SELECT COUNT(*) FROM pg_class": True,
        "SELECT COUNT(*) FROM public.pg_class": False,
        "SELECT * FROM adyton.budget": True,
        "SELECT COUNT(*) FROM people WHERE region = 'pg_x adyton'": False,
        "WITH x AS (SELECT 1 FROM pg_class) SELECT * FROM x": True,
        "WITH pg_x AS (SELECT income FROM people) SELECT COUNT(*) FROM pg_x": False,
    }
    assert {text: is_catalog(text, own) for text in table} == table


def test_catalogs_hold_nothing_that_was_read(served: ServedStudy, folder: Path) -> None:
    """The rows of the study are changed: catalogs say the same."""
    everything = ["pg_class", "pg_attribute", "pg_description", "pg_namespace", "pg_type"]
    told = [answer(served, f"SELECT * FROM pg_catalog.{name}") for name in everything]
    told += [answer(served, f"SELECT * FROM information_schema.{name}") for name in ("tables", "columns")]
    study = adyton.read_study(folder / "people.toml")
    catalog = Catalog("people", study, "ana")  # a study is no data: it has only been read from its file
    again = [
        catalog.answer(f"SELECT * FROM pg_catalog.{name}", {}, SessionSettings("ana"), None, None)  # type: ignore[arg-type]
        for name in everything
    ]
    assert [rows for _, rows in again] == [rows for _, rows in told[: len(everything)]]


def test_parameters_and_lists(served: ServedStudy) -> None:
    text = "SELECT relname FROM pg_class WHERE relkind = ANY ($1) AND relname IN ($2, $3) ORDER BY relname"
    _, rows = answer(served, text, p1=["r", "v"], p2="people", p3="columns")
    assert rows == [["columns"], ["people"]]
    fields, rows = answer(
        served, "SELECT oid, relname, relhasindex, relacl FROM pg_class WHERE relname = $1", p1="people"
    )
    assert [field.oid for field in fields] == [26, 19, 16, 1009]
    assert rows == [[16384, "people", False, ["ana=r/ana"]]]
