"""What stands behind FROM and JOIN: tables, functions, and other SELECTs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from adyton.transports.pg.catalog.expressions import compiled, folded
from adyton.transports.pg.catalog.relations import (
    NOTHING,
    CatalogRelation,
    CatalogScope,
    Compiled,
    Env,
    Row,
    unsupported,
)
from adyton.transports.pg.catalog.typing import type_of
from adyton.transports.pg.values import INT4, TEXT

_MOST_NUMBERS = 10_000
_EMPTY = ("pg_get_keywords", "pg_available_extensions", "pg_options_to_table")


@dataclass(frozen=True, slots=True)
class CatalogSource:
    """``optional``: where no row fits, one without values does, as in LEFT JOIN."""

    alias: str
    rows: Callable[[Env], Sequence[Row]]
    on: Compiled | None = None
    optional: bool = False


def sources_of(tree: exp.Select, scope: CatalogScope) -> list[CatalogSource]:
    """In the order in which they are written; ``scope`` learns their names."""
    found: list[CatalogSource] = []
    clause = tree.args.get("from_")
    if clause is not None:
        found.append(_source(clause.this, scope))
        found += _joins(clause.this, scope)
    for join in tree.args.get("joins") or ():
        found += _joined(join, scope)
    for lateral in tree.args.get("laterals") or ():
        found.append(_source(lateral, scope))
    return found


def _joins(node: exp.Expr, scope: CatalogScope) -> list[CatalogSource]:
    """Joins that the parser has hung on a table."""
    return [one for join in node.args.get("joins") or () for one in _joined(join, scope)]


def _joined(join: exp.Expr, scope: CatalogScope) -> list[CatalogSource]:
    side = str(join.args.get("side") or "").upper()
    if side in ("RIGHT", "FULL") or join.args.get("method"):
        raise unsupported(f"{side or join.args.get('method')} JOIN")
    before = list(scope.sources)
    source = _source(join.this, scope)
    on = compiled(join.args["on"], scope) if join.args.get("on") is not None else None
    if join.args.get("using"):
        on = _using([folded(one) for one in join.args["using"]], before, source.alias, scope)
    return [CatalogSource(source.alias, source.rows, on, side == "LEFT"), *_joins(join.this, scope)]


def _using(names: Sequence[str], before: Sequence[str], alias: str, scope: CatalogScope) -> Compiled:
    pairs = [
        (next((one for one in before if name in scope.sources[one].columns), alias), name) for name in names
    ]
    return lambda env: all(env[one].get(name) == env[alias].get(name) for one, name in pairs)


def _source(node: exp.Expr, scope: CatalogScope) -> CatalogSource:
    match node:
        case exp.Table(this=exp.Identifier()):
            return _table(node, scope)
        case exp.Table():
            return _function(node.this, node, scope)
        case exp.Subquery() | exp.Lateral():
            is_call = isinstance(node.this, exp.Func)
            return _function(node.this, node, scope) if is_call else _select(node, scope)
        case exp.Unnest():
            return _function(node, node, scope)
        case exp.Values():
            return _values(node, scope)
    raise unsupported(f"{node.key.upper()} behind FROM")


def _table(node: exp.Table, scope: CatalogScope) -> CatalogSource:
    name, schema = folded(node.this), folded(node.args.get("db"))
    known = scope.named.get(name) if not schema else None
    relation = known if known is not None else scope.relation(schema, name)
    alias = _alias(node) or name
    relation = _renamed(relation, _columns(node))
    scope.sources[alias] = relation
    return CatalogSource(alias, lambda _: relation.rows)


def _select(node: exp.Expr, scope: CatalogScope) -> CatalogSource:
    from adyton.transports.pg.catalog.selecting import planned

    columns, rows = planned(node.this, scope)
    alias = _alias(node) or f"\0{len(scope.sources)}"
    names = _columns(node) or list(columns)
    types = dict(zip(names, columns.values(), strict=False))
    scope.sources[alias] = CatalogRelation(types)
    if names == list(columns):
        return CatalogSource(alias, rows)
    return CatalogSource(
        alias, lambda env: [dict(zip(names, row.values(), strict=False)) for row in rows(env)]
    )


def _values(node: exp.Values, scope: CatalogScope) -> CatalogSource:
    tuples = [one.expressions for one in node.expressions]
    alias = _alias(node) or f"\0{len(scope.sources)}"
    names = _columns(node) or [f"column{place + 1}" for place in range(len(tuples[0]))]
    types = {name: type_of(one, scope) for name, one in zip(names, tuples[0], strict=False)}
    made = [[compiled(one, scope) for one in row] for row in tuples]
    scope.sources[alias] = CatalogRelation(types)
    return CatalogSource(
        alias, lambda env: [dict(zip(names, [one(env) for one in row], strict=False)) for row in made]
    )


def _function(call: exp.Expr, node: exp.Expr, scope: CatalogScope) -> CatalogSource:
    """A function that gives rows: of one column, called after it or as it is said."""
    name = str(call.this).lower() if isinstance(call, exp.Anonymous) else call.key
    alias = _alias(node) or name
    columns = _columns(node) or [alias]
    if name in _EMPTY:
        scope.sources[alias] = NOTHING
        return CatalogSource(alias, lambda _: ())
    whole = ("unnest" not in name and "explode" not in name) or "series" in name
    scope.sources[alias] = CatalogRelation(dict.fromkeys(columns, INT4 if whole else TEXT))
    given = call.expressions if isinstance(call, exp.Anonymous | exp.Unnest) else call.iter_expressions()
    arguments = [compiled(one, scope) for one in given]

    def rows(env: Env) -> list[dict[str, Any]]:
        numbered = enumerate(_listed(name, [one(env) for one in arguments]), 1)
        return [dict(zip(columns, (value, at), strict=False)) for at, value in numbered]  # WITH ORDINALITY

    return CatalogSource(alias, rows)


def _listed(name: str, given: Sequence[Any]) -> Sequence[Any]:
    if any(one is None for one in given):
        return []
    if "series" in name:
        first, last, *step = (int(one) for one in given)
        found = range(first, last + 1, *step)
        if len(found) > _MOST_NUMBERS:
            raise unsupported("a series of so many numbers")
        return found
    if "subscripts" in name:
        return range(1, len(given[0]) + 1)
    if isinstance(given[0], list | tuple) and ("unnest" in name or "explode" in name):
        return given[0]
    raise unsupported(f"{name}() behind FROM")


def _alias(node: exp.Expr) -> str:
    alias = node.args.get("alias")
    return folded(alias.this) if alias is not None and alias.this is not None else ""


def _columns(node: exp.Expr) -> list[str]:
    alias = node.args.get("alias")
    return [folded(one) for one in alias.args.get("columns") or ()] if alias is not None else []


def _renamed(relation: CatalogRelation, names: Sequence[str]) -> CatalogRelation:
    if not names:
        return relation
    new = dict(zip(relation.columns, names, strict=False))
    columns = {new.get(name, name): oid for name, oid in relation.columns.items()}
    rows = [{new.get(name, name): value for name, value in row.items()} for row in relation.rows]
    return CatalogRelation(columns, rows, relation.open)
