"""Types of a statement about catalogs whose columns all say which source they are of.

The database has fewer types than PostgreSQL: a name is a text there, and the number of a table is a number.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from adyton.transports.pg.catalog.layout import HIDDEN, columns_of
from adyton.transports.pg.catalog.naming import named_by
from adyton.transports.pg.values import (
    ARRAYS,
    BOOL,
    CHAR,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    NAME,
    NUMERIC,
    OID,
    OIDVECTOR,
    REGCLASS,
    REGTYPE,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
)

OID_HERE = "oid"  # in what is known of a node: the number of its type
_SAME = (exp.Alias, exp.Paren, exp.Max, exp.Min, exp.Nullif, exp.Window, exp.Filter, exp.Order, exp.Collate)
_IN_POSTGRES = {  # types of the database
    "BOOLEAN": BOOL,
    **dict.fromkeys(("TINYINT", "SMALLINT", "UTINYINT"), INT2),
    **dict.fromkeys(("INTEGER", "USMALLINT"), INT4),
    **dict.fromkeys(("BIGINT", "UINTEGER"), INT8),
    **dict.fromkeys(("HUGEINT", "UBIGINT", "DECIMAL"), NUMERIC),
    "FLOAT": FLOAT4,
    "DOUBLE": FLOAT8,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
}
_WHOLE = (INT2, INT4, INT8)
_STANDS_FOR = {  # which of PostgreSQL's types a type of the database may stand for
    TEXT: (NAME, CHAR, TIMESTAMPTZ),
    **dict.fromkeys(_WHOLE, (*_WHOLE, OID, REGCLASS, REGTYPE)),
    FLOAT8: (NUMERIC,),
    ARRAYS[INT2]: (INT2VECTOR,),
    ARRAYS[INT8]: (OIDVECTOR,),
}


def shown_type(wanted: int | None, found: str) -> int:
    """Of a column of the answer, which is ``found`` in the database."""
    own = type_found(found)
    return own if wanted is None or not _fits(own, wanted, found) else wanted


def type_found(name: str) -> int:
    if name.endswith("[]"):
        return ARRAYS.get(type_found(name[:-2]), ARRAYS[TEXT])
    return _IN_POSTGRES.get(name.partition("(")[0], TEXT)


def _fits(own: int, wanted: int, found: str) -> bool:
    elements = {array: element for element, array in ARRAYS.items()}
    if own in elements and wanted in elements:
        return _fits(elements[own], elements[wanted], found)
    return found == '"NULL"' or wanted == own or wanted in _STANDS_FOR.get(own, ())


def type_of(node: exp.Expr | None) -> int | None:
    """None where the type of the database says all."""
    if node is None:
        return None
    if OID_HERE in node.meta:
        return node.meta[OID_HERE] or None
    if isinstance(node, exp.Column):
        node.meta[OID_HERE] = 0  # WITH RECURSIVE may name itself
        node.meta[OID_HERE] = _of_column(node) or 0  # else each SELECT around it would ask again
        return node.meta[OID_HERE] or None
    if isinstance(node, exp.Literal):
        return TEXT if node.is_string else INT4 if node.this.isdecimal() else None
    if isinstance(node, exp.Case):
        return _first([*(one.args["true"] for one in node.args["ifs"]), node.args.get("default")])
    if isinstance(node, exp.Coalesce):
        return _first([node.this, *node.expressions])
    if isinstance(node, exp.Array | exp.ArrayAgg):
        inside = node.this if isinstance(node, exp.ArrayAgg) else next(iter(node.expressions), None)
        return ARRAYS.get(type_of(inside) or TEXT, ARRAYS[TEXT])
    if isinstance(node, exp.Distinct):
        return type_of(next(iter(node.expressions), None))
    if isinstance(node, exp.Query):
        return type_of(next(iter(node.selects), None))
    return type_of(node.this) if isinstance(node, _SAME) else None


def _first(nodes: list[exp.Expr | None]) -> int | None:
    there = (one for one in nodes if one is not None and not isinstance(one, exp.Null))
    return type_of(next(there, None))


def _of_column(column: exp.Column) -> int | None:
    source = next((one for one in _around(column) if one.alias_or_name == column.table), None)
    name = column.name
    if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        if source.db:
            columns = columns_of((source.db, source.name)) or {}
            return _renamed(source, list(columns), columns).get(name, HIDDEN.get(name))
        source = named_by(source)
    return None if source is None else _in_query(source, name)


def _in_query(source: exp.Expr, name: str) -> int | None:
    """The type of a column of a SELECT, or of a function, in FROM or WITH."""
    names = _alias_columns(source)
    if isinstance(source, exp.Unnest):
        inside = type_of(next(iter(source.expressions), None))
        elements = {array: element for element, array in ARRAYS.items()}
        return elements.get(inside or 0) if names[:1] == [name] else None
    inner = source.this if isinstance(source, exp.Subquery | exp.Lateral | exp.CTE) else None
    if not isinstance(inner, exp.Query):
        return None
    selects = inner.selects
    known = names or [one.alias_or_name for one in selects]
    return next(
        (type_of(one) for one, known_as in zip(selects, known, strict=False) if known_as == name), None
    )


def _around(node: exp.Expr) -> Iterator[exp.Expr]:
    """The sources of the SELECT that a node is in, then of those around it."""
    above = node.parent
    while above is not None:
        if isinstance(above, exp.Select):
            clause = above.args.get("from_")
            yield from _with_joins(clause.this) if clause is not None else ()
            for join in [*(above.args.get("joins") or ()), *(above.args.get("laterals") or ())]:
                yield from _with_joins(join.this if isinstance(join, exp.Join) else join)
        above = above.parent


def _with_joins(source: exp.Expr) -> Iterator[exp.Expr]:
    while isinstance(source, exp.Paren):
        source = source.this
    if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Table):
        yield from _with_joins(source.this)
    yield source
    for join in source.args.get("joins") or ():
        yield from _with_joins(join.this)


def _alias_columns(source: exp.Expr) -> list[str]:
    alias = source.args.get("alias")
    return [one.name for one in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []


def _renamed(source: exp.Expr, names: list[str], columns: dict[str, int] | object) -> dict[str, int]:
    assert isinstance(columns, dict)
    new = _alias_columns(source)
    return {now: columns[name] for name, now in zip(names, [*new, *names[len(new) :]], strict=True)}
