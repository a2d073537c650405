"""The SQL that is answered: one SELECT of aggregates over one table, read into a question.

The grammar and the meaning of each construct are in docs/reference/sql.md.  What is not in it is refused with
its place and a reason, before anything is charged.  Text is only ever read here; no engine sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.query.names import distinct_names
from adyton.query.nodes import Condition, Count, Group, Measure, Number, Question
from adyton.query.sql_aggregates import read_measure, read_value, read_where
from adyton.query.sql_expressions import Source
from adyton.query.sql_groups import Item, read_groups, read_histogram, read_items
from adyton.query.sql_words import syntax_tree
from adyton.schema import Table

MOST_ITEMS = 100


def parse(sql: str, table: Table) -> Question:
    """The question that ``sql`` asks about ``table``."""
    tree = syntax_tree(sql, exp.Select, _names(table))
    source = Source(sql, table, table.name)
    if type(tree) is not exp.Select:
        raise source.refusal(tree, "a question is one SELECT")
    source.check_parts(tree, "expressions", "from_", "where", "group")
    source = replace(source, known_as=_known_as(source, tree))
    items = read_items(source, tree)
    if len(items) > MOST_ITEMS:
        raise InvalidRequest(f"SELECT lists {len(items)} values; at most {MOST_ITEMS} are answered at once")
    by = read_groups(source, items, tree.args.get("group"))
    measures, by = _measures(source, items, by)
    return Question(table, measures, read_where(source, tree.args.get("where")), by)


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
    return read_value(Source(text, table, table.name), syntax_tree(text, exp.Condition, _names(table)))


def _names(table: Table) -> frozenset[str]:
    names = [table.name, *(column.name for column in table.columns), table.person or table.name]
    return frozenset(name.casefold() for name in names)


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


def _measures(
    source: Source, items: Sequence[Item], by: tuple[Group, ...]
) -> tuple[tuple[tuple[str, Measure], ...], tuple[Group, ...]]:
    """The aggregates of the SELECT list, and the groups; a histogram adds its bins to them."""
    histogram = read_histogram(source, items)
    if histogram is not None:
        bins, where, given = histogram
        names = distinct_names([given], ["count"], taken=[group.name for group in (*by, bins)])
        return ((names[0], Count(where)),), (*by, bins)
    asked = [item for item in items if item.aggregates]
    read = [read_measure(source, item.node) for item in asked]
    names = distinct_names(
        [item.alias for item in asked], [default for default, _ in read], taken=[group.name for group in by]
    )
    return tuple(zip(names, [measure for _, measure in read], strict=True)), by
