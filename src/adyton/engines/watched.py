"""An engine that says when it reads: whatever is read, whoever asked for it, somebody else knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adyton.engines.base import Engine, Exact, FoundKey
from adyton.sensitivity import Reading


class WatchedEngine:
    """The contract of ``Engine``; ``reads`` is called before data are read."""

    def __init__(self, engine: Engine, reads: Callable[[], None]) -> None:
        self._engine, self._reads = engine, reads

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        self._engine.prepare(readings)

    def exact(self, readings: Sequence[Reading]) -> Exact:
        self._reads()
        return self._engine.exact(readings)

    def found(self, readings: Sequence[Reading]) -> tuple[list[FoundKey], Exact]:
        self._reads()
        return self._engine.found(readings)

    def close(self) -> None:
        self._engine.close()
