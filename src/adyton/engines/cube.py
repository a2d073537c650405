"""A thousand filtered numbers from one small statement: the engine folds the rows, the filters run here.

The engine adds up all rows that no filter tells apart (``folding``); that leaves a cell for each combination
of values that occurs.  The filters are then evaluated on these few cells, as arrays, in the same integers: a
statement with a thousand aggregates would take any engine longer to plan than to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.engines.base import Exact
from adyton.engines.folding import fold_columns
from adyton.engines.scan import Aggregates, Recipe, Run, Units
from adyton.query.check import columns_in
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
    IsOutside,
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
)
from adyton.schema import BooleanColumn, Column, times_finer
from adyton.sensitivity import Reading

_Integers = npt.NDArray[np.int64]
_Truths = npt.NDArray[np.bool_]
_LARGEST_SUM = 2**62
_UNDERSTOOD = (ValueOf, DayOf, Constant, Day, Plus, Times, Negative, Indicator)


def cubes_of(readings: Sequence[Reading]) -> list[tuple[list[int], list[Column]]]:
    """The places of readings that a cube answers together, with its columns."""
    plain = [
        place
        for place, reading in enumerate(readings)
        if not reading.by and reading.persons is None and _understood(reading.where)
    ]
    alike: dict[frozenset[str], list[int]] = {}
    for place in plain:
        names = frozenset(column.name for column in columns_in(readings[place].where))
        alike.setdefault(names, []).append(place)
    found = [(places, fold_columns([readings[place] for place in places])) for places in alike.values()]
    return [(places, columns) for places, columns in found if columns]


def read_cube(readings: Sequence[Reading], columns: Sequence[Column], units: Units, run: Run) -> Exact:
    """For each reading, for each coordinate, its one integer."""
    places, wanted = [units.places[column.name] for column in columns], Aggregates()
    recipes = [_recipes(reading, units, wanted) for reading in readings]
    listed = [*(f"CAST({place} AS {_type(c)})" for place, c in zip(places, columns, strict=True)), *wanted]
    rows = run(f"SELECT {', '.join(listed)} FROM {units.table} GROUP BY {', '.join(places)}")
    cube = _Cube.of(columns, rows, len(listed))
    masks: dict[Condition, _Truths] = {}
    exact: Exact = []
    for reading, own in zip(readings, recipes, strict=True):
        if reading.where not in masks:
            masks[reading.where] = cube.condition(reading.where)[0]
        totals = [int(values[masks[reading.where]].sum()) for values in cube.values]
        exact.append([[recipe.of(totals)] for recipe in own])
    return exact


def _type(column: Column) -> str:
    return "INTEGER" if isinstance(column, BooleanColumn) else "BIGINT"  # Postgres knows no other for truths


def _recipes(reading: Reading, units: Units, wanted: Aggregates) -> list[Recipe]:
    valued = [c.value for c in reading.coordinates if c.value is not None]
    count = wanted.place(f"count({units.row_sql.number(valued[0]) if valued else '*'})")
    recipes = []
    for c in reading.coordinates:
        if c.value is None:
            recipes.append(Recipe(c.times, count))
        else:
            largest = max(abs(c.value.lattice.low), abs(c.value.lattice.high))
            total = wanted.place(units.spelling.exact_sum(units.row_sql.number(c.value), largest))
            recipes.append(Recipe(c.times, total, count if c.minus else None, c.minus))
    return recipes


@dataclass(frozen=True, slots=True)
class _Cube:
    """Cells: the integers of each column in them, whether they are there, and what was added up."""

    columns: dict[str, tuple[_Integers, _Truths]]
    values: list[npt.NDArray[Any]]
    cells: int

    @classmethod
    def of(cls, columns: Sequence[Column], rows: Sequence[Sequence[Any]], width: int) -> _Cube:
        sides = list(zip(*rows, strict=True)) if rows else [()] * width
        known = {
            column.name: (
                np.array([0 if v is None else int(v) for v in side], np.int64),
                np.array([v is not None for v in side], np.bool_),
            )
            for column, side in zip(columns, sides, strict=False)
        }
        values = [_added_up([int(v or 0) for v in side]) for side in sides[len(columns) :]]
        return cls(known, values, len(rows))

    def condition(self, node: Condition) -> tuple[_Truths, _Truths]:
        """Where it is true, and where it is false; elsewhere it is neither."""
        match node:
            case Compare(left, operator, right):
                return self._compared(left, operator, right)
            case OneOf(column, values):
                codes, known = self.columns[column.name]
                chosen = np.isin(codes, [i for i, v in enumerate(column.values) if v in values])
                return known & chosen, known & ~chosen
            case IsTrue(column):
                truth, known = self.columns[column.name]
                return known & (truth != 0), known & (truth == 0)
            case IsMissing(column):
                known = self.columns[column.name][1]
                return ~known, known
            case IsOutside():
                raise AssertionError("not for a cube")
            case Always(truth):
                return np.full(self.cells, truth), np.full(self.cells, not truth)
            case Not(inner):
                true, false = self.condition(inner)
                return false, true
            case And(parts):
                sides = [self.condition(part) for part in parts]
                return np.all([t for t, _ in sides], axis=0), np.any([f for _, f in sides], axis=0)
            case Or(parts):
                sides = [self.condition(part) for part in parts]
                return np.any([t for t, _ in sides], axis=0), np.all([f for _, f in sides], axis=0)

    def _compared(self, left: Comparable, operator: str, right: Comparable) -> tuple[_Truths, _Truths]:
        (a, known_a), (b, known_b) = self.number(left), self.number(right)
        if not isinstance(left, DayOf | Day) and not isinstance(right, DayOf | Day):
            a, b = _aligned(a, left, b, right)
        met = _COMPARE[operator](a, b)
        known = known_a & known_b
        return known & met, known & ~met

    def number(self, node: Comparable) -> tuple[_Integers, _Truths]:
        """Its integers on its own lattice, whose checks make them fit, and where they are there."""
        match node:
            case ValueOf(column) | DayOf(column):
                return self.columns[column.name]
            case Constant() | Day():
                return np.full(self.cells, node.lattice.low, np.int64), np.full(self.cells, True)
            case Negative(inner):
                a, known = self.number(inner)
                return -a, known
            case Indicator(condition):
                return self.condition(condition)[0].astype(np.int64), np.full(self.cells, True)
            case Plus(left, right) | Times(left, right):
                return self._joined(node, left, right)
            case _:
                raise AssertionError("not for a cube")

    def _joined(self, node: Plus | Times, left: Number, right: Number) -> tuple[_Integers, _Truths]:
        (a, known_a), (b, known_b) = self.number(left), self.number(right)
        known = known_a & known_b
        if isinstance(node, Times):
            return a * b, known
        a, b = _aligned(a, left, b, right)
        return a + b, known


_COMPARE = {
    "<": np.less,
    "<=": np.less_equal,
    "=": np.equal,
    "<>": np.not_equal,
    ">=": np.greater_equal,
    ">": np.greater,
}


def _aligned(a: _Integers, left: Number, b: _Integers, right: Number) -> tuple[_Integers, _Integers]:
    """Both on the grain that they have in common."""
    first, second = aligned(left, right)
    return a * times_finer(left.lattice.grain, first.grain), b * times_finer(
        right.lattice.grain, second.grain
    )


def _added_up(values: list[int]) -> npt.NDArray[Any]:
    """As machine integers where no sum of them can be too large, else as Python's."""
    fits = sum(map(abs, values)) < _LARGEST_SUM
    return np.array(values, np.int64 if fits else object)


def _understood(node: object) -> bool:
    if isinstance(node, Number | DayOf | Day) and not isinstance(node, _UNDERSTOOD):
        return False
    parts = [getattr(node, name) for name in ("left", "right", "inner", "condition") if hasattr(node, name)]
    return all(map(_understood, [*parts, *getattr(node, "parts", ())]))
