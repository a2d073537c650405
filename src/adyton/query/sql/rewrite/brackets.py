"""FROM (a JOIN b ON ...) JOIN c: brackets around joins, which may stand in any order, are taken away."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.scopes import Context, sources


def without_brackets(context: Context, tree: exp.Expr) -> None:
    """In every SELECT of the text.

    >>> after("SELECT COUNT(*) FROM (sales JOIN shops USING (kind)) WHERE x > 1")
    SELECT COUNT(*) FROM sales JOIN shops USING (kind) WHERE x > 1
    """
    for select in list(tree.find_all(exp.Select)):
        while any(_is_bracket(node) for node, _ in sources(select)):
            _open(context, select)


def _is_bracket(node: exp.Expr) -> bool:
    return (
        type(node) is exp.Subquery and bool(node.this.args.get("joins")) and type(node.this) is not exp.Select
    )


def _open(context: Context, select: exp.Expr) -> None:
    joins: list[exp.Expr] = []
    for node, join in sources(select):
        inner = node.this.args["joins"] if _is_bracket(node) else []
        if inner:
            context.source.check_parts(node, "this")
            if join is not None and join.args.get("side"):
                raise context.source.refusal(
                    node, "LEFT and RIGHT JOIN take one table, not several in brackets"
                )
            node.this.set("joins", None)
            node.replace(node.this)
        joins += [*([] if join is None else [join]), *inner]
    select.set("joins", joins)
