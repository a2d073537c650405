"""a RIGHT JOIN b is b LEFT JOIN a."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.scopes import Context


def without_right_joins(context: Context, select: exp.Expr) -> None:
    """a RIGHT JOIN b is b LEFT JOIN a.

    >>> after("SELECT zone, COUNT(*) FROM shops RIGHT JOIN sales USING (kind) GROUP BY zone")
    SELECT zone, COUNT(*) FROM sales LEFT JOIN shops USING (kind) GROUP BY zone
    """
    joins = select.args.get("joins") or []
    for place, join in enumerate(joins):
        if str(join.args.get("side") or "").upper() != "RIGHT":
            continue
        if place:
            raise context.source.refusal(join, "RIGHT JOIN is read between two tables: write LEFT JOIN")
        first, second = select.args["from_"].this, join.this
        join.set("side", "LEFT")
        first.replace(second.copy())
        second.replace(first)
