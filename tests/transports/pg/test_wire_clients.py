"""Programs that people already have, as they are: connect, look around, ask, be refused, ask again, leave."""

from __future__ import annotations

import asyncio
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa

from support import processes
from support.servers import COUNT, write_study
from support.wire import HOST, Wired, wired

JAR = Path("/usr/share/java/postgresql.jar")
GROUPS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
PROGRAM = Path(__file__).parent / "WireClient.java"
REGIONS = ["north", "south", "east", "west"]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    with wired([write_study(tmp_path_factory.mktemp("clients"))]) as made:
        yield made


@pytest.fixture(scope="module")
def token(house: Wired) -> str:
    return house.token("ana")


def spent(house: Wired, token: str) -> str:
    headers = {"Authorization": f"Bearer {token}"}
    told = house.client.get("/v1/studies/people/budget", headers=headers).json()
    return str(told["spent"]["amount"])


# psql ------------------------------------------------------------------------------------------------------


def psql(
    house: Wired, token: str, *commands: str, database: str = "people"
) -> subprocess.CompletedProcess[str]:
    program = shutil.which("psql")
    if program is None:
        pytest.skip("psql is not installed")
    command = [program, "-X", "-At", "-h", HOST, "-p", str(house.port), "-U", "somebody", "-d", database]
    for one in commands:
        command += ["-c", one]
    environment = {**os.environ, "PGPASSWORD": token, "PGSSLMODE": "prefer", "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)


def test_psql_looks_around(house: Wired, token: str) -> None:
    looked = psql(
        house,
        token,
        r"\d",
        r"\d people",
        r"\d+ people",
        r"\l",
        r"\dn",
        r"\dv adyton.*",
        r"\du",
        r"\df",
        r"\dp",
    )
    assert looked.stderr == ""
    lines = looked.stdout.splitlines()
    assert lines[0] == "public|people|table|ana"
    assert "income|double precision|||" in lines
    assert any(line.endswith("|one of north, south, east, west") for line in lines)
    assert "people|ana|UTF8|C|C||libc|" in lines
    assert "adyton|receipts|view|ana" in lines


def test_psql_asks_with_and_without_a_price_and_again(house: Wired, token: str) -> None:
    none = psql(house, token, GROUPS)
    assert "ERROR:  no price was named" in none.stderr
    assert "SET adyton.within" in none.stderr
    asked = psql(house, token, "SET adyton.within = 60", GROUPS)
    assert [line.split("|")[0] for line in asked.stdout.splitlines()[1:]] == REGIONS
    assert "Receipt" in asked.stderr
    again = psql(house, token, "SET adyton.within = 60", GROUPS)
    assert "Asked before: free of charge" in again.stderr
    assert again.stdout == asked.stdout
    unnamed = psql(house, token, GROUPS)  # an answer to the very same query is there
    assert unnamed.stdout.splitlines() == asked.stdout.splitlines()[1:]


def test_psql_is_refused_with_the_place(house: Wired, token: str) -> None:
    wrong = psql(house, token, "SELECT COUNT(*)\nFROM people\nWHERE agee > 3")
    assert wrong.stderr.splitlines()[1:] == ["LINE 3: WHERE agee > 3", "              ^"]
    dear = psql(house, token, "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 400) COUNT(*) FROM people")
    assert "HINT:  SET adyton.epsilon" in dear.stderr
    outside = psql(house, token.replace("a", "b"), "SELECT 1")
    assert "password authentication failed" in outside.stderr
    assert outside.returncode == 2


# psycopg ---------------------------------------------------------------------------------------------------


def test_psycopg_asks_in_text_and_binary_with_parameters_and_prepared(house: Wired, token: str) -> None:
    text = "SELECT region, COUNT(*) AS n FROM people WHERE income > %s AND region <> %s GROUP BY region"
    with house.connect(token, within="70") as connection:
        plain = connection.execute(text, (20_000, "west")).fetchall()
        assert [row[0] for row in plain] == REGIONS[:3]  # no other can match
        binary = connection.cursor(binary=True).execute(text, (20_000, "west")).fetchall()
        assert binary == plain
        prepared = [connection.execute(text, (20_000, "west"), prepare=True).fetchall() for _ in range(3)]
        assert prepared == [plain] * 3
        kinds = connection.execute(text, (20_000, "west")).description
        assert kinds is not None
        assert [one.type_code for one in kinds] == [25, 701]


@pytest.mark.parametrize(("value", "same"), [("20000", 20_000), (20_000.0, 20_000), ("-1e2", -100), (-5, -5)])
def test_parameters_are_literals(house: Wired, token: str, value: Any, same: int) -> None:
    with house.connect(token, within="70") as connection:
        asked = connection.execute("SELECT COUNT(*) AS n FROM people WHERE income > %s", (value,)).fetchone()
        written = f"({same})" if same < 0 else same
        assert (
            connection.execute(f"SELECT COUNT(*) AS n FROM people WHERE income > {written}").fetchone()
            == asked
        )


@pytest.mark.parametrize(
    ("oid", "sent", "form"),
    [
        (701, b"20000.300000000001", 0),  # as psqlODBC writes the double 20000.3
        (701, struct.pack("!d", 20000.3), 1),
        (700, struct.pack("!f", 20000.3), 1),
        (0, b"20000.300000000001", 0),  # of a type that the column decides
        (1700, b"20000.3", 0),
    ],
)
def test_a_parameter_that_is_a_double_means_its_shortest_text(
    house: Wired, token: str, oid: int, sent: bytes, form: int
) -> None:
    """Mutants: a text of type float8 is read with every digit; a float of four bytes as the double it is."""
    text = b"SELECT COUNT(*) AS n FROM people WHERE income > $1"
    with house.connect(token, within="70") as connection:
        plain = connection.execute("SELECT COUNT(*) AS other FROM people WHERE income > 20000.3").fetchone()
        found = connection.pgconn.exec_params(text, [sent], [oid], [form])
        assert found.status == psycopg.pq.ExecStatus.TUPLES_OK, found.error_message
        value = found.get_value(0, 0)
        assert plain is not None
        assert value is not None
        assert float(value) == plain[0]
        (told,) = connection.execute(
            "SELECT COUNT(*) FROM adyton.receipts WHERE query LIKE '%20000.3%'"
        ).fetchall()
        assert told == (1,)  # the same query, however its value is called


@pytest.mark.parametrize("binary", [False, True])
def test_lists_as_parameters_are_in(house: Wired, token: str, binary: bool) -> None:
    """Mutants: a list is no literal; an error that is told ends the connection; NULL in a list is one of it."""
    text = "SELECT COUNT(*) AS n FROM people WHERE {}"
    with house.connect(token, within="70") as connection:
        cursor = connection.cursor(binary=binary)

        def ask(where: str, *given: Any) -> Any:
            sign = "%b" if binary else "%t"
            return cursor.execute(text.format(where.replace("%s", sign)), given or None).fetchall()

        north = ask("region IN ('north', 'west')")
        assert ask("region = ANY(%s)", ["north", "west"]) == north
        assert ask("region = ANY(%s)", ["north", None, "west"]) == north
        assert ask("region = ANY(%s::text[])", ["north", "west"]) == north
        assert ask("region = ANY('{north,\"west\"}')") == ask("region = ANY(ARRAY['north', 'west'])") == north
        assert ask("region <> ALL(%s)", ["north", "west"]) == ask("NOT region IN ('north', 'west')")
        assert ask("income = ANY(%s)", [1.5, 2.0]) == ask("income IN (1.5, 2)")
        assert ask("income = ANY(%s)", [Decimal("1.5"), Decimal(2)]) == ask("income IN (1.5, 2)")
        assert ask("income = ANY(%s)", [3, 4]) == ask("income IN (3, 4)")
        assert ask("region = ANY(%s)", []) == [(0,)]
        assert ask("region <> ALL(%s)", []) == ask("NOT FALSE")
        for wrong, given in (
            ("region = ANY(%s)", [["north"], ["west"]]),
            ("region = %s", ["north"]),
            ("region = ANY(%s)", ["nowhere"]),
        ):
            with pytest.raises(psycopg.Error) as refused:
                ask(wrong, given)
            assert str(refused.value.sqlstate) in ("22P02", "0A000", "42601")
            assert not connection.closed
        assert ask("region = ANY(%s)", ["north", "west"]) == north


def test_no_parameter_is_taken_for_words(house: Wired, token: str) -> None:
    """Mutant: quotes in a literal are not doubled."""
    with house.connect(token, within="70") as connection:
        for value in ("north' OR region = 'south", "x'; SELECT 1; --", "$1", "north\\' --"):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute("SELECT COUNT(*) FROM people WHERE region = %s", (value,))
            assert refused.value.sqlstate == "0A000"
            assert "is not a declared value" in str(refused.value)


def test_two_statements_at_once_a_pipeline_a_cursor_and_a_transaction(house: Wired, token: str) -> None:
    with house.connect(token, within="80") as connection:
        both = connection.execute(f"{COUNT}; SELECT COUNT(*) AS m FROM people WHERE income > 40000")
        first = both.fetchall()
        assert both.nextset()
        assert len(first) == len(both.fetchall()) == 1
        with connection.pipeline():
            one, two = connection.execute(COUNT), connection.execute("SELECT 5")
            assert (one.fetchall(), two.fetchall()) == (first, [(5,)])
        with connection.transaction(), connection.cursor(name="c") as cursor:
            cursor.execute(GROUPS)
            assert [len(cursor.fetchmany(3)), len(cursor.fetchall())] == [3, 1]
        with connection.transaction():
            with pytest.raises(psycopg.Error), connection.transaction():
                connection.execute("SELECT nothing FROM people")
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_two_connections_ask_at_once(house: Wired, token: str) -> None:
    async def ask(number: int) -> list[Any]:
        connection = await psycopg.AsyncConnection.connect(**house.words(token, within="90"), autocommit=True)
        async with connection:
            cursor = await connection.execute(f"SELECT COUNT(*) AS n FROM people WHERE income > {number}")
            return await cursor.fetchall()

    async def both() -> list[list[Any]]:
        return await asyncio.gather(ask(1111), ask(2222))

    assert [len(rows) for rows in processes.run(both())] == [1, 1]


# SQLAlchemy, pandas, JupySQL -------------------------------------------------------------------------------


def test_sqlalchemy_reflects_and_pandas_reads(house: Wired, token: str) -> None:
    engine = sa.create_engine(house.url(token), connect_args={"options": "-c adyton.within=75"})
    try:
        looked = sa.inspect(engine)
        assert looked.get_schema_names() == ["adyton", "information_schema", "public"]
        assert looked.get_table_names() == ["people"]
        assert sorted(looked.get_view_names("adyton")) == ["budget", "columns", "receipts"]
        columns = looked.get_columns("people")
        assert [(c["name"], str(c["type"]), c["nullable"]) for c in columns] == [
            ("income", "DOUBLE PRECISION", True),
            ("region", "TEXT", True),
        ]
        assert looked.get_indexes("people") == looked.get_foreign_keys("people") == []
        known = sa.MetaData()
        known.reflect(engine)
        people = known.tables["people"]
        asked = sa.select(people.c.region, sa.func.count().label("n")).group_by(people.c.region)
        with engine.connect() as connection:
            frame = pd.read_sql(asked, connection)
            assert list(frame.columns) == ["region", "n"]
            assert list(frame["region"]) == REGIONS
            with pytest.raises(pd.errors.DatabaseError, match="neither grouped nor aggregated"):
                pd.read_sql_table("people", connection)
    finally:
        engine.dispose()


@pytest.mark.parametrize("driver", ["postgresql+psycopg", "postgresql+pg8000"])
def test_sqlalchemy_limits_lists_and_divides(house: Wired, token: str, driver: str) -> None:
    """Mutant: a literal with a cast is none."""
    people = sa.table("people", sa.column("income", sa.Float), sa.column("region", sa.Text))
    region, income, n = people.c.region, people.c.income, sa.func.count().label("n")
    groups = sa.select(region, n).group_by(region).order_by(region)
    engine = sa.create_engine(house.url(token, driver))
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("SET adyton.within = 75")
            plain = dict(map(tuple, connection.execute(groups)))
            two = [tuple(row) for row in connection.execute(groups.limit(2).offset(1))]
            assert two == [(one, plain[one]) for one in sorted(REGIONS)[1:3]]
            written = connection.exec_driver_sql(
                "SELECT COUNT(*) AS n FROM people WHERE region IN ('north', 'west')"
            ).scalar()
            for where in (
                region.in_(["north", "west"]),
                region == sa.any_(sa.literal(["north", "west"], sa.ARRAY(sa.Text))),
            ):
                assert connection.execute(sa.select(n).where(where)).scalar() == written
            for where in (
                region.not_in(["north"]),
                region.startswith("n"),
                income.in_([1.5, 3]),
                income.between(3, 7.5),
            ):
                assert connection.execute(sa.select(n).where(where)).scalar() is not None
            bins = sa.select(sa.func.floor(income / 50_000).label("b"), n).group_by(sa.text("b"))
            assert [b for b, _ in connection.execute(bins)] == [0, 1, 2, 3, 4]
            key = connection.execute(sa.select(sa.literal("x").label("k"), n).select_from(people)).one()
            assert key.k == "x"
    finally:
        engine.dispose()


NOTEBOOK = """
import sys
sys.modules["pyspark"] = None  # looked for, slow, and not needed
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "sql")
shell.run_line_magic("sql", sys.argv[1])
found = shell.run_cell_magic("sql", "", sys.argv[2])
print([row.region for row in found], list(found.DataFrame().columns))
"""


def test_jupysql_asks_in_a_notebook(house: Wired, token: str, tmp_path: Path) -> None:
    address = f"{house.url(token)}?options=-c%20adyton.within%3D75"
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", NOTEBOOK, address, GROUPS],
        capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env={**os.environ, "PLOOMBER_STATS_ENABLED": "false", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    assert f"{REGIONS} ['region', 'n']" in run.stdout.splitlines()


# asyncpg ---------------------------------------------------------------------------------------------------


def test_asyncpg_asks_prepares_and_is_refused(house: Wired, token: str) -> None:
    where = {"host": HOST, "port": house.port, "user": "x", "password": token, "database": "people"}

    async def work() -> None:
        connection = await asyncpg.connect(**where, server_settings={"adyton.within": "65"})
        try:
            rows = await connection.fetch(GROUPS)
            assert [row["region"] for row in rows] == REGIONS
            kept = await connection.prepare(
                "SELECT COUNT(*) AS n FROM people WHERE region = $1 AND income BETWEEN $2 AND $3"
            )
            assert [one.name for one in kept.get_parameters()] == ["text", "float8", "float8"]
            assert isinstance(await kept.fetchval("north", 0.0, 50_000.0), float)
            listed = await connection.prepare(
                "SELECT COUNT(*) AS n FROM people WHERE region = ANY($1) AND region <> ALL($2) AND region IN ($3::VARCHAR)"
            )
            assert [one.name for one in listed.get_parameters()] == ["text[]", "text[]", "text"]
            assert [one.name for one in listed.get_attributes()] == ["n"]
            assert isinstance(await listed.fetchval(["north", "west"], ["east"], "north"), float)
            columns = await connection.fetch(
                "SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = $1", "people"
            )
            assert [tuple(row) for row in columns] == [("income", "float8"), ("region", "text")]
            with pytest.raises(asyncpg.UndefinedColumnError):
                await connection.fetch("SELECT COUNT(*) FROM people WHERE regio = $1", "x")
            with pytest.raises(asyncpg.ConfigurationLimitExceededError):
                await connection.fetch(
                    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 500) COUNT(*) FROM people"
                )
            async with connection.transaction():
                assert await connection.fetchval("SELECT 1") == 1
            await connection.reset()
        finally:
            await connection.close()
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(**{**where, "password": "wrong"})
        async with asyncpg.create_pool(**where, min_size=1, max_size=2) as pool:
            assert await pool.fetchval("SELECT current_user") == "ana"

    processes.run(work())


# pgjdbc ----------------------------------------------------------------------------------------------------


def test_jdbc_metadata_prepared_statements_and_refusals(house: Wired, token: str) -> None:
    java = shutil.which("java")
    if java is None or not JAR.exists():
        pytest.skip("Java and pgjdbc are not installed (apt-get install libpostgresql-jdbc-java)")
    address = f"jdbc:postgresql://{HOST}:{house.port}/people?options=-c%20adyton.within=85"
    # What the program needs is little: no time goes into making its code fast.
    command = [
        java,
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-cp",
        str(JAR),
        str(PROGRAM),
        address,
        token,
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.stderr == ""
    told = dict(line.split(": ", 1) for line in run.stdout.splitlines())
    assert told["product"] == "PostgreSQL 15.0"
    assert told["tables"] == "people"
    assert told["columns"] == "income float8, region text"
    assert told["keys"] == "0"
    assert told["asked"] == "north south east west"
    assert told["fetched by two"] == "4"
    assert told["again"] == "true"
    assert told["refused"] == "42703 at 35"
    assert told["budget"] == "53400"
    assert told["wrong password"] == "28P01"
