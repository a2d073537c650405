"""Quotients of two aggregates that are a share or a mean: asked for as that, for one price and less noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from sqlglot import exp

from adyton.kernel.terms.expressions import And, Case, Condition, Indicator, Not, all_of
from adyton.kernel.terms.leaves import EVERY_ROW, Constant, IsMissing, IsTrue, ValueOf
from adyton.kernel.terms.measures import Count, Mean, Measure, Proportion, Sum
from adyton.query.names import default_name
from adyton.query.sql.aggregates import is_aggregate, is_computed, read_measure
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.functions.numbers import without_null_if

_ZERO = Constant(Fraction(0))
Found = tuple[int, int, str, Measure]


def quotient_measure(
    source: SqlText, top: Sequence[exp.Expr], bottom: Sequence[exp.Expr], listed: Callable[[Measure], bool]
) -> Found | None:
    """The places of two factors whose quotient is one measure, and that measure with its name.

    Where both are ``listed`` anyway, a third would only take from their price.
    """
    over = [(i, _measure(source, node)) for i, node in enumerate(top)]
    under = [(j, _measure(source, node)) for j, node in enumerate(bottom)]
    for i, one in over:
        for j, other in under:
            if one is None or other is None or (listed(one) and listed(other)):
                continue
            if (found := as_measure(one, other)) is not None:
                return i, j, *found
    return None


def as_measure(top: Measure, bottom: Measure) -> tuple[str, Measure] | None:
    """A share of rows, or a mean: the same number wherever the divisor is not 0."""
    if not isinstance(bottom, Count):
        return None
    match top:
        case Count(where):
            return _share(where, bottom.where)
        case Sum(Indicator(condition), where):  # a count, written as a sum
            told = condition if where == _present(condition) else all_of(condition, where)
            return _share(told, bottom.where)
        case Sum(ValueOf() as value, where):
            present = Not(IsMissing(value.column))
            if set(_parts(bottom.where)) == set(_parts(all_of(present, where))):
                return default_name("avg", value), Mean(value, where)
            if bottom.where == where:
                return default_name("avg", value), Mean(Case(((present, value),), _ZERO), where)
    return None


def _share(condition: Condition, of: Condition) -> tuple[str, Measure] | None:
    """Rows with ``condition`` among the rows ``of``, if it holds for none but them."""
    others = tuple(part for part in _parts(condition) if part not in _parts(of))
    if not others or (of != EVERY_ROW and not set(_parts(of)) <= set(_parts(condition))):
        return None
    rest = others[0] if len(others) == 1 else And(others)
    return default_name("proportion", rest), Proportion(rest, of)


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, And) else (condition,)


def _present(condition: Condition) -> Condition | None:
    return Not(IsMissing(condition.column)) if isinstance(condition, IsTrue) else None


def _measure(source: SqlText, node: exp.Expr) -> Measure | None:
    """The aggregate that a factor is; NULLIF(aggregate, 0) as well, and a CAST to a number with a point."""
    node = source.bare(node)
    if (inner := without_null_if(source, node)) is not node:
        return _measure(source, inner)
    is_cast = type(node) in (exp.Cast, exp.TryCast)
    if is_cast and node.args["to"].this in (exp.DType.DOUBLE, exp.DType.FLOAT):
        return _measure(source, node.this)
    return read_measure(source, node)[1] if is_aggregate(node) and not is_computed(node) else None
