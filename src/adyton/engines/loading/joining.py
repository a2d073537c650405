"""What an engine loads: one private table, or several, joined on the person after each was bounded.

Claim:    a person who has at most r rows in one table and s in the other has at most r * s rows in the joined
          table, and no row of it holds anything of a second person.
Assumes:  each table is bounded before it is joined; persons are equal only if their values are.
Theorem: JOINED-ROWS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.engines.loading.clipped import (
    Origin,
    bounded_table,
    matched,
    person_is_hashable,
    persons_found,
    units_found,
    valued_rows,
)
from adyton.engines.spelling.dialect import Dialect
from adyton.engines.spelling.rows import Mark, marks_of, member_marks
from adyton.errors import InvalidRequest
from adyton.privacy import PrivacyUnit
from adyton.query.names import entries
from adyton.schema import Table


@dataclass(frozen=True, slots=True)
class Member:
    """A private table: where it lies, and how many rows of a person it keeps."""

    table: Table
    unit: PrivacyUnit
    source: Any


@dataclass(frozen=True, slots=True)
class Joined:
    """The source of a joined table: those of its members, in their order."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """A member's source as its engine sees it."""

    origin: Origin
    dialect: Dialect


@dataclass(frozen=True, slots=True)
class Loading:
    """The table of clipped integers that a source becomes: its columns are called by their ``places``."""

    table: Table
    unit: PrivacyUnit
    source: Any
    places: Mapping[str, str]
    salt: str

    def __post_init__(self) -> None:
        tables = self.table.join.tables if self.table.join is not None else (self.table,)
        if tuple(member.table for member in self.members) != tables:
            raise InvalidRequest("a joined table needs a source for each of its tables, in their order")
        if len(tables) > 1 and (self.unit.person is None or self.unit.neighbours == "replace"):
            raise InvalidRequest("tables are joined on the person, where persons are added or removed")

    @property
    def members(self) -> tuple[Member, ...]:
        if isinstance(self.source, Joined):
            return self.source.members
        return (Member(self.table, self.unit, self.source),)

    @property
    def marks(self) -> dict[str, Mark]:
        """Where the loaded table says which values came from outside of what is declared."""
        return marks_of(self.table)

    def sql(self, opened: Sequence[Opened]) -> str:
        """A SELECT of all that is kept."""
        if len(opened) == 1:
            (only,) = opened
            return bounded_table(
                only.origin, self.table, self.unit, self.places, self.marks, self.salt, only.dialect
            )
        _check_persons(self.members, opened)
        return self._joined(opened)

    def valued(self, place: int, opened: Opened) -> str:
        """A SELECT of the values of a member, row by row."""
        member = self.members[place]
        own = {column.name: f"c{j}" for j, column in enumerate(member.table.columns)}
        marks = member_marks(member.table.columns, place)
        return valued_rows(opened.origin, member.table, member.unit, own, marks, opened.dialect)

    @property
    def by_rows(self) -> bool:
        """Whether nothing but the values of each row is kept."""
        return self.unit.person is None

    @property
    def counts_persons(self) -> bool:
        """Whether the loaded table lacks persons whose number is public: they are counted in the source."""
        public = self.unit.neighbours == "replace" and not self.by_rows
        return public and self.unit.reserve is not None

    def wanted(self, place: int, opened: Opened) -> list[str]:
        """The columns of a member's source that are read."""
        member = self.members[place]
        return sorted(set(matched(opened.origin, member.table, member.unit).values()))

    def told(self, opened: Sequence[Opened]) -> bool:
        """Whether all engines write the same text for a person."""
        return person_is_hashable(opened[0].origin, self.members[0].table, self.members[0].unit)

    def counted(self, units: str, opened: Sequence[Opened]) -> str | None:
        """A SELECT of the number of units in the source, where it is public: those of the loaded table,
        unless persons are kept in a reserve.
        """
        if self.unit.neighbours != "replace":
            return None
        if not self.counts_persons:
            return units_found(units, self.unit)
        (only,) = opened
        return persons_found(only.origin, self.table, self.unit, self.places, only.dialect)

    def _joined(self, opened: Sequence[Opened]) -> str:
        assert self.table.join is not None
        shown = iter(entries(self.table.join))
        listed, parts = [], []
        for i, (member, one) in enumerate(zip(self.members, opened, strict=True)):
            own = {column.name: f"c{j}" for j, column in enumerate(member.table.columns)}
            listed += [f"m{i}.{place} AS {self.places[next(shown).shown.name]}" for place in own.values()]
            marks = member_marks(member.table.columns, i)
            listed += dict.fromkeys(f"m{i}.{mark.word}" for mark in marks.values())
            bounded = bounded_table(
                one.origin, member.table, member.unit, own, marks, self.salt, one.dialect, keep_who=True
            )
            parts.append(f"({bounded}) AS m{i}" + (f" ON m{i}.who = m0.who" if i else ""))
        listed += ["m0.who AS who"] if self.unit.rows > 1 else []
        return f"SELECT {', '.join(listed) or '1 AS nothing'} FROM {' JOIN '.join(parts)}"


def _check_persons(members: Sequence[Member], opened: Sequence[Opened]) -> None:
    """Values of two types are never compared: a conversion could make one person of two."""
    types = [_person_type(member, one) for member, one in zip(members, opened, strict=True)]
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


def _person_type(member: Member, one: Opened) -> tuple[str, str]:
    assert member.unit.person is not None
    found = matched(one.origin, member.table, member.unit)[member.unit.person]
    return one.origin.kinds[found], one.origin.types[found]


def _are_one(kind: str, *types: str) -> bool:
    """Texts are compared letter by letter, and integers up to 64 bits are compared exactly."""
    return kind == "text" or (kind == "integer" and not any("HUGE" in name.upper() for name in types))
