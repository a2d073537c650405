"""Answers to several queries as one table: the rows of each in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from adyton.certify.answer import Answer
from adyton.certify.preview import Preview
from adyton.certify.rows import (
    NOTHING_KNOWN,
    Intervals,
    KeyColumn,
    KeyedRows,
    KnownRange,
    LateValues,
    RowKeys,
    Values,
    joined_way,
)
from adyton.certify.values import Absent, Bound, Certificate, KeyLabel

JOINED = " UNION ALL "
_One = TypeVar("_One")


@dataclass(frozen=True, slots=True)
class Naming:
    """How a part calls the columns of the table, and which of them are the same in all of its rows."""

    names: Mapping[str, str]
    constants: Mapping[str, KeyLabel]

    def renamed(self, by_name: Mapping[str, _One]) -> dict[str, _One]:
        return {self.names.get(name, name): one for name, one in by_name.items()}

    def keys(self, keys: RowKeys) -> RowKeys:
        nothing = np.zeros(len(keys), np.int32)
        same = {name: KeyColumn((label,), nothing) for name, label in self.constants.items()}
        return RowKeys(self.renamed(keys.columns) | same, len(keys))


def stacked_keys(parts: Sequence[RowKeys], names: Sequence[str]) -> RowKeys:
    """Their rows in turn; a key that a part does not have is None."""
    columns = {name: _key_column([_found(part, name) for part in parts]) for name in names}
    return RowKeys(columns, sum(map(len, parts)))


def _found(part: RowKeys, name: str) -> KeyColumn:
    return part.columns.get(name) or KeyColumn((None,), np.zeros(len(part), np.int32))


def _key_column(parts: Sequence[KeyColumn]) -> KeyColumn:
    labels = tuple(dict.fromkeys(label for part in parts for label in part.labels))
    code_of = {label: code for code, label in enumerate(labels)}
    codes = [
        np.array([code_of[label] for label in p.labels], np.int32)[p.codes] for p in parts if len(p.codes)
    ]
    return KeyColumn(labels, np.concatenate(codes) if codes else np.zeros(0, np.int32))


def stacked_values(parts: Sequence[Values], known: Sequence[KnownRange]) -> Values:
    """One column; where parts differ in what is known of them, a value that says nothing is not a number."""
    values = [part.value for part in parts]
    if len(set(known)) > 1:
        values = [np.where(k.tells(p), p.value, np.nan) for p, k in zip(parts, known, strict=True)]
    return Values(np.concatenate(values), _stacked([part.noise for part in parts]), _population(parts))


def _population(parts: Sequence[Values]) -> Intervals | Absent:
    kinds = [part.population for part in parts]
    reasons = {one for one in kinds if isinstance(one, Absent)}
    told = [one for one in kinds if isinstance(one, Intervals)]
    if not told and len(reasons) == 1:
        return reasons.pop()
    level = told[0].level if told else 0.0
    return _stacked(
        [
            one if isinstance(one, Intervals) else _no_intervals(level, len(part), one)
            for one, part in zip(kinds, parts, strict=True)
        ]
    )


def _no_intervals(level: float, size: int, why: Absent) -> Intervals:
    nowhere = np.full(size, np.nan)
    return Intervals(level, nowhere, nowhere, np.full(size, why, object))


def _stacked(parts: Sequence[Intervals]) -> Intervals:
    absent = [np.full(len(one.low), None) if one.absent is None else one.absent for one in parts]
    return Intervals(
        parts[0].level,
        np.concatenate([one.low for one in parts]),
        np.concatenate([one.high for one in parts]),
        np.concatenate(absent) if any(one.absent is not None for one in parts) else None,
        joined_way(one.way for one in parts),
    )


def stacked_answer(
    answers: Sequence[Answer], namings: Sequence[Naming], keys: Sequence[str], values: Sequence[str]
) -> Answer:
    """Of answers that one receipt paid for."""
    parts = list(zip(answers, namings, strict=True))
    known = [naming.renamed(answer.known) for answer, naming in parts]
    widths = [naming.renamed(answer.widths_named) for answer, naming in parts]

    def columns() -> dict[str, Values]:
        each = [naming.renamed(answer.rows.values) for answer, naming in parts]
        return {
            v: stacked_values([one[v] for one in each], [k.get(v, NOTHING_KNOWN) for k in known])
            for v in values
        }

    all_keys = stacked_keys([naming.keys(answer.rows.keys) for answer, naming in parts], keys)
    return replace(
        answers[0],
        query=JOINED.join(answer.query for answer in answers),
        rows=KeyedRows(all_keys, LateValues(values, columns)),
        certificate=_certificate([answer.certificate for answer in answers]),
        rows_hidden=sum(answer.rows_hidden for answer in answers),
        hidden=tuple(dict.fromkeys(name for answer in answers for name in answer.hidden)),
        remarks=tuple(dict.fromkeys(said for answer in answers for said in answer.remarks)),
        known={name: _known([one.get(name, NOTHING_KNOWN) for one in known]) for name in values},
        rows_planned=max((a.rows_planned for a in answers if a.rows_planned is not None), default=None),
        widths_named={
            v: max(one[v] for one in widths if v in one) for v in dict.fromkeys(n for w in widths for n in w)
        },
    )


def _known(each: Sequence[KnownRange]) -> KnownRange:
    if len(set(each)) == 1:
        return each[0]
    return replace(NOTHING_KNOWN, count=all(one.count for one in each))


def _certificate(each: Sequence[Certificate]) -> Certificate:
    theorems = dict.fromkeys(name for one in each for name in one.theorems)
    assumptions = dict.fromkeys(said for one in each for said in one.assumptions)
    nats = {name: max(one.nats.get(name, 0.0) for one in each) for own in each for name in own.nats}
    return Certificate(tuple(theorems), tuple(assumptions), nats)


def stacked_preview(
    previews: Sequence[Preview], namings: Sequence[Naming], keys: Sequence[str], values: Sequence[str]
) -> Preview:
    """Of previews of one charge: of each value the widest interval that it has in a part."""
    parts = [_renamed(preview, naming) for preview, naming in zip(previews, namings, strict=True)]
    found = [part.keys for part in parts if part.keys is not None]
    return replace(
        parts[0],
        query=JOINED.join(preview.query for preview in previews),
        keys=stacked_keys(found, keys),
        bounds={name: widest([part.bounds[name] for part in parts]) for name in values},
        population={name: widest_or_absent([part.population[name] for part in parts]) for name in values},
        steps=tuple(dict.fromkeys(step for part in parts for step in part.steps)),
        certificate=_certificate([part.certificate for part in parts]),
        hidden=tuple(dict.fromkeys(name for part in parts for name in part.hidden)),
        remarks=tuple(dict.fromkeys(said for part in parts for said in part.remarks)),
        spread_first={},
        determined={},
        parts=tuple(parts),
    )


def _renamed(preview: Preview, naming: Naming) -> Preview:
    return replace(
        preview,
        keys=naming.keys(preview.keys) if preview.keys is not None else None,
        bounds=naming.renamed(preview.bounds),
        population=naming.renamed(preview.population),
    )


def widest(bounds: Sequence[Bound]) -> Bound:
    """What depends on the rows is wider than anything."""
    return max(bounds, key=lambda one: float("inf") if one.half_width is None else one.half_width)


def widest_or_absent(bounds: Sequence[Bound | Absent]) -> Bound | Absent:
    told = [one for one in bounds if isinstance(one, Bound)]
    return widest(told) if told else bounds[0]
