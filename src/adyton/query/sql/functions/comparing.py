"""Comparisons of two values: which kinds can stand on both sides of a sign, and what it then means."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn
from adyton.kernel.terms.expressions import And, Compare, Condition, Days, Not, NumberExpression, Operator, Or
from adyton.kernel.terms.leaves import Always, Constant, OneOf
from adyton.query.missing import NEVER, any_of, holds
from adyton.query.released.nodes import SIGNS
from adyton.query.sql.functions.casts import number_from
from adyton.query.sql.functions.values import (
    Texts,
    Value,
    compared_texts,
    described,
    is_text,
    missing_value,
    truth_of,
)

if TYPE_CHECKING:
    from adyton.query.sql.expressions import SqlText

_MIRRORED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(source: SqlText, node: exp.Expr, left: Value, operator: Operator, right: Value) -> Condition:
    """``left operator right``; missing where one of them is."""
    if _is_written(left) and not _is_written(right):
        left, operator, right = right, _MIRRORED.get(operator, operator), left
    if isinstance(left, CategoryColumn) and isinstance(right, str | Constant):
        return _category(source, node, left, operator, right)
    if isinstance(left, Days) and isinstance(right, str):
        return Compare(left, operator, source.day(node, right))
    if isinstance(left, Days) and isinstance(right, Days):
        return Compare(left, operator, right)
    if isinstance(left, NumberExpression) and isinstance(right, NumberExpression):
        return Compare(left, operator, right)
    if isinstance(left, NumberExpression) and isinstance(right, str) and not isinstance(left, Constant):
        return Compare(left, operator, number_from(right))
    if is_text(left) and is_text(right) and (isinstance(left, Texts) or not isinstance(right, str)):
        return compared_texts(left, operator, right)  # type: ignore[arg-type]  # both are strings
    if operator in ("=", "<>") and not _is_written(left):
        found = _truths(truth_of(left), operator, truth_of(_as_truth(left, right)))
        if found is not None:
            return found
    raise source.refusal(node, f"{described(left)} cannot be compared by {operator} with {described(right)}")


def same_or_missing(source: SqlText, node: exp.Expr, left: Value, right: Value) -> Condition:
    """Whether they are the same value, or both missing; never missing itself.  SQL: IS NOT DISTINCT FROM."""
    absent = missing_value(left), missing_value(right)
    both = NEVER if NEVER in absent else And(absent)
    return holds(any_of(compared(source, node, left, "=", right), both))


def _is_written(value: Value) -> bool:
    return isinstance(value, Constant | str | bool)


def _as_truth(beside: Value, value: Value) -> Value:
    """Beside a boolean column, 1 is true and 0 false."""
    if isinstance(beside, BooleanColumn) and isinstance(value, Constant) and value.value in (0, 1):
        return bool(value.value)
    return value


def _truths(left: Condition | None, operator: Operator, right: Condition | None) -> Condition | None:
    if left is None or right is None:
        return None
    if isinstance(right, Always):
        return left if right.truth == (operator == "=") else Not(left)
    same = Or((And((left, right)), And((Not(left), Not(right)))))
    return same if operator == "=" else Not(same)


def _category(
    source: SqlText, node: exp.Expr, column: CategoryColumn, operator: Operator, written: str | Constant
) -> Condition:
    is_string = isinstance(written, str)
    if is_string != isinstance(column.values[0], str):
        if isinstance(written, Constant):
            raise source.refusal(node, f"the category {column.name!r} holds strings, not a number")
        return _category(source, node, column, operator, number_from(written))
    if operator not in ("=", "<>"):
        wanted = written if isinstance(written, str) else written.value
        values = tuple(value for value in column.values if SIGNS[operator](value, wanted))
        if not values:
            said = repr(written[:40]) if isinstance(written, str) else written.value
            raise source.refusal(node, f"no declared value of {column.name!r} is {operator} {said}")
        return OneOf(column, values)
    chosen = OneOf(column, (written if isinstance(written, str) else _whole(written.value),))
    return chosen if operator == "=" else Not(chosen)


def _whole(value: Fraction) -> int:
    if value.denominator != 1:
        raise InvalidRequest(f"a category of whole numbers never equals {float(value)}")
    return int(value)
