"""Rows of pg_catalog and information_schema: what everyone may know of a study.  Others are empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adyton.transports.pg.catalog.casting import SHORT_NAMES, SQL_NAMES
from adyton.transports.pg.catalog.facts import (
    OWNER,
    SCHEMAS,
    SYSTEM,
    CatalogColumn,
    CatalogFacts,
    Listed,
)
from adyton.transports.pg.catalog.layout import Relation, has_hidden, usual_values
from adyton.transports.pg.values import ARRAYS, DATE, FLOAT8, INT4, INT8, TEXT, TYPES, WIDTHS

Rows = Sequence[Mapping[str, Any]]


def rows_of(relation: Relation, facts: CatalogFacts) -> list[dict[str, Any]]:
    """Each with a value for every column."""
    made = _ROWS.get(relation)
    return filled(relation, made(facts)) if made is not None else []


def filled(relation: Relation, rows: Rows) -> list[dict[str, Any]]:
    """Rows with what they say, and otherwise what every row says."""
    usual = usual_values(relation)
    if has_hidden(relation):
        usual |= {"tableoid": SYSTEM[relation[1]], "xmin": 1}
    return [{**usual, **row} for row in rows]


def _classes(facts: CatalogFacts) -> Rows:
    return [
        {
            "oid": one.oid,
            "relname": one.name,
            "relnamespace": SCHEMAS[one.schema],
            "relkind": one.kind,
            "relnatts": len(one.attributes),
            "reltuples": -1 if one.rows is None else one.rows,
            "relhasrules": one.kind == "v",
            "relacl": [f"{facts.user}=r/{facts.user}"],
        }
        for one in facts.tables
    ]


def _each_column(facts: CatalogFacts) -> list[tuple[Listed, int, CatalogColumn]]:
    return [(one, at, column) for one in facts.tables for at, column in enumerate(one.attributes, 1)]


def _attributes(facts: CatalogFacts) -> Rows:
    return [
        {
            "attrelid": one.oid,
            "attname": column.name,
            "atttypid": column.oid,
            "attlen": WIDTHS.get(column.oid, -1),
            "attnum": at,
            "attcollation": 100 if column.oid == TEXT else 0,
            "attstorage": "x" if column.oid == TEXT else "p",
        }
        for one, at, column in _each_column(facts)
    ]


def _namespaces(_: CatalogFacts) -> Rows:
    return [{"oid": oid, "nspname": name, "nspowner": OWNER} for name, oid in SCHEMAS.items()]


def _descriptions(facts: CatalogFacts) -> Rows:
    comments = [(one.oid, 0, one.comment) for one in facts.tables]
    comments += [(one.oid, at, column.comment) for one, at, column in _each_column(facts)]
    return [
        {"objoid": oid, "classoid": SYSTEM["pg_class"], "objsubid": at, "description": comment}
        for oid, at, comment in comments
        if comment is not None
    ]


def _types(_: CatalogFacts) -> Rows:
    rows = []
    for one in TYPES:
        line = "_" if one.name in _LINED else ""
        rows.append(
            _type_row(one.name, one.oid, one.width, one.category, f"{one.name}{line}", typarray=one.array)
        )
        rows.append(_type_row(f"_{one.name}", one.array, -1, "A", "array_", typelem=one.oid))
    return rows


def _type_row(name: str, oid: int, width: int, category: str, function: str, **other: Any) -> dict[str, Any]:
    return {
        "oid": oid,
        "typname": name,
        "typlen": width,
        "typbyval": 0 < width <= 8,
        "typcategory": category,
        "typinput": f"{function}in",
        "typoutput": f"{function}out",
        "typreceive": f"{function}recv",
        "typsend": f"{function}send",
        "typcollation": 100 if category == "S" else 0,
        **other,
    }


def _listing(kind: str, name: str, **others: Any) -> Callable[[CatalogFacts], Rows]:
    """pg_tables and pg_views."""
    return lambda facts: [
        {"schemaname": one.schema, name: one.name, **others} for one in facts.tables if one.kind == kind
    ]


def _standard_tables(facts: CatalogFacts) -> Rows:
    return [
        {
            "table_catalog": facts.database,
            "table_schema": one.schema,
            "table_name": one.name,
            "table_type": "BASE TABLE" if one.kind == "r" else "VIEW",
            "is_insertable_into": "NO",
            "is_typed": "NO",
        }
        for one in facts.tables
    ]


def _standard_columns(facts: CatalogFacts) -> Rows:
    return [_standard_column(facts, *one) for one in _each_column(facts)]


def _standard_column(facts: CatalogFacts, one: Listed, at: int, column: CatalogColumn) -> dict[str, Any]:
    precision = {INT8: 64, INT4: 32, FLOAT8: 53}.get(column.oid)
    array = column.oid in ARRAYS.values()
    return {
        "table_catalog": facts.database,
        "table_schema": one.schema,
        "table_name": one.name,
        "column_name": column.name,
        "ordinal_position": at,
        "is_nullable": "YES",
        "data_type": "ARRAY" if array else SQL_NAMES[column.oid],
        "numeric_precision": precision,
        "numeric_precision_radix": 2 if precision else None,
        "numeric_scale": 0 if column.oid in (INT8, INT4) else None,
        "datetime_precision": 0 if column.oid == DATE else None,
        "udt_catalog": facts.database,
        "udt_schema": "pg_catalog",
        "udt_name": SHORT_NAMES[column.oid],
        "dtd_identifier": str(at),
        "is_identity": "NO",
        "is_generated": "NEVER",
        "is_updatable": "NO",
    }


def _schemata(facts: CatalogFacts) -> Rows:
    return [
        {"catalog_name": facts.database, "schema_name": name, "schema_owner": facts.user} for name in SCHEMAS
    ]


def _privileges(facts: CatalogFacts) -> Rows:
    return [
        {
            "grantor": facts.user,
            "grantee": facts.user,
            "table_catalog": facts.database,
            "table_schema": one.schema,
            "table_name": one.name,
            "privilege_type": "SELECT",
            "is_grantable": "NO",
        }
        for one in facts.tables
    ]


_LINED = ("date", "timestamp", "timestamptz", "numeric")  # whose functions are called date_in, not datein
_ROWS: dict[Relation, Callable[[CatalogFacts], Rows]] = {
    ("pg_catalog", "pg_class"): _classes,
    ("pg_catalog", "pg_attribute"): _attributes,
    ("pg_catalog", "pg_namespace"): _namespaces,
    ("pg_catalog", "pg_description"): _descriptions,
    ("pg_catalog", "pg_type"): _types,
    ("pg_catalog", "pg_database"): lambda facts: [{"datname": facts.database}],
    ("pg_catalog", "pg_roles"): lambda facts: [{"rolname": facts.user}],
    ("pg_catalog", "pg_authid"): lambda facts: [{"rolname": facts.user}],
    ("pg_catalog", "pg_user"): lambda facts: [{"usename": facts.user}],
    ("pg_catalog", "pg_tables"): _listing("r", "tablename", tablespace=None),
    ("pg_catalog", "pg_views"): _listing("v", "viewname", definition=""),
    ("pg_catalog", "pg_am"): lambda _: [{"oid": 2, "amname": "heap", "amhandler": "", "amtype": "t"}],
    ("pg_catalog", "pg_tablespace"): lambda _: [{"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}],
    ("information_schema", "tables"): _standard_tables,
    ("information_schema", "columns"): _standard_columns,
    ("information_schema", "schemata"): _schemata,
    ("information_schema", "table_privileges"): _privileges,
}
