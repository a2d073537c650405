"""Every engine keeps the contract: the same study gives the same integers, bit for bit."""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Callable, Hashable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from survey_contract import SurveyContract

import adyton
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.postgres import Address, PostgresEngine
from adyton.engines.scans.reading import KeptCubes
from adyton.engines.stopping import TimeLimit
from adyton.errors import EngineFailed, InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import (
    CategoryColumn,
    ClockPart,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, Sum
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.setup.checking import check_study
from adyton.study import Study
from adyton.testing.engines.cases import AGE, PEOPLE, ROWS, SOME
from adyton.testing.engines.contract import EngineContract
from adyton.testing.engines.reference import Source, expected, value_of
from support.faults import CANARY, tracked
from support.postgres import NoServer, postgres_server
from support.strategies import answered_queries
from support.tries import crossed

ARROW = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "decimal": pa.decimal128(38, 10),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "instant": pa.timestamp("us", "UTC"),
}


def arrow_table(source: Source) -> pa.Table:
    return pa.table({c.name: pa.array([_rescaled(v) for v in c.values], ARROW[c.kind]) for c in source})


def _rescaled(value: Any) -> Any:
    return (
        value.quantize(Decimal(10) ** -10, context=Context(prec=38)) if isinstance(value, Decimal) else value
    )


KEPT, KINDS = [1, 3, 100], ["integer", "text", "float"]
PERSONS = [(1, "integer"), (4, "integer"), (4, "float"), (100, "text")]


class LoadedOnce(EngineContract):
    """Tests that ask about the same rows load them once: it takes longer than most queries.

    A test that changes an engine has one of its own, by ``make_engine``.
    """

    most_loaded = 6  # more than one test opens

    @pytest.fixture(scope="class")
    @classmethod
    def loaded(cls) -> Iterator[dict[Hashable, Any]]:
        """Engines by what they hold, the newest last."""
        engines: dict[Hashable, Any] = {}
        yield engines
        for engine in engines.values():
            engine.close()

    @pytest.fixture
    def opened(self, make_engine: Any, loaded: dict[Hashable, Any]) -> Any:
        def open_(table: Table, source: Source, unit: PrivacyUnit = ROWS, salt: str = "salt") -> Any:
            held = (table, unit, salt, repr(source))
            engine = loaded.pop(held, None)
            if engine is None:
                engine = make_engine(table, unit, source, salt)
                engine.prepare()
            loaded[held] = engine
            if len(loaded) > self.most_loaded:
                loaded.pop(next(iter(loaded))).close()
            if isinstance(engine, DuckDBEngine):
                engine._kept = KeptCubes()  # what was asked before
            return engine

        return open_


class PersonsOfEachKind(LoadedOnce):
    """How many rows of a person are kept, and how persons are written, is asked with each other where rows are
    chosen; what is made of these rows usually once for each."""

    @pytest.mark.parametrize(("rows", "kind"), crossed(KEPT, KINDS))
    def test_a_row_for_each_person(self, opened: Any, rows: int, kind: Any) -> None:
        super().test_a_row_for_each_person(opened, rows, kind)

    @pytest.mark.parametrize(("of", "most"), crossed(PERSONS, [None, 2, 1]))
    def test_one_number_of_each_person(self, opened: Any, of: tuple[int, Any], most: int | None) -> None:
        super().test_one_number_of_each_person(opened, *of, most)


class TestDuckDB(SurveyContract, PersonsOfEachKind):
    @pytest.fixture
    def make_engine(self) -> Any:
        return lambda table, unit, source, salt, **limits: DuckDBEngine(
            table, unit, arrow_table(source), salt, **limits
        )

    @pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "parquet"])
    def test_columns_that_DuckDB_does_not_tell_apart_are_not_read(self, kind: str, tmp_path: Path) -> None:
        """It calls the second of two such columns ID_1, and takes the first for it: a person would have many rows.

        Mutant: names as DuckDB has them.
        """
        table = pa.table(
            {"id": range(5), "parts": [{"ID": 1, "x": {"y": 2}}] * 5, "ID": [7] * 5, "age": [3] * 5}
        )
        source: Any = table
        if kind == "parquet":
            pq.write_table(table, source := tmp_path / "t.parquet")
        elif kind != "arrow":
            source = table.drop_columns("parts").to_pandas() if kind == "pandas" else pl.from_arrow(table)
        for unit, column in ((PrivacyUnit("add-remove", "ID"), AGE), (ROWS, IntegerColumn("ID", 0, 9))):
            with pytest.raises(InvalidRequest, match="several columns 'ID' that differ in capital letters"):
                DuckDBEngine(Table("t", (column,)), unit, source).prepare()
        engine = DuckDBEngine(Table("t", (AGE,)), ROWS, source)
        engine.prepare()
        assert engine.exact(readings_of(Query(Table("t", (AGE,)), (("s", Sum(ValueOf(AGE))),)), ROWS)) == [
            [[15]]
        ]
        engine.close()

    def test_limits_are_set(self) -> None:
        engine = DuckDBEngine(PEOPLE, ROWS, arrow_table(SOME), memory_limit="100MB", threads=1)
        engine.prepare()
        shown = engine._connection.execute(
            "SELECT current_setting('memory_limit'), current_setting('threads')"
        ).fetchall()
        engine.close()
        assert shown == [("95.3 MiB", 1)]

    def test_an_endless_query_is_interrupted_and_the_next_one_is_not(self, make_engine: Any) -> None:
        engine = make_engine(PEOPLE, ROWS, SOME, "salt")
        engine.prepare()
        engine._time = TimeLimit(0.2)
        with pytest.raises(TimeoutError):
            engine._run("SELECT sum(a.i * b.i % 7) FROM range(10000000) a(i), range(10000000) b(i)")
        engine._time = TimeLimit(600)
        assert engine.exact(readings_of(Query(PEOPLE, (("n", Count()),)), ROWS)) == [[[7]]]
        engine.close()

    def test_a_query_that_takes_too_long_is_opaque_and_the_charge_stands(self) -> None:
        study = Study(PEOPLE, ROWS, Guarantee(Fraction(50), Fraction(1, 10**9)))
        with adyton.open(study, data=arrow_table(SOME)) as curator:
            curator._engine._time = TimeLimit(1e-9)  # type: ignore[attr-defined]
            with pytest.raises(EngineFailed) as caught:
                curator.ask("SELECT COUNT(*) FROM people", scale=1)
            assert caught.value.__cause__ is None
            assert "seconds" not in str(caught.value)
            assert len(curator.receipts()) == 1
            curator._engine._time = TimeLimit(600)  # type: ignore[attr-defined]
            curator.ask("SELECT SUM(age) FROM people", scale=100)

    def test_what_does_not_fit_into_memory_is_not_written_to_a_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Unless the owner says where."""
        monkeypatch.chdir(tmp_path)
        rng = random.Random(3)
        many = pa.table({"age": pa.array(rng.choices(range(120), k=3_000_000), pa.int64())})
        table = Table("t", (AGE,))
        with pytest.raises(InvalidRequest, match="needs more memory than allowed") as caught:
            DuckDBEngine(table, ROWS, many, memory_limit="5MB", threads=1).prepare()
        assert caught.value.__cause__ is None
        assert list(tmp_path.iterdir()) == []
        engine = DuckDBEngine(
            table, ROWS, many, memory_limit="5MB", threads=1, temp_directory=str(tmp_path / "own")
        )
        engine.prepare()
        assert [path.name for path in tmp_path.iterdir()] == ["own"]
        engine.close()


# Postgres ---------------------------------------------------------------------------------------------------

POSTGRES = {
    "integer": "bigint",
    "float": "double precision",
    "decimal": "numeric(38, 10)",
    "boolean": "boolean",
    "text": "text",
    "date": "date",
    "timestamp": "timestamp",
    "instant": "timestamptz",
}


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="psycopg is not installed (pip install 'adyton[postgres]')")
    try:
        with postgres_server() as address:
            yield address
    except NoServer as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def owner(postgres: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE curator LOGIN")
        yield connection


def _address(postgres: str, table: str) -> str:
    return postgres.replace("owner@", "curator@") + f"/{table}"


class TestPostgres(SurveyContract, PersonsOfEachKind):
    rows_have_positions = False

    @pytest.fixture
    def store(self, owner: Any) -> Callable[[Source], str]:
        """Puts a source into a table of its own, which the curator's role may read and nothing else."""
        numbers = itertools.count()

        def store(source: Source) -> str:
            from psycopg import sql

            name = f"t{next(numbers)}"
            columns = [sql.SQL("{} " + POSTGRES[c.kind]).format(sql.Identifier(c.name)) for c in source]
            table = sql.Identifier(name)
            owner.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
            owner.execute(sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ").join(columns)))
            owner.execute(sql.SQL("GRANT SELECT ON {} TO curator").format(table))
            with (
                owner.cursor() as cursor,
                cursor.copy(sql.SQL("COPY {} FROM STDIN").format(table)) as copy,
            ):
                for row in zip(*(c.values for c in source), strict=True):
                    copy.write_row(row)
            return name

        return store

    @pytest.fixture
    def make_engine(self, postgres: str, store: Callable[[Source], str]) -> Any:
        return lambda table, unit, source, salt, **limits: PostgresEngine(
            table, unit, _address(postgres, store(source)), salt, **limits
        )

    @pytest.fixture
    def given_table(self, owner: Any, postgres: str) -> Iterator[Callable[[str], str]]:
        def given(columns: str) -> str:
            owner.execute(f"CREATE TABLE given AS {columns}")
            owner.execute("GRANT SELECT ON given TO curator")
            return _address(postgres, "public.given")

        yield given
        owner.execute("DROP TABLE IF EXISTS given")

    def total(self, address: str, column: Any) -> int:
        engine = PostgresEngine(Table("t", (column,)), ROWS, address)
        engine.prepare()
        measure = Sum(ValueOf(column)) if not isinstance(column, DateColumn) else Count()
        ((((found,),),)) = engine.exact(readings_of(Query(Table("t", (column,)), (("s", measure),)), ROWS))
        engine.close()
        return found

    def test_a_numeric_beyond_every_double_is_clipped(self, given_table: Callable[[str], str]) -> None:
        texts = ["1e400", "-1e400", "1e-400", "-1e-400", "NaN", "Infinity", "-Infinity", "1" + "0" * 5000]
        values = ", ".join(f"('{text}'::numeric)" for text in texts)
        address = given_table(f"SELECT * FROM (VALUES {values}) v(x)")
        column = RealColumn("x", Fraction(-5), Fraction(100), Fraction(1))
        assert self.total(address, column) == 100 - 5 + 0 + 0 + 100 - 5 + 100

    def test_infinite_dates_are_clipped(self, given_table: Callable[[str], str]) -> None:
        address = given_table(
            "SELECT * FROM (VALUES ('infinity'::date, 'infinity'::timestamp, '-infinity'::timestamptz), "
            "('-infinity', '4000-01-01 BC', '294276-12-31 23:59:59'), ('5874897-12-31', NULL, NULL)) v(a, b, c)"
        )
        low, high = datetime.date(2000, 1, 1), datetime.date(2010, 1, 1)
        for name, wanted in (("a", [low, high, high]), ("b", [low, high]), ("c", [low, high])):
            column = DateColumn(name, low, high)
            engine = PostgresEngine(Table("t", (column,)), ROWS, address)
            engine.prepare()
            kept = engine._connection.execute(
                "SELECT c0 FROM units WHERE c0 IS NOT NULL ORDER BY 1"
            ).fetchall()
            engine.close()
            assert [day for (day,) in kept] == [value_of(column, day) for day in wanted]

    def test_names_that_differ_in_capital_letters_alone(self, given_table: Callable[[str], str]) -> None:
        """Mutant: where none of them is named exactly, the last one is read."""
        address = given_table('SELECT 1 AS "Age", 20 AS "AGE"')
        assert self.total(address, IntegerColumn("Age", 0, 120)) == 1
        assert self.total(address, IntegerColumn("AGE", 0, 120)) == 20
        with pytest.raises(InvalidRequest, match="several columns 'age' that differ in capital letters"):
            self.total(address, IntegerColumn("age", 0, 120))
        study = Study(
            Table("t", (IntegerColumn("age", 0, 120),)), ROWS, Guarantee(Fraction(1), Fraction(0)), "pure"
        )
        assert any("several columns 'age'" in f.text for f in check_study(study, data=address).findings)

    def test_other_types(self, owner: Any, given_table: Callable[[str], str]) -> None:
        owner.execute("CREATE DOMAIN age AS smallint CHECK (value < 200)")
        address = given_table(
            "SELECT 7::age AS a, '8'::char(5) AS b, 9::real AS c, ARRAY[1] AS d, '{}'::jsonb AS e"
        )
        for name, value in (("a", 7), ("c", 9)):
            assert self.total(address, IntegerColumn(name, 0, 120)) == value
        for name, shown in (("d", r"integer\[\]"), ("e", "jsonb")):
            with pytest.raises(InvalidRequest, match=f"has type {shown}, which holds no single value"):
                self.total(address, IntegerColumn(name, 0, 120))

    def test_infinite_moments_have_no_hour(self, given_table: Callable[[str], str]) -> None:
        address = given_table(
            "SELECT * FROM (VALUES ('infinity'::timestamp, '-infinity'::timestamptz), "
            "('4000-01-01 BC', '294276-12-31 23:59:59'), ('2005-01-01 03:00', '2005-01-01 03:00Z')) v(a, b)"
        )
        low, high = datetime.date(2000, 1, 1), datetime.date(2010, 1, 1)
        for name, ends in (("a", [high, low]), ("b", [low, high])):
            hour = IntegerColumn("hour", 0, 23, ClockPart(name, "hour", "Asia/Kolkata"))
            table = Table("t", (hour, DateColumn(name, low, high, "Asia/Kolkata")))
            engine = PostgresEngine(table, ROWS, address)
            engine.prepare()
            kept = engine._connection.execute("SELECT c0, c1 FROM units").fetchall()
            engine.close()
            days = [*ends, datetime.date(2005, 1, 1)]
            assert kept == [
                (h, (d - datetime.date(1970, 1, 1)).days) for h, d in zip((None, None, 8), days, strict=True)
            ]

    def test_the_role_needs_no_more_than_reading(
        self, postgres: str, given_table: Callable[[str], str]
    ) -> None:
        """And after loading, the session can write nothing but its own temporary tables."""
        import psycopg

        engine = PostgresEngine(Table("given", (AGE,)), ROWS, given_table("SELECT 30 AS age"))
        engine.prepare()
        for statement in (
            "DROP TABLE given",
            "CREATE TABLE other (x int)",
            "INSERT INTO public.given VALUES (1)",
        ):
            with pytest.raises(psycopg.Error):
                engine._connection.execute(statement)
        engine.close()
        without_table = postgres.replace("owner@", "curator@")  # the study's own name of the table
        assert self.total(without_table + "/given", AGE) == 30
        other = PostgresEngine(Table("given", (AGE,)), ROWS, without_table)
        other.prepare()
        other.close()

    def test_texts_are_keys_byte_by_byte_whatever_the_collation(
        self, owner: Any, given_table: Callable[[str], str]
    ) -> None:
        owner.execute(
            "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )
        address = given_table(
            "SELECT x COLLATE public.blind AS city FROM (VALUES ('a'), ('A'), ('\u00e4')) AS t(x)"
        )
        table = Table("given", (TextColumn("city"),))
        engine = PostgresEngine(table, ROWS, address)
        engine.prepare()
        found = engine.found(readings_of(Query(table, (("n", Count()),), by=table.columns), ROWS))
        engine.close()
        assert found == ([("A",), ("a",), ("\u00e4",)], [[[1, 1, 1]]])

    def test_texts_of_no_known_encoding_are_refused(self, postgres: str, owner: Any) -> None:
        import psycopg

        owner.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
        server, _, _ = postgres.partition("?")
        inside = postgres.replace(server, server.rpartition("/")[0] + "/bytes")
        with psycopg.connect(inside, autocommit=True) as other:
            other.execute("CREATE TABLE t AS SELECT convert_from('\\xff', 'SQL_ASCII') AS city, 1 AS age")
        address = inside.replace("/bytes", "/bytes/t")
        with pytest.raises(InvalidRequest, match="a database in UTF8, and this one is in SQL_ASCII"):
            PostgresEngine(Table("t", (TextColumn("city"),)), ROWS, address).prepare()
        assert self.total(address, AGE) == 1

    def test_public_facts_only(self, postgres: str, owner: Any) -> None:
        owner.execute("CREATE TABLE secret AS SELECT 1 AS age")
        for address, said in (
            (_address(postgres, "nowhere"), r"has no table 'public\.nowhere'"),
            (_address(postgres, "other.people"), r"has no table 'other\.people'"),
            (_address(postgres, "secret"), "cannot be read: Postgres says InsufficientPrivilege"),
            ("postgresql://curator:canary@127.0.0.1:1/postgres/t", "cannot be reached"),
        ):
            with pytest.raises(InvalidRequest, match=said) as caught:
                PostgresEngine(Table("t", (AGE,)), ROWS, address).prepare()
            assert caught.value.__cause__ is None
            assert "canary" not in str(caught.value)

    def test_A19_nothing_of_a_row_is_in_an_error(
        self, given_table: Callable[[str], str], owner: Any, postgres: str
    ) -> None:
        """A view that fails on one row: the server's words quote it.

        Mutant: ``sealed`` raises inside its handler, ``from None``.
        """
        import psycopg

        given_table(f"SELECT '{CANARY}' AS word")
        owner.execute("CREATE VIEW fails AS SELECT CAST(word AS integer) AS age FROM given")
        owner.execute("GRANT SELECT ON fails TO curator")
        with pytest.raises(psycopg.Error, match=CANARY):  # what there is to hide
            owner.execute("SELECT * FROM fails")
        study = Study(Table("t", (AGE,)), ROWS, Guarantee(Fraction(50), Fraction(1, 10**9)))
        with (
            adyton.open(study, data=_address(postgres, "fails")) as curator,
            pytest.raises(InvalidRequest) as caught,
        ):
            curator.ask("SELECT COUNT(*) FROM t", scale=1)
        owner.execute("DROP VIEW fails")
        assert "Postgres says InvalidTextRepresentation" in str(caught.value)
        assert CANARY not in tracked(caught.value)
        assert caught.value.__context__ is None

    def test_an_endless_query_is_cancelled_and_the_next_one_is_not(self, make_engine: Any) -> None:
        """By the server: its own limit is the one that ends this."""
        engine = make_engine(PEOPLE, ROWS, SOME, "salt")
        engine.prepare()
        engine._connection.execute("SET statement_timeout = '200ms'")
        engine._time = TimeLimit(0.2)
        with pytest.raises(TimeoutError):
            engine._run("SELECT count(*) FROM generate_series(1, 1000000000000000) i")
        engine._time = TimeLimit(600)
        assert engine.exact(readings_of(Query(PEOPLE, (("n", Count()),)), ROWS)) == [[[7]]]
        engine.close()

    def test_limits_are_set(self, given_table: Callable[[str], str]) -> None:
        engine = PostgresEngine(
            Table("given", (AGE,)), ROWS, given_table("SELECT 30 AS age"), timeout=7.0001, work_mem="5MB"
        )
        engine.prepare()
        shown = engine._connection.execute(
            "SELECT current_setting('statement_timeout'), current_setting('work_mem')"
        ).fetchall()
        engine.close()
        assert shown == [("7001ms", "5MB")]

    def test_a_failing_engine_is_opaque_and_the_charge_stands(
        self, given_table: Callable[[str], str]
    ) -> None:
        address = given_table("SELECT i % 100 AS age FROM generate_series(1, 300000) i")
        study = Study(Table("given", (AGE,)), ROWS, Guarantee(Fraction(50), Fraction(1, 10**9)))
        with adyton.open(study, data=address) as curator:
            curator.ask("SELECT COUNT(*) FROM given", scale=1)
            curator._engine._connection.execute("SET statement_timeout = 1")  # type: ignore[attr-defined]
            with pytest.raises(EngineFailed) as caught:
                curator.ask("SELECT SUM(age) FROM given", scale=100)
            assert caught.value.__cause__ is None
            assert "timeout" not in str(caught.value)
            assert len(curator.receipts()) == 2

    def test_a_lost_session_is_opened_again(self, owner: Any, given_table: Callable[[str], str]) -> None:
        import psycopg

        table = Table("given", (AGE,))
        readings = readings_of(Query(table, (("n", Count()),)), ROWS)
        engine = PostgresEngine(table, ROWS, given_table("SELECT 1 AS age"))
        engine.prepare()
        owner.execute("SELECT pg_terminate_backend(%s)", (engine._connection.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError):
            engine.exact(readings)
        engine.prepare()
        assert engine.exact(readings) == [[[1]]]
        engine.close()

    def test_law_every_query_means_the_same(self, opened: Any) -> None:
        """The random queries of the other laws, whose table is that of the contract."""
        engine = opened(PEOPLE, SOME)

        @given(query=answered_queries())
        @settings(max_examples=100, deadline=None, database=None)
        def law(query: Query) -> None:
            readings = readings_of(query, ROWS)
            assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings)

        law()

    def test_an_address_is_data_for_a_study(self, given_table: Callable[[str], str], tmp_path: Path) -> None:
        address = given_table("SELECT i % 90 AS age FROM generate_series(1, 1000) i")
        (tmp_path / "people.toml").write_text(
            f"""
            table = {{ name = "people", source = "{address}", rows = 1000 }}
            privacy = {{ unit = "row", adjacency = "replace-one", epsilon = 50, delta = 1e-9 }}
            columns.age = {{ kind = "integer", low = 0, high = 120 }}
            """
        )
        with adyton.open(tmp_path / "people.toml") as curator:
            assert abs(curator.ask("SELECT COUNT(*) FROM people", scale=1).value - 1000) < 20
            curator._engine._connection.close()  # type: ignore[attr-defined]
            assert abs(curator.ask("SELECT COUNT(*) FROM people WHERE age < 45", scale=1).value - 500) < 30

    def test_the_owner_checks_a_study_whose_data_is_in_postgres(
        self, given_table: Callable[[str], str]
    ) -> None:
        address = given_table(
            "SELECT i % 200 AS age, 'Canary ' || i % 3 AS region, NULLIF(i % 50, 0) AS pid "
            "FROM generate_series(1, 1000) i"
        )
        table = Table("given", (AGE, CategoryColumn("region", ("canary 1",))), rows=5, person="pid")
        study = Study(table, PrivacyUnit("add-remove", "pid", 3), Guarantee(Fraction(1), Fraction(1, 10**9)))
        found = check_study(study, data=address)
        (checked,) = found.tables
        assert (checked.rows, checked.units, checked.rows_of_nobody) == (1000, 49, 20)
        assert (checked.persons_above, checked.rows_cut) == (49, 980 - 49 * 3)
        assert checked.columns[0].clipped_high == 79 * 5
        assert (checked.columns[1].undeclared, checked.columns[1].almost_declared) == (1000, 334)
        assert "Canary" not in repr(found) + str(found)
        assert "Canary 2" in str(check_study(study, data=address, show_values=True))

    def test_what_other_schemas_define_is_not_used(
        self, owner: Any, given_table: Callable[[str], str]
    ) -> None:
        """A function of the same name in the schema of the table would otherwise see every value."""
        owner.execute(
            "CREATE OR REPLACE FUNCTION public.floor(double precision) RETURNS double precision "
            "LANGUAGE sql AS 'SELECT 0::double precision'"
        )
        owner.execute(
            "CREATE OR REPLACE FUNCTION public.sum_trap(a int, b bigint) RETURNS bool LANGUAGE sql AS 'SELECT true'"
        )
        assert self.total(given_table("SELECT 30 AS age"), AGE) == 30


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("postgresql://h/db", Address("postgresql://h/db", "public", "t")),
        ("postgresql://u@h:5433/db/people", Address("postgresql://u@h:5433/db", "public", "people")),
        ("postgresql://h/db/s.x?sslmode=require", Address("postgresql://h/db?sslmode=require", "s", "x")),
        ("postgresql:///db/a%20b?host=/run", Address("postgresql:///db?host=/run", "public", "a b")),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert Address.parse(text, "t") == address


def test_person_units_of_a_view_over_nothing_but_the_person() -> None:
    """No declared column at all: persons can still be counted."""
    table, unit = Table("t", ()), PrivacyUnit("add-remove", "who", 2)
    engine = DuckDBEngine(table, unit, pa.table({"who": [1, 1, 1, 2, None]}))
    engine.prepare()
    assert engine.exact(readings_of(Query(table, (("n", Count()),)), unit)) == [[[3]]]
    engine.close()
