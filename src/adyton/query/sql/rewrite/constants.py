"""1 = 1 and 'a' = 'b', as programs write them: a comparison of written values is TRUE or FALSE."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.query.released.nodes import SIGNS
from adyton.query.sql.expressions import OPERATORS
from adyton.query.sql.rewrite.scopes import Context, conjuncts, placed


def fold_constants(context: Context, tree: exp.Expr) -> None:
    """In WHERE, where such conditions begin a list of others; what is always true there is left out.

    >>> after("SELECT COUNT(*) FROM sales WHERE 1 = 1 AND x > 3")
    SELECT COUNT(*) FROM sales WHERE x > 3
    """
    for one in conjuncts(tree.args.get("where")):
        truth = _truth(context, one)
        if truth is not None:
            _replace(one, truth=truth)


def _truth(context: Context, node: exp.Expr) -> bool | None:
    node = node.unnest()
    if type(node) not in OPERATORS:
        return None
    written = [node.args[part] for part in ("this", "expression")]
    if any(type(side) is not exp.Literal for side in written):
        return None
    sides: list[Any] = [_written(context, side) for side in written]
    if None in sides or len({type(side) for side in sides}) > 1:
        return None
    if isinstance(sides[0], str) and type(node) not in (exp.EQ, exp.NEQ):
        return None  # strings have no order here
    return bool(SIGNS[OPERATORS[type(node)]](*sides))


def _written(context: Context, node: exp.Expr) -> Fraction | str | None:
    if node.args["is_string"]:
        return str(node.this)
    try:
        return context.source.constant(node)
    except InvalidRequest:  # the reader says what is wrong with it
        return None


def _replace(node: exp.Expr, *, truth: bool) -> None:
    """TRUE AND c is c."""
    while type(node.parent) is exp.Paren:
        node = node.parent
    above = node.parent
    if truth and type(above) is exp.And:
        above.replace(above.args["expression"] if above.this is node else above.this)
    else:
        node.replace(placed(exp.Boolean(this=truth), node))
