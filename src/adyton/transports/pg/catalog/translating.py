"""A statement about catalogs in the words of the database that answers it.

Only what is listed here gets there: kinds of expressions, functions, and tables by their names.  Everything
else is an error, or a function of our own that is called by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from adyton.transports.pg.catalog.database import call_name, table_name
from adyton.transports.pg.catalog.facts import CatalogFacts
from adyton.transports.pg.catalog.functions import CONSTANTS, FROM_RELATIONS, LISTS, returned_by
from adyton.transports.pg.catalog.layout import Relation, all_columns_of, columns_of
from adyton.transports.pg.catalog.limits import unsupported
from adyton.transports.pg.catalog.naming import folded, name_of, named_by
from adyton.transports.pg.catalog.shape import check_shape
from adyton.transports.pg.catalog.spelling import CALLED, rewritten, spelled
from adyton.transports.pg.catalog.typing import OID_HERE, type_of
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.values import BOOL, INT4, INT8, TEXT

_NATIVE = (  # functions that the database has, and that make no large values
    exp.Count, exp.Max, exp.Min, exp.Sum, exp.Avg, exp.ArrayAgg, exp.LogicalAnd, exp.LogicalOr,
    exp.GroupConcat,
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue,
    exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Case, exp.If, exp.Cast, exp.Exists, exp.Array,
    exp.Connector, exp.RegexpLike, exp.RegexpILike, exp.Like, exp.ILike, exp.Abs,
    exp.Lower, exp.Upper, exp.Unnest, exp.Explode, exp.Any, exp.All,
)  # fmt: skip
_OWN = frozenset({"any", "some", "all"})  # which the parser takes for functions


@dataclass(frozen=True, slots=True)
class TranslatedStatement:
    """``columns``: names and types of what is listed, None where the database knows.  ``relations``: the
    tables that it needs.
    """

    text: str
    columns: list[tuple[str, int | None]]
    relations: list[Relation]


def translated(tree: exp.Expr, values: Mapping[int, Any], facts: CatalogFacts) -> TranslatedStatement:
    """``values``: of the parameters."""
    while isinstance(tree, exp.Subquery) and not tree.args.get("with_"):
        tree = tree.this
    tree = tree.copy()
    if not isinstance(tree, exp.Query):
        raise unsupported(tree.key.upper())
    for select in tree.find_all(exp.Select):
        if not select.expressions:
            raise unsupported("a SELECT of nothing")
    _name_columns(tree)
    _give_values(tree, values)
    tree = rewritten(tree, _plain)
    tree = rewritten(tree, _function_as_source)
    relations = sorted({_relation(one) for one in _tables(tree)})
    check_shape(tree)
    tree = _qualified(tree, relations)
    spelled(tree, facts)
    columns = [(one.alias_or_name, type_of(one)) for one in tree.selects]
    for one in _tables(tree):
        one.set("this", exp.to_identifier(table_name((one.db, one.name)), quoted=True))
        one.set("db", None)
    return TranslatedStatement(tree.sql("duckdb"), columns, relations)


def _tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """Those that are none of WITH."""
    for one in list(tree.find_all(exp.Table)):
        if isinstance(one.this, exp.Identifier) and named_by(one) is None:
            yield one


def _relation(table: exp.Table) -> Relation:
    """Its schema and name, which are written into it."""
    schema, name = folded(table.args.get("db")), folded(table.this)
    relation = (schema or "pg_catalog", name)
    if columns_of(relation) is None or table.args.get("catalog") is not None:
        shown = f"{schema}.{name}" if schema else name
        raise SqlError("42P01", f'relation "{shown[:100]}" does not exist')
    table.set("db", exp.to_identifier(relation[0]))
    return relation


def _qualified(tree: exp.Expr, relations: list[Relation]) -> exp.Query:
    """Every column with its source, and stars as columns."""
    columns: dict[str, Any] = {}
    visible: dict[str, Any] = {}
    for relation in relations:
        schema, name = relation
        visible.setdefault(schema, {})[name] = list(columns_of(relation) or {})
        columns.setdefault(schema, {})[name] = dict.fromkeys(all_columns_of(relation), "text")
    try:
        found = qualify(
            tree,
            schema=MappingSchema(columns, visible=visible, dialect="postgres", normalize=False),
            dialect="postgres",
        )
    except (SqlglotError, ValueError) as error:
        raise _unknown_column(error) from None
    assert isinstance(found, exp.Query)
    _check_rows(found)
    return found


def _unknown_column(error: Exception) -> SqlError:
    """The library says which one in quotes."""
    quoted = str(error).split("'")
    shown = quoted[1].replace('"', "")[:100] if len(quoted) > 2 else ""
    return SqlError(
        "42703", f'column "{shown}" does not exist' if shown else "this names no column that there is"
    )


def _check_rows(tree: exp.Query) -> None:
    """Rows as values would grow without end, as rows of rows."""
    if tree.find(exp.TableColumn) is not None:
        raise unsupported("a row as a value")
    for column in tree.find_all(exp.Column):
        if not column.table and column.find_ancestor(exp.Order, exp.Distinct) is None:
            raise SqlError("42703", f'column "{column.name[:100]}" does not exist')


# Before columns are looked for -----------------------------------------------------------------------------


def _give_values(tree: exp.Expr, values: Mapping[int, Any]) -> None:
    for node in list(tree.find_all(exp.Parameter)):
        number = int(node.name) if node.name.isdecimal() else 0
        node.replace(_literal(values.get(number)))


def _literal(value: Any) -> exp.Expr:
    if isinstance(value, list):
        return exp.Array(expressions=[_literal(one) for one in value])
    if value is None or isinstance(value, bool | int):
        return exp.convert(value)
    is_number = hasattr(value, "adjusted")  # a Decimal
    return exp.Literal.number(f"{value:f}") if is_number else exp.Literal.string(str(value))


def _plain(node: exp.Expr) -> exp.Expr:
    """Without schemas of functions and collations, and with our own functions by their names."""
    if isinstance(node, exp.Collate):
        inner: exp.Expr = node.this
        return inner
    if isinstance(node, exp.Dot):
        return _undotted(node)
    if isinstance(node, exp.ByteString):
        return exp.Literal.string(node.this)
    if isinstance(node, exp.ExplodingGenerateSeries | exp.GenerateSeries):
        return _named_call("generate_series", list(node.iter_expressions()))
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        return node if name in _OWN else _named_call(name, node.expressions)
    if isinstance(node, exp.Func) and not isinstance(node, _NATIVE):
        return _named_call(node.sql_name().lower(), list(node.iter_expressions()))
    return node


def _undotted(node: exp.Dot) -> exp.Expr:
    """schema.function(...), or a part of a row that ``_pg_expandarray`` gives."""
    if isinstance(node.parent, exp.DataType):
        return node
    if isinstance(node.this, exp.Identifier) and not isinstance(node.expression, exp.Identifier):
        function: exp.Expr = node.expression
        return function
    name = node.expression.name.lower()
    if name not in ("x", "n"):
        raise unsupported("a part of a row")
    made = exp.Anonymous(this="struct_extract", expressions=[node.this, exp.Literal.string(name)])
    made.meta[OID_HERE] = INT4
    return made


def _named_call(name: str, arguments: list[exp.Expr]) -> exp.Expr:
    """A call of one of our own functions.  What is always the same is written as it is."""
    if name in CONSTANTS:
        value = CONSTANTS[name]
        made: exp.Expr = exp.convert(value)
        if not isinstance(value, bool):
            made = exp.cast(made, "TEXT" if value is None else "BIGINT")
        oid: int | None = {bool: BOOL, int: INT8}.get(type(value), TEXT)
    else:
        kind, oid = returned_by(name)
        inside = [exp.Literal.string(name), *arguments]
        made = exp.Anonymous(this=call_name(kind), expressions=inside)
        made = exp.Explode(this=made) if name in LISTS else made
    made.meta[CALLED] = name
    if oid is not None:
        made.meta[OID_HERE] = oid
    return made


def _name_columns(tree: exp.Query) -> None:
    """Gives what is listed without a name the one that PostgreSQL gives it."""
    for select in list(tree.find_all(exp.Select)):
        for item in list(select.expressions):
            if isinstance(item, exp.Alias | exp.Column | exp.Star):
                continue
            place = exp.alias_(item.copy(), name_of(item), quoted=True)
            item.replace(place)


def _function_as_source(node: exp.Expr) -> exp.Expr:
    """A function behind FROM: of a table that has its rows, of a list, or of one value."""
    is_call = isinstance(node, exp.Lateral) and not isinstance(node.this, exp.Query | exp.Subquery)
    if is_call or (isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier)):
        return _source(node.this, node)
    if isinstance(node, exp.Unnest) and not isinstance(node.parent, exp.Lateral | exp.Table):
        return _source(node, node)
    return node


def _source(call: exp.Expr, node: exp.Expr) -> exp.Expr:
    alias = node.args.get("alias") or call.args.get("alias")
    called = str(call.meta.get(CALLED, "unnest"))
    name = (folded(alias.this) if alias is not None else "") or called
    columns = list(alias.args.get("columns") or ()) if alias is not None else []
    shown = exp.to_identifier(name, quoted=True)
    made = exp.TableAlias(this=shown, columns=columns or [shown.copy()])
    if called in FROM_RELATIONS:
        table = exp.table_(FROM_RELATIONS[called], db="pg_catalog")
        table.set("alias", exp.TableAlias(this=shown, columns=columns))
        return table
    if isinstance(call, exp.Explode | exp.Unnest):
        inside = [call.this] if isinstance(call, exp.Explode) else call.expressions
        offset = call.args.get("offset")
        if node.args.get("ordinality"):
            offset = made.columns.pop() if len(made.columns) > 1 else exp.to_identifier("ordinality")
        return exp.Unnest(expressions=inside, alias=made, offset=offset)
    value = exp.alias_(call, made.columns[0].name, quoted=True)
    return exp.Subquery(this=exp.select(value, copy=False), alias=made)
