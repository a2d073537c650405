"""How much one connection or one token may make a server do.  All such limits are here; ``doctor`` shows them.

The server file sets what an operator may want to change (:class:`adyton.service.settings.Settings`).  The limits
here protect the server and everybody else who uses it, so they are the same on every server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields


def _limit(value: int, meaning: str) -> int:
    """A field of :class:`Limits`: its value, and what ``doctor`` and the reference say about it."""
    made: int = field(default=value, metadata={"meaning": meaning})
    return made


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes are in bytes, times in seconds."""

    small_bytes: int = _limit(16_384, "largest input that the event loop itself decodes, parses or renders")

    def in_words(self) -> Iterator[tuple[str, int, str]]:
        """Name, value and meaning of each limit."""
        for limit in fields(self):
            yield limit.name, getattr(self, limit.name), limit.metadata["meaning"]


LIMITS = Limits()
