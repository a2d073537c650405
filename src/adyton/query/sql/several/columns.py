"""The items of a SELECT list that are written values, and the list without them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from adyton.query.labels import KeyLabel
from adyton.query.released.nodes import is_label
from adyton.query.request import Request
from adyton.query.sql.expressions import SqlText


def is_written(node: exp.Expr) -> bool:
    """Whether it is a string, a number, TRUE, FALSE or NULL."""
    if type(node) is exp.Neg:
        return type(node.this) is exp.Literal and not node.this.is_string
    return type(node) in (exp.Literal, exp.Boolean, exp.Null)


def label_of(source: SqlText, node: exp.Expr) -> KeyLabel:
    """What a literal shows in an answer."""
    if type(node) is exp.Null:
        return None
    if type(node) is exp.Boolean:
        return bool(node.this)
    if type(node) is exp.Literal and node.is_string:
        return str(node.this)
    number = source.constant(node)
    return int(number) if number.denominator == 1 else float(number)


def shown_columns(asked: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the keys and of the values of an answer, as they are shown."""
    query, shape, shown = asked.query, asked.shape, dict(asked.shape.names)
    keys = [shown.get(group.name, group.name) for group in query.by if group.name not in shape.unshown]
    keys += [name for name, value in shape.shown if is_label(value)]
    values = [name for name, _ in shape.shown or query.measures if name not in keys]
    return tuple(keys), tuple(values)


def without_items(source: SqlText, select: exp.Expr, left_out: Sequence[int]) -> exp.Expr:
    """``select`` without the items at these places; GROUP BY and ORDER BY still mean the same ones."""
    select = select.copy()
    items = select.args["expressions"]
    for clause in ("group", "order"):
        for node in (select.args.get(clause) or exp.Group()).expressions:
            inner = node.this if type(node) is exp.Ordered else node
            if type(inner) is not exp.Literal or inner.is_string:
                continue
            place = source.constant(inner) - 1
            if place in left_out:
                raise source.refusal(inner, "this place of the SELECT list holds a literal: leave it out")
            inner.set("this", str(place + 1 - sum(one < place for one in left_out)))
    select.set("expressions", [item for place, item in enumerate(items) if place not in left_out])
    return select
