"""What a function is called with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from adyton.query.sql.expressions import SqlText


def arguments(source: SqlText, node: exp.Expr, form: str, *numbers: int) -> list[exp.Expr]:
    """The arguments, as many as one of ``numbers``; ``form`` is what to write."""
    if len(node.expressions) not in numbers:
        raise source.refusal(node, f"write {form}")
    return list(node.expressions)


def several(source: SqlText, node: exp.Expr, form: str, least: int = 2) -> list[exp.Expr]:
    """The arguments, at least so many."""
    if len(node.expressions) < least:
        raise source.refusal(node, f"write {form}")
    return list(node.expressions)


def written(source: SqlText, node: exp.Expr) -> str:
    """The string that is written, or the bare name, such as MONTH, in capitals; else an empty one."""
    node = source.bare(node)
    said = str(node.this) if node.is_string or type(node) is exp.Var else source.plain_name(node)
    return (said or "").upper()


def whole_number(source: SqlText, node: exp.Expr, low: int, high: int) -> int:
    """A written whole number between two."""
    value = source.constant(node)
    if value.denominator != 1 or not low <= value <= high:
        raise source.refusal(node, f"a whole number from {low} to {high} is needed here")
    return int(value)
