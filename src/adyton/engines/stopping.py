"""What stops an engine at work: its time limit, or Ctrl-C.

One sleeping thread watches all queries of an engine, so that a query pays for two looks at the clock
and not for a thread of its own.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from adyton.errors import InvalidRequest

SECONDS = 600.0  # for a query, unless the owner says otherwise
SECONDS_TO_LOAD = 3600.0
_MOST = 1e6
_AGAIN = 0.1  # an engine may drop an interrupt that comes between two of its steps


class TimeLimit:
    def __init__(self, seconds: float) -> None:
        if not 0 < seconds <= _MOST:
            raise InvalidRequest(f"a time-out is a number of seconds, above 0 and at most {_MOST:,.0f}")
        self.seconds = seconds
        self._running: dict[object, tuple[float, Callable[[], object]]] = {}
        self._changed = threading.Condition()
        self._watcher: threading.Thread | None = None
        self._wakes = 0.0

    @contextlib.contextmanager
    def on(self, interrupt: Callable[[], object] | None, seconds: float | None = None) -> Iterator[None]:
        """What takes longer is interrupted and fails with TimeoutError, even if it came to an end after all.

        ``interrupt`` is called from another thread, again and again, and never after the end of the block.
        None stands for an engine that keeps the time by itself.
        """
        allowed = self.seconds if seconds is None else seconds
        query, end = object(), time.monotonic() + allowed
        if interrupt is not None:
            self._begin(query, end, interrupt)
        try:
            yield
        except Exception:
            if time.monotonic() < end:
                raise
        finally:
            with self._changed:
                self._running.pop(query, None)
        if time.monotonic() >= end:
            # What was raised inside stays its context whatever is done here: engines and curators seal it.
            raise TimeoutError(f"it took more than {allowed:g} seconds") from None

    def close(self) -> None:
        """Nobody has to: an idle watcher ends when it wakes."""
        with self._changed:
            self._changed.notify()

    def _begin(self, query: object, end: float, interrupt: Callable[[], object]) -> None:
        with self._changed:
            self._running[query] = (end, interrupt)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="adyton time limit", daemon=True)
                self._watcher.start()
            elif end < self._wakes:
                self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while self._running:
                self._changed.wait(self._interrupt_the_late())
            self._watcher = None

    def _interrupt_the_late(self) -> float:
        """Seconds until the next look.  (A sleeping frame must not keep the engine's connection alive.)"""
        now = time.monotonic()
        for end, interrupt in self._running.values():
            if end <= now:
                with contextlib.suppress(Exception):  # the query itself will say what is wrong
                    interrupt()
        first = min(end for end, _ in self._running.values())
        self._wakes = max(first, now + _AGAIN)
        return self._wakes - now


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """DuckDB swallows Python's KeyboardInterrupt and raises a RuntimeError of its own in its place."""
    try:
        yield
    except RuntimeError as fault:
        if type(fault) is not RuntimeError or str(fault) != "Query interrupted":
            raise
    else:
        return
    raise KeyboardInterrupt
