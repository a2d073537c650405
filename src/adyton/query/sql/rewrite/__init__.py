"""From the tree of a text to the tree of one SELECT over tables that means the same, by rules in one order.

What no rule knows is left as it is, for the reader to refuse.  Nodes keep their places in the text, so that
a refusal still says where.  Each rule shows a text before and after it, and has a law in
tests/query/test_rewrites.py: a text and what becomes of it give the same rows on random tables, by a database
that knows nothing of this project.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Table
from adyton.query.sql.aggregates import COMMON, DISTINCT
from adyton.query.sql.expressions import SqlText
from adyton.query.sql.rewrite.answers import ask_inside
from adyton.query.sql.rewrite.brackets import without_brackets
from adyton.query.sql.rewrite.constants import fold_constants
from adyton.query.sql.rewrite.every_item import write_out_items
from adyton.query.sql.rewrite.extremes import EXTREMES, order_by_extremes
from adyton.query.sql.rewrite.from_names import SCHEMA, write_plain_names
from adyton.query.sql.rewrite.joins import declared_joins
from adyton.query.sql.rewrite.names_written_out import write_out_names
from adyton.query.sql.rewrite.persons_counted import count_persons
from adyton.query.sql.rewrite.public_lists import list_public_values
from adyton.query.sql.rewrite.right_joins import without_right_joins
from adyton.query.sql.rewrite.scopes import Context, check_items, check_nesting
from adyton.query.sql.rewrite.settled_lists import settle_lists
from adyton.query.sql.rewrite.subselects import merge_subselects
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

_NESTED = (exp.With, exp.Subquery, exp.Exists)  # where a SELECT stands in another one


@dataclass(frozen=True, slots=True)
class Rule:
    """``write`` changes a tree, or returns the one that takes its place.

    ``where``: a text without any of these nodes, or calls of these functions, has nothing for it.  With
    ``each`` it is asked about every SELECT of the text, those inside of it first.
    """

    write: Callable[[Context, exp.Expr], exp.Expr | None]
    where: tuple[type[exp.Expr] | str, ...]
    each: bool = False


RULES = (
    Rule(without_brackets, (exp.Subquery,)),  # FROM (a JOIN b)
    Rule(without_right_joins, (exp.Join,), each=True),
    Rule(write_plain_names, (SCHEMA,)),  # schema.table is table
    Rule(write_out_items, (exp.Group, exp.Order), each=True),  # GROUP BY ALL, ORDER BY ALL
    Rule(compare_one_by_one, (exp.Tuple,)),  # (a, b) IN ((1, 2)) is a = 1 AND b = 2
    Rule(write_out_ctes, (exp.With,)),  # WITH x AS (...): each use of x is a sub-select
    Rule(count_persons, _NESTED, each=True),  # COUNT(*) of SELECT DISTINCT person
    Rule(order_by_extremes, EXTREMES),  # ARG_MAX(key, value) is ORDER BY value DESC LIMIT 1
    Rule(count_truths, TRUTHS),  # BOOL_OR(c) is whether COUNT_IF(c) is 1 or more
    Rule(list_public_values, _NESTED, each=True),  # x IN (SELECT ...) of a public table
    Rule(ask_inside, _NESTED, each=True),  # FROM (an aggregate query)
    Rule(merge_subselects, (exp.Select,), each=True),  # FROM (SELECT ...)
    Rule(write_out_names, _NESTED, each=True),  # the names of a SELECT list inside
    Rule(declared_joins, (exp.Join,)),  # FROM a, b WHERE a.key = b.key is JOIN; ON beyond the key is WHERE
    Rule(settle_lists, _NESTED),  # public values that a column cannot have
    Rule(fold_constants, (exp.Where,)),  # 1 = 1 is TRUE
    Rule(count_values, (exp.Distinct, *COMMON, *DISTINCT)),  # MODE(x): the counts of all values of x
)

REWRITTEN_FUNCTIONS = frozenset(
    word for rule in RULES for word in rule.where if isinstance(word, str) and word != SCHEMA
)
"""Functions of SQL that rules put something else in the place of."""


def rewritten(
    source: SqlText, tree: exp.Expr, tables: Sequence[Table], rules: Sequence[Rule] = RULES
) -> exp.Expr:
    """The tree of one SELECT that means what ``tree`` means, as far as there is one."""
    if type(tree) is not exp.Select:
        return tree
    try:
        return _rewritten(Context(source, tuple(tables), tree), rules)
    except RecursionError:
        raise InvalidRequest("the text is too long a chain of operations") from None


def _rewritten(context: Context, rules: Sequence[Rule]) -> exp.Expr:
    nodes = list(context.root.walk())
    present: set[type[exp.Expr] | str] = {type(node) for node in nodes}
    present |= {str(node.this).upper() for node in nodes if type(node) is exp.Anonymous}
    check_items(context, [node for node in nodes if type(node) is exp.Select])
    present |= {SCHEMA for node in nodes if node.args.get("db") is not None}
    nested = not present.isdisjoint(_NESTED)
    useful = [rule for rule in rules if not present.isdisjoint(rule.where)]
    for each, some in groupby(useful, key=lambda rule: rule.each):
        together = list(some)
        for select in _innermost_first(context.root) if each and nested else [context.root]:
            _write(context, select, together)
    check_nesting(context, context.root)
    return context.root


def _write(context: Context, select: exp.Expr, rules: Sequence[Rule]) -> None:
    for rule in rules:
        new = rule.write(context, select) or select
        if select is context.root:
            context.root = new
        elif new is not select:
            select.replace(new)
        select = new


def _innermost_first(tree: exp.Expr) -> Sequence[exp.Expr]:
    return [node for node in tree.walk() if type(node) is exp.Select][::-1]


def rewritten_condition(source: SqlText, tree: exp.Expr, tables: Sequence[Table]) -> exp.Expr:
    """The same for a condition that stands alone."""
    clause = exp.Where(this=tree)
    compare_one_by_one(Context(source, tuple(tables), clause), clause)
    condition: exp.Expr = clause.this
    return condition
