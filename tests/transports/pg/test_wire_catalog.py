"""Catalogs: what tools ask for, what a real PostgreSQL would say, and what takes too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

import adyton
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.studies import ServedStudy
from adyton.transports.pg.catalog import limits
from adyton.transports.pg.catalog.layout import relations
from adyton.transports.pg.catalog.reading import Catalog, is_catalog
from adyton.transports.pg.settings import SessionSettings
from adyton.transports.pg.values import Field
from support.postgres import NoServer, postgres_server
from support.servers import write_study
from support.wire import Wired, wired
from support.wire_statements import (
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
    "SELECT DISTINCT ON (attrelid) attname FROM pg_attribute WHERE attrelid = 'people'::regclass AND attnum > 0 ORDER BY attrelid, attname DESC",
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
def test_catalogs_say_what_postgres_says(
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


def test_tables_have_the_columns_of_postgres(real: psycopg.Connection[Any]) -> None:
    """Mutant: a line is left out of relations.txt, or a column of a line."""
    found = real.execute(
        "SELECT n.nspname, c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
        "WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v') GROUP BY 1, 2"
    ).fetchall()
    theirs = {(schema, name): columns for schema, name, columns in found}
    ours = {relation: list(columns) for relation, columns in relations().items() if relation in theirs}
    if real.info.server_version // 10_000 != 15:
        pytest.skip("the tables are those of PostgreSQL 15")
    assert ours == theirs


# What takes too long, or is not known ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM " + ", ".join(f"pg_type t{at}" for at in range(12)),
        "SELECT * FROM generate_series(1, 1000000000)",
        "SELECT count(*) FROM generate_series(1, 9999) a, generate_series(1, 9999) b, generate_series(1, 9999) c",
        "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t, pg_am",
        "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT x FROM t, pg_am",
        "SELECT " + "(" * 3000 + "1" + ")" * 3000 + " FROM pg_class",
        "SELECT 1 FROM pg_class WHERE " + " AND ".join(["1 = 1"] * 20_000),
        "SELECT -'a' FROM pg_class",
        "SELECT relname FROM pg_class LIMIT 'x'",
        "SELECT relname FROM pg_class WHERE relname ~ relkind",
        "SELECT relname FROM pg_class WHERE relname ~ '(a{20}){21}'",
        "SELECT relname FROM pg_class WHERE relname ~ '('",
        "SELECT c FROM pg_class c",
        "SELECT * FROM pg_catalog.. pg_class",
        "SELECT *relname FROM pg_class",
        "SELECT nothing FROM pg_class",
        "SELECT nothing(1) FROM pg_class",
        "SELECT ARRAY[ARRAY[1]] FROM pg_class",
    ],
)
def test_bombs_end_with_a_word(
    connection: psycopg.Connection[Any], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LIMITS", replace(limits.LIMITS, wire_catalog_seconds=0.3))
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(text.encode())
    assert str(refused.value.sqlstate)[:2] in ("54", "57", "0A", "42", "22")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_patterns_are_those_of_postgres(served: ServedStudy) -> None:
    table = {
        "'abc' LIKE 'a%'": True,
        "'abc' LIKE '%c'": True,
        "'abc' LIKE 'a_'": False,
        "'' LIKE '%'": True,
        r"'a%' LIKE 'a\%'": True,
        r"'ab' LIKE 'a\%'": False,
        "'a.c' LIKE 'a.c'": True,
        "'abc' LIKE 'a.c'": False,
        "'ABC' ILIKE 'a%'": True,
        "'pg_toast' ~ '^pg_toast'": True,
        "'PEOPLE' ~* '^(people)$'": True,
        "'people' OPERATOR(pg_catalog.~) '^(people)$' COLLATE pg_catalog.default": True,
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' ~ '(a+)+b'": False,
    }
    for text, expected in table.items():
        assert answer(served, f"SELECT {text} FROM pg_am")[1] == [[expected]], text


def test_numbers_of_tables_are_shown_by_name(connection: psycopg.Connection[Any]) -> None:
    """As text their name, in binary their number.  Mutant: a number in both."""
    text = "SELECT 'public.people'::regclass AS a, 23::regtype AS b FROM pg_am"
    assert connection.execute(text).fetchall() == [("people", "integer")]
    with connection.cursor(binary=True) as cursor:
        assert [bytes(one) for one in cursor.execute(text).fetchall()[0]] == [b"\0\0@\0", b"\0\0\0\x17"]


def test_a_setting_is_changed_for_each_row(served: ServedStudy) -> None:
    """Mutant: it is changed when the statement is read."""
    catalog, session = Catalog("people", served.study, "ana"), SessionSettings("ana")
    who = Identity("ana", Role.ANALYST)
    for name, expected in (("nothing", ""), ("people", "x")):
        text = f"SELECT set_config('application_name', 'x', false) FROM pg_class WHERE relname = '{name}'"
        catalog.answer(text, {}, session, served, who)
        assert session.shown("application_name") == expected


def test_what_clients_may_ask_besides(served: ServedStudy) -> None:
    """Functions behind FROM, joins in brackets, WITH RECURSIVE, and tables that a study has nothing for."""
    table: dict[str, list[list[Any]]] = {
        "SELECT * FROM current_schema()": [["public"]],
        "SELECT name FROM pg_show_all_settings() WHERE name = 'TimeZone'": [["TimeZone"]],
        "SELECT * FROM unnest(ARRAY['a', 'b']) WITH ORDINALITY AS k(x, n) ORDER BY n": [["a", 1], ["b", 2]],
        "SELECT g FROM generate_series(1, 3) g ORDER BY g DESC": [[3], [2], [1]],
        "SELECT c.relname FROM (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace) JOIN pg_type t "
        "ON t.typname = 'int4' WHERE n.nspname = 'public'": [["people"]],
        "SELECT c.relname FROM pg_am RIGHT JOIN pg_class c ON false WHERE c.relkind = 'r'": [["people"]],
        "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t WHERE x < 4) SELECT max(x) FROM t, pg_am": [[4]],
        "WITH pg_class AS (SELECT relname FROM pg_class WHERE relkind = 'r') SELECT * FROM pg_class": [["people"]],
        "SELECT DISTINCT ON (relkind) relkind FROM pg_class ORDER BY relkind": [["r"], ["v"]],
        "SELECT typsend, typinput FROM pg_type WHERE typname IN ('int4', 'date', '_text') ORDER BY oid": [
            ["int4send", "int4in"], ["array_send", "array_in"], ["date_send", "date_in"],
        ],
        "SELECT typname FROM pg_type WHERE typinput = 'pg_catalog.array_in'::regproc AND typname = '_int4'": [["_int4"]],
        "SELECT count(*) FROM pg_stat_user_tables, pg_statio_user_tables, pg_replication_slots": [[0]],
        "SELECT 'public.people'::regclass::text, 'adyton.receipts'::regclass::text": [["people", "adyton.receipts"]],
        "SELECT 2200::regnamespace::text, 'public'::regnamespace::oid": [["public", 2200]],
        "SELECT tableoid = 'pg_class'::regclass FROM pg_class WHERE relname = 'people'": [[True]],
        "SELECT x FROM (SELECT rank() OVER (ORDER BY relkind) AS x FROM pg_class) pg_x ORDER BY 1 LIMIT 2": [[1], [2]],
    }  # fmt: skip
    for text, expected in table.items():
        assert answer(served, text)[1] == expected, text


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
