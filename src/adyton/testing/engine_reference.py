"""What an engine must return, by a plain loop over the rows: the meaning of ``Reading``, without any SQL."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, assert_never

from adyton.privacy import PrivacyUnit
from adyton.query.nodes import (
    Always,
    And,
    Comparable,
    Compare,
    Condition,
    Constant,
    Day,
    DayOf,
    Indicator,
    IsMissing,
    IsTrue,
    Negative,
    Not,
    OneOf,
    Or,
    Plus,
    Times,
    ValueOf,
    group_values,
)
from adyton.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    Lattice,
    RealColumn,
    Table,
    day_number,
)
from adyton.sensitivity import Reading

Kind = Literal["integer", "float", "decimal", "boolean", "text", "date", "timestamp", "instant"]
Row = dict[
    str, Any
]  # column name -> lattice integer, position in the list of values, or truth; None is missing

_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "<>": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
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


def expected(table: Table, unit: PrivacyUnit, source: Source, salt: str, readings: Sequence[Reading]) -> Any:
    rows = loaded(table, unit, source, salt)
    return [_sums(reading, rows) for reading in readings]


def loaded(table: Table, unit: PrivacyUnit, source: Source, salt: str) -> list[Row]:
    """The bounded table of clipped integers."""
    by_name = {column.name.casefold(): column for column in source}
    found = [by_name[column.name.casefold()] for column in table.columns]
    size = len(source[0].values)
    rows: list[Row] = [
        {c.name: value_of(c, s.values[i]) for c, s in zip(table.columns, found, strict=True)}
        for i in range(size)
    ]
    if unit.person is None:
        return rows
    persons: dict[Any, list[Row]] = {}
    for who, row in zip(by_name[unit.person.casefold()].values, rows, strict=True):
        if who is not None and who == who:
            persons.setdefault(who, []).append(row)
    return [row for own in persons.values() for row in sorted(own, key=_order(salt))[: unit.rows]]


def _order(salt: str) -> Any:
    def digest(row: Row) -> str:
        told = ["-" if value is None else str(int(value)) for value in row.values()]
        return hashlib.md5(",".join([salt, *told]).encode()).hexdigest()

    return digest


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
        case _:
            assert_never(column)


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


# Questions --------------------------------------------------------------------------------------------------


def _sums(reading: Reading, rows: Sequence[Row]) -> list[list[int]]:
    keys = list(itertools.product(*(range(len(group_values(column))) for column in reading.by)))
    sums = {key: [0] * len(reading.coordinates) for key in keys}
    for row in rows:
        key = tuple(row[column.name] for column in reading.by)
        values = [1 if c.value is None else number(c.value, row) for c in reading.coordinates]
        if key not in sums or None in values or condition(reading.where, row) is not True:
            continue
        for i, (c, v) in enumerate(zip(reading.coordinates, values, strict=True)):
            sums[key][i] += c.times * (v or 0) - c.minus
    return [[sums[key][i] for key in keys] for i in range(len(reading.coordinates))]


def number(node: Comparable, row: Row) -> int | None:
    """The node's integer on its own lattice; None is missing."""
    match node:
        case ValueOf(column) | DayOf(column):
            found: int | None = row[column.name]
            return found
        case Constant() | Day():
            return node.lattice.low
        case Plus(left, right):
            a, b = number(left, row), number(right, row)
            if a is None or b is None:
                return None
            grain = node.lattice.grain
            return int((a * left.lattice.grain + b * right.lattice.grain) / grain)
        case Times(left, right):
            a, b = number(left, row), number(right, row)
            return None if a is None or b is None else a * b
        case Negative(inner):
            a = number(inner, row)
            return None if a is None else -a
        case Indicator(inner):
            return int(condition(inner, row) is True)
        case _:
            assert_never(node)


def condition(node: Condition, row: Row) -> bool | None:
    """None is neither true nor false, as in SQL."""
    match node:
        case Compare(left, sign, right):
            a, b = number(left, row), number(right, row)
            if a is None or b is None:
                return None
            return bool(_COMPARE[sign](a * left.lattice.grain, b * right.lattice.grain))
        case OneOf(column, values):
            code = row[column.name]
            return None if code is None else column.values[code] in values
        case IsTrue(column):
            truth: bool | None = row[column.name]
            return truth
        case IsMissing(column):
            return row[column.name] is None
        case Always(truth):
            return truth
        case Not(inner):
            met = condition(inner, row)
            return None if met is None else not met
        case And(parts):
            all_met = [condition(part, row) for part in parts]
            return False if False in all_met else None if None in all_met else True
        case Or(parts):
            any_met = [condition(part, row) for part in parts]
            return True if True in any_met else None if None in any_met else False
        case _:
            assert_never(node)
