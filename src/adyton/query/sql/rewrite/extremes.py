"""ARG_MAX(key, value) over an aggregate query: the key of its first row in the order of the value."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.functions.arguments import arguments
from adyton.query.sql.names import calls
from adyton.query.sql.reasons import reason_against
from adyton.query.sql.rewrite.scopes import Context, is_answer

_LARGEST, _LEAST = ("ARG_MAX", "ARGMAX", "MAX_BY"), ("ARG_MIN", "ARGMIN", "MIN_BY")
EXTREMES = (*_LARGEST, *_LEAST)


def order_by_extremes(context: Context, tree: exp.Expr) -> None:
    """SELECT ARG_MAX(key, value) FROM (an aggregate query): its first row in the order of the value.

    >>> after("SELECT ARG_MAX(kind, n) FROM (SELECT kind, SUM(x) AS n FROM sales GROUP BY kind) d")
    SELECT kind FROM (SELECT kind, SUM(x) AS n FROM sales GROUP BY kind) AS d ORDER BY n DESC LIMIT 1
    """
    for select in list(tree.find_all(exp.Select)):
        clause, items = select.args.get("from_"), select.expressions
        call = items[0].unalias() if len(items) == 1 else None
        inner = clause.this.this if clause is not None and type(clause.this) is exp.Subquery else None
        if not calls(call, EXTREMES) or type(inner) is not exp.Select or not is_answer(inner):
            continue
        context.source.check_parts(select, "expressions", "from_")
        key, value = arguments(context.source, call, f"{call.this}(key, value)", 2)
        falling = calls(call, _LARGEST)
        ordered = exp.Ordered(this=value.copy(), desc=falling, nulls_first=False)
        call.replace(key.copy())
        select.set("order", exp.Order(expressions=[ordered]))
        select.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    for call in tree.find_all(exp.Anonymous):
        if calls(call, EXTREMES):
            name = str(call.this).upper()
            reason = reason_against(name, context.tables[0])
            raise context.source.refusal(call, f"{name} is not supported: {reason}")
