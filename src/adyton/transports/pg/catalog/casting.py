"""Types of statements about catalogs: names, numbers, and values of one as, or beside, values of another."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.values import ARRAYS, BOOL, TEXT, TYPES, BadValue, decoded, text_of

OIDS = {one.name: one.oid for one in TYPES} | {one.said: one.oid for one in TYPES}
SQL_NAMES = {one.oid: one.said for one in TYPES} | {one.array: f"{one.said}[]" for one in TYPES}
SHORT_NAMES = {one.oid: one.name for one in TYPES} | {one.array: f"_{one.name}" for one in TYPES}
_ALIASES = {one.said: one.name for one in TYPES} | {
    "int": "int4",
    "double": "float8",
    "float": "float8",
    "decimal": "numeric",
    "bpchar": "varchar",
    "string": "text",
}
_TEXTS = (
    "text",
    "varchar",
    "name",
    "char",
    "cstring",
    "unknown",
    "information_schema.sql_identifier",
)
_WHOLE = ("int2", "int4", "int8", "oid", "xid")


def type_named(node: Any) -> str:
    """The name of a type as it is written: in small letters, without its schema and its length."""
    if isinstance(node, exp.DataType) and node.this is exp.DType.ARRAY and node.expressions:
        return f"{type_named(node.expressions[0])}[]"
    kind = node.args.get("kind") if isinstance(node, exp.DataType) else None
    written = str(kind if isinstance(kind, str) else kind.sql() if kind is not None else node.sql("postgres"))
    name = written.lower().partition("(")[0].strip().removeprefix("pg_catalog.").strip('"')
    return _ALIASES.get(name, name)


def is_text(name: str) -> bool:
    """Whether the values of a type, by its name, are texts in the database."""
    return name in _TEXTS or (name not in OIDS and not name.endswith("[]") and name not in _WHOLE)


def oid_named(name: str) -> int:
    """The number of a type, text for those that are not known."""
    if name.endswith("[]"):
        return ARRAYS.get(oid_named(name[:-2]), ARRAYS[TEXT])
    return OIDS.get(name, TEXT)


def type_name(oid: int) -> str:
    """What SQL calls a type."""
    return SQL_NAMES.get(oid, str(oid))


def cast_to(value: Any, name: str) -> Any:
    """A value as one of the type of this name."""
    if value is None:
        return None
    try:
        return _cast(value, name)
    except (ValueError, TypeError, InvalidOperation, OverflowError, BadValue):
        raise SqlError("22P02", f"invalid input syntax for type {name[:50]}") from None


def _cast(value: Any, name: str) -> Any:
    if name.endswith("[]"):
        listed = decoded(value.encode(), ARRAYS[TEXT], 0) if isinstance(value, str) else list(value)
        return [_cast(one, name[:-2]) if one is not None else None for one in listed]
    if name in _TEXTS:
        return text_of(value)
    if name in _WHOLE:
        return int(value)
    if name in ("float4", "float8"):
        return float(value)
    if name == "numeric":
        return Decimal(str(value))
    if name == "bool":
        return value if isinstance(value, bool) else decoded(str(value).encode(), BOOL, 0)
    return value
