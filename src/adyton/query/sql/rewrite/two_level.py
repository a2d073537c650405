"""An aggregate inside a sub-select, and more than a look at its answer outside."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.scopes import Context, Origin


def aggregate_inside(context: Context, outer: exp.Expr, origin: Origin) -> exp.Expr:
    """What a SELECT means that aggregates or joins ``origin``, the answer of an aggregate inside it."""
    del outer
    raise context.source.refusal(
        origin.node,
        "an aggregate inside: its answer can be chosen from, named, filtered and ordered outside, "
        "not aggregated, grouped or joined again",
    )
