"""CAST(value AS type) and value::type, where the type keeps or coarsens what a value is."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.exact import rational
from adyton.kernel.schema import CategoryColumn, Lattice
from adyton.kernel.terms.expressions import MOST_STEPS, Compare, Days, NumberExpression
from adyton.kernel.terms.leaves import Constant, Lookup
from adyton.query.calendar import sum_of, whole
from adyton.query.doubles import short_double
from adyton.query.missing import ZERO, truth_number
from adyton.query.sql.functions.arguments import whole_number
from adyton.query.sql.functions.numbers import folded, rounded
from adyton.query.sql.functions.values import Texts, Value, described, is_text, merged, texts_of, truth_of

if TYPE_CHECKING:
    from adyton.query.sql.expressions import SqlText

_D = exp.DType
_INTEGERS = {_D.TINYINT: 7, _D.SMALLINT: 15, _D.INT: 31, _D.BIGINT: 63, _D.INT128: 127}
_DECIMALS = (_D.DECIMAL, _D.BIGDECIMAL)
_REALS = (_D.DOUBLE, _D.FLOAT, *_DECIMALS)
_STRINGS = (_D.VARCHAR, _D.TEXT, _D.CHAR, _D.NVARCHAR)
_DAYS = (_D.DATE, _D.TIMESTAMP, _D.DATETIME)
_NUMBER = re.compile(r"(?a:-?(\d+\.?\d*|\.\d+))")
_REASON = "types are INTEGER, BIGINT, DOUBLE, DECIMAL(p, s), VARCHAR, DATE, TIMESTAMP and BOOLEAN"


def read_cast(source: SqlText, node: exp.Expr) -> Value:
    """CAST, TRY_CAST, SAFE_CAST and ``::``; also DATE 'x' and TIMESTAMP 'x'."""
    source.check_parts(node, "this", "to", "safe")
    kind = node.args["to"]
    source.check_parts(kind, "this", "expressions")
    parameters = [whole_number(source, one.this, 0, 10_000) for one in kind.expressions]
    with source.at(node):
        if kind.this in _DAYS and not parameters:
            return _day(source, node)
        value = source.operand(node.this)
        if kind.this in _INTEGERS and not parameters:
            return _fits(folded(rounded(_number(value), Fraction(1))), 2 ** _INTEGERS[kind.this])
        if kind.this in _DECIMALS and parameters:
            digits, decimals = (*parameters, 0)[:2]
            number = folded(rounded(_number(value), Fraction(1, 10**decimals)))
            return _fits(number, 10 ** max(digits - decimals, 0))
        if kind.this in _REALS and not parameters:
            if isinstance(value, str) and kind.this not in _DECIMALS:
                return number_from(value, as_double=True)
            return _number(value)
        if kind.this in _STRINGS:
            return _string(value, *parameters[:1])
        if kind.this is _D.BOOLEAN and not parameters:
            return _truth(value)
    raise source.refusal(node, f"{_REASON}; not this")


def number_from(text: str, *, as_double: bool = False) -> Constant:
    """The number that a string writes, such as '7'; or the shortest text of its double."""
    if not _NUMBER.fullmatch(text):
        raise InvalidRequest(f"the string {text[:40]!r} is not a number")
    return Constant(rational(short_double(text) if as_double else text, "a number"))


def _number(value: Value) -> NumberExpression:
    """A string or a category whose values are all numbers is a number, and a truth is 1 or 0."""
    if isinstance(value, NumberExpression):
        return value
    if isinstance(value, str):
        return number_from(value)
    truth = truth_of(value)
    if truth is not None:
        return truth_number(truth)
    if isinstance(value, CategoryColumn) and all(_is_whole(one) for one in value.values):
        return Lookup(value, tuple(int(one) for one in value.values))
    raise InvalidRequest(f"{described(value)} is not always a whole number, so it cannot become one")


def _is_whole(value: str | int) -> bool:
    return isinstance(value, int) or re.fullmatch(r"(?a:-?\d{1,15})", value) is not None


def _fits(number: NumberExpression, beyond: int) -> NumberExpression:
    lattice: Lattice = number.lattice
    if max(abs(lattice.low), abs(lattice.high)) * lattice.step >= beyond:
        raise InvalidRequest("the number can be too large for this type: use a wider one")
    return number


def _day(source: SqlText, node: exp.Expr) -> Value:
    inner = source.bare(node.this)
    if type(inner) is exp.Literal and inner.args["is_string"]:
        text = re.sub(r"[ T]00:00(:00(\.0+)?)?$", "", str(inner.this))
        if text[10:]:
            raise source.refusal(node, "columns have days and no time of day: write the day, as '2020-01-31'")
        return source.day(node, text)
    value = source.operand(inner)
    if not isinstance(value, Days):
        raise source.refusal(node, f"{described(value)} cannot become a date")
    return value


def _string(value: Value, longest: int | None = None) -> Value:
    texts = digits_of(value)
    if longest is not None and isinstance(texts, Texts) and max(map(len, texts.labels)) > longest:
        raise InvalidRequest(f"a value has more than {longest} characters, which databases treat apart")
    return value if isinstance(value, str | Days) or is_text(value) else texts


def digits_of(value: Value) -> Value:
    """The string that a value is written as; a day stays one."""
    if isinstance(value, Days):
        return value  # is shown, and compared, as '2020-01-31'
    if is_text(value):
        return texts_of(value)  # type: ignore[arg-type]  # by the line above
    if isinstance(value, CategoryColumn):
        return Texts(Lookup(value, tuple(range(len(value.values)))), tuple(map(str, value.values)))
    truth = truth_of(value)
    if truth is not None:
        return Texts(truth_number(truth), ("false", "true"))
    if isinstance(value, NumberExpression) and value.lattice.step == 1:
        low, high = value.lattice.low, value.lattice.high
        if high - low < MOST_STEPS:
            return merged(sum_of(value, whole(-low)), [str(one) for one in range(low, high + 1)])
    raise InvalidRequest(
        f"{described(value)} becomes a string only if it is a whole number with at most {MOST_STEPS} values"
    )


def _truth(value: Value) -> Value:
    if isinstance(value, NumberExpression):
        return Compare(value, "<>", ZERO)
    truth = truth_of(value)
    if truth is None:
        raise InvalidRequest(f"{described(value)} is neither true nor false")
    return truth
