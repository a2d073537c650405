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
    """Each list of public values as the reader takes it, with the truth that SQL gives where values miss.

    >>> after("SELECT COUNT(*) FROM sales WHERE kind IN (SELECT zone FROM shops) OR paid")
    SELECT COUNT(*) FROM sales WHERE FALSE OR paid
    """
    scope = Scope(context, [base_origin(context, node, join) for node, join in sources(tree)])
    for node in list(tree.find_all(exp.In)):
        if LISTED in node.meta:
            node.replace(placed(_settled(scope, node), node))


def _settled(scope: Scope, node: exp.Expr) -> exp.Expr:
    context, left, has_missing = scope.context, node.this, node.meta[HAS_MISSING]
    _check_left(scope, left)
    _check_all_rows(scope, node)
    listed = _possible(scope, left, node.expressions)
    counts_truth = _counts_truth(node)
    if node.meta[LISTED] == "exists":
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


def _possible(scope: Scope, left: exp.Expr, listed: list[exp.Expr]) -> list[exp.Expr]:
    """A category is never one of the values that it does not declare."""
    left = left.unnest()
    kind = _column(scope, left) if type(left) is exp.Column else None
    if not isinstance(kind, CategoryColumn):
        return listed
    known = {str(value) for value in kind.values}
    strings = isinstance(kind.values[0], str)
    return [one for one in listed if one.is_string is not strings or one.name in known]


def _check_left(scope: Scope, left: exp.Expr) -> None:
    """Where the list decides alone, nobody else looks at what stands before it."""
    if has_aggregate(left) or left.find(exp.Star):
        raise scope.context.source.refusal(left, "a value of a row stands before IN")
    for node in columns_in(left):
        if not scope.of(node):
            scope.one(node)


def _check_all_rows(scope: Scope, node: exp.Expr) -> None:
    """Keys that are not declared were left out; only the column that the key is joined to never has them."""
    if KEY_OF not in node.meta:
        return
    context = scope.context
    public = context.public(node.meta[KEY_OF])
    joined = public[0].column(public[1].joins) if public is not None else None
    left = context.source.bare(node.this)
    if joined is None or type(left) is not exp.Column or _column(scope, left) != joined:
        reason = (
            "some keys of the public table are not declared: compare its key with the column that it joins"
        )
        raise context.source.refusal(node, reason)


def _column(scope: Scope, node: exp.Expr) -> Column | None:
    """The private column that is meant."""
    tables = (scope.context.private(table.node.name) for table in scope.of(node))
    columns = (column for table in tables if table is not None for column in table.columns)
    return next((column for column in columns if column.name.casefold() == node.name.casefold()), None)
