"""Names and types of the columns of a statement about catalogs, before any row is looked at."""

from __future__ import annotations

from sqlglot import exp

from adyton.transports.pg.catalog.casting import oid_named, type_named
from adyton.transports.pg.catalog.expressions import folded
from adyton.transports.pg.catalog.functions import NO, YES, ZERO
from adyton.transports.pg.catalog.relations import CatalogScope
from adyton.transports.pg.values import ARRAYS, BOOL, INT4, INT8, NAME, NUMERIC, REGCLASS, REGTYPE, TEXT

_TRUTHS = (exp.Predicate, exp.Connector, exp.Not, exp.Exists, exp.Boolean, exp.Escape, exp.Operator)
_CALLS = {
    **dict.fromkeys((*YES, *NO, "pg_table_is_visible"), BOOL),
    **dict.fromkeys(ZERO, INT8),
    "current_schemas": ARRAYS[NAME],
    "array_upper": INT4,
    "array_length": INT4,
    "pg_backend_pid": INT4,
    "pg_get_userbyid": NAME,
    "to_regclass": REGCLASS,
    "to_regtype": REGTYPE,
}
_NAMED = (exp.CurrentUser, exp.SessionUser, exp.CurrentDatabase, exp.CurrentSchema)


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
            return name_of(select.expressions[0]) if select.expressions else "?column?"
        case exp.CurrentVersion():
            return "version"
        case exp.GroupConcat():
            return "string_agg"
        case _ if isinstance(node, exp.Func) and not isinstance(node, _TRUTHS):
            return node.sql_name().lower()
    return "?column?"


def _names_itself(node: exp.Expr) -> bool:
    """Whether an expression is called after something in it, whatever it is cast to."""
    while isinstance(node, exp.Cast | exp.Paren | exp.Bracket):
        node = node.this
    return not isinstance(node, exp.Case) and name_of(node) != "?column?"


def type_of(node: exp.Expr, scope: CatalogScope) -> int:
    """The number of the type of an expression; text for what says nothing of it."""
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
        node = node.expression
    match node:
        case (
            exp.Alias()
            | exp.Paren()
            | exp.Collate()
            | exp.Neg()
            | exp.Max()
            | exp.Min()
            | exp.Nullif()
            | exp.Window()
        ):
            return type_of(node.this, scope)
        case exp.Column():
            found = scope.find(folded(node.this), folded(node.args.get("table")) or None)
            return found[1] if found is not None else TEXT
        case exp.Cast():
            return oid_named(type_named(node.to))
        case exp.Literal():
            return TEXT if node.is_string else INT4 if str(node.this).isdecimal() else NUMERIC
        case exp.Count() | exp.RowNumber():
            return INT8
        case exp.Array():
            inside = node.expressions
            element = type_of(inside[0], scope) if inside else TEXT
            return ARRAYS.get(element, ARRAYS[TEXT])
        case exp.ArrayAgg():
            inner = node.this.this if isinstance(node.this, exp.Order) else node.this
            return ARRAYS.get(type_of(inner, scope), ARRAYS[TEXT])
        case exp.Case():
            branches = [one.args["true"] for one in node.args["ifs"]] + [node.args.get("default")]
            return _first_known([one for one in branches if one is not None], scope)
        case exp.Coalesce():
            return _first_known([node.this, *node.expressions], scope)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.BitwiseAnd():
            return _first_known([node.this, node.expression], scope)
        case exp.Anonymous():
            return _CALLS.get(str(node.this).lower(), TEXT)
        case exp.Subquery() | exp.Select():
            return _of_select(node, scope)
        case exp.CurrentSchemas():
            return ARRAYS[NAME]
    if isinstance(node, _NAMED):
        return NAME
    if isinstance(node, (*_TRUTHS, exp.LogicalAnd, exp.LogicalOr)):
        return BOOL
    return TEXT


def _first_known(nodes: list[exp.Expr], scope: CatalogScope) -> int:
    typed = [one for one in nodes if not isinstance(one, exp.Null)]
    return type_of(typed[0], scope) if typed else TEXT


def _of_select(tree: exp.Expr, scope: CatalogScope) -> int:
    from adyton.transports.pg.catalog.selecting import planned

    columns, _ = planned(tree, scope)
    return next(iter(columns.values()))
