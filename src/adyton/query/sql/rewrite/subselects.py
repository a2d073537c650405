"""Sub-selects in FROM that project, rename, filter and compute become one SELECT with the outer one.

The columns of the sub-select are replaced by their expressions, its tables take its place in FROM, and its
WHERE joins the outer one.
"""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.aggregates import AGGREGATES
from adyton.query.sql.from_clause import no_such_table
from adyton.query.sql.names import calls
from adyton.query.sql.rewrite.answers import aggregate_inside, asked_inside, is_answer
from adyton.query.sql.rewrite.joins import without_right_joins
from adyton.query.sql.rewrite.names_written_out import NamesWrittenOut, check_where, output_name
from adyton.query.sql.rewrite.public_lists import list_public_values
from adyton.query.sql.rewrite.scopes import (
    Context,
    Scope,
    ScopeTable,
    all_of,
    base_origin,
    clause_parts,
    columns_in,
    columns_of_clauses,
    conjuncts,
    in_brackets,
    placed,
    set_where,
    sources,
    write_using,
)

_SINGLE_ROWS = "single rows are never answered; ask for aggregates, such as COUNT(*)"
_CHOOSES = {
    "limit": "LIMIT inside a sub-select chooses single rows; leave it out",
    "offset": "OFFSET inside a sub-select chooses single rows; leave it out",
    "distinct": "DISTINCT inside a sub-select compares single rows; count persons by COUNT(DISTINCT ...)",
    "qualify": "QUALIFY inside a sub-select compares single rows",
}


def one_select(context: Context, select: exp.Expr, *, whole: bool = True) -> exp.Expr:
    """``select`` without sub-selects: over tables alone, as far as that says the same."""
    list_public_values(context, select, one_select)
    without_right_joins(context, select)
    nodes = sources(select)
    _count_persons(context, select)
    if not any(type(node) is exp.Subquery for node, _ in nodes):
        check_where(context, select)
        return select
    origins = [_origin(context, node, join) for node, join in nodes]
    for origin in origins:
        if origin.inner is not None and is_answer(origin.inner):
            if len(origins) == 1:
                return asked_inside(context, select, origin)
            return aggregate_inside(context, select, origin)
    if whole and any(item.is_star for item in select.expressions):
        raise context.source.refusal(select.expressions[0], _SINGLE_ROWS)
    return _merged(context, select, origins)


def _count_persons(context: Context, select: exp.Expr) -> None:
    """COUNT(*) of SELECT DISTINCT person is COUNT(DISTINCT person), where nothing else is asked of it."""
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


def _origin(context: Context, node: exp.Expr, join: exp.Expr | None) -> ScopeTable:
    if type(node) is exp.Table:
        if not context.columns_of(node.name):
            raise context.source.refusal(node, no_such_table(context.tables))
        return base_origin(context, node, join)
    if type(node) is not exp.Subquery:
        raise context.source.refusal(node, "FROM needs the name of the table")
    called, inner = context.source.alias(node) or "", node.this
    while type(inner) is exp.Subquery:
        context.source.check_parts(inner, "this")
        inner = inner.this
    if type(inner) is not exp.Select:
        raise context.source.refusal(node, "a sub-select is one SELECT")
    if inner.args.get("from_") is None:
        raise context.source.refusal(node, f"a sub-select names its table: FROM {context.tables[0].name}")
    inner = one_select(context, inner, whole=False)
    _write_out(context, inner)
    return ScopeTable(called, node, [], inner, join)


def _write_out(context: Context, inner: exp.Expr) -> None:
    """Every column of a sub-select says its table, every alias and place what it stands for."""
    origins = []
    for node, join in sources(inner):
        if type(node) is not exp.Table or not context.columns_of(node.name):
            raise context.source.refusal(node, no_such_table(context.tables))
        origins.append(base_origin(context, node, join))
    for origin in origins[1:]:
        origin.shared |= _joined_names(context, origin)
    scope = Scope(context, origins)
    _write_conditions(context, scope)
    NamesWrittenOut(context, inner, scope, keeps_answer=False).write()
    if not is_answer(inner) and inner.args.get("limit") is None:
        inner.set("order", None)  # rows of a table have no order


def _joined_names(context: Context, origin: ScopeTable) -> set[str]:
    """Names on both sides of a declared inner join, where it makes no difference which column is meant."""
    table, public = context.private(origin.node.name), context.public(origin.node.name)
    if origin.optional:
        return set()
    if public is not None and public[1].key.casefold() == public[1].joins.casefold():
        return {public[1].key.casefold()}
    first = context.tables[0].person
    if table is not None and table.person and first and table.person.casefold() == first.casefold():
        return {table.person.casefold()}
    return set()


# Putting together ------------------------------------------------------------------------------------------


def _merged(context: Context, select: exp.Expr, origins: list[ScopeTable]) -> exp.Expr:
    taken = {origin.called.casefold() for origin in origins if origin.inner is None}
    for origin in origins:
        if origin.inner is not None:
            _check_plain(context, origin.inner)
            _rename_tables(origin.inner, taken)
            origin.columns = [(output_name(item), item.unalias()) for item in origin.inner.expressions]
    scope = Scope(context, origins)
    _write_conditions(context, scope)
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


def _write_conditions(context: Context, scope: Scope) -> None:
    """ON with every column written out, and USING as ON."""
    for origin in scope.origins:
        on = origin.join.args.get("on") if origin.join is not None else None
        for node in columns_in(on) if on is not None else []:
            value = context.copy(scope.one(node)[1])
            node.replace(in_brackets(placed(value, node)))
    if (wrong := write_using(context, scope.origins)) is not None:
        raise context.source.refusal(wrong, f"USING names {wrong.name!r}, which is not once in both tables")


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
