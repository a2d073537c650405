"""The part of the engines' contract that speaks of single values; ``EngineContract`` includes it."""

from __future__ import annotations

import datetime
import random
import struct
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from adyton.query.expressions import Compare, Not, Times
from adyton.query.leaves import Bounded, Day, DayOf, IsMissing, IsOutside, IsTrue, OneOf, ValueOf
from adyton.query.measures import Count, Mean, Sum
from adyton.query.nodes import Question
from adyton.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    source_of,
)
from adyton.sensitivity import Reading, readings_of
from adyton.testing.engines.cases import (
    LIST_OF_WHOLES,
    LISTED,
    NASTY_DAYS,
    NASTY_FLOATS,
    NEAR_MISSES,
    ROWS,
    TRUTHS,
    WHOLES,
)
from adyton.testing.engines.reference import SourceColumn, SourceType, expected, is_outside, value_of
from adyton.testing.engines.setup import AnyEngine, Open, numbered


class LoadingContract:
    def check_rows(self, opened: Open, column: Column, kind: SourceType, values: Sequence[Any]) -> None:
        """Each value, one by one, is read as the reference reads it."""
        label, labels = numbered("label of the row", len(values))
        table = Table("t", (column, label))
        engine = opened(table, (SourceColumn(source_of(column), kind, values), labels))
        readings = [
            reading for question in _about(table, column, label) for reading in readings_of(question, ROWS)
        ]
        found = engine.exact(readings)
        wanted = [value_of(column, value) for value in values]
        for reading, (cells, *_) in zip(readings, found, strict=True):
            for value, want, got in zip(values, wanted, cells, strict=True):
                assert got == _shown(reading, want), (kind, value, reading.name)
        if isinstance(column, Bounded):
            self.check_outside(engine, table, column, values)

    def check_outside(self, engine: AnyEngine, table: Table, column: Bounded, values: Sequence[Any]) -> None:
        """Whether each value came from outside of what is declared, did not, or was none."""
        label = table.columns[-1]
        assert isinstance(label, CategoryColumn)
        measures = (("yes", Count(IsOutside(column))), ("no", Count(Not(IsOutside(column)))))
        found = engine.exact(readings_of(Question(table, measures, by=(label,)), ROWS))
        for value, yes, no in zip(values, found[0][0], found[1][0], strict=True):
            came = is_outside(column, value)
            inside = not came and value_of(column, value) is not None
            assert (yes, no) == (int(came), int(inside)), (column.kind, value)

    @pytest.mark.parametrize("grain", [Fraction(1, 100), Fraction(1, 3), Fraction(5, 7), Fraction(1, 10**12)])
    def test_any_double_is_rounded_and_clipped_alike(self, opened: Open, grain: Fraction) -> None:
        rng = random.Random(7)
        patterns = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(100)]
        ties = [float((rng.randrange(-700, 1400) + Fraction(1, 2)) * grain) for _ in range(100)]
        column = RealColumn("x", -700 * grain, 1400 * grain, grain)
        self.check_rows(opened, column, "float", [*NASTY_FLOATS, *patterns, *ties])

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
    def test_any_value_is_a_truth_or_missing(self, opened: Open, kind: SourceType) -> None:
        values: dict[str, list[Any]] = {
            "boolean": [True, False, None],
            "integer": [0, 1, -1, 2**62, None],
            "float": [0.0, -0.0, 5e-324, float("inf"), float("nan"), None],
            "text": TRUTHS,
        }
        self.check_rows(opened, BooleanColumn("x"), kind, values[kind])
        if kind in ("integer", "float"):
            self.check_rows(opened, IntegerColumn("x", 0, 1), kind, values[kind])

    def test_any_text_is_a_day_or_missing(self, opened: Open) -> None:
        column = DateColumn("x", datetime.date(1950, 1, 1), datetime.date(2010, 1, 1))
        self.check_rows(opened, column, "text", NASTY_DAYS)

    @pytest.mark.parametrize("kind", ["date", "timestamp", "instant"])
    def test_days_are_days_in_utc(self, opened: Open, kind: SourceType) -> None:
        zone = datetime.UTC if kind == "instant" else None
        late, early = datetime.time(23, 59, 59, 999_999), datetime.time(0)
        days = [
            datetime.date(y, m, d) for y, m, d in ((1970, 1, 1), (1969, 12, 31), (2024, 2, 29), (1900, 1, 1))
        ]
        whole: list[Any] = [datetime.datetime.combine(d, t, zone) for d in days for t in (early, late)]
        column = DateColumn("x", datetime.date(1950, 1, 1), datetime.date(2010, 1, 1))
        self.check_rows(opened, column, kind, [*(days if kind == "date" else whole), None])

    @pytest.mark.parametrize("kind", ["text", "integer", "float", "decimal"])
    def test_a_category_of_whole_numbers_takes_whole_numbers_only(
        self, opened: Open, kind: SourceType
    ) -> None:
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
