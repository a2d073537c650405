"""Readings of persons: one number of each person in a cell, clipped, then added up.

Inside, the rows of a person in a cell become one row.  Where a person may count in fewer cells than have own
rows, the cells are put in order by a salted hash, in which nothing of other persons has a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from adyton.engines.scans.scan import (
    Aggregates,
    ClampedTable,
    Emitter,
    Recipe,
    Scan,
    always_the_same,
    keys_of,
    only_where,
    selected,
    shared_accounting,
)
from adyton.engines.spelling.rows import clipped, fits_bigint
from adyton.kernel.schema import TextColumn
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.buckets import Group, group_size
from adyton.kernel.terms.leaves import EVERY_ROW


def needs_choice(reading: Reading, units: ClampedTable) -> bool:
    """Whether a person may have rows in more cells than count."""
    assert reading.persons is not None
    if any(isinstance(group, TextColumn) for group in reading.by):
        cells = prod(units.rows if isinstance(g, TextColumn) else group_size(g) for g in reading.by)
    else:
        cells = reading.cells
    return reading.persons.groups < min(units.rows, cells)


def persons_scan(readings: Sequence[Reading], units: ClampedTable, *, counted: bool = False) -> Scan:
    """Readings with the same groups; alone, a reading whose cells are chosen."""
    chosen = needs_choice(readings[0], units)
    inner = _RowsOfPersons(readings, units, present_only=chosen)
    recipes, counts, wanted = [], [], Aggregates()
    for reading in readings:
        recipe, count = inner.number(reading, wanted, counted)
        recipes.append([recipe])
        counts.append(count)
    by = readings[0].by
    names = [f"k{i}" for i in range(len(by))]
    source = inner.sql(names)
    if chosen:
        assert readings[0].persons is not None
        source = _chosen(source, by, names, units, readings[0].persons.groups)
    text = f"SELECT {', '.join([*names, *wanted])} FROM ({source}) AS persons"
    return Scan(
        text + (f" GROUP BY {', '.join(names)}" if names else ""), len(by), recipes, counts if counted else []
    )


class _RowsOfPersons(Emitter):
    """One row for each person and cell, with a number for each reading; NULL or 0 where there is none."""

    def __init__(self, readings: Sequence[Reading], units: ClampedTable, *, present_only: bool) -> None:
        super().__init__(units, shared_accounting(readings))
        self._readings, self._present_only = readings, present_only

    def number(self, reading: Reading, outer: Aggregates, counted: bool) -> tuple[Recipe, int]:
        """How the persons' numbers are added up, and how they are counted."""
        assert reading.persons is not None
        (coordinate,) = reading.coordinates
        value = coordinate.value
        if value is None:
            name = f"n{self._count('', reading.where)}"
            count = outer.place(f"count({only_where('1', f'{name} > 0')})")
            return Recipe(1, count), count
        low, high = value.lattice.low, value.lattice.high
        name = f"n{self._sum(self._row.number(value), max(abs(low), abs(high)), reading.where)}"
        rows, bounds = self._units.rows, (reading.persons.low, reading.persons.high)
        reach = (min(low, rows * low), max(high, rows * high))
        always = always_the_same(reach, bounds)
        count = outer.place(f"count({name})") if counted or always is not None else -1
        if always is not None:
            return Recipe(always, count), count
        kept = (max(reach[0], bounds[0]), min(reach[1], bounds[1]))
        number = clipped(name, reach, bounds)
        if fits_bigint(*kept):
            number = f"CAST({number} AS BIGINT)"
        return Recipe(1, outer.place(self._units.dialect.exact_sum(number, max(map(abs, kept))))), count

    def sql(self, names: Sequence[str]) -> str:
        by = self._readings[0].by
        keys = keys_of(by, self._units)
        listed = [f"{key} AS {name}" for key, name in zip(selected(by, keys), names, strict=True)]
        listed += [f"{aggregate} AS n{i}" for i, aggregate in enumerate(self.wanted)]
        where = [f"{key} IS NOT NULL" for key in keys]
        if self._shared != EVERY_ROW:
            where.append(self._row.condition(self._shared))
        value = self._readings[0].coordinates[0].value
        if self._present_only and value is not None:
            where.append(f"{self._row.number(value)} IS NOT NULL")
        filtered = f" WHERE {' AND '.join(where)}" if where else ""
        grouped = ", ".join(["who", *keys])
        return f"SELECT {', '.join(['who', *listed])} FROM {self._units.table}{filtered} GROUP BY {grouped}"


def _chosen(source: str, by: Sequence[Group], names: Sequence[str], units: ClampedTable, groups: int) -> str:
    """The cells with the least hashes, of those in which the person counts; no two of a person's agree."""
    dialect = units.dialect
    parts = [dialect.text(units.salt)]
    if units.told:
        parts += [dialect.text(","), f"md5(CAST(who AS {dialect.text_type}))"]
    for group, name in zip(by, names, strict=True):
        code = f"CAST({name} AS {dialect.text_type})"
        parts += [dialect.text(","), f"md5({code})" if isinstance(group, TextColumn) else code]
    order = dialect.byte_order(f"md5(concat({', '.join(parts)}))")
    ranked = (
        f"SELECT *, row_number() OVER (PARTITION BY who ORDER BY {order}) AS place FROM ({source}) AS own"
    )
    return f"SELECT * FROM ({ranked}) AS ranked WHERE place <= {groups}"
