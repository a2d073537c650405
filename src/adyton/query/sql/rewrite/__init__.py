"""From the tree of a text to the tree of one SELECT over tables that means the same: one rule a file.

What no rule knows is left as it is, for the reader to refuse.  Nodes keep their places in the text, so that
a refusal still says where.  Each rule has a law in tests/laws/test_rewrites.py: a text and what becomes of it
give the same rows on random tables, by a database that knows nothing of this project.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Table
from adyton.query.sql.aggregates import COMMON, DISTINCT
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.rewrite.answers import EXTREMES, order_by_extremes
from adyton.query.sql.rewrite.brackets import without_brackets
from adyton.query.sql.rewrite.constants import fold_constants
from adyton.query.sql.rewrite.every_item import write_out_items
from adyton.query.sql.rewrite.from_names import write_plain_names
from adyton.query.sql.rewrite.joins import declared_joins
from adyton.query.sql.rewrite.public_lists import settle_lists
from adyton.query.sql.rewrite.scopes import Context, check_items, check_nesting
from adyton.query.sql.rewrite.subselects import one_select
from adyton.query.sql.rewrite.truths import TRUTHS, count_truths
from adyton.query.sql.rewrite.tuples import compare_one_by_one
from adyton.query.sql.rewrite.values_counted import count_values
from adyton.query.sql.rewrite.with_clause import write_out_ctes

# Without any of these, without a schema before a table, and without written values that are compared with
# each other there is nothing to rewrite.
SHAPES = frozenset(
    {
        *(exp.With, exp.Subquery, exp.Exists, exp.In, exp.Tuple, exp.Join, exp.Group, exp.Order, exp.Alias),
        exp.Distinct,
    }
)

# Where a SELECT stands in another one.
_NESTED = frozenset((exp.With, exp.Subquery, exp.Exists))


def rewritten(source: SqlText, tree: exp.Expr, tables: Sequence[Table]) -> exp.Expr:
    """The tree of one SELECT that means what ``tree`` means, as far as there is one."""
    if type(tree) is not exp.Select:
        return tree
    try:
        return _rewritten(Context(source, tuple(tables)), tree)
    except RecursionError:
        raise InvalidRequest("the text is too long a chain of operations") from None


def _rewritten(context: Context, tree: exp.Expr) -> exp.Expr:
    nodes = list(tree.walk())
    kinds = {type(node) for node in nodes}
    called = {str(node.this).upper() for node in nodes if type(node) is exp.Anonymous}
    check_items(context, [node for node in nodes if type(node) is exp.Select])
    nested = not kinds.isdisjoint(_NESTED)
    if exp.Subquery in kinds:
        without_brackets(context, tree)  # FROM (a JOIN b)
    if exp.With in kinds:
        write_out_ctes(context, tree)  # WITH x AS (...): each use of x is a sub-select
    if called & {*EXTREMES}:
        order_by_extremes(context, tree)  # ARG_MAX(key, value) is ORDER BY value DESC LIMIT 1
    if called & {*TRUTHS}:
        count_truths(context, tree)  # BOOL_OR(c) is whether COUNT_IF(c) is 1 or more
    if any(node.args.get("db") is not None for node in nodes):
        write_plain_names(context, tree)  # schema.table is table
    if exp.Tuple in kinds:
        compare_one_by_one(context, tree)  # (a, b) IN ((1, 2)) is a = 1 AND b = 2
    if kinds & {exp.Group, exp.Order}:
        selects = list(tree.find_all(exp.Select)) if nested else [tree]
        write_out_items(context, selects)  # GROUP BY ALL, ORDER BY ALL
    tree = one_select(context, tree)  # sub-selects, also those that list public values
    check_nesting(context, tree)
    declared_joins(context, tree)  # FROM a, b WHERE a.key = b.key is JOIN; ON beyond the key is WHERE
    if nested:
        settle_lists(context, tree)  # public values that a column cannot have
    fold_constants(context, tree)  # 1 = 1 is TRUE
    if exp.Distinct in kinds or called & {*COMMON, *DISTINCT}:
        count_values(context, tree)  # MODE(x), COUNT(DISTINCT x): the counts of all values of x
    return tree


def rewritten_condition(source: SqlText, tree: exp.Expr, tables: Sequence[Table]) -> exp.Expr:
    """The same for a condition that stands alone."""
    clause = exp.Where(this=tree)
    compare_one_by_one(Context(source, tuple(tables)), clause)
    condition: exp.Expr = clause.this
    return condition
