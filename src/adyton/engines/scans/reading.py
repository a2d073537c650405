"""From readings to integers, for every engine that speaks SQL: as few scans as possible, in the order asked.

Readings of rows share a scan where they have the same groups; readings of persons too, unless a choice
among the cells of a person depends on what is read.

A thousand filtered numbers come from one small statement.  The engine adds up all rows that no filter tells
apart (``scan``); that leaves a cell for each combination of values that occurs.  The filters are then
evaluated on these few cells, as arrays, in the same integers: a statement with a thousand aggregates would
take any engine longer to plan than to run.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adyton.engines.scans.persons import needs_choice, persons_scan
from adyton.engines.scans.scan import (
    LEAST_READINGS,
    ClampedTable,
    Emitter,
    Recipe,
    Run,
    RunColumns,
    Scan,
    apart,
    columns_of,
    fold_columns,
    in_few_cells,
    rows_scan,
)
from adyton.engines.scans.two_level import persons_of
from adyton.kernel.engine import DiscoveredGroup, Exact
from adyton.kernel.exact.cells import Cells
from adyton.kernel.schema import BooleanColumn, Column, TextColumn
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.buckets import Group, group_size
from adyton.kernel.terms.expressions import Condition
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.names import columns_in
from adyton.kernel.terms.persons import TableOfPersons
from adyton.query.conditions.possible import KnownRows, Truths, is_understood
from adyton.query.conditions.possible_cells import Places

# Cells times numbers in each that one scan computes: more of them take too much memory at once.
_MOST_RESULTS = 2**22
# From so many cells on, what an engine found is taken over as arrays.
_MANY_CELLS = 2**11
# An engine plans a statement of many aggregates in more than linear time.
_MOST_READINGS = 64
_LARGEST_SUM = 2**62
# Of one filter after another: cells that are kept, and for how many kinds of queries.
_MOST_KEPT_CELLS = 2**12
_MOST_KEPT = 64


def exact_from(
    units: ClampedTable,
    run: Run,
    readings: Sequence[Reading],
    run_columns: RunColumns | None = None,
    kept: KeptCubes | None = None,
) -> Exact:
    """For every cell that is kept, in the declared order, whether it occurs in the data or not.

    ``kept``: what is read again and again, of a table that never changes.
    """
    units = units.read_for(readings)
    exact: dict[int, Sequence[Sequence[int]]] = {}
    for own, places in _by_table(units, readings):
        # Statements about persons do not say what columns are called.
        of_rows = kept if own is units else None
        asked = [readings[i] for i in places]
        exact.update(zip(places, _exact(own, run, asked, run_columns, of_rows), strict=True))
    return [exact[place] for place in range(len(readings))]


def _by_table(units: ClampedTable, readings: Sequence[Reading]) -> Iterator[tuple[ClampedTable, list[int]]]:
    """What is scanned, rows or persons, with the places of the readings of it."""
    alike: dict[TableOfPersons | None, list[int]] = {}
    for place, reading in enumerate(readings):
        table = reading.table if isinstance(reading.table, TableOfPersons) else None
        alike.setdefault(table, []).append(place)
    for table, places in alike.items():
        yield units if table is None else persons_of(units, table), places


def _exact(
    units: ClampedTable,
    run: Run,
    readings: Sequence[Reading],
    run_columns: RunColumns | None,
    kept: KeptCubes | None,
) -> Exact:
    found: dict[int, Sequence[Sequence[int]]] = {}
    for places, columns in cubes_of(readings):
        found.update(zip(places, read_cube([readings[i] for i in places], columns, units, run), strict=True))
    if kept is not None and not found:
        found = kept.read(readings, units, run)
    rest = [place for place in range(len(readings)) if place not in found]
    for asked, scan in _scans(units, [readings[i] for i in rest], counted=False):
        own = [rest[place] for place in asked]
        found.update(zip(own, _declared(scan, [readings[i] for i in own], run, run_columns), strict=True))
    return [found[place] for place in range(len(readings))]


def found_from(
    units: ClampedTable, run: Run, readings: Sequence[Reading]
) -> tuple[list[DiscoveredGroup], Exact]:
    """For every key under which something counts in one of the readings, in the order of the keys."""
    ((units, _),) = _by_table(units.read_for(readings), readings)
    found: dict[DiscoveredGroup, dict[int, list[int]]] = {}
    for asked, scan in _scans(units, readings, counted=True):
        for row in run(scan.sql):
            key, values = tuple(row[: scan.keys]), row[scan.keys :]
            for place, recipes, count in zip(asked, scan.recipes, scan.counts, strict=True):
                if values[count] and None not in key:
                    found.setdefault(key, {})[place] = [recipe.of(values) for recipe in recipes]
    keys = sorted(found)
    exact: Exact = []
    for place, reading in enumerate(readings):
        nothing = [0] * len(reading.coordinates)
        integers = [found[key].get(place, nothing) for key in keys]
        exact.append([[own[i] for own in integers] for i in range(len(nothing))])
    return keys, exact


def _scans(
    units: ClampedTable, readings: Sequence[Reading], *, counted: bool
) -> Iterator[tuple[list[int], Scan]]:
    """Each scan, with the places of the readings that it answers."""
    together: dict[tuple[tuple[Group, ...], bool, int | None], list[int]] = {}
    for place, reading in enumerate(readings):
        of_persons = reading.persons is not None and units.rows > 1
        alone = place if of_persons and needs_choice(reading, units) else None
        together.setdefault((reading.by, of_persons, alone), []).append(place)
    for (_, of_persons, _), asked in together.items():
        scan = persons_scan if of_persons else rows_scan
        for alike in [asked] if of_persons else apart(readings, asked):
            for some in _in_parts(alike, _most_readings([readings[place] for place in alike])):
                yield some, scan([readings[place] for place in some], units, counted=counted)


def _most_readings(alike: Sequence[Reading]) -> int:
    if any(isinstance(group, TextColumn) for group in alike[0].by):
        cells = prod(group_size(group) for group in alike[0].by if not isinstance(group, TextColumn))
    else:
        cells = max(reading.cells for reading in alike)
    return max(1, min(_MOST_READINGS, _MOST_RESULTS // cells))


def _in_parts(places: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(places), size):
        yield places[start : start + size]


def _declared(
    scan: Scan, readings: Sequence[Reading], run: Run, run_columns: RunColumns | None
) -> Sequence[Sequence[Sequence[int]]]:
    """The readings of one scan, which have the same groups; each has cells of its own that are kept."""
    sizes = [group_size(group) for group in readings[0].by]
    if prod(sizes) < _MANY_CELLS:
        return _one_by_one(scan, readings, sizes, run(scan.sql))
    if run_columns is not None:
        sides = run_columns(scan.sql, scan.keys, scan.values)
    else:
        sides = columns_of(run(scan.sql), scan.keys, scan.values)
    cell = np.zeros(len(sides[0]), np.int64)
    for size, codes in zip(sizes, sides, strict=False):
        cell = cell * size + codes
    order = np.argsort(cell)
    cell, values = cell[order], [side[order] for side in sides[scan.keys :]]
    exact: list[Sequence[Sequence[int]]] = []
    for reading, recipes in zip(readings, scan.recipes, strict=True):
        place, counts = _places_in(reading, cell, prod(sizes[reading.groups :]))
        own = [side[counts] for side in values]
        exact.append([Cells.at(place, recipe.of_columns(own), reading.cells) for recipe in recipes])
    return exact


def _places_in(
    reading: Reading, cell: npt.NDArray[np.int64], bins: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | slice]:
    """The places among the cells that are kept, and which of the rows of a scan have one."""
    if reading.kept is None:
        return cell, slice(None)
    kept, group = np.array(reading.kept, np.int64), cell // bins
    number = np.minimum(np.searchsorted(kept, group), len(kept) - 1)
    counts = kept[number] == group
    return (number * bins + cell % bins)[counts], counts


def _one_by_one(
    scan: Scan, readings: Sequence[Reading], sizes: Sequence[int], rows: Sequence[Sequence[Any]]
) -> Sequence[Sequence[Sequence[int]]]:
    exact = [[[0] * cells for _ in reading.coordinates] for reading in readings for cells in [reading.cells]]
    alike: dict[tuple[Places | None, int], list[tuple[list[int], Recipe]]] = {}
    for reading, columns, recipes in zip(readings, exact, scan.recipes, strict=True):
        alike.setdefault((reading.kept, reading.groups), []).extend(zip(columns, recipes, strict=True))
    known = [(_numbered(kept), prod(sizes[groups:]), filled) for (kept, groups), filled in alike.items()]
    for row in rows:
        key, values = row[: scan.keys], row[scan.keys :]
        if None in key:
            continue  # no declared group
        cell = 0
        for size, code in zip(sizes, key, strict=True):
            cell = cell * size + code
        for numbered, bins, filled in known:
            group = cell // bins if numbered is None else numbered.get(cell // bins)
            if group is None:
                continue  # nothing counts there: rows of it meet other readings' conditions, or none
            place = group * bins + cell % bins
            for column, recipe in filled:
                column[place] = recipe.of(values)
    return exact


def _numbered(kept: Places | None) -> dict[int, int] | None:
    return None if kept is None else {place: number for number, place in enumerate(kept)}


# Filters that run on what the engine has folded ------------------------------------------------------------


def cubes_of(readings: Sequence[Reading]) -> list[tuple[list[int], list[Column]]]:
    """The places of readings that a cube answers together, with its columns."""
    if len(readings) < LEAST_READINGS:
        return []
    alike = _alike(readings).values()
    found = [(places, fold_columns([readings[place] for place in places])) for places in alike]
    return [(places, columns) for places, columns in found if columns]


def _alike(readings: Sequence[Reading]) -> dict[frozenset[Column], list[int]]:
    """By the columns that their filters are about: the places of readings without groups."""
    alike: dict[frozenset[Column], list[int]] = {}
    for place, reading in enumerate(readings):
        if not reading.by and reading.persons is None and is_understood(reading.where):
            alike.setdefault(frozenset(columns_in(reading.where)), []).append(place)
    return alike


def read_cube(readings: Sequence[Reading], columns: Sequence[Column], units: ClampedTable, run: Run) -> Exact:
    """For each reading, for each coordinate, its one integer."""
    wanted = _Wanted.of(readings, columns, units)
    return _added_in(_Cube.of(columns, run(wanted.sql), wanted.width), readings, wanted.recipes)


class KeptCubes:
    """Sums over the cells that filters are about, kept from one query to the next: the next filter on the
    same columns needs no scan.  The first query only says which are wanted, the second one reads them.

    What is kept follows from what was asked and paid for before, and from declared bounds.  A table that is
    loaded once and never changes has them once and for all.
    """

    def __init__(self) -> None:
        self._cubes: dict[str, _Cube | None] = {}  # by statement; None: wanted once
        self._wanted: dict[Hashable, _Wanted] = {}
        self._lock = Lock()  # queries may come from many threads

    def read(
        self, readings: Sequence[Reading], units: ClampedTable, run: Run
    ) -> dict[int, Sequence[Sequence[int]]]:
        """By their places, those readings that were wanted before."""
        found: dict[int, Sequence[Sequence[int]]] = {}
        for read, places in _alike(readings).items():
            own = [readings[place] for place in places]
            columns = in_few_cells(read, _MOST_KEPT_CELLS)
            if columns:
                wanted = self._wanted_by(own, columns, units)
                cube = self._cube(wanted, columns, run)
                if cube is not None:
                    found.update(zip(places, _added_in(cube, own, wanted.recipes), strict=True))
        return found

    def _wanted_by(
        self, readings: Sequence[Reading], columns: Sequence[Column], units: ClampedTable
    ) -> _Wanted:
        """Which filters there are on these columns makes no difference to it."""
        shape = units.table, tuple(columns), tuple(reading.coordinates for reading in readings)
        with self._lock:
            wanted = self._wanted.get(shape)
            if wanted is None:
                if len(self._wanted) == _MOST_KEPT:
                    self._wanted.clear()
                wanted = self._wanted[shape] = _Wanted.of(readings, columns, units)
        return wanted

    def _cube(self, wanted: _Wanted, columns: Sequence[Column], run: Run) -> _Cube | None:
        with self._lock:
            wanted_before = wanted.sql in self._cubes
            cube = self._cubes.pop(wanted.sql, None)
        if cube is None and wanted_before:
            cube = _Cube.of(columns, run(wanted.sql), wanted.width)
        with self._lock:
            self._cubes[wanted.sql] = cube  # the newest last
            if len(self._cubes) > _MOST_KEPT:
                del self._cubes[next(iter(self._cubes))]
        return cube


class _Wanted(NamedTuple):
    """A statement that selects so many columns for each cell, and what comes of them, for each reading."""

    sql: str
    width: int
    recipes: list[list[Recipe]]

    @classmethod
    def of(cls, readings: Sequence[Reading], columns: Sequence[Column], units: ClampedTable) -> _Wanted:
        places, emitter = [units.places[column.name] for column in columns], Emitter(units, EVERY_ROW)
        recipes = [emitter.recipes(replace(reading, where=EVERY_ROW)) for reading in readings]
        codes = [f"CAST({place} AS {_type(c)})" for place, c in zip(places, columns, strict=True)]
        listed = [*codes, *emitter.wanted]
        sql = f"SELECT {', '.join(listed)} FROM {units.table} GROUP BY {', '.join(places)}"
        return cls(sql, len(listed), recipes)


def _added_in(cube: _Cube, readings: Sequence[Reading], recipes: Sequence[Sequence[Recipe]]) -> Exact:
    masks: dict[Condition, Truths] = {}
    exact: Exact = []
    for reading, own in zip(readings, recipes, strict=True):
        if reading.where not in masks:
            masks[reading.where] = cube.rows.condition(reading.where)[0]
        totals = [int(values[masks[reading.where]].sum()) for values in cube.values]
        exact.append([[recipe.of(totals)] for recipe in own])
    return exact


def _type(column: Column) -> str:
    """Postgres knows no other for booleans."""
    return "INTEGER" if isinstance(column, BooleanColumn) else "BIGINT"


@dataclass(frozen=True, slots=True)
class _Cube:
    """Cells: the integers of each column in them, whether they are there, and what was added up."""

    rows: KnownRows
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
        return cls(KnownRows(known, len(rows)), values)


def _added_up(values: list[int]) -> npt.NDArray[Any]:
    """As machine integers where no sum of them can be too large, else as Python's."""
    fits = sum(map(abs, values)) < _LARGEST_SUM
    return np.array(values, np.int64 if fits else object)
