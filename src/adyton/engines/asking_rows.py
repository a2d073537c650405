"""Readings of rows with the same groups: one scan for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.engines.row_sql import clipped
from adyton.engines.scan import Aggregates, Recipe, Scan, Units, keys_of, selected
from adyton.query.nodes import EVERY_ROW, Condition, Number
from adyton.sensitivity import Reading


def rows_scan(readings: Sequence[Reading], units: Units, *, counted: bool = False) -> Scan:
    """Also of persons, where a person has a single row.  ``counted`` asks for ``Scan.counts``."""
    by, shared = readings[0].by, shared_filter(readings)
    emitter = _Emitter(units, shared)
    recipes = [emitter.recipes(reading) for reading in readings]
    counts = [emitter.count(reading) for reading in readings] if counted else []
    keys = keys_of(by, units)
    text = f"SELECT {', '.join([*selected(by, keys), *emitter.wanted])} FROM {units.table}"
    if shared != EVERY_ROW:
        text += f" WHERE {units.row_sql.condition(shared)}"
    return Scan(text + (f" GROUP BY {', '.join(keys)}" if keys else ""), len(keys), recipes, counts)


def shared_filter(readings: Sequence[Reading]) -> Condition:
    """What holds for every row that counts in any of the readings."""
    return readings[0].where if len({reading.where for reading in readings}) == 1 else EVERY_ROW


class _Emitter:
    def __init__(self, units: Units, shared: Condition) -> None:
        self._row, self._spelling, self._shared = units.row_sql, units.spelling, shared
        self.wanted = Aggregates()

    def recipes(self, reading: Reading) -> list[Recipe]:
        recipes = []
        for c in reading.coordinates:
            if c.value is None:
                recipes.append(Recipe(c.times, self.count(reading)))
            elif reading.persons is not None:
                recipes.append(self._clipped(c.value, reading))
            else:
                total = self._place(self._total(c.value), reading.where)
                subtracted = self.count(reading) if c.minus else None
                recipes.append(Recipe(c.times, total, subtracted, c.minus))
        return recipes

    def count(self, reading: Reading) -> int:
        valued = [c.value for c in reading.coordinates if c.value is not None]
        return self._place(f"count({self._row.number(valued[0]) if valued else '*'})", reading.where)

    def _total(self, value: Number) -> str:
        largest = max(abs(value.lattice.low), abs(value.lattice.high))
        return self._spelling.exact_sum(self._row.number(value), largest)

    def _clipped(self, value: Number, reading: Reading) -> Recipe:
        assert reading.persons is not None
        reach, bounds = (value.lattice.low, value.lattice.high), (reading.persons.low, reading.persons.high)
        always = always_the_same(reach, bounds)
        if always is not None:
            return Recipe(always, self.count(reading))
        total = self._spelling.exact_sum(
            clipped(self._row.number(value), reach, bounds), max(map(abs, reach))
        )
        return Recipe(1, self._place(total, reading.where))

    def _place(self, aggregate: str, where: Condition) -> int:
        if where not in (self._shared, EVERY_ROW):
            aggregate += f" FILTER (WHERE {self._row.condition(where)})"
        return self.wanted.place(aggregate)


def always_the_same(reach: tuple[int, int], bounds: tuple[int, int]) -> int | None:
    """What clipping to bounds makes of everything within reach, where that is one number."""
    if bounds[0] >= reach[1]:
        return bounds[0]
    return bounds[1] if bounds[1] <= reach[0] else None
