"""Sub-selects over public tables in conditions: everyone may know what they give, so it is written out.

``x IN (SELECT ...)`` and EXISTS become a list of values, and ``(SELECT MAX(x) ...)`` a number.  A list is
first written as it is; ``settled_lists`` says which of its values the column can have.
"""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.public_values import PublicRows, as_written
from adyton.query.sql.rewrite.scopes import (
    Context,
    clause_parts,
    columns_in,
    conjuncts,
    has_aggregate,
    placed,
    set_where,
)

LISTED = "public_list"  # how a list came about: "in", "exists"
HAS_MISSING = "public_list_has_missing"
KEY_OF = "public_list_key_of"  # where rows were left out: the table whose key it is, or nothing


def list_public_values(context: Context, select: exp.Expr) -> None:
    """Replaces the sub-selects in the clauses of ``select``, and in its ON, by what they give.

    >>> after("SELECT COUNT(*) FROM sales WHERE kind IN (SELECT kind FROM shops WHERE height > 0)")
    SELECT COUNT(*) FROM sales WHERE kind IN ('a')
    """
    joins = [("on", join.args["on"]) for join in select.args.get("joins") or [] if join.args.get("on")]
    for _, part in [*clause_parts(select), *joins]:
        for node in list(part.walk(prune=lambda one: type(one) is exp.Select)):
            if type(node) is exp.In and node.args.get("query") is not None:
                rows = PublicRows.of(context, _inner(context, node.args["query"].this))
                node.replace(_list(node.this, rows, rows.item, "in", node))
            elif type(node) is exp.Exists:
                node.replace(_exists(context, node, _inner(context, node.this)))
            elif type(node) is exp.Subquery and node.arg_key != "query":
                rows = PublicRows.of(context, _inner(context, node.this))
                node.replace(placed(as_written(rows.value(node)), node))


def _inner(context: Context, node: exp.Expr) -> exp.Expr:
    inner: exp.Expr = node.unnest()
    if type(inner) is not exp.Select:
        raise context.source.refusal(inner, "a sub-select is one SELECT")
    return inner


def _list(left: exp.Expr, rows: PublicRows, item: exp.Expr, kind: str, node: exp.Expr) -> exp.Expr:
    values = [rows.value(node)] if has_aggregate(item) else rows.values(item)
    there = list(dict.fromkeys(value for value in values if value is not None))
    made = exp.In(this=left, expressions=[as_written(value) for value in there])
    made.meta[LISTED], made.meta[HAS_MISSING] = kind, None in values
    if rows.dimension.rows_left_out:
        made.meta[KEY_OF] = rows.dimension.name if rows.is_key(item) else ""
    return placed(made, node)


# EXISTS ----------------------------------------------------------------------------------------------------


def _exists(context: Context, node: exp.Expr, inner: exp.Expr) -> exp.Expr:
    """EXISTS (SELECT ... FROM public WHERE public.a = t.b AND c): b is one of the a of which c is true."""
    rows, conditions = PublicRows.of(context, inner), conjuncts(inner.args.get("where"))
    for item in inner.expressions:
        if has_aggregate(item):
            raise context.source.refusal(item, "an aggregate always gives a row: leave out EXISTS")
        for column in columns_in(item):
            rows.source.column(column)  # refused if there is none
    outside = [one for one in conditions if not all(map(rows.has, columns_in(one)))]
    if not outside:
        found = bool(rows.chosen().any())
        if not found:
            rows.check_all_rows(node)
        return placed(exp.Boolean(this=found), node)
    pair = _pair(rows, outside[0]) if len(outside) == 1 else None
    if pair is None:
        reason = "EXISTS compares one column of the public table with one value outside: public.key = t.key"
        raise context.source.refusal(outside[0], reason)
    inside, beyond = pair
    set_where(inner, [one for one in conditions if one is not outside[0]])
    return _list(beyond, rows, inside, "exists", node)


def _pair(rows: PublicRows, node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """The public side of an equality, and the other one."""
    node = node.unnest()
    if type(node) is not exp.EQ:
        return None
    sides = [node.this, node.args["expression"]]
    for inside, beyond in (sides, sides[::-1]):
        if type(inside) is exp.Column and rows.has(inside) and not any(map(rows.has, columns_in(beyond))):
            return inside, beyond
    return None
