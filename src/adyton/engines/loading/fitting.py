"""Which types of a source fit which declared kinds.

Types are public, so what does not fit is refused, with the way out.  It would else be answered, as missing
values or as numbers that nobody meant.
"""

from __future__ import annotations

from adyton.engines.spelling.dialect import SourceType
from adyton.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
)

_NUMBERS: tuple[SourceType, ...] = ("integer", "float", "decimal")
_MOMENTS: tuple[SourceType, ...] = ("timestamp", "instant", "text")


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
        case _:  # everything else is read as its text
            return ("boolean", "date", *_NUMBERS, *_MOMENTS)


def _said(column: Column) -> str:
    match column:
        case IntegerColumn(clock=clock) if clock is not None:
            return f"part = {clock.part!r} of it"
        case DateColumn(zone=str(zone)):
            return f"zone = {zone!r}"
        case CategoryColumn():
            return "kind = 'category' of whole numbers"
        case _:
            return f"kind = {column.kind!r}"


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
        case _:
            return "declare another kind"
