"""Private tables joined on the person: all engines find the same combinations of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
import test_engines as engines
import test_spark_engine as spark_engine

import adyton
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.loaded import Joined, JoinMember, Loading
from adyton.engines.postgres import PostgresEngine
from adyton.engines.spark import SparkEngine
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.kernel.terms.names import joined
from adyton.study import PrivateTable, Study
from adyton.testing.engines.joins import PEOPLE, VISITS, JoinContract, bounded
from adyton.testing.engines.reference import Source
from support.tries import often
from support.worlds import study_with

owner, postgres, classic = engines.owner, engines.postgres, spark_engine.classic


def sources(members: Sequence[Any], store: Callable[[Source], Any]) -> Joined:
    return Joined(tuple(JoinMember(table, unit, store(source)) for table, unit, source in members))


class TestDuckDBJoins(JoinContract):
    @pytest.fixture
    def make_joining(self) -> Any:
        return lambda table, unit, members, salt: DuckDBEngine(
            table, unit, sources(members, engines.arrow_table), salt
        )


class TestPostgresJoins(JoinContract):
    store = engines.TestPostgres.store

    @pytest.fixture
    def make_joining(self, postgres: str, store: Callable[[Source], str]) -> Any:
        def make(table: Any, unit: PrivacyUnit, members: Any, salt: str) -> PostgresEngine:
            lies = sources(members, lambda source: engines._address(postgres, store(source)))
            return PostgresEngine(table, unit, lies, salt)

        return make

    def test_case_insensitive_texts_are_different_persons(self, owner: Any, postgres: str) -> None:
        """A collation could make one person of two in one table and not in the other."""
        owner.execute(
            "CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        owner.execute("DROP TABLE IF EXISTS loose_people, visits_too")
        owner.execute(
            "CREATE TABLE loose_people AS SELECT 1 AS age, 'a' AS ward, x COLLATE loose AS pid FROM (VALUES ('ada'), ('ADA')) v(x)"
        )
        owner.execute(
            "CREATE TABLE visits_too AS SELECT 1 AS cost, 'a' AS ward, true AS paid, 'ada' AS patient FROM generate_series(1, 3)"
        )
        owner.execute("GRANT SELECT ON loose_people, visits_too TO curator")
        members = (
            JoinMember(PEOPLE, bounded(2), engines._address(postgres, "loose_people")),
            JoinMember(VISITS, bounded(3, "patient"), engines._address(postgres, "visits_too")),
        )
        engine = PostgresEngine(joined((PEOPLE, VISITS)), bounded(6), Joined(members))
        engine.prepare()
        assert engine._connection.execute("SELECT count(*) FROM units").fetchall() == [(3,)]
        engine.close()

    def test_two_databases_are_not_joined(self) -> None:
        members = (
            JoinMember(PEOPLE, bounded(1), "postgresql://h/a"),
            JoinMember(VISITS, bounded(1, "patient"), "postgresql://h/b"),
        )
        with pytest.raises(InvalidRequest, match="put both in one database"):
            PostgresEngine(joined((PEOPLE, VISITS)), bounded(1), Joined(members))


class TestSparkJoins(JoinContract):
    pytestmark = spark_engine.MARKS
    frame = spark_engine.SparkContract.frame

    @pytest.fixture
    def spark(self, classic: Any) -> Any:
        return classic

    # Persons of each type are joined, usually not also each with a reserve: seconds for one.
    @pytest.mark.parametrize("kind", ["text", "integer"][: often(1, 2)])
    def test_who_is_in_a_reserve_is_in_no_table(self, opened: Any, kind: Any) -> None:
        super().test_who_is_in_a_reserve_is_in_no_table(opened, kind)

    @pytest.fixture
    def make_joining(self, frame: Callable[[Source], Any]) -> Any:
        return lambda table, unit, members, salt: SparkEngine(table, unit, sources(members, frame), salt)


def test_what_cannot_be_bounded_is_not_loaded() -> None:
    both = joined((PEOPLE, VISITS))
    people, visits = JoinMember(PEOPLE, bounded(2), None), JoinMember(VISITS, bounded(2, "patient"), None)
    with pytest.raises(InvalidRequest, match="needs a source for each of its tables"):
        Loading(both, bounded(4), None, "")
    with pytest.raises(InvalidRequest, match="needs a source for each of its tables"):
        Loading(both, bounded(4), Joined((visits, people)), "")
    with pytest.raises(InvalidRequest, match="persons are added or removed"):
        Loading(both, PrivacyUnit("replace-one", "pid", 4), Joined((people, visits)), "")


def test_two_tables_of_a_database_are_a_study(owner: Any, postgres: str) -> None:
    owner.execute("DROP TABLE IF EXISTS members, stays")
    owner.execute("CREATE TABLE members AS SELECT i AS pid, i % 90 AS age FROM generate_series(1, 1000) i")
    owner.execute(
        "CREATE TABLE stays AS SELECT 1 + i % 500 AS pid, i % 7 AS nights FROM generate_series(1, 2000) i"
    )
    owner.execute("GRANT SELECT ON members, stays TO curator")
    members = Table("members", (IntegerColumn("age", 0, 120),), person="pid")
    stays = Table("stays", (IntegerColumn("nights", 0, 9),), person="pid")
    study = Study(
        members,
        PrivacyUnit("add-remove", "pid"),
        Guarantee(Fraction(100), Fraction(1, 10**9)),
        source=postgres.replace("owner@", "curator@"),  # the tables are called as in the study
        further=(PrivateTable(stays, 2, postgres.replace("owner@", "curator@")),),
    )
    with adyton.open(study) as curator:
        for tables, rows in (("members", 1000), ("stays", 1000), ("members JOIN stays USING (pid)", 1000)):
            answer = curator.ask(f"SELECT COUNT(*) FROM {tables}", scale=2)
            assert abs(answer.value - rows) < 40  # twenty standard deviations
        half = "SELECT COUNT(DISTINCT pid) FROM members JOIN stays ON stays.pid = members.pid"
        assert abs(curator.ask(half, scale=1).value - 500) < 20


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_frames_of_a_session_are_a_study(classic: Any) -> None:
    members, stays = Table("members", (), person="pid"), Table("stays", (), person="guest")
    study = study_with(
        members,
        unit=PrivacyUnit("add-remove", "pid"),
        epsilon=100,
        delta=Fraction(1, 10**9),
        further=(PrivateTable(stays, 2),),
    )
    data = {
        "members": classic.range(300).withColumnRenamed("id", "pid"),
        "stays": classic.sql("SELECT id % 100 AS guest FROM range(400)"),
    }
    with adyton.open(study, data=data) as curator:
        asked = "SELECT COUNT(*) FROM members JOIN stays ON members.pid = stays.guest"
        assert abs(curator.ask(asked, scale=1).value - 200) < 20  # twenty standard deviations
