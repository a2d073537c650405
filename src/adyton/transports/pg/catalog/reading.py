"""Statements about catalogs: which they are, and what they are answered."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from sqlglot import exp

from adyton.kernel.schema import CategoryColumn, DateColumn
from adyton.service.identity import Identity
from adyton.service.limits import LIMITS
from adyton.service.studies import ServedStudy
from adyton.study import Study
from adyton.transports.pg.catalog.facts import VIEWS, CatalogFacts
from adyton.transports.pg.catalog.functions import Functions
from adyton.transports.pg.catalog.layout import SETTINGS
from adyton.transports.pg.catalog.own import OWN
from adyton.transports.pg.catalog.relations import CatalogRelation, CatalogScope, Steps
from adyton.transports.pg.catalog.selecting import planned
from adyton.transports.pg.catalog.tables import filled, relation_named, types_by_name
from adyton.transports.pg.columns import oid_of
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.parameters import tree_of
from adyton.transports.pg.settings import SessionSettings
from adyton.transports.pg.values import ARRAYS, NAME, TEXT, Field, example

_SCHEMAS = ("pg_catalog", "information_schema", "adyton")
_MENTIONED = re.compile(r"\bpg_|\binformation_schema\b|\badyton\b", re.IGNORECASE)
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
    named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = [one for one in tree.find_all(exp.Table) if isinstance(one.this, exp.Identifier)]
    if not tables and tree.find(exp.From) is None:
        return not any(isinstance(node, exp.Column | exp.Star | exp.AggFunc) for node in tree.walk())
    return all(_is_of_catalog(one, named, own) for one in tables)


def _is_of_catalog(table: exp.Table, named: set[str], own: frozenset[str]) -> bool:
    name, schema = table.name.lower(), table.db.lower()
    if schema:
        return schema in _SCHEMAS
    return name in named or (name.startswith("pg_") and name not in own)


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
        oid = _TYPES.get(name.lower(), TEXT)
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
        tree = tree_of(text)
        if tree is None:
            raise SqlError("42601", "this cannot be read as SQL")
        if tree.find(exp.Window) is not None:
            tree = tree.copy()  # its windows are taken out, and the tree is kept
        functions = Functions(self._facts, session)
        steps = Steps(len(text), given_up)
        relation = self._relations(session, found, who, steps)
        try:
            columns, rows = planned(tree, CatalogScope(relation, functions.call, values, steps))
            made = rows({})
            steps.check()
        except RecursionError:
            raise SqlError("54001", "this statement nests too deep") from None
        fields = [Field(name.replace("\0", ""), oid) for name, oid in columns.items()]
        return fields, [list(row.values()) for row in made]

    def _relations(
        self, session: SessionSettings, found: ServedStudy, who: Identity, steps: Steps
    ) -> Callable[[str, str], CatalogRelation]:
        """Each table is made once, however often a statement names it."""

        @cache
        def relation(schema: str, name: str) -> CatalogRelation:
            if schema == "adyton":
                if name in OWN:
                    return filled(_VIEWS[name], OWN[name](found, who, steps.check))
            elif name == _SETTINGS:
                return _settings(session)
            elif (known := relation_named(self._facts, schema or "pg_catalog", name)) is not None:
                return known
            shown = f"{schema}.{name}" if schema else name
            raise SqlError("42P01", f'relation "{shown[:100]}" does not exist')

        return relation


def _settings(session: SessionSettings) -> CatalogRelation:
    rows = [
        {"name": name, "setting": value, "reset_val": value, "boot_val": value}
        for name, value in session.all()
    ]
    return filled(SETTINGS, rows)


_VIEWS = {name: {one.name: (one.oid, None) for one in attributes} for name, attributes, _ in VIEWS}
_TYPES = types_by_name()
