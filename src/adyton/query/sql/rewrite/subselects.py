"""Sub-selects in FROM that project, rename, filter and compute become one SELECT with the outer one.

The columns of the sub-select are replaced by their expressions, its tables take its place in FROM, and its
WHERE joins the outer one.
"""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.names_written_out import NamesWrittenOut, check_where, write_conditions
from adyton.query.sql.rewrite.scopes import (
    Context,
    Scope,
    ScopeTable,
    all_of,
    conjuncts,
    is_answer,
    origins_of,
    set_where,
    sources,
)

_SINGLE_ROWS = "single rows are never answered; ask for aggregates, such as COUNT(*)"
_CHOOSES = {
    "limit": "LIMIT inside a sub-select chooses single rows; leave it out",
    "offset": "OFFSET inside a sub-select chooses single rows; leave it out",
    "distinct": "DISTINCT inside a sub-select compares single rows; count persons by COUNT(DISTINCT ...)",
    "qualify": "QUALIFY inside a sub-select compares single rows",
}


def merge_subselects(context: Context, select: exp.Expr) -> exp.Expr:
    """``select`` over tables alone, as far as that says the same.

    >>> after("SELECT k, SUM(z) FROM (SELECT kind AS k, x - y AS z FROM sales WHERE paid) d GROUP BY k")
    SELECT kind AS k, SUM((x - y)) FROM sales WHERE paid GROUP BY kind
    """
    origins = origins_of(context, select)
    if not origins:
        check_where(context, select)
        return select
    if any(origin.inner is not None and is_answer(origin.inner) for origin in origins):
        return select  # one row for each person
    if select is context.root and any(item.is_star for item in select.expressions):
        raise context.source.refusal(select.expressions[0], _SINGLE_ROWS)
    taken = {origin.called.casefold() for origin in origins if origin.inner is None}
    for origin in origins:
        if origin.inner is not None:
            _check_plain(context, origin.inner)
            _rename_tables(origin.inner, taken)
    scope = Scope(context, origins)
    write_conditions(context, scope)
    NamesWrittenOut(context, select, scope, keeps_answer=True).write()
    _put_tables(context, select, origins)
    return select


def _check_plain(context: Context, inner: exp.Expr) -> None:
    for name, reason in _CHOOSES.items():
        if inner.args.get(name) is not None:
            part = inner.args[name]
            raise context.source.refusal(part if name != "distinct" else inner, reason)
    for item in inner.expressions:
        if item.find(exp.Window) is not None:
            raise context.source.refusal(item, "a window inside a sub-select compares single rows")
    context.source.check_parts(inner, "expressions", "from_", "joins", "where", "order")


def _rename_tables(inner: exp.Expr, taken: set[str]) -> None:
    """Tables of a sub-select get other names where the outer SELECT uses theirs."""
    renamed = {}
    for node, _ in sources(inner):
        called = node.alias_or_name
        new, number = called, 2
        while new.casefold() in taken:
            new, number = f"{called}_{number}", number + 1
        taken.add(new.casefold())
        if new != called:
            renamed[called.casefold()] = new
            node.set("alias", exp.TableAlias(this=exp.Identifier(this=new, quoted=True)))
    for part in inner.find_all(exp.Column) if renamed else []:
        qualifier = part.args.get("table")
        if qualifier is not None and qualifier.name.casefold() in renamed:
            qualifier.set("this", renamed[qualifier.name.casefold()])


def _put_tables(context: Context, select: exp.Expr, origins: list[ScopeTable]) -> None:
    """The tables of sub-selects take their places in FROM, and their conditions go into WHERE."""
    joins: list[exp.Expr] = []
    conditions: list[exp.Expr] = []
    for origin in origins:
        inner, join = origin.inner, origin.join
        if inner is None:
            joins += [] if join is None else [join]
            continue
        first, more = inner.args["from_"].this, inner.args.get("joins") or []
        own = conjuncts(inner.args.get("where"))
        if join is None:
            select.args["from_"].set("this", first)
        else:
            join.set("this", first)
            joins.append(join)
        if origin.optional and join is not None:
            if more:
                raise context.source.refusal(
                    origin.node, "LEFT JOIN takes one table, not a sub-select of several"
                )
            join.set("on", all_of([*conjuncts(join.args.get("on")), *own]))
        else:
            conditions += own
        joins += more
    select.set("joins", joins)
    set_where(select, [*conditions, *conjuncts(select.args.get("where"))])
