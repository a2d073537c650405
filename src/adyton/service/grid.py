"""When answers leave: those that read data on the next tick of a grid that starts at their charge.

How long an engine takes may depend on the rows.  Whoever waits for an answer then learns in which tick it was
finished, and nothing finer.  What is written down can be seen by others, as a repeat or in the chain, so that
is done on the tick too.  Refusals, previews and repeats depend on public facts and leave at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar

from adyton.errors import InvalidRequest

GIVEN_UP: ContextVar[threading.Event | None] = ContextVar("set once nobody waits any more", default=None)


class GivenUp(Exception):
    """Whoever asked has cancelled it before anything was charged."""


class ResponseGrid:
    """``width`` is the distance of two ticks in seconds; 0: everything leaves at once."""

    def __init__(self, width: float, clock: Callable[[], float] = time.monotonic) -> None:
        if not 0 <= width <= 60:
            raise InvalidRequest("the grid of answers is from 0 to 60 seconds wide")
        self.width, self._clock = width, clock

    def start(self) -> TimedRequest:
        return TimedRequest(self, GIVEN_UP.get())

    def now(self) -> float:
        return self._clock()


class TimedRequest:
    """One request: whether it read data, and since when that was paid for."""

    def __init__(self, grid: ResponseGrid, given_up: threading.Event | None = None) -> None:
        self._grid, self._since, self._given_up = grid, None, given_up

    _since: float | None

    def charges(self) -> None:
        """Called before a charge is made: nobody pays for what was cancelled by then."""
        if self._given_up is not None and self._given_up.is_set():
            raise GivenUp

    def reads(self) -> None:
        """Called when a charge was made and when data are read: the first call starts the grid."""
        if self._since is None:
            self._since = self._grid.now()

    def shows(self) -> None:
        """Waits for the tick, in the thread that works; called before anybody can see what was read."""
        if (wait := self.wait()) > 0:  # to sleep for no time would still be to let others go first
            time.sleep(wait)
        self._since = None  # what follows depends on what is seen, until data are read again

    def wait(self) -> float:
        """How many seconds to wait until the next tick; 0 if nothing was read."""
        if self._since is None or not self._grid.width:
            return 0.0
        passed = self._grid.now() - self._since
        width = self._grid.width
        return (passed // width + 1) * width - passed
