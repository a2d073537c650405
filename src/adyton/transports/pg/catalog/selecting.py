"""SELECT over relations of public facts: sources, conditions, groups, order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cmp_to_key
from typing import Any

from sqlglot import exp

from adyton.service.limits import LIMITS
from adyton.transports.pg.catalog.aggregating import grouped, with_windows
from adyton.transports.pg.catalog.expressions import compiled, folded
from adyton.transports.pg.catalog.relations import CatalogRelation, CatalogScope, Compiled, Env, unsupported
from adyton.transports.pg.catalog.sources import CatalogSource, sources_of
from adyton.transports.pg.catalog.typing import name_of, type_of
from adyton.transports.pg.errors import SqlError

_PARTS = {
    "expressions",
    "from_",
    "joins",
    "laterals",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "distinct",
    "with_",
    "windows",
}
Made = Callable[[Env], list[dict[str, Any]]]
_Shown = tuple[dict[str, Any], Env]  # a row of the answer, and the rows it was made of
_MOST_ROWS = 50_000


def planned(tree: exp.Expr, scope: CatalogScope) -> tuple[dict[str, int], Made]:
    """Its columns, and a function that gives its rows, of the rows around it."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    scope = scope.inside()
    for cte in tree.args["with_"].expressions if tree.args.get("with_") else ():
        columns, rows = planned(cte.this, scope)
        scope.named[cte.alias.lower()] = CatalogRelation(columns, rows({}))
    if isinstance(tree, exp.Union):
        return _union(tree, scope)
    if isinstance(tree, exp.Select):
        return _select(tree, scope)
    raise unsupported(tree.key.upper())


def first_value(tree: exp.Expr, scope: CatalogScope) -> Compiled:
    """A SELECT as a value."""
    columns, rows = planned(tree, scope)
    name = next(iter(columns))

    def value(env: Env) -> Any:
        found = rows(env)
        if len(found) > 1:
            raise SqlError("21000", "more than one row returned by a subquery used as an expression")
        return found[0][name] if found else None

    return value


def column_of(tree: exp.Expr, scope: CatalogScope) -> Compiled:
    """A SELECT as a list."""
    columns, rows = planned(tree, scope)
    name = next(iter(columns))
    return lambda env: [row[name] for row in rows(env)]


def any_row(tree: exp.Expr, scope: CatalogScope) -> Compiled:
    _, rows = planned(tree, scope)
    return lambda env: bool(rows(env))


def _union(tree: exp.Union, scope: CatalogScope) -> tuple[dict[str, int], Made]:
    columns, first = planned(tree.this, scope)
    others, second = planned(tree.expression, scope)
    if len(columns) != len(others):
        raise SqlError("42601", "each UNION query must have the same number of columns")
    every = not tree.args.get("distinct")
    shape = _shape(tree, scope, dict.fromkeys(columns))

    def rows(env: Env) -> list[dict[str, Any]]:
        found = first(env) + [dict(zip(columns, row.values(), strict=True)) for row in second(env)]
        made: list[_Shown] = [(row, {"": row}) for row in found]
        return shape(made if every else _distinct(made))

    return columns, rows


def _select(tree: exp.Select, scope: CatalogScope) -> tuple[dict[str, int], Made]:
    unknown = [name for name, part in tree.args.items() if part and name not in _PARTS]
    if unknown:
        raise unsupported(unknown[0].rstrip("_").upper())
    sources = sources_of(tree, scope)
    items = _items(tree, scope)
    names = _names(items)
    columns = {name: type_of(node, scope) for name, node in zip(names, items, strict=True)}
    where = _by_source(tree, scope, sources)
    aggregated = grouped(tree, items, scope)
    windows = with_windows(items, scope)
    values = [compiled(node, scope) for node in items] if aggregated is None else []
    shape = _shape(tree, scope, dict(zip(names, items, strict=True)))
    once = tree.args.get("distinct")
    if once is not None and once.args.get("on"):
        raise unsupported("DISTINCT ON")

    def rows(outer: Env) -> list[dict[str, Any]]:
        found = list(_joined(sources, where, outer, scope))
        if aggregated is not None:
            made = [(dict(zip(names, row, strict=True)), env) for row, env in aggregated(found, outer)]
        else:
            windows(found)
            scope.steps.take(len(found) * len(names) // 10)
            made = [(dict(zip(names, [one(env) for one in values], strict=True)), env) for env in found]
        return shape(_distinct(made) if once is not None else made)

    return columns, rows


def _joined(
    sources: Sequence[CatalogSource], where: Sequence[Sequence[Compiled]], outer: Env, scope: CatalogScope
) -> Iterator[Env]:
    """All combinations of rows that the conditions leave; each is tried as soon as its rows are there."""

    def joined(env: Env, place: int) -> Iterator[Env]:
        if place == len(sources):
            yield env
            return
        source, found = sources[place], False
        for row in source.rows(env):
            scope.steps.take()
            now = {**env, source.alias: row}
            if source.on is None or source.on(now) is True:
                found = True
                if all(test(now) is True for test in where[place]):
                    yield from joined(now, place + 1)
        if not found and source.optional:
            now = {**env, source.alias: {}}
            if all(test(now) is True for test in where[place]):
                yield from joined(now, place + 1)

    if not sources and not all(test(outer) is True for tests in where for test in tests):
        return
    yield from joined(dict(outer), 0)


def _by_source(
    tree: exp.Select, scope: CatalogScope, sources: Sequence[CatalogSource]
) -> list[list[Compiled]]:
    """The conditions of WHERE, each beside the last source that it is about."""
    found: list[list[Compiled]] = [[] for _ in sources] or [[]]
    clause = tree.args.get("where")
    names = [source.alias for source in sources]
    for test in _conjuncts(clause.this) if clause is not None else ():
        found[_last_about(test, names, scope)].append(compiled(test, scope))
    return found


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _last_about(test: exp.Expr, names: Sequence[str], scope: CatalogScope) -> int:
    last = 0
    for column in test.find_all(exp.Column):
        scope.steps.look()
        if column.find_ancestor(exp.Select) is not test.find_ancestor(exp.Select):
            return max(len(names) - 1, 0)  # a SELECT inside may be about all of them
        found = scope.find(folded(column.this), folded(column.args.get("table")) or None)
        if found is not None and found[0] in names:
            last = max(last, names.index(found[0]))
    return last


# What is listed, and how it is shown -----------------------------------------------------------------------


def _items(tree: exp.Select, scope: CatalogScope) -> list[exp.Expr]:
    """What is listed; a star is all columns, of all sources or of one."""
    found: list[exp.Expr] = []
    for item in tree.expressions:
        star = isinstance(item, exp.Star) or (
            isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
        )
        if not star:
            found.append(item)
            continue
        wanted = folded(item.args.get("table")) if isinstance(item, exp.Column) else ""
        for alias, relation in scope.sources.items():
            if wanted in ("", alias):
                found += [exp.column(name, table=alias, quoted=True) for name in relation.columns]
        _check_columns(len(found))
    _check_columns(len(found))
    if not found:
        raise unsupported("a SELECT of nothing")
    return found


def _check_columns(number: int) -> None:
    """As in PostgreSQL."""
    if number > LIMITS.wire_columns:
        raise SqlError("54011", f"a SELECT has at most {LIMITS.wire_columns} columns")


def _names(items: Sequence[exp.Expr]) -> list[str]:
    """Different ones: two columns of one name stay two."""
    names: list[str] = []
    seen: dict[str, int] = {}
    for item in items:
        name = name_of(item)
        plain = name.rstrip("\0")
        seen[plain] = max(seen.get(plain, 0), len(name) - len(plain))
        names.append(plain + "\0" * seen[plain])  # taken off again before anybody sees it
        seen[plain] += 1
    return names


def _shape(
    tree: exp.Expr, scope: CatalogScope, items: dict[str, Any]
) -> Callable[[list[_Shown]], list[dict[str, Any]]]:
    """ORDER BY, LIMIT and OFFSET."""
    terms = (
        [_term(one, scope, items) for one in tree.args["order"].expressions] if tree.args.get("order") else []
    )
    limit, offset = (_number(tree.args.get(name), scope) for name in ("limit", "offset"))

    def shaped(rows: list[_Shown]) -> list[dict[str, Any]]:
        if len(rows) > _MOST_ROWS:
            raise unsupported("so many rows")
        for key, reverse, nulls_first in reversed(terms):
            rows = _sorted(rows, key, reverse, nulls_first)
        start = offset or 0
        return [row for row, _ in rows[start : None if limit is None else start + limit]]

    return shaped


def _term(
    node: exp.Expr, scope: CatalogScope, items: dict[str, Any]
) -> tuple[Callable[[dict[str, Any], Env], Any], bool, bool]:
    reverse = bool(node.args.get("desc"))
    nulls_first = bool(node.args["nulls_first"])  # as the parser knows, also where nothing is said of it
    inner, names = node.this, list(items)
    if isinstance(inner, exp.Literal) and not inner.is_string:
        place = int(inner.this) - 1
        if not 0 <= place < len(names):
            raise SqlError("42P10", f"ORDER BY position {place + 1} is not in select list")
        return (lambda row, env: row[names[place]]), reverse, nulls_first
    if isinstance(inner, exp.Column) and not inner.args.get("table") and folded(inner.this) in items:
        name = folded(inner.this)
        return (lambda row, env: row[name]), reverse, nulls_first
    value = compiled(inner, scope)
    return (lambda row, env: value(env)), reverse, nulls_first


def _sorted(
    rows: list[_Shown], key: Callable[[dict[str, Any], Env], Any], reverse: bool, nulls_first: bool
) -> list[_Shown]:
    keyed = [(key(row, env), (row, env)) for row, env in rows]
    missing = [pair for value, pair in keyed if value is None]
    there = [(value, pair) for value, pair in keyed if value is not None]
    there.sort(key=cmp_to_key(_by_first), reverse=reverse)
    ordered = [pair for _, pair in there]
    return missing + ordered if nulls_first else ordered + missing


def _by_first(left: tuple[Any, Any], right: tuple[Any, Any]) -> int:
    a, b = left[0], right[0]
    try:
        return int(a > b) - int(a < b)
    except TypeError:
        return int(str(a) > str(b)) - int(str(a) < str(b))


def _number(node: exp.Expr | None, scope: CatalogScope) -> int | None:
    if node is None:
        return None
    value = compiled(node.args["expression"], scope)({})
    try:
        return None if value is None else max(0, int(value))
    except ValueError:
        raise SqlError("22023", "LIMIT and OFFSET are followed by whole numbers") from None


def _distinct(rows: list[_Shown]) -> list[_Shown]:
    return list({repr(row): (row, env) for row, env in reversed(rows)}.values())[::-1]
