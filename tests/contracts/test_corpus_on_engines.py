"""What the corpus reads is the same integers in every engine: a few statements that use every construct."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import test_engines as engines
import test_spark_engine as spark_engine

from adyton.curator.opening import engine_of
from adyton.errors import InvalidRequest
from sql_corpus.cases import STATEMENTS
from sql_corpus.judge import Court, court
from sql_corpus.studies import FILES, KINDS
from support.tries import LONG

SHORT = 2000  # letters; any statement takes as long as a reading of so many
owner, postgres, classic = engines.owner, engines.postgres, spark_engine.classic


@pytest.fixture(scope="module", params=sorted(FILES))
def here(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    """What DuckDB read for every statement that is answered."""
    with court(request.param, 0, tmp_path_factory.mktemp("corpus")) as opened:
        yield opened


@pytest.fixture(scope="module")
def read(here: Court) -> list[tuple[Any, Any]]:
    return few_readings(here)


def few_readings(here: Court) -> list[tuple[Any, Any]]:
    """Readings, and DuckDB's integers, of few and short statements that use every construct of all of them."""
    answered: list[tuple[list[tuple[Any, Any]], set[str]]] = []
    for statement in STATEMENTS:
        del here.read[:]
        if statement.study == here.name and not isinstance(
            here.ask(statement.sql, statement.dialect), InvalidRequest
        ):
            used = {word for reading, _ in here.read for word in _constructs(reading)}
            answered.append((list(here.read), used))
    if LONG:
        return [one for read, _ in answered for one in read]
    missing, chosen = set().union(*(used for _, used in answered)), list[tuple[Any, Any]]()
    while missing:  # whatever adds most for its length comes next
        read, used = max(answered, key=lambda one: len(one[1] & missing) / (SHORT + len(repr(one[0]))))
        missing -= used
        chosen += read
    return chosen


def _constructs(reading: Any) -> set[str]:
    """The nodes of a reading and the words that tell them apart, but for its table and the names in it."""
    text = re.sub(r"(table|column|columns|tables)=\w+\(", "(", repr(reading))
    return {*re.findall(r"\b[A-Z]\w+(?=\()", text), *re.findall(r"(?:part|operator|sign)='([^']*)'", text)}


def same(here: Court, read: list[tuple[Any, Any]], put: Callable[[str], Any]) -> None:
    readings = [reading for reading, _ in read]
    other = engine_of(here.study, {table: put(table) for table in here.rows.tables})
    try:
        other.prepare(readings)
        found = other.exact(readings)
    finally:
        other.close()
    for (reading, wanted), given in zip(read, found, strict=True):
        assert [list(column) for column in given] == [list(column) for column in wanted], reading
    assert len(read) > 10


def test_postgres_reads_the_same(here: Court, read: list[tuple[Any, Any]], owner: Any, postgres: str) -> None:
    from psycopg import sql

    def put(table: str) -> str:
        kinds, name = KINDS[table], sql.Identifier(f"corpus_{table}")
        columns = [
            sql.SQL("{} " + engines.POSTGRES[kind]).format(sql.Identifier(n)) for n, kind in kinds.items()
        ]
        owner.execute(sql.SQL("CREATE TABLE {} ({})").format(name, sql.SQL(", ").join(columns)))
        owner.execute(sql.SQL("GRANT SELECT ON {} TO curator").format(name))
        with owner.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(name)) as copy:
            for row in here.rows.tables[table]:
                copy.write_row(row)
        return engines._address(postgres, f"corpus_{table}")

    same(here, read, put)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_reads_the_same(here: Court, read: list[tuple[Any, Any]], classic: Any) -> None:
    def put(table: str) -> Any:
        from pyspark.sql.types import DataType, StructField, StructType

        kinds = KINDS[table]
        fields = [
            StructField(name, DataType.fromDDL(spark_engine.SPARK[kind])) for name, kind in kinds.items()
        ]
        return classic.createDataFrame(here.rows.tables[table], StructType(fields))

    same(here, read, put)
