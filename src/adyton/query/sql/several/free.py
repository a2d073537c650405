"""What needs no data: a table without rows, the declared values of a column, and literals.

Tools that draw charts ask such queries to learn which columns there are, and whether anybody answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sqlglot import exp

from adyton.kernel.schema import Table, TextColumn
from adyton.kernel.terms.measures import Count, CountPersons
from adyton.query.conditions.possible_cells import cell_codes
from adyton.query.labels import KeyLabel, group_values
from adyton.query.names import distinct_names
from adyton.query.released.answered import Answered, Told
from adyton.query.request import Combined, Free, Request
from adyton.query.sql.aggregates import is_aggregate
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.from_clause import read_from
from adyton.query.sql.grammar import Options
from adyton.query.sql.read import leaves_nothing, read_select
from adyton.query.sql.rewrite.from_names import write_plain_names
from adyton.query.sql.rewrite.scopes import Context
from adyton.query.sql.several.columns import label_of, shown_columns

_NO_ROWS = "no row can be in this table, so these are its columns"
_NO_MATCH = "no row can match, so a count is 0 and all else is missing"
_DECLARED = "these are the values that the study declares, whether they occur or not"
_WRITTEN = "these values stand in the query itself"
_ROWS = "declared_values"


def nothing_asked(source: SqlText, asked: Request | Combined) -> Free:
    """Its columns, and no rows."""
    keys, values = (asked.keys, asked.values) if isinstance(asked, Combined) else shown_columns(asked)
    return Free(_said_in(source), _NO_ROWS, tuple((name, ()) for name in keys), values)


def row_of_nothing(source: SqlText, asked: Request) -> Free:
    """What aggregates are over no rows: a count is 0, all else is missing."""
    counts = (Count, CountPersons)
    row = tuple((name, (0 if isinstance(m, counts) else None,)) for name, m in asked.query.measures)
    return Free(_said_in(source), _NO_MATCH, row)


def columns_asked(source: SqlText, tree: exp.Expr, tables: Sequence[Table]) -> Free | None:
    """SELECT of columns, or of all, that no row can be in: their names."""
    if not leaves_nothing(tree) or tree.args.get("group") is not None:
        return None
    items = list(map(source.item, tree.expressions))
    if not all(type(node) in (exp.Column, exp.Star) for node, _ in items):
        return None
    if any(node.args.get("db") is not None for node in tree.walk()):
        write_plain_names(Context(source, tuple(tables), tree), tree)  # schema.table is table
    table, aliases = read_from(source, tree, tables)
    source = replace(source, table=table, aliases=aliases)
    names: list[str] = []
    for node, alias in items:
        every = type(node) is exp.Star or type(node.this) is exp.Star
        names += [column.name for column in table.columns] if every else [alias or source.column(node).name]
    return Free(_said_in(source), _NO_ROWS, tuple((name, ()) for name in dict.fromkeys(names)))


def declared_asked(source: SqlText, options: Options, tree: exp.Expr, tables: Sequence[Table]) -> Free:
    """SELECT DISTINCT of groups: all keys that an answer by these groups would have."""
    request = read_select(source, options, _grouped(source, tree), tables)
    query, shape = request.query, request.shape
    for group in query.by:
        if isinstance(group, TextColumn):
            reason = (
                f"nobody declared the values of {group.name!r}: GROUP BY it and count, to find common ones"
            )
            raise source.refusal(tree, reason)
    if any(term.name == _ROWS for term in shape.order):
        raise source.refusal(tree, "declared values are ordered by themselves alone")
    codes, size = cell_codes(query)
    told: dict[str, Told] = {
        group.name: (group_values(group), own) for group, own in zip(query.by, codes, strict=True)
    }
    places, shown = shape.places(Answered(told, size, {})), dict(shape.names)
    by_name = {shown.get(name, name): _labels(column, places) for name, column in told.items()}
    keys = tuple((name, by_name[name]) for name in request.listed[:-1])
    return Free(_said_in(source), _DECLARED, keys)


def constants_asked(source: SqlText, tree: exp.Expr) -> Free:
    """SELECT without FROM: one row of literals."""
    source.check_parts(tree, "expressions")
    items = list(map(source.item, tree.expressions))
    if not items:
        raise source.refusal(tree, "SELECT asks nothing")
    for node, _ in items:
        if any(type(part) in (exp.Column, exp.Star) for part in node.walk()):
            raise source.refusal(tree, "FROM and the name of a table are missing")
    names = distinct_names([name for _, name in items], ["column"] * len(items), taken=[])
    keys = tuple((name, (label_of(source, node),)) for name, (node, _) in zip(names, items, strict=True))
    return Free(_said_in(source), _WRITTEN, keys)


def _said_in(source: SqlText) -> str:
    """The text, on one line."""
    return " ".join(source.text.split())


def _grouped(source: SqlText, tree: exp.Expr) -> exp.Expr:
    """Grouped by all items, with a count that is not asked for."""
    tree = tree.copy()
    source.check_parts(tree.args["distinct"])
    items = [source.item(item)[0] for item in tree.expressions]
    if tree.args.get("group") is not None or any(map(is_aggregate, items)):
        raise source.refusal(tree, "leave out DISTINCT: the rows of an answer differ in their keys")
    if tree.args.get("having") is not None:
        raise source.refusal(tree, "HAVING speaks of groups; write the condition behind WHERE")
    count = exp.Anonymous(this="COUNT", expressions=[exp.Star()])
    named = exp.Alias(this=count, alias=exp.Identifier(this=_ROWS, quoted=True))
    tree.set("distinct", None)
    tree.set("group", exp.Group(expressions=[item.copy() for item in items]))
    tree.append("expressions", named)
    return tree


def _labels(column: Told, places: np.ndarray) -> tuple[KeyLabel, ...]:
    labels, codes = column
    return tuple(labels[code] for code in codes[places].tolist())
