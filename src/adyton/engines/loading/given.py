"""What a source column gives to a declared one, before it is clipped: a text that is not too long, a day in a
zone, the hour of a timestamp.

All of it is integer arithmetic on seconds, the same on all engines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from adyton.engines.loading.zones import DAY_SECONDS, offset_sql
from adyton.engines.spelling.dialect import MOMENT, Dialect, SourceType
from adyton.schema import (
    LONGEST_TEXT,
    CategoryColumn,
    Clock,
    Column,
    DateColumn,
    IntegerColumn,
    TextColumn,
)

# From the year 1 up to the end of 9999, in UTC: the moments that have a part of a day.
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_FAR = 2**50  # seconds, in which 86,400 is contained a whole number of times once it is rounded down
_WHOLE_DAYS = _FAR // DAY_SECONDS
_CLOCK: dict[Clock, tuple[int, int]] = {"hour": (3600, 24), "minute": (60, 60)}  # seconds in it, how many

Step = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Given:
    """What is read from ``source``, in steps: each is an expression of what the one before gave."""

    source: str
    steps: tuple[Step, ...]
    kind: SourceType

    def at(self, step: int, name: str) -> str:
        if step == 0:
            return self.steps[0](self.source)
        return self.steps[step](name) if step < len(self.steps) else name


def given(column: Column, source: str, kind: SourceType, dialect: Dialect) -> Given:
    """``source`` is the name of a column whose type fits (``fitting``)."""
    first: Step = dialect.name
    if kind == "text":
        first = partial(dialect.text_of, longest=longest_text(column))
    match column:
        case DateColumn(zone=str(zone)):
            return Given(source, (first, *_moment(kind, dialect, zone), partial(_day, dialect)), "date")
        case IntegerColumn(clock=clock) if clock is not None:
            part = partial(_clock, dialect, clock.part)
            return Given(source, (first, *_moment(kind, dialect, clock.zone), part), "integer")
        case _:
            return Given(source, (first,), kind)


def longest_text(column: Column) -> int:
    """In bytes.  No declared value is too long."""
    match column:
        case TextColumn(_, longest):
            return longest
        case CategoryColumn(_, values):
            return max(LONGEST_TEXT, *(len(str(value).encode()) for value in values))
        case _:
            return LONGEST_TEXT


def _moment(kind: SourceType, dialect: Dialect, zone: str | None) -> tuple[Step, ...]:
    """To the seconds that a clock in the zone shows, counted as if they were in UTC."""
    if kind == "text":
        seconds = partial(_written, dialect, zoned=zone is not None)
    else:
        seconds = partial(_stored, dialect, kind)
    return (seconds,) if zone is None else (seconds, partial(_local, zone))


def _stored(dialect: Dialect, kind: SourceType, source: str) -> str:
    return dialect.seconds(source, kind)


def _local(zone: str, seconds: str) -> str:
    return f"({seconds} + {offset_sql(seconds, zone)})"


def _day(dialect: Dialect, seconds: str) -> str:
    """The date; one that is further away than any bound can be is moved to the year 1 or 9999."""
    near = f"least(greatest({seconds}, {_big(_FIRST_SECOND)}), {_big(_LAST_SECOND)})"
    up = f"({near} + {_big(_WHOLE_DAYS * DAY_SECONDS)})"
    days = f"({dialect.quotient(up, DAY_SECONDS)} - {_big(_WHOLE_DAYS)})"
    return f"(CASE WHEN {seconds} IS NOT NULL THEN {dialect.date(days)} END)"


def _clock(dialect: Dialect, part: Clock, seconds: str) -> str:
    each, number = _CLOCK[part]
    units = dialect.quotient(f"({seconds} + {_big(_WHOLE_DAYS * DAY_SECONDS)})", each)
    return f"(CASE WHEN {seconds} BETWEEN {_FIRST_SECOND} AND {_LAST_SECOND} THEN {units} % {number} END)"


def _big(number: int) -> str:
    return f"CAST({number} AS BIGINT)"


# Timestamps that are written --------------------------------------------------------------------------------


def _written(dialect: Dialect, text: str, *, zoned: bool) -> str:
    """Of a text YYYY-MM-DD HH:MM, perhaps with seconds and an offset from UTC, which counts where zoned."""
    day = dialect.days(dialect.day(f"substr({text}, 1, 10)", "text"))
    time = f"{_digits(dialect, text, '12')} * 3600 + {_digits(dialect, text, '15')} * 60"
    has_seconds = f"substr({text}, 17, 1) = {dialect.text(':')}"
    seconds = f"(CASE WHEN {has_seconds} THEN {_digits(dialect, text, '18')} ELSE 0 END)"
    offset = f" - {_offset(dialect, text)}" if zoned else ""
    return (
        f"(CASE WHEN {dialect.matches(text, MOMENT)} AND substr({text}, 1, 4) <> {dialect.text('0000')} "
        f"THEN {day} * {DAY_SECONDS} + {time} + {seconds}{offset} END)"
    )


def _offset(dialect: Dialect, text: str) -> str:
    """At the end: +HH:MM, +HHMM or +HH; Z and nothing are 0."""
    whens = []
    for pattern, hours, minutes in (
        ("[+-][0-9]{2}:[0-9]{2}$", 5, 1),
        ("[+-][0-9]{4}$", 4, 1),
        ("[+-][0-9]{2}$", 2, None),
    ):
        sign = f"substr({text}, length({text}) - {hours}, 1)"
        size = f"{_digits(dialect, text, f'length({text}) - {hours - 1}')} * 3600"
        if minutes is not None:
            size += f" + {_digits(dialect, text, f'length({text}) - {minutes}')} * 60"
        east = f"CASE WHEN {sign} = {dialect.text('-')} THEN -1 ELSE 1 END"
        whens.append(f"WHEN {dialect.matches(text, pattern)} THEN ({east}) * ({size})")
    return f"(CASE {' '.join(whens)} ELSE 0 END)"


def _digits(dialect: Dialect, text: str, place: str) -> str:
    """The number that two digits stand for."""
    return dialect.whole(f"substr({text}, {place}, 2)")
