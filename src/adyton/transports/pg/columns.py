"""The columns of an answer before anything is asked: their names, order and types follow from the text.

Clients want to know them first.  They are read from the query, so they are free, and the same for every
price.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    TextColumn,
)
from adyton.kernel.terms.buckets import Bucket, Group
from adyton.kernel.terms.expressions import Days
from adyton.kernel.terms.leaves import DayOf
from adyton.kernel.terms.measures import Cdf
from adyton.planning.known import known_of, known_of_computed
from adyton.query.names import distinct_names
from adyton.query.released.nodes import is_label
from adyton.query.request import Asked, Combined, Free, Request
from adyton.query.selecting import Selection
from adyton.study import Study
from adyton.transports.pg.values import BOOL, DATE, FLOAT8, INT8, TEXT, Field

_UP_TO = "upto"  # the key of a distribution: where each of its values ends


def oid_of(column: Column) -> int:
    """The type of a declared column."""
    match column:
        case IntegerColumn():
            return INT8
        case RealColumn():
            return FLOAT8
        case DateColumn():
            return DATE
        case BooleanColumn():
            return BOOL
        case CategoryColumn(values=values):
            return _of_labels(values)
        case TextColumn():
            return TEXT
        case _:
            assert_never(column)


def fields_of(asked: Asked, study: Study, *, intervals: bool) -> list[Field]:
    """As SELECT lists them; ``intervals`` puts the ends of both behind each value."""
    if isinstance(asked, Selection):
        if asked.whole is None:
            raise InvalidRequest("a selection among queries is made in Python")
        return fields_of(asked.whole, study, intervals=intervals)
    if isinstance(asked, Free):
        return _free(asked, study)
    keys, values = _combined(asked) if isinstance(asked, Combined) else _request(asked)
    listed = [name for name in asked.listed if name in keys or name in values]
    names = dict.fromkeys([*(name for name in keys if name not in listed), *listed, *values])
    return [one for name in names for one in _with_ends(name, keys, values, study, intervals)]


def _with_ends(
    name: str, keys: dict[str, int], values: dict[str, int], study: Study, intervals: bool
) -> Iterator[Field]:
    if name in keys:
        yield Field(name, keys[name])
        return
    yield Field(name, values[name])
    if intervals:
        kinds = ("noise", "population") if study.validity is not None else ("noise",)
        yield from (Field(f"{name}_{kind}_{end}", values[name]) for kind in kinds for end in ("low", "high"))


def _request(asked: Request) -> tuple[dict[str, int], dict[str, int]]:
    """Names and types of its keys, and of its values."""
    query, shape, shown = asked.query, asked.shape, dict(asked.shape.names)
    groups = [group for group in query.by if group.name not in shape.unshown]
    keys = {shown.get(group.name, group.name): _of_group(group) for group in groups}
    if any(isinstance(measure, Cdf) for _, measure in query.measures):
        keys[distinct_names([None], [_UP_TO], taken=[group.name for group in query.by])[0]] = FLOAT8
    known = {name: known_of(measure) for name, measure in query.measures}
    if not shape.shown:
        return keys, {name: _of_days(one.day) for name, one in known.items()}
    values = {}
    for name, value in shape.shown:
        if is_label(value):
            keys[name] = TEXT
        else:
            values[name] = _of_days(known_of_computed(value, known).day)
    return keys, values


def _combined(asked: Combined) -> tuple[dict[str, int], dict[str, int]]:
    keys: dict[str, set[int]] = {name: set() for name in asked.keys}
    values: dict[str, set[int]] = {name: set() for name in asked.values}
    for part in asked.parts:
        own_keys, own_values = _request(part.request)
        names = dict(part.names)
        for found, own in ((keys, own_keys), (values, own_values)):
            for name, oid in own.items():
                found.setdefault(names.get(name, name), set()).add(oid)
        for name, label in part.constants:
            if label is not None:
                keys.setdefault(name, set()).add(_of_labels([label]))
    return (
        {name: _agreed(keys[name], TEXT) for name in asked.keys},
        {name: _agreed(values[name], FLOAT8) for name in asked.values},
    )


def _free(asked: Free, study: Study) -> list[Field]:
    """Of a table without rows the declared types: that is what somebody wants to know who asks for it."""
    declared = {column.name: column for table in study.tables for column in table.columns}
    fields = []
    for name, labels in asked.keys:
        column = declared.get(name)
        fields.append(Field(name, _of_labels(labels) if labels or column is None else oid_of(column)))
    return fields + [Field(name, FLOAT8) for name in asked.values]


def _of_group(group: Group) -> int:
    match group:
        case TextColumn():
            return TEXT
        case BooleanColumn() | CategoryColumn():
            return oid_of(group)
        case Bucket(_, value, None):
            if isinstance(value, Days | DayOf):
                return DATE
            return INT8 if value.lattice.step.denominator == 1 else FLOAT8
        case Bucket(_, _, labels):
            return _of_labels(labels or ())


def _of_labels(labels: Sequence[object]) -> int:
    kinds = {type(label) for label in labels if label is not None}
    if kinds == {bool}:
        return BOOL
    if kinds == {int}:
        return INT8
    return FLOAT8 if kinds and kinds <= {int, float} else TEXT


def _of_days(day: bool) -> int:
    return DATE if day else FLOAT8


def _agreed(oids: set[int], otherwise: int) -> int:
    return next(iter(oids)) if len(oids) == 1 else otherwise
