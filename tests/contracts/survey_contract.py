"""What the owner's check counts, against a plain loop over the values: the same on every engine."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from functools import partial
from typing import Any

import pytest

from adyton.engines.survey import (
    FINE,
    HIGH,
    LOW,
    MISSING,
    UNDECLARED,
    UNUSABLE,
    CodedLoading,
    PersonCounts,
    Surveyor,
)
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import (
    LONGEST_TEXT,
    BooleanColumn,
    CategoryColumn,
    ClockPart,
    Column,
    DateColumn,
    IntegerColumn,
    Table,
    TextColumn,
)
from adyton.testing.engines.cases import AGE, BORN, INCOME, NASTY_DAYS, NASTY_TEXTS, REGION, ROWS, TRUTHS
from adyton.testing.engines.random import TABLE, random_source
from adyton.testing.engines.reference import Source, SourceColumn, is_outside, value_of
from adyton.testing.engines.setup import MakeEngine
from adyton.testing.engines.values import too_long


def code_of(column: Column, value: Any) -> int:
    if value is None or value != value:
        return MISSING
    if too_long(value):
        return UNUSABLE
    read = value_of(column, value)
    if read is None:
        return UNDECLARED if isinstance(column, CategoryColumn) else UNUSABLE
    if isinstance(column, TextColumn | CategoryColumn | BooleanColumn) or not is_outside(column, value):
        return FINE
    return LOW if read == column.lattice.low else HIGH


def codes_of(table: Table, source: Source) -> list[list[int]]:
    by_name = {column.name: column for column in source}
    counted = [Counter(code_of(c, value) for value in by_name[c.name].values) for c in table.columns]
    return [[counts[code] for code in range(HIGH + 1)] for counts in counted]


def persons_of(whose: Any, most: int) -> PersonCounts:
    own = Counter(who for who in whose if who is not None and who == who)
    above = [rows for rows in own.values() if rows > most]
    nobody = len(whose) - sum(own.values())
    return PersonCounts(
        len(own), nobody, len(above), sum(above) - most * len(above), max(own.values(), default=0)
    )


class SurveyContract:
    """For a class with the fixture ``make_engine`` of an engine that takes ``loads``."""

    @pytest.mark.parametrize("seed", range(3))
    def test_the_owners_check_counts_what_a_loop_counts(self, make_engine: MakeEngine, seed: int) -> None:
        rng = random.Random(seed)
        source = random_source(rng, (0, 1, 80)[seed])
        unit = PrivacyUnit("add-remove", "who", rng.choice([1, 2, 5]))
        surveyor = Surveyor(make_engine(TABLE, unit, source, "salt", loads=CodedLoading))
        assert surveyor.rows() == len(source[0].values)
        assert surveyor.codes() == codes_of(TABLE, source)
        assert surveyor.persons() == persons_of(source[-1].values, unit.rows)
        assert surveyor.problems == {}
        surveyor.close()

    def test_the_owners_check_reads_texts_as_questions_do(self, make_engine: MakeEngine) -> None:
        """Every kind of column, of texts that are values, nearly values, or far from any."""
        long = "x" * (LONGEST_TEXT + 1)
        texts = [*NASTY_TEXTS, *NASTY_DAYS, *TRUTHS, "north", " north", "NORTH", long, None]
        columns = (REGION, BORN, BooleanColumn("smoker"), CategoryColumn("whole", (7, -7)))
        table = Table("t", columns)
        source = tuple(SourceColumn(column.name, "text", texts) for column in columns)
        surveyor = Surveyor(make_engine(table, ROWS, source, "", loads=partial(CodedLoading, texts=True)))
        assert surveyor.codes() == codes_of(table, source)
        for place, column in enumerate(columns):
            for code in (UNUSABLE, UNDECLARED, LOW, HIGH):
                odd = (text for text in texts if code_of(column, text) == code)
                seen = Counter(None if too_long(text) else text for text in odd)
                assert dict(surveyor.texts(place, code, 1000)) == seen
        assert [n for _, n in surveyor.texts(0, UNDECLARED, 3)] == sorted(
            Counter(text for text in texts if code_of(REGION, text) == UNDECLARED).values(), reverse=True
        )[:3]
        surveyor.close()

    def test_the_owners_check_says_all_that_does_not_fit(self, make_engine: MakeEngine) -> None:
        table = Table(
            "t", (AGE, IntegerColumn("height", 0, 9), DateColumn("until", BORN.low, BORN.high), INCOME)
        )
        source = (
            SourceColumn("AGE", "integer", [1, 200, None]),
            SourceColumn("income", "text", ["1", "x", None]),
        )
        surveyor = Surveyor(make_engine(table, ROWS, source, "", loads=CodedLoading))
        assert set(surveyor.problems) == {"height", "until", "income"}
        assert "says kind = 'real': store numbers" in surveyor.problems["income"]
        assert surveyor.codes()[0] == [1, 1, 0, 0, 0, 1]
        surveyor.close()

    def test_the_owners_check_reads_zones_and_counts_what_is_too_long(self, make_engine: MakeEngine) -> None:
        hour = IntegerColumn("hour", 0, 23, ClockPart("at", "hour", "Asia/Kolkata"))
        day = DateColumn("at", datetime.date(2005, 1, 1), datetime.date(2005, 12, 31), "Asia/Kolkata")
        moments = [datetime.datetime(2004, 12, 31, 18, m) for m in (29, 31)] + [None]
        texts = ["Berlin", "x" * 5000, None]
        table = Table("t", (hour, day, TextColumn("city"), REGION))
        source = (
            SourceColumn("at", "timestamp", moments),
            SourceColumn("city", "text", texts),
            SourceColumn("region", "text", ["north", "x" * 5000, None]),
        )
        surveyor = Surveyor(make_engine(table, ROWS, source, "", loads=CodedLoading))
        fine_and_missing = [2, 1, 0, 0, 0, 0]
        assert surveyor.codes() == [
            fine_and_missing,
            [1, 1, 0, 0, 1, 0],
            [1, 1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0, 0],  # UNDECLARED(region) is missing there too
        ]
        surveyor.close()
