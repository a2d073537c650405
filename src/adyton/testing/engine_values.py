"""What a value of a source stands for, in plain Python: see ``engine_reference``."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, assert_never

from adyton.schema import (
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

Kind = Literal["integer", "float", "decimal", "boolean", "text", "date", "timestamp", "instant"]
_NUMBER = re.compile(
    r"[ \t\r\n]*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)[ \t\r\n]*", re.ASCII | re.IGNORECASE
)
_WHOLE = re.compile(r"([+-]?\d{1,18})(\.0*)?", re.ASCII)
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})([ T][-0-9:.+Z ]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column as the owner has it.  ``decimal`` has 38 digits, 10 of them after the point."""

    name: str
    kind: Kind
    values: Sequence[Any]


Source = tuple[SourceColumn, ...]


def value_of(column: Column, value: Any) -> Any:
    """The clipped integer, position or truth that a value stands for, or None."""
    match column:
        case IntegerColumn() | RealColumn():
            return _on_lattice(column.lattice, _double(value))
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
        case IntegerColumn() | RealColumn():
            x, ends = _double(value), (column.lattice.low, column.lattice.high)
            low, high = (float(end * column.lattice.grain) for end in ends)
            return x is not None and not low <= x <= high
        case DateColumn(_, first, last):
            day = _day(value, first, last)
            return value in ("infinity", "-infinity") or (day is not None and not first <= day <= last)
        case CategoryColumn():
            return value is not None and value == value and value_of(column, value) is None
        case _:
            return False


def _double(value: Any) -> float | None:
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool | int | float | Decimal):
        return None if value != value else float(value)
    return None


def _on_lattice(lattice: Lattice, x: float | None) -> int | None:
    if x is None:
        return None
    low, high, grain = (float(b * lattice.grain) for b in (lattice.low, lattice.high, 1))
    steps = math.floor(min(max(x, low), high) / grain + 0.5)
    return min(max(steps, lattice.low), lattice.high)


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
