"""Tables put together: which columns there are then, what they are called, and where each comes from.

A column keeps its name where no other has it, else it is called ``table.column``.  Names follow from what is
joined alone, so the same tables joined again have the same columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from adyton.errors import InvalidRequest
from adyton.schema import Attribute, CategoryColumn, Column, Join, Link, Table


@dataclass(frozen=True, slots=True)
class Entry:
    """A column of a joined table: whose it is, as that table and as the joined one declares it."""

    source: str
    own: Column
    shown: Column
    link: Link | None = None  # of a public column, with its values
    attribute: Attribute | None = None


def joined(tables: tuple[Table, ...], links: tuple[Link, ...] = ()) -> Table:
    """The table whose rows are all combinations of a person's rows in each of ``tables``, with what the
    linked public tables say about them.
    """
    first, join = tables[0], Join(tables, links)
    if len(tables) == 1 and not links:
        return first
    return Table(
        " JOIN ".join(table.name for table in tables),
        tuple(entry.shown for entry in entries(join)),
        first.rows if len(tables) == 1 else None,
        first.person,
        join=join,
        lines=first.lines if len(tables) == 1 else None,
    )


def is_declared(table: Table, tables: Sequence[Table]) -> bool:
    """Whether ``table`` is one of ``tables``, or joined from them and their public tables."""
    join = table.join
    if join is None:
        return table in tables
    public = {(one.name, dimension.name): dimension for one in tables for dimension in one.dimensions}
    known = all(public.get((link.table, link.dimension.name)) == link.dimension for link in join.links)
    in_order = join.tables == tuple(one for one in tables if one in join.tables)
    return known and in_order and table == joined(join.tables, join.links)


def private_part(table: Table) -> Table:
    """What an engine reads: the private tables, without the public ones beside them."""
    return table if table.join is None else joined(table.join.tables)


def entries(join: Join) -> tuple[Entry, ...]:
    """All columns, private ones first."""
    found = [Entry(table.name, column, column) for table in join.tables for column in table.columns]
    for link in join.links:
        found += [_public(link, attribute) for attribute in link.dimension.attributes]
    counted = Counter(entry.own.name.casefold() for entry in found)
    named = [entry if counted[entry.own.name.casefold()] == 1 else _qualified(entry) for entry in found]
    named += [_qualified(_public(link, _key(link))) for link in join.links if link.left]
    return tuple(named)


def entry_of(table: Table, name: str, source: str | None = None) -> Entry:
    """What ``name`` stands for, in the table called ``source`` or in any where only one has it."""
    if table.join is None and source in (None, table.name):
        column = table.column(name)
        return Entry(table.name, column, column)
    join = table.join or Join((table,))
    known, said = entries(join), name.casefold()
    if source is None:
        literally = [entry for entry in known if entry.shown.name.casefold() == said]
        if literally:
            return literally[0]
    found = [entry for entry in known if entry.own.name.casefold() == said and source in (None, entry.source)]
    found = found or [_matched(known, link) for link in join.links if _is_key(link, said, source)]
    if len(found) > 1:
        listed = " or ".join(f"{entry.source}.{entry.own.name}" for entry in found)
        raise InvalidRequest(f"{name!r} is in more than one table; write {listed}")
    if not found:
        _refuse_unusable(join, said, source)
        owner = next((one for one in join.tables if one.name == source), None)
        (owner or table).column(name)  # the error with a hint, unless a public table was meant
        raise InvalidRequest(f"table {source or table.name!r} has no column {name!r}")
    return found[0]


def _refuse_unusable(join: Join, said: str, source: str | None) -> None:
    """Says why a column of a public file, which is not in the way of others, cannot be used itself."""
    for link in join.links:
        for name, reason in link.dimension.unusable:
            if name.casefold() == said and source in (None, link.dimension.name):
                raise InvalidRequest(f"{link.dimension.name}.{name} cannot be used: {reason}")


def has_entry(table: Table, name: str, source: str | None = None) -> bool:
    """Whether any table, or the one called ``source``, has a column of this name."""
    said = name.casefold()
    return any(
        (entry.own.name.casefold() == said and source in (None, entry.source))
        or (source is None and entry.shown.name.casefold() == said)
        for entry in entries(table.join or Join((table,)))
    )


def is_person(table: Table, name: str, source: str | None = None) -> bool:
    """Whether ``name`` is the column that says whose row it is."""
    members = table.join.tables if table.join is not None else (table,)
    return any(
        member.person is not None
        and member.person.casefold() == name.casefold()
        and source in (None, member.name)
        for member in members
    )


def names_in(table: Table) -> Iterator[str]:
    """All names that a question about the table may use."""
    yield table.name
    if table.person is not None:
        yield table.person
    for entry in entries(table.join or Join((table,))):
        yield entry.own.name
        yield entry.shown.name
    for dimension in table.dimensions:
        yield from (dimension.name, dimension.key)
        yield from (attribute.column.name for attribute in dimension.attributes)


def _public(link: Link, attribute: Attribute) -> Entry:
    return Entry(link.dimension.name, attribute.column, attribute.column, link, attribute)


def _key(link: Link) -> Attribute:
    """The key as the public table has it: missing where it has no such row."""
    return Attribute(CategoryColumn(link.dimension.key, link.dimension.keys), link.dimension.keys)


def _is_key(link: Link, said: str, source: str | None) -> bool:
    return link.dimension.key.casefold() == said and source in (None, link.dimension.name)


def _matched(known: tuple[Entry, ...], link: Link) -> Entry:
    """Where only rows with a match are kept, the public key is the private column."""
    wanted = link.dimension.joins.casefold()
    return next(e for e in known if e.source == link.table and e.own.name.casefold() == wanted)


def _qualified(entry: Entry) -> Entry:
    return replace(entry, shown=replace(entry.own, name=f"{entry.source}.{entry.own.name}"))
