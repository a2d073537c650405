"""Every name that makes a value of the values of one row, and how a call is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from adyton.kernel.schema import CategoryColumn
from adyton.kernel.terms.leaves import Bounded, IsOutside, word_for
from adyton.query.sql.functions.arguments import arguments
from adyton.query.sql.functions.cases import CASES
from adyton.query.sql.functions.dates import DATES
from adyton.query.sql.functions.labels import NOT_GROUPED, NOT_IN_SET
from adyton.query.sql.functions.numbers import NUMBERS
from adyton.query.sql.functions.texts import TEXTS
from adyton.query.sql.functions.values import Value
from adyton.query.sql.names import called, title
from adyton.query.sql.reasons import reason_against

if TYPE_CHECKING:
    from adyton.kernel.terms.expressions import Condition
    from adyton.query.sql.expressions import SqlText

CONDITION_FUNCTIONS = ("CLIPPED", "UNDECLARED")


def read_call(source: SqlText, node: exp.Expr) -> Value:
    """What a function of one row gives."""
    name = called(source, node)
    read = ROW_FUNCTIONS.get(name)
    if name in (NOT_IN_SET, NOT_GROUPED):
        reason = "a group of ROLLUP, CUBE or GROUPING SETS goes with groups and aggregates alone"
        raise source.refusal(node, reason)
    if read is None:
        where = "it stands in SELECT, HAVING or ORDER BY, not in WHERE or inside another"
        aggregate = f"{title(node)} is an aggregate; {where}"
        why = reason_against(name, source.table)
        raise source.refusal(node, aggregate if why is None else f"{name} is not supported: {why}")
    return read(source, node)


def _outside(source: SqlText, node: exp.Expr) -> Condition:
    """CLIPPED(column) or UNDECLARED(column)."""
    name = called(source, node)
    (inner,) = arguments(source, node, f"{name}(column)", 1)
    inner = source.bare(inner)
    if type(inner) is not exp.Column:
        raise source.refusal(node, f"{name} needs a column: an expression is made of values as declared")
    column = source.column(inner)
    if isinstance(column, Bounded) and word_for(column) != name:
        is_category = isinstance(column, CategoryColumn)
        has = "a list of values and no bounds" if is_category else "bounds and no list of values"
        raise source.refusal(node, f"{column.name!r} has {has}: write {word_for(column)}({column.name})")
    return IsOutside(column)  # type: ignore[arg-type]  # the node checks its column


ROW_FUNCTIONS: dict[str, Callable[[SqlText, exp.Expr], Value]] = {
    **NUMBERS,
    **CASES,
    **TEXTS,
    **DATES,
    **dict.fromkeys(CONDITION_FUNCTIONS, _outside),
}
