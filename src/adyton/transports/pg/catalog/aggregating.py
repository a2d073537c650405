"""Aggregates and numbered rows in statements about catalogs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from adyton.transports.pg.catalog.expressions import compiled
from adyton.transports.pg.catalog.relations import CatalogRelation, CatalogScope, Compiled, Env, unsupported
from adyton.transports.pg.values import INT8, TEXT

_OF_ALL: dict[type[exp.Expr], Callable[[list[Any]], Any]] = {
    exp.Count: len,
    exp.Max: max,
    exp.Min: min,
    exp.Sum: sum,
    exp.ArrayAgg: list,
    exp.LogicalAnd: all,
    exp.LogicalOr: any,
}
_AGGREGATES = (*_OF_ALL, exp.GroupConcat)
_VALUE = "\0value"  # where aggregates and numbers of rows wait in a row, for whoever needs them
Aggregated = Callable[[list[Env], Env], list[tuple[list[Any], Env]]]


def grouped(tree: exp.Select, items: Sequence[exp.Expr], scope: CatalogScope) -> Aggregated | None:
    """Rows of groups, each beside some row of its group; None where nothing is aggregated."""
    group, having = tree.args.get("group"), tree.args.get("having")
    inside = [*items, *([having.this] if having is not None else [])]
    if group is None and not any(_aggregates_in(node) for node in inside):
        return None
    if tree.args.get("from_") is None:
        raise unsupported("an aggregate without FROM")
    keys = [compiled(_meant(key, items), scope) for key in (group.expressions if group is not None else ())]
    found = [one for node in inside for one in _aggregates_in(node)]
    made = {f"{_VALUE}{place}": _aggregate(one, scope) for place, one in enumerate(found)}
    places = {id(one): name for name, one in zip(made, found, strict=True)}
    values = [_with_values(node, places, scope) for node in items]
    kept = _with_values(having.this, places, scope) if having is not None else None

    def rows(envs: list[Env], outer: Env) -> list[tuple[list[Any], Env]]:
        groups: dict[str, list[Env]] = {} if keys else {repr([]): []}
        for env in envs:
            groups.setdefault(repr([key(env) for key in keys]), []).append(env)
        told = []
        for own in groups.values():
            env = {
                **(own[0] if own else {**outer, **{alias: {} for alias in scope.sources}}),
                _VALUE: {name: one(own) for name, one in made.items()},
            }
            if kept is None or kept(env) is True:
                told.append(([value(env) for value in values], env))
        return told

    return rows


def _meant(key: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """GROUP BY 1, or by a name of SELECT."""
    if isinstance(key, exp.Literal) and not key.is_string and 0 < int(key.this) <= len(items):
        return items[int(key.this) - 1]
    return key


def _aggregates_in(node: exp.Expr) -> list[exp.Expr]:
    """Those of this SELECT, not of others inside it, nor those with OVER."""
    if isinstance(node, exp.Select | exp.Subquery | exp.Window):
        return []
    if isinstance(node, _AGGREGATES):
        return [node]
    return [one for child in node.iter_expressions() for one in _aggregates_in(child)]


def _with_values(node: exp.Expr, places: dict[int, str], scope: CatalogScope) -> Compiled:
    """The expression with what was aggregated in place of its aggregates."""
    if id(node) in places:
        name = places[id(node)]
        return lambda env: env[_VALUE][name]
    inside = _aggregates_in(node)
    if not inside:
        return compiled(node, scope)
    made = node.copy()
    for mine, copied in zip(inside, _aggregates_in(made), strict=True):
        copied.replace(exp.column(places[id(mine)], table=_VALUE, quoted=True))
    scope.sources.setdefault(_VALUE, CatalogRelation(dict.fromkeys(places.values(), TEXT)))
    return compiled(made, scope)


def _aggregate(node: exp.Expr, scope: CatalogScope) -> Callable[[list[Env]], Any]:
    inner, order = node.this, None
    if isinstance(inner, exp.Order):
        inner, order = inner.this, inner.expressions
    once = isinstance(inner, exp.Distinct)
    inner = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner
    value = (lambda env: True) if inner is None or isinstance(inner, exp.Star) else compiled(inner, scope)
    ordered = in_order(order or (), scope)
    separator = node.args.get("separator")
    between = compiled(separator, scope) if isinstance(separator, exp.Expr) else None

    def aggregated(envs: list[Env]) -> Any:
        envs = ordered(envs)
        found = [one for env in envs if (one := value(env)) is not None or isinstance(node, exp.ArrayAgg)]
        found = list({repr(one): one for one in found}.values()) if once else found
        if not found and not isinstance(node, exp.Count):
            return None
        if isinstance(node, exp.GroupConcat):
            return scope.held(str(between({}) if between else ",").join(map(str, found)))
        return scope.held(_OF_ALL[type(node)](found))

    return aggregated


def with_windows(items: Sequence[exp.Expr], scope: CatalogScope) -> Callable[[list[Env]], None]:
    """Numbers the rows for ROW_NUMBER() OVER; the items must not be compiled before."""
    windows = [one for item in items for one in item.find_all(exp.Window)]
    made = []
    for place, window in enumerate(windows):
        if not isinstance(window.this, exp.RowNumber):
            raise unsupported(f"{window.this.key.upper()} OVER")
        parts = [compiled(one, scope) for one in window.args.get("partition_by") or ()]
        order = window.args.get("order")
        ordered = in_order(order.expressions if order is not None else (), scope)
        made.append((f"{_VALUE}w{place}", parts, ordered))
    if made:
        scope.sources[_VALUE] = CatalogRelation({name: INT8 for name, _, _ in made})
        for window, (name, _, _) in zip(windows, made, strict=True):
            window.replace(exp.column(name, table=_VALUE, quoted=True))

    def number(envs: list[Env]) -> None:
        if not made:
            return
        for env in envs:
            env[_VALUE] = {}
        for name, parts, ordered in made:
            seen: dict[str, int] = {}
            for env in ordered(envs):
                part = repr([one(env) for one in parts])
                seen[part] = seen.get(part, 0) + 1
                env[_VALUE] = {**env[_VALUE], name: seen[part]}

    return number


def in_order(terms: Sequence[exp.Expr], scope: CatalogScope) -> Callable[[list[Env]], list[Env]]:
    """ORDER BY inside an aggregate or a window: what is missing comes last, or first in a falling order."""
    keys = [(compiled(term.this, scope), bool(term.args.get("desc"))) for term in terms]

    def ordered(envs: list[Env]) -> list[Env]:
        for key, falling in reversed(keys):
            envs = sorted(envs, key=lambda env: ((value := key(env)) is None, value or 0), reverse=falling)
        return envs

    return ordered
