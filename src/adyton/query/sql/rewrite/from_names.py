"""schema.table and database.schema.table: what stands before a table of the study is left out.

The study says which tables there are, and where they lie; a name before them can choose nothing.
"""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.scopes import Context

SCHEMA = "a schema"  # where one is named
_BEFORE = ("db", "catalog")


def write_plain_names(context: Context, tree: exp.Expr) -> None:
    """Names of tables, and of columns behind them.

    >>> after("SELECT COUNT(*) FROM main.sales WHERE main.sales.x > 2")
    SELECT COUNT(*) FROM sales WHERE sales.x > 2
    """
    for node in list(tree.walk()):
        if type(node) not in (exp.Table, exp.Column) or node.args.get("db") is None:
            continue
        name = node.name if type(node) is exp.Table else node.args["table"].name
        if context.private(name) is None and context.public(name) is None:
            continue  # the reader knows what the tables are called
        for part in _BEFORE:
            node.set(part, None)
