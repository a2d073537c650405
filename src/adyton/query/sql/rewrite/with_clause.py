"""WITH x AS (SELECT ...): every use of x is written as the sub-select itself."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from adyton.query.sql.rewrite.scopes import Context


def write_out_ctes(context: Context, tree: exp.Expr) -> None:
    """A name means what was named before it: the last of that name, else a table of the study."""
    _written_out(context, tree, {})


def _written_out(context: Context, node: exp.Expr, known: Mapping[str, exp.Expr]) -> None:
    clause = node.args.get("with_")
    if clause is not None:
        known = {**known, **_named(context, clause, known)}
        node.set("with_", None)
    for part in list(_nearest(node)):
        if type(part) is exp.Table:
            meant = known.get(part.name.casefold()) if part.args.get("db") is None else None
            if meant is not None:
                part.replace(_subselect(context, part, meant))
        else:
            _written_out(context, part, known)


def _named(context: Context, clause: exp.Expr, known: Mapping[str, exp.Expr]) -> dict[str, exp.Expr]:
    context.source.check_parts(clause, "expressions")  # and not RECURSIVE
    named: dict[str, exp.Expr] = {}
    for one in clause.expressions:
        name = (context.source.alias(one) or "").casefold()
        if name in named:
            raise context.source.refusal(one.args["alias"], f"WITH names {name!r} twice")
        if type(one.this) is not exp.Select:
            raise context.source.refusal(one, "WITH names a SELECT")
        _written_out(context, one.this, {**known, **named})
        named[name] = one.this
    return named


def _nearest(node: exp.Expr) -> list[exp.Expr]:
    """The tables that ``node`` names itself, and the SELECTs directly inside it."""
    parts = node.walk(prune=lambda part: part is not node and type(part) is exp.Select)
    return [part for part in parts if part is not node and type(part) in (exp.Table, exp.Select)]


def _subselect(context: Context, table: exp.Expr, meant: exp.Expr) -> exp.Expr:
    name = exp.to_identifier(context.source.alias(table) or table.name, quoted=True)
    body = context.copy(meant) if type(meant.parent) is exp.Subquery else meant  # the first use needs no copy
    return exp.Subquery(this=body, alias=exp.TableAlias(this=name))
