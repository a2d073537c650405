"""Readings of rows with the same groups: one scan for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.engines.scans.folding import fold_columns
from adyton.engines.scans.scan import Aggregates, Recipe, Scan, Units, keys_of, only_where, selected
from adyton.engines.spelling.rows import clipped
from adyton.query.expressions import Condition, NumberExpression
from adyton.query.leaves import EVERY_ROW
from adyton.schema import LARGEST_VALUE
from adyton.sensitivity import Reading


def rows_scan(readings: Sequence[Reading], units: Units, *, counted: bool = False) -> Scan:
    """Also of persons, where a person has a single row.  ``counted`` asks for ``Scan.counts``."""
    by, shared = readings[0].by, shared_filter(readings)
    folded = [units.places[column.name] for column in fold_columns(readings)]
    emitter = _Folded(units, shared) if folded else _Emitter(units, shared)
    recipes = [emitter.recipes(reading) for reading in readings]
    counts = [emitter.count(reading) for reading in readings] if counted else []
    keys = keys_of(by, units)
    text = f"SELECT {', '.join([*selected(by, keys), *emitter.wanted])} FROM {emitter.source(folded)}"
    if shared != EVERY_ROW:
        text += f" WHERE {units.row_sql.condition(shared)}"
    return Scan(text + (f" GROUP BY {', '.join(keys)}" if keys else ""), len(keys), recipes, counts)


def shared_filter(readings: Sequence[Reading]) -> Condition:
    """What holds for every row that counts in any of the readings."""
    return readings[0].where if len({reading.where for reading in readings}) == 1 else EVERY_ROW


class _Emitter:
    def __init__(self, units: Units, shared: Condition) -> None:
        self._units, self._row, self._shared = units, units.row_sql, shared
        self.wanted = Aggregates()

    def source(self, _folded: Sequence[str]) -> str:
        return self._units.table

    def recipes(self, reading: Reading) -> list[Recipe]:
        recipes = []
        for c in reading.coordinates:
            if c.value is None:
                recipes.append(Recipe(c.times, self.count(reading)))
            elif reading.persons is not None:
                recipes.append(self._clipped(c.value, reading))
            else:
                largest = max(abs(c.value.lattice.low), abs(c.value.lattice.high))
                total = self._sum(self._row.number(c.value), largest, reading.where)
                subtracted = self.count(reading) if c.minus else None
                recipes.append(Recipe(c.times, total, subtracted, c.minus))
        return recipes

    def count(self, reading: Reading) -> int:
        valued = [c.value for c in reading.coordinates if c.value is not None]
        return self._count(self._row.number(valued[0]) if valued else "", reading.where)

    def _clipped(self, value: NumberExpression, reading: Reading) -> Recipe:
        assert reading.persons is not None
        reach, bounds = (value.lattice.low, value.lattice.high), (reading.persons.low, reading.persons.high)
        always = always_the_same(reach, bounds)
        if always is not None:
            return Recipe(always, self.count(reading))
        number = clipped(self._row.number(value), reach, bounds)
        return Recipe(1, self._sum(number, max(map(abs, reach)), reading.where))

    def _sum(self, value: str, largest: int, where: Condition) -> int:
        return self.wanted.place(self._units.spelling.exact_sum(self._where(value, where), largest))

    def _count(self, value: str, where: Condition) -> int:
        """Of rows where the value is present, or of all."""
        present = self._where(value or "1", where)
        return self.wanted.place(f"count({'*' if present == '1' else present})")

    def _where(self, value: str, where: Condition) -> str:
        filtered = where not in (self._shared, EVERY_ROW)
        return only_where(value, self._row.condition(where)) if filtered else value


class _Folded(_Emitter):
    """Adds up what was added up before, for all rows that no filter tells apart."""

    def __init__(self, units: Units, shared: Condition) -> None:
        super().__init__(units, shared)
        self._inner = Aggregates()

    def source(self, folded: Sequence[str]) -> str:
        listed = [*folded, *(f"{aggregate} AS f{i}" for i, aggregate in enumerate(self._inner))]
        return f"(SELECT {', '.join(listed)} FROM {self._units.table} GROUP BY {', '.join(folded)}) AS folded"

    def _sum(self, value: str, largest: int, where: Condition) -> int:
        return self._outer(self._units.spelling.exact_sum(value, largest), where)

    def _count(self, value: str, where: Condition) -> int:
        return self._outer(f"count({value or '*'})", where)

    def _outer(self, aggregate: str, where: Condition) -> int:
        inner = self._where(f"f{self._inner.place(aggregate)}", where)
        return self.wanted.place(self._units.spelling.exact_sum(inner, LARGEST_VALUE))


def always_the_same(reach: tuple[int, int], bounds: tuple[int, int]) -> int | None:
    """What clipping to bounds makes of everything within reach, where that is one number."""
    if bounds[0] >= reach[1]:
        return bounds[0]
    return bounds[1] if bounds[1] <= reach[0] else None
