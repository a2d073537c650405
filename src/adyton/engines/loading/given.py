"""What a source column gives to a declared one, before it is clipped: a text that is not too long, a day in a
zone, the hour of a timestamp; and which types fit which kinds.

Types are public, so what does not fit is refused, with the way out.  It would else be answered, as missing
values or as numbers that nobody meant.

All of the rest is integer arithmetic on seconds, the same on all engines.  Engines have zone data of their
own, in different versions.  Here it is always Python's (the system's, or that of the package tzdata),
written into the statement, so all engines see the same day and the same hour.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import assert_never
from zoneinfo import ZoneInfo

from adyton.arithmetic.search import whole_edge
from adyton.engines.spelling.kinds import MOMENT, SourceType
from adyton.engines.spelling.rows import Dialect, integer
from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    LONGEST_TEXT,
    BooleanColumn,
    CategoryColumn,
    Clock,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    TextColumn,
    day_number,
)

_NUMBERS: tuple[SourceType, ...] = ("integer", "float", "decimal")
_MOMENTS: tuple[SourceType, ...] = ("timestamp", "instant", "text")
# From the year 1 up to the end of 9999, in UTC: the moments that have a part of a day.
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
DAY_SECONDS = 86_400
_FAR = 2**50  # seconds, in which 86,400 is contained a whole number of times once it is rounded down
_WHOLE_DAYS = _FAR // DAY_SECONDS
_CLOCK: dict[Clock, tuple[int, int]] = {"hour": (3600, 24), "minute": (60, 60)}  # seconds in it, how many

Step = Callable[[str], str]
# Before and after these days a zone keeps the offset that it has there.
FIRST_DAY, LAST_DAY = datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)

_TOGETHER = 20  # changes

Change = tuple[int, int]  # a second after 1970-01-01 in UTC, and the offset in seconds from then on


# Which types fit -------------------------------------------------------------------------------------------


def misfit(column: Column | None, found: SourceType, *, untyped: bool) -> str | None:
    """What is wrong with a source of this kind for a column, or for a person (None); nothing if it fits."""
    if found == "other":
        return "which holds no single value"
    if column is None or untyped or found in _fitting(column):
        return None
    return f"and columns.{column.name} says {_said(column)}: {_way_out(column, found)}"


def _fitting(column: Column) -> tuple[SourceType, ...]:
    match column:
        case IntegerColumn(clock=clock) if clock is not None:
            return _MOMENTS
        case DateColumn(zone=str()):
            return _MOMENTS
        case DateColumn():
            return ("date", *_MOMENTS)
        case IntegerColumn() | RealColumn():
            return _NUMBERS
        case CategoryColumn(_, values) if isinstance(values[0], int):
            return (*_NUMBERS, "text")
        case BooleanColumn():
            return ("boolean", *_NUMBERS, "text")
        case CategoryColumn() | TextColumn():  # which is read as its text
            return ("boolean", "date", *_NUMBERS, *_MOMENTS)
        case _:
            assert_never(column)


def _said(column: Column) -> str:
    match column:
        case IntegerColumn(clock=clock) if clock is not None:
            return f"part = {clock.part!r} of it"
        case DateColumn(zone=str(zone)):
            return f"zone = {zone!r}"
        case CategoryColumn():
            return "kind = 'category' of whole numbers"
        case IntegerColumn() | RealColumn() | DateColumn() | BooleanColumn() | TextColumn():
            return f"kind = {column.kind!r}"
        case _:
            assert_never(column)


def _way_out(column: Column, found: SourceType) -> str:
    if _MOMENTS[0] in _fitting(column):
        if found == "date":
            return "a day has no time; leave out part and zone"
        return "store timestamps, or strings that begin with YYYY-MM-DD, or declare another kind"
    match found:
        case "text":
            return "store numbers, or declare kind = 'category' or 'text'"
        case "boolean":
            return "declare kind = 'boolean'"
        case "date" | "timestamp" | "instant":
            return "declare kind = 'date'"
        case "integer" | "float" | "decimal" | "other":
            return "declare another kind"
        case _:
            assert_never(found)


# What is given ---------------------------------------------------------------------------------------------


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
    """``source`` is the name of a column whose type fits (``misfit``)."""
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
        case IntegerColumn() | RealColumn() | DateColumn() | BooleanColumn():
            return LONGEST_TEXT
        case _:
            assert_never(column)


def _moment(kind: SourceType, dialect: Dialect, zone: str | None) -> tuple[Step, ...]:
    """To the seconds that a clock in the zone shows, counted as if they were in UTC."""
    if kind == "text":
        seconds = partial(_written, dialect, zoned=zone is not None)
    else:
        seconds = partial(dialect.seconds, kind=kind)
    return (seconds,) if zone is None else (seconds, partial(_local, zone))


def _local(zone: str, seconds: str) -> str:
    return f"({seconds} + {offset_sql(seconds, zone)})"


def _day(dialect: Dialect, seconds: str) -> str:
    """The date; one that is further away than any bound can be is moved to the year 1 or 9999."""
    near = f"least(greatest({seconds}, {integer(_FIRST_SECOND)}), {integer(_LAST_SECOND)})"
    up = f"({near} + {integer(_WHOLE_DAYS * DAY_SECONDS)})"
    days = f"({dialect.quotient(up, DAY_SECONDS)} - {integer(_WHOLE_DAYS)})"
    return f"(CASE WHEN {seconds} IS NOT NULL THEN {dialect.date(days)} END)"


def _clock(dialect: Dialect, part: Clock, seconds: str) -> str:
    each, number = _CLOCK[part]
    units = dialect.quotient(f"({seconds} + {integer(_WHOLE_DAYS * DAY_SECONDS)})", each)
    return f"(CASE WHEN {seconds} BETWEEN {_FIRST_SECOND} AND {_LAST_SECOND} THEN {units} % {number} END)"


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


# Zones: from which second on a zone had which offset -------------------------------------------------------


@lru_cache(maxsize=64)
def changes(zone: str) -> tuple[Change, ...]:
    """All changes of the zone's offset; the first one holds from the beginning of time."""
    try:
        known = ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        known = None
    if known is None:
        raise InvalidRequest(
            f"this machine knows no time zone {zone!r:.60}; pip install tzdata, or correct it"
        )
    return tuple(_changes(known))


def _changes(zone: ZoneInfo) -> Iterator[Change]:
    """Looks at every day: no zone ever changed its offset twice in a day."""
    first, last = (day_number(day) * DAY_SECONDS for day in (FIRST_DAY, LAST_DAY))
    offset = _offset_at(zone, first)
    yield first, offset
    for second in range(first, last, DAY_SECONDS):
        later = _offset_at(zone, second + DAY_SECONDS)
        if later != offset:

            def as_before(at: int, offset: int = offset) -> bool:
                return _offset_at(zone, at) == offset

            yield whole_edge(as_before, second, second + DAY_SECONDS) + 1, later
            offset = later


def offset_sql(seconds: str, zone: str) -> str:
    """The offset at a bigint of seconds, in two looks: first among a few years, then among their changes.

    Zones have hundreds of changes: one long list is slow to go through, and deep halving slow to parse.
    """
    known = changes(zone)
    parts = [known[start : start + _TOGETHER] for start in range(0, len(known), _TOGETHER)]
    return _chosen(seconds, [(part[0][0], _chosen(seconds, part)) for part in parts])


def _chosen(seconds: str, known: Sequence[tuple[int, object]]) -> str:
    """What was known last; the first of all, before it."""
    if len(known) == 1:
        return str(known[0][1])
    later = pairwise(known)
    whens = " ".join(f"WHEN {seconds} < {begins} THEN {told}" for (_, told), (begins, _) in later)
    return f"(CASE {whens} ELSE {known[-1][1]} END)"


def _offset_at(zone: ZoneInfo, second: int) -> int:
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=second)
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None
    return round(offset.total_seconds())
