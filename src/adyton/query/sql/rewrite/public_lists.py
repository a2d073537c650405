"""Sub-selects over public tables in conditions: everyone may know what they give, so it is written out.

``x IN (SELECT ...)`` and EXISTS become a list of values, and ``(SELECT MAX(x) ...)`` a number.  A list is
first written as it is; when all names are written out, it is settled which of its values the column can have.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from adyton.kernel.schema import CategoryColumn, Column
from adyton.query.sql.names import calls
from adyton.query.sql.rewrite.public_values import PublicRows, as_written
from adyton.query.sql.rewrite.scopes import (
    Context,
    Scope,
    base_origin,
    clause_parts,
    columns_in,
    conjuncts,
    has_aggregate,
    placed,
    set_where,
    sources,
)

_ONE_SELECT = Callable[..., exp.Expr]
_CONDITIONS = ("COUNT_IF", "COUNTIF", "PROPORTION")
_LISTED = "public_list"  # how a list came about: "in", "exists"
_HAS_MISSING = "public_list_has_missing"
_KEY_OF = "public_list_key_of"  # where rows were left out: the table whose key it is, or nothing


def list_public_values(context: Context, select: exp.Expr, one_select: _ONE_SELECT) -> None:
    """Replaces the sub-selects in the clauses of ``select``, and in its ON, by what they give."""
    if not select.find(exp.Subquery, exp.Exists):
        return
    joins = [("on", join.args["on"]) for join in select.args.get("joins") or [] if join.args.get("on")]
    for _, part in [*clause_parts(select), *joins]:
        for node in list(part.walk(prune=lambda one: type(one) is exp.Select)):
            if type(node) is exp.In and node.args.get("query") is not None:
                inner = _inner(context, node.args["query"].this, one_select)
                rows = PublicRows.of(context, inner)
                node.replace(_list(node.this, rows, rows.item, "in", node))
            elif type(node) is exp.Exists:
                node.replace(_exists(context, node, _inner(context, node.this, one_select)))
            elif type(node) is exp.Subquery and node.arg_key != "query":
                inner = _inner(context, node.this, one_select)
                node.replace(placed(as_written(PublicRows.of(context, inner).value(node)), node))


def _inner(context: Context, node: exp.Expr, one_select: _ONE_SELECT) -> exp.Expr:
    while type(node) is exp.Subquery:
        node = node.this
    if type(node) is not exp.Select:
        raise context.source.refusal(node, "a sub-select is one SELECT")
    return one_select(context, node, whole=False)


def _list(left: exp.Expr, rows: PublicRows, item: exp.Expr, kind: str, node: exp.Expr) -> exp.Expr:
    values = [rows.value(node)] if has_aggregate(item) else rows.values(item)
    there = list(dict.fromkeys(value for value in values if value is not None))
    made = exp.In(this=left, expressions=[as_written(value) for value in there])
    made.meta[_LISTED], made.meta[_HAS_MISSING] = kind, None in values
    if rows.dimension.rows_left_out:
        made.meta[_KEY_OF] = rows.dimension.name if rows.is_key(item) else ""
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


# Which values a column can have ----------------------------------------------------------------------------


def settle_lists(context: Context, tree: exp.Expr) -> None:
    """Each list of public values as the reader takes it, with the truth that SQL gives where values miss."""
    for node in list(tree.find_all(exp.In)):
        if _LISTED in node.meta:
            node.replace(placed(_settled(context, tree, node), node))


def _settled(context: Context, tree: exp.Expr, node: exp.Expr) -> exp.Expr:
    left, kind, has_missing = node.this, node.meta[_LISTED], node.meta[_HAS_MISSING]
    _check_left(context, tree, left)
    _check_all_rows(context, tree, node)
    listed = _possible(context, tree, left, node.expressions)
    counts_truth = _counts_truth(node)
    if kind == "exists":
        return _existing(context, node, listed, counts_truth=counts_truth is True)
    if not node.expressions and not has_missing:
        return exp.Boolean(this=False)
    if counts_truth is None and (has_missing or not listed):
        raise context.source.refusal(
            node, "what is not in the list is neither true nor false: put it into WHERE"
        )
    if counts_truth:
        return exp.In(this=left, expressions=listed) if listed else exp.Boolean(this=False)
    if has_missing:
        return exp.Boolean(this=True)  # NOT IN is then never true
    return exp.In(this=left, expressions=listed) if listed else exp.Is(this=left, expression=exp.Null())


def _existing(context: Context, node: exp.Expr, listed: list[exp.Expr], *, counts_truth: bool) -> exp.Expr:
    if not listed:
        return exp.Boolean(this=False)
    chosen = exp.In(this=node.this, expressions=listed)
    if counts_truth:
        return chosen
    if type(node.this) is not exp.Column:
        raise context.source.refusal(node, "NOT EXISTS compares a column with the public one")
    there = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.Null()))
    return exp.Paren(this=exp.And(this=there, expression=chosen))


def _counts_truth(node: exp.Expr) -> bool | None:
    """Whether only where ``node`` is true matters (True), only where it is false (False), or both (None)."""
    truth, below, above = True, node, node.parent
    while isinstance(above, exp.And | exp.Or | exp.Paren | exp.Not):
        truth = truth is not isinstance(above, exp.Not)
        below, above = above, above.parent
    filters = isinstance(above, exp.Where | exp.Join) or (type(above) is exp.If and above.this is below)
    return truth if filters or calls(above, _CONDITIONS) else None


def _possible(context: Context, tree: exp.Expr, left: exp.Expr, listed: list[exp.Expr]) -> list[exp.Expr]:
    """A category is never one of the values that it does not declare."""
    left = left.unnest()
    kind = _column(context, tree, left) if type(left) is exp.Column else None
    if not isinstance(kind, CategoryColumn):
        return listed
    known = {str(value) for value in kind.values}
    strings = isinstance(kind.values[0], str)
    return [one for one in listed if one.is_string is not strings or one.name in known]


def _check_left(context: Context, tree: exp.Expr, left: exp.Expr) -> None:
    """Where the list decides alone, nobody else looks at what stands before it."""
    if has_aggregate(left) or left.find(exp.Star):
        raise context.source.refusal(left, "a value of a row stands before IN")
    scope = Scope(context, [base_origin(context, node, join) for node, join in sources(tree)])
    for node in columns_in(left):
        if not scope.of(node):
            scope.one(node)


def _check_all_rows(context: Context, tree: exp.Expr, node: exp.Expr) -> None:
    """Keys that are not declared were left out; only the column that the key is joined to never has them."""
    if _KEY_OF not in node.meta:
        return
    public = context.public(node.meta[_KEY_OF])
    joined = public[0].column(public[1].joins) if public is not None else None
    left = context.source.bare(node.this)
    if joined is None or type(left) is not exp.Column or _column(context, tree, left) != joined:
        reason = (
            "some keys of the public table are not declared: compare its key with the column that it joins"
        )
        raise context.source.refusal(node, reason)


def _column(context: Context, tree: exp.Expr, node: exp.Expr) -> Column | None:
    qualifier = node.args.get("table")
    for table, _ in sources(tree):
        private = context.private(table.name) if type(table) is exp.Table else None
        named = qualifier is None or qualifier.name.casefold() == table.alias_or_name.casefold()
        if private is None or not named:
            continue
        for one in private.columns:
            if one.name.casefold() == node.name.casefold():
                return one
    return None
