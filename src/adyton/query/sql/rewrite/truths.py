"""BOOL_OR(c) and BOOL_AND(c): 1 or 0, by the noisy count of the rows that decide."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.functions.arguments import arguments
from adyton.query.sql.names import SAID, calls
from adyton.query.sql.rewrite.scopes import Context, in_brackets, placed

_SOME = ("BOOL_OR", "BOOLOR_AGG", "LOGICAL_OR")
_ALL = ("BOOL_AND", "BOOLAND_AGG", "EVERY", "LOGICAL_AND")
TRUTHS = (*_SOME, *_ALL)


def count_truths(context: Context, tree: exp.Expr) -> None:
    """One row is enough to make BOOL_OR true, and one to make BOOL_AND false.

    In HAVING it is a condition.  Where no row has a truth it is false, or true, and not missing.

    >>> after("SELECT BOOL_OR(x > 3) FROM sales")
    SELECT CASE WHEN COUNT_IF((x > 3)) >= 1 THEN 1 ELSE 0 END FROM sales
    """
    for call in list(tree.find_all(exp.Anonymous)):
        if calls(call, TRUTHS):
            whole = call.parent if type(call.parent) is exp.Filter else call
            whole.replace(_counted(context, call, whole))


def _counted(context: Context, call: exp.Expr, whole: exp.Expr) -> exp.Expr:
    name = str(call.this).upper()
    (inner,) = arguments(context.source, call, f"{name}(condition), with one condition", 1)
    condition, some = in_brackets(inner.copy()), name in _SOME
    counted = exp.Anonymous(this="COUNT_IF", expressions=[condition if some else exp.Not(this=condition)])
    placed(counted, call).meta[SAID] = name
    filtered = whole.args["expression"].copy() if type(whole) is exp.Filter else None
    number = counted if filtered is None else exp.Filter(this=counted, expression=filtered)
    occurs = exp.GTE(this=number, expression=exp.Literal.number(1))
    if whole.find_ancestor(exp.Having, exp.Qualify) is not None:
        return exp.Paren(this=occurs if some else exp.Not(this=exp.Paren(this=occurs)))
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    then, otherwise = (one, zero) if some else (zero, one)
    return exp.Case(ifs=[exp.If(this=occurs, true=then)], default=otherwise)
