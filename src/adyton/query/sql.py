"""The SQL that is answered: one SELECT of aggregates over one table, read into a question.

The grammar and the meaning of each construct are in docs/reference/sql.md.  What is not in it is refused with
its place and a reason, before anything is charged.  Text is only ever read here; no engine sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.query.names import default_name, distinct_names
from adyton.query.nodes import (
    EVERY_ROW,
    Condition,
    Count,
    Indicator,
    IsMissing,
    IsTrue,
    Mean,
    Measure,
    Not,
    Number,
    Proportion,
    Question,
    Sum,
    all_of,
)
from adyton.query.sql_expressions import Source, is_condition
from adyton.query.sql_words import syntax_tree
from adyton.schema import BooleanColumn, Column, Table

MOST_ITEMS = 100


def parse(sql: str, table: Table) -> Question:
    """The question that ``sql`` asks about ``table``."""
    tree = syntax_tree(sql, exp.Select, _names(table))
    source = Source(sql, table, table.name)
    if type(tree) is not exp.Select:
        raise source.refusal(tree, "a question is one SELECT")
    source.check_parts(tree, "expressions", "from_", "where", "group")
    source = replace(source, known_as=_known_as(source, tree))
    by = _groups(source, tree.args.get("group"))
    return Question(
        table=table,
        measures=_measures(source, tree, by),
        where=_where(source, tree.args.get("where")),
        by=by,  # type: ignore[arg-type]  # the question checks its columns
    )


def parse_condition(text: str, table: Table) -> Condition:
    """The condition on a row of ``table`` that ``text`` writes."""
    source = Source(text, table, table.name)
    return source.condition(syntax_tree(text, exp.Condition, _names(table)))


def parse_number(text: str, table: Table) -> Number:
    """The number in a row of ``table`` that ``text`` writes."""
    source = Source(text, table, table.name)
    return source.number(syntax_tree(text, exp.Condition, _names(table)))


def parse_value(text: str, table: Table) -> tuple[Number, Condition]:
    """What SUM and AVG take: a number, or a true-or-false column as 1 or 0; and where it is present."""
    return _value(Source(text, table, table.name), syntax_tree(text, exp.Condition, _names(table)))


def _names(table: Table) -> frozenset[str]:
    return frozenset(name.casefold() for name in (table.name, *(column.name for column in table.columns)))


def _known_as(source: Source, tree: exp.Expr) -> str:
    """The name under which the question knows the table: its alias, or its own."""
    clause = tree.args.get("from_")
    if clause is None:
        raise InvalidRequest(f"say which table is asked: SELECT ... FROM {source.table.name}")
    source.check_parts(clause, "this")
    named = clause.this
    if type(named) is not exp.Table:
        raise source.refusal(named, "FROM needs the name of the table")
    source.check_parts(named, "this", "alias")
    if source.name(named.this).casefold() != source.table.name.casefold():
        raise source.refusal(named, f"the table here is called {source.table.name!r}")
    alias = named.args.get("alias")
    if alias is None:
        return source.table.name
    source.check_parts(alias, "this")
    return source.name(alias.this)


def _where(source: Source, clause: exp.Expr | None) -> Condition:
    if clause is None:
        return EVERY_ROW
    source.check_parts(clause, "this")
    return source.condition(clause.this)


def _groups(source: Source, clause: exp.Expr | None) -> tuple[Column, ...]:
    if clause is None:
        return ()
    source.check_parts(clause, "expressions")
    listed = clause.args.get("expressions") or []
    if not listed:
        raise InvalidRequest("GROUP BY needs the name of at least one column")
    for node in listed:
        if type(node) is not exp.Column:
            raise source.refusal(node, "GROUP BY needs names of columns")
    return _distinct(source, listed, "GROUP BY")


def _distinct(source: Source, nodes: list[exp.Expr], where: str) -> tuple[Column, ...]:
    columns: list[Column] = []
    for node in nodes:
        column = source.column(node)
        if column in columns:
            raise source.refusal(node, f"{where} names {column.name!r} twice")
        columns.append(column)
    return tuple(columns)


def _measures(source: Source, tree: exp.Expr, by: tuple[Column, ...]) -> tuple[tuple[str, Measure], ...]:
    items = tree.args.get("expressions") or []
    if len(items) > MOST_ITEMS:
        raise InvalidRequest(f"SELECT lists {len(items)} values; at most {MOST_ITEMS} are answered at once")
    for column in _distinct(source, [item for item in items if type(item) is exp.Column], "SELECT"):
        if column not in by:
            raise InvalidRequest(
                f"{column.name!r} is neither grouped nor aggregated: add GROUP BY {column.name}, "
                f"or ask for one of COUNT, SUM, AVG, PROPORTION"
            )
    given, defaults, measures = [], [], []
    for item in items:
        if type(item) is not exp.Column:
            node, name = _named(source, item)
            default, measure = _measure(source, node)
            given.append(name)
            defaults.append(default)
            measures.append(measure)
    names = distinct_names(given, defaults, taken=[column.name for column in by])
    return tuple(zip(names, measures, strict=True))


def _named(source: Source, item: exp.Expr) -> tuple[exp.Expr, str | None]:
    if type(item) is not exp.Alias:
        return item, None
    source.check_parts(item, "this", "alias")
    if type(item.this) is exp.Column:
        raise source.refusal(item, "a group keeps the name of its column; leave out AS")
    return item.this, source.name(item.args["alias"])


def _measure(source: Source, node: exp.Expr) -> tuple[str, Measure]:
    """A measure, and what it is called if it is given no name."""
    where: Condition = EVERY_ROW
    if type(node) is exp.Filter:
        source.check_parts(node, "this", "expression")
        where, node = _where(source, node.args["expression"]), node.this
    read = _MEASURES.get(type(node))
    if read is None:
        answered = "COUNT, COUNT_IF, SUM, AVG, PROPORTION and grouped columns"
        raise source.refusal(node, f"SELECT lists {answered} only")
    return read(source, node, where)


def _count_if(source: Source, node: exp.Expr, where: Condition) -> tuple[str, Measure]:
    source.check_parts(node, "this")
    counted = source.condition(node.this)
    return default_name("count_if", counted), Count(all_of(counted, where))


def _sum(source: Source, node: exp.Expr, where: Condition) -> tuple[str, Measure]:
    source.check_parts(node, "this")
    value, present = _value(source, node.this)
    return default_name("sum", value), Sum(value, all_of(present, where))


def _avg(source: Source, node: exp.Expr, where: Condition) -> tuple[str, Measure]:
    source.check_parts(node, "this")
    value, present = _value(source, node.this)
    return default_name("avg", value), Mean(value, all_of(present, where))


def _proportion(source: Source, node: exp.Expr, where: Condition) -> tuple[str, Measure]:
    source.check_parts(node, "this", "expressions")
    if str(node.this).upper() != "PROPORTION" or len(node.expressions) != 1:
        raise source.refusal(node, "PROPORTION takes one condition")
    condition = source.condition(node.expressions[0])
    return default_name("proportion", condition), Proportion(condition, where)


def _count(source: Source, node: exp.Expr, where: Condition) -> tuple[str, Measure]:
    source.check_parts(node, "this", "big_int")  # big_int says how wide the result is, which is no question
    counted = node.args.get("this")
    if type(counted) is exp.Star:
        source.check_parts(counted)
        return "count", Count(where)
    if type(counted) is not exp.Column:
        raise source.refusal(node, "COUNT takes * or one column; COUNT_IF takes a condition")
    column = source.column(counted)
    return f"count_{column.name}", Count(all_of(Not(IsMissing(column)), where))


def _value(source: Source, node: exp.Expr) -> tuple[Number, Condition]:
    node = source.bare(node)
    if is_condition(node):
        reason = "write PROPORTION(condition), or CASE WHEN condition THEN 1 ELSE 0 END"
        raise source.refusal(node, f"a condition is not a number; {reason}")
    if type(node) is exp.Column:
        column = source.column(node)
        if isinstance(column, BooleanColumn):
            return Indicator(IsTrue(column)), Not(IsMissing(column))
    return source.number(node), EVERY_ROW


_MEASURES: dict[type[exp.Expr], Callable[[Source, exp.Expr, Condition], tuple[str, Measure]]] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.Sum: _sum,
    exp.Avg: _avg,
    exp.Anonymous: _proportion,
}
