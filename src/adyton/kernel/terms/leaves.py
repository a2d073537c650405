"""The numbers, days and conditions on one row that have no other inside them, as frozen values.

A node checks itself when it is built and knows the public lattice of its value.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    Lattice,
    RealColumn,
    day_number,
    day_of,
)

if TYPE_CHECKING:
    from adyton.kernel.terms.expressions import NumberExpression

LARGEST_CONSTANT = 10**40

_FIRST_DAY, _LAST_DAY = day_number(datetime.date.min), day_number(datetime.date.max)

# Numbers -------------------------------------------------------------------------------------------------


def _other_kind(column: Column, needed: str) -> InvalidRequest:
    article = "an" if column.kind[0] in "aeiou" else "a"
    return InvalidRequest(f"{column.name!r} is {article} {column.kind} column, not {needed}")


@dataclass(frozen=True, slots=True)
class ValueOf:
    """The number in a column."""

    column: IntegerColumn | RealColumn
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.column, IntegerColumn | RealColumn):
            raise _other_kind(self.column, "a number")
        set_lattice(self, self.column.lattice)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that the asker wrote."""

    value: Fraction
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = self.value.as_integer_ratio() if isinstance(self.value, Fraction) else ()
        if not parts or max(map(abs, parts)) > LARGEST_CONSTANT:
            raise InvalidRequest("a constant is a Fraction of whole numbers of at most 40 digits")
        sign = (self.value > 0) - (self.value < 0)
        set_lattice(self, Lattice(abs(self.value) or Fraction(1), sign, sign))


@dataclass(frozen=True, slots=True)
class Lookup:
    """The number that a public list gives to each declared value of a category; None is missing.

    ``numbers[i]`` belongs to ``column.values[i]`` and is counted in steps of ``step``.
    """

    column: CategoryColumn
    numbers: tuple[int | None, ...]
    step: Fraction = Fraction(1)
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.column, CategoryColumn) or len(self.numbers) != len(self.column.values):
            raise InvalidRequest("a list of numbers needs one for each declared value of its category")
        known = [one for one in self.numbers if one is not None]
        if not known:
            raise InvalidRequest(f"the list gives no number to any value of {self.column.name!r}")
        set_lattice(self, Lattice(self.step, min(known), max(known)))


# Days ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DayOf:
    """The day in a date column, counted from 1970-01-01."""

    column: DateColumn
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.column, DateColumn):
            raise _other_kind(self.column, "a date")
        set_lattice(self, self.column.lattice)


@dataclass(frozen=True, slots=True)
class Day:
    """A day that the asker wrote."""

    number: int
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or not _FIRST_DAY <= self.number <= _LAST_DAY:
            raise InvalidRequest("a day lies between 0001-01-01 and 9999-12-31")
        set_lattice(self, Lattice(Fraction(1), self.number, self.number))


@dataclass(frozen=True, slots=True)
class DayFrom:
    """The day that lies a computed number of days after 1970-01-01.  SQL: DATE_FROM_UNIX_DATE(number)."""

    inner: NumberExpression
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lattice = getattr(self.inner, "lattice", None)
        other = isinstance(self.inner, DayOf | Day | DayFrom | Column)  # with a lattice, but no numbers
        if lattice is None or other or lattice.step.denominator != 1:
            raise InvalidRequest("a date is made of a whole number of days")
        whole = lattice.scaled(lattice.step.numerator)
        if not _FIRST_DAY <= whole.low <= whole.high <= _LAST_DAY:
            raise InvalidRequest(
                "a computed date can leave the years 1 to 9999: bound it, or move it by less"
            )
        set_lattice(self, whole)


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many days after 1970-01-01 the day in a date column is.  SQL: UNIX_DATE(column)."""

    day: DayOf
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.day, DayOf):
            raise InvalidRequest("days are counted up to a date column")
        set_lattice(self, self.day.lattice)


Part = Literal["year", "quarter", "month", "day", "weekday"]
_RANGES: dict[str, tuple[int, int]] = {"quarter": (1, 4), "month": (1, 12), "day": (1, 31), "weekday": (1, 7)}


@dataclass(frozen=True, slots=True)
class DatePart:
    """A part of a day: its year, quarter, month, day of the month, or day of the week (Monday is 1)."""

    part: Part
    day: DayOf | DayFrom
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.part not in get_args(Part):
            raise InvalidRequest(f"unknown part of a date {self.part!r}; known: {', '.join(get_args(Part))}")
        if not isinstance(self.day, DayOf | DayFrom):
            raise InvalidRequest(f"a {self.part} is taken from a date column")
        first, last = day_of(self.day.lattice.low), day_of(self.day.lattice.high)
        low, high = (first.year, last.year) if self.part == "year" else _RANGES[self.part]
        set_lattice(self, Lattice(Fraction(1), low, high))


# Conditions ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OneOf:
    """True where the category is one of ``values``."""

    column: CategoryColumn
    values: tuple[str | int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.column, CategoryColumn):
            raise _other_kind(self.column, "a category")
        if not self.values:
            raise InvalidRequest("IN needs at least one value")
        known = set(self.column.values)  # both lists may be long
        unknown = [
            v for v in self.values if not isinstance(v, str | int) or isinstance(v, bool) or v not in known
        ]
        if unknown:
            declared = ", ".join(map(repr, self.column.values[:10]))
            more = ", ..." if len(self.column.values) > 10 else ""
            raise InvalidRequest(
                f"{unknown[0]!r:.60} is not a declared value of {self.column.name!r} "
                f"(declared: {declared}{more})"
            )


@dataclass(frozen=True, slots=True)
class IsTrue:
    column: BooleanColumn

    def __post_init__(self) -> None:
        if not isinstance(self.column, BooleanColumn):
            raise _other_kind(self.column, "a boolean")


@dataclass(frozen=True, slots=True)
class IsMissing:
    """True where the column has no usable value; never itself missing."""

    column: Column


# What can lie outside: a number or a day of its bounds, a category of its list.
Bounded = IntegerColumn | RealColumn | DateColumn | CategoryColumn


@dataclass(frozen=True, slots=True)
class IsOutside:
    """Whether the value came from outside of what is declared; missing where there was none.

    Everything else that can be asked is about the value as it is declared: clipped, rounded, or found in a
    list.  Nobody would see how much of it is an artefact of wrong bounds or of a list that lacks a value.

    SQL: CLIPPED(column) of a number or a date, UNDECLARED(column) of a category.
    """

    column: Bounded

    def __post_init__(self) -> None:
        if not isinstance(self.column, Bounded):
            name, kind = self.column.name, self.column.kind
            advice = {
                "text": "no values of it are declared, so none is undeclared; a column with a list of values "
                "is a category",
                "boolean": f"it has neither bounds nor a list; ask where {name} IS NULL",
            }
            raise InvalidRequest(f"{name!r} is a {kind} column: {advice.get(kind, 'it has no bounds')}")

    @property
    def word(self) -> str:
        """The function that asks for it."""
        return word_for(self.column)


def word_for(column: Bounded) -> str:
    return "UNDECLARED" if isinstance(column, CategoryColumn) else "CLIPPED"


@dataclass(frozen=True, slots=True)
class Always:
    truth: bool


EVERY_ROW = Always(True)


def set_lattice(node: object, lattice: Lattice) -> None:
    if max(lattice.step.numerator, lattice.step.denominator) > LARGEST_CONSTANT:
        raise InvalidRequest(
            "an expression has a step of more than 40 digits: use fewer or rounder constants"
        )
    object.__setattr__(node, "lattice", lattice)  # the one way to finish a frozen value
