"""SELECT ... FROM (an aggregate query): what is said outside about the answer is said in the query itself.

WHERE outside is HAVING, or QUALIFY where the inner query has windows over its answer; ORDER BY and LIMIT move
in; names outside are aliases; arithmetic outside is arithmetic on the aggregates.
"""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.names_written_out import NamesWrittenOut
from adyton.query.sql.rewrite.scopes import (
    Context,
    Scope,
    ScopeTable,
    all_of,
    clause_parts,
    conjuncts,
    has_aggregate,
    is_answer,
    origins_of,
)

_AFTERWARDS = ("where", "order", "limit", "offset", "qualify")


def ask_inside(context: Context, select: exp.Expr) -> exp.Expr:
    """The query inside, with what the one outside says about its answer.

    >>> after("SELECT k, n * 2 FROM (SELECT kind AS k, COUNT(*) AS n FROM sales GROUP BY kind) WHERE n > 5")
    SELECT kind AS k, COUNT(*) * 2 FROM sales GROUP BY kind HAVING COUNT(*) > 5
    """
    origins = origins_of(context, select)
    answer = next((one for one in origins if one.inner is not None and is_answer(one.inner)), None)
    if answer is None or answer.inner is None:
        return select
    if len(origins) > 1 or _aggregates_again(select):
        return _aggregated_again(context, select, answer, answer.inner)
    return _asked_inside(context, select, answer, answer.inner)


def _asked_inside(context: Context, outer: exp.Expr, origin: ScopeTable, inner: exp.Expr) -> exp.Expr:
    context.source.check_parts(outer, "expressions", "from_", *_AFTERWARDS)
    _check_rows(context, outer, inner)
    has_windows = inner.find(exp.Window) is not None
    NamesWrittenOut(context, outer, Scope(context, [origin]), keeps_answer=True).write()
    _check_once(context, outer)
    inner.set("expressions", outer.expressions)
    chosen = outer.args.get("where")
    if chosen is not None:
        name, kind = ("qualify", exp.Qualify) if has_windows else ("having", exp.Having)
        inner.set(name, kind(this=all_of([*conjuncts(inner.args.get(name)), *conjuncts(chosen)])))
    for name in ("order", "limit", "offset", "qualify"):
        if outer.args.get(name) is not None:
            inner.set(name, outer.args[name])
    return inner


def _aggregates_again(outer: exp.Expr) -> bool:
    said = any(outer.args.get(name) is not None for name in ("group", "having", "distinct"))
    return said or any(has_aggregate(part) for _, part in clause_parts(outer))


def _check_rows(context: Context, outer: exp.Expr, inner: exp.Expr) -> None:
    """What is said outside comes after what was said inside."""
    windows = [part for part in (outer, inner) if _has_windows(part)]
    later = any(outer.args.get(name) is not None for name in _AFTERWARDS) or outer in windows
    if later and any(inner.args.get(name) is not None for name in ("limit", "offset")):
        reason = "LIMIT inside comes before what is said outside: write ORDER BY and LIMIT outside only"
        raise context.source.refusal(inner.args.get("limit") or inner.args["offset"], reason)
    if len(windows) > 1:
        raise context.source.refusal(outer, "windows outside over windows inside: write them in one SELECT")


def _has_windows(select: exp.Expr) -> bool:
    parts = (part for name, part in clause_parts(select) if name != "where")
    return any(part.find(exp.Window) is not None for part in parts)


def _check_once(context: Context, outer: exp.Expr) -> None:
    """Two columns of one aggregate would get noise twice, and differ."""
    seen: set[str] = set()
    for item in outer.expressions:
        text = item.unalias().sql()
        if text in seen and has_aggregate(item):
            raise context.source.refusal(item, "this aggregate is listed twice; list it once")
        seen.add(text)


def _aggregated_again(context: Context, outer: exp.Expr, origin: ScopeTable, inner: exp.Expr) -> exp.Expr:
    """One row for each person is a table of its own (``query/sql/persons.py``), and stays where it is."""
    if _by_person(context, inner):
        origin.node.set("this", inner)
        return outer
    raise context.source.refusal(
        origin.node,
        "an aggregate inside: its answer can be chosen from, named, filtered and ordered outside, "
        "not aggregated, grouped or joined again, unless it is one row for each person",
    )


def _by_person(context: Context, inner: exp.Expr) -> bool:
    """Whether rows are grouped by the person, alone or not: the reader says what is wrong with more."""
    group = inner.args.get("group")
    named = [node.name.casefold() for node in group.expressions if type(node) is exp.Column] if group else []
    return any(table.person is not None and table.person.casefold() in named for table in context.tables)
