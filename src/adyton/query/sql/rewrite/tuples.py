"""(a, b) IN ((1, 2), (3, 4)): the tuples are compared part by part."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.scopes import Context, all_of, in_brackets


def compare_one_by_one(context: Context, tree: exp.Expr) -> None:
    """Missing parts make it neither true nor false, unless another part differs, as the standard says.

    >>> after("SELECT COUNT(*) FROM sales WHERE (x, y) IN ((1, 2), (3, 4))")
    SELECT COUNT(*) FROM sales WHERE ((x = 1 AND y = 2) OR (x = 3 AND y = 4))
    """
    for node in list(tree.find_all(exp.In)):
        if type(node.this) is exp.Tuple and node.args.get("query") is None:
            node.replace(_alternatives(context, node))


def _alternatives(context: Context, node: exp.Expr) -> exp.Expr:
    left, listed = node.this.expressions, [_parts(one) for one in node.expressions]
    if not listed or any(len(parts) != len(left) for parts in listed):
        raise context.source.refusal(node, f"IN needs a list of tuples of {len(left)} values each")
    rows = [exp.Paren(this=_equal(context, left, parts)) for parts in listed]
    return exp.Paren(this=exp.or_(*rows, copy=False))


def _parts(node: exp.Expr) -> list[exp.Expr]:
    return list(node.expressions) if type(node) is exp.Tuple else [node]


def _equal(context: Context, left: list[exp.Expr], right: list[exp.Expr]) -> exp.Expr:
    pairs = zip(left, right, strict=True)
    return all_of([exp.EQ(this=in_brackets(context.copy(a)), expression=in_brackets(b)) for a, b in pairs])
