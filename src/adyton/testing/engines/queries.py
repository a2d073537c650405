"""The part of the engines' contract that speaks of queries about rows; ``EngineContract`` includes it."""

from __future__ import annotations

import datetime
import random
from calendar import isleap
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, get_args

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import DateColumn, Table, TextColumn
from adyton.kernel.terms.buckets import Group, has_null
from adyton.kernel.terms.expressions import And, Compare, Not, Or
from adyton.kernel.terms.leaves import Constant, DatePart, DayOf, IsTrue, Part, ValueOf
from adyton.kernel.terms.measures import Count, Mean, Moments, Proportion, Sum, Variance
from adyton.monitors.compared import compared
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.query.request import request_of
from adyton.query.sql.read import parse_condition, parse_group, parse_number
from adyton.study import Study
from adyton.testing.engines.cases import (
    AGE,
    BUCKETS,
    CONDITION_TEXTS,
    CONDITIONS,
    FULL_YEARS,
    GROUP_TEXTS,
    INCOME,
    NUMBER_TEXTS,
    NUMBERS,
    PEOPLE,
    REGION,
    ROWS,
    SMOKER,
    SOME,
    YEAR,
    readings_of_all_cells,
)
from adyton.testing.engines.reference import SourceColumn, expected
from adyton.testing.engines.setup import Open, numbered


class QueriesContract:
    @pytest.mark.parametrize("by", [(), (SMOKER,), (REGION, SMOKER, YEAR)], ids=len)
    def test_every_kind_of_query_means_the_same(self, opened: Open, by: tuple[Any, ...]) -> None:
        engine = opened(PEOPLE, SOME)
        measures: list[Any] = [Count(where) for where in CONDITIONS]
        measures += [Sum(value) for value in NUMBERS] + [Mean(v, CONDITIONS[2]) for v in NUMBERS]
        measures += [Proportion(where, CONDITIONS[11]) for where in CONDITIONS]
        query = Query(PEOPLE, tuple((f"m{i}", m) for i, m in enumerate(measures)), by=by)
        readings = readings_of(query, ROWS)
        assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings)

    @pytest.mark.parametrize("adjacency", get_args(Adjacency))
    def test_what_a_monitor_compares_means_the_same(self, opened: Open, adjacency: Adjacency) -> None:
        """Also the sum of what each row has above the threshold of a mean, on a step of its own."""
        unit, table = PrivacyUnit(adjacency), replace(PEOPLE, rows=len(SOME[0].values))
        study = Study(table, unit, Guarantee(Fraction(1), Fraction(0)), "pure")
        numbers = ("age", "income", "age - income / 7", "CASE WHEN smoker THEN income ELSE -age END")
        fed = [
            (f"SELECT AVG({text}) FROM people", above) for text in numbers for above in ("0", "61.37", "1/3")
        ]
        fed += [(f"SELECT SUM({text}) FROM people WHERE smoker", "0") for text in numbers]
        fed += [("SELECT PROPORTION(age > 40) FROM people WHERE income > 0.5", "0.6")]
        asked = [request_of(sql, table).alone for sql, _ in fed]
        above = [Fraction(threshold) for _, threshold in fed]
        readings = [compared(study, "means", 2**60, *one).reading for one in zip(asked, above, strict=True)]
        engine = opened(table, SOME, unit)
        assert engine.exact(readings) == expected(table, unit, SOME, "salt", readings)

    def test_a_filter_of_the_whole_query_means_the_same(self, opened: Open) -> None:
        """In every group, also where the filter leaves none."""
        engine = opened(PEOPLE, SOME)
        measures = (("n", Count()), ("m", Mean(ValueOf(INCOME))), ("v", Variance(ValueOf(INCOME))))
        for where in CONDITIONS[::3]:
            query = Query(PEOPLE, measures, where, (REGION,))
            readings = readings_of_all_cells(query, ROWS)
            assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings), where

    every_pair: ClassVar[bool] = True  # or only so many that each number is in one, where planning takes long

    @pytest.mark.parametrize("by", [(), (REGION,)], ids=len)
    def test_two_numbers_together_count_where_both_are_present(
        self, opened: Open, by: tuple[Any, ...]
    ) -> None:
        engine = opened(PEOPLE, SOME)
        pairs = [pair for pair in pairwise(NUMBERS) if _together(*pair) is not None]
        pairs = [*(pairs if self.every_pair else _each_in_one(pairs)), (NUMBERS[0], NUMBERS[0])]
        named = tuple((f"m{i}", Moments(y, x, "correlation")) for i, (y, x) in enumerate(pairs))
        assert len(named) > 3
        readings = readings_of(Query(PEOPLE, named, by=by), ROWS)
        assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings)

    def groups_with(self, bucket: Group) -> list[tuple[Group, ...]]:
        """Alone, after another, before another; fewer of them where planning takes long."""
        return [(bucket,), (SMOKER, bucket), (bucket, REGION)]

    @pytest.mark.parametrize("bucket", BUCKETS, ids=lambda bucket: bucket.name)
    def test_bins_and_parts_of_dates_are_groups(self, opened: Open, bucket: Any) -> None:
        engine = opened(PEOPLE, SOME)
        measures = (("n", Count()), ("m", Mean(ValueOf(INCOME), CONDITIONS[4])))
        for by in self.groups_with(bucket):
            readings = readings_of(Query(PEOPLE, measures, by=by), ROWS)
            assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings)

    @pytest.mark.parametrize("name", ["region", "year", "smoker", "age", "born"])
    def test_rows_without_a_value_are_a_group_of_null_if_declared_so(self, opened: Open, name: str) -> None:
        """A category, a truth, a number and a day; what is not declared is missing as well."""
        own = [c if isinstance(c, TextColumn) else replace(c, missing=c.name == name) for c in PEOPLE.columns]
        table = replace(PEOPLE, columns=tuple(own))
        engine, written = opened(table, SOME), {"age": "age // 30", "born": "YEAR(born)"}
        group = parse_group(written.get(name, name), table).named("g")
        other = parse_group("region" if name == "smoker" else "smoker", table).named("h")
        assert has_null(group)
        measures = (("n", Count()), ("m", Mean(ValueOf(INCOME))))
        for by in ((group,), (other, group)):
            readings = readings_of(Query(table, measures, by=by), ROWS)
            exact = engine.exact(readings)
            assert exact == expected(table, ROWS, SOME, "salt", readings)
            assert (sum(exact[0][0]) == len(SOME[0].values)) == (by == (group,))  # each row is in one group

    def test_readings_with_different_groups_are_answered_in_the_order_asked(self, opened: Open) -> None:
        engine = opened(PEOPLE, SOME)
        groups: list[Any] = [(), (SMOKER,), (BUCKETS[0],), (), (REGION, SMOKER), (SMOKER,)]
        readings = [
            reading
            for i, by in enumerate(groups)
            for reading in readings_of(
                Query(PEOPLE, ((f"s{i}", Sum(NUMBERS[i])), (f"n{i}", Count(CONDITIONS[i]))), by=by), ROWS
            )
        ]
        wanted = expected(PEOPLE, ROWS, SOME, "salt", readings)
        assert engine.exact(readings) == wanted
        assert engine.exact(readings[::-1]) == wanted[::-1]
        assert engine.exact([]) == []

    @pytest.mark.parametrize("by", [(), (REGION,), (BUCKETS[0], SMOKER)], ids=len)
    def test_many_filters_in_one_call(self, opened: Open, by: tuple[Any, ...]) -> None:
        """Of some columns few values are possible, of others many, and some filters are on several."""
        measures: list[Any] = [Count(), Mean(ValueOf(INCOME))]
        for i in range(10):
            old = Compare(ValueOf(AGE), ">", Constant(Fraction(13 * i)))
            rich = Compare(ValueOf(INCOME), ">=", Constant(Fraction(9_000 * i)))
            for where in (old, rich, And((old, IsTrue(SMOKER))), Or((Not(IsTrue(SMOKER)), rich))):
                measures += [Count(where), Sum(NUMBERS[2], where), Mean(NUMBERS[4], where)]
        query = Query(PEOPLE, tuple((f"m{i}", m) for i, m in enumerate(measures)), by=by)
        readings = readings_of(query, ROWS)
        for size in (len(SOME[0].values), 0):
            source = tuple(SourceColumn(column.name, column.kind, column.values[:size]) for column in SOME)
            engine = opened(PEOPLE, source)
            assert engine.exact(readings) == expected(PEOPLE, ROWS, source, "salt", readings)

    def test_parts_of_every_kind_of_day(self, opened: Open) -> None:
        """From the first year to the last, and around every end of a century."""
        column = DateColumn("d", datetime.date.min, datetime.date.max)
        days = [datetime.date(y, m, d) for y in FULL_YEARS for m, d in ((1, 1), (2, 28), (3, 1), (12, 31))]
        days += [datetime.date(y, 2, 29) for y in FULL_YEARS if isleap(y)]
        rng = random.Random(4)
        days += [datetime.date.fromordinal(rng.randint(1, datetime.date.max.toordinal())) for _ in range(200)]
        label, labels = numbered("label", len(days))
        table = Table("t", (column, label))
        source = (SourceColumn("d", "date", days), labels)
        measures = tuple((part, Sum(DatePart(part, DayOf(column)))) for part in get_args(Part))
        readings = readings_of(Query(table, measures, by=(label,)), ROWS)
        assert opened(table, source).exact(readings) == expected(table, ROWS, source, "salt", readings)

    texts_left_out: ClassVar[tuple[str, ...]] = ()  # which an engine takes very long to plan

    def test_functions_of_a_row_mean_the_same(self, opened: Open) -> None:
        engine = opened(PEOPLE, SOME)
        numbers = [text for text in NUMBER_TEXTS if text not in self.texts_left_out]
        conditions = [text for text in CONDITION_TEXTS if text not in self.texts_left_out]
        measures: list[Any] = [Sum(parse_number(text, PEOPLE)) for text in numbers]
        measures += [Count(parse_condition(text, PEOPLE)) for text in conditions]
        measures += [Count(Not(parse_condition(text, PEOPLE))) for text in conditions]
        named = tuple((f"m{i}", measure) for i, measure in enumerate(measures))
        readings = readings_of(Query(PEOPLE, named, by=(REGION,)), ROWS)
        for start in range(0, len(readings), 8):  # all in one statement are more than some engines parse
            some = readings[start : start + 8]
            assert engine.exact(some) == expected(PEOPLE, ROWS, SOME, "salt", some)
        for text in GROUP_TEXTS:
            by = (parse_group(text, PEOPLE).named("g"),)
            readings = readings_of(Query(PEOPLE, (("n", Count()),), by=by), ROWS)
            assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings), text

    def test_an_empty_table_has_every_declared_group(self, opened: Open) -> None:
        empty = tuple(SourceColumn(column.name, column.kind, []) for column in SOME)
        engine = opened(PEOPLE, empty)
        for by, cells in (((), 1), ((REGION, SMOKER), 8)):
            query = Query(PEOPLE, (("n", Count()), ("m", Mean(ValueOf(AGE)))), by=by)
            readings = readings_of(query, ROWS)
            assert engine.exact(readings) == [[[0] * cells], [[0] * cells, [0] * cells]]

    def test_integers_come_back_as_integers(self, opened: Open) -> None:
        readings = readings_of(Query(PEOPLE, (("m", Mean(ValueOf(INCOME))),), by=(REGION,)), ROWS)
        found = opened(PEOPLE, SOME).exact(readings)
        assert {type(value) for reading in found for column in reading for value in column} == {int}


def _together(y: Any, x: Any) -> Moments | None:
    """None where one of them is a constant, or their product too large."""
    try:
        return Moments(y, x, "correlation")
    except InvalidRequest:
        return None


def _each_in_one(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Of pairs of neighbors, those whose first is in none before, or whose second is in none after."""
    firsts, seen, chosen = {y for y, _ in pairs}, set[Any](), []
    for y, x in pairs:
        if y not in seen or x not in firsts:
            chosen.append((y, x))
            seen |= {y, x}
    return chosen
