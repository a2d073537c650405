"""SELECT ... FROM (an aggregate query): what is said outside about the answer is said in the query itself.

WHERE outside is HAVING, or QUALIFY where the inner query has windows over its answer; ORDER BY and LIMIT move
in; names outside are aliases; arithmetic outside is arithmetic on the aggregates.  ARG_MAX(key, value) is the
key of the first row.
"""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.functions.arguments import arguments
from adyton.query.sql.names import calls
from adyton.query.sql.reasons import reason_against
from adyton.query.sql.rewrite.names_written_out import NamesWrittenOut, output_name
from adyton.query.sql.rewrite.scopes import (
    Context,
    Scope,
    ScopeTable,
    all_of,
    clause_parts,
    conjuncts,
    has_aggregate,
)

_LARGEST, _LEAST = ("ARG_MAX", "ARGMAX", "MAX_BY"), ("ARG_MIN", "ARGMIN", "MIN_BY")
EXTREMES = (*_LARGEST, *_LEAST)
_AFTERWARDS = ("where", "order", "limit", "offset", "qualify")


def order_by_extremes(context: Context, tree: exp.Expr) -> None:
    """SELECT ARG_MAX(key, value) FROM (an aggregate query): its first row in the order of the value."""
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


def is_answer(select: exp.Expr) -> bool:
    """Whether a SELECT gives aggregates or groups, and not rows of its tables."""
    grouped = any(select.args.get(name) is not None for name in ("group", "having"))
    return grouped or any(has_aggregate(item) for item in select.expressions)


def asked_inside(context: Context, outer: exp.Expr, origin: ScopeTable) -> exp.Expr:
    """The inner query, with what the outer one says about its answer."""
    inner = origin.inner
    assert inner is not None
    if _aggregates_again(outer):
        return aggregate_inside(context, outer, origin)
    context.source.check_parts(outer, "expressions", "from_", *_AFTERWARDS)
    _check_rows(context, outer, inner)
    has_windows = inner.find(exp.Window) is not None
    origin.columns = [(output_name(item), item.unalias()) for item in inner.expressions]
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


def aggregate_inside(context: Context, outer: exp.Expr, origin: ScopeTable) -> exp.Expr:
    """What a SELECT means that aggregates or joins ``origin``, the answer of an aggregate inside it.

    One row for each person is a table of its own (``query/sql/persons.py``), and stays where it is.
    """
    if origin.inner is not None and _by_person(context, origin.inner):
        origin.node.set("this", origin.inner)
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
