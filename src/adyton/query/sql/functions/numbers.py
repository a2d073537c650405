"""Numbers made of numbers, as compositions of the few that every engine computes alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor, gcd
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.kernel.exact.curves import Curve
from adyton.kernel.schema import CategoryColumn
from adyton.kernel.terms.expressions import (
    Case,
    Clip,
    Compare,
    Curved,
    Floor,
    Negative,
    Not,
    NumberExpression,
    Quotient,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import Constant, Lookup
from adyton.query.calendar import known_value, sum_of, within
from adyton.query.missing import ONE, ZERO, missing
from adyton.query.sql.functions.arguments import arguments, several, whole_number
from adyton.query.sql.names import called, calls
from adyton.query.text import coarsest_step

if TYPE_CHECKING:
    from adyton.query.sql.expressions import SqlText

_HALF = Fraction(1, 2)
_CURVES: dict[str, Curve] = {"SQRT": "sqrt", "LN": "ln", "LOG10": "log10", "EXP": "exp"}
_DECIMALS = 6  # of a root or a logarithm that is not rounded by the query
_MOST_BUCKETS = 10_000
_LARGEST_EXPONENT = 4


# Whole numbers and remainders ------------------------------------------------------------------------------


def rounded(number: NumberExpression, step: Fraction) -> NumberExpression:
    """The nearest multiple of ``step``, half away from zero."""
    if (number.lattice.step / step).denominator == 1:
        return number
    half = Constant(step * _HALF)
    return _odd(number, lambda x: _multiple(Floor(sum_of(x, half), step), step))


def rounded_to_even(number: NumberExpression, step: Fraction) -> NumberExpression:
    """The nearest multiple of ``step``; of two that are as near, the even one."""
    finest, half = number.lattice.step, step * _HALF
    parts = finest.denominator * half.denominator
    if (finest / step).denominator == 1 or int(half * parts) % gcd(int(finest * parts), int(step * parts)):
        return rounded(number, step)  # none is as near to two
    nearest = _multiple(Floor(sum_of(number, Constant(half)), step), step)
    rest = sum_of(number, Negative(Times(Floor(number, 2 * step), Constant(2 * step))))
    lower = sum_of(nearest, Constant(-step))
    even = Case(((Compare(rest, "=", Constant(half)), lower),), nearest)
    low, high = (round(end / step) * step for end in ends(number))
    return within(even, low, high)


def truncated(number: NumberExpression, step: Fraction = Fraction(1)) -> NumberExpression:
    """The nearest multiple of ``step`` towards zero."""
    if (number.lattice.step / step).denominator == 1:
        return number
    toward = [(floor(end / step) if end > 0 else ceil(end / step)) * step for end in ends(number)]
    return within(_odd(number, lambda x: _multiple(Floor(x, step), step)), *toward)


def remainder(number: NumberExpression, divisor: Fraction) -> NumberExpression:
    """What is left of a division that is truncated towards zero: it has the sign of the number."""
    divisor = abs(divisor)

    def left(x: NumberExpression) -> NumberExpression:
        rest = sum_of(x, Negative(Times(Floor(x, divisor), Constant(divisor))))
        if rest.lattice.step >= divisor:
            return Times(x, ZERO)
        return Clip(rest, Fraction(0), divisor - rest.lattice.step)

    return _odd(number, left)


def _odd(
    number: NumberExpression, of_positive: Callable[[NumberExpression], NumberExpression]
) -> NumberExpression:
    """A function that gives the opposite for the opposite number, from what it is above zero."""
    if number.lattice.low >= 0:
        return of_positive(number)
    below = Negative(of_positive(Negative(number)))
    if number.lattice.high <= 0:
        return below
    return Case(((Compare(number, ">=", ZERO), of_positive(number)),), below)


def _multiple(number: NumberExpression, step: Fraction) -> NumberExpression:
    return number if step == 1 else Times(number, Constant(step))


def ends(number: NumberExpression) -> tuple[Fraction, Fraction]:
    """The least and the greatest that it can be."""
    lattice = number.lattice
    return lattice.low * lattice.step, lattice.high * lattice.step


def folded(number: NumberExpression) -> NumberExpression:
    """A number that reads no column is written out."""
    value = None if isinstance(number, Constant) else known_value(number)
    return number if value is None else Constant(value)


# Functions -------------------------------------------------------------------------------------------------


def _clamp(source: SqlText, node: exp.Expr) -> NumberExpression:
    inner, low, high = arguments(source, node, "CLAMP(number, low, high)", 3)
    parts = _ratio(source, inner)
    if parts is not None:
        over, under, decimals = parts
        return folded(Quotient(over, under, source.constant(low), source.constant(high), decimals))
    return Clip(source.number(inner), source.constant(low), source.constant(high))


def _ratio(source: SqlText, node: exp.Expr) -> tuple[NumberExpression, NumberExpression, int] | None:
    """The parts of a quotient of two columns, and its decimals; None if it is none."""
    node, decimals = source.bare(node), _DECIMALS
    if calls(node, ("ROUND",)) and len(node.expressions) == 2:
        decimals = whole_number(source, node.expressions[1], -18, 18)
        node = source.bare(node.expressions[0])
    if calls(node, ("SAFE_DIVIDE",)):
        over, under = arguments(source, node, "SAFE_DIVIDE(number, number)", 2)
    elif type(node) is exp.Div:
        over, under = source.sides(node)
    else:
        return None
    divisor = source.number(without_null_if(source, under))
    return None if isinstance(divisor, Constant) else (source.number(over), divisor, decimals)


def without_null_if(source: SqlText, node: exp.Expr) -> exp.Expr:
    """x of NULLIF(x, 0): division by 0 is missing without it as well."""
    node = source.bare(node)
    if calls(node, ("NULLIF",)) and len(node.expressions) == 2:
        first, zero = map(source.bare, node.expressions)
        if type(zero) is exp.Literal and not zero.is_string and source.constant(zero) == 0:
            return first
    return node


def _floor(source: SqlText, node: exp.Expr) -> NumberExpression:
    """The last division is the width of bins; FLOOR without one has bins of width 1."""
    (inner,) = arguments(source, node, "FLOOR(number) or FLOOR(number / width)", 1)
    return Floor(*_divided(source, inner))


def _ceiling(source: SqlText, node: exp.Expr) -> NumberExpression:
    name = called(source, node)
    (inner,) = arguments(source, node, f"{name}(number)", 1)
    number, width = _divided(source, inner)
    return folded(Negative(Floor(Negative(number), width)))


def _divided(source: SqlText, inner: exp.Expr) -> tuple[NumberExpression, Fraction]:
    inner = source.bare(inner)
    if type(inner) is exp.Div:
        divided, divisor = source.sides(inner)
        width = source.number(divisor)
        if isinstance(width, Constant) and width.value > 0:
            return source.number(divided), width.value
    return source.number(inner), Fraction(1)


def _round(source: SqlText, node: exp.Expr) -> NumberExpression:
    inner, *digits = arguments(source, node, "ROUND(number) or ROUND(number, decimals)", 1, 2)
    decimals = whole_number(source, digits[0], -18, 18) if digits else 0
    inner = source.bare(inner)
    if calls(inner, _CURVES) and decimals >= 0:
        return _curved(source, inner, decimals)
    return folded(rounded(source.number(inner), Fraction(10) ** -decimals))


def _round_even(source: SqlText, node: exp.Expr) -> NumberExpression:
    inner, *digits = arguments(source, node, "ROUND_EVEN(number) or ROUND_EVEN(number, decimals)", 1, 2)
    decimals = whole_number(source, digits[0], -18, 18) if digits else 0
    return folded(rounded_to_even(source.number(inner), Fraction(10) ** -decimals))


def _truncate(source: SqlText, node: exp.Expr) -> NumberExpression:
    name = called(source, node)
    inner, *digits = arguments(source, node, f"{name}(number) or {name}(number, decimals)", 1, 2)
    decimals = whole_number(source, digits[0], -18, 18) if digits else 0
    return folded(truncated(source.number(inner), Fraction(10) ** -decimals))


def _abs(source: SqlText, node: exp.Expr) -> NumberExpression:
    number = source.number(arguments(source, node, "ABS(number)", 1)[0])
    lattice = number.lattice
    if lattice.low >= 0:
        return number
    if lattice.high <= 0:
        return folded(Negative(number))
    positive = Case(((Compare(number, "<", ZERO), Negative(number)),), number)
    return folded(within(positive, 0, max(-lattice.low, lattice.high) * lattice.step))


def _sign(source: SqlText, node: exp.Expr) -> NumberExpression:
    number = source.number(arguments(source, node, "SIGN(number)", 1)[0])
    signs = (
        (Compare(number, ">", ZERO), ONE),
        (Compare(number, "<", ZERO), Constant(Fraction(-1))),
        (Compare(number, "=", ZERO), ZERO),
    )
    return folded(Case(signs))


def read_mod(source: SqlText, node: exp.Expr) -> NumberExpression:
    """number % literal, or MOD(number, literal)."""
    number, divisor = _both(source, node, "MOD(number, literal)")
    return folded(remainder(source.number(number), _divisor(source, divisor)))


def read_div(source: SqlText, node: exp.Expr) -> NumberExpression:
    """number // literal, number DIV literal, or DIV(number, literal): truncated towards zero."""
    divided, divisor = _both(source, node, "DIV(number, literal)")
    value, by = source.number(divided), _divisor(source, divisor)
    if value.lattice.step.denominator != 1 or by.denominator != 1:
        raise source.refusal(divided, "whole division is of whole numbers; write FLOOR(x / w) for others")
    if (value.lattice.step / by).denominator == 1:
        return folded(Times(value, Constant(1 / by)))
    number, width = (value, by) if by > 0 else (Negative(value), -by)
    toward = [floor(end / width) if end > 0 else ceil(end / width) for end in ends(number)]
    return folded(within(_odd(number, lambda x: Floor(x, width)), *toward))


def _both(source: SqlText, node: exp.Expr, form: str) -> Sequence[exp.Expr]:
    """The sides of a sign, or the two arguments of the function that says the same."""
    return arguments(source, node, form, 2) if type(node) is exp.Anonymous else source.sides(node)


def _divisor(source: SqlText, node: exp.Expr) -> Fraction:
    value = source.number(node)
    if not isinstance(value, Constant) or not value.value:
        raise source.refusal(node, "only division by a literal other than 0 is supported")
    return value.value


def _power(source: SqlText, node: exp.Expr) -> NumberExpression:
    name = called(source, node)
    base, exponent = arguments(source, node, f"{name}(number, literal)", 2)
    power, number = source.constant(exponent), source.number(base)
    if power == _HALF:
        return folded(Curved("sqrt", number, _DECIMALS))
    if power.denominator != 1 or not 0 <= power <= _LARGEST_EXPONENT:
        raise source.refusal(node, f"exponents are 0 to {_LARGEST_EXPONENT}, whole numbers, or 0.5")
    return folded(_to_the(number, int(power)))


def _to_the(number: NumberExpression, power: int) -> NumberExpression:
    if power == 0:
        return Case(((Not(missing(number)), ONE),))
    if power == 1:
        return number
    if power == 2:
        return Square(number)
    if power == 4:
        return Square(Square(number))
    low, high = ends(number)
    return within(Times(Square(number), number), low**3, high**3)


def _square(source: SqlText, node: exp.Expr) -> NumberExpression:
    return Square(source.number(arguments(source, node, "SQUARE(number)", 1)[0]))


def _curve(source: SqlText, node: exp.Expr) -> NumberExpression:
    return _curved(source, node, _DECIMALS)


def _curved(source: SqlText, node: exp.Expr, decimals: int) -> NumberExpression:
    name = called(source, node)
    (inner,) = arguments(source, node, f"{name}(number)", 1)
    with source.at(node):
        return folded(Curved(_CURVES[name], source.number(inner), decimals))


def _bucket(source: SqlText, node: exp.Expr) -> NumberExpression:
    """0 below the first bucket, and one more than their number from the end of the last."""
    form = "WIDTH_BUCKET(number, low, high, number of buckets)"
    inner, *ends, count = arguments(source, node, form, 4)
    low, high = map(source.constant, ends)
    buckets = whole_number(source, count, 1, _MOST_BUCKETS)
    if not low < high:
        raise source.refusal(node, "the buckets lie between two literals: give low < high")
    width = (high - low) / buckets
    place = sum_of(Floor(sum_of(source.number(inner), Constant(-low)), width), ONE)
    return folded(within(place, 0, buckets + 1))


def _lookup(source: SqlText, node: exp.Expr) -> NumberExpression:
    """A list of numbers, one for each declared value of a category, in the order of declaration."""
    first, *listed = several(source, node, "LOOKUP(category, number, number, ...)")
    column = source.column(source.bare(first))
    if not isinstance(column, CategoryColumn):
        raise source.refusal(node, f"LOOKUP needs a category; {column.name!r} is {column.kind}")
    step = None
    if type(listed[-1]) is exp.Kwarg:
        named = listed.pop()
        if str(named.this.this).upper() != "STEP":
            raise source.refusal(node, "the argument with a name is step => (number)")
        step = source.constant(named.args["expression"])
    values = [None if type(one) is exp.Null else source.constant(one) for one in listed]
    step = coarsest_step(value for value in values if value is not None) if step is None else step
    if step <= 0 or any(value is not None and (value / step).denominator != 1 for value in values):
        raise source.refusal(node, "the numbers of LOOKUP must be whole multiples of its step")
    return Lookup(column, tuple(None if value is None else int(value / step) for value in values), step)


NUMBERS: dict[str, Callable[[SqlText, exp.Expr], NumberExpression]] = {
    "ABS": _abs,
    "CEIL": _ceiling,
    "CEILING": _ceiling,
    "CLAMP": _clamp,
    "DIV": read_div,
    "FLOOR": _floor,
    "LOOKUP": _lookup,
    "MOD": read_mod,
    "POW": _power,
    "POWER": _power,
    "ROUND": _round,
    "ROUND_EVEN": _round_even,
    "SIGN": _sign,
    "SQUARE": _square,
    "TRUNC": _truncate,
    "TRUNCATE": _truncate,
    "WIDTH_BUCKET": _bucket,
    **dict.fromkeys(_CURVES, _curve),
}
