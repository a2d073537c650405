"""One scan of the loaded table: what it selects, and how integers come out of its rows.

Readings of rows with the same groups share one.  Where they have many filters, rows that no filter tells
apart are added up first: a thousand filters on the ages of ten million rows need one pass over the rows and
a thousand over the ages.  Whether a query is folded depends on public facts alone: on what is asked, and
on the declared bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple, Protocol, assert_never

from adyton.engines.loading.parting import in_part
from adyton.engines.spelling.rows import BitMark, Dialect, Places, RowSql, clipped, integer
from adyton.kernel.exact.cells import Array, weighted, whole
from adyton.kernel.schema import (
    LARGEST_VALUE,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    TextColumn,
)
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.buckets import Bucket, Group, group_size, has_null
from adyton.kernel.terms.expressions import Condition, NumberExpression
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.names import columns_in, outsides_in

# A statement -> its rows.
Run = Callable[[str], Sequence[Sequence[Any]]]
# Fewer are read as fast without; and from more combinations of values nothing is won.
LEAST_READINGS = 8
_MOST_COMBINATIONS = 2**18


class RunColumns(Protocol):
    """For very many rows: runs a statement that selects ``keys`` codes and then ``values`` integers, and
    returns an array for each of these columns.  Rows in which a code is NULL are left out; other NULLs are 0.
    """

    def __call__(self, sql: str, keys: int, values: int) -> list[Array]: ...


@dataclass(frozen=True, slots=True)
class ClampedTable:
    """A table of clipped integers.

    Where a person may have several ``rows``, the column ``who`` says whose row it is.  ``told`` says whether
    all engines write the same text for a person; ``marks`` where it is said which values came from outside.
    Where units are split into ``parts``, the column ``part`` says in which one a row is.
    """

    table: str
    places: Places
    dialect: Dialect
    rows: int = 1
    salt: str = ""
    told: bool = False
    parts: int = 1
    marks: Mapping[str, BitMark] = field(default_factory=dict)

    @property
    def row_sql(self) -> RowSql:
        return RowSql(self.places, self.dialect, self.marks)

    def read_for(self, readings: Sequence[Reading]) -> ClampedTable:
        """The part of the units that all these readings are of: never all of them where they are split."""
        named = {reading.part for reading in readings}
        if self.parts == 1 and named <= {None}:
            return self
        inside = in_part(named, self.parts, self.dialect)
        return replace(self, table=f"(SELECT * FROM {self.table} WHERE {inside}) AS units")


class Recipe(NamedTuple):
    """``times * total - minus * count``, by the places of both in a row.

    The arithmetic is done on the few results, where no integer is too large, and not on every row.
    """

    times: int
    total: int
    counted: int | None = None
    minus: int = 0

    def of(self, values: Sequence[Any]) -> int:
        total = self.times * int(values[self.total] or 0)  # the sum of nothing is NULL
        return total if self.counted is None else total - self.minus * int(values[self.counted] or 0)

    def of_columns(self, values: Sequence[Array]) -> Array:
        """The same for many rows."""
        terms = [(self.times, values[self.total])]
        terms += [(-self.minus, values[self.counted])] if self.counted is not None else []
        return weighted(*terms)


@dataclass(frozen=True, slots=True)
class Scan:
    """``sql`` selects a key for each of ``keys`` groups, then values.

    For each reading: a recipe for each coordinate, and the place of a value that is 0 where nothing counts.
    """

    sql: str
    keys: int
    recipes: Sequence[Sequence[Recipe]]
    counts: Sequence[int]

    @property
    def values(self) -> int:
        """How many values follow the keys."""
        used = [place for own in self.recipes for r in own for place in (r.total, r.counted or 0)]
        return 1 + max([*used, *self.counts])


def columns_of(rows: Sequence[Sequence[Any]], keys: int, values: int) -> list[Array]:
    """As ``RunColumns`` returns them, from rows."""
    known = [row for row in rows if None not in row[:keys]]
    sides = list(zip(*known, strict=True)) if known else [()] * (keys + values)
    return [whole([int(v or 0) for v in side]) for side in sides]  # the sum of nothing is NULL


class Aggregates:
    """The aggregates that a scan selects, each of them once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, aggregate: str) -> int:
        return self._places.setdefault(aggregate, len(self._places))

    def __iter__(self) -> Any:
        return iter(self._places)


def only_where(value: str, condition: str) -> str:
    """What an aggregate passes over where the condition is not true.  DuckDB takes quadratic time for many
    aggregates that are filtered in the other way, by FILTER.
    """
    return f"CASE WHEN {condition} THEN {value} END"


def keys_of(by: Sequence[Group], units: ClampedTable) -> list[str]:
    """A text, or the place of a value among those of its group, from 0; NULL is no group."""
    return [_key(group, units) for group in by]


def selected(by: Sequence[Group], keys: Sequence[str]) -> list[str]:
    """The keys as they are read: booleans as integers."""
    return [
        key if isinstance(group, TextColumn) else f"CAST({key} AS INTEGER)"
        for group, key in zip(by, keys, strict=True)
    ]


def _key(group: Group, units: ClampedTable) -> str:
    if not isinstance(group, Bucket):
        place = units.places[group.name]
        return _or_null(f"CAST({place} AS INTEGER)", group) if has_null(group) else place
    number, low = units.row_sql.number(group.value), group.value.lattice.low
    code = number if not low else f"({number} - {integer(low)})"
    return units.dialect.code(_or_null(code, group) if group.null else code, group_size(group))


def _or_null(code: str, group: Group) -> str:
    """The place of NULL is behind those of all values."""
    return f"coalesce({code}, {group_size(group) - 1})"


# What can be folded ----------------------------------------------------------------------------------------


def apart(readings: Sequence[Reading], places: Sequence[int]) -> list[list[int]]:
    """The places of readings with the same groups, divided into what is folded together, and the rest."""
    if len(places) < LEAST_READINGS:
        return [list(places)]
    alike: dict[frozenset[Column], list[int]] = {}
    for place in places:
        alike.setdefault(frozenset(columns_in(readings[place].where)), []).append(place)
    folded = [some for some in alike.values() if fold_columns([readings[place] for place in some])]
    taken = {place for some in folded for place in some}
    rest = [place for place in places if place not in taken]
    return [*folded, *([rest] if rest else [])]


def fold_columns(readings: Sequence[Reading]) -> list[Column]:
    """The columns whose values tell rows apart for these readings; none where folding is not worth it, nor
    where how a value came tells them apart as well.
    """
    if len({reading.where for reading in readings} - {EVERY_ROW}) < LEAST_READINGS:
        return []
    read = readings[0].by, *(reading.where for reading in readings)
    if any(True for _ in outsides_in(*read)):
        return []
    return in_few_cells(set(columns_in(*read)), _MOST_COMBINATIONS)


def in_few_cells(columns: Collection[Column], most: int) -> list[Column]:
    """They, in order, if there are at most so many combinations of their values; otherwise none."""
    if any(isinstance(column, TextColumn) for column in columns):
        return []
    worth_it = prod(_size(column) for column in columns) <= most
    return sorted(columns, key=lambda column: column.name) if worth_it else []


def _size(column: Column) -> int:
    """How many values there can be; missing is one."""
    match column:
        case BooleanColumn():
            return 3
        case CategoryColumn(_, values):
            return len(values) + 1
        case TextColumn():
            raise AssertionError("a text has no declared values")
        case IntegerColumn() | RealColumn() | DateColumn():
            return column.lattice.high - column.lattice.low + 2
        case _:
            assert_never(column)


# Readings of rows ------------------------------------------------------------------------------------------


def rows_scan(readings: Sequence[Reading], units: ClampedTable, *, counted: bool = False) -> Scan:
    """Also of persons, where a person has a single row.  ``counted`` asks for ``Scan.counts``."""
    by, shared = readings[0].by, shared_accounting(readings)
    folded = [units.places[column.name] for column in fold_columns(readings)]
    emitter = _Folded(units, shared) if folded else Emitter(units, shared)
    recipes = [emitter.recipes(reading) for reading in readings]
    counts = [emitter.count(reading) for reading in readings] if counted else []
    keys = keys_of(by, units)
    text = f"SELECT {', '.join([*selected(by, keys), *emitter.wanted])} FROM {emitter.source(folded)}"
    if shared != EVERY_ROW:
        text += f" WHERE {units.row_sql.condition(shared)}"
    return Scan(text + (f" GROUP BY {', '.join(keys)}" if keys else ""), len(keys), recipes, counts)


def shared_accounting(readings: Sequence[Reading]) -> Condition:
    """What holds for every row that counts in any of the readings."""
    return readings[0].where if len({reading.where for reading in readings}) == 1 else EVERY_ROW


class Emitter:
    """Aggregates of the rows that count, and what comes of them; ``shared`` holds for all that is read."""

    def __init__(self, units: ClampedTable, shared: Condition) -> None:
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
        return self.wanted.place(self._units.dialect.exact_sum(self._where(value, where), largest))

    def _count(self, value: str, where: Condition) -> int:
        """Of rows where the value is present, or of all."""
        present = self._where(value or "1", where)
        return self.wanted.place(f"count({'*' if present == '1' else present})")

    def _where(self, value: str, where: Condition) -> str:
        filtered = where not in (self._shared, EVERY_ROW)
        return only_where(value, self._row.condition(where)) if filtered else value


class _Folded(Emitter):
    """Adds up what was added up before, for all rows that no filter tells apart."""

    def __init__(self, units: ClampedTable, shared: Condition) -> None:
        super().__init__(units, shared)
        self._inner = Aggregates()

    def source(self, folded: Sequence[str]) -> str:
        listed = [*folded, *(f"{aggregate} AS f{i}" for i, aggregate in enumerate(self._inner))]
        return f"(SELECT {', '.join(listed)} FROM {self._units.table} GROUP BY {', '.join(folded)}) AS folded"

    def _sum(self, value: str, largest: int, where: Condition) -> int:
        return self._outer(self._units.dialect.exact_sum(value, largest), where)

    def _count(self, value: str, where: Condition) -> int:
        return self._outer(f"count({value or '*'})", where)

    def _outer(self, aggregate: str, where: Condition) -> int:
        inner = self._where(f"f{self._inner.place(aggregate)}", where)
        return self.wanted.place(self._units.dialect.exact_sum(inner, LARGEST_VALUE))


def always_the_same(reach: tuple[int, int], bounds: tuple[int, int]) -> int | None:
    """What clipping to bounds makes of everything within reach, where that is one number."""
    if bounds[0] >= reach[1]:
        return bounds[0]
    return bounds[1] if bounds[1] <= reach[0] else None
