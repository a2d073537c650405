"""How much work one statement about catalogs may be: its time, and the letters that it writes."""

from __future__ import annotations

import threading
import time
from typing import Any

from adyton.service.grid import GivenUp
from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import SqlError

LONGEST = 100_000  # letters of a value, with all that is in it


class CatalogWork:
    """One statement has a deadline, in processor time of the thread that answers it, and ends once nobody
    waits for it.  What functions write is counted in letters.
    """

    def __init__(self, given_up: threading.Event | None = None) -> None:
        self._given_up, self._letters = given_up, 0
        self._clock = _own_clock()
        self._end = self._time() + LIMITS.wire_catalog_seconds

    def is_over(self) -> bool:
        """Asked by whoever can interrupt the statement, in another thread."""
        return self._is_given_up() or self._time() > self._end

    def check(self) -> None:
        if self._is_given_up():
            raise GivenUp
        if self._time() > self._end:
            most = LIMITS.wire_catalog_seconds
            message = f"canceling statement: one about catalogs has at most {most} s of a processor"
            raise SqlError("57014", message, "Ask for less at once.")

    def bounded(self, value: Any) -> Any:
        """A value that a function made, if it is none that grows from one function to the next around it."""
        size = _size_of(value)
        if size > LONGEST:
            raise unsupported("so large a value")
        self.add(size)
        return value

    def add(self, letters: int) -> None:
        self._letters += letters
        if self._letters > LIMITS.wire_catalog_letters:
            raise too_much()

    def _is_given_up(self) -> bool:
        return self._given_up is not None and self._given_up.is_set()

    def _time(self) -> float:
        return time.monotonic() if self._clock is None else time.clock_gettime(self._clock)


def _own_clock() -> int | None:
    """The processor time of this thread, which other threads can read; not every system has it."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    return None if clock_of is None else int(clock_of(threading.get_ident()))


def _size_of(value: Any) -> int:
    """In letters."""
    if isinstance(value, str):
        return len(value)
    return len(value) + sum(map(_size_of, value)) if isinstance(value, list | tuple) else 1


def too_much() -> SqlError:
    return SqlError("54000", "this statement about catalogs is too much work", "Ask for less at once.")


def unsupported(what: str) -> SqlError:
    return SqlError(
        "0A000",
        f"{what[:100]} is not known in statements about catalogs",
        "Read information_schema.columns, pg_catalog.pg_class or adyton.columns in plain words.",
    )
