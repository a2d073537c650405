"""Which groups of a query a row can be in at all: the others are not read, not paid for and not shown.

A cell is a combination of values of the groups.  It is kept if some row that the columns' declarations allow
could have these values and meet the conditions; conditions on other columns may hold.  Which cells are kept
follows from the query and the public declarations alone.

Claim:    every row that counts in any measure of a query is in a kept cell.
Assumes:  rows hold values as their columns declare them, which is how engines load them.
Source:   derived on the theorem's page.  Theorem: CELLS-THAT-CAN-MATCH.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import prod

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn, Column, TextColumn
from adyton.kernel.terms.buckets import MOST_CELLS, Bucket, Group, group_size, has_null
from adyton.kernel.terms.disjoint import Allowed, facts_of
from adyton.kernel.terms.expressions import Clip, Comparable, Condition, Floor, Not, Or, Plus, Times, all_of
from adyton.kernel.terms.leaves import (
    EVERY_ROW,
    Constant,
    DatePart,
    DayCount,
    DayFrom,
    DayOf,
    IsMissing,
    ValueOf,
)
from adyton.kernel.terms.names import columns_in
from adyton.query.conditions.possible import Integers, Known, KnownRows, is_understood
from adyton.query.length import weight
from adyton.query.missing import NEVER, always_there, missing
from adyton.query.nodes import Query, without_dimensions

Places = tuple[int, ...]  # of cells among all combinations of declared values, rising

_MOST_ROWS = 2**20  # combinations of values of the columns of groups that are tried, one by one
_MOST_WORK = 2**26  # of them, times what the conditions read
_MOST_DECLARED = 2**44  # whose places, and those of the bins in each, are machine integers
_NONE = (
    "no declared group can match: the conditions leave out every value that is grouped by; change WHERE or "
    "the groups; nothing was charged"
)


def kept_cells(query: Query) -> Places | None:
    """The cells of the declared groups that a row can be in, or None where that is all of them.

    InvalidRequest if there is none, or if there are more than are answered.
    """
    by, condition = _asked(query)
    return _kept(by, condition) if by else None


def number_of_cells(query: Query) -> int:
    """How many cells of the declared groups are answered; 1 where there is no such group."""
    kept = kept_cells(query)
    return _declared_size(query.by) if kept is None else len(kept)


def cell_codes(query: Query) -> tuple[list[npt.NDArray[np.int32]], int]:
    """For each group, which of its values each cell has that is shown; and how many cells these are."""
    sizes = [group_size(group) for group in query.by]
    kept = kept_cells(query)
    places = np.arange(prod(sizes)) if kept is None else np.array(kept, np.int64)
    codes = np.unravel_index(places, sizes) if sizes else ()
    return [own.astype(np.int32) for own in codes], len(places)


def groups_without_value(query: Query) -> tuple[str, ...]:
    """The groups of which a row that meets the conditions may have no value: such rows are in no cell."""
    if not query.by:
        return ()
    _, condition = _asked(query)
    condition = all_of(condition, *map(Not, map(IsMissing, always_there(query.table))))
    return _without_value(without_dimensions(*query.measures[0], query)[1].by, condition)


@lru_cache(maxsize=64)
def _without_value(by: tuple[Group, ...], condition: Condition) -> tuple[str, ...]:
    without = [(group.name, group) for group in by if not has_null(group)]
    values = [(name, group.value if isinstance(group, Bucket) else group) for name, group in without]
    return tuple(name for name, value in values if can_be_missing(value, condition))


def can_be_missing(value: Comparable | Column, condition: Condition = EVERY_ROW) -> bool:
    """Whether a row that meets the condition may have no value of it; if that cannot be seen, it may."""
    if not isinstance(value, Column) and (missing(value) == NEVER or not is_understood(value)):
        return missing(value) != NEVER
    facts = facts_of(condition)
    domains = {column.name: _domain(column, facts.get(column.name)) for column in columns_in(value)}
    if prod(domain.size for domain in domains.values()) > _most_rows(condition):
        if isinstance(value, Column) or not _rises(value):
            return True
        domains = {name: _Domain((), domain.missing) for name, domain in domains.items()}
    rows = _all_rows(domains)
    there = rows.columns[value.name] if isinstance(value, Column) else rows.number(value)
    assert there is not None
    return bool((rows.condition(condition)[0] & ~there[1]).any())


def _asked(query: Query) -> tuple[tuple[Group, ...], Condition]:
    """Declared groups of private columns, and what must hold of a row for any of the measures."""
    if not query.by:
        return (), EVERY_ROW
    rewritten = [without_dimensions(name, measure, query) for name, measure in query.measures]
    _, first = rewritten[0]
    own = dict.fromkeys(measure.where for measure, _ in rewritten)
    anyone = EVERY_ROW if EVERY_ROW in own else Or(tuple(own))
    declared = tuple(group for group in first.by if not isinstance(group, TextColumn))
    return declared, all_of(first.where, anyone)


def _declared_size(by: Iterable[Group]) -> int:
    return prod(group_size(group) for group in by if not isinstance(group, TextColumn))


@lru_cache(maxsize=64)
def _kept(by: tuple[Group, ...], condition: Condition) -> Places | None:
    whole = _declared_size(by)
    if whole > _MOST_DECLARED:
        raise InvalidRequest(f"the groups have {whole} declared cells: more than can be numbered")
    if _is_plain(by, condition):
        _check(whole)
        return None
    found = _possible(by, condition)
    return None if len(found) == whole else tuple(np.sort(found).tolist())


def _is_plain(by: Sequence[Group], condition: Condition) -> bool:
    """Whether every combination of values can occur: each group is a column, and no two the same one."""
    bare = all(not isinstance(g, Bucket) or isinstance(g.value, ValueOf | DayOf) for g in by)
    names = [column.name for column in columns_in(tuple(by))]
    return bare and len(set(names)) == len(names) and condition == EVERY_ROW


def _possible(by: Sequence[Group], condition: Condition) -> Integers:
    """All groups are looked at together where their columns have few values, else those that share some."""
    facts = facts_of(condition)
    domains = {column.name: _domain(column, facts.get(column.name)) for column in columns_in(tuple(by))}
    most = _most_rows(condition)
    clear = [place for place, group in enumerate(by) if _is_clear(group)]
    clusters = [clear] if _size(domains, by, clear) <= most else _sharing(by, clear)
    clusters += [[place] for place in range(len(by)) if place not in clear]
    found = np.zeros(1, np.int64)
    for places in clusters:
        if set(places) <= set(clear) and _size(domains, by, places) <= most:
            own = [_tried(by, places, condition, domains)]
        else:
            own = [_between(by[place], domains) * _step(by, place) for place in places]
        found = reduce(_combined, own, found)
    return found


def _most_rows(condition: Condition) -> int:
    return min(_MOST_ROWS, _MOST_WORK // weight(condition))


def _combined(some: Integers, more: Integers) -> Integers:
    _check(len(some) * len(more))
    both: Integers = np.add.outer(some, more).ravel()
    return both


def _check(number: int) -> None:
    if number > MOST_CELLS:
        raise InvalidRequest(f"the groups have {number} cells; at most {MOST_CELLS} are answered")
    if number == 0:
        raise InvalidRequest(_NONE)


def _step(by: Sequence[Group], place: int) -> int:
    """How far apart two cells are that differ by one in this group."""
    return prod(map(group_size, by[place + 1 :]))


def _sharing(by: Sequence[Group], clear: Sequence[int]) -> list[list[int]]:
    """The places of groups that have a column in common, directly or through others."""
    clusters: list[tuple[set[str], list[int]]] = []
    for place in clear:
        names, places = _names(by, [place]), [place]
        apart = [(other, theirs) for other, theirs in clusters if not other & names]
        for other, theirs in clusters:
            if other & names:
                names, places = names | other, places + theirs
        clusters = [*apart, (names, places)]
    return [places for _, places in clusters]


def _tried(
    by: Sequence[Group], places: Sequence[int], condition: Condition, domains: Mapping[str, _Domain]
) -> Integers:
    """The parts of the cells that rows are in, if there is one for every combination of values."""
    names = _names(by, places)
    rows = _all_rows({name: domain for name, domain in domains.items() if name in names})
    possible, _ = rows.condition(condition)
    cells = np.zeros(rows.number_of_rows, np.int64)
    for place in places:
        codes, there = _codes(by[place], rows)
        possible = possible & there
        cells += codes * _step(by, place)
    ordered = np.sort(cells[possible])
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _all_rows(domains: Mapping[str, _Domain]) -> KnownRows:
    """One for every combination of values."""
    shape = [domain.size for domain in domains.values()]
    at = np.unravel_index(np.arange(prod(shape)), shape) if shape else ()
    columns = {name: domain.at(i) for (name, domain), i in zip(domains.items(), at, strict=True)}
    return KnownRows(columns, prod(shape))


def _between(group: Group, domains: Mapping[str, _Domain]) -> Integers:
    """For columns of too many values to try: from the least to the greatest where a group rises with its own
    column, else every place.
    """
    if isinstance(group, Bucket) and _rises(group.value):
        ((name, domain),) = ((name, domains[name]) for name in _names([group], [0]))
        ends = np.array([domain.codes[0], domain.codes[-1]] if domain.codes else [], np.int64)
        codes, _ = _codes(group, KnownRows({name: (ends, np.full(len(ends), True))}, len(ends)))
        found = np.arange(codes[0], codes[1] + 1) if len(codes) else codes
        return np.append(found, group_size(group) - 1) if group.null and domain.missing else found
    return np.arange(group_size(group))


def _is_clear(group: Group) -> bool:
    """Whether the values of its columns say which value of the group a row has."""
    return not isinstance(group, Bucket) or is_understood(group.value)


def _rises(value: Comparable) -> bool:
    """Whether it is never less for a greater value of its one column."""
    match value:
        case ValueOf() | DayOf() | DayCount():
            return True
        case DatePart("year", day):
            return _rises(day)
        case DayFrom(inner) | Floor(inner) | Clip(inner) | Plus(inner, Constant()) | Plus(Constant(), inner):
            return _rises(inner)
        case Times(inner, Constant(factor)) | Times(Constant(factor), inner):
            return factor > 0 and _rises(inner)
        case _:
            return False


def _codes(group: Group, rows: KnownRows) -> Known:
    """The place of each row's value among those of a group, and whether it has one; NULL may be the last."""
    if isinstance(group, Bucket):
        known = rows.number(group.value)
        assert known is not None
        codes, there = known[0] - group.value.lattice.low, known[1]
    else:
        codes, there = rows.columns[group.name]
    if not has_null(group):
        return codes, there
    return np.where(there, codes, group_size(group) - 1), np.full(rows.number_of_rows, True)


def _names(by: Sequence[Group], places: Iterable[int]) -> set[str]:
    return {column.name for place in places for column in columns_in(by[place])}


def _size(domains: Mapping[str, _Domain], by: Sequence[Group], places: Iterable[int]) -> int:
    return prod(domains[name].size for name in _names(by, places))


@dataclass(frozen=True, slots=True)
class _Domain:
    """The values that the conditions leave of a column, as integers, and whether it may be missing."""

    codes: Sequence[int]
    missing: bool

    @property
    def size(self) -> int:
        return len(self.codes) + self.missing

    def at(self, places: Integers) -> Known:
        """The values at these places; the last place is where it is missing."""
        codes = np.append(np.array(self.codes, np.int64), 0)
        return codes[places], places < len(self.codes)


def _domain(column: Column, allowed: Allowed | None) -> _Domain:
    if isinstance(column, CategoryColumn | BooleanColumn):
        values = column.values if isinstance(column, CategoryColumn) else (False, True)
        left = allowed if isinstance(allowed, frozenset) else frozenset((*values, None))
        return _Domain([code for code, value in enumerate(values) if value in left], None in left)
    if isinstance(column, TextColumn):  # all that can be asked of it is whether it is there
        return _Domain((0,), True)
    low, high = column.lattice.low, column.lattice.high
    if not isinstance(allowed, tuple):
        return _Domain(range(low, high + 1), True)
    first, last = allowed
    return _Domain(range(max(low, first), min(high, last) + 1), first > last)  # an empty span: it is missing
