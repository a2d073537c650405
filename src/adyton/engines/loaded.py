"""What an engine loads: one private table, or several, joined on the person after each was bounded; and what
the engines share that speak SQL: a source is loaded once, and queries read what was loaded.

Claim:    a person who has at most r rows in one table and s in the other has at most r * s rows in the joined
          table, and no row of it holds anything of a second person.
Assumes:  each table is bounded before it is joined; persons are equal only if their values are.
Theorem: JOINED-ROWS.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adyton.engines.loading.clipped import Origin, bounded_table, matched, person_is_hashable, valued_rows
from adyton.engines.scans.reading import exact_from, found_from
from adyton.engines.scans.scan import ClampedTable, Run
from adyton.engines.spelling.rows import BitMark, Dialect, places_of
from adyton.engines.stopping import TimeLimit
from adyton.errors import InvalidRequest
from adyton.kernel.engine import DiscoveredGroup, Exact
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.leaves import Bounded

_BITS = 30  # of one integer: DuckDB keeps up to 8 of them in a byte, all other engines in four


@dataclass(frozen=True, slots=True)
class JoinMember:
    """A private table: where it lies, and how many rows of a person it keeps."""

    table: Table
    unit: PrivacyUnit
    source: Any


@dataclass(frozen=True, slots=True)
class Joined:
    """The source of a joined table: those of its members, in their order."""

    members: tuple[JoinMember, ...]


@dataclass(frozen=True, slots=True)
class Loading:
    """The table of clipped integers that a source becomes."""

    table: Table
    unit: PrivacyUnit
    source: Any
    salt: str

    def __post_init__(self) -> None:
        tables = self.table.join.tables if self.table.join is not None else (self.table,)
        if tuple(member.table for member in self.members) != tables:
            raise InvalidRequest("a joined table needs a source for each of its tables, in their order")
        if len(tables) > 1 and (self.unit.person is None or self.unit.adjacency == "replace-one"):
            raise InvalidRequest("tables are joined on the person, where persons are added or removed")

    @property
    def members(self) -> tuple[JoinMember, ...]:
        if isinstance(self.source, Joined):
            return self.source.members
        return (JoinMember(self.table, self.unit, self.source),)

    @property
    def marks(self) -> dict[str, BitMark]:
        """Where the loaded table says which values came from outside of what is declared, by its columns."""
        shown, found = iter(self.table.columns), dict[str, BitMark]()
        for place, member in enumerate(self.members):
            named = {column.name: next(shown).name for column in member.table.columns}
            found |= {named[name]: mark for name, mark in self._marks(place).items()}
        return found

    def _marks(self, place: int) -> dict[str, BitMark]:
        """The same of a member: the bit of each column that has bounds or a list."""
        columns = self.members[place].table.columns
        bounded = [column.name for column in columns if isinstance(column, Bounded)]
        return {name: BitMark(f"k{place}_{i // _BITS}", i % _BITS) for i, name in enumerate(bounded)}

    def sql(self, origins: Sequence[Origin]) -> str:
        """A SELECT of all that is kept."""
        if len(origins) == 1:
            return self._bounded(0, origins[0])
        _check_persons(self.members, origins)
        return self._joined(origins)

    def valued(self, place: int, origin: Origin) -> str:
        """A SELECT of the values of a member, row by row."""
        member = self.members[place]
        return valued_rows(origin, member.table, member.unit, self._marks(place))

    @property
    def by_rows(self) -> bool:
        """Whether nothing but the values of each row is kept."""
        return self.unit.person is None

    @property
    def counts_persons(self) -> bool:
        """Whether the loaded table lacks persons whose number is public: they are counted in the source."""
        public = self.unit.adjacency == "replace-one" and not self.by_rows
        return public and self.unit.reserve is not None

    def wanted(self, place: int, origin: Origin) -> list[str]:
        """The columns of a member's source that are read."""
        member = self.members[place]
        return sorted(set(matched(origin, member.table, member.unit).values()))

    def told(self, origins: Sequence[Origin]) -> bool:
        """Whether all engines write the same text for a person."""
        return person_is_hashable(origins[0], self.members[0].table, self.members[0].unit)

    def counted(self, units: str, origins: Sequence[Origin]) -> str | None:
        """A SELECT of the number of units in the source, where it is public: those of the loaded table, in
        which each keeps at least one row, unless persons are kept in a reserve.
        """
        if self.unit.adjacency != "replace-one":
            return None
        if not self.counts_persons:
            return f"SELECT count({'*' if self.unit.rows == 1 else 'DISTINCT who'}) FROM {units}"
        (only,) = origins
        valued = only.valued or f"({valued_rows(only, self.table, self.unit, {})}) AS valued"
        return f"SELECT count(DISTINCT who) FROM {valued}"

    def _bounded(self, place: int, origin: Origin, *, keep_who: bool = False) -> str:
        member, marks = self.members[place], self._marks(place)
        return bounded_table(origin, member.table, member.unit, marks, self.salt, keep_who=keep_who)

    def _joined(self, origins: Sequence[Origin]) -> str:
        """The columns are those of the members in turn: c0, c1, ... again, of all of them."""
        places, listed, parts = iter(places_of(self.table).values()), [], []
        for i, (member, origin) in enumerate(zip(self.members, origins, strict=True)):
            listed += [f"m{i}.{own} AS {next(places)}" for own in places_of(member.table).values()]
            listed += dict.fromkeys(f"m{i}.{mark.word}" for mark in self._marks(i).values())
            bounded = self._bounded(i, origin, keep_who=True)
            parts.append(f"({bounded}) AS m{i}" + (f" ON m{i}.who = m0.who" if i else ""))
        listed += ["m0.who AS who"] if self.unit.rows > 1 else []
        return f"SELECT {', '.join(listed) or '1 AS nothing'} FROM {' JOIN '.join(parts)}"


def _check_persons(members: Sequence[JoinMember], origins: Sequence[Origin]) -> None:
    """Values of two types are never compared: a conversion could make one person of two."""
    types = [_person_type(member, origin) for member, origin in zip(members, origins, strict=True)]
    for member, (kind, name) in zip(members, types, strict=True):
        if not comparable(types[0], (kind, name)):
            raise InvalidRequest(
                f"the person {member.unit.person!r} of table {member.table.name!r} has type {name}, that of "
                f"table {members[0].table.name!r} has type {types[0][1]}: give both the same type"
            )


def comparable(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Whether persons of two kinds and types are joined where they are equal."""
    (kind, name), (other_kind, other_name) = first, second
    return kind == other_kind and (name == other_name or _are_one(kind, name, other_name))


def _person_type(member: JoinMember, origin: Origin) -> tuple[str, str]:
    assert member.unit.person is not None
    found = matched(origin, member.table, member.unit)[member.unit.person]
    return origin.kinds[found], origin.types[found]


def _are_one(kind: str, *types: str) -> bool:
    """Texts are compared letter by letter, and integers up to 64 bits are compared exactly."""
    return kind == "text" or (kind == "integer" and not any("HUGE" in name.upper() for name in types))


# Engines that speak SQL ----------------------------------------------------------------------------------


class LoadedEngine(ABC):
    """``units`` is what it calls the table of clipped integers, ``timeout`` is in seconds for one scan."""

    def __init__(self, loading: Loading, units: str, dialect: Dialect, timeout: float) -> None:
        places, unit, marks = places_of(loading.table), loading.unit, loading.marks
        self._loading, self._time, self._lock = loading, TimeLimit(timeout), threading.Lock()
        self._units = ClampedTable(
            units, places, dialect, unit.rows, loading.salt, parts=unit.parts, marks=marks
        )

    def exact(self, readings: Sequence[Reading]) -> Exact:
        return exact_from(self._units, self._run, readings)

    def found(self, readings: Sequence[Reading]) -> tuple[list[DiscoveredGroup], Exact]:
        return found_from(self._units, self._run, readings)

    @abstractmethod
    def _run(self, sql: str) -> Sequence[Sequence[Any]]: ...

    def _check_size(self, origins: Sequence[Origin], run: Run) -> None:
        """Only under ``replace-one``, where the number of units is public and the same for all neighbors."""
        counted, declared = self._loading.counted(self._units.table, origins), self._loading.table.rows
        if counted is None:
            return
        ((found,),) = run(counted)
        if found != declared:
            raise InvalidRequest(
                f"the study says table.rows = {declared}, but the data holds {found} "
                f"{'persons' if self._loading.unit.person else 'rows'}: correct the study file"
            )
