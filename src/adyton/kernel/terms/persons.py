"""A table of persons: one row for each, made of numbers of the own rows.

SELECT person, COUNT(*) AS visits FROM rows WHERE ... GROUP BY person

What a study declares about rows bounds what can be said about a person: of so many rows that count, each
between bounds, a count, a sum, the least and the greatest lie between bounds too.  So a table of persons is
a table like any other, and whoever asks about it needs nothing new.  Theorem: TWO-LEVEL.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    LARGEST_COLUMN_VALUE,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    day_of,
    declares_missing,
)
from adyton.kernel.terms.expressions import Condition, NumberExpression, condition
from adyton.kernel.terms.leaves import EVERY_ROW, DayOf
from adyton.kernel.terms.names import check_columns, columns_in

Kind = Literal["rows", "sum", "least", "greatest", "distinct"]


@dataclass(frozen=True, slots=True)
class PersonNumber:
    """One number of a person, over those own rows for which ``where`` is true and the value is present.

    ``rows``: how many there are, without a value; ``distinct``: how many values of a category.
    Where there is no such row, these two are 0 and the others are missing.
    """

    kind: Kind
    value: NumberExpression | DayOf | CategoryColumn | None = None
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        fits = {
            "rows": self.value is None,
            "distinct": isinstance(self.value, CategoryColumn),
            "sum": isinstance(self.value, NumberExpression),
        }
        if not fits.get(self.kind, isinstance(self.value, NumberExpression | DayOf)):
            raise InvalidRequest(
                "a number of a person is a count, or is taken of a number, a day or a category"
            )

    def column(self, name: str, rows: int) -> Column:
        """What can be said about it where at most ``rows`` rows of a person count: a person has at least one.

        Claim:    every person's number is missing or lies within the bounds of this column, on its step.
        Assumes:  at most ``rows`` rows of each person are read.
        Source:   derived on the theorem's page.  Theorem: TWO-LEVEL.
        """
        match self.kind, self.value:
            case "rows", _:
                surely = int(self.where == EVERY_ROW and rows > 1)  # a column needs two values at least
                return IntegerColumn(name, surely, rows)
            case "distinct", CategoryColumn(_, values):
                return IntegerColumn(name, 0, min(rows, len(values)))
            case _, DayOf(column):
                days = day_of(column.lattice.low), day_of(column.lattice.high)
                return DateColumn(name, *days, missing=column.missing)
        assert isinstance(self.value, NumberExpression)
        lattice, most = self.value.lattice, rows if self.kind == "sum" else 1
        low, high = min(lattice.low, most * lattice.low), max(lattice.high, most * lattice.high)
        missing = any(map(declares_missing, columns_in(self.value)))
        return _numbers(name, lattice.step, low, high, missing)


def _numbers(name: str, step: Fraction, low: int, high: int, missing: bool) -> Column:
    if max(abs(low), abs(high)) > LARGEST_COLUMN_VALUE:
        raise InvalidRequest(
            f"{name!r} of a person can reach beyond 2**53 steps: bound what is added up, by CLAMP"
        )
    if low == high:
        raise InvalidRequest(f"{name!r} is the same for every person: there is nothing to ask")
    if step == 1:
        return IntegerColumn(name, low, high, missing=missing)
    return RealColumn(name, low * step, high * step, step, missing)


@dataclass(frozen=True, slots=True)
class TableOfPersons(Table):
    """One row for each person with a row of ``of`` for which ``given`` is true, after the cut to the rows of
    a person that count.  ``numbers`` are its columns, whose bounds follow; it has the name of ``of``, and
    ``rows``, the persons that there are, is what is known about them all.

    Made by ``table_of_persons``.
    """

    of: Table = field(kw_only=True)
    given: Condition = field(kw_only=True)
    numbers: tuple[tuple[str, PersonNumber], ...] = field(kw_only=True)

    def __post_init__(self) -> None:
        Table.__post_init__(self)
        if self.columns != columns_of_persons(self.of, self.numbers):
            raise InvalidRequest(
                "the bounds of a table of persons follow from the rows of a person that count"
            )
        check_columns(self.of, self.given, self.numbers)

    @property
    def behind(self) -> Table:
        return self.of


def table_of_persons(
    of: Table, given: Condition, numbers: tuple[tuple[str, PersonNumber], ...]
) -> TableOfPersons:
    """The table of the persons of ``of``, with a column for each of the numbers."""
    columns = columns_of_persons(of, numbers)
    return TableOfPersons(
        of.name,
        columns,
        of.rows,
        of.person,
        most_rows=1,
        of=of,
        given=given,
        numbers=numbers,
    )


def columns_of_persons(of: Table, numbers: tuple[tuple[str, PersonNumber], ...]) -> tuple[Column, ...]:
    if of.person is None or of.most_rows is None or of.join is not None:
        raise InvalidRequest(
            "numbers of each person are made of one private table of a study whose unit is a person"
        )
    return tuple(number.column(name, of.most_rows) for name, number in numbers)


def are_of_the_same_persons(tables: Collection[Table]) -> bool:
    """Whether all have the same rows, for the same persons, and a name means the same in all of them: then
    one table could have all columns, and who is told apart by one of them is told apart in all.
    """
    persons = [table for table in tables if isinstance(table, TableOfPersons)]
    numbers = {number for table in persons for number in table.numbers}
    one_meaning = len({name for name, _ in numbers}) == len(numbers)
    return len(persons) == len(tables) and len({(t.of, t.given) for t in persons}) == 1 and one_meaning
