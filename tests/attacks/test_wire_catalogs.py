"""Databases that hold catalogs: no statement of a client reads a file, changes a setting, or sees another session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

import adyton
from adyton.transports.pg.catalog.database import DATABASES, CatalogDatabase
from adyton.transports.pg.catalog.facts import CatalogFacts
from adyton.transports.pg.catalog.layout import relations
from adyton.transports.pg.catalog.reading import is_catalog
from support.servers import write_study
from support.wire import Wired, wired

HOSTILE = [
    "SELECT * FROM read_csv('{file}'), pg_am",
    "SELECT * FROM pg_am, read_text('{file}')",
    "SELECT * FROM pg_am, '{file}'",
    "SELECT * FROM pg_catalog.\"{file}\"",
    "SELECT pg_read_file('{file}')",
    "SELECT getenv('HOME')",
    "SELECT current_setting('temp_directory')",
    "SELECT * FROM duckdb_settings(), pg_am",
    "SELECT * FROM duckdb_tables(), pg_am",
    "SELECT * FROM pg_catalog.duckdb_secrets",
    "SELECT adyton_text('current_user') FROM pg_am",
    "SELECT * FROM pg_am, query('SELECT 1')",
    "SELECT * FROM pg_am, query_table('pg_am')",
    "SELECT set_config('threads', '8', false), nextval('x')",
    "WITH x AS (DELETE FROM pg_class RETURNING *) SELECT * FROM x",
    "SELECT * INTO pg_mine FROM pg_class",
    "SELECT * FROM pg_class FOR UPDATE",
    "SELECT * FROM memory.main.pg_class",
    "SELECT * FROM duckdb_columns, (WITH duckdb_columns AS (SELECT 1) SELECT 1) x, pg_am",
    "SELECT * FROM pg_class TABLESAMPLE SYSTEM (10)",
    "SELECT COLUMNS('.*') FROM pg_class",
    "SELECT struct_extract(c, 'x') FROM pg_class c",
    "SELECT list_transform(ARRAY[1], x -> x) FROM pg_am",
    "COPY (SELECT * FROM pg_class) TO '{file}'",
    "ATTACH '{file}' AS pg_x",
    "INSTALL httpfs",
    "PRAGMA database_list",
]  # fmt: skip


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    with wired([write_study(tmp_path_factory.mktemp("catalogs"))]) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "secret.csv"
    made.write_text("canary\n8675309\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_client_may_not_say(house: Wired, file: Path, text: str) -> None:
    """Mutants: any kind of expression, any function, any table goes to the database."""
    with house.connect(house.token("ana")) as connection:
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(text.replace("{file}", str(file)).encode()).fetchall()
        assert "8675309" not in str(refused.value)
        assert str(refused.value.sqlstate)[:2] in ("0A", "22", "25", "42", "54")
        assert connection.execute("SELECT count(*) FROM pg_class").fetchone() == (4,)
    assert file.read_text(encoding="utf-8") == "canary\n8675309\n"


def test_the_database_has_no_access_by_itself(file: Path) -> None:
    """Whatever gets there: files, networks, extensions, variables of this program and settings are closed.

    Mutant: a line of _CLOSED is left out.
    """
    somebody = {"canary": [8675309]}
    database = CatalogDatabase(CatalogFacts("people", "ana", ()))
    connection: Any = database._connection
    for text in (
        f"SELECT * FROM read_csv('{file}')",
        f"SELECT * FROM '{file}'",
        f"COPY (SELECT 1) TO '{file}'",
        f"ATTACH '{file.with_suffix('.db')}' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM somebody",
        "SET threads = 4",
        "SET enable_external_access = true",
        "RESET memory_limit",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(text).fetchall()
    database.close()
    assert somebody
    assert file.read_text(encoding="utf-8") == "canary\n8675309\n"


def test_nothing_of_a_session_stays(house: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next session finds the database as it was, also after an error.  Mutant: COMMIT."""
    DATABASES.close()
    with house.connect(house.token("ana"), epsilon="0.01") as connection:
        connection.execute("SET application_name = canary")
        connection.execute("SELECT COUNT(*) FROM people")
        assert connection.execute("SELECT count(*) FROM adyton.receipts").fetchone() == (1,)
        assert connection.execute(
            "SELECT setting FROM pg_settings WHERE name = 'application_name'"
        ).fetchall()
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT CAST(setting AS int) FROM pg_settings, pg_class")
    (database,) = DATABASES.idle()
    tables = {
        name for (name,) in database._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    }
    assert tables == {"pg_catalog.pg_class"}
    assert database._functions is None


def test_databases_that_are_kept_are_few(tmp_path: Path) -> None:
    """Mutants: one is kept for each name; the oldest stays."""
    DATABASES.close()
    for number in range(12):
        with DATABASES.one(CatalogFacts("people", f"user {number}", ())):
            pass
    assert [one.facts.user for one in DATABASES.idle()] == [f"user {number}" for number in range(4, 12)]
    with DATABASES.one(CatalogFacts("people", "user 4", ())) as known:
        assert known not in DATABASES.idle()
        with DATABASES.one(CatalogFacts("people", "user 4", ())) as other:
            assert other is not known  # one statement at a time
    DATABASES.close()


def test_a_table_of_the_study_is_never_one_of_the_catalogs(tmp_path: Path) -> None:
    """Mutant: a table counts by its name alone."""
    study = adyton.read_study(write_study(tmp_path))
    own = frozenset(table.name for table in study.tables)
    for text in (
        "SELECT * FROM current_schema(), people",
        "SELECT count(*) FROM unnest(ARRAY[1]) u JOIN people ON true",
        "SELECT * FROM generate_series(1, 2) g, (SELECT income FROM people) p",
        "SELECT (SELECT max(income) FROM people) FROM pg_class",
        "WITH pg_x AS (SELECT income FROM public.people) SELECT * FROM pg_x, pg_class",
        "SELECT * FROM people, (WITH people AS (SELECT 1) SELECT * FROM people) p, pg_class",
        "WITH people AS (SELECT * FROM people) SELECT * FROM people, pg_class",
        "WITH x AS (SELECT * FROM people), people AS (SELECT 1) SELECT * FROM x, pg_class",
    ):
        assert not is_catalog(text, own), text
    assert not [relation for relation in relations() if relation[1] in own]
