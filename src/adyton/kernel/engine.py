"""What the curator asks of an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adyton.kernel.sensitivity import Reading

# One part for each group: a text that was found, or the place of a declared value among those of its group.
DiscoveredGroup = tuple[str | int, ...]
# For each reading, for each coordinate, one integer for each cell: a list, or ``Cells`` where there are many.
Exact = list[Sequence[Sequence[int]]]


class Engine(Protocol):
    """Reads integers from private data.

    ``prepare`` checks public facts only (the source exists, its columns have the declared names, under
    ``replace-one`` its size) and raises InvalidRequest; it is called before anything is charged, with
    the readings that will follow where there are several tables.  ``exact`` is
    total: no value in any row can make it fail, change its shape or its error.

    ``found`` is for groups whose values nobody declared: the keys under which something counts in at least
    one of the readings, sorted, and one integer for each of them.  Texts that differ in a byte are two keys;
    a row with a missing key is in no group.  Which keys there are is as private as the integers.
    """

    def prepare(self, readings: Sequence[Reading] = ()) -> None: ...

    def exact(self, readings: Sequence[Reading]) -> Exact: ...

    def found(self, readings: Sequence[Reading]) -> tuple[list[DiscoveredGroup], Exact]: ...

    def close(self) -> None: ...
