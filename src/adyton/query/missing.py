"""Where numbers, days and conditions are missing, as conditions that are never missing themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from adyton.kernel.schema import Column, Table
from adyton.kernel.terms.expressions import (
    And,
    Case,
    Clip,
    Comparable,
    Compare,
    Condition,
    Curved,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Or,
    Plus,
    Quotient,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import (
    EVERY_ROW,
    Always,
    Constant,
    DatePart,
    Day,
    DayCount,
    DayFrom,
    DayOf,
    IsMissing,
    Lookup,
    OneOf,
    ValueOf,
)
from adyton.kernel.terms.persons import TableOfPersons

ONE, ZERO = Constant(Fraction(1)), Constant(Fraction(0))
NEVER = Always(False)


def missing(node: Comparable) -> Condition:
    """True where the number or day is missing, else false."""
    match node:
        case ValueOf(column) | DayOf(column):
            return IsMissing(column)
        case Constant() | Day() | Indicator():
            return NEVER
        case Plus(left, right) | Times(left, right):
            return any_of(missing(left), missing(right))
        case Negative(inner) | Square(inner) | Clip(inner) | Floor(inner) | DayFrom(inner) | Curved(_, inner):
            return missing(inner)
        case Quotient(over, under):
            return any_of(missing(over), missing(under), Compare(under, "=", ZERO))
        case DatePart(_, day) | DayCount(day):
            return missing(day)
        case Lookup(column, numbers):
            without = tuple(column.values[i] for i, one in enumerate(numbers) if one is None)
            return any_of(IsMissing(column), OneOf(column, without) if without else NEVER)
        case Case():
            return _of_case(node)
        case _:
            assert_never(node)


def present(node: Comparable) -> Condition:
    """True where the number or day is not missing."""
    absent = missing(node)
    return EVERY_ROW if absent == NEVER else Not(absent)


def any_of(*parts: Condition) -> Condition:
    """The disjunction, without the parts that never hold."""
    said = tuple(part for part in dict.fromkeys(parts) if part != NEVER)
    return said[0] if len(said) == 1 else Or(said) if said else NEVER


def holds(condition: Condition) -> Condition:
    """Whether ``condition`` is true: false where it is missing."""
    return condition if never_missing(condition) else Compare(Indicator(condition), "=", ONE)


def fails_or_misses(condition: Condition) -> Condition:
    """Whether ``condition`` is not true: false or missing."""
    return Not(condition) if never_missing(condition) else Compare(Indicator(condition), "=", ZERO)


def undecided(condition: Condition) -> Condition:
    """Whether ``condition`` is neither true nor false."""
    return NEVER if never_missing(condition) else fails_or_misses(decided(condition))


def decided(condition: Condition) -> Condition:
    """True where ``condition`` is true or false; not true where it is neither."""
    return Or((condition, Not(condition)))


def truth_number(condition: Condition) -> NumberExpression:
    """1 where it is true, 0 where it is false, missing where it is neither."""
    if never_missing(condition):
        return _as_number(condition)
    return Case(((condition, ONE), (Not(condition), ZERO)))


def never_missing(condition: Condition) -> bool:
    """Whether ``condition`` is seen to be true or false of every row."""
    match condition:
        case IsMissing() | Always():
            return True
        case Not(inner):
            return never_missing(inner)
        case And(parts) | Or(parts):
            return all(map(never_missing, parts))
        case Compare(left, _, right):
            return missing(left) == missing(right) == NEVER
        case _:
            return False


def always_there(table: Table) -> list[Column]:
    """The columns of a table of persons of which each has a number: 0 where there is no row."""
    numbers = table.numbers if isinstance(table, TableOfPersons) else ()
    both = zip(table.columns, numbers, strict=False)
    return [column for column, (_, number) in both if number.kind in ("rows", "distinct")]


def _of_case(node: Case) -> Condition:
    """Missing is decided by the first condition that is true, as the number is."""
    branches = [(when, missing(then)) for when, then in node.branches]
    last = Always(True) if node.otherwise is None else missing(node.otherwise)
    if last == NEVER and all(then == NEVER for _, then in branches):
        return NEVER
    chosen = Case(tuple((when, _as_number(then)) for when, then in branches), _as_number(last))
    return Compare(chosen, "=", ONE)


def _as_number(condition: Condition) -> NumberExpression:
    return ZERO if condition == NEVER else ONE if condition == Always(True) else Indicator(condition)
