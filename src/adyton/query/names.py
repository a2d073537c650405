"""What names stand for in tables that are joined, and the names of values that were given none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Join, PublicJoin, Table
from adyton.kernel.terms.expressions import (
    Condition,
    Indicator,
    NumberExpression,
)
from adyton.kernel.terms.leaves import DayCount, IsOutside, IsTrue, ValueOf
from adyton.kernel.terms.names import JoinedColumn, entries, outsides_in
from adyton.kernel.terms.persons import TableOfPersons

LONGEST_NAME = 100


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
        why = f"table {source or table.name!r} has no column {name!r}"
        raise InvalidRequest(why, reason="no_such_column")
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
    """All names that a query about the table may use."""
    yield table.name
    if table.person is not None:
        yield table.person
    for entry in entries(table.join or Join((table,))):
        yield entry.own.name
        yield entry.shown.name
    for dimension in table.dimensions:
        yield from (dimension.name, dimension.key)
        yield from (attribute.column.name for attribute in dimension.attributes)


def _is_key(link: PublicJoin, said: str, source: str | None) -> bool:
    return link.dimension.key.casefold() == said and source in (None, link.dimension.name)


def check_outside(table: Table, *nodes: object) -> None:
    """Public tables are not clipped: what they say is written into the query.  The numbers of a person are
    computed: none of them came from outside.
    """
    if table.join is None and not isinstance(table, TableOfPersons):
        return
    for node in outsides_in(*nodes):
        if isinstance(table, TableOfPersons):
            raise InvalidRequest(
                f"{node.word} is about data as it came; {node.column.name!r} is computed for each person: "
                f"ask for {node.word} of a column inside"
            )
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


def _matched(known: tuple[JoinedColumn, ...], link: PublicJoin) -> JoinedColumn:
    """Where only rows with a match are kept, the public key is the private column."""
    wanted = link.dimension.joins.casefold()
    return next(e for e in known if e.source == link.table and e.own.name.casefold() == wanted)
