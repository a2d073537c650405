"""Which of the values of a public list a column can have, when all names are written out."""

from __future__ import annotations

from sqlglot import exp

from adyton.kernel.schema import CategoryColumn, Column
from adyton.query.sql.names import calls
from adyton.query.sql.rewrite.public_lists import HAS_MISSING, KEY_OF, LISTED
from adyton.query.sql.rewrite.scopes import (
    Context,
    Scope,
    base_origin,
    columns_in,
    has_aggregate,
    placed,
    sources,
)

_CONDITIONS = ("COUNT_IF", "COUNTIF", "PROPORTION")


def settle_lists(context: Context, tree: exp.Expr) -> None:
    """Each list of public values as the reader takes it, with the truth that SQL gives where values miss."""
    for node in list(tree.find_all(exp.In)):
        if LISTED in node.meta:
            node.replace(placed(_settled(context, tree, node), node))


def _settled(context: Context, tree: exp.Expr, node: exp.Expr) -> exp.Expr:
    left, kind, has_missing = node.this, node.meta[LISTED], node.meta[HAS_MISSING]
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
    if KEY_OF not in node.meta:
        return
    public = context.public(node.meta[KEY_OF])
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
