"""All that a text asks: one question, several whose answers are one table, or what public facts answer."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from adyton.query.expressions import And, Condition
from adyton.query.leaves import Always
from adyton.query.request import Asked, Combined, Request
from adyton.query.sql.expressions import Source
from adyton.query.sql.grammar import Options
from adyton.query.sql.read import known_words, read_select
from adyton.query.sql.words import question_tree
from adyton.schema import Table

SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
CLAUSES = ("rollup", "cube", "grouping_sets")


def parse_asked(sql: str, table: Table, *further: Table) -> Asked:
    """What ``sql`` asks about ``table``, or ``further`` tables of the same persons."""
    options, tree = question_tree(sql, known_words(table, *further))
    source = Source(sql, table, table.name)
    while type(tree) is exp.Subquery:
        source.check_parts(tree, "this")
        tree = tree.this
    with source.at(tree):
        if type(tree) is exp.Select and not _is_unusual(tree):
            asked = read_select(source, options, tree, (table, *further))
            if not is_empty(asked):
                return asked
        return _unusual(source, options, tree, (table, *further))


def _unusual(source: Source, options: Options, tree: exp.Expr, tables: Sequence[Table]) -> Asked:
    """What is not one question: it is read in files that plain questions do not need."""
    from adyton.query.sql.several.free import constants_asked, declared_asked, nothing_asked
    from adyton.query.sql.several.grouping_sets import read_sets
    from adyton.query.sql.several.unions import read_union

    if type(tree) is exp.Union:
        return read_union(source, options, tree, tables)
    if tree.args.get("from_") is None:
        return constants_asked(source, tree)
    if tree.args.get("distinct") is not None:
        return declared_asked(source, options, tree, tables)
    read = read_sets if has_sets(tree) else read_select
    asked = read(source, options, tree, tables)
    return nothing_asked(source, [asked]) if is_empty(asked) else asked


def _is_unusual(tree: exp.Expr) -> bool:
    return tree.args.get("from_") is None or tree.args.get("distinct") is not None or has_sets(tree)


def has_sets(tree: exp.Expr) -> bool:
    """Whether GROUP BY lists sets of groups."""
    group = tree.args.get("group")
    if group is None:
        return False
    listed = group.args.get("expressions") or []
    return any(type(node) in SETS for node in listed) or any(group.args.get(name) for name in CLAUSES)


def is_empty(asked: Request | Combined) -> bool:
    """Whether LIMIT 0 or WHERE FALSE leaves no row, whatever the data are."""
    question = asked.question if isinstance(asked, Request) else asked.parts[0].request.question
    return asked.shape.limit == 0 or _never(question.where)


def _never(where: Condition) -> bool:
    if isinstance(where, And):
        return any(map(_never, where.parts))
    return where == Always(False)
