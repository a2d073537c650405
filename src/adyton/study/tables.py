"""The sections of further tables: ``[private.NAME]`` of the same persons, ``[public.NAME]`` beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Table
from adyton.study.columns import columns_of
from adyton.study.facts import PrivateTable
from adyton.study.notes import Notes, text_at, whole, whole_at
from adyton.study.public import PublicTable, read_public


def public_tables(sections: Any, folder: Path, notes: Notes) -> list[PublicTable]:
    return notes.each(_listed(sections, "public", notes), partial(read_public, folder=folder, notes=notes))


def keys_of(public: Sequence[PublicTable], name: str, where: str) -> tuple[str, ...] | tuple[int, ...]:
    """The keys of a public table, for a category that takes its values from there."""
    for table in public:
        if table.name == name:
            return table.keys
    known = ", ".join(table.name for table in public) or "none, or none that can be read"
    raise InvalidRequest(f"{where}: there is no public table {name!r}; there are: {known}")


def private_tables(
    sections: Any, person: str | None, folder: Path, public: Sequence[PublicTable], notes: Notes
) -> list[PrivateTable]:
    """Further private tables; the person column is the study's, unless another is given."""
    make = partial(_private, person=person, folder=folder, public=public, notes=notes)
    return notes.each(_listed(sections, "private", notes), make)


def with_dimensions(tables: list[Table], public: Sequence[PublicTable], notes: Notes) -> list[Table]:
    """The tables, each with the public ones that are joined to a column of it."""
    found = list(tables)
    for one in public:
        named = one.joins.rpartition(".")[0]
        place = next((i for i, table in enumerate(tables) if table.name == (named or tables[0].name)), None)
        if place is None:
            notes.add(f"public.{one.name}.joins: there is no private table {named!r}")
            continue
        dimension = notes.attempt(partial(one.dimension, tables[place]))
        if dimension is not None:
            found[place] = replace(found[place], dimensions=(*found[place].dimensions, dimension))
    notes.stop_if_any()
    return found


def source_of(section: dict[str, Any], where: str, folder: Path) -> Path | str:
    """A path as seen from the study file, or an address."""
    source = text_at(
        section,
        where,
        "source",
        "the path of the data file, or its address; any path, if the data is a frame",
    )
    return source if "://" in source else folder / source


def _private(
    name: str, raw: Any, person: str | None, folder: Path, public: Sequence[PublicTable], notes: Notes
) -> PrivateTable:
    where = f"private.{name}"
    if not isinstance(raw, dict):
        raise InvalidRequest(f"{where} must be a section: [{where}]")
    notes.check_keys(raw, f"{where}.", ("source", "person", "rows_per_person", "rows", "lines", "columns"))
    sections = _listed(raw.get("columns", {}), f"{where}.columns", notes)
    columns = columns_of(sections, notes, partial(keys_of, public), f"{where}.")
    source = source_of(raw, where, folder)
    most = whole(raw.get("rows_per_person", 1), f"{where}.rows_per_person")
    rows, lines = whole_at(raw, where, "rows"), whole_at(raw, where, "lines")
    whose = (
        text_at(raw, where, "person", "the column that identifies a person") if "person" in raw else person
    )
    return PrivateTable(Table(name, columns, rows, whose, lines=lines), most, source)


def _listed(sections: Any, where: str, notes: Notes) -> dict[str, Any]:
    if isinstance(sections, dict):
        return sections
    notes.add(f"{where} holds sections: [{where}.NAME]")
    return {}
