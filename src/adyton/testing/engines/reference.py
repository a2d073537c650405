"""What an engine must return, by a plain loop over the rows: the meaning of ``Reading``, without any SQL."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any

from adyton.kernel.privacy import PrivacyUnit, Reserve
from adyton.kernel.schema import Column, Table, TextColumn, source_of
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.buckets import Bucket, Group, has_null
from adyton.kernel.terms.persons import TableOfPersons
from adyton.query.labels import group_values
from adyton.testing.engines.meaning import OUTSIDE, Row, condition, number, number_of_person
from adyton.testing.engines.values import Source, SourceColumn, SourceType, is_outside, too_long, value_of

__all__ = [
    "Source",
    "SourceColumn",
    "SourceType",
    "exact_of",
    "expected",
    "expected_found",
    "in_reserve",
    "is_outside",
    "loaded",
    "part_of",
    "told",
    "value_of",
]

PersonKey = tuple[Any, ...]
Own = list[tuple[Hashable, Row]]  # whose row, and the row


def expected(
    table: Table, unit: PrivacyUnit, source: Source, salt: str, readings: Sequence[Reading]
) -> list[list[list[int]]]:
    """What ``Engine.exact`` must return."""
    rows, is_told = loaded(table, unit, source, salt), told(unit, source)
    if unit.parts == 1:
        return exact_of(rows, is_told, salt, readings)
    return [
        exact_of([one for one in rows if part_of(one[0], salt, unit.parts) == r.part], is_told, salt, [r])[0]
        for r in readings
    ]


def part_of(who: Hashable, salt: str, parts: int) -> int:
    """In which part a person is, or a row at a position from 0 on."""
    named = hashlib.md5(str(who).encode()).hexdigest()
    return int(_digest(salt, "part", named)[:12], 16) * parts // 16**12 + 1


def in_reserve(who: Hashable, reserve: Reserve) -> bool:
    """Whether a person, or a row at a position from 0 on, is kept from all queries."""
    named = hashlib.md5(str(who).encode()).hexdigest()
    return int(_digest("adyton", "reserve", named)[:12], 16) < reserve.share * 16**12


def exact_of(rows: Own, is_told: bool, salt: str, readings: Sequence[Reading]) -> list[list[list[int]]]:
    """The integers of all cells, from a bounded table."""
    exact = []
    for reading in readings:
        sums = _sums(reading, rows, salt, is_told)
        keys = _cells(reading)
        nothing = [0] * len(reading.coordinates)
        exact.append([[sums.get(key, nothing)[i] for key in keys] for i in range(len(nothing))])
    return exact


def _cells(reading: Reading) -> list[PersonKey]:
    """In the declared order: of the query's groups those that are kept, with all bins of each."""
    codes = [range(len(group_values(group))) for group in reading.by]
    groups = list(itertools.product(*codes[: reading.groups]))
    kept = groups if reading.kept is None else [groups[place] for place in reading.kept]
    return [group + own for group in kept for own in itertools.product(*codes[reading.groups :])]


def expected_found(
    table: Table, unit: PrivacyUnit, source: Source, salt: str, readings: Sequence[Reading]
) -> tuple[list[PersonKey], list[list[list[int]]]]:
    """What ``Engine.found`` must return."""
    rows = loaded(table, unit, source, salt)
    all_sums = [_sums(reading, rows, salt, told(unit, source)) for reading in readings]
    keys = sorted({key for sums in all_sums for key in sums})
    exact = []
    for reading, sums in zip(readings, all_sums, strict=True):
        nothing = [0] * len(reading.coordinates)
        exact.append([[sums.get(key, nothing)[i] for key in keys] for i in range(len(nothing))])
    return keys, exact


def loaded(table: Table, unit: PrivacyUnit, source: Source, salt: str) -> Own:
    """The bounded table of clipped integers: without a reserve, or of one that is opened nothing else."""
    rows = _loaded(table, unit, source, salt)
    reserve = unit.reserve
    if reserve is None:
        return rows
    return [one for one in rows if in_reserve(one[0], reserve) == reserve.opened]


def _loaded(table: Table, unit: PrivacyUnit, source: Source, salt: str) -> Own:
    by_name = {column.name.casefold(): column for column in source}
    found = [by_name[source_of(column).casefold()] for column in table.columns]
    read = [_read(column, own.values) for column, own in zip(table.columns, found, strict=True)]
    rows = [_row(table.columns, [values[i] for values in read]) for i in range(len(source[0].values))]
    if unit.person is None:
        return list(enumerate(rows))
    persons: dict[Any, list[Row]] = {}
    for who, row in zip(by_name[unit.person.casefold()].values, rows, strict=True):
        if who is not None and who == who and not too_long(who):
            persons.setdefault(who, []).append(row)
    is_told = told(unit, source)
    return [
        (who, row)
        for who, own in persons.items()
        for row in _chosen(own, table.columns, unit.rows, salt, _named(who, is_told))
    ]


def _read(column: Column, values: Sequence[Any]) -> list[tuple[Any, bool]]:
    """What each value stands for, and whether it came from outside; the same value is read once."""
    known: dict[tuple[type, Any], tuple[Any, bool]] = {}
    for value in values:
        if (type(value), value) not in known:
            known[type(value), value] = value_of(column, value), is_outside(column, value)
    return [known[type(value), value] for value in values]


def _row(columns: Sequence[Column], read: list[tuple[Any, bool]]) -> Row:
    """The values as declared, and the names of those that came from outside."""
    named = [(column.name, *own) for column, own in zip(columns, read, strict=True)]
    outside = tuple(name for name, _, out in named if out)
    return {**{name: value for name, value, _ in named}, OUTSIDE: outside}


def _marks(row: Row, columns: Sequence[Column]) -> list[int]:
    """A bit for each column that has bounds or a list, the first the lowest, thirty to a number."""
    bits = [column.name in row[OUTSIDE] for column in columns if column.kind not in ("boolean", "text")]
    return [sum(bit << i for i, bit in enumerate(bits[n : n + 30])) for n in range(0, len(bits), 30)]


def _chosen(own: list[Row], columns: Sequence[Column], most: int, salt: str, person: list[str]) -> list[Row]:
    """Of equal rows the one with the least marks is copy 1, the next copy 2, and so on."""
    seen: Counter[tuple[str, ...]] = Counter()
    ranked = []
    for row in sorted(own, key=lambda row: _marks(row, columns)):
        words = tuple(_word(row[column.name]) for column in columns)
        seen[words] += 1
        first, nth = _digest(salt, *person, *words), seen[words]
        ranked.append((first if nth == 1 else _digest(first, str(nth)), row))
    return [row for _, row in sorted(ranked, key=itemgetter(0))[:most]]


def _named(who: Any, is_told: bool) -> list[str]:
    return [hashlib.md5(str(who).encode()).hexdigest()] if is_told else []


def _word(value: Any) -> str:
    if value is None:
        return "-"
    return hashlib.md5(value.encode()).hexdigest() if isinstance(value, str) else str(int(value))


def _digest(*words: str) -> str:
    return hashlib.md5(",".join(words).encode()).hexdigest()


def told(unit: PrivacyUnit, source: Source) -> bool:
    """Whether a person has a part in the choice of own cells."""
    kinds = {column.name.casefold(): column.kind for column in source}
    return unit.person is not None and kinds[unit.person.casefold()] in ("integer", "text")


# Readings ---------------------------------------------------------------------------------------------------


def _sums(reading: Reading, rows: Own, salt: str, told: bool) -> dict[PersonKey, list[int]]:
    """The integers of each cell in which something counts."""
    if isinstance(reading.table, TableOfPersons):
        rows = _persons(reading.table, rows)
    if reading.persons is not None:
        return _sums_of_persons(reading, rows, salt, told)
    sums: dict[PersonKey, list[int]] = {}
    for _, row in rows:
        key, values = _contribution(reading, row)
        if key is None:
            continue
        own = sums.setdefault(key, [0] * len(values))
        for i, (c, v) in enumerate(zip(reading.coordinates, values, strict=True)):
            own[i] += c.times * v - c.minus
    return sums


def _persons(table: TableOfPersons, rows: Own) -> Own:
    """One row for each person who has one that is asked for."""
    own: dict[Hashable, list[Row]] = {}
    for who, row in rows:
        if condition(table.given, row) is True:
            own.setdefault(who, []).append(row)
    return [
        (who, {name: number_of_person(number, found) for name, number in table.numbers})
        for who, found in own.items()
    ]


def _sums_of_persons(reading: Reading, rows: Own, salt: str, told: bool) -> dict[PersonKey, list[int]]:
    persons = reading.persons
    assert persons is not None
    of_each: dict[Hashable, dict[PersonKey, int]] = {}
    for who, row in rows:
        key, values = _contribution(reading, row)
        if key is not None:
            own = of_each.setdefault(who, {})
            own[key] = own.get(key, 0) + values[0]
    sums: dict[PersonKey, list[int]] = {}
    counting = reading.coordinates[0].value is None
    for who, cells in of_each.items():
        person = _named(who, told)
        ranked = sorted(cells, key=lambda key: _digest(salt, *person, *map(_word, key)))
        for key in ranked[: persons.groups]:
            share = 1 if counting else min(max(cells[key], persons.low), persons.high)
            sums.setdefault(key, [0])[0] += share
    return sums


def _contribution(reading: Reading, row: Row) -> tuple[PersonKey | None, list[int]]:
    """The cell in which a row counts, if it does in any, and the value of each coordinate."""
    key = tuple(_part_of_key(group, row) for group in reading.by)
    values = [1 if c.value is None else number(c.value, row) for c in reading.coordinates]
    if None in key or None in values or condition(reading.where, row) is not True:
        return None, []
    return key, [value for value in values if value is not None]


def _part_of_key(group: Group, row: Row) -> Any:
    if isinstance(group, Bucket):
        steps = number(group.value, row)
        value = None if steps is None else steps - group.value.lattice.low
    else:
        value = row[group.name]
    if value is None:
        return group_values(group).index(None) if has_null(group) else None
    return value if isinstance(group, TextColumn) else int(value)
