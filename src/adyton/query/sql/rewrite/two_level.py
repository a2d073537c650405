"""An aggregate inside a sub-select, and more than a look at its answer outside."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.scopes import Context, Origin


def aggregate_inside(context: Context, outer: exp.Expr, origin: Origin) -> exp.Expr:
    """What a SELECT means that aggregates or joins ``origin``, the answer of an aggregate inside it.

    One row for each person is a table of its own (``query/sql/persons.py``), and stays where it is.
    """
    if origin.inner is not None and _by_person(context, origin.inner):
        origin.node.set("this", origin.inner)
        return outer
    raise context.source.refusal(
        origin.node,
        "an aggregate inside: its answer can be chosen from, named, filtered and ordered outside, "
        "not aggregated, grouped or joined again, unless it is one row for each person",
    )


def _by_person(context: Context, inner: exp.Expr) -> bool:
    """Whether rows are grouped by the person, alone or not: the reader says what is wrong with more."""
    group = inner.args.get("group")
    named = [node.name.casefold() for node in group.expressions if type(node) is exp.Column] if group else []
    return any(table.person is not None and table.person.casefold() in named for table in context.tables)
