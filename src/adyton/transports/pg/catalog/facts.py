"""The tables of a catalog, made of what everyone may know about a study: names, types, bounds.

Nothing here was read from data.  Tables that a PostgreSQL has and a study has nothing for are empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.kernel.schema import (
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    declares_missing,
)
from adyton.study import Study
from adyton.transports.pg.catalog.casting import SQL_NAMES
from adyton.transports.pg.columns import oid_of
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.values import ARRAYS, BOOL, FLOAT8, INT8, TEXT

SCHEMAS = {"pg_catalog": 11, "public": 2200, "information_schema": 13_000, "adyton": 13_100}
OWNER, DATABASE = 10, 16_383
SYSTEM = {  # tables by whose numbers clients refer to kinds of things
    "pg_class": 1259,
    "pg_namespace": 2615,
    "pg_type": 1247,
    "pg_proc": 1255,
    "pg_database": 1262,
    "pg_attribute": 1249,
    "pg_constraint": 2606,
    "pg_description": 2609,
    "pg_index": 2610,
    "pg_am": 2601,
    "pg_attrdef": 2604,
    "pg_authid": 1260,
    "pg_collation": 3456,
    "pg_extension": 3079,
    "pg_trigger": 2620,
    "pg_operator": 2617,
    "pg_opclass": 2616,
    "pg_rewrite": 2618,
    "pg_depend": 2608,
    "pg_enum": 3501,
    "pg_tablespace": 1213,
    "pg_language": 2612,
    "pg_foreign_server": 1417,
    "pg_event_trigger": 3466,
}
_FIRST = 16_384
_MOST_VALUES = 20  # of a category, in a comment


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column, and what is said of it."""

    name: str
    oid: int
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A table that a catalog lists; ``kind`` is r for a table, v for a view."""

    oid: int
    schema: str
    name: str
    kind: str
    attributes: tuple[CatalogColumn, ...]
    comment: str | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class CatalogFacts:
    """Of one study, for whoever asks."""

    database: str
    user: str
    tables: tuple[Listed, ...]

    @classmethod
    def of(cls, database: str, study: Study, user: str) -> CatalogFacts:
        tables = [*_of_study(study), *(("adyton", name, "v", made, said, None) for name, made, said in VIEWS)]
        return cls(database, user, tuple(Listed(_FIRST + at, *one) for at, one in enumerate(tables)))

    def oid_of(self, name: str) -> int | None:
        """The number of a table, by its name with or without a schema."""
        plain = name.replace('"', "")
        schema, _, last = plain.rpartition(".")
        if last in SYSTEM and schema in ("", "pg_catalog"):
            return SYSTEM[last]
        found = (one for one in self.tables if one.name == last and schema in ("", one.schema))
        return next((one.oid for one in found), None)

    def regclass(self, value: Any) -> int | None:
        """The number of a table, by its name; a number stays one."""
        if value is None or isinstance(value, int) or str(value).isdecimal():
            return None if value is None else int(value)
        found = self.oid_of(str(value))
        if found is None:
            raise SqlError("42P01", f'relation "{str(value)[:100]}" does not exist')
        return found

    def name_of(self, oid: int) -> str:
        found = next((one for one in self.tables if one.oid == oid), None)
        if found is None:
            return next((name for name, known in SYSTEM.items() if known == oid), str(oid))
        return found.name if found.schema == "public" else f"{found.schema}.{found.name}"

    def is_visible(self, oid: Any) -> bool:
        """Whether a table is found without naming its schema."""
        return next((one.schema == "public" for one in self.tables if one.oid == oid), True)

    def description(self, oid: Any, number: Any) -> str | None:
        """The comment on a table (0), or on one of its columns."""
        found = next((one for one in self.tables if one.oid == oid), None)
        if found is None or not isinstance(number, int) or number > len(found.attributes):
            return None
        return found.attributes[number - 1].comment if number > 0 else found.comment


def _of_study(study: Study) -> list[tuple[str, str, str, tuple[CatalogColumn, ...], str | None, int | None]]:
    """Private tables, and the public ones that may be joined to them."""
    found: dict[str, tuple[str, str, str, tuple[CatalogColumn, ...], str | None, int | None]] = {}
    for table in study.tables:
        columns = [_attribute(column) for column in table.columns]
        if table.person is not None and all(one.name != table.person for one in columns):
            columns.insert(
                0, CatalogColumn(table.person, TEXT, "says whose row it is: COUNT(DISTINCT) alone")
            )
        said = "private: aggregates are answered, rows never"
        found[table.name] = ("public", table.name, "r", tuple(columns), said, table.rows)
        for one in table.dimensions:
            key = next(column for column in table.columns if column.name == one.joins)
            public = [CatalogColumn(one.key, oid_of(key)), *(_attribute(a.column) for a in one.attributes)]
            said = f"public: joined to {table.name} on {one.key} = {one.joins}"
            found.setdefault(one.name, ("public", one.name, "r", tuple(public), said, len(one.keys)))
    return list(found.values())


def _attribute(column: Column) -> CatalogColumn:
    return CatalogColumn(column.name, oid_of(column), _comment_on(column))


def _comment_on(column: Column) -> str | None:
    """The bounds or the values of a column, in words."""
    declared, null = _declared(column), ", or NULL" if declares_missing(column) else ""
    if "values" in declared:
        values = declared["values"]
        more = f" and {len(values) - _MOST_VALUES} others" if len(values) > _MOST_VALUES else ""
        return f"one of {', '.join(values[:_MOST_VALUES])}{more}{null}"
    if "low" in declared:
        steps = f", in steps of {declared['step']:g}" if "step" in declared else ""
        return f"from {declared['low']} to {declared['high']}{steps}{null}"
    return "TRUE, FALSE or NULL" if null else None


def _declared(column: Column) -> dict[str, Any]:
    """Its bounds or its values."""
    match column:
        case IntegerColumn(low=low, high=high) | DateColumn(low=low, high=high):
            return {"low": str(low), "high": str(high)}
        case RealColumn(low=low, high=high, step=step):
            return {"low": f"{float(low):g}", "high": f"{float(high):g}", "step": float(step)}
        case CategoryColumn(values=values):
            return {"values": [str(value) for value in values]}
    return {}


def _attributes(**types: int) -> tuple[CatalogColumn, ...]:
    return tuple(CatalogColumn(name, oid) for name, oid in types.items())


VIEWS: tuple[tuple[str, tuple[CatalogColumn, ...], str], ...] = (
    (
        "budget",
        _attributes(
            whose=TEXT,
            counted_in=TEXT,
            spent=TEXT,
            spent_share=FLOAT8,
            budget=TEXT,
            left=TEXT,
            left_share=FLOAT8,
            queries=INT8,
            epsilon=FLOAT8,
            delta=FLOAT8,
        ),
        "what is spent and left, of the study and of whoever asks; free",
    ),
    (
        "receipts",
        _attributes(
            number=INT8,
            by=TEXT,
            query=TEXT,
            amount=TEXT,
            spent=TEXT,
            request=TEXT,
            previous=TEXT,
            digest=TEXT,
        ),
        "receipts that this token may see, oldest first; free",
    ),
    (
        "columns",
        _attributes(
            table_name=TEXT,
            column_name=TEXT,
            kind=TEXT,
            data_type=TEXT,
            low=TEXT,
            high=TEXT,
            step=FLOAT8,
            values=ARRAYS[TEXT],
            is_public=BOOL,
        ),
        "what may be asked about, with bounds and declared values; free",
    ),
)


def rows_of_columns(study: Study) -> list[dict[str, Any]]:
    """adyton.columns."""
    found = []
    for table in study.tables:
        found += [_column_row(table.name, column, public=False) for column in table.columns]
        for one in table.dimensions:
            found += [_column_row(one.name, attribute.column, public=True) for attribute in one.attributes]
    return found


def _column_row(table: str, column: Column, *, public: bool) -> dict[str, Any]:
    return {
        "table_name": table,
        "column_name": column.name,
        "kind": column.kind,
        "data_type": SQL_NAMES[oid_of(column)],
        "is_public": public,
        **_declared(column),
    }
