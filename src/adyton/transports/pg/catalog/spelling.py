"""Casts, patterns, lists and texts, as the database spells what PostgreSQL means."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from adyton.errors import InvalidRequest
from adyton.query.sql.several.lists import elements
from adyton.transports.pg.catalog.casting import is_text, oid_named, type_named
from adyton.transports.pg.catalog.database import call_name
from adyton.transports.pg.catalog.facts import CatalogFacts
from adyton.transports.pg.catalog.layout import table_type
from adyton.transports.pg.catalog.limits import unsupported
from adyton.transports.pg.catalog.typing import OID_HERE, type_of
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.values import (
    ARRAYS,
    CHAR,
    FLOAT4,
    FLOAT8,
    NAME,
    NUMERIC,
    REGCLASS,
    REGNAMESPACE,
    REGTYPE,
    TEXT,
)

CALLED = "called"  # in what is known of a node: which function it is
_LONGEST, _MOST_REPEATS = 300, 20  # letters of a pattern; in braces
_REPEATED = re.compile(r"\{(\d+)?,?(\d+)?\}")
_SHORT = (NAME, CHAR)  # whose values are never long
_OBJECTS = {"regclass": REGCLASS, "regtype": REGTYPE, "regnamespace": REGNAMESPACE}
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_LISTS = frozenset(ARRAYS.values())


def rewritten(tree: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The tree with each of its parts changed, the inner ones first."""
    for node in reversed(list(tree.walk(bfs=True))):
        made = change(node)
        if made is not node:
            if node is tree:
                return made
            node.replace(made)
    return tree


def spelled(tree: exp.Expr, facts: CatalogFacts) -> exp.Expr:
    def change(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Cast):
            return _cast(node, facts)
        if isinstance(node, exp.Like | exp.ILike) and not isinstance(node.parent, exp.Escape):
            return _like(node, "\\")
        if isinstance(node, exp.Escape):
            return _like(node.this, node.expression.name)
        if isinstance(node, exp.RegexpLike | exp.RegexpILike):
            return _matches(node, small=isinstance(node, exp.RegexpILike))
        if isinstance(node, exp.Operator):
            return _operator(node)
        if isinstance(node, _COMPARED):
            return _compared(node)
        if isinstance(node, exp.DPipe):
            return _joined(node)
        if isinstance(node, exp.Array | exp.ArrayAgg):
            return _listed(node)
        if isinstance(node, exp.GroupConcat):
            return _checked_separator(node)
        return node

    return rewritten(tree, change)


def call(kind: str, name: str, *arguments: exp.Expr, oid: int | None = None) -> exp.Expr:
    """Of one of our own functions."""
    made = exp.Anonymous(this=call_name(kind), expressions=[exp.Literal.string(name), *arguments])
    if oid is not None:
        made.meta[OID_HERE] = oid
    return made


def _typed(node: exp.Expr, oid: int) -> exp.Expr:
    node.meta[OID_HERE] = oid
    return node


# Casts -----------------------------------------------------------------------------------------------------


def _cast(node: exp.Cast, facts: CatalogFacts) -> exp.Expr:
    inner, name = node.this, type_named(node.to)
    found, oid = type_of(inner), oid_named(name)
    if OID_HERE in node.meta:  # it is already as it should be
        return node
    if name == "regclass" and isinstance(inner, exp.Literal) and inner.is_string:
        return _typed(exp.cast(exp.Literal.number(facts.regclass(inner.name)), "BIGINT"), REGCLASS)
    if name.startswith("reg"):
        return _as_object(inner, name)
    if is_text(name):
        return _as_text(inner, found, oid)
    if name.endswith("[]"):
        return _as_list(inner, name, oid)
    if name == "numeric":
        return _typed(exp.cast(inner, "DOUBLE"), NUMERIC)
    return _typed(exp.cast(inner, table_type(oid) if oid != TEXT else "TEXT"), oid)


def _as_object(inner: exp.Expr, name: str) -> exp.Expr:
    if name in _OBJECTS:
        return call("int8", f"to_{name}", inner, oid=_OBJECTS[name])
    return call("int8" if name == "regrole" else "text", f"to_{name}", inner)


def _as_text(inner: exp.Expr, found: int | None, oid: int) -> exp.Expr:
    for name, kind in _OBJECTS.items():
        if found == kind:
            return call("text", f"{name}_text", inner, oid=oid)
    if found in _LISTS or found in (FLOAT4, FLOAT8, NUMERIC):
        return call("text", "text", inner, oid=oid)
    return _typed(exp.cast(inner, "TEXT"), oid)


def _as_list(inner: exp.Expr, name: str, oid: int) -> exp.Expr:
    if isinstance(inner, exp.Literal) and inner.is_string:
        inner = _list_of(inner)
    elif not isinstance(inner, exp.Array) and type_of(inner) not in _LISTS:
        inner = call("texts", "list", inner)
    return _typed(exp.cast(inner, table_type(oid)), oid)


def _list_of(text: exp.Expr) -> exp.Expr:
    """'{a,b}'"""
    try:
        found = elements(text.name)
    except InvalidRequest:
        raise SqlError("22P02", "malformed array literal") from None
    return exp.Array(expressions=[exp.convert(one) for one in found])


# Comparisons -----------------------------------------------------------------------------------------------


def _compared(node: exp.Expr) -> exp.Expr:
    """A text beside a list writes one; ANY and ALL stand before a list."""
    left, right = node.this, node.expression
    for one, other in ((left, right), (right, left)):
        if _is_text(one) and (isinstance(other, exp.Array) or type_of(other) in _LISTS):
            one.replace(_list_of(one))
    listed = _behind_any(right)
    if listed is None:
        return node
    inner, some = listed
    while isinstance(inner, exp.Paren) and not isinstance(inner.this, exp.Query):
        inner = inner.this
    if (
        isinstance(inner, exp.Array)
        and len(inner.expressions) == 1
        and isinstance(inner.expressions[0], exp.Query)
    ):
        inner = inner.expressions[0].subquery()
    if _is_text(inner):
        inner = _list_of(inner)
    node.set(
        "expression", (exp.Any if some else exp.All)(this=inner if _is_query(inner) else exp.paren(inner))
    )
    return node


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def _behind_any(node: exp.Expr) -> tuple[exp.Expr, bool] | None:
    if isinstance(node, exp.Any | exp.All):
        return node.this, isinstance(node, exp.Any)
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in ("any", "some", "all"):
        return node.expressions[0], str(node.this).lower() != "all"
    return None


_OPERATORS: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "~": lambda node: _matches(node),
    "!~": lambda node: exp.not_(_matches(node)),
    "~*": lambda node: _matches(node, small=True),
    "!~*": lambda node: exp.not_(_matches(node, small=True)),
    "~~": lambda node: _like(node, "\\"),
    "!~~": lambda node: exp.not_(_like(node, "\\")),
    "=": lambda node: _compared(exp.EQ(this=node.this, expression=node.expression)),
    "<>": lambda node: _compared(exp.NEQ(this=node.this, expression=node.expression)),
}


def _operator(node: exp.Operator) -> exp.Expr:
    sign = str(node.args.get("operator", "")).rpartition(".")[2]
    if sign not in _OPERATORS:
        raise unsupported(f"OPERATOR({sign})")
    return _OPERATORS[sign](node)


# Patterns --------------------------------------------------------------------------------------------------


def _like(node: exp.Expr, escape: str) -> exp.Expr:
    """As a regular expression: the database's own LIKE goes back for every sign."""
    parts, letters = [], iter(_pattern(node.expression))
    for letter in letters:
        if letter == escape:
            parts.append(re.escape(next(letters, "")))
        else:
            parts.append({"%": ".*", "_": "."}.get(letter, re.escape(letter)))
    small = "i" if isinstance(node, exp.ILike) else ""
    return _negated(node, _searched(node.this, f"(?s{small})^{''.join(parts)}$"))


def _matches(node: exp.Expr, *, small: bool = False) -> exp.Expr:
    pattern = _pattern(node.expression)
    repeats = [int(one) for pair in _REPEATED.findall(pattern) for one in pair if one]
    if any(one > _MOST_REPEATS for one in repeats) or len(repeats) > 4:
        raise unsupported("this regular expression")
    return _negated(node, _searched(node.this, f"(?s{'i' * small}){pattern}"))


def _negated(node: exp.Expr, made: exp.Expr) -> exp.Expr:
    return exp.not_(made) if node.args.get("negate") else made


def _searched(text: exp.Expr, pattern: str) -> exp.Expr:
    """Long texts count for more, as a pattern may look at each letter several times."""
    found = type_of(text)
    if found not in _SHORT and not _is_text(text):
        text = call("text", "searched", text, exp.Literal.number(len(pattern)))
    return exp.Anonymous(this="regexp_matches", expressions=[text, exp.Literal.string(pattern)])


def _pattern(node: exp.Expr) -> str:
    """A pattern is written in the statement, and is not made by it."""
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    if isinstance(node, exp.Anonymous) and node.meta.get(CALLED) == "||":
        pattern = "".join(_pattern(one) for one in node.expressions[1:])
    elif _is_text(node):
        pattern = str(node.this)
    else:
        raise unsupported("a pattern that is not written out")
    if len(pattern) > _LONGEST:
        raise unsupported("so long a pattern")
    return pattern


# Texts and lists -------------------------------------------------------------------------------------------


def _joined(node: exp.DPipe) -> exp.Expr:
    """Of texts, or of lists."""
    parts = [node.this, node.expression]
    if any(isinstance(one, exp.Array) or type_of(one) in _LISTS for one in parts):
        return call("texts", "array_cat", *parts, oid=ARRAYS[TEXT])
    first = parts[0].expressions[1:] if parts[0].meta.get(CALLED) == "||" else parts[:1]
    made = call("text", "||", *first, parts[1], oid=TEXT)
    made.meta[CALLED] = "||"
    return made


def _listed(node: exp.Expr) -> exp.Expr:
    """ARRAY(SELECT ...); lists of lists would grow without end."""
    inside = node.expressions if isinstance(node, exp.Array) else [node.this]
    if isinstance(node, exp.Array) and len(inside) == 1 and isinstance(inside[0], exp.Query):
        return node
    if any(isinstance(one, exp.Array) or type_of(one) in _LISTS for one in inside):
        raise unsupported("a list of lists")
    return node


def _checked_separator(node: exp.GroupConcat) -> exp.Expr:
    separator: Any = node.args.get("separator")
    if separator is not None and (not _is_text(separator) or len(separator.name) > _LONGEST):
        raise unsupported("this separator")
    return node
