"""SQL for the integers that are asked: one emitter for all engines, fed with nodes, never with a text.

It reads one table whose columns are called ``c0, c1, ...``, integers and booleans only, so a bigint can hold
everything that it computes (``schema.LARGEST_VALUE``).  The engines differ in one point: how to add up
without overflow.  Everything else is SQL that all of them understand alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from adyton.engines.base import Exact
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
    Number,
    OneOf,
    Or,
    Plus,
    Times,
    ValueOf,
    aligned,
    group_values,
)
from adyton.schema import Lattice
from adyton.sensitivity import Reading

Places = Mapping[str, str]  # column name -> c0, c1, ...
ExactSum = Callable[[str, int], str]  # a bigint expression and the largest it can be -> its exact sum


def plain_sum(value: str, _largest: int) -> str:
    """Where the engine's own sum of bigints is wider than a bigint."""
    return f"sum({value})"


class Asked:
    """One scan for all readings of a question; they share the groups.

    A coordinate is ``times * sum - minus * count``: the arithmetic is done here, on the few results, where no
    integer is too large, and not on every row.
    """

    def __init__(
        self, readings: Sequence[Reading], places: Places, table: str, exact_sum: ExactSum = plain_sum
    ) -> None:
        self._readings, self._places, self._exact_sum = readings, places, exact_sum
        self._shared = readings[0].where if len({r.where for r in readings}) == 1 else EVERY_ROW
        self._wanted: dict[str, int] = {}  # aggregate -> its position in a row
        self._recipes = [self._recipe(reading) for reading in readings]
        self.sql = self._select(table)

    def _select(self, table: str) -> str:
        keys = [self._places[column.name] for column in self._readings[0].by]
        listed = [f"CAST({key} AS INTEGER)" for key in keys] + list(self._wanted)
        text = f"SELECT {', '.join(listed)} FROM {table}"
        if self._shared != EVERY_ROW:
            text += f" WHERE {condition_sql(self._shared, self._places)}"
        return text + (f" GROUP BY {', '.join(keys)}" if keys else "")

    def _recipe(self, reading: Reading) -> list[tuple[int, int, int | None, int]]:
        """For each coordinate: times, the position of its sum, the position of the count, and minus."""
        valued = [c.value for c in reading.coordinates if c.value is not None]
        count = f"count({number_sql(valued[0], self._places) if valued else '*'})"
        recipe: list[tuple[int, int, int | None, int]] = []
        for c in reading.coordinates:
            if c.value is None:
                recipe.append((c.times, self._position(count, reading.where), None, 0))
            else:
                total = self._position(self._total(c.value), reading.where)
                subtracted = self._position(count, reading.where) if c.minus else None
                recipe.append((c.times, total, subtracted, c.minus))
        return recipe

    def _total(self, value: Number) -> str:
        largest = max(abs(value.lattice.low), abs(value.lattice.high))
        return self._exact_sum(number_sql(value, self._places), largest)

    def _position(self, aggregate: str, where: Condition) -> int:
        if where not in (self._shared, EVERY_ROW):
            aggregate += f" FILTER (WHERE {condition_sql(where, self._places)})"
        return self._wanted.setdefault(aggregate, len(self._wanted))

    def arranged(self, rows: Sequence[Sequence[Any]]) -> Exact:
        """Every declared cell, in the declared order, whether it occurs in the data or not."""
        sizes = [len(group_values(column)) for column in self._readings[0].by]
        cells = 1
        for size in sizes:
            cells *= size
        exact: Exact = [[[0] * cells for _ in reading.coordinates] for reading in self._readings]
        flat = [
            (column, step)
            for columns, steps in zip(exact, self._recipes, strict=True)
            for column, step in zip(columns, steps, strict=True)
        ]
        for row in rows:
            keys, values = row[: len(sizes)], row[len(sizes) :]
            if None in keys:
                continue  # no declared group
            cell = 0
            for size, code in zip(sizes, keys, strict=True):
                cell = cell * size + code
            for column, (times, total, subtracted, minus) in flat:
                whole = times * int(values[total] or 0)  # the sum of nothing is NULL
                column[cell] = whole if subtracted is None else whole - minus * int(values[subtracted])
        return exact


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
    return f"CAST({value} AS BIGINT)"
