"""Many filtered numbers from one scan: rows that no filter tells apart are added up first.

A thousand filters on the ages of ten million rows need one pass over the rows and a thousand over the ages.
Whether a question is folded depends on public facts alone: on what is asked, and on the declared bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from adyton.query.leaves import EVERY_ROW
from adyton.query.names import columns_in, outsides_in
from adyton.schema import BooleanColumn, CategoryColumn, Column, TextColumn
from adyton.sensitivity import Reading

# Fewer are read as fast without; and from more combinations of values nothing is won.
LEAST_READINGS = 8
_MOST_COMBINATIONS = 2**18


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
    columns = set(columns_in(readings[0].by, *(reading.where for reading in readings)))
    if any(isinstance(column, TextColumn) for column in columns):
        return []
    if any(True for _ in outsides_in(readings[0].by, *(reading.where for reading in readings))):
        return []
    worth_it = prod(_size(column) for column in columns) <= _MOST_COMBINATIONS
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
        case _:
            return column.lattice.high - column.lattice.low + 2
