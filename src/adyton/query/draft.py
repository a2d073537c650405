"""Questions written in Python: a draft holds the words, and becomes a question on a table.

mean("income / 12", where="age >= 18", by="region").on(table)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from adyton.errors import InvalidRequest
from adyton.query.names import default_name, distinct_names
from adyton.query.nodes import (
    EVERY_ROW,
    Condition,
    Count,
    Group,
    Mean,
    Measure,
    Number,
    Proportion,
    Question,
    Sum,
)
from adyton.schema import BooleanColumn, CategoryColumn, Table

# The SQL parser is imported where text is read: it costs more than all other imports of a draft.


@dataclass(frozen=True, slots=True)
class Draft:
    """One measure, in words that a table will give a meaning to."""

    measure: Literal["count", "sum", "mean", "proportion"]
    value: str | Number | Condition | None = None
    where: str | Condition | None = None
    by: tuple[str, ...] = ()
    name: str | None = None

    def on(self, table: Table) -> Question:
        """The question that this draft asks about ``table``."""
        default, measure = self._measure(table)
        by = tuple(_group_column(table, name) for name in self.by)
        names = distinct_names([self.name], [default], taken=[column.name for column in by])
        return Question(table, ((names[0], measure),), _condition(self.where, table), by)

    def _measure(self, table: Table) -> tuple[str, Measure]:
        match self.measure:
            case "count":
                if self.value is not None:
                    raise InvalidRequest("a count has no value; say which rows count with where")
                return "count", Count()
            case "sum":
                value, present = _value(self.value, table)
                return default_name("sum", value), Sum(value, present)
            case "mean":
                value, present = _value(self.value, table)
                return default_name("avg", value), Mean(value, present)
            case "proportion":
                if self.value is None:
                    raise InvalidRequest("a proportion needs a condition")
                condition = _condition(self.value, table)
                return default_name("proportion", condition), Proportion(condition)
            case _:
                assert_never(self.measure)


def count(
    where: str | Condition | None = None, by: str | Sequence[str] = (), name: str | None = None
) -> Draft:
    """How many rows."""
    return Draft("count", None, where, _names(by), name)


def sum_of(
    value: str | Number,
    where: str | Condition | None = None,
    by: str | Sequence[str] = (),
    name: str | None = None,
) -> Draft:
    """The sum of ``value`` over the rows where it is present."""
    return Draft("sum", value, where, _names(by), name)


def mean(
    value: str | Number,
    where: str | Condition | None = None,
    by: str | Sequence[str] = (),
    name: str | None = None,
) -> Draft:
    """The average of ``value`` over the rows where it is present."""
    return Draft("mean", value, where, _names(by), name)


def proportion(
    condition: str | Condition,
    where: str | Condition | None = None,
    by: str | Sequence[str] = (),
    name: str | None = None,
) -> Draft:
    """The fraction of rows for which ``condition`` is true; where it is missing it counts as not true."""
    return Draft("proportion", condition, where, _names(by), name)


def histogram(column: str, where: str | Condition | None = None) -> Draft:
    """How many rows have each declared value of ``column``."""
    return count(where, by=column)


def question_of(asked: str | Draft | Question, table: Table) -> Question:
    """The question about ``table``, however it was asked: as SQL, as a draft, or ready."""
    match asked:
        case str():
            from adyton.query.sql import parse

            return parse(asked, table)
        case Draft():
            return asked.on(table)
        case Question():
            if asked.table != table:
                raise InvalidRequest(f"the question is about another table than {table.name!r} as declared")
            return asked
        case _:
            raise InvalidRequest(f"a question is SQL, a draft or a Question, not a {type(asked).__name__}")


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)


def _group_column(table: Table, name: str) -> Group:
    if not isinstance(name, str):
        raise InvalidRequest(f"by needs names of columns, not a {type(name).__name__}")
    column = table.column(name)
    if not isinstance(column, CategoryColumn | BooleanColumn):
        raise InvalidRequest(f"by needs a category or boolean column; {column.name!r} is {column.kind}")
    return column


def _condition(written: str | Number | Condition | None, table: Table) -> Condition:
    if isinstance(written, str):
        from adyton.query.sql import parse_condition

        return parse_condition(written, table)
    return EVERY_ROW if written is None else written  # type: ignore[return-value]  # the question checks it


def _value(written: str | Number | Condition | None, table: Table) -> tuple[Number, Condition]:
    if isinstance(written, str):
        from adyton.query.sql import parse_value

        return parse_value(written, table)
    return written, EVERY_ROW  # type: ignore[return-value]  # the measure checks it
