"""The closed set of questions, as frozen values.

A node checks its parts when it is built and knows the public lattice of its value, so an ill-typed
question, or one whose bounds are unknown, cannot exist.  Nothing happens when a question is built.
Missing values follow SQL: a comparison with a missing value is neither true nor false, and a row
contributes only where the condition is true and the value is present.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from adyton.errors import InvalidRequest
from adyton.query.check import check_columns, check_names
from adyton.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    Lattice,
    RealColumn,
    Table,
    common_grain,
    day_number,
)

MOST_CELLS = 1_000_000
LARGEST_CONSTANT = 10**40

_FIRST_DAY, _LAST_DAY = day_number(datetime.date.min), day_number(datetime.date.max)

# Numbers -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ValueOf:
    """The number in a column."""

    column: IntegerColumn | RealColumn
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.column, IntegerColumn | RealColumn):
            raise InvalidRequest(f"{self.column.name!r} is a {self.column.kind} column, not a number")
        _set_lattice(self, self.column.lattice)


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
        _set_lattice(self, Lattice(abs(self.value) or Fraction(1), sign, sign))


@dataclass(frozen=True, slots=True)
class Plus:
    left: Number
    right: Number
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a, b = aligned(self.left, self.right)
        _set_lattice(self, Lattice(a.grain, a.low + b.low, a.high + b.high))


@dataclass(frozen=True, slots=True)
class Times:
    left: Number
    right: Number
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a, b = number(self.left).lattice, number(self.right).lattice
        corners = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
        _set_lattice(self, Lattice(a.grain * b.grain, min(corners), max(corners)))


@dataclass(frozen=True, slots=True)
class Negative:
    inner: Number
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        a = number(self.inner).lattice
        _set_lattice(self, Lattice(a.grain, -a.high, -a.low))


@dataclass(frozen=True, slots=True)
class Indicator:
    """1 where ``condition`` is true, else 0; never missing.  SQL: CASE WHEN condition THEN 1 ELSE 0 END."""

    condition: Condition
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        condition(self.condition)
        _set_lattice(self, Lattice(Fraction(1), 0, 1))


Number = ValueOf | Constant | Plus | Times | Negative | Indicator


# Days ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DayOf:
    """The day in a date column, counted from 1970-01-01."""

    column: DateColumn
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.column, DateColumn):
            raise InvalidRequest(f"{self.column.name!r} is a {self.column.kind} column, not a date")
        _set_lattice(self, self.column.lattice)


@dataclass(frozen=True, slots=True)
class Day:
    """A day that the asker wrote."""

    number: int
    lattice: Lattice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or not _FIRST_DAY <= self.number <= _LAST_DAY:
            raise InvalidRequest("a day lies between 0001-01-01 and 9999-12-31")
        _set_lattice(self, Lattice(Fraction(1), self.number, self.number))


Comparable = Number | DayOf | Day


# Conditions ----------------------------------------------------------------------------------------------

Operator = Literal["<", "<=", "=", "<>", ">=", ">"]


@dataclass(frozen=True, slots=True)
class Compare:
    left: Comparable
    operator: Operator
    right: Comparable

    def __post_init__(self) -> None:
        if self.operator not in get_args(Operator):
            raise InvalidRequest(f"unknown comparison {self.operator!r}")
        if isinstance(self.left, DayOf | Day) != isinstance(self.right, DayOf | Day):
            raise InvalidRequest("a date can be compared only with a date")
        if not isinstance(self.left, DayOf | Day):
            aligned(self.left, self.right)  # type: ignore[arg-type]  # both are numbers, by the line above


@dataclass(frozen=True, slots=True)
class OneOf:
    """True where the category is one of ``values``."""

    column: CategoryColumn
    values: tuple[str | int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.column, CategoryColumn):
            raise InvalidRequest(f"{self.column.name!r} is a {self.column.kind} column, not a category")
        if not self.values:
            raise InvalidRequest("IN needs at least one value")
        unknown = [v for v in self.values if v not in self.column.values or isinstance(v, bool)]
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
            raise InvalidRequest(f"{self.column.name!r} is a {self.column.kind} column, not true or false")


@dataclass(frozen=True, slots=True)
class IsMissing:
    """True where the column has no usable value; never itself missing."""

    column: Column


@dataclass(frozen=True, slots=True)
class Always:
    truth: bool


@dataclass(frozen=True, slots=True)
class Not:
    inner: Condition

    def __post_init__(self) -> None:
        condition(self.inner)


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)


Condition = Compare | OneOf | IsTrue | IsMissing | Always | Not | And | Or

EVERY_ROW = Always(True)


# Measures and questions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows."""

    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of ``value`` over rows where it is present."""

    value: Number
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        if not any((number(self.value).lattice.low, self.value.lattice.high)):
            raise InvalidRequest("the sum of zeros is zero: there is nothing to ask")


@dataclass(frozen=True, slots=True)
class Mean:
    """The average of ``value`` over rows where it is present."""

    value: Number
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.where)
        if number(self.value).lattice.low == self.value.lattice.high:
            raise InvalidRequest("the mean of a constant is that constant: there is nothing to ask")


@dataclass(frozen=True, slots=True)
class Proportion:
    """The fraction of rows for which ``condition`` is true (a missing truth counts as not true)."""

    condition: Condition
    where: Condition = EVERY_ROW

    def __post_init__(self) -> None:
        condition(self.condition)
        condition(self.where)


Measure = Count | Sum | Mean | Proportion
GroupColumn = CategoryColumn | BooleanColumn


@dataclass(frozen=True, slots=True)
class Question:
    """Named measures of the rows of a table for which ``where`` is true, in each group of ``by``."""

    table: Table
    measures: tuple[tuple[str, Measure], ...]
    where: Condition = EVERY_ROW
    by: tuple[GroupColumn, ...] = ()

    def __post_init__(self) -> None:
        condition(self.where)
        if not self.measures:
            raise InvalidRequest("ask for at least one of COUNT, SUM, AVG, PROPORTION")
        check_names([name for name, _ in self.measures], [column.name for column in self.by])
        if not all(isinstance(measure, Measure) for _, measure in self.measures):
            raise InvalidRequest("a question asks for Count, Sum, Mean or Proportion")
        check_columns(self.table, self.by, self.where, self.measures)
        for column in self.by:
            if not isinstance(column, CategoryColumn | BooleanColumn):
                raise InvalidRequest(
                    f"GROUP BY needs a category or boolean column; {column.name!r} is {column.kind}"
                )
        if self.cells > MOST_CELLS:
            raise InvalidRequest(f"the groups have {self.cells} cells; at most {MOST_CELLS} are answered")

    @property
    def cells(self) -> int:
        """The number of groups: all combinations of declared values, whether they occur or not."""
        product = 1
        for column in self.by:
            product *= len(group_values(column))
        return product


def group_values(column: GroupColumn) -> tuple[str, ...] | tuple[int, ...] | tuple[bool, ...]:
    """The declared values of a grouping column, in the order in which answers list them."""
    return (False, True) if isinstance(column, BooleanColumn) else column.values


# Checks -------------------------------------------------------------------------------------------------


def number(node: Number) -> Number:
    """``node``, if it is a number."""
    if not isinstance(node, Number):
        raise InvalidRequest(f"a number is needed here, not {_describe(node)}")
    return node


def condition(node: Condition) -> Condition:
    """``node``, if it is a condition."""
    if not isinstance(node, Condition):
        raise InvalidRequest(f"a condition is needed here, not {_describe(node)}")
    return node


def aligned(left: Number, right: Number) -> tuple[Lattice, Lattice]:
    """The lattices of both on their common grain."""
    a, b = number(left).lattice, number(right).lattice
    grain = common_grain(a.grain, b.grain)
    return a.scaled(int(a.grain / grain)), b.scaled(int(b.grain / grain))


def all_of(*parts: Condition) -> Condition:
    """The conjunction, without the parts that say nothing."""
    said = tuple(part for part in parts if part != EVERY_ROW)
    return said[0] if len(said) == 1 else And(said) if said else EVERY_ROW


def _describe(node: object) -> str:
    names = {DayOf: "a date", Day: "a date", str: "a text"}
    if isinstance(node, Condition):
        return "a condition"
    if isinstance(node, Number):
        return "a number"
    return names.get(type(node), f"a {type(node).__name__}")


def _check_parts(parts: tuple[Condition, ...]) -> None:
    if not parts:
        raise InvalidRequest("AND and OR need at least one condition")
    for part in parts:
        condition(part)


def _set_lattice(node: object, lattice: Lattice) -> None:
    if max(lattice.grain.numerator, lattice.grain.denominator) > LARGEST_CONSTANT:
        raise InvalidRequest(
            "an expression has a grain of more than 40 digits: use fewer or rounder constants"
        )
    object.__setattr__(node, "lattice", lattice)  # the one way to finish a frozen value
