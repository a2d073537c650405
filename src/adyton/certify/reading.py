"""Answers and previews, read back from their JSON: what came over a network is the same object.

Numbers are those that were written.  A date is the day that was shown, its ends already rounded outwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from msgspec import UNSET

from adyton.certify.preview import PlannedRow, Preview
from adyton.certify.rows import (
    NOTHING_KNOWN,
    Intervals,
    KeyColumn,
    KeyedRows,
    KnownRange,
    RowKeys,
    ShownEndsOrWhy,
    ShownValue,
    Values,
)
from adyton.certify.stacked import widest, widest_or_absent
from adyton.certify.values import Absent, Proof, Way, day_from
from adyton.documents import read_fields, restored
from adyton.kernel.accounting.noisy_reading import LEVEL

Number = Callable[[Any], float]
_NO_RECEIPT = Proof(0, "", "")
_NOWHERE = (math.nan, math.nan)


def answer_facts(shape: Any) -> dict[str, Any]:
    """The fields of an answer that are not keys of its JSON object."""
    named = map(restored, shape._known or ())
    known = {one.name: KnownRange(one.count, one.low, one.high, one.step, one.day) for one in named}
    paid = shape._paid or shape._derived or None
    return {
        "rows": _rows(shape, known),
        "receipt": restored(paid) if paid else _NO_RECEIPT,
        "known": known,
    }


def keys_from(keys: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> RowKeys:
    """The groups of rows, as columns; ``names`` are those of the columns where there are no rows."""
    columns = {name: _key_column([key[name] for key in keys]) for name in (keys[0] if keys else names)}
    return RowKeys(columns, len(keys))


def _key_column(labels: Sequence[Any]) -> KeyColumn:
    """True and 1 are equal, and two labels all the same."""
    place = {(type(label), label): label for label in labels}
    code = {typed: number for number, typed in enumerate(place)}
    codes = np.fromiter((code[type(label), label] for label in labels), np.int32, len(labels))
    return KeyColumn(tuple(place.values()), codes)


def _rows(shape: Any, known: Mapping[str, KnownRange]) -> KeyedRows:
    rows, ways = shape._listed, shape.ways or {}
    if not rows:
        names = shape._columns
        nothing = {name: _no_values(name in names.population, ways.get(name)) for name in names.values}
        return KeyedRows(keys_from((), names.keys), nothing)
    values = {
        name: _values([row.values[name] for row in rows], known.get(name, NOTHING_KNOWN), ways.get(name))
        for name in rows[0].values
    }
    return KeyedRows(keys_from([row.keys for row in rows]), values)


def _no_values(has_population: bool, way: Way | None) -> Values:
    nothing = np.zeros(0)
    none = Intervals(LEVEL, nothing, nothing)
    return Values(nothing, none, replace(none, way=way) if has_population else Absent("no rows"))


def _values(cells: Sequence[ShownValue], known: KnownRange, way: Way | None) -> Values:
    number: Number = day_from if known.day else float
    value = np.array([math.nan if one.value is None else number(one.value) for one in cells], float)
    noise = _intervals([one.noise_interval for one in cells], number)
    population = _population([one.population_interval for one in cells], number)
    if isinstance(population, Intervals):
        population = replace(population, way=way)
    return Values(value, noise, population)


def _population(cells: Sequence[ShownEndsOrWhy], number: Number) -> Intervals | Absent:
    reasons = {cell.absent for cell in cells}
    if UNSET in reasons or len(reasons) > 1:
        return _intervals(cells, number)
    return Absent(str(reasons.pop()))


def _intervals(cells: Sequence[Any], number: Number) -> Intervals:
    absent = [Absent(cell.absent) if getattr(cell, "absent", UNSET) is not UNSET else None for cell in cells]
    known = list(zip(cells, absent, strict=True))
    ends = np.array([_NOWHERE if why else _ends(cell, number) for cell, why in known], float)
    level = next((cell.level for cell, why in known if not why), 0.0)
    why_none = np.array(absent, object) if any(absent) else None
    return Intervals(level, ends[:, 0].copy(), ends[:, 1].copy(), why_none)


def _ends(cell: Any, number: Number) -> tuple[float, float]:
    """One that is null is nowhere."""
    low, high = cell.low, cell.high
    return -math.inf if low is None else number(low), math.inf if high is None else number(high)


# Previews --------------------------------------------------------------------------------------------------


def preview_from(shape: Any) -> Preview:
    rows, many = shape._listed, shape._row_count
    whole = Preview(
        **read_fields(Preview, shape),
        keys=None if many is None else keys_from([row.keys for row in rows[:many]]),
        bounds={},
        population={},
    )
    if not shape._part_rows:
        return replace(whole, **_widths(rows[0]))
    parts = _parts(whole, rows, shape._part_rows)
    names = parts[0].bounds
    return replace(
        whole,
        bounds={name: widest([part.bounds[name] for part in parts]) for name in names},
        population={name: widest_or_absent([part.population[name] for part in parts]) for name in names},
        parts=parts,
    )


def _parts(whole: Preview, rows: Sequence[Any], sizes: Sequence[int]) -> tuple[Preview, ...]:
    """Of a table that several queries make: its rows in turn, each part with widths of its own."""
    in_turn = iter(rows)
    own = [list(islice(in_turn, size)) for size in sizes]
    return tuple(
        replace(whole, keys=keys_from([row.keys for row in part]), **_widths(part[0])) for part in own
    )


def _widths(row: Any) -> dict[str, Any]:
    """How wide the intervals of each value would be."""
    planned = PlannedRow._from_shape(row).values
    return {
        "bounds": {name: one.noise_interval for name, one in planned.items()},
        "population": {name: one.population_interval for name, one in planned.items()},
    }
