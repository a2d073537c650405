"""GROUP BY ALL and ORDER BY ALL: the items of the SELECT list are written out."""

from __future__ import annotations

from sqlglot import exp

from adyton.query.sql.rewrite.scopes import Context, has_aggregate


def write_out_items(context: Context, select: exp.Expr) -> None:
    """GROUP BY what aggregates nothing, ORDER BY the first item, then the second, and so on.

    >>> after("SELECT kind, COUNT(*) FROM sales GROUP BY ALL ORDER BY ALL DESC")
    SELECT kind, COUNT(*) FROM sales GROUP BY kind ORDER BY 1 DESC, 2 DESC
    """
    group = select.args.get("group")
    if group is not None and group.args.get("all"):
        _write_groups(context, select, group)
    if select.args.get("order") is not None:
        _write_order(select)


def _write_groups(context: Context, select: exp.Expr, group: exp.Expr) -> None:
    """All items that depend on a row, and aggregate nothing."""
    context.source.check_parts(group, "all")
    bare = [item.unalias() for item in select.expressions]
    if any(part.is_star for part in bare):
        raise context.source.refusal(group, "GROUP BY ALL groups by what SELECT lists: list the columns")
    plain = [part for part in bare if not has_aggregate(part) and not part.find(exp.Window)]
    groups = [context.copy(part) for part in plain if part.find(exp.Column)]
    select.set("group", exp.Group(expressions=groups) if groups else None)


def _write_order(select: exp.Expr) -> None:
    """By the first item, then by the second, and so on."""
    ordered = select.args["order"].expressions
    if len(ordered) != 1 or not _is_all(ordered[0].this):
        return
    said = {name: ordered[0].args.get(name) for name in ("desc", "nulls_first")}
    places = range(1, len(select.expressions) + 1)
    written = [exp.Ordered(this=exp.Literal.number(place), **said) for place in places]
    select.args["order"].set("expressions", written)


def _is_all(node: exp.Expr) -> bool:
    """The word, which no name can be: names are quoted in the tree."""
    return type(node) is exp.Column and node.name.upper() == "ALL" and not node.this.args.get("quoted")
