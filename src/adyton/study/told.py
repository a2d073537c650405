"""A study as a table of its public facts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from adyton.certify import RoundedGuarantee
from adyton.kernel.exact import printed_up
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
    declares_missing,
)
from adyton.show import Sheet

if TYPE_CHECKING:
    from adyton.study.facts import Study

_MOST_VALUES = 12  # of a category that are listed
Facts = Iterator[tuple[str, str]]


def facts_of(study: Study) -> Sheet:
    """Who is protected, how much may be learned, and what may be asked about."""
    rows = (*_guarantees(study), *(row for table in study.tables for row in _about(study, table)))
    return Sheet(f"Study of {study.table.name}", ("", ""), rows, left_aligned=2)


def _guarantees(study: Study) -> Facts:
    unit, validity = study.unit, study.validity
    guarantee = RoundedGuarantee(printed_up(study.budget.epsilon), printed_up(study.budget.delta))
    yield "protected", "one row" if unit.person is None else f"one person ({unit.person})"
    yield "budget", f"{guarantee}, for all answers together"
    if study.shared_budget is not None:
        name = study.shared_budget.name
        yield "shared budget", f"{name}: what other studies of the same persons spend counts too"
    simultaneous = (
        f"{_plain(100 * validity.confidence)} %, simultaneous for all answers" if validity else None
    )
    yield "population", simultaneous or "not declared"
    if study.parts > 1:
        yield "", f"units are split: each of {study.parts:,} queries reads a part of its own"
    if study.grid is not None:
        yield "", f"answers are rounded, in steps of {_plain(100 * study.grid)} % of their range"
    if study.reserve is not None:
        share = _plain(100 * study.reserve.share)
        yield "reserve", f"about {share} % of the {unit.word}s: no query reads them"


def _about(study: Study, table: Table) -> Facts:
    unit, public = study.unit_of(table), study.unit.adjacency == "replace-one"
    size = "an unknown number of" if table.rows is None else f"{'' if public else 'about '}{table.rows:,}"
    yield f"table {table.name}", f"{size} {unit.word}s"
    if unit.person is not None:
        most, count = ("1 row", "counts") if unit.rows == 1 else (f"{unit.rows:,} rows", "count")
        yield "", f"at most {most} of each person {count}; rows without a person do not"
    for column in table.columns:
        yield column.name, _column(column) + ("; or missing" if declares_missing(column) else "")
    for dimension in table.dimensions:
        names = ", ".join(attribute.column.name for attribute in dimension.attributes)
        yield f"public table {dimension.name}", f"of each {dimension.joins}: {names}"


def _column(column: Column) -> str:
    match column:
        case IntegerColumn(_, low, high):
            return f"integer, {low:,} .. {high:,}"
        case RealColumn(_, lowest, highest, step):
            return f"real, {_plain(lowest)} .. {_plain(highest)}, in steps of {_plain(step)}"
        case DateColumn(_, first, last):
            return f"date, {first} .. {last}"
        case CategoryColumn(_, values):
            more = f", ... ({len(values):,} values)" if len(values) > _MOST_VALUES else ""
            return f"category: {', '.join(map(str, values[:_MOST_VALUES]))}{more}"
        case BooleanColumn():
            return "boolean"
        case TextColumn():
            return "text: its values are not declared; only common ones can be found"


def _plain(value: Fraction) -> str:
    """As a person would write it; fractions that are no short decimals have six digits."""
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):.6g}"
