"""Functions of one row: each name that makes a number of numbers or of a date, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.query.expressions import Case, Clip, Condition, Floor, Indicator, NumberExpression, Square
from adyton.query.leaves import Bounded, Constant, DatePart, DayOf, IsOutside, Lookup, Part, word_for
from adyton.query.sql.names import called
from adyton.query.sql.reasons import reason_against
from adyton.query.text import coarsest_grain
from adyton.schema import CategoryColumn

if TYPE_CHECKING:
    from adyton.query.sql.expressions import Source

_ONE, _ZERO = Constant(Fraction(1)), Constant(Fraction(0))
# The parts of a date, as EXTRACT and the functions of one date name them.
_PARTS: dict[str, Part] = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "DAY": "day",
    "ISODOW": "weekday",
}


def read_call(source: Source, node: exp.Expr) -> NumberExpression:
    """The number that a function of one row gives."""
    name = called(source, node)
    if name in _PARTS:
        return _part(source, node, name, _arguments(source, node, f"{name}(date)", 1)[0])
    read = _FUNCTIONS.get(name)
    if name in CONDITION_FUNCTIONS:
        reason = f"write CASE WHEN {name}(column) THEN 1 ELSE 0 END"
        raise source.refusal(node, f"{name} is true or false, and a number is needed here; {reason}")
    if read is None:
        aggregate = f"{name} is an aggregate; it stands in SELECT alone, not inside an expression"
        why = reason_against(name, source.table)
        raise source.refusal(node, aggregate if why is None else f"{name} is not supported: {why}")
    return read(source, node)


def read_extract(source: Source, node: exp.Expr) -> NumberExpression:
    """EXTRACT(part FROM date)."""
    source.check_parts(node, "this", "expression")
    return _part(source, node, str(node.this.this).upper(), node.args["expression"])


def read_case(source: Source, node: exp.Expr) -> NumberExpression:
    """CASE WHEN condition THEN number ... [ELSE number] END; 1 or 0 for one condition is an indicator."""
    branches = [(when, source.number(then)) for when, then in whens(source, node)]
    default = node.args.get("default")
    otherwise = None if default is None or type(source.bare(default)) is exp.Null else source.number(default)
    if len(branches) == 1 and branches[0][1] == _ONE and otherwise == _ZERO:
        return Indicator(branches[0][0])
    return Case(tuple(branches), otherwise)


def read_test(source: Source, node: exp.Expr) -> Condition:
    """The condition that a function of one row gives: CLIPPED(column) or UNDECLARED(column)."""
    name = called(source, node)
    if name not in CONDITION_FUNCTIONS:
        raise source.refusal(node, f"a condition is needed here, not {name}")
    (inner,) = _arguments(source, node, f"{name}(column)", 1)
    inner = source.bare(inner)
    if type(inner) is not exp.Column:
        raise source.refusal(node, f"{name} needs a column: an expression is made of values as declared")
    column = source.column(inner)
    if isinstance(column, Bounded) and word_for(column) != name:
        is_category = isinstance(column, CategoryColumn)
        has = "a list of values and no bounds" if is_category else "bounds and no list of values"
        raise source.refusal(node, f"{column.name!r} has {has}: write {word_for(column)}({column.name})")
    return IsOutside(column)  # type: ignore[arg-type]  # the node checks its column


def whens(source: Source, node: exp.Expr) -> list[tuple[Condition, exp.Expr]]:
    """The conditions of a CASE, and what it gives where each is the first that is true.

    CASE x WHEN a THEN ... means CASE WHEN x = a THEN ...
    """
    source.check_parts(node, "this", "ifs", "default")
    for branch in node.args["ifs"]:
        source.check_parts(branch, "this", "true")
    subject = node.args.get("this")
    return [
        (
            source.condition(branch.this) if subject is None else source.equal(subject, branch.this),
            branch.args["true"],
        )
        for branch in node.args["ifs"]
    ]


def _arguments(source: Source, node: exp.Expr, form: str, *numbers: int) -> list[exp.Expr]:
    if len(node.expressions) not in numbers:
        raise source.refusal(node, f"write {form}")
    return list(node.expressions)


def _part(source: Source, node: exp.Expr, name: str, day: exp.Expr) -> NumberExpression:
    if name not in _PARTS:
        raise source.refusal(
            node, f"the parts of a date are {', '.join(_PARTS)} (Monday is 1); not {name[:40]}"
        )
    return DatePart(_PARTS[name], DayOf(source.column(source.bare(day))))  # type: ignore[arg-type]  # checked there


def _clamp(source: Source, node: exp.Expr) -> NumberExpression:
    inner, low, high = _arguments(source, node, "CLAMP(number, low, high)", 3)
    return Clip(source.number(inner), source.constant(low), source.constant(high))


def _least(source: Source, node: exp.Expr) -> NumberExpression:
    inner, bound = _bounded(source, node, "LEAST")
    return Clip(inner, inner.lattice.low * inner.lattice.grain, bound)


def _greatest(source: Source, node: exp.Expr) -> NumberExpression:
    inner, bound = _bounded(source, node, "GREATEST")
    return Clip(inner, bound, inner.lattice.high * inner.lattice.grain)


def _bounded(source: Source, node: exp.Expr, name: str) -> tuple[NumberExpression, Fraction]:
    inner, bound = map(source.number, _arguments(source, node, f"{name}(number, literal)", 2))
    if isinstance(inner, Constant):
        inner, bound = bound, inner
    if not isinstance(bound, Constant) or isinstance(inner, Constant):
        raise source.refusal(node, f"{name} takes a number and a literal")
    return inner, bound.value


def _floor(source: Source, node: exp.Expr) -> NumberExpression:
    """The last division is the width of bins; FLOOR without one has bins of width 1."""
    (inner,) = _arguments(source, node, "FLOOR(number) or FLOOR(number / width)", 1)
    inner = source.bare(inner)
    if type(inner) is exp.Div:
        width = source.number(inner.args["expression"])
        if isinstance(width, Constant) and width.value > 0:
            source.check_parts(inner, "this", "expression")
            return Floor(source.number(inner.this), width.value)
    return Floor(source.number(inner), Fraction(1))


def _square(source: Source, node: exp.Expr) -> NumberExpression:
    return Square(source.number(_arguments(source, node, "SQUARE(number)", 1)[0]))


def _lookup(source: Source, node: exp.Expr) -> NumberExpression:
    """A list of numbers, one for each declared value of a category, in the order of declaration."""
    if len(node.expressions) < 2:
        raise source.refusal(node, "write LOOKUP(category, number, number, ...)")
    column = source.column(source.bare(node.expressions[0]))
    if not isinstance(column, CategoryColumn):
        raise source.refusal(node, f"LOOKUP needs a category; {column.name!r} is {column.kind}")
    *listed, last = node.expressions[1:]
    grain = None
    if type(last) is exp.Kwarg:
        if str(last.this.this).upper() != "GRAIN":
            raise source.refusal(node, "the argument with a name is grain => (number)")
        grain = source.constant(last.args["expression"])
    else:
        listed.append(last)
    values = [None if type(one) is exp.Null else source.constant(one) for one in listed]
    grain = coarsest_grain(value for value in values if value is not None) if grain is None else grain
    if grain <= 0 or any(value is not None and (value / grain).denominator != 1 for value in values):
        raise source.refusal(node, "the numbers of LOOKUP must be whole multiples of its grain")
    return Lookup(column, tuple(None if value is None else int(value / grain) for value in values), grain)


_FUNCTIONS: dict[str, Callable[[Source, exp.Expr], NumberExpression]] = {
    "CLAMP": _clamp,
    "FLOOR": _floor,
    "GREATEST": _greatest,
    "LEAST": _least,
    "LOOKUP": _lookup,
    "SQUARE": _square,
}
NUMBER_FUNCTIONS = (*_FUNCTIONS, *_PARTS)
CONDITION_FUNCTIONS = ("CLIPPED", "UNDECLARED")
