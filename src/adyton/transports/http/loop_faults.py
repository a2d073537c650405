"""Faults of the event loop itself, such as too many open files: one line now and then, and no traceback.

asyncio would write a traceback for each of them, and a crowd of clients could fill a disk with these.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

_operator_log = logging.getLogger("adyton.operator")
_SECONDS = 10.0  # between two lines about one kind of fault


class Faults:
    """Counts what goes wrong, by its kind alone: what it says may hold what somebody sent."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen, self._said_at = Counter[str](), dict[str, float]()

    def __call__(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        kind = "a fault" if error is None else type(error).__name__
        self._seen[kind] += 1
        now = self._clock()
        if now - self._said_at.get(kind, -_SECONDS) >= _SECONDS:
            self._said_at[kind] = now
            _operator_log.error("the event loop met %s; %d so far", kind, self._seen[kind])


def tell_shortly() -> None:
    """From now on, in the loop that runs."""
    asyncio.get_running_loop().set_exception_handler(Faults())
