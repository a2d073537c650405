"""Types of statements about catalogs: their names, their numbers, and values of one as values of another."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.values import (
    ARRAYS,
    BOOL,
    CHAR,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NAME,
    NUMERIC,
    OID,
    REGCLASS,
    REGTYPE,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    BadValue,
    decoded,
    text_of,
)

# Name, number, what SQL calls it, how wide it is, and its category.
TYPES: tuple[tuple[str, int, str, int, str], ...] = (
    ("bool", BOOL, "boolean", 1, "B"),
    ("char", CHAR, '"char"', 1, "Z"),
    ("name", NAME, "name", 64, "S"),
    ("int8", INT8, "bigint", 8, "N"),
    ("int2", INT2, "smallint", 2, "N"),
    ("int4", INT4, "integer", 4, "N"),
    ("text", TEXT, "text", -1, "S"),
    ("oid", OID, "oid", 4, "N"),
    ("float4", FLOAT4, "real", 4, "N"),
    ("float8", FLOAT8, "double precision", 8, "N"),
    ("varchar", VARCHAR, "character varying", -1, "S"),
    ("date", DATE, "date", 4, "D"),
    ("timestamp", TIMESTAMP, "timestamp without time zone", 8, "D"),
    ("timestamptz", TIMESTAMPTZ, "timestamp with time zone", 8, "D"),
    ("numeric", NUMERIC, "numeric", -1, "N"),
    ("regclass", REGCLASS, "regclass", 4, "N"),
    ("regtype", REGTYPE, "regtype", 4, "N"),
)
OIDS = {name: oid for name, oid, *_ in TYPES} | {said: oid for _, oid, said, *_ in TYPES}
SQL_NAMES = {oid: said for _, oid, said, *_ in TYPES} | {
    ARRAYS[oid]: f"{said}[]" for _, oid, said, *_ in TYPES if oid in ARRAYS
}
SHORT_NAMES = {oid: name for name, oid, *_ in TYPES} | {
    ARRAYS[oid]: f"_{name}" for name, oid, *_ in TYPES if oid in ARRAYS
}
_ALIASES = {
    "int": "int4",
    "integer": "int4",
    "bigint": "int8",
    "smallint": "int2",
    "boolean": "bool",
    "double precision": "float8",
    "double": "float8",
    "float": "float8",
    "real": "float4",
    "decimal": "numeric",
    "character varying": "varchar",
    "bpchar": "varchar",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "string": "text",
}
_TEXTS = (
    "text",
    "varchar",
    "name",
    "char",
    '"char"',
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


def oid_named(name: str) -> int:
    """The number of a type, text for those that are not known."""
    if name.endswith("[]"):
        return ARRAYS.get(oid_named(name[:-2]), ARRAYS[TEXT])
    return OIDS.get(name, TEXT)


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
