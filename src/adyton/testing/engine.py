"""The promise of ``adyton.engines.base.Engine``, as tests.

pytest.register_assert_rewrite("adyton.testing.engine")   # in conftest.py: readable failures

class TestMyEngine(EngineContract):
    @pytest.fixture
    def make_engine(self):
        return lambda table, unit, source, salt: MyEngine(...)    # not yet prepared

A source is a tuple of ``SourceColumn``: store it in your engine's own types.  What must come out is computed
by a plain loop over the rows (``engine_reference``), so an engine that passes gives the same integers, bit
for bit, as every other one.
"""

from __future__ import annotations

import datetime
import random
import struct
from calendar import isleap
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, get_args

import pytest

from adyton.errors import InvalidRequest
from adyton.privacy import PrivacyUnit
from adyton.query.nodes import (
    Compare,
    Count,
    DatePart,
    Day,
    DayOf,
    IsMissing,
    IsTrue,
    Mean,
    OneOf,
    Part,
    Proportion,
    Question,
    Sum,
    Times,
    ValueOf,
)
from adyton.schema import BooleanColumn, CategoryColumn, Column, DateColumn, IntegerColumn, RealColumn, Table
from adyton.sensitivity import Reading, readings_of
from adyton.testing.engine_cases import (
    AGE,
    BUCKETS,
    CONDITIONS,
    FULL_YEARS,
    INCOME,
    LIST_OF_WHOLES,
    LISTED,
    NASTY_DAYS,
    NASTY_FLOATS,
    NASTY_TEXTS,
    NEAR_MISSES,
    NUMBERS,
    ODD_NAMES,
    PEOPLE,
    REGION,
    ROWS,
    SMOKER,
    SOME,
    TRUTHS,
    WHOLES,
    YEAR,
)
from adyton.testing.engine_reference import Kind, Source, SourceColumn, expected, value_of


class _Engine(Protocol):
    def prepare(self) -> None: ...
    def exact(self, readings: Sequence[Reading]) -> list[list[list[int]]]: ...
    def close(self) -> None: ...


MakeEngine = Callable[[Table, PrivacyUnit, Source, str], _Engine]
Open = Callable[..., _Engine]


def _numbered(name: str, size: int) -> tuple[CategoryColumn, SourceColumn]:
    """A category of its own for each row: grouping by it shows what each row was read as."""
    labels = tuple(f"r{i}" for i in range(size))
    return CategoryColumn(name, labels), SourceColumn(name, "text", labels)


class EngineContract:
    @pytest.fixture
    def make_engine(self) -> MakeEngine:
        raise NotImplementedError("a fixture that returns a new engine for a source")

    @pytest.fixture
    def opened(self, make_engine: MakeEngine) -> Iterator[Open]:
        made: list[_Engine] = []

        def open_(table: Table, source: Source, unit: PrivacyUnit = ROWS, salt: str = "salt") -> _Engine:
            made.append(make_engine(table, unit, source, salt))
            made[-1].prepare()
            return made[-1]

        yield open_
        for engine in made:
            engine.close()

    def check_rows(self, opened: Open, column: Column, kind: Kind, values: Sequence[Any]) -> None:
        """Each value, one by one, is read as the reference reads it."""
        label, labels = _numbered("label of the row", len(values))
        table = Table("t", (column, label))
        engine = opened(table, (SourceColumn(column.name, kind, values), labels))
        readings = [
            reading for question in _about(table, column, label) for reading in readings_of(question, ROWS)
        ]
        found = engine.exact(readings)
        wanted = [value_of(column, value) for value in values]
        for reading, (cells, *_) in zip(readings, found, strict=True):
            for value, want, got in zip(values, wanted, cells, strict=True):
                assert got == _shown(reading, want), (kind, value, reading.name)

    # Questions ------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("by", [(), (SMOKER,), (REGION, SMOKER, YEAR)], ids=len)
    def test_every_kind_of_question_means_the_same(self, opened: Open, by: tuple[Any, ...]) -> None:
        engine = opened(PEOPLE, SOME)
        measures: list[Any] = [Count(where) for where in CONDITIONS]
        measures += [Sum(value) for value in NUMBERS] + [Mean(v, CONDITIONS[2]) for v in NUMBERS]
        measures += [Proportion(where, CONDITIONS[11]) for where in CONDITIONS]
        question = Question(PEOPLE, tuple((f"m{i}", m) for i, m in enumerate(measures)), by=by)
        readings = readings_of(question, ROWS)
        assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings)

    def test_a_filter_of_the_whole_question_means_the_same(self, opened: Open) -> None:
        engine = opened(PEOPLE, SOME)
        for where in CONDITIONS[::3]:
            question = Question(PEOPLE, (("n", Count()), ("m", Mean(ValueOf(INCOME)))), where, (REGION,))
            readings = readings_of(question, ROWS)
            assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings), where

    @pytest.mark.parametrize("bucket", BUCKETS, ids=lambda bucket: bucket.name)
    def test_bins_and_parts_of_dates_are_groups(self, opened: Open, bucket: Any) -> None:
        engine = opened(PEOPLE, SOME)
        measures = (("n", Count()), ("m", Mean(ValueOf(INCOME), CONDITIONS[4])))
        for by in ((bucket,), (SMOKER, bucket), (bucket, REGION)):
            readings = readings_of(Question(PEOPLE, measures, by=by), ROWS)
            assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings)

    def test_readings_with_different_groups_are_answered_in_the_order_asked(self, opened: Open) -> None:
        engine = opened(PEOPLE, SOME)
        groups: list[Any] = [(), (SMOKER,), (BUCKETS[0],), (), (REGION, SMOKER), (SMOKER,)]
        readings = [
            reading
            for i, by in enumerate(groups)
            for reading in readings_of(
                Question(PEOPLE, ((f"s{i}", Sum(NUMBERS[i])), (f"n{i}", Count(CONDITIONS[i]))), by=by), ROWS
            )
        ]
        assert engine.exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings)
        assert engine.exact(readings[::-1]) == engine.exact(readings)[::-1]
        assert engine.exact([]) == []

    def test_parts_of_every_kind_of_day(self, opened: Open) -> None:
        """From the first year to the last, and around every end of a century."""
        column = DateColumn("d", datetime.date.min, datetime.date.max)
        days = [datetime.date(y, m, d) for y in FULL_YEARS for m, d in ((1, 1), (2, 28), (3, 1), (12, 31))]
        days += [datetime.date(y, 2, 29) for y in FULL_YEARS if isleap(y)]
        rng = random.Random(4)
        days += [datetime.date.fromordinal(rng.randint(1, datetime.date.max.toordinal())) for _ in range(200)]
        label, labels = _numbered("label", len(days))
        table = Table("t", (column, label))
        source = (SourceColumn("d", "date", days), labels)
        measures = tuple((part, Sum(DatePart(part, DayOf(column)))) for part in get_args(Part))
        readings = readings_of(Question(table, measures, by=(label,)), ROWS)
        assert opened(table, source).exact(readings) == expected(table, ROWS, source, "salt", readings)

    def test_an_empty_table_has_every_declared_group(self, opened: Open) -> None:
        empty = tuple(SourceColumn(column.name, column.kind, []) for column in SOME)
        engine = opened(PEOPLE, empty)
        for by, cells in (((), 1), ((REGION, SMOKER), 8)):
            question = Question(PEOPLE, (("n", Count()), ("m", Mean(ValueOf(AGE)))), by=by)
            readings = readings_of(question, ROWS)
            assert engine.exact(readings) == [[[0] * cells], [[0] * cells, [0] * cells]]

    def test_integers_come_back_as_integers(self, opened: Open) -> None:
        readings = readings_of(Question(PEOPLE, (("m", Mean(ValueOf(INCOME))),), by=(REGION,)), ROWS)
        found = opened(PEOPLE, SOME).exact(readings)
        assert {type(value) for reading in found for column in reading for value in column} == {int}

    # Values ---------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("grain", [Fraction(1, 100), Fraction(1, 3), Fraction(5, 7), Fraction(1, 10**12)])
    def test_any_double_is_rounded_and_clipped_alike(self, opened: Open, grain: Fraction) -> None:
        rng = random.Random(7)
        patterns = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(100)]
        ties = [float((rng.randrange(-700, 1400) + Fraction(1, 2)) * grain) for _ in range(100)]
        column = RealColumn("x", -700 * grain, 1400 * grain, grain)
        self.check_rows(opened, column, "float", [*NASTY_FLOATS, *patterns, *ties])

    def test_any_text_is_a_number_or_missing(self, opened: Open) -> None:
        column = RealColumn("x", Fraction(-5), Fraction(100), Fraction(1, 100))
        self.check_rows(opened, column, "text", NASTY_TEXTS)

    def test_any_whole_number_is_clipped(self, opened: Open) -> None:
        column = IntegerColumn("x", -(2**53), 2**53)
        edges = [0, 1, -1, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -(2**53) - 1, None]
        self.check_rows(opened, column, "integer", edges)

    def test_any_decimal_is_rounded_once(self, opened: Open) -> None:
        column = RealColumn("x", Fraction(-5), Fraction(9 * 10**6), Fraction(1, 10**9))
        near = ("0.0000000005", "-0.0000000005", "1234.5678901235", "999999.9999999995", "-7", "0")
        long = (
            "4849693.6760652860",
            "6808868.5978497970",
        )  # digits over 10**10, in doubles, is not the nearest
        far = [Decimal("9" * 28), -Decimal("9" * 28), Decimal("12345678901234567.0000000005"), None]
        self.check_rows(opened, column, "decimal", [*map(Decimal, near + long), *far])

    @pytest.mark.parametrize("kind", ["boolean", "integer", "float", "text"])
    def test_any_value_is_a_truth_or_missing(self, opened: Open, kind: Kind) -> None:
        values: dict[str, list[Any]] = {
            "boolean": [True, False, None],
            "integer": [0, 1, -1, 2**62, None],
            "float": [0.0, -0.0, 5e-324, float("inf"), float("nan"), None],
            "text": TRUTHS,
        }
        self.check_rows(opened, BooleanColumn("x"), kind, values[kind])
        if kind != "text":
            self.check_rows(opened, IntegerColumn("x", 0, 1), kind, values[kind])

    def test_any_text_is_a_day_or_missing(self, opened: Open) -> None:
        column = DateColumn("x", datetime.date(1950, 1, 1), datetime.date(2010, 1, 1))
        self.check_rows(opened, column, "text", NASTY_DAYS)

    @pytest.mark.parametrize("kind", ["date", "timestamp", "instant"])
    def test_days_are_days_in_utc(self, opened: Open, kind: Kind) -> None:
        zone = datetime.UTC if kind == "instant" else None
        late, early = datetime.time(23, 59, 59, 999_999), datetime.time(0)
        days = [
            datetime.date(y, m, d) for y, m, d in ((1970, 1, 1), (1969, 12, 31), (2024, 2, 29), (1900, 1, 1))
        ]
        whole: list[Any] = [datetime.datetime.combine(d, t, zone) for d in days for t in (early, late)]
        column = DateColumn("x", datetime.date(1950, 1, 1), datetime.date(2010, 1, 1))
        self.check_rows(opened, column, kind, [*(days if kind == "date" else whole), None])

    @pytest.mark.parametrize("kind", ["text", "integer", "float", "decimal"])
    def test_a_category_of_whole_numbers_takes_whole_numbers_only(self, opened: Open, kind: Kind) -> None:
        values: dict[str, list[Any]] = {
            "text": WHOLES,
            "integer": [7, -7, 8, 0, None, 9007199254740993, 9007199254740992, -(2**63)],
            "float": [7.0, -7.0, 7.5, -0.0, float("nan"), float("inf"), None, 1e300],
            "decimal": [Decimal("7"), Decimal("7.0000000001"), Decimal("-7"), None],
        }
        self.check_rows(opened, LIST_OF_WHOLES, kind, values[kind])

    def test_a_category_of_texts_takes_no_near_misses(self, opened: Open) -> None:
        self.check_rows(opened, CategoryColumn("x", LISTED), "text", [*LISTED, *NEAR_MISSES])
        self.check_rows(opened, CategoryColumn("x", ("true", "1", "-5")), "integer", [1, -5, 0, None])
        self.check_rows(opened, CategoryColumn("x", ("true", "1")), "boolean", [True, False, None])

    def test_no_sum_overflows(self, opened: Open) -> None:
        """The largest values that a column may declare, more of them than 64 bits can add up."""
        x, y = IntegerColumn("x", -(2**53), 2**53), IntegerColumn("y", 0, 255)
        table, product = Table("t", (x, y)), Times(ValueOf(x), ValueOf(y))
        source = (
            SourceColumn("x", "integer", [2**63 - 1] * 3000),
            SourceColumn("y", "integer", [255] * 3000),
        )
        measures = (("s", Sum(ValueOf(x))), ("p", Sum(product)), ("m", Mean(product)))
        readings = readings_of(Question(table, measures), ROWS)
        found = opened(table, source).exact(readings)
        assert found == expected(table, ROWS, source, "salt", readings)
        assert found[1] == [[3000 * 255 * 2**53]]

    def test_names_are_only_ever_names(self, opened: Open) -> None:
        columns = tuple(IntegerColumn(name, 0, 99) for name in ODD_NAMES)
        source = tuple(SourceColumn(name, "integer", [i, 1, None]) for i, name in enumerate(ODD_NAMES))
        table = Table("t", columns)
        unit = PrivacyUnit("add-or-remove", "who", 2)
        measures = tuple((f"s{i}", Sum(ValueOf(column))) for i, column in enumerate(columns))
        readings = readings_of(Question(table, measures), unit)
        found = opened(table, source, unit).exact(readings)
        assert (
            found
            == expected(table, unit, source, "salt", readings)
            == [[[i + 1]] for i in range(len(ODD_NAMES))]
        )

    def test_capital_letters_in_names_do_not_count(self, opened: Open) -> None:
        table = Table("t", (IntegerColumn("Age", 0, 99),))
        readings = readings_of(Question(table, (("s", Sum(ValueOf(table.columns[0]))),)), ROWS)  # type: ignore[arg-type]
        assert opened(table, (SourceColumn("aGE", "integer", [3, 4]),)).exact(readings) == [[[7]]]

    # Persons --------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("rows", [1, 3, 100])
    @pytest.mark.parametrize("kind", ["integer", "text", "float"])
    def test_the_same_rows_of_a_person_are_kept(self, opened: Open, rows: int, kind: Kind) -> None:
        rng, size = random.Random(5), 300
        makers: dict[str, Callable[[int], Any]] = {"integer": int, "text": "pérson {}".format, "float": float}
        odd = {"float": [float("nan"), -0.0, 0.0]}.get(kind, [])
        who = [rng.choice([None, *odd, *map(makers[kind], range(20))]) for _ in range(size)]
        source = (
            SourceColumn("age", "integer", [rng.choice([None, *range(-5, 130)]) for _ in range(size)]),
            SourceColumn("income", "float", [rng.choice([None, rng.uniform(-9, 3e5)]) for _ in range(size)]),
            SourceColumn("region", "text", [rng.choice(["north", "south", "no", None]) for _ in range(size)]),
            SourceColumn("smoker", "boolean", [rng.choice([True, False, None]) for _ in range(size)]),
            SourceColumn("Who", kind, who),
        )
        table, unit = Table("t", (AGE, INCOME, REGION, SMOKER)), PrivacyUnit("add-or-remove", "who", rows)
        measures = (("n", Count()), ("a", Sum(ValueOf(AGE))), ("i", Mean(ValueOf(INCOME))))
        readings = readings_of(Question(table, measures, by=(SMOKER,)), unit)
        found = opened(table, source, unit, "salt 'n' pepper").exact(readings)
        assert found == expected(table, unit, source, "salt 'n' pepper", readings)

    # Public facts ---------------------------------------------------------------------------------------

    def test_the_declared_size_is_checked_only_where_it_is_public(self, make_engine: MakeEngine) -> None:
        source = (
            SourceColumn("age", "integer", [1, 2, 3, 4]),
            SourceColumn("who", "text", ["a", "a", "b", None]),
        )
        for unit, right, said in (
            (PrivacyUnit("replace"), 4, "4 rows"),
            (PrivacyUnit("replace", "who"), 2, "2 persons"),
        ):
            with pytest.raises(InvalidRequest, match=rf"table\.rows = 9, but the data holds {said}"):
                make_engine(Table("t", (AGE,), 9), unit, source, "").prepare()
            engine = make_engine(Table("t", (AGE,), right), unit, source, "")
            engine.prepare()
            engine.close()
        engine = make_engine(Table("t", (AGE,), 9), ROWS, source, "")
        engine.prepare()
        engine.close()

    def test_a_column_that_is_not_there_is_named(self, make_engine: MakeEngine) -> None:
        source = (SourceColumn("other", "text", ["canary"]),)
        for table, unit in ((Table("t", (AGE,)), ROWS), (Table("t", ()), PrivacyUnit("replace", "age"))):
            with pytest.raises(InvalidRequest, match="has no column 'age'; it has: other") as caught:
                make_engine(table, unit, source, "").prepare()
            assert "canary" not in str(caught.value)
            assert caught.value.__cause__ is None

    def test_questions_from_many_threads(self, opened: Open) -> None:
        engine = opened(PEOPLE, SOME)
        readings = readings_of(Question(PEOPLE, (("s", Sum(ValueOf(AGE))),), by=(REGION,)), ROWS)
        wanted = engine.exact(readings)
        with ThreadPoolExecutor(4) as pool:
            assert all(found == wanted for found in pool.map(lambda _: engine.exact(readings), range(12)))

    def test_prepare_and_close_may_be_repeated(self, make_engine: MakeEngine) -> None:
        engine = make_engine(PEOPLE, ROWS, SOME, "")
        engine.close()
        for _ in range(2):
            engine.prepare()
            engine.prepare()
            assert engine.exact(readings_of(Question(PEOPLE, (("n", Count()),)), ROWS)) == [[[7]]]
            engine.close()
            engine.close()


def _about(table: Table, column: Column, label: CategoryColumn) -> Iterator[Question]:
    """Questions whose answers, together, say what the column holds in each row."""
    yield Question(table, (("missing", Count(IsMissing(column))),), by=(label,))
    match column:
        case IntegerColumn() | RealColumn():
            yield Question(table, (("value", Sum(ValueOf(column))),), by=(label,))
        case DateColumn():
            low = Count(Compare(DayOf(column), "<=", Day(column.lattice.low)))
            high = Count(Compare(DayOf(column), ">=", Day(column.lattice.high)))
            yield Question(table, (("low", low), ("high", high)), by=(label,))
            for bit in (0, 365, 12_842, 12_843, 12_844, 19_000):
                yield Question(
                    table, ((f"before {bit}", Count(Compare(DayOf(column), "<", Day(bit)))),), by=(label,)
                )
        case CategoryColumn():
            for i in range(len(column.values)):
                one = OneOf(column, column.values[i : i + 1])
                yield Question(table, ((f"is {i}", Count(one)),), by=(label,))
        case BooleanColumn():
            yield Question(table, (("true", Count(IsTrue(column))),), by=(label,))


def _shown(reading: Reading, value: int | None) -> int:
    """What a reading of ``_about`` must give for a row that holds ``value``."""
    word, _, number = reading.name.partition(" ")
    if word == "missing":
        return int(value is None)
    if value is None:
        return 0
    column = reading.where if word not in ("value", "true") else None
    match word:
        case "value":
            return value
        case "true":
            return int(value)
        case "is":
            return int(value == int(number))
        case "before":
            return int(value < int(number))
        case _:
            assert isinstance(column, Compare)
            return int(value == column.right.lattice.low)
