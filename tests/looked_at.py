"""What is told about very many rows, of which most differ in columns that nobody looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

Told = TypeVar("Told")


class _Noticed(dict[str, Any]):
    """A row that notes which of its columns were looked at."""

    def __init__(self, row: Mapping[str, Any], seen: set[str]) -> None:
        super().__init__(row)
        self._seen = seen

    def __getitem__(self, name: str) -> Any:
        self._seen.add(name)
        return super().__getitem__(name)


def told_of_each(tell: Callable[[Any], Told], rows: Sequence[Mapping[str, Any]]) -> list[Told]:
    """``[tell(row) for row in rows]``, asked once of rows that are alike wherever anybody has looked."""
    seen, known, found = set[str](), dict[tuple[Any, ...], Told](), list[Told]()
    names: tuple[str, ...] = ()
    for row in rows:
        place = tuple([row[name] for name in names])
        if place not in known:
            told = tell(_Noticed(row, seen))
            if len(seen) > len(names):  # rows that were alike until now may differ there
                names, known = tuple(sorted(seen)), {}
                place = tuple([row[name] for name in names])
            known[place] = told
        found.append(known[place])
    return found
