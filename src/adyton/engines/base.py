"""What the curator asks of an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adyton.sensitivity import Reading

# For each reading, for each coordinate, one integer for each cell.
Exact = list[list[list[int]]]


class Engine(Protocol):
    """Reads integers from private data.

    ``prepare`` checks public facts only (the source exists, its columns have the declared names, under
    ``replace`` its size) and raises InvalidRequest; it is called before anything is charged.  ``exact`` is
    total: no value in any row can make it fail, change its shape or its error.
    """

    def prepare(self) -> None: ...

    def exact(self, readings: Sequence[Reading]) -> Exact: ...

    def close(self) -> None: ...
