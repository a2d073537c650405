"""The part of the engines' contract that speaks of single values; ``EngineContract`` includes it."""

from __future__ import annotations

import datetime
import random
import struct
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    source_of,
)
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.expressions import Compare, Not, Times
from adyton.kernel.terms.leaves import Bounded, Day, DayOf, IsMissing, IsOutside, IsTrue, OneOf, ValueOf
from adyton.kernel.terms.measures import Count, Mean, Sum
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
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
from adyton.testing.engines.setup import Open, numbered


class Held(NamedTuple):
    """A declared column, and the type and the values of what it is read from."""

    column: Column
    kind: SourceType
    values: Sequence[Any]


class LoadingContract:
    def check_rows(self, opened: Open, *held: Held) -> None:
        """Each value, one by one, is read as the reference reads it.

        All columns are of one table, which is loaded once and asked at once: none knows what is beside it.
        """
        size = max(len(one.values) for one in held)
        filled = [one._replace(values=[*one.values, *[None] * (size - len(one.values))]) for one in held]
        label, labels = numbered("label of the row", size)
        table = Table("t", (*(one.column for one in filled), label))
        sources = {source_of(one.column): SourceColumn(source_of(one.column), *one[1:]) for one in filled}
        engine = opened(table, (*sources.values(), labels))
        asked = [
            (one, reading)
            for one in filled
            for query in _about(table, one.column, label)
            for reading in readings_of(query, ROWS)
        ]
        found = engine.exact([reading for _, reading in asked])
        for (one, reading), (cells, *_) in zip(asked, found, strict=True):
            for value, got in zip(one.values, cells, strict=True):
                assert got == _shown(reading, one.column, value), (one.column, one.kind, value, reading.name)

    def test_any_number_is_rounded_once_and_clipped_alike(self, opened: Open) -> None:
        """Doubles on steps that they cannot hold, whole numbers beyond them, and decimals."""
        rng = random.Random(7)
        patterns = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(100)]
        held = []
        for i, step in enumerate((Fraction(1, 100), Fraction(1, 3), Fraction(5, 7), Fraction(1, 10**12))):
            ties = [float((rng.randrange(-700, 1400) + Fraction(1, 2)) * step) for _ in range(100)]
            column = RealColumn(f"double {i}", -700 * step, 1400 * step, step)
            held.append(Held(column, "float", [*NASTY_FLOATS, *patterns, *ties]))
        edges = [0, 1, -1, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -(2**53) - 1, None]
        held.append(Held(IntegerColumn("whole", -(2**53), 2**53), "integer", edges))
        near = ("0.0000000005", "-0.0000000005", "1234.5678901235", "999999.9999999995", "-7", "0")
        long = (
            "4849693.6760652860",
            "6808868.5978497970",
        )  # digits over 10**10, in doubles, is not the nearest
        far = [Decimal("9" * 28), -Decimal("9" * 28), Decimal("12345678901234567.0000000005"), None]
        decimal = RealColumn("decimal", Fraction(-5), Fraction(9 * 10**6), Fraction(1, 10**9))
        held.append(Held(decimal, "decimal", [*map(Decimal, near + long), *far]))
        self.check_rows(opened, *held)

    def test_whole_numbers_near_what_doubles_hold_keep_every_digit(self, opened: Open) -> None:
        """Beyond 2**52 a half more is no double, beyond 2**53 a whole number may be none."""
        near = [2**52 + i for i in range(-2, 8)] + [2**53 - i for i in range(6)]
        near += [2**53 + i for i in range(1, 8)] + [10**16 + i for i in range(12)] + [2**62, 2**63 - 1]
        values = [None, 0, 1, *near, *(-one for one in near), -(2**63)]
        columns: list[Column] = [
            IntegerColumn("odd bounds", -(2**53) + 1, 2**53 - 1),
            IntegerColumn("all", -(2**53), 2**53),
            IntegerColumn("from 2**52", 2**52 + 1, 2**52 + 6),
            RealColumn("tens", Fraction(-(10**16)), Fraction(10**16), Fraction(10)),
            RealColumn("hundredths", Fraction(-(2**53), 100), Fraction(2**53, 100), Fraction(1, 100)),
            RealColumn("two fifths", Fraction(-(2**52) * 2, 5), Fraction(2**53 * 2, 5), Fraction(2, 5)),
            RealColumn("too large for it", Fraction(-(10**21)), Fraction(10**21), Fraction(10**6)),
        ]
        held = [Held(column, "integer", values) for column in columns]
        doubles = [2.0**52 + i for i in range(6)] + [2.0**53, 2.0**53 + 2, -(2.0**52) - 1, 4503599627370495.5]
        held.append(Held(IntegerColumn("double", -(2**53), 2**53), "float", doubles))
        decimals = [Decimal(2**52 + 1), Decimal(2**53 - 1), Decimal(-(2**52) - 3), Decimal("2.5"), None]
        held.append(Held(IntegerColumn("decimal", -(2**53), 2**53), "decimal", decimals))
        self.check_rows(opened, *held)

    def test_any_value_is_a_truth_or_missing(self, opened: Open) -> None:
        values: dict[SourceType, list[Any]] = {
            "boolean": [True, False, None],
            "integer": [0, 1, -1, 2**62, None],
            "float": [0.0, -0.0, 5e-324, float("inf"), float("nan"), None],
            "text": TRUTHS,
        }
        truths = [Held(BooleanColumn(f"truth {kind}"), kind, some) for kind, some in values.items()]
        numbers: tuple[SourceType, ...] = ("integer", "float")
        bits = [Held(IntegerColumn(f"bit {kind}", 0, 1), kind, values[kind]) for kind in numbers]
        self.check_rows(opened, *truths, *bits)

    def test_days_are_days_in_utc_and_any_text_is_one_or_missing(self, opened: Open) -> None:
        late, early = datetime.time(23, 59, 59, 999_999), datetime.time(0)
        days = [
            datetime.date(y, m, d) for y, m, d in ((1970, 1, 1), (1969, 12, 31), (2024, 2, 29), (1900, 1, 1))
        ]
        moments = [datetime.datetime.combine(d, t) for d in days for t in (early, late)]
        values: dict[SourceType, Sequence[Any]] = {
            "date": days,
            "timestamp": moments,
            "instant": [moment.replace(tzinfo=datetime.UTC) for moment in moments],
            "text": NASTY_DAYS,
        }
        first, last = datetime.date(1950, 1, 1), datetime.date(2010, 1, 1)
        self.check_rows(
            opened, *(Held(DateColumn(kind, first, last), kind, some) for kind, some in values.items())
        )

    def test_a_category_of_whole_numbers_takes_whole_numbers_only(self, opened: Open) -> None:
        values: dict[SourceType, list[Any]] = {
            "text": WHOLES,
            "integer": [7, -7, 8, 0, None, 9007199254740993, 9007199254740992, -(2**63)],
            "float": [7.0, -7.0, 7.5, -0.0, float("nan"), float("inf"), None, 1e300],
            "decimal": [Decimal("7"), Decimal("7.0000000001"), Decimal("-7"), None],
        }
        self.check_rows(
            opened, *(Held(CategoryColumn(kind, LIST_OF_WHOLES), kind, some) for kind, some in values.items())
        )

    def test_a_category_of_texts_takes_no_near_misses(self, opened: Open) -> None:
        self.check_rows(
            opened,
            Held(CategoryColumn("text", LISTED), "text", [*LISTED, *NEAR_MISSES]),
            Held(CategoryColumn("whole", ("true", "1", "-5")), "integer", [1, -5, 0, None]),
            Held(CategoryColumn("truth", ("true", "1")), "boolean", [True, False, None]),
        )

    def test_no_sum_overflows(self, opened: Open) -> None:
        """The largest values that a column may declare, more of them than 64 bits can add up."""
        x, y = IntegerColumn("x", -(2**53), 2**53), IntegerColumn("y", 0, 255)
        table, product = Table("t", (x, y)), Times(ValueOf(x), ValueOf(y))
        source = (
            SourceColumn("x", "integer", [2**63 - 1] * 3000),
            SourceColumn("y", "integer", [255] * 3000),
        )
        measures = (("s", Sum(ValueOf(x))), ("p", Sum(product)), ("m", Mean(product)))
        readings = readings_of(Query(table, measures), ROWS)
        found = opened(table, source).exact(readings)
        assert found == expected(table, ROWS, source, "salt", readings)
        assert found[1] == [[3000 * 255 * 2**53]]


def _about(table: Table, column: Column, label: CategoryColumn) -> Iterator[Query]:
    """Queries whose answers, together, say what the column holds in each row."""
    yield Query(table, (("missing", Count(IsMissing(column))),), by=(label,))
    if isinstance(column, Bounded):
        outside = IsOutside(column)
        yield Query(table, (("outside", Count(outside)), ("inside", Count(Not(outside)))), by=(label,))
    match column:
        case IntegerColumn() | RealColumn():
            yield Query(table, (("value", Sum(ValueOf(column))),), by=(label,))
        case DateColumn():
            low = Count(Compare(DayOf(column), "<=", Day(column.lattice.low)))
            high = Count(Compare(DayOf(column), ">=", Day(column.lattice.high)))
            yield Query(table, (("low", low), ("high", high)), by=(label,))
            for bit in (0, 365, 12_842, 12_843, 12_844, 19_000):
                yield Query(
                    table, ((f"before {bit}", Count(Compare(DayOf(column), "<", Day(bit)))),), by=(label,)
                )
        case CategoryColumn():
            for i in range(len(column.values)):
                one = OneOf(column, column.values[i : i + 1])
                yield Query(table, ((f"is {i}", Count(one)),), by=(label,))
        case BooleanColumn():
            yield Query(table, (("true", Count(IsTrue(column))),), by=(label,))


def _shown(reading: Reading, column: Column, value: Any) -> int:
    """What a reading of ``_about`` must give for a row of this value."""
    word, _, number = reading.name.partition(" ")
    held, came = value_of(column, value), is_outside(column, value)
    match word:
        case "missing":
            return int(held is None)
        case "outside":
            return int(came)
        case "inside":
            return int(held is not None and not came)
        case _ if held is None:
            return 0
        case "value" | "true":
            return int(held)
        case "is":
            return int(held == int(number))
        case "before":
            return int(held < int(number))
        case _:
            assert isinstance(reading.where, Compare)
            return int(held == reading.where.right.lattice.low)
