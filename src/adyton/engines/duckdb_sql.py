"""The emitter for DuckDB.  It sees typed nodes, never text that an analyst wrote.

Two tables of names exist: at loading, the owner's column names, quoted; afterwards ``c0, c1, ...``, integers
and booleans only.  Everything emitted is total: no row can make a cast, a sum or a comparison fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from adyton.query.nodes import (
    EVERY_ROW,
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
    aligned,
)
from adyton.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    Lattice,
    RealColumn,
)
from adyton.sensitivity import Coordinate, Reading

Places = Mapping[str, str]  # column name -> c0, c1, ...


# Loading ---------------------------------------------------------------------------------------------------


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def loaded_value(column: Column, source: str) -> str:
    """The clipped integer (or truth) that stands for ``source`` from now on; NULL where there is none."""
    match column:
        case IntegerColumn() | RealColumn():
            return _loaded_number(column.lattice, source)
        case DateColumn(_, low, high):
            day = f"TRY_CAST({source} AS DATE)"
            clipped = f"least(greatest({day}, DATE '{low}'), DATE '{high}')"  # also tames 'infinity'
            return f"CASE WHEN {day} IS NOT NULL THEN date_diff('day', DATE '1970-01-01', {clipped}) END"
        case CategoryColumn(_, values):
            return _loaded_category(values, source)
        case BooleanColumn():
            return f"TRY_CAST({source} AS BOOLEAN)"
        case _:
            assert_never(column)


def _loaded_number(lattice: Lattice, source: str) -> str:
    x = f"TRY_CAST({source} AS DOUBLE)"
    low, high = (repr(float(bound * lattice.grain)) for bound in (lattice.low, lattice.high))
    clipped = f"least(greatest({x}, {low}::DOUBLE), {high}::DOUBLE)"
    # floor(x + 1/2) is the one rounding that all engines do alike; the second clip is for its last digit.
    steps = f"TRY_CAST(floor({clipped} / {float(lattice.grain)!r}::DOUBLE + 0.5) AS BIGINT)"
    bounded = f"least(greatest({steps}, {lattice.low}::BIGINT), {lattice.high}::BIGINT)"
    return f"CASE WHEN {x} IS NOT NULL AND NOT isnan({x}) THEN {bounded} END"


def _loaded_category(values: tuple[str, ...] | tuple[int, ...], source: str) -> str:
    """The position of the value in the declared list."""
    readable = f"TRY_CAST({source} AS BIGINT)" if isinstance(values[0], int) else source
    listed = ", ".join(text_literal(str(v)) for v in values)
    return f"enum_code(TRY_CAST(TRY_CAST({readable} AS VARCHAR) AS ENUM ({listed})))"


# Asking ----------------------------------------------------------------------------------------------------


def select(readings: Sequence[Reading], places: Places, table: str) -> str:
    """One scan for all readings of a question; they share the groups."""
    keys = [places[column.name] for column in readings[0].by]
    shared = readings[0].where if len({r.where for r in readings}) == 1 else EVERY_ROW
    values = [
        _aggregate(reading, coordinate, shared, places)
        for reading in readings
        for coordinate in reading.coordinates
    ]
    conditions = [f"{key} IS NOT NULL" for key in keys]
    if shared != EVERY_ROW:
        conditions.append(condition_sql(shared, places))
    text = f"SELECT {', '.join([f'{key}::INTEGER' for key in keys] + values)} FROM {table}"
    if conditions:
        text += f" WHERE {' AND '.join(conditions)}"
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


def _aggregate(reading: Reading, coordinate: Coordinate, shared: Condition, places: Places) -> str:
    """A missing value drops out of sum(...) and of count(value) by itself."""
    valued = [c.value for c in reading.coordinates if c.value is not None]
    if coordinate.value is None:
        text = f"count({number_sql(valued[0], places) if valued else '*'})"
    else:
        value = number_sql(coordinate.value, places)
        value = value if coordinate.times == 1 else f"({_integer(coordinate.times)} * {value})"
        value = value if coordinate.minus == 0 else f"({value} - {_integer(coordinate.minus)})"
        text = f"sum({value})"
    filtered = reading.where not in (shared, EVERY_ROW)
    text += f" FILTER (WHERE {condition_sql(reading.where, places)})" if filtered else ""
    return f"coalesce({text}, 0)"


def number_sql(node: Comparable, places: Places) -> str:
    """The node's integer on its own lattice."""
    match node:
        case ValueOf(column) | DayOf(column):
            return places[column.name]
        case Constant() | Day():
            return _integer(node.lattice.low)
        case Plus(left, right):
            a, b = _on_common_grain(left, right, places)
            return f"({a} + {b})"
        case Times(left, right):
            return f"({number_sql(left, places)} * {number_sql(right, places)})"
        case Negative(inner):
            return f"(- {number_sql(inner, places)})"
        case Indicator(condition):
            return f"(CASE WHEN {condition_sql(condition, places)} THEN {_integer(1)} ELSE {_integer(0)} END)"
        case _:
            assert_never(node)


def condition_sql(node: Condition, places: Places) -> str:
    match node:
        case Compare(left, operator, right):
            a, b = _on_common_grain(left, right, places)
            return f"({a} {operator} {b})"
        case OneOf(column, values):
            codes = ", ".join(str(i) for i, v in enumerate(column.values) if v in values)
            return f"({places[column.name]} IN ({codes}))"
        case IsTrue(column):
            return places[column.name]
        case IsMissing(column):
            return f"({places[column.name]} IS NULL)"
        case Always(truth):
            return "TRUE" if truth else "FALSE"
        case Not(inner):
            return f"(NOT {condition_sql(inner, places)})"
        case And(parts):
            return f"({' AND '.join(condition_sql(part, places) for part in parts)})"
        case Or(parts):
            return f"({' OR '.join(condition_sql(part, places) for part in parts)})"
        case _:
            assert_never(node)


def _on_common_grain(left: Comparable, right: Comparable, places: Places) -> tuple[str, str]:
    a, b = number_sql(left, places), number_sql(right, places)
    if isinstance(left, DayOf | Day) or isinstance(right, DayOf | Day):
        return a, b
    common, _ = aligned(left, right)
    return _times(a, left.lattice, common), _times(b, right.lattice, common)


def _times(text: str, own: Lattice, common: Lattice) -> str:
    factor = int(own.grain / common.grain)
    return text if factor == 1 else f"({text} * {_integer(factor)})"


def _integer(value: int) -> str:
    return f"({value})::BIGINT"
