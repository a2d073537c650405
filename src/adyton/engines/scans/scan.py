"""One scan of the loaded table: what it selects, and how integers come out of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from adyton.columns import Array, weighted, whole
from adyton.engines.loading.parting import in_part
from adyton.engines.spelling.marking import Mark
from adyton.engines.spelling.rows import Places, RowSql, Spelling, integer
from adyton.query.nodes import Bucket, Group, group_size
from adyton.schema import TextColumn
from adyton.sensitivity import Reading

# A statement -> its rows.
Run = Callable[[str], Sequence[Sequence[Any]]]


class RunColumns(Protocol):
    """For very many rows: runs a statement that selects ``keys`` codes and then ``values`` integers, and
    returns an array for each of these columns.  Rows in which a code is NULL are left out; other NULLs are 0.
    """

    def __call__(self, sql: str, keys: int, values: int) -> list[Array]: ...


@dataclass(frozen=True, slots=True)
class Units:
    """A table of clipped integers.

    Where a person may have several ``rows``, the column ``who`` says whose row it is.  ``told`` says whether
    all engines write the same text for a person; ``marks`` where it is said which values came from outside.
    Where units are split into ``parts``, the column ``part`` says in which one a row is.
    """

    table: str
    places: Places
    spelling: Spelling
    rows: int = 1
    salt: str = ""
    told: bool = False
    parts: int = 1
    marks: Mapping[str, Mark] = field(default_factory=dict)

    @property
    def row_sql(self) -> RowSql:
        return RowSql(self.places, self.spelling, self.marks)

    def read_for(self, readings: Sequence[Reading]) -> Units:
        """The part of the units that all these readings are of: never all of them where they are split."""
        named = {reading.part for reading in readings}
        if self.parts == 1 and named <= {None}:
            return self
        inside = in_part(named, self.parts, self.spelling)
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


def keys_of(by: Sequence[Group], units: Units) -> list[str]:
    """A text, or the place of a value among those of its group, from 0; NULL is no group."""
    return [_key(group, units) for group in by]


def selected(by: Sequence[Group], keys: Sequence[str]) -> list[str]:
    """The keys as they are read: booleans as integers."""
    return [
        key if isinstance(group, TextColumn) else f"CAST({key} AS INTEGER)"
        for group, key in zip(by, keys, strict=True)
    ]


def _key(group: Group, units: Units) -> str:
    if not isinstance(group, Bucket):
        return units.places[group.name]
    number, low = units.row_sql.number(group.value), group.value.lattice.low
    return units.spelling.code(number if not low else f"({number} - {integer(low)})", group_size(group))
