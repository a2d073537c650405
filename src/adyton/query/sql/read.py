"""The SQL that is answered: one SELECT of aggregates over a table, read into a question.

The grammar and the meaning of each construct are in docs/reference/sql.md.  What is not in it is refused with
its place and a reason, before anything is charged.  Text is only ever read here; no engine sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.query.expressions import Condition, NumberExpression, all_of
from adyton.query.groups import Grouped
from adyton.query.leaves import EVERY_ROW
from adyton.query.measures import Count, Measure
from adyton.query.names import distinct_names, is_person, names_in
from adyton.query.nodes import Group, Question
from adyton.query.request import Request, Shape
from adyton.query.sql.aggregates import AGGREGATES, read_measure, read_value, read_where
from adyton.query.sql.expressions import Source
from adyton.query.sql.from_clause import read_from
from adyton.query.sql.functions.calls import ROW_FUNCTIONS
from adyton.query.sql.grammar import Options
from adyton.query.sql.groups import Item, read_group, read_groups, read_histogram, read_items
from adyton.query.sql.persons import read_persons, without_unused
from adyton.query.sql.released import RELEASED_FUNCTIONS, Reader
from adyton.query.sql.rewrite import SHAPES, rewritten, rewritten_condition
from adyton.query.sql.rewrite.truths import TRUTHS, is_truth
from adyton.query.sql.shape import CLAUSES, check_windows, read_shape
from adyton.query.sql.words import CASTS, Known, question_tree, syntax_tree
from adyton.query.text import group_value_text
from adyton.schema import Table

MOST_ITEMS = 100
FUNCTIONS = (
    *AGGREGATES,
    *ROW_FUNCTIONS,
    "LABEL",
    "EXTRACT",
    "GROUPING",
    *CASTS,
    *RELEASED_FUNCTIONS,
    *TRUTHS,
)


def parse(sql: str, table: Table, *further: Table) -> Question:
    """The question that ``sql`` asks about ``table``; it names no price, and nothing about how to show it."""
    return parse_request(sql, table, *further).alone


def parse_request(sql: str, table: Table, *further: Table) -> Request:
    """All that ``sql`` says: the question about ``table``, or ``further`` tables of the same persons, how to
    show the answer, and perhaps a price.
    """
    options, tree = question_tree(sql, known_words(table, *further))
    source = Source(sql, table, table.name)
    with source.at(tree):
        return read_select(source, options, tree, (table, *further))


def read_select(source: Source, options: Options, tree: exp.Expr, tables: Sequence[Table]) -> Request:
    """What one SELECT asks."""
    if any(type(node) in SHAPES or node.args.get("db") is not None or is_truth(node) for node in tree.walk()):
        tree = rewritten(source, tree, tables)
    if type(tree) is not exp.Select:
        raise source.refusal(tree, "a question is one SELECT")
    persons = read_persons(source, tree, tables) if _asks_a_select(tree) else None
    tree = tree if persons is None else persons.tree
    source.check_parts(tree, "expressions", "from_", "joins", "where", "group", *CLAUSES)
    table, aliases = read_from(source, tree, tables) if persons is None else (persons.table, persons.aliases)
    source = replace(source, table=table, aliases=aliases)
    items = read_items(source, tree)
    if len(items) > MOST_ITEMS:
        raise InvalidRequest(f"SELECT lists {len(items)} values; at most {MOST_ITEMS} are answered at once")
    by = read_groups(source, items, tree.args.get("group"))
    measures, by = _measures(source, items, by)
    kept = EVERY_ROW if persons is None else persons.kept
    where = all_of(kept, read_where(source, tree.args.get("where")))
    reader = Reader(source, items, by, list(measures))
    shape = read_shape(reader, tree)
    question = Question(table, tuple(reader.measures), where, by, _most_groups(options, table))
    question = question if persons is None else without_unused(question)
    check_windows(question, shape)
    listed = _listed_names(source, items, question, shape)
    return Request(question, shape, options.epsilon, options.delta, listed)


def _asks_a_select(tree: exp.Expr) -> bool:
    clause = tree.args.get("from_")
    return clause is not None and type(clause.this) is exp.Subquery


def parse_condition(text: str, table: Table) -> Condition:
    """The condition on a row of ``table`` that ``text`` writes."""
    source = Source(text, table, table.name)
    return source.condition(rewritten_condition(source, syntax_tree(text, known_words(table)), (table,)))


def parse_number(text: str, table: Table) -> NumberExpression:
    """The number in a row of ``table`` that ``text`` writes."""
    source = Source(text, table, table.name)
    return source.number(syntax_tree(text, known_words(table)))


def parse_group(text: str, table: Table) -> Grouped:
    """What rows of ``table`` are grouped by: a column, or a number with few values."""
    source, tree = Source(text, table, table.name), syntax_tree(text, known_words(table))
    with source.at(tree):
        return read_group(source, tree)


def parse_value(text: str, table: Table) -> tuple[NumberExpression, Condition]:
    """What SUM and AVG take: a number, or a true-or-false column as 1 or 0; and where it is present."""
    return read_value(Source(text, table, table.name), syntax_tree(text, known_words(table)))


@lru_cache(maxsize=16)
def known_words(*tables: Table) -> Known:
    """What a text about these tables may use."""
    names = frozenset(name.casefold() for table in tables for name in names_in(table))
    return Known(names, tables[0], FUNCTIONS)


def _most_groups(options: Options, table: Table) -> int | None:
    """The groups of a person that count; who a person is must be what the study says."""
    named = options.privacy_unit_column
    if named is not None and not is_person(table, named):
        known = f"it is {table.person!r}" if table.person else "the unit is a row"
        raise InvalidRequest(f"privacy_unit_column cannot be chosen: in this study {known}")
    if options.max_groups_contributed is not None and table.person is None:
        raise InvalidRequest("max_groups_contributed is about persons; the unit of this study is a row")
    return options.max_groups_contributed


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


def _listed_names(source: Source, items: Sequence[Item], question: Question, shape: Shape) -> tuple[str, ...]:
    """The names of the SELECT list, in its order."""
    keys = {group_value_text(group): group.name for group in question.by}
    values, shown = iter([name for name, _ in shape.shown or question.measures]), dict(shape.names)
    names = []
    for item in items:
        if item.groups:
            name = keys[read_group(source, item.node).text]
            names.append(shown.get(name, name))
        else:
            names.append(next(values))
    return tuple(names)
