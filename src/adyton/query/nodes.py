"""Queries, as frozen values: measures of the rows that count, in groups.

Nothing happens when a query is built, but an ill-typed one, or one whose bounds are unknown, cannot
exist.

Public tables beside a private one need no engine: what they say is written into the query.  A public
column is a list over the declared values of a private category, so a number becomes a Lookup, a group a
Bucket of one, and a condition is decided here, for each value of the category.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, TypeVar

from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    Dimension,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.kernel.terms.buckets import MOST_CELLS, Bucket, Group, group_size
from adyton.kernel.terms.expressions import (
    Case,
    Compare,
    Condition,
    Not,
    NumberExpression,
    Or,
    all_of,
    condition,
)
from adyton.kernel.terms.leaves import EVERY_ROW, Constant, IsMissing, IsTrue, Lookup, OneOf, ValueOf
from adyton.kernel.terms.measures import Cdf, Measure
from adyton.kernel.terms.names import JoinedColumn, check_columns, entries, private_part
from adyton.kernel.terms.persons import TableOfPersons
from adyton.query.length import MOST_WEIGHT, weight, weight_of, weight_of_persons
from adyton.query.names import check_names, check_outside

POINTS = "upto"  # what an answer calls the points of a distribution
_Node = TypeVar("_Node")
_ONE, _ZERO = Constant(Fraction(1)), Constant(Fraction(0))


# Queries -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Query:
    """Named measures of the rows of a table for which ``where`` is true, in each group of ``by``.

    A person counts in at most ``most_groups`` groups, for measures of persons.
    """

    table: Table
    measures: tuple[tuple[str, Measure], ...]
    where: Condition = EVERY_ROW
    by: tuple[Group, ...] = ()
    most_groups: int | None = None

    def __post_init__(self) -> None:
        condition(self.where)
        _check_values(self.measures, tuple(group.name for group in self.by))
        check_columns(self.table, self.by, self.where, self.measures)
        check_outside(self.table, self.by, self.where, self.measures)
        for group in self.by:
            if not isinstance(group, Group):
                raise InvalidRequest(
                    "GROUP BY needs a category, a boolean, a text, bins or parts of dates; "
                    f"{group.name!r} is {group.kind}"
                )
        if self._weight > MOST_WEIGHT:
            raise InvalidRequest(
                "this query is too long when it is written out: ask for less at a time, with shorter "
                "lists and fewer squares inside squares"
            )
        if self.most_groups is not None and (type(self.most_groups) is not int or self.most_groups < 1):
            raise InvalidRequest("the groups of a person are limited to a whole number, at least 1")
        if not self.discovers_groups and not self._filters and self.cells > MOST_CELLS:
            raise InvalidRequest(f"the groups have {self.cells} cells; at most {MOST_CELLS} are answered")

    @property
    def discovers_groups(self) -> bool:
        """Whether a group has values that nobody declared, so that they must be discovered."""
        return any(isinstance(group, TextColumn) for group in self.by)

    @property
    def _filters(self) -> bool:
        """Whether a condition may leave some groups out, so that there are fewer than are declared."""
        said = {self.where, *(measure.where for _, measure in self.measures)}
        return said != {EVERY_ROW} or self.table.join is not None

    @property
    def _weight(self) -> int:
        """A filter of all is written once, or beside each filter of a value's own."""
        measures = [measure for _, measure in self.measures]
        filters = sum(measure.where != EVERY_ROW for measure in measures) or 1
        groups = [group.value for group in self.by if isinstance(group, Bucket)]
        inside = weight_of_persons(self.table) if isinstance(self.table, TableOfPersons) else 0
        inside += filters * weight(self.where)
        return inside + sum(map(weight_of, measures)) + 2 * sum(map(weight, groups))

    @property
    def cells(self) -> int:
        """All combinations of declared values, whether a row can have them or not."""
        return prod(map(group_size, self.by))


@lru_cache(maxsize=256)
def _check_values(measures: tuple[tuple[str, Measure], ...], groups: tuple[str, ...]) -> None:
    """The same for many queries, which differ in their filters alone."""
    if not measures:
        raise InvalidRequest("ask for at least one measure, such as COUNT(*) or AVG(column)")
    points = [POINTS] * any(isinstance(measure, Cdf) for _, measure in measures)
    check_names([name for name, _ in measures], [*groups, *points])
    if not all(isinstance(measure, Measure) for _, measure in measures):
        raise InvalidRequest("a query asks for Count, Sum, Mean, Proportion or another measure")
    if len(measures) > 1 and any(isinstance(measure, Cdf) for _, measure in measures):
        raise InvalidRequest("a distribution is asked for alone: it has a row for each of its points")


# Without public tables -------------------------------------------------------------------------------------


def without_dimensions(name: str, measure: Measure, query: Query) -> tuple[Measure, Query]:
    """A measure and its query about private columns only; groups keep their names, values and order."""
    join = query.table.join
    if join is None or not join.links:
        return measure, query
    rewriter = _Rewriter(query.table)
    kept = [rewriter.matched(link.table, link.dimension) for link in join.links if not link.left]
    own = rewriter.node(measure)
    return own, replace(
        query,
        table=rewriter.target,
        measures=((name, own),),
        where=all_of(rewriter.node(query.where), *kept),
        by=tuple(rewriter.group(group) for group in query.by),
    )


class _Rewriter:
    def __init__(self, table: Table) -> None:
        assert table.join is not None
        self.target = private_part(table)
        self._entries = {entry.shown.name: entry for entry in entries(table.join)}
        private = entries(self.target.join) if self.target.join is not None else ()
        self._private = {(entry.source, entry.own.name): entry.shown for entry in private}

    def node(self, node: _Node) -> _Node:
        return self._node(node)  # type: ignore[no-any-return]  # a number stays a number, a condition one

    def _node(self, node: Any) -> Any:
        match node:
            case ValueOf(column):
                entry = self._entries[column.name]
                return ValueOf(self._own(entry)) if entry.link is None else self._number(entry)  # type: ignore[arg-type]
            case OneOf(column, values) if self._is_public(column):
                return self._where(self._entries[column.name], values)
            case IsTrue(column) if self._is_public(column):
                return self._where(self._entries[column.name], (True,))
            case IsMissing(column) if self._is_public(column):
                return self._missing(self._entries[column.name])
            case tuple():
                return tuple(self._node(part) for part in node)
        if isinstance(node, Column):
            return self._own(self._entries[node.name])
        if not is_dataclass(node) or isinstance(node, type):
            return node
        parts = {part.name: self._node(getattr(node, part.name)) for part in fields(node) if part.init}
        return replace(node, **parts)

    def group(self, group: Group) -> Group:
        if isinstance(group, Bucket) or not self._is_public(group):
            return self.node(group)
        entry = self._entries[group.name]
        if isinstance(group, BooleanColumn):
            truths = ((self._where(entry, (True,)), _ONE), (self._where(entry, (False,)), _ZERO))
            return Bucket(group.name, Case(truths), (False, True), group.missing)
        assert isinstance(group, CategoryColumn)
        codes = {value: code for code, value in enumerate(group.values)}
        listed = tuple(None if value is None else codes[value] for value in self._listed(entry))
        return Bucket(group.name, Lookup(self._key(entry), listed), group.values, group.missing)

    def matched(self, source: str, dimension: Dimension) -> Condition:
        """Where the private row has one in the public table."""
        key = self._category(source, dimension.joins)
        everywhere = len(dimension.keys) == len(key.values)
        return Not(IsMissing(key)) if everywhere else OneOf(key, tuple(dimension.keys))

    def _is_public(self, column: Column) -> bool:
        return self._entries[column.name].link is not None

    def _own(self, entry: JoinedColumn) -> Column:
        """A private column as the engine's table calls it."""
        return self._private.get((entry.source, entry.own.name), entry.own)

    def _category(self, source: str, name: str) -> CategoryColumn:
        found = next(
            self._own(entry)
            for entry in self._entries.values()
            if entry.source == source and entry.own.name.casefold() == name.casefold() and entry.link is None
        )
        assert isinstance(found, CategoryColumn)
        return found

    def _key(self, entry: JoinedColumn) -> CategoryColumn:
        assert entry.link is not None
        return self._category(entry.link.table, entry.link.dimension.joins)

    def _listed(self, entry: JoinedColumn) -> list[Any]:
        """The public value for each declared value of the key."""
        assert entry.link is not None
        assert entry.attribute is not None
        known = dict(zip(entry.link.dimension.keys, entry.attribute.values, strict=True))
        return [known.get(value) for value in self._key(entry).values]

    def _number(self, entry: JoinedColumn) -> NumberExpression:
        step = entry.own.step if isinstance(entry.own, RealColumn) else Fraction(1)
        return Lookup(self._key(entry), tuple(self._listed(entry)), step)

    def _where(self, entry: JoinedColumn, values: tuple[Any, ...]) -> Condition:
        """Neither true nor false where the public value is missing, as in SQL."""
        key = self._key(entry)
        truths = [None if value is None else value in values for value in self._listed(entry)]
        if None not in truths and any(truths):
            return OneOf(key, tuple(_chosen(key, truths)))
        listed = tuple(None if truth is None else int(truth) for truth in truths)
        return Compare(Lookup(key, listed), "=", _ONE)

    def _missing(self, entry: JoinedColumn) -> Condition:
        key = self._key(entry)
        unknown = _chosen(key, [said is None for said in self._listed(entry)])
        absent = IsMissing(key)
        return Or((absent, OneOf(key, tuple(unknown)))) if unknown else absent


def _chosen(key: CategoryColumn, truths: Sequence[bool | None]) -> list[str | int]:
    return [key.values[i] for i, truth in enumerate(truths) if truth]
