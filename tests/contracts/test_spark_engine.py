"""The Spark engine keeps the contract, on classic frames and on those of Spark Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import test_engines as engines
from survey_contract import SurveyContract

import adyton
from adyton.engines.spark import SparkEngine
from adyton.engines.stopping import TimeLimit
from adyton.errors import EngineFailed, InvalidRequest
from adyton.kernel.privacy import Guarantee
from adyton.kernel.schema import Table
from adyton.kernel.terms.measures import Count
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.setup.checking import check_study
from adyton.study import Study
from adyton.testing.engines.cases import AGE, BUCKETS, PEOPLE, REGION, ROWS, SMOKER, SOME, YEAR
from adyton.testing.engines.fitting import ZONES
from adyton.testing.engines.keys import CITY, DRUG
from adyton.testing.engines.reference import Source
from support.faults import CANARY, tracked
from support.spark import MARKS, connect_session, skip_without_spark, spark_session
from support.tries import LONG, crossed, often

pytestmark = MARKS

SPARK = {
    "integer": "bigint",
    "float": "double",
    "decimal": "decimal(38, 10)",
    "boolean": "boolean",
    "text": "string",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "instant": "timestamp",
}
ENDLESS = "SELECT sum(id) FROM range(1000000000000000)"
BUDGET = Guarantee(Fraction(50), Fraction(1, 10**9))


@pytest.fixture(scope="session")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    skip_without_spark()
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session")
def connect(classic: Any) -> Iterator[Any]:
    with connect_session(classic) as session:
        yield session


class SparkContract(SurveyContract, engines.LoadedOnce):
    rows_have_positions = False
    # Months that are added to a day are long to write, and Spark plans them for half a minute: `make long` does.
    texts_left_out = (
        ()
        if LONG
        else (
            "UNIX_DATE(born - INTERVAL 13 MONTH)",
            "born + INTERVAL 1 MONTH > DATE '1970-01-31'",
        )
    )

    @pytest.fixture
    def spark(self) -> Any:
        raise NotImplementedError("the session")

    @pytest.fixture
    def frame(self, spark: Any) -> Callable[[Source], Any]:
        def frame(source: Source) -> Any:
            from pyspark.sql.types import DataType, StructField, StructType

            fields = [StructField(c.name, DataType.fromDDL(SPARK[c.kind])) for c in source]
            return spark.createDataFrame(engines.arrow_table(source), StructType(fields))

        return frame

    @pytest.fixture
    def make_engine(self, frame: Callable[[Source], Any]) -> Any:
        """Of one partition, whose rows are grouped where they are.  Joins and the corpus send theirs around."""
        return lambda table, unit, source, salt, **limits: SparkEngine(
            table, unit, frame(source).coalesce(1), salt, **limits
        )

    def test_the_owner_checks_a_study_whose_data_is_a_frame(
        self, spark: Any, frame: Callable[[Source], Any]
    ) -> None:
        before = len(spark.sql("SHOW TABLES").collect())
        found = check_study(Study(PEOPLE, ROWS, BUDGET), data=frame(SOME))
        (checked,) = found.tables
        counted = {column.name: column for column in checked.columns}
        assert (checked.rows, checked.units) == (7, 7)
        assert (counted["age"].clipped_low, counted["age"].clipped_high) == (1, 1)
        assert (counted["region"].undeclared, counted["region"].almost_declared) == (1, 1)
        assert counted["income"].missing == 2
        assert "North" not in repr(found) + str(found)
        assert len(spark.sql("SHOW TABLES").collect()) == before

    def test_the_owners_check_of_a_frame_shows_values_if_asked(
        self, spark: Any, frame: Callable[[Source], Any]
    ) -> None:
        before = len(spark.sql("SHOW TABLES").collect())
        found = check_study(Study(PEOPLE, ROWS, BUDGET), data=frame(SOME), show_values=True)
        assert "'North' (1)" in str(found)
        assert len(spark.sql("SHOW TABLES").collect()) == before

    def test_nothing_of_ours_is_left_in_the_session(self, spark: Any, frame: Callable[[Source], Any]) -> None:
        before = set(spark.sql("SHOW TABLES").collect())
        engine = SparkEngine(PEOPLE, ROWS, frame(SOME))
        engine.prepare()
        assert len(set(spark.sql("SHOW TABLES").collect()) - before) == 2
        assert {kind for _, kind in engine._cached.dtypes} <= {"bigint", "int", "boolean"}
        engine.close()
        assert set(spark.sql("SHOW TABLES").collect()) == before

    def test_a_nested_column_is_refused(self, spark: Any) -> None:
        engine = SparkEngine(Table("t", (AGE,)), ROWS, spark.sql("SELECT array(1) AS age"))
        with pytest.raises(InvalidRequest, match="has type array<int>, which holds no single value"):
            engine.prepare()

    @pytest.mark.parametrize("what", ["CAST(x AS INT)", "raise_error(x)"])
    def test_A19_a_frame_that_fails_on_a_row_is_refused_without_it(self, spark: Any, what: str) -> None:
        """A bad value, and a task that fails.  Mutant: ``sealed`` raises inside its handler, ``from None``."""
        failing = spark.sql(
            f"SELECT CAST({what} AS INT) AS age FROM (SELECT '{CANARY}' AS x FROM range(2)) AS t"
        )
        with pytest.raises(Exception, match=CANARY):  # what there is to hide
            failing.collect()
        with adyton.open(Study(Table("t", (AGE,)), ROWS, BUDGET), data=failing) as curator:
            with pytest.raises(InvalidRequest, match="cannot be read: Spark says") as caught:
                curator.ask("SELECT COUNT(*) FROM t", scale=1)
            assert CANARY not in tracked(caught.value)
            assert caught.value.__context__ is None

    def test_a_frame_is_data_for_a_study(self, frame: Callable[[Source], Any]) -> None:
        with adyton.open(Study(PEOPLE, ROWS, BUDGET), data=frame(SOME)) as curator:
            assert abs(curator.ask("SELECT COUNT(*) FROM people", scale=1).value - 7) < 20

    def test_an_endless_query_is_cancelled_and_the_next_one_is_not(
        self, opened: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = opened(PEOPLE, SOME)
        with monkeypatch.context() as hasty:
            hasty.setattr(engine, "_time", TimeLimit(0.2))
            with pytest.raises(TimeoutError):
                engine._run(ENDLESS)
        assert engine.exact(readings_of(Query(PEOPLE, (("n", Count()),)), ROWS)) == [[[7]]]

    def test_a_failing_engine_is_opaque_and_the_charge_stands(self, frame: Callable[[Source], Any]) -> None:
        with adyton.open(Study(PEOPLE, ROWS, BUDGET), data=frame(SOME)) as curator:
            curator._engine._time = TimeLimit(1e-9)  # type: ignore[attr-defined]
            with pytest.raises(EngineFailed) as caught:
                curator.ask("SELECT COUNT(*) FROM people", scale=1)
            assert "seconds" not in str(caught.value)
            assert len(curator.receipts()) == 1


PERSONS, KEPT, KINDS = engines.PERSONS, engines.KEPT, engines.KINDS
MOMENTS = ["timestamp", "instant", "text"]
FOUND = crossed([1, 4], [None, 1, 2])
RESERVED = [("add-remove", "text", 3), ("replace-one", "integer", 3), ("add-remove", "integer", 1)]
FILTERED = [(BUCKETS[0], SMOKER), (), (REGION,)]
KEYED = [(SMOKER, CITY), (CITY,), (CITY, BUCKETS[0]), (DRUG, CITY)]
SPLIT = [("integer", 1), ("text", 3), ("text", 1), ("integer", 3)]


class TestClassic(SparkContract):
    # Each of these takes seconds here: usually every kind is asked once, in a long run each with each.
    rounds = often(4, 8)
    every_pair = LONG
    parts_asked = (1, 2, 3, 4, 5, 6, 7) if LONG else (1, 4, 7)

    def groups_with(self, bucket: Any) -> list[tuple[Any, ...]]:
        """One of the ways for each bucket, and each way for some."""
        ways = super().groups_with(bucket)
        return ways if LONG else ways[BUCKETS.index(bucket) % len(ways) :][:1]

    @pytest.mark.parametrize("by", [(REGION, SMOKER, YEAR), (), (SMOKER,)][: often(2, 3)], ids=len)
    def test_every_kind_of_query_means_the_same(self, opened: Any, by: tuple[Any, ...]) -> None:
        super().test_every_kind_of_query_means_the_same(opened, by)

    @pytest.mark.parametrize("seed", range(often(2, 8)))
    def test_random_queries_about_random_rows_mean_the_same(self, opened: Any, seed: int) -> None:
        super().test_random_queries_about_random_rows_mean_the_same(opened, seed)

    @pytest.mark.parametrize(
        ("of", "most"),
        [*product(PERSONS, [None, 1, 2])] if LONG else [*zip(PERSONS, [None, 2, 1, 2], strict=True)][::3],
    )
    def test_one_number_of_each_person(self, opened: Any, of: tuple[int, Any], most: int | None) -> None:
        super().test_one_number_of_each_person(opened, *of, most)

    @pytest.mark.parametrize(("rows", "kind"), [*(product if LONG else zip)(KEPT, KINDS)])
    def test_the_same_rows_of_a_person_are_kept(self, opened: Any, rows: int, kind: Any) -> None:
        super().test_the_same_rows_of_a_person_are_kept(opened, rows, kind)

    @pytest.mark.parametrize(("rows", "kind"), [*product(KEPT, KINDS)] if LONG else [(3, "text")])
    def test_a_row_for_each_person(self, opened: Any, rows: int, kind: Any) -> None:
        super().test_a_row_for_each_person(opened, rows, kind)

    @pytest.mark.parametrize(("kind", "rows"), SPLIT[: often(2, 4)])
    def test_every_engine_splits_persons_alike(self, opened: Any, kind: Any, rows: int) -> None:
        super().test_every_engine_splits_persons_alike(opened, kind, rows)

    @pytest.mark.parametrize("by", [(REGION,), ()][: often(1, 2)], ids=len)
    def test_two_numbers_together_count_where_both_are_present(
        self, opened: Any, by: tuple[Any, ...]
    ) -> None:
        super().test_two_numbers_together_count_where_both_are_present(opened, by)

    @pytest.mark.parametrize("seed", range(often(1, 2)))
    def test_groups_that_are_left_out_hold_nothing(self, opened: Any, seed: int) -> None:
        super().test_groups_that_are_left_out_hold_nothing(opened, seed)

    @pytest.mark.parametrize("seed", range(often(1, 3)))
    def test_counts_of_public_cells_add_up_to_plain_counts(self, opened: Any, seed: int) -> None:
        super().test_counts_of_public_cells_add_up_to_plain_counts(opened, seed)

    @pytest.mark.parametrize(("kind", "zone"), [*(product if LONG else zip)(MOMENTS, ZONES)])
    def test_days_and_hours_in_a_zone(self, opened: Any, kind: Any, zone: str | None) -> None:
        super().test_days_and_hours_in_a_zone(opened, kind, zone)

    @pytest.mark.parametrize("by", FILTERED[: often(1, 3)], ids=len)
    def test_many_filters_in_one_call(self, opened: Any, by: tuple[Any, ...]) -> None:
        super().test_many_filters_in_one_call(opened, by)

    @pytest.mark.parametrize(("rows", "most"), FOUND)
    def test_persons_under_the_discovered_groups(self, opened: Any, rows: int, most: int | None) -> None:
        super().test_persons_under_the_discovered_groups(opened, rows, most)

    @pytest.mark.parametrize(("adjacency", "kind", "rows"), RESERVED[: often(2, 3)])
    def test_a_reserve_of_persons_is_read_by_nobody_until_it_is_opened(
        self, opened: Any, adjacency: Any, kind: Any, rows: int
    ) -> None:
        super().test_a_reserve_of_persons_is_read_by_nobody_until_it_is_opened(opened, adjacency, kind, rows)

    @pytest.mark.parametrize("rows", [2, 1, 3][: often(1, 3)])
    def test_which_copy_is_kept_depends_on_the_person_alone(self, opened: Any, rows: int) -> None:
        super().test_which_copy_is_kept_depends_on_the_person_alone(opened, rows)

    @pytest.fixture
    def spark(self, classic: Any) -> Any:
        return classic

    def test_the_tags_of_queries_do_not_pile_up(self, opened: Any, classic: Any) -> None:
        opened(PEOPLE, SOME).exact(readings_of(Query(PEOPLE, (("n", Count()),)), ROWS))
        assert set(classic.sparkContext.getJobTags()) == set()


class TestConnect(SparkContract):
    # The statements are those of classic frames, in the same Spark: what they mean is not asked twice.  What is left is
    # all that a client has its own part in: types, numbers and texts on their way, zones, views, tags, limits, errors.
    test_random_queries_about_random_rows_mean_the_same = None
    test_groups_that_are_left_out_hold_nothing = None
    test_bins_within_groups_of_which_some_are_left_out = None
    test_bins_and_parts_of_dates_are_groups = None
    test_parts_of_every_kind_of_day = None
    test_many_filters_in_one_call = None
    test_a_filter_of_the_whole_query_means_the_same = None
    test_persons_under_the_discovered_groups = None
    test_texts_that_agree_up_to_a_comma_are_different_rows_of_a_person = None
    test_which_copy_is_kept_depends_on_the_person_alone = None
    test_every_engine_splits_persons_alike = None
    test_the_same_rows_of_a_person_are_kept = None
    test_one_number_of_each_person = None
    test_a_row_for_each_person = None
    test_a_person_counts_in_no_more_cells_than_declared = None
    test_rows_outside_a_filter_or_a_group_use_up_no_cell = None
    test_days_and_hours_in_a_zone = None
    test_functions_of_a_row_mean_the_same = None
    test_every_kind_of_query_means_the_same = None
    test_two_numbers_together_count_where_both_are_present = None
    if not LONG:  # the longest of the others
        test_counts_of_public_cells_add_up_to_plain_counts = None
        test_the_owners_check_counts_what_a_loop_counts = None
        test_the_owners_check_reads_texts_as_queries_do = None
        test_the_owners_check_of_a_frame_shows_values_if_asked = None
        test_what_a_monitor_compares_means_the_same = None
        test_the_declared_size_is_checked_only_where_it_is_public = None
        test_the_public_number_of_persons_is_that_of_all = None
        test_a_table_of_persons_for_fewer_rows_is_not_read = None
        test_split_units_are_never_read_but_by_one_part = None
        test_a_person_whose_name_is_too_long_is_nobody = None
        test_readings_with_different_groups_are_answered_in_the_order_asked = None
        test_a_category_of_texts_takes_no_near_misses = None
        test_a_text_that_is_too_long_is_missing = None
        test_a_reserve_of_persons_is_read_by_nobody_until_it_is_opened = None
        test_keys_of_a_reserve_are_not_found = None
        test_no_persons_sum_overflows = None
        test_a_category_of_whole_numbers_takes_whole_numbers_only = None
        test_the_owners_check_reads_zones_and_counts_what_is_too_long = None

    @pytest.mark.parametrize("by", KEYED[: often(2, 4)], ids=len)
    def test_the_keys_that_occur_are_found(self, opened: Any, by: tuple[Any, ...]) -> None:
        super().test_the_keys_that_occur_are_found(opened, by)

    @pytest.fixture
    def spark(self, connect: Any) -> Any:
        return connect

    def test_the_tags_of_queries_do_not_pile_up(self, opened: Any, connect: Any) -> None:
        opened(PEOPLE, SOME).exact(readings_of(Query(PEOPLE, (("n", Count()),)), ROWS))
        assert connect.getTags() == set()
