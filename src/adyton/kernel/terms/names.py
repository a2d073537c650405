"""The columns of a table, of tables put together, and of nodes.

A column of tables put together keeps its name where no other has it, else it is called ``table.column``.
Names follow from what is joined alone, so the same tables joined again have the same columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Attribute, CategoryColumn, Column, Join, PublicJoin, Table, declares_missing
from adyton.kernel.terms.leaves import IsOutside

_PLAIN = frozenset((str, int, bool, Fraction, type(None)))  # which have no columns


# Columns of tables put together ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JoinedColumn:
    """A column of a joined table: whose it is, as that table and as the joined one declares it."""

    source: str
    own: Column
    shown: Column
    link: PublicJoin | None = None  # of a public column, with its values
    attribute: Attribute | None = None


def joined(tables: tuple[Table, ...], links: tuple[PublicJoin, ...] = ()) -> Table:
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


def entries(join: Join) -> tuple[JoinedColumn, ...]:
    """All columns, private ones first."""
    found = [JoinedColumn(table.name, column, column) for table in join.tables for column in table.columns]
    for link in join.links:
        missing = _may_miss(join, link)
        found += [_public(link, attribute, missing) for attribute in link.dimension.attributes]
    counted = Counter(entry.own.name.casefold() for entry in found)
    named = [entry if counted[entry.own.name.casefold()] == 1 else _qualified(entry) for entry in found]
    left = [link for link in join.links if link.left]
    named += [_qualified(_public(link, _key(link), _may_miss(join, link))) for link in left]
    return tuple(named)


def _public(link: PublicJoin, attribute: Attribute, missing: bool) -> JoinedColumn:
    own = replace(attribute.column, missing=missing)
    return JoinedColumn(link.dimension.name, own, own, link, attribute)


def _may_miss(join: Join, link: PublicJoin) -> bool:
    """A public value is declared to be missing as the key is that leads to it."""
    columns = (column for table in join.tables if table.name == link.table for column in table.columns)
    wanted = link.dimension.joins.casefold()
    return any(declares_missing(column) for column in columns if column.name.casefold() == wanted)


def _key(link: PublicJoin) -> Attribute:
    """The key as the public table has it: missing where it has no such row."""
    return Attribute(CategoryColumn(link.dimension.key, link.dimension.keys), link.dimension.keys)


def _qualified(entry: JoinedColumn) -> JoinedColumn:
    return replace(entry, shown=replace(entry.own, name=f"{entry.source}.{entry.own.name}"))


# What nodes read, and what must hold of it -----------------------------------------------------------------


def columns_in(*nodes: object) -> Iterator[Column]:
    """Every column that the nodes read."""
    return (part for part in parts_in(*nodes) if isinstance(part, Column))


def outsides_in(*nodes: object) -> Iterator[IsOutside]:
    """Every truth about a value as it came."""
    return (part for part in parts_in(*nodes) if isinstance(part, IsOutside))


def parts_in(*nodes: object) -> Iterator[object]:
    """All nodes and what they are made of, down to columns."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        parts = node if isinstance(node, tuple) else [getattr(node, name) for name in _parts(node)]
        waiting += [part for part in parts if type(part) not in _PLAIN]  # a list may be long


_PARTS: dict[type, tuple[str, ...]] = {}  # fields() is slow, and a batch has thousands of nodes


def _parts(node: object) -> tuple[str, ...]:
    """The names of what it is made of; a column has no parts."""
    kind = type(node)
    if kind not in _PARTS:
        known = fields(kind) if is_dataclass(kind) and not issubclass(kind, Column) else ()
        _PARTS[kind] = tuple(part.name for part in known if part.init)
    return _PARTS[kind]


def check_columns(table: Table, *nodes: object) -> None:
    """A column of another table has bounds of its own, so the noise would not fit this one."""
    known = {column.name: column for column in table.columns}
    for column in columns_in(*nodes):
        if known.get(column.name) != column:
            raise InvalidRequest(f"{column.name!r} is not a column of table {table.name!r} as declared")
