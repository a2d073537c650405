"""Expressions of statements about catalogs, made into functions of the rows at hand.

What is not known here fails when it is needed, so a statement whose tables are empty is answered.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from sqlglot import exp

from adyton.transports.pg.catalog.casting import cast_to, ordered, same, type_named
from adyton.transports.pg.catalog.matching import is_like, matches
from adyton.transports.pg.catalog.relations import CatalogScope, Compiled, Env, known, unsupported
from adyton.transports.pg.errors import SqlError

_Made = Callable[[Any, CatalogScope], Compiled]


def folded(node: exp.Expr | None) -> str:
    """A name as it is looked for: in small letters, unless it is quoted."""
    if not isinstance(node, exp.Identifier):
        return "" if node is None else node.name.lower()
    name = str(node.this)
    return name if node.args.get("quoted") else name.lower()


def compiled(node: exp.Expr, scope: CatalogScope) -> Compiled:
    """A function of the rows at hand."""
    look = scope.steps.look
    look()
    value = _value_of(node, scope)

    def timed(env: Env) -> Any:
        look()
        return value(env)

    return timed


def _value_of(node: exp.Expr, scope: CatalogScope) -> Compiled:
    made = _KINDS.get(type(node))
    if made is not None:
        told = made(node, scope)
        return known(operator.not_, told) if node.args.get("negate") else told
    if isinstance(node, exp.Func):
        return _call(node.sql_name().lower(), node.iter_expressions(), scope)
    return _fails(node.key.upper())


def _fails(what: str) -> Compiled:
    def fail(_: Env) -> Any:
        raise unsupported(what)

    return fail


def _call(name: str, arguments: Iterable[exp.Expr], scope: CatalogScope) -> Compiled:
    parts = [compiled(one, scope) for one in arguments]
    return lambda env: scope.held(scope.call(name, [part(env) for part in parts]))


def _column(node: exp.Column, scope: CatalogScope) -> Compiled:
    source = folded(node.args.get("table")) or None
    name = folded(node.this)
    found = scope.find(name, source)
    if found is not None:
        alias = found[0]
        return lambda env: env[alias].get(name)
    if source is None and (found := scope.find(name, name)) is not None:  # a function in FROM, by its name
        return lambda env: env[name].get(name)
    if source is None and _in_sources(name, scope):
        return lambda env: scope.held(tuple(env[name].values()))
    shown = f"{source}.{name}" if source else name
    raise SqlError("42703", f'column "{shown[:100]}" does not exist')


def _in_sources(name: str, scope: CatalogScope | None) -> bool:
    return scope is not None and (name in scope.sources or _in_sources(name, scope.above))


def _literal(node: exp.Literal, scope: CatalogScope) -> Compiled:
    text = node.this
    if node.is_string:
        return lambda _: text
    number: Any = int(text) if text.isdecimal() and len(text) < 30 else Decimal(text[:100])
    scope.held(number)
    return lambda _: number


def _parameter(node: exp.Parameter, scope: CatalogScope) -> Compiled:
    number = int(node.name) if node.name.isdecimal() else 0
    return lambda _: scope.parameters.get(number)


def _inner(node: exp.Expr, scope: CatalogScope) -> Compiled:
    return compiled(node.this, scope)


def _compare(test: Callable[[Any, Any], bool]) -> _Made:
    def made(node: exp.Binary, scope: CatalogScope) -> Compiled:
        listed = _listed_in(node.expression)
        if listed is not None:
            return _against_list(node, scope, test, *listed)
        return known(test, compiled(node.this, scope), compiled(node.expression, scope))

    return made


def _pattern(test: Callable[[str, str], bool]) -> _Made:
    """A text and a pattern, which take longer the longer they are."""

    def made(node: exp.Binary, scope: CatalogScope) -> Compiled:
        def counted(a: Any, b: Any) -> bool:
            scope.compares(a, b)
            return test(str(a), str(b))

        return _compare(counted)(node, scope)

    return made


def _listed_in(node: exp.Expr) -> tuple[exp.Expr, bool] | None:
    """What ANY, SOME or ALL stands before, and whether one of it is enough."""
    if isinstance(node, exp.Any | exp.All):
        return node.this, isinstance(node, exp.Any)
    called = str(node.this).upper() if isinstance(node, exp.Anonymous) else ""
    return (node.expressions[0], called != "ALL") if called in ("ANY", "SOME", "ALL") else None


def _against_list(
    node: exp.Binary, scope: CatalogScope, test: Callable[[Any, Any], bool], inside: exp.Expr, some: bool
) -> Compiled:
    def compared(value: Any, others: Any) -> bool:
        scope.steps.take(len(others) // 10)
        for other in others:
            scope.steps.look()
            if other is not None and bool(test(value, other)) is some:
                return some
        return not some

    return known(compared, compiled(node.this, scope), _list(inside, scope))


def _list(node: exp.Expr, scope: CatalogScope) -> Compiled:
    """What stands behind ANY: a list, a text that writes one, or a SELECT."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Select | exp.Subquery):
        from adyton.transports.pg.catalog.selecting import column_of

        return column_of(node, scope)
    inner = compiled(node, scope)

    def listed(env: Env) -> Any:
        value = inner(env)
        return cast_to(value, "text[]") if isinstance(value, str) else value

    return listed


def _distinct(*, same: bool) -> _Made:
    """Whether two values are the same one, where NULL is a value like others."""

    def made(node: exp.Binary, scope: CatalogScope) -> Compiled:
        left, right = compiled(node.this, scope), compiled(node.expression, scope)
        return lambda env: (left(env) == right(env)) is same

    return made


def _is(node: exp.Is, scope: CatalogScope) -> Compiled:
    inner, wanted = compiled(node.this, scope), node.expression
    if isinstance(wanted, exp.Null):
        return lambda env: inner(env) is None
    if isinstance(wanted, exp.Boolean):
        return lambda env: inner(env) is bool(wanted.this)
    return _fails("IS")


def _in(node: exp.In, scope: CatalogScope) -> Compiled:
    left, query = compiled(node.this, scope), node.args.get("query")
    if query is not None:
        listed = _list(query, scope)
    else:
        parts = [compiled(one, scope) for one in node.expressions]

        def listed(env: Env) -> Any:
            return [part(env) for part in parts]

    def among(value: Any, others: Any) -> bool | None:
        scope.steps.take(len(others) // 10)
        for other in others:
            scope.steps.look()
            if other is not None and same(value, other):
                return True
        return None if None in others else False

    return known(among, left, listed)


def _between(node: exp.Between, scope: CatalogScope) -> Compiled:
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return compiled(exp.And(this=low, expression=high), scope)


def _connected(*, settles: bool) -> _Made:
    """AND, which a False settles, or OR, which a True does."""

    def made(node: exp.Connector, scope: CatalogScope) -> Compiled:
        left, right = compiled(node.this, scope), compiled(node.expression, scope)

        def true(env: Env) -> Any:
            a = left(env)
            b = settles if a is settles else right(env)
            if b is settles:
                return settles
            return None if a is None or b is None else not settles

        return true

    return made


def _case(node: exp.Case, scope: CatalogScope) -> Compiled:
    subject = compiled(node.this, scope) if node.this is not None else None
    pairs = [(compiled(one.this, scope), compiled(one.args["true"], scope)) for one in node.args["ifs"]]
    otherwise = compiled(node.args["default"], scope) if node.args.get("default") is not None else None

    def chosen(env: Env) -> Any:
        value = subject(env) if subject else None
        for test, then in pairs:
            scope.steps.look()
            found = test(env)
            if (value is not None and found is not None and same(value, found)) if subject else found is True:
                return then(env)
        return otherwise(env) if otherwise else None

    return chosen


def _joined(node: exp.DPipe, scope: CatalogScope) -> Compiled:
    def joined(a: Any, b: Any) -> Any:
        if isinstance(a, list) or isinstance(b, list):
            return scope.held((a if isinstance(a, list) else [a]) + (b if isinstance(b, list) else [b]))
        return scope.held(cast_to(a, "text") + cast_to(b, "text"))

    return known(joined, compiled(node.this, scope), compiled(node.expression, scope))


def _arithmetic(work: Callable[[Any, Any], Any]) -> _Made:
    def made(node: exp.Binary, scope: CatalogScope) -> Compiled:
        def computed(a: Any, b: Any) -> Any:
            try:
                given = (one if isinstance(one, int | float) else Decimal(str(one)) for one in (a, b))
                return scope.held(work(*map(scope.held, given)))
            except (ArithmeticError, TypeError, ValueError):
                raise SqlError("22023", "this cannot be computed") from None

        return known(computed, compiled(node.this, scope), compiled(node.expression, scope))

    return made


def _operator(node: exp.Operator, scope: CatalogScope) -> Compiled:
    sign = str(node.args.get("operator", "")).rpartition(".")[2]
    tests = {
        "~": _pattern(matches),
        "!~": _pattern(lambda a, b: not matches(a, b)),
        "~*": _pattern(lambda a, b: matches(a, b, small=True)),
        "=": _compare(same),
        "<>": _compare(lambda a, b: not same(a, b)),
        "~~": _pattern(is_like),
    }
    return tests[sign](node, scope) if sign in tests else _fails(f"OPERATOR({sign})")


def _escape(node: exp.Escape, scope: CatalogScope) -> Compiled:
    like, mark = node.this, node.expression.name
    small, negated = isinstance(like, exp.ILike), bool(like.args.get("negate"))
    test = _pattern(lambda a, b: is_like(a, b, mark, small=small) is not negated)
    return test(like, scope)


def _bracket(node: exp.Bracket, scope: CatalogScope) -> Compiled:
    """An element by its place, from 1; where a number is written, the parser has made it one less."""
    place = node.expressions[0]
    first = 0 if isinstance(place, exp.Literal) else 1

    def element(listed: Any, at: Any) -> Any:
        index = int(at) - first
        return listed[index] if 0 <= index < len(listed) else None

    return known(element, compiled(node.this, scope), compiled(place, scope))


def _dot(node: exp.Dot, scope: CatalogScope) -> Compiled:
    """schema.function(...); a part of a row is only asked for where there are none."""
    if isinstance(node.expression, exp.Func):
        return compiled(node.expression, scope)
    return _fails("a part of a row")


def _array(node: exp.Array, scope: CatalogScope) -> Compiled:
    inside = node.expressions
    if len(inside) == 1 and isinstance(inside[0], exp.Select | exp.Subquery):
        return _list(inside[0], scope)
    parts = [compiled(one, scope) for one in inside]
    return lambda env: scope.held([part(env) for part in parts])


def _cast(node: exp.Cast, scope: CatalogScope) -> Compiled:
    inner, name = compiled(node.this, scope), type_named(node.to)
    if name.startswith("reg"):
        return lambda env: scope.call(f"to_{name}", [inner(env)])
    if name == "text" and isinstance(node.this, exp.Cast) and type_named(node.this.to).startswith("reg"):
        kind = type_named(node.this.to)
        return lambda env: scope.call(f"{kind}_text", [inner(env)])
    return lambda env: scope.held(cast_to(inner(env), name))


def _subquery(node: exp.Expr, scope: CatalogScope) -> Compiled:
    from adyton.transports.pg.catalog.selecting import first_value

    return first_value(node, scope)


def _exists(node: exp.Exists, scope: CatalogScope) -> Compiled:
    from adyton.transports.pg.catalog.selecting import any_row

    return any_row(node.this, scope)


def _anonymous(node: exp.Anonymous, scope: CatalogScope) -> Compiled:
    return _call(str(node.this).lower(), node.expressions, scope)


def _trim(node: exp.Trim, scope: CatalogScope) -> Compiled:
    inner = compiled(node.this, scope)
    marks = compiled(node.expression, scope) if node.args.get("expression") else None

    def trimmed(env: Env) -> Any:
        text = inner(env)
        return None if text is None else str(text).strip(marks(env) if marks else None)

    return trimmed


_KINDS: dict[type[exp.Expr], _Made] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.ByteString: lambda node, _: lambda env: node.this,
    exp.Boolean: lambda node, _: lambda env: bool(node.this),
    exp.Null: lambda node, _: lambda env: None,
    exp.Parameter: _parameter,
    exp.Paren: _inner,
    exp.Alias: _inner,
    exp.Collate: _inner,
    exp.EQ: _compare(same),
    exp.NEQ: _compare(lambda a, b: not same(a, b)),
    exp.LT: _compare(ordered(operator.lt)),
    exp.LTE: _compare(ordered(operator.le)),
    exp.GT: _compare(ordered(operator.gt)),
    exp.GTE: _compare(ordered(operator.ge)),
    exp.Like: _pattern(is_like),
    exp.ILike: _pattern(lambda a, b: is_like(a, b, small=True)),
    exp.RegexpLike: _pattern(matches),
    exp.RegexpILike: _pattern(lambda a, b: matches(a, b, small=True)),
    exp.NullSafeEQ: _distinct(same=True),
    exp.NullSafeNEQ: _distinct(same=False),
    exp.And: _connected(settles=False),
    exp.Or: _connected(settles=True),
    exp.Not: lambda node, scope: known(operator.not_, compiled(node.this, scope)),
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Case: _case,
    exp.DPipe: _joined,
    exp.Add: _arithmetic(operator.add),
    exp.Sub: _arithmetic(operator.sub),
    exp.Mul: _arithmetic(operator.mul),
    exp.BitwiseAnd: _arithmetic(lambda a, b: int(a) & int(b)),
    exp.Neg: lambda node, scope: compiled(exp.Sub(this=exp.Literal.number(0), expression=node.this), scope),
    exp.Operator: _operator,
    exp.Escape: _escape,
    exp.Bracket: _bracket,
    exp.Dot: _dot,
    exp.Array: _array,
    exp.Cast: _cast,
    exp.Subquery: _subquery,
    exp.Select: _subquery,
    exp.Exists: _exists,
    exp.Anonymous: _anonymous,
    exp.Trim: _trim,
}
