"""COUNT(*) of SELECT DISTINCT person is COUNT(DISTINCT person)."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.aggregates import AGGREGATES
from adyton.query.sql.names import calls
from adyton.query.sql.rewrite.scopes import (
    Context,
    clause_parts,
    columns_of_clauses,
    output_name,
    placed,
    sources,
)


def count_persons(context: Context, select: exp.Expr) -> None:
    """COUNT(*) of SELECT DISTINCT person is COUNT(DISTINCT person), where nothing else is asked of it.

    >>> after("SELECT COUNT(*) FROM (SELECT DISTINCT pid FROM sales) d")
    SELECT COUNT(DISTINCT pid) FROM (SELECT pid FROM sales) AS d
    """
    nodes = sources(select)
    inner = nodes[0][0].this if len(nodes) == 1 and type(nodes[0][0]) is exp.Subquery else None
    if type(inner) is not exp.Select or not _lists_persons(context, inner):
        return
    parts = [part for _, part in clause_parts(select)]
    asked = [node for part in parts for node in part.find_all(exp.Anonymous)]
    counts = [call for call in asked if calls(call, ("COUNT",))]
    counted = [node for call in counts for node in call.find_all(exp.Column)]
    columns = columns_of_clauses(select)
    others = [call for call in asked if call not in counts and calls(call, AGGREGATES)]
    if not counts or others or len(counted) != len(columns) or not all(map(_counts_rows, counts)):
        return
    for call in counts:
        if type(call.expressions[0]) is not exp.Distinct:
            name = exp.column(output_name(inner.expressions[0]), quoted=True)
            call.set("expressions", [exp.Distinct(expressions=[placed(name, call)])])
    inner.set("distinct", None)


def _lists_persons(context: Context, inner: exp.Expr) -> bool:
    """SELECT DISTINCT person.  No other column may be called so: a missing one would be a row as well."""
    clauses = ("group", "having", "qualify", "limit", "offset")
    if inner.args.get("distinct") is None or len(inner.expressions) != 1:
        return False
    item = inner.expressions[0].unalias()
    tables = [table.name for table in context.tables]
    tables += [public.name for table in context.tables for public in table.dimensions]
    known = [name.casefold() for table in tables for name in context.columns_of(table)]
    persons = [table.person.casefold() for table in context.tables if table.person is not None]
    name = item.name.casefold() if type(item) is exp.Column else ""
    only = name in persons and known.count(name) == persons.count(name)
    return only and all(inner.args.get(clause) is None for clause in clauses)


def _counts_rows(call: exp.Expr) -> bool:
    """COUNT(*), COUNT(1), COUNT(x) or COUNT(DISTINCT x): of different values all the same."""
    (inner,) = call.expressions if len(call.expressions) == 1 else (None,)
    if type(inner) is exp.Distinct:
        listed = inner.args.get("expressions") or []
        inner = listed[0] if len(listed) == 1 and type(listed[0]) is exp.Column else None
    return type(inner) in (exp.Star, exp.Literal, exp.Column)
