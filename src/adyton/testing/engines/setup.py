"""What the parts of the engines' contract share: sources, engines, and a way to open them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from adyton.kernel.schema import CategoryColumn
from adyton.kernel.sensitivity import Reading
from adyton.testing.engines.values import SourceColumn


class AnyEngine(Protocol):
    def prepare(self, readings: Sequence[Reading] = ()) -> None: ...
    def exact(self, readings: Sequence[Reading]) -> list[list[list[int]]]: ...
    def found(self, readings: Sequence[Reading]) -> tuple[list[Any], list[list[list[int]]]]: ...
    def close(self) -> None: ...


MakeEngine = Callable[..., AnyEngine]  # table, unit, source, salt, and limits as keywords -> a new engine
Open = Callable[..., AnyEngine]  # table, source, unit, salt -> a prepared engine


def numbered(name: str, size: int) -> tuple[CategoryColumn, SourceColumn]:
    """A category of its own for each row: grouping by it shows what each row was read as."""
    labels = tuple(f"r{i}" for i in range(size))
    return CategoryColumn(name, labels), SourceColumn(name, "text", labels)
