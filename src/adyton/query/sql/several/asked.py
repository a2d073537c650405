"""All that a text asks: one question, several whose answers are one table, or what public facts answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from adyton.query.expressions import And, Condition
from adyton.query.leaves import Always
from adyton.query.measures import Cdf
from adyton.query.request import AS_ASKED, Asked, Combined, Request
from adyton.query.sql.expressions import Source
from adyton.query.sql.grammar import Options
from adyton.query.sql.read import known_words, read_select
from adyton.query.sql.words import question_tree
from adyton.schema import Table

SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
CLAUSES = ("rollup", "cube", "grouping_sets")
_BEHIND = ("order", "limit", "offset")


def parse_asked(sql: str, table: Table, *further: Table) -> Asked:
    """What ``sql`` asks about ``table``, or ``further`` tables of the same persons."""
    options, tree = question_tree(sql, known_words(table, *further))
    source = Source(sql, table, table.name)
    tree = _inner(source, tree)
    with source.at(tree):
        if type(tree) is exp.Select and not _is_unusual(tree):
            asked = read_select(source, options, tree, (table, *further))
            if not is_empty(asked) and not is_row_of_nothing(asked):
                return asked
        return _unusual(source, options, tree, (table, *further))


def _inner(source: Source, tree: exp.Expr) -> exp.Expr:
    """Without brackets around it, and a union without SELECT * FROM around it."""
    while type(tree) is exp.Subquery:
        source.check_parts(tree, "this")
        tree = tree.this
    args = {name: value for name, value in tree.args.items() if value}
    if type(tree) is not exp.Select or args.keys() - {"with_", "expressions", "from_", *_BEHIND}:
        return tree
    named, ahead = args["from_"].this if "from_" in args else None, args.get("with_")
    inner = named.this if type(named) is exp.Subquery else None
    if ahead is not None and type(named) is exp.Table and len(ahead.expressions) == 1:
        cte = ahead.expressions[0]
        inner = cte.this if cte.alias.casefold() == named.name.casefold() else None
    if type(inner) is not exp.Union or [type(item) for item in tree.expressions] != [exp.Star]:
        return tree
    if any(inner.args.get(name) for name in _BEHIND):
        return tree
    for name in _BEHIND:
        inner.set(name, tree.args.get(name))
    return inner


def _unusual(source: Source, options: Options, tree: exp.Expr, tables: Sequence[Table]) -> Asked:
    """What is not one question: it is read in files that plain questions do not need."""
    from adyton.query.sql.several.free import (
        columns_asked,
        constants_asked,
        declared_asked,
        nothing_asked,
        row_of_nothing,
    )
    from adyton.query.sql.several.grouping_sets import read_sets
    from adyton.query.sql.several.unions import read_union

    if type(tree) is exp.Union:
        return read_union(source, options, tree, tables)
    if tree.args.get("from_") is None:
        return constants_asked(source, tree)
    if tree.args.get("distinct") is not None:
        return declared_asked(source, options, tree, tables)
    if (columns := columns_asked(source, tree, tables)) is not None:
        return columns
    read = read_sets if has_sets(tree) else read_select
    asked = read(source, options, tree, tables)
    if isinstance(asked, Request) and is_row_of_nothing(asked):
        return row_of_nothing(source, asked)
    return nothing_asked(source, asked) if is_empty(asked) else asked


def _is_unusual(tree: exp.Expr) -> bool:
    args = tree.args
    plain = args.get("from_") is not None and args.get("distinct") is None and not has_sets(tree)
    return not plain or leaves_nothing(tree)


def leaves_nothing(tree: exp.Expr) -> bool:
    """Whether LIMIT 0 or WHERE FALSE is written, whatever is selected."""
    limit, where = tree.args.get("limit"), tree.args.get("where")
    said = limit.args.get("expression") if limit is not None else None
    if type(said) is exp.Literal and said.this == "0":
        return True
    condition = where.this if where is not None else None
    if type(condition) is exp.EQ:
        sides = (condition.this, condition.expression)
        return all(type(side) is exp.Literal for side in sides) and sides[0].this != sides[1].this
    return type(condition) is exp.Boolean and not condition.this


def has_sets(tree: exp.Expr) -> bool:
    """Whether GROUP BY lists sets of groups."""
    group = tree.args.get("group")
    if group is None:
        return False
    listed = group.args.get("expressions") or []
    return any(type(node) in SETS for node in listed) or any(group.args.get(name) for name in CLAUSES)


def is_empty(asked: Request | Combined) -> bool:
    """Whether LIMIT 0 or WHERE FALSE leaves no row, whatever the data are.

    Without groups a database has one row all the same, of 0 and NULL.
    """
    requests = [asked] if isinstance(asked, Request) else [part.request for part in asked.parts]
    grouped = all(request.question.by for request in requests)
    return asked.shape.limit == 0 or (grouped and _never(requests[0].question.where))


def is_row_of_nothing(asked: Request | Combined) -> bool:
    """Whether it is that one row."""
    if isinstance(asked, Combined) or asked.question.by:
        return False
    if replace(asked.shape, order=(), limit=None) != AS_ASKED:
        return False
    return _never(asked.question.where) and not any(isinstance(m, Cdf) for _, m in asked.question.measures)


def _never(where: Condition) -> bool:
    if isinstance(where, And):
        return any(map(_never, where.parts))
    return where == Always(False)
