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
from adyton.engines.scans.folding import fold_columns
from adyton.engines.scans.scan import Aggregates, Recipe, Run, Units
from adyton.query.conditions.possible import Rows, Truths, is_understood
from adyton.query.expressions import Condition
from adyton.query.names import columns_in
from adyton.schema import BooleanColumn, Column
from adyton.sensitivity import Reading

_LARGEST_SUM = 2**62


def cubes_of(readings: Sequence[Reading]) -> list[tuple[list[int], list[Column]]]:
    """The places of readings that a cube answers together, with its columns."""
    plain = [
        place
        for place, reading in enumerate(readings)
        if not reading.by and reading.persons is None and is_understood(reading.where)
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
    masks: dict[Condition, Truths] = {}
    exact: Exact = []
    for reading, own in zip(readings, recipes, strict=True):
        if reading.where not in masks:
            masks[reading.where] = cube.rows.condition(reading.where)[0]
        totals = [int(values[masks[reading.where]].sum()) for values in cube.values]
        exact.append([[recipe.of(totals)] for recipe in own])
    return exact


def _type(column: Column) -> str:
    return (
        "INTEGER" if isinstance(column, BooleanColumn) else "BIGINT"
    )  # Postgres knows no other for booleans


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

    rows: Rows
    values: list[npt.NDArray[Any]]

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
        return cls(Rows(known, len(rows)), values)


def _added_up(values: list[int]) -> npt.NDArray[Any]:
    """As machine integers where no sum of them can be too large, else as Python's."""
    fits = sum(map(abs, values)) < _LARGEST_SUM
    return np.array(values, np.int64 if fits else object)
