"""What a question may name: the columns of a table and of tables put together, and its values.

A column of tables put together keeps its name where no other has it, else it is called ``table.column``.
Names follow from what is joined alone, so the same tables joined again have the same columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Attribute, CategoryColumn, Column, Join, PublicJoin, Table, declares_missing
from adyton.kernel.terms.expressions import Condition, Indicator, NumberExpression
from adyton.kernel.terms.leaves import DayCount, IsOutside, IsTrue, ValueOf

LONGEST_NAME = 100
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


def entry_of(table: Table, name: str, source: str | None = None) -> JoinedColumn:
    """What ``name`` stands for, in the table called ``source`` or in any where only one has it."""
    if table.join is None and source in (None, table.name):
        column = table.column(name)
        return JoinedColumn(table.name, column, column)
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


def _is_key(link: PublicJoin, said: str, source: str | None) -> bool:
    return link.dimension.key.casefold() == said and source in (None, link.dimension.name)


def _matched(known: tuple[JoinedColumn, ...], link: PublicJoin) -> JoinedColumn:
    """Where only rows with a match are kept, the public key is the private column."""
    wanted = link.dimension.joins.casefold()
    return next(e for e in known if e.source == link.table and e.own.name.casefold() == wanted)


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
    known = set(table.columns)
    for column in columns_in(*nodes):
        if column not in known:
            raise InvalidRequest(f"{column.name!r} is not a column of table {table.name!r} as declared")


def check_outside(table: Table, *nodes: object) -> None:
    """Public tables are not clipped: what they say is written into the question."""
    if table.join is None:
        return
    for node in outsides_in(*nodes):
        if entry_of(table, node.column.name).link is not None:
            raise InvalidRequest(
                f"{node.word} is about private data as it came; {node.column.name!r} is a column of a public "
                "table, of which nothing is hidden: look there"
            )


def check_persons(table: Table) -> str:
    """The name of the column that says whose row it is, without which persons cannot be told apart."""
    if table.person is None:
        raise InvalidRequest("the unit of this study is a row, so persons are not known; ask about rows")
    return table.person


def check_names(names: list[str], groups: list[str]) -> None:
    if not all(1 <= len(name) <= LONGEST_NAME and name.isprintable() for name in names):
        raise InvalidRequest(f"a value needs a name of 1 to {LONGEST_NAME} printable characters")
    _check_distinct(groups, "groups")
    _check_distinct(names + groups, "values")


def _check_distinct(names: list[str], what: str) -> None:
    counted = Counter(name.casefold() for name in names)
    twice = next((name for name in names if counted[name.casefold()] > 1), None)
    if twice is not None:
        raise InvalidRequest(f"two {what} are called {twice!r}; name them apart with AS")


# Names of values that were given none ----------------------------------------------------------------------


def default_name(stem: str, about: NumberExpression | Condition | None = None) -> str:
    """``stem`` and, if the value is about a single column, the name of that column."""
    subject = about.condition if isinstance(about, Indicator) else about
    if isinstance(subject, DayCount):
        return f"{stem}_{subject.day.column.name}"
    if isinstance(subject, IsOutside):
        return f"{stem}_{subject.word.lower()}_{subject.column.name}"
    return f"{stem}_{subject.column.name}" if isinstance(subject, ValueOf | IsTrue) else stem


def distinct_names(given: Iterable[str | None], defaults: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The given names, and defaults numbered where they would meet another name."""
    wanted = list(given)
    used = {name.casefold() for name in [*wanted, *taken] if name is not None}
    names = []
    for name, default in zip(wanted, defaults, strict=True):
        chosen = name if name is not None else _unused(default, used)
        used.add(chosen.casefold())
        names.append(chosen)
    return names


def _unused(stem: str, used: set[str]) -> str:
    number, name = 1, stem
    while name.casefold() in used:
        number += 1
        name = f"{stem}_{number}"
    return name
