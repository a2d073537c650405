"""What must hold of the names and columns of a question, whatever it asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from adyton.errors import InvalidRequest
from adyton.query.leaves import IsOutside
from adyton.query.scope import entry_of
from adyton.schema import Column, Table

LONGEST_NAME = 100
_PLAIN = (str, int, type(None))


def columns_in(*nodes: object) -> Iterator[Column]:
    """Every column that the nodes read."""
    return (part for part in _parts_in(nodes) if isinstance(part, Column))


def outsides_in(*nodes: object) -> Iterator[IsOutside]:
    """Every truth about a value as it came."""
    return (part for part in _parts_in(nodes) if isinstance(part, IsOutside))


def _parts_in(nodes: tuple[object, ...]) -> Iterator[object]:
    """All nodes and what they are made of, down to columns."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Column):
            parts = node if isinstance(node, tuple) else [getattr(node, name) for name in _parts(node)]
            waiting += [part for part in parts if not isinstance(part, _PLAIN)]  # a list may be long


_PARTS: dict[type, tuple[str, ...]] = {}  # fields() is slow, and a batch has thousands of nodes


def _parts(node: object) -> tuple[str, ...]:
    kind = type(node)
    if kind not in _PARTS:
        known = fields(kind) if is_dataclass(kind) else ()
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
