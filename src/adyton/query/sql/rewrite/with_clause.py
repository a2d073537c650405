"""WITH x AS (SELECT ...): every use of x is written as the sub-select itself."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from adyton.query.sql.rewrite.scopes import Context


def write_out_ctes(context: Context, tree: exp.Expr) -> None:
    """A name means what was named before it, as sqlglot's scopes say: else a table of the study.

    >>> after("WITH d AS (SELECT x FROM sales), e AS (SELECT x + 1 AS z FROM d) SELECT SUM(z) FROM e")
    SELECT SUM(z) FROM (SELECT x + 1 AS z FROM (SELECT x FROM sales) AS d) AS e
    """
    for clause in tree.find_all(exp.With):
        _check_named(context, clause)
    for scope in traverse_scope(tree):  # those inside of it before each
        for table in scope.tables:
            named = scope.cte_sources.get(table.name.casefold()) if table.args.get("db") is None else None
            if named is not None:
                body, name = named.expression, context.source.alias(table) or table.name
                used = type(body.parent) is exp.Subquery  # the first use needs no copy
                alias = exp.TableAlias(this=exp.to_identifier(name, quoted=True))
                table.replace(exp.Subquery(this=context.copy(body) if used else body, alias=alias))
        scope.expression.set("with_", None)


def _check_named(context: Context, clause: exp.Expr) -> None:
    context.source.check_parts(clause, "expressions")  # and not RECURSIVE
    named: set[str] = set()
    for one in clause.expressions:
        name = (context.source.alias(one) or "").casefold()
        if name in named:
            raise context.source.refusal(one.args["alias"], f"WITH names {name!r} twice")
        if type(one.this) is not exp.Select:
            raise context.source.refusal(one, "WITH names a SELECT")
        one.args["alias"].this.set("this", name)
        named.add(name)
