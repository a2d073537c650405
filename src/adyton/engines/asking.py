"""From readings to integers, for every engine that speaks SQL: as few scans as possible, in the order asked.

Readings of rows share a scan where they have the same groups; readings of persons too, unless a choice among
the cells of a person depends on what is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from adyton.columns import Cells
from adyton.engines.asking_persons import needs_choice, persons_scan
from adyton.engines.asking_rows import rows_scan
from adyton.engines.base import Exact, Key
from adyton.engines.cube import cubes_of, read_cube
from adyton.engines.folding import apart
from adyton.engines.scan import Recipe, Run, RunColumns, Scan, Units, columns_of
from adyton.query.nodes import Group, group_size
from adyton.schema import TextColumn
from adyton.sensitivity import Reading

# Cells times numbers in each that one scan computes: more of them take too much memory at once.
_MOST_RESULTS = 2**22
# From so many cells on, what an engine found is taken over as arrays.
_MANY_CELLS = 2**11
# An engine plans a statement of many aggregates in more than linear time.
_MOST_READINGS = 64


def exact_from(
    units: Units, run: Run, readings: Sequence[Reading], run_columns: RunColumns | None = None
) -> Exact:
    """For every declared cell, in the declared order, whether it occurs in the data or not."""
    found: dict[int, Sequence[Sequence[int]]] = {}
    for places, columns in cubes_of(readings):
        found.update(zip(places, read_cube([readings[i] for i in places], columns, units, run), strict=True))
    rest = [place for place in range(len(readings)) if place not in found]
    for asked, scan in _scans(units, [readings[i] for i in rest], counted=False):
        sizes = [group_size(group) for group in readings[rest[asked[0]]].by]
        integers = _declared(scan, sizes, run, run_columns)
        for place in asked:
            found[rest[place]] = [next(integers) for _ in readings[rest[place]].coordinates]
    return [found[place] for place in range(len(readings))]


def found_from(units: Units, run: Run, readings: Sequence[Reading]) -> tuple[list[Key], Exact]:
    """For every key under which something counts in one of the readings, in the order of the keys."""
    found: dict[Key, dict[int, list[int]]] = {}
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


def _scans(units: Units, readings: Sequence[Reading], *, counted: bool) -> Iterator[tuple[list[int], Scan]]:
    """Each scan, with the places of the readings that it answers."""
    together: dict[tuple[tuple[Group, ...], bool, int | None], list[int]] = {}
    for place, reading in enumerate(readings):
        of_persons = reading.persons is not None and units.rows > 1
        alone = place if of_persons and needs_choice(reading, units) else None
        together.setdefault((reading.by, of_persons, alone), []).append(place)
    for (by, of_persons, _), asked in together.items():
        scan = persons_scan if of_persons else rows_scan
        for alike in [asked] if of_persons else apart(readings, asked):
            for some in _in_parts(alike, _most_readings(by)):
                yield some, scan([readings[place] for place in some], units, counted=counted)


def _most_readings(by: Sequence[Group]) -> int:
    declared = prod(group_size(group) for group in by if not isinstance(group, TextColumn))
    return max(1, min(_MOST_READINGS, _MOST_RESULTS // declared))


def _in_parts(places: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(places), size):
        yield places[start : start + size]


def _declared(
    scan: Scan, sizes: Sequence[int], run: Run, run_columns: RunColumns | None
) -> Iterator[Sequence[int]]:
    """One column for each coordinate of each reading."""
    cells, recipes = prod(sizes), [recipe for own in scan.recipes for recipe in own]
    if cells < _MANY_CELLS:
        return _one_by_one(scan, sizes, recipes, run(scan.sql))
    if run_columns is not None:
        sides = run_columns(scan.sql, scan.keys, scan.values)
    else:
        sides = columns_of(run(scan.sql), scan.keys, scan.values)
    place = np.zeros(len(sides[0]), np.int64)
    for size, codes in zip(sizes, sides, strict=False):
        place = place * size + codes
    order = np.argsort(place)
    place, values = place[order], [side[order] for side in sides[scan.keys :]]
    return (Cells.at(place, recipe.of_columns(values), cells) for recipe in recipes)


def _one_by_one(
    scan: Scan, sizes: Sequence[int], recipes: Sequence[Recipe], rows: Sequence[Sequence[Any]]
) -> Iterator[Sequence[int]]:
    columns = [[0] * prod(sizes) for _ in recipes]
    flat = list(zip(columns, recipes, strict=True))
    for row in rows:
        key, values = row[: scan.keys], row[scan.keys :]
        if None in key:
            continue  # no declared group
        cell = 0
        for size, code in zip(sizes, key, strict=True):
            cell = cell * size + code
        for column, recipe in flat:
            column[cell] = recipe.of(values)
    return iter(columns)
