"""The part of the engines' contract that speaks of types, long texts and zones."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import (
    CLOCK,
    LONGEST_TEXT,
    BooleanColumn,
    CategoryColumn,
    Clock,
    ClockPart,
    Column,
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
from adyton.testing.engines.cases import AGE, NASTY_MOMENTS, ROWS
from adyton.testing.engines.loading import Held, LoadingContract
from adyton.testing.engines.reference import Source, SourceColumn, SourceType, expected, expected_found
from adyton.testing.engines.setup import MakeEngine, Open

LOW, HIGH = datetime.date(1950, 1, 1), datetime.date(2010, 1, 1)
ZONES = ("America/New_York", "Pacific/Apia", None)
VALUES: dict[SourceType, Any] = {
    "integer": 1,
    "float": 1.5,
    "boolean": True,
    "text": "canary",
    "date": datetime.date(2000, 1, 1),
    "timestamp": datetime.datetime(2000, 1, 1, 12),
    "instant": datetime.datetime(2000, 1, 1, 12, tzinfo=datetime.UTC),
}
CONTRADICTIONS: list[tuple[Column, tuple[SourceType, ...], str]] = [
    (IntegerColumn("x", 0, 9), ("text",), "store numbers, or declare kind = 'category' or 'text'"),
    (RealColumn("x", 0, 9, 1), ("text",), "store numbers"),  # type: ignore[arg-type]
    (IntegerColumn("x", 0, 9), ("boolean",), "declare kind = 'boolean'"),
    (RealColumn("x", 0, 9, 1), ("date", "timestamp", "instant"), "declare kind = 'date'"),  # type: ignore[arg-type]
    (DateColumn("x", LOW, HIGH), ("integer", "float", "boolean"), "store timestamps"),
    (DateColumn("x", LOW, HIGH, "Asia/Kolkata"), ("date",), "a day has no time"),
    (BooleanColumn("x"), ("date", "timestamp"), "declare kind = 'date'"),
    (CategoryColumn("x", (1, 2)), ("boolean", "date"), "declare kind ="),
]


def moments() -> list[datetime.datetime]:
    """Around every change of clocks in some years, and elsewhere; in UTC."""
    years, hours = (1900, 1969, 1987, 2005, 2099), (0, 5, 11, 23)
    spread = [datetime.datetime(y, m, d, h) for y in years for m in (3, 10) for d in (1, 26) for h in hours]
    changes = [
        (2005, 4, 3, 6, 59, 59, 999_999), (2005, 4, 3, 7), (2005, 10, 30, 5, 59, 59), (2005, 10, 30, 6),
        (2005, 3, 27, 0, 59, 59), (2005, 3, 27, 1), (2011, 12, 30, 9, 59, 59), (2011, 12, 30, 10),
        (1969, 12, 31, 23, 59, 59, 999_999), (1970, 1, 1), (1950, 1, 1, 4, 59), (2010, 1, 1, 5),
    ]  # fmt: skip
    return [*spread, *(datetime.datetime(*one) for one in changes)]  # type: ignore[arg-type]


class FittingContract(LoadingContract):
    @pytest.mark.parametrize(("column", "kinds", "says"), CONTRADICTIONS)
    def test_a_type_that_contradicts_the_study_is_refused(
        self, make_engine: MakeEngine, column: Column, kinds: tuple[SourceType, ...], says: str
    ) -> None:
        """Types are public: the message names the column, its type, the declared kind, and the way out."""
        for kind in kinds:
            engine = make_engine(Table("t", (column,)), ROWS, (SourceColumn("x", kind, [VALUES[kind]]),), "")
            with pytest.raises(
                InvalidRequest, match=f"column 'x' has type .*, and columns.x says .*{says}"
            ) as caught:
                engine.prepare()
            assert "canary" not in str(caught.value)
            engine.close()

    def test_all_that_does_not_fit_is_said_at_once(self, make_engine: MakeEngine) -> None:
        table = Table("t", (IntegerColumn("a", 0, 9), DateColumn("b", LOW, HIGH), AGE))
        source = (SourceColumn("a", "text", ["1"]), SourceColumn("b", "integer", [1]))
        with pytest.raises(InvalidRequest) as caught:
            make_engine(table, ROWS, source, "").prepare()
        assert str(caught.value).count("\n  - ") == 3

    def test_a_text_that_is_too_long_is_missing(self, opened: Open) -> None:
        """In bytes; nobody's row decides how much the rows of others need."""
        by = (TextColumn("city", 6), CategoryColumn("kind", ("a" * 5000, "b")), BooleanColumn("b"))
        table = Table("t", by)
        texts = [
            "Berlin",
            "Bergen!",
            "K\u00f6ln",
            "\u00c5lesund",
            "\U0001f70d",
            "\U0001f70d\U0001f70d",
            "",
            None,
        ]
        source: Source = (
            SourceColumn("city", "text", [*texts, "x" * 100_000]),
            SourceColumn("kind", "text", ["a" * 5000, "b", "a" * 5001, *["b"] * 6]),
            SourceColumn("b", "text", ["1", "true" + " " * 5000, *["0"] * 7]),
        )
        engine = opened(table, source)
        for some in (by[:1], by):
            readings = readings_of(Query(table, (("n", Count()),), by=some), ROWS)
            assert engine.found(readings) == expected_found(table, ROWS, source, "salt", readings)
        keys, _ = engine.found(readings_of(Query(table, (("n", Count()),), by=by[:1]), ROWS))
        assert keys == [("",), ("Berlin",), ("K\u00f6ln",), ("\U0001f70d",)]

    @pytest.mark.parametrize("rows", [1, 3])
    def test_a_person_whose_name_is_too_long_is_nobody(self, opened: Open, rows: int) -> None:
        longest = "p" * LONGEST_TEXT
        source = (
            SourceColumn("age", "integer", [1, 2, 3, 4]),
            SourceColumn(
                "who",
                "text",
                [longest, longest + "p", "\u00e9" * (LONGEST_TEXT // 2), "\u00e9" * LONGEST_TEXT],
            ),
        )
        table, unit = Table("t", (AGE,)), PrivacyUnit("add-remove", "who", rows)
        readings = readings_of(Query(table, (("n", Count()), ("s", Sum(ValueOf(AGE))))), unit)
        found = opened(table, source, unit).exact(readings)
        assert found == expected(table, unit, source, "salt", readings) == [[[2]], [[4]]]

    @pytest.mark.parametrize("zone", ZONES)
    @pytest.mark.parametrize("kind", ["timestamp", "instant", "text"])
    def test_days_and_hours_in_a_zone(self, opened: Open, kind: SourceType, zone: str | None) -> None:
        utc = datetime.UTC if kind == "instant" else None
        stored: list[Any] = [*(moment.replace(tzinfo=utc) for moment in moments()), None]
        values = NASTY_MOMENTS if kind == "text" else stored
        parts: tuple[Clock, ...] = ("hour", "minute")
        columns: list[Column] = [IntegerColumn(p, *CLOCK[p], ClockPart("x", p, zone)) for p in parts]
        if zone is not None:
            columns.append(DateColumn("x", LOW, HIGH, zone))
        self.check_rows(opened, *(Held(column, kind, values) for column in columns))

    def test_a_zone_that_nobody_knows_is_refused(self, make_engine: MakeEngine) -> None:
        column = DateColumn("x", LOW, HIGH, "America/Atlantis")
        engine = make_engine(Table("t", (column,)), ROWS, (SourceColumn("x", "timestamp", []),), "")
        with pytest.raises(InvalidRequest, match="no time zone 'America/Atlantis'"):
            engine.prepare()
