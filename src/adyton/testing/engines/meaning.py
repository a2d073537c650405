"""What numbers and conditions mean on one row, in plain Python: see ``reference``."""

from __future__ import annotations

import datetime
import math
import operator
from fractions import Fraction
from typing import Any, assert_never

from adyton.kernel.schema import CategoryColumn, day_of
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
    Or,
    Plus,
    Quotient,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import (
    Always,
    Constant,
    DatePart,
    Day,
    DayCount,
    DayFrom,
    DayOf,
    IsMissing,
    IsOutside,
    IsTrue,
    Lookup,
    OneOf,
    Part,
    ValueOf,
)
from adyton.kernel.terms.persons import PersonNumber

# Column name -> lattice integer, position in the list of values, truth, or text; None is missing.
Row = dict[str, Any]
OUTSIDE = ""  # no column has this name: the names of those whose value came from outside

_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "<>": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def number(node: Comparable, row: Row) -> int | None:
    """The node's integer on its own lattice; None is missing."""
    match node:
        case ValueOf(column) | DayOf(column) | DayCount(DayOf(column)):
            return row[column.name]  # type: ignore[no-any-return]
        case Constant() | Day():
            return node.lattice.low
        case Plus(left, right):
            a, b = number(left, row), number(right, row)
            if a is None or b is None:
                return None
            return _steps(_times(a, left.lattice.step) + _times(b, right.lattice.step), node.lattice.step)
        case Times(left, right):
            a, b = number(left, row), number(right, row)
            return None if a is None or b is None else a * b
        case Negative(inner):
            a = number(inner, row)
            return None if a is None else -a
        case Square(inner):
            a = number(inner, row)
            return None if a is None else a * a
        case Clip(inner, low, high):
            exact = value(inner, row)
            return None if exact is None else _steps(min(max(exact, low), high), node.lattice.step)
        case Floor(inner, step):
            exact = value(inner, row)
            return None if exact is None else _steps(exact, step)
        case Curved(_, inner):
            a = number(inner, row)
            return None if a is None else node.numbers[a - inner.lattice.low]
        case Quotient():
            return _quotient(node, row)
        case Indicator(inner):
            return int(condition(inner, row) is True)
        case Case(branches, otherwise):
            met = (then for when, then in branches if condition(when, row) is True)
            chosen = next(met, otherwise)
            exact = None if chosen is None else value(chosen, row)
            return None if exact is None else _steps(exact, node.lattice.step)
        case Lookup(column, numbers):
            code = row[column.name]
            return None if code is None else numbers[code]
        case DayFrom(inner):
            exact = value(inner, row)
            return None if exact is None else int(exact)
        case DatePart(part, inner):
            a = number(inner, row)
            return None if a is None else _part(part, day_of(a))
        case _:
            assert_never(node)


def value(node: Comparable, row: Row) -> Fraction | int | None:
    """The node's value itself, not counted in steps."""
    steps = number(node, row)
    return None if steps is None else _times(steps, node.lattice.step)


def _times(steps: int, step: Fraction) -> Fraction | int:
    """Whole values are whole numbers, with which everything takes a tenth of the time."""
    return steps * step.numerator if step.denominator == 1 else steps * step


def _steps(exact: Fraction | int, step: Fraction) -> int:
    """How many steps, of which the last is whole."""
    return exact * step.denominator // step.numerator


def _quotient(node: Quotient, row: Row) -> int | None:
    over, under = value(node.over, row), value(node.under, row)
    if over is None or not under:
        return None
    step, exact = node.lattice.step, Fraction(over) / under
    size = math.floor(abs(exact) / step + Fraction(1, 2))
    return int(min(max((size if exact > 0 else -size) * step, node.low), node.high) / step)


def _part(part: Part, day: datetime.date) -> int:
    match part:
        case "quarter":
            return (day.month + 2) // 3
        case "weekday":
            return day.isoweekday()
        case "year" | "month" | "day":
            found: int = getattr(day, part)
            return found


def condition(node: Condition, row: Row) -> bool | None:
    """None is neither true nor false, as in SQL."""
    match node:
        case Compare(left, sign, right):
            a, b = number(left, row), number(right, row)
            if a is None or b is None:
                return None
            return bool(_COMPARE[sign](_times(a, left.lattice.step), _times(b, right.lattice.step)))
        case OneOf(column, values):
            code = row[column.name]
            return None if code is None else column.values[code] in values
        case IsTrue(column):
            truth: bool | None = row[column.name]
            return truth
        case IsMissing(column):
            return row[column.name] is None
        case IsOutside(column):
            came = column.name in row.get(OUTSIDE, ())
            if isinstance(column, CategoryColumn):
                return came or (None if row[column.name] is None else False)
            return None if row[column.name] is None else came
        case Always(truth):
            return truth
        case Not(inner):
            met = condition(inner, row)
            return None if met is None else not met
        case And(parts):
            all_met = [condition(part, row) for part in parts]
            return False if False in all_met else None if None in all_met else True
        case Or(parts):
            any_met = [condition(part, row) for part in parts]
            return True if True in any_met else None if None in any_met else False
        case _:
            assert_never(node)


def number_of_person(node: PersonNumber, rows: list[Row]) -> int | None:
    """What a person's own rows come to."""
    counted = [row for row in rows if condition(node.where, row) is True]
    match node.value:
        case None:
            return len(counted)
        case CategoryColumn(name):
            return len({row[name] for row in counted} - {None})
        case value:
            found = [one for one in (number(value, row) for row in counted) if one is not None]
    if not found:
        return None
    return sum(found) if node.kind == "sum" else min(found) if node.kind == "least" else max(found)
