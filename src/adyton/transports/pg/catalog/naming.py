"""What the columns of a statement about catalogs are called, as PostgreSQL calls them."""

from __future__ import annotations

from sqlglot import exp

from adyton.transports.pg.catalog.casting import type_named

UNNAMED = "?column?"


def folded(node: exp.Expr | None) -> str:
    """A name as it is looked for: in small letters, unless it is quoted."""
    if not isinstance(node, exp.Identifier):
        return "" if node is None else node.name.lower()
    name = str(node.this)
    return name if node.args.get("quoted") else name.lower()


_TRUTHS = (exp.Predicate, exp.Connector, exp.Not, exp.Exists, exp.Boolean, exp.Escape, exp.Operator)


def name_of(node: exp.Expr) -> str:
    """What a column is called that is not given a name."""
    match node:
        case exp.Alias():
            return folded(node.args["alias"])
        case exp.Column():
            return folded(node.this)
        case exp.Dot():
            return name_of(node.expression)
        case exp.Identifier():
            return folded(node)
        case exp.Anonymous():
            return str(node.this).lower()
        case exp.Cast():
            return name_of(node.this) if _names_itself(node.this) else type_named(node.to)
        case exp.Paren() | exp.Bracket() | exp.Window():
            return name_of(node.this)
        case exp.Exists():
            return "exists"
        case exp.Boolean():
            return "bool"
        case exp.Subquery() | exp.Select():
            select = node.this if isinstance(node, exp.Subquery) else node
            return name_of(select.expressions[0]) if select.expressions else UNNAMED
        case exp.CurrentVersion():
            return "version"
        case exp.GroupConcat():
            return "string_agg"
        case _ if isinstance(node, exp.Func) and not isinstance(node, _TRUTHS):
            return node.sql_name().lower()
    return UNNAMED


def _names_itself(node: exp.Expr) -> bool:
    """Whether an expression is called after something in it, whatever it is cast to."""
    while isinstance(node, exp.Cast | exp.Paren | exp.Bracket):
        node = node.this
    return not isinstance(node, exp.Case) and name_of(node) != UNNAMED


def named_by(table: exp.Table) -> exp.CTE | None:
    """What WITH says that a name is, at the place where it is used; None for a table."""
    name = folded(table.this)
    child: exp.Expr = table
    while not table.db and (above := child.parent) is not None:
        clause = above.args.get("with_")
        if isinstance(clause, exp.With):
            known = [one for one in clause.expressions if isinstance(one, exp.CTE)]
            if child is clause:  # the name is used in WITH itself, behind what it may mean
                place = next(at for at, one in enumerate(known) if _is_in(table, one))
                known = known[: place + bool(clause.args.get("recursive"))]
            found = [one for one in known if folded(one.args["alias"].this) == name]
            if found:
                return found[-1]
        child = above
    return None


def _is_in(node: exp.Expr, other: exp.Expr) -> bool:
    above: exp.Expr | None = node
    while above is not None and above is not other:
        above = above.parent
    return above is other
