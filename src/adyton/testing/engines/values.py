"""What a value of a source stands for, in plain Python: see ``reference``."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, assert_never
from zoneinfo import ZoneInfo

from adyton.kernel.schema import (
    LONGEST_TEXT,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    Lattice,
    RealColumn,
    TextColumn,
    day_number,
)

SourceType = Literal["integer", "float", "decimal", "boolean", "text", "date", "timestamp", "instant"]
_NUMBER = re.compile(
    r"[ \t\r\n]*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)[ \t\r\n]*", re.ASCII | re.IGNORECASE
)
_WHOLE = re.compile(r"([+-]?\d{1,18})(\.0*)?", re.ASCII)
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})([ T][-0-9:.+Z ]*)?", re.ASCII)
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(?:(:\d\d)(?:\.\d+)?)?"
    r" ?(?:Z|([+-])(\d\d)(?::?([0-5]\d))?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column as the owner has it.  ``decimal`` has 38 digits, 10 of them after the point."""

    name: str
    kind: SourceType
    values: Sequence[Any]


Source = tuple[SourceColumn, ...]


def value_of(column: Column, value: Any) -> Any:
    """The clipped integer, position or truth that a value stands for, or None."""
    longest = column.longest if isinstance(column, TextColumn) else LONGEST_TEXT
    if too_long(value, longest) and not isinstance(column, CategoryColumn):  # a listed text may be longer
        return None
    match column:
        case IntegerColumn(clock=clock) if clock is not None:
            moment = _moment(value, clock.zone)
            return None if moment is None else moment.hour if clock.part == "hour" else moment.minute
        case DateColumn(_, low, high, str(zone)):
            moment = _moment(value, zone)
            return None if moment is None else day_number(min(max(moment.date(), low), high))
        case IntegerColumn() | RealColumn():
            exact = _exact(column.lattice, value)
            return _on_lattice(column.lattice, _double(value)) if exact is None else exact[0]
        case DateColumn(_, low, high):
            day = _day(value, low, high)
            return None if day is None else day_number(min(max(day, low), high))
        case CategoryColumn(_, values):
            listed: tuple[Any, ...] = values
            wanted = _whole(value) if isinstance(values[0], int) else _text(value)
            return listed.index(wanted) if wanted in listed and wanted is not None else None
        case BooleanColumn():
            return _truth(value)
        case TextColumn():
            return _text(value)
        case _:
            assert_never(column)


def is_outside(column: Column, value: Any) -> bool:
    """Whether a value, as it came, lies beyond the bounds or is none of the list."""
    match column:
        case IntegerColumn(clock=clock) if clock is not None:
            return False
        case DateColumn(_, first, last, str(zone)):
            moment = _moment(None if too_long(value) else value, zone)
            return moment is not None and not first <= moment.date() <= last
        case IntegerColumn() | RealColumn() if (exact := _exact(column.lattice, value)) is not None:
            return exact[1]
        case IntegerColumn() | RealColumn():
            x, ends = _double(None if too_long(value) else value), (column.lattice.low, column.lattice.high)
            low, high = (float(end * column.lattice.step) for end in ends)
            return x is not None and not low <= x <= high
        case DateColumn(_, first, last):
            day = _day(value, first, last)
            return value in ("infinity", "-infinity") or (day is not None and not first <= day <= last)
        case CategoryColumn():
            listed = max(len(str(one).encode()) for one in column.values)
            there = value is not None and value == value and not too_long(value, max(LONGEST_TEXT, listed))
            return there and value_of(column, value) is None
        case _:
            return False


def too_long(value: Any, longest: int = LONGEST_TEXT) -> bool:
    return isinstance(value, str) and len(value.encode()) > longest


def _moment(value: Any, zone: str | None) -> datetime.datetime | None:
    """What a clock in the zone shows; without a zone, what is written, or UTC of an instant."""
    if isinstance(value, str):
        value = _written_moment(value, zoned=zone is not None)
    if not isinstance(value, datetime.datetime):
        return None
    if zone is None:
        return value.astimezone(datetime.UTC) if value.tzinfo else value
    return (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).astimezone(ZoneInfo(zone))


def _written_moment(text: str, *, zoned: bool) -> datetime.datetime | None:
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    day, time, seconds, sign, hours, minutes = found.groups()
    try:
        moment = datetime.datetime.fromisoformat(f"{day}T{time}{seconds or ':00'}")
    except ValueError:
        return None
    ahead = datetime.timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    return moment - (ahead if sign == "+" else -ahead) if zoned else moment


def _double(value: Any) -> float | None:
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool | int | float | Decimal):
        return None if value != value else float(value)
    return None


def _on_lattice(lattice: Lattice, x: float | None) -> int | None:
    if x is None:
        return None
    low, high, step = (float(b * lattice.step) for b in (lattice.low, lattice.high, 1))
    steps = min(max(x, low), high) / step
    rounded = math.floor(steps + 0.5) if abs(steps) < 2**52 else int(steps)  # which is whole there
    return min(max(rounded, lattice.low), lattice.high)


def _exact(lattice: Lattice, value: Any) -> tuple[int, bool] | None:
    """The steps of a whole number, and whether it is out of bounds, where doubles may lose digits of it."""
    step, largest = lattice.step, max(abs(lattice.low), abs(lattice.high))
    if largest * max(step, Fraction(1)) < 2**50 or 5 * largest * step.numerator >= 2**63:
        return None
    found = _WHOLE.fullmatch(value) if isinstance(value, str) and not too_long(value) else None
    number = int(found[1]) if found else value
    if isinstance(number, bool) or not isinstance(number, int):
        return None
    steps = Fraction(number) / step
    clipped = min(max(steps, Fraction(lattice.low)), Fraction(lattice.high))
    return math.floor(clipped + Fraction(1, 2)), clipped != steps


def _day(value: Any, low: datetime.date, high: datetime.date) -> datetime.date | None:
    if isinstance(value, datetime.datetime):
        return (value.astimezone(datetime.UTC) if value.tzinfo else value).date()
    if isinstance(value, datetime.date):
        return value
    if not isinstance(value, str):
        return None
    if value in ("infinity", "-infinity"):
        return high if value == "infinity" else low
    written = _DAY.fullmatch(value)
    try:
        return datetime.date.fromisoformat(written[1]) if written else None
    except ValueError:
        return None


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        written = _WHOLE.fullmatch(value)
        return int(written[1]) if written else None
    if isinstance(value, int):
        return int(value)
    x = _double(value)
    return int(x) if x is not None and abs(x) < 2**53 and x == math.floor(x) else None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _truth(value: Any) -> bool | None:
    if isinstance(value, str):
        word = value.lower()
        return (
            True
            if word in ("true", "t", "yes", "y", "1")
            else False
            if word in ("false", "f", "no", "n", "0")
            else None
        )
    x = _double(value)
    return None if x is None else x != 0
