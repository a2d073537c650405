"""Statements about catalogs: which they are, and what they are answered."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from adyton.kernel.schema import CategoryColumn, DateColumn
from adyton.service.identity import Identity
from adyton.service.limits import LIMITS
from adyton.service.studies import ServedStudy
from adyton.study import Study
from adyton.transports.pg.catalog.casting import type_name
from adyton.transports.pg.catalog.database import DATABASES, Rows
from adyton.transports.pg.catalog.facts import CatalogFacts
from adyton.transports.pg.catalog.functions import Functions
from adyton.transports.pg.catalog.layout import Relation, columns_of
from adyton.transports.pg.catalog.limits import CatalogWork, unsupported
from adyton.transports.pg.catalog.naming import named_by
from adyton.transports.pg.catalog.own import OWN
from adyton.transports.pg.catalog.tables import filled
from adyton.transports.pg.catalog.translating import TranslatedStatement, translated
from adyton.transports.pg.catalog.typing import shown_type
from adyton.transports.pg.columns import oid_of
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.parameters import tree_of
from adyton.transports.pg.settings import SessionSettings
from adyton.transports.pg.values import ARRAYS, NAME, REGCLASS, REGTYPE, TEXT, Field, example

_SCHEMAS = ("pg_catalog", "information_schema", "adyton")
_MENTIONED = re.compile(  # by what could be about catalogs: only such a text is read for it
    r"\bpg_|\binformation_schema\b|\badyton\b|\bcurrent_(?:schema|database)\b|\b(?:unnest|generate_series)\s*\(",
    re.IGNORECASE,
)
_FROM = re.compile(r"\bFROM\b", re.IGNORECASE)
_SETTINGS = "pg_settings"


def is_catalog(text: str, own: frozenset[str]) -> bool:
    """Whether a text asks about catalogs, or about nothing; ``own`` are the tables of the study."""
    return len(text) <= LIMITS.wire_statement_letters and _is_catalog(text, own)


@lru_cache(maxsize=512)
def _is_catalog(text: str, own: frozenset[str]) -> bool:
    if _FROM.search(text) and not _MENTIONED.search(text):
        return False
    tree = tree_of(text)
    if not isinstance(tree, exp.Query):
        return False
    tables = [one for one in tree.find_all(exp.Table) if isinstance(one.this, exp.Identifier)]
    if not tables and tree.find(exp.From) is None:
        return not any(isinstance(node, exp.Column | exp.Star | exp.AggFunc) for node in tree.walk())
    return all(_is_of_catalog(one, own) for one in tables)


def _is_of_catalog(table: exp.Table, own: frozenset[str]) -> bool:
    name, schema = table.name.lower(), table.db.lower()
    if schema:
        return schema in _SCHEMAS
    return named_by(table) is not None or (name.startswith("pg_") and name not in own)


class ObjectNumber(int):
    """The number of a table or a type, which text shows by its name."""

    name: str

    @classmethod
    def of(cls, number: int, name: str) -> ObjectNumber:
        made = cls(number)
        made.name = name
        return made

    def __str__(self) -> str:
        return self.name


class Catalog:
    """Of one study, for one name."""

    def __init__(self, database: str, study: Study, user: str) -> None:
        self._facts = facts = CatalogFacts.of(database, study, user)
        self.tables_of_study = frozenset(one.name.lower() for one in facts.tables if one.schema == "public")
        self._declared = [column for table in study.tables for column in table.columns]
        self._columns = {column.name.casefold(): oid_of(column) for column in self._declared}
        categories = [one.values[0] for one in self._declared if isinstance(one, CategoryColumn)]
        self.declared_texts = [value for value in categories if isinstance(value, str)]

    def type_of(self, name: str) -> int:
        """Of a column of the catalogs."""
        oid = types_by_name().get(name.lower(), TEXT)
        return TEXT if oid == NAME else oid

    def type_in_study(self, name: str) -> int:
        """Of a column of the study."""
        return self._columns.get(name.casefold(), TEXT)

    def example(self, name: str, oid: int) -> Any:
        """A value of this type that a column of this name could have, if there is one."""
        column = next((one for one in self._declared if one.name.casefold() == name.casefold()), None)
        match column:
            case CategoryColumn(values=values) if oid in (oid_of(column), ARRAYS[oid_of(column)]):
                return values[0] if oid == oid_of(column) else [values[0]]
            case DateColumn(low=low):
                return low if oid not in ARRAYS.values() else [low]
        return example(oid)

    def answer(
        self,
        text: str,
        values: Mapping[int, Any],
        session: SessionSettings,
        found: ServedStudy,
        who: Identity,
        given_up: threading.Event | None = None,
    ) -> tuple[list[Field], list[list[Any]]]:
        """Columns and rows.  It has a deadline, and ends early once ``given_up`` is set."""
        work = CatalogWork(given_up)
        meant = _meaning(text, self._facts, values) if values else _known_meaning(text, self._facts)
        own = {
            one: made
            for one in meant.relations
            if (made := _own_rows(one, session, found, who, work)) is not None
        }
        functions = Functions(self._facts, session, work)
        with DATABASES.one(self._facts) as database:
            types, rows = database.rows(meant.text, meant.relations, own, functions, work)
        if len(types) != len(meant.columns):
            raise unsupported("a star like this")
        fields = [
            Field(name, shown_type(wanted, kind))
            for (name, wanted), kind in zip(meant.columns, types, strict=True)
        ]
        shown: dict[int, Callable[[int], str]] = {REGCLASS: self._facts.name_of, REGTYPE: type_name}
        names = [shown.get(field.oid) for field in fields]
        return fields, [
            [
                value if name is None or value is None else ObjectNumber.of(value, name(value))
                for value, name in zip(row, names, strict=True)
            ]
            for row in rows
        ]


def _meaning(text: str, facts: CatalogFacts, values: Mapping[int, Any]) -> TranslatedStatement:
    tree = tree_of(text)
    if tree is None:
        raise SqlError("42601", "this cannot be read as SQL")
    try:
        return translated(tree, values, facts)
    except RecursionError:
        raise SqlError("54001", "this statement nests too deep") from None
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError):  # of the library
        raise unsupported("this") from None


@lru_cache(maxsize=LIMITS.wire_parsed)
def _known_meaning(text: str, facts: CatalogFacts) -> TranslatedStatement:
    """Of a statement without parameters: clients send the same ones again and again."""
    return _meaning(text, facts, {})


def _own_rows(
    relation: Relation, session: SessionSettings, found: ServedStudy, who: Identity, work: CatalogWork
) -> Rows | None:
    """The rows of a table that is of this session; None if it is of the study."""
    schema, name = relation
    if schema == "adyton":
        return filled(relation, OWN[name](found, who, work.check))
    if name != _SETTINGS:
        return None
    pairs = session.all()
    rows = [{"name": name, "setting": value, "reset_val": value, "boot_val": value} for name, value in pairs]
    return filled(relation, rows)


def types_by_name() -> dict[str, int]:
    """The type of a column of the catalogs, by its name."""
    found: dict[str, int] = {}
    for name in (
        "pg_class",
        "pg_attribute",
        "pg_namespace",
        "pg_description",
        "pg_database",
        "pg_type",
        "pg_roles",
    ):
        found |= columns_of(("pg_catalog", name)) or {}
    return {**found, **(columns_of(("information_schema", "columns")) or {})}
