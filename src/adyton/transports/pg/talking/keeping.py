"""What a connection keeps for its client between messages, and how many bytes all of it may take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import SqlError
from adyton.transports.pg.statements import WireStatement
from adyton.transports.pg.talking.cursors import Cursors, Portal

_BESIDE = 1000  # bytes that a prepared statement takes beside its text
_LESS = (
    "CLOSE cursors, DEALLOCATE statements or fetch rows first. What was charged is kept: it is free again."
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement with the types of its parameters: as the client said, and as they are taken."""

    statement: WireStatement
    declared: tuple[int, ...]
    types: tuple[int, ...]

    @property
    def size(self) -> int:
        return _BESIDE + 4 * len(self.statement.text) + 16 * len(self.types)


@dataclass(slots=True)
class SessionObjects:
    """By their names; the one without a name is replaced each time."""

    prepared: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)
    cursors: Cursors = field(default_factory=Cursors)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        kept = (*self.prepared.values(), *self.portals.values(), *self.cursors)
        return sum(one.size for one in kept)


class Memory:
    """How many bytes the connections of each token keep, in this process."""

    def __init__(self) -> None:
        self._taken = Counter[str]()

    def of_connection(self, token: str) -> Share:
        return Share(self._taken, token)


class Share:
    """The bytes of one connection: what it keeps, and what it holds while it works on a message."""

    def __init__(self, taken: Counter[str], token: str) -> None:
        self._all, self._token = taken, token
        self._kept = self._held = 0

    def keep(self, size: int) -> None:
        """All that is kept has this size from now on; SqlError, and it is as before, if that is too much."""
        self._change(size - self._kept)
        self._kept = size

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """While something else is there."""
        self._change(size)
        self._held += size
        try:
            yield
        finally:
            self._held -= size
            self._change(-size)

    def close(self) -> None:
        self._change(-self._kept - self._held)
        self._kept = self._held = 0
        if not self._all[self._token]:
            del self._all[self._token]

    def _change(self, by: int) -> None:
        if by > 0:
            own, every = self._kept + self._held + by, self._all[self._token] + by
            for taken, most, whose in (
                (own, LIMITS.wire_kept_bytes, "one connection keeps"),
                (every, LIMITS.wire_kept_bytes_by_token, "the connections of one token keep"),
            ):
                if taken > most:
                    raise SqlError("53200", f"{whose} at most {most:,} bytes", _LESS)
        self._all[self._token] += by
