"""Filters that exclude nothing, or nothing but missing values, in the one form that says so.

A value is clipped to its bounds when it is loaded, and a category that is not declared is missing.  So
``x BETWEEN low AND high`` over the declared bounds, ``x IN (all declared values)`` and ``x IS NOT NULL`` keep
the same rows.  A row counts only where its filter is true, so a filter may be replaced by another that is
true of the same rows; what it is of the others, false or missing, makes no difference.  A row without a
value of what is grouped by, or added up, counts in no case, so a filter that asks for it is left out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

import numpy as np

from adyton.kernel.schema import BooleanColumn, CategoryColumn, Column, TextColumn
from adyton.kernel.terms.buckets import Bucket, Group, has_null
from adyton.kernel.terms.expressions import (
    And,
    Compare,
    Condition,
    Days,
    Floor,
    Not,
    NumberExpression,
    Operator,
    Or,
    aligned,
    all_of,
)
from adyton.kernel.terms.leaves import EVERY_ROW, DatePart, DayCount, DayOf, IsMissing, OneOf, ValueOf
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.kernel.terms.names import columns_in
from adyton.kernel.terms.persons import TableOfPersons, columns_of_persons, table_of_persons
from adyton.query.conditions.possible import CAN_BE, OPPOSITE, Known, KnownRows, is_understood
from adyton.query.length import weight
from adyton.query.missing import NEVER, always_there, any_of, missing
from adyton.query.nodes import Query

_MOST_VALUES = 1_000  # of the one column of an OR, each of which is tried
_MOST_WORK = 2**20  # of them, times what the OR reads


def without_covers(query: Query) -> Query:
    """The same query with each filter in that form."""
    table = _of_persons(query.table) if isinstance(query.table, TableOfPersons) else query.table
    sure = {
        *(one.name for one in always_there(table)),
        *(name for group in query.by for name in _of_group(group)),
    }
    read = [_read(measure) for _, measure in query.measures]
    both = zip(query.measures, read, strict=True)
    measures = tuple((name, _own(measure, sure | own)) for (name, measure), own in both)
    where = covered(query.where, sure.union(set.intersection(*read)))
    same = (table, where, measures) == (query.table, query.where, query.measures)
    return query if same else replace(query, table=table, where=where, measures=measures)


def _of_group(group: Group) -> set[str]:
    """The column without whose value a row is in no group."""
    if has_null(group) or isinstance(group, TextColumn):
        return set()
    return _of_value(group.value) if isinstance(group, Bucket) else {group.name}


def _read(measure: Measure) -> set[str]:
    """The columns without whose values a row does not count."""
    match measure:
        case Sum(value) | Mean(value) | Variance(value) | Quantile(value) | Extreme(value) | Cdf(value):
            return _of_value(value)
        case SumOfPersons(value):
            return _of_value(value)
        case Moments(y, x):
            return _of_value(y) | _of_value(x)
        case Count() | CountPersons() | Proportion():
            return set()
        case _:
            assert_never(measure)


def _of_value(value: NumberExpression | Days) -> set[str]:
    """The column that it is, or bins or a part of a day of it."""
    match value:
        case ValueOf(column) | DayOf(column):
            return {column.name}
        case Floor(inner) | DatePart(_, inner) | DayCount(inner):
            return _of_value(inner)
        case _:
            return set()


def _own(measure: Measure, sure: Collection[str]) -> Measure:
    if measure.where == EVERY_ROW:
        return measure
    return replace(measure, where=covered(measure.where, sure))


def covered(filter_: Condition, sure: Collection[str] = ()) -> Condition:
    """A filter that is true of the same rows that count; those have values of columns that are ``sure``."""
    match filter_:
        case And(parts):
            return all_of(*dict.fromkeys(covered(part, sure) for part in parts))
        case Or(parts):
            return _covered_or(filter_, tuple(dict.fromkeys(covered(part, sure) for part in parts)), sure)
        case Compare(_, operator) if not _can_be(filter_, OPPOSITE[operator]):
            return _or_as_it_is(_present(filter_, sure), filter_)
        case OneOf(column, values) if len(set(values)) == len(column.values):
            return _there(column, sure)
        case Not(IsMissing(column)):
            return _there(column, sure)
        case Not(inner):
            return _or_as_it_is(_false(inner, sure), filter_)
        case _:
            return filter_


def _or_as_it_is(found: Condition | None, filter_: Condition) -> Condition:
    return filter_ if found is None else found


def _covered_or(whole: Or, parts: tuple[Condition, ...], sure: Collection[str]) -> Condition:
    """Also of parts that together allow every value of their one column."""
    if EVERY_ROW in parts:
        return EVERY_ROW
    columns = set(columns_in(whole))
    if len(columns) == 1:
        (column,) = columns
        truths = _truths(whole, column)
        if truths is not None and truths[:-1].all():
            return EVERY_ROW if truths[-1] else _there(column, sure)
    return parts[0] if len(parts) == 1 else Or(parts)


def _truths(node: Condition, column: Column) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Whether it is true of each value that the column can have, and last of a missing one."""
    if isinstance(column, TextColumn) or not is_understood(node):
        return None
    if isinstance(column, CategoryColumn | BooleanColumn):
        low, size = 0, len(column.values) if isinstance(column, CategoryColumn) else 2
    else:
        low, size = column.lattice.low, column.lattice.high - column.lattice.low + 1
    if size > _MOST_VALUES or size * weight(node) > _MOST_WORK:
        return None
    there = np.arange(size + 1) < size
    known: Known = (np.where(there, np.arange(low, low + size + 1), low), there)
    return KnownRows({column.name: known}, size + 1).condition(node)[0]


def _false(node: Condition, sure: Collection[str]) -> Condition | None:
    """Where ``node``, which is true of no row, is false; None where it may be true, or that is not seen."""
    match node:
        case Compare(_, operator) if not _can_be(node, operator):
            return _present(node, sure)
        case Or(parts):
            found = [_false(part, sure) for part in parts]
            known = [part for part in found if part is not None]
            return all_of(*dict.fromkeys(known)) if len(known) == len(found) else None
        case _:
            return None


def _can_be(node: Compare, operator: Operator) -> bool:
    """Whether ``operator`` holds for some numbers that the two sides can be, if they are there."""
    if isinstance(node.left, Days) or isinstance(node.right, Days):
        a, b = node.left.lattice, node.right.lattice
    else:
        a, b = aligned(node.left, node.right)
    return bool(CAN_BE[operator](a.low, a.high, b.low, b.high))


def _present(node: Compare, sure: Collection[str]) -> Condition | None:
    """Where both sides are there, if that is a matter of columns alone."""
    absent = [part for part in _flat(any_of(missing(node.left), missing(node.right))) if part != NEVER]
    columns = [part.column for part in absent if isinstance(part, IsMissing)]
    if len(columns) < len(absent):
        return None
    return all_of(*dict.fromkeys(_there(column, sure) for column in columns))


def _flat(condition: Condition) -> list[Condition]:
    """The parts of an OR, and of those inside it."""
    if not isinstance(condition, Or):
        return [condition]
    return [part for one in condition.parts for part in _flat(one)]


def _there(column: Column, sure: Collection[str]) -> Condition:
    return EVERY_ROW if column.name in sure else Not(IsMissing(column))


# One row for each person -----------------------------------------------------------------------------------


def _of_persons(table: TableOfPersons) -> TableOfPersons:
    """The filters inside; those of a number only where its bounds stay, on which the query rests."""
    numbers = tuple((name, replace(number, where=covered(number.where))) for name, number in table.numbers)
    if columns_of_persons(table.of, numbers) != table.columns:
        numbers = table.numbers
    given = covered(table.given)
    same = (given, numbers) == (table.given, table.numbers)
    return table if same else table_of_persons(table.of, given, numbers)
