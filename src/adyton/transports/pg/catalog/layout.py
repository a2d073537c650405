"""The tables of PostgreSQL's catalogs and their columns, and what most rows of them say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from adyton.transports.pg.catalog.facts import DATABASE, OWNER, SCHEMAS, SYSTEM, VIEWS
from adyton.transports.pg.values import (
    ARRAYS,
    BOOL,
    CHAR,
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
    TYPES,
)

Columns = Mapping[str, int]  # each with the number of its type
Relation = tuple[str, str]  # schema and name
HIDDEN: Columns = {"tableoid": OID, "xmin": OID}  # columns of every table that a star leaves out
_OIDS = {
    **{one.name: one.oid for one in TYPES},
    **{f"_{one.name}": one.array for one in TYPES},
    "int2vector": INT2VECTOR,
    "oidvector": OIDVECTOR,
}
_IN_DUCKDB = {
    BOOL: "BOOLEAN",
    INT2: "SMALLINT",
    INT4: "INTEGER",
    INT8: "BIGINT",
    **dict.fromkeys((OID, REGCLASS, REGTYPE), "BIGINT"),
    FLOAT4: "FLOAT",
    FLOAT8: "DOUBLE",
    NUMERIC: "DOUBLE",
    INT2VECTOR: "SMALLINT[]",
    OIDVECTOR: "BIGINT[]",
}
_ELEMENTS = {array: element for element, array in ARRAYS.items()}
_EMPTY_VALUES = {BOOL: False, **dict.fromkeys((INT2, INT4, OID), 0), **dict.fromkeys((NAME, CHAR), "")}
_ROLE = {"oid": OWNER, "rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1}
_USUAL: Mapping[str, Mapping[str, Any]] = {
    "pg_class": {
        "relnamespace": SCHEMAS["public"],
        "relowner": OWNER,
        "reltuples": -1,
        "relpersistence": "p",
        "relispopulated": True,
        "relreplident": "n",
    },
    "pg_attribute": {
        "attstattarget": -1,
        "attlen": -1,
        "attcacheoff": -1,
        "atttypmod": -1,
        "attstorage": "p",
        "attalign": "i",
        "attislocal": True,
    },
    "pg_database": {
        "oid": DATABASE,
        "datdba": OWNER,
        "encoding": 6,
        "datlocprovider": "c",
        "datallowconn": True,
        "datconnlimit": -1,
        "dattablespace": 1663,
        "datcollate": "C",
        "datctype": "C",
    },
    "pg_type": {
        "typnamespace": SCHEMAS["pg_catalog"],
        "typowner": OWNER,
        "typlen": -1,
        "typtype": "b",
        "typisdefined": True,
        "typdelim": ",",
        "typtypmod": -1,
        "typstorage": "p",
        "typalign": "i",
        "typsubscript": "-",
        "typmodin": "-",
        "typmodout": "-",
        "typanalyze": "-",
    },
    "pg_roles": _ROLE,
    "pg_authid": _ROLE,
    "pg_user": {"usesysid": OWNER},
    "pg_settings": {"category": "", "short_desc": "", "context": "", "vartype": "", "source": ""},
}


def columns_of(relation: Relation) -> Columns | None:
    """The columns of a table; None if there is none of this name."""
    return relations().get(relation)


def has_hidden(relation: Relation) -> bool:
    return relation[0] == "pg_catalog" and relation[1] in SYSTEM


def all_columns_of(relation: Relation) -> Columns:
    """With those that a star leaves out."""
    return {**(columns_of(relation) or {}), **(HIDDEN if has_hidden(relation) else {})}


def table_type(oid: int) -> str:
    """The type of DuckDB that holds values of this type."""
    element = _ELEMENTS.get(oid)
    return _IN_DUCKDB.get(oid, "VARCHAR") if element is None else f"{table_type(element)}[]"


def usual_values(relation: Relation) -> dict[str, Any]:
    """What a row says in each column that it says nothing else about."""
    schema, name = relation
    columns = columns_of(relation) or {}
    plain = {
        column: _EMPTY_VALUES.get(oid) if schema == "pg_catalog" else None for column, oid in columns.items()
    }
    return {**plain, **_USUAL.get(name, {})} if schema == "pg_catalog" else plain


@cache
def relations() -> dict[Relation, Columns]:
    """All that there are, with what functions behind FROM are taken for."""
    own: dict[Relation, Columns] = {
        ("adyton", name): {one.name: one.oid for one in columns} for name, columns, _ in VIEWS
    }
    text = files("adyton.transports.pg.catalog").joinpath("relations.txt").read_text(encoding="utf-8")
    return {**own, **dict(map(_read, text.splitlines()))}


def _read(line: str) -> tuple[Relation, Columns]:
    """``schema.name: column type, column type``"""
    schema, _, rest = line.partition(".")
    name, _, columns = rest.partition(": ")
    pairs = (one.split(" ") for one in columns.split(", "))
    return (schema, name), {column: _OIDS[kind] for column, kind in pairs}
