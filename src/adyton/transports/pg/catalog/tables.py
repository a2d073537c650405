"""pg_catalog and information_schema of a study: tables that clients read, and names of empty ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from adyton.transports.pg.catalog.casting import SHORT_NAMES, SQL_NAMES
from adyton.transports.pg.catalog.facts import OWNER, SCHEMAS, SYSTEM, CatalogFacts, Listed
from adyton.transports.pg.catalog.layout import (
    ATTRIBUTE,
    CLASS,
    COLUMNS,
    EMPTY,
    ROLE,
    TABLES,
    TYPE,
    Pairs,
)
from adyton.transports.pg.catalog.layout import (
    DATABASE as DATABASES,
)
from adyton.transports.pg.catalog.relations import NOTHING, CatalogRelation
from adyton.transports.pg.values import (
    ARRAYS,
    BOOL,
    CHAR,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    NAME,
    OID,
    TEXT,
    TYPES,
    WIDTHS,
)

# Tables that clients look into, and a study has nothing for.
_EMPTY = {name for name in EMPTY if name.startswith("pg_")} | {
    "pg_index",
    "pg_constraint",
    "pg_attrdef",
    "pg_inherits",
    "pg_policy",
    "pg_statistic_ext",
    "pg_publication",
    "pg_publication_rel",
    "pg_publication_namespace",
    "pg_proc",
    "pg_trigger",
    "pg_rewrite",
    "pg_collation",
    "pg_opclass",
    "pg_sequence",
    "pg_extension",
    "pg_range",
    "pg_depend",
    "pg_rules",
    "pg_foreign_server",
    "pg_foreign_data_wrapper",
    "pg_partitioned_table",
    "pg_matviews",
    "pg_operator",
    "pg_language",
    "pg_cast",
    "pg_conversion",
    "pg_aggregate",
    "pg_event_trigger",
    "pg_shdescription",
    "pg_user_mapping",
    "pg_user_mappings",
    "pg_indexes",
    "pg_sequences",
    "pg_locks",
    "pg_seclabel",
    "pg_stat_user_tables",
    "pg_statio_user_tables",
    "pg_stat_user_indexes",
    "pg_shdepend",
    "pg_available_extensions",
    "pg_timezone_names",
    "pg_prepared_statements",
    "pg_cursors",
    "pg_stats",
    "pg_subscription",
    "pg_init_privs",
    "pg_ts_config",
    "pg_largeobject_metadata",
    "pg_transform",
    "pg_amop",
    "pg_opfamily",
    "pg_group",
}
_EMPTY_STANDARD = {
    "table_constraints",
    "key_column_usage",
    "constraint_column_usage",
    "referential_constraints",
    "routines",
    "views",
    "triggers",
    "sequences",
    "parameters",
    "check_constraints",
    "domains",
    "element_types",
    "column_privileges",
    "routine_privileges",
    "role_table_grants",
    "applicable_roles",
    "enabled_roles",
    "constraint_table_usage",
    "view_table_usage",
}


def filled(pairs: Pairs, rows: Sequence[Mapping[str, Any]]) -> CatalogRelation:
    """Rows with what they say, and otherwise what every row says."""
    usual = {name: value for name, (_, value) in pairs.items()}
    return CatalogRelation(
        {name: oid for name, (oid, _) in pairs.items()}, [{**usual, **row} for row in rows]
    )


@lru_cache(maxsize=64)
def relation_named(facts: CatalogFacts, schema: str, name: str) -> CatalogRelation | None:
    """A table of the two catalogs; None if a PostgreSQL has none of this name."""
    made = (_STANDARD if schema == "information_schema" else _SYSTEM).get(name)
    if made is not None:
        return made(facts)
    empty = _EMPTY_STANDARD if schema == "information_schema" else _EMPTY
    return replace(NOTHING, columns=EMPTY.get(name, {})) if name in empty else None


def types_by_name() -> dict[str, int]:
    """The type of a column of any of these tables, by its name."""
    pairs = (CLASS, ATTRIBUTE, TABLES, COLUMNS, DATABASES, ROLE, TYPE)
    found = {name: oid for some in pairs for name, (oid, _) in some.items()}
    return {**found, "nspname": NAME, "objoid": OID, "objsubid": INT4, "table_schem": NAME}


def _classes(facts: CatalogFacts) -> CatalogRelation:
    return filled(
        CLASS,
        [
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
        ],
    )


def _each_column(facts: CatalogFacts) -> list[tuple[Listed, int, Any]]:
    return [(one, at, column) for one in facts.tables for at, column in enumerate(one.attributes, 1)]


def _attributes(facts: CatalogFacts) -> CatalogRelation:
    return filled(
        ATTRIBUTE,
        [
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
        ],
    )


def _namespaces(_: CatalogFacts) -> CatalogRelation:
    columns = {"oid": OID, "nspname": NAME, "nspowner": OID, "nspacl": ARRAYS[TEXT]}
    rows = [{"oid": oid, "nspname": name, "nspowner": OWNER, "nspacl": None} for name, oid in SCHEMAS.items()]
    return CatalogRelation(columns, rows)


def _descriptions(facts: CatalogFacts) -> CatalogRelation:
    columns = {"objoid": OID, "classoid": OID, "objsubid": INT4, "description": TEXT}
    said = [(one.oid, 0, one.comment) for one in facts.tables]
    said += [(one.oid, at, column.comment) for one, at, column in _each_column(facts)]
    rows = [
        {"objoid": oid, "classoid": SYSTEM["pg_class"], "objsubid": at, "description": text}
        for oid, at, text in said
        if text is not None
    ]
    return CatalogRelation(columns, rows)


def _types(_: CatalogFacts) -> CatalogRelation:
    rows = []
    for one in TYPES:
        rows.append(_type_row(one.name, one.oid, one.width, one.category, typarray=one.array))
        rows.append(_type_row(f"_{one.name}", one.array, -1, "A", typelem=one.oid, typinput="array_in"))
    return filled(TYPE, rows)


def _type_row(name: str, oid: int, width: int, category: str, **other: Any) -> dict[str, Any]:
    return {
        "oid": oid,
        "typname": name,
        "typlen": width,
        "typbyval": 0 < width <= 8,
        "typcategory": category,
        "typinput": f"{name}in",
        "typoutput": f"{name}out",
        "typreceive": f"{name}recv",
        "typcollation": 100 if category == "S" else 0,
        **other,
    }


def _listing(kind: str, name: str, **others: tuple[int, Any]) -> Callable[[CatalogFacts], CatalogRelation]:
    """pg_tables and pg_views."""
    pairs = {"schemaname": (NAME, ""), name: (NAME, ""), **others}
    return lambda facts: filled(
        pairs, [{"schemaname": one.schema, name: one.name} for one in facts.tables if one.kind == kind]
    )


def _standard_tables(facts: CatalogFacts) -> CatalogRelation:
    return filled(
        TABLES,
        [
            {
                "table_catalog": facts.database,
                "table_schema": one.schema,
                "table_name": one.name,
                "table_type": "BASE TABLE" if one.kind == "r" else "VIEW",
            }
            for one in facts.tables
        ],
    )


def _standard_columns(facts: CatalogFacts) -> CatalogRelation:
    return filled(COLUMNS, [_standard_column(facts, *one) for one in _each_column(facts)])


def _standard_column(facts: CatalogFacts, one: Listed, at: int, column: Any) -> dict[str, Any]:
    precision = {INT8: 64, INT4: 32, FLOAT8: 53}.get(column.oid)
    array = column.oid in ARRAYS.values()
    return {
        "table_catalog": facts.database,
        "table_schema": one.schema,
        "table_name": one.name,
        "column_name": column.name,
        "ordinal_position": at,
        "data_type": "ARRAY" if array else SQL_NAMES[column.oid],
        "numeric_precision": precision,
        "numeric_precision_radix": 2 if precision else None,
        "numeric_scale": 0 if column.oid in (INT8, INT4) else None,
        "datetime_precision": 0 if column.oid == DATE else None,
        "udt_catalog": facts.database,
        "udt_name": SHORT_NAMES[column.oid],
        "dtd_identifier": str(at),
    }


def _schemata(facts: CatalogFacts) -> CatalogRelation:
    columns = {"catalog_name": NAME, "schema_name": NAME, "schema_owner": NAME}
    rows = [
        {"catalog_name": facts.database, "schema_name": name, "schema_owner": facts.user} for name in SCHEMAS
    ]
    return CatalogRelation(columns, rows)


def _privileges(facts: CatalogFacts) -> CatalogRelation:
    rows = [
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
    return CatalogRelation(dict.fromkeys(rows[0], NAME), rows)


def _one_row(**values: tuple[int, Any]) -> Callable[[CatalogFacts], CatalogRelation]:
    return lambda _: filled(values, [{}])


def _roles(facts: CatalogFacts) -> CatalogRelation:
    return filled(ROLE, [{"rolname": facts.user, "usename": facts.user}])


_SYSTEM: dict[str, Callable[[CatalogFacts], CatalogRelation]] = {
    "pg_class": _classes,
    "pg_attribute": _attributes,
    "pg_namespace": _namespaces,
    "pg_description": _descriptions,
    "pg_type": _types,
    "pg_database": lambda facts: filled(DATABASES, [{"datname": facts.database}]),
    "pg_roles": _roles,
    "pg_user": _roles,
    "pg_authid": _roles,
    "pg_tables": _listing(
        "r", "tablename", tableowner=(NAME, ""), tablespace=(NAME, None), hasindexes=(BOOL, False)
    ),
    "pg_views": _listing("v", "viewname", viewowner=(NAME, ""), definition=(TEXT, "")),
    "pg_am": _one_row(oid=(OID, 2), amname=(NAME, "heap"), amhandler=(TEXT, ""), amtype=(CHAR, "t")),
    "pg_tablespace": _one_row(
        oid=(OID, 1663), spcname=(NAME, "pg_default"), spcowner=(OID, OWNER), spcacl=(TEXT, None)
    ),
}
_STANDARD: dict[str, Callable[[CatalogFacts], CatalogRelation]] = {
    "tables": _standard_tables,
    "columns": _standard_columns,
    "schemata": _schemata,
    "table_privileges": _privileges,
}
