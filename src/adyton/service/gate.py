"""How much a server takes at once: requests a minute by token and by address, queries, places, bytes.

What does not fit is refused at once, before anything is planned or read, and is free of charge.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from adyton.errors import Busy, TooMany

_MOST_KNOWN = 100_000  # names and addresses that are remembered
_MINUTE = 60.0


@lru_cache(maxsize=10_000)
def network_of(address: str) -> str:
    """Whose rate an address is counted under: in IPv6 everybody has 2**64 addresses to come from."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if known.version == 4:
        return address
    return str(ipaddress.ip_network((int(known), 64), strict=False))


class Rate:
    """Each key may come ``a_minute`` times a minute on average, and as often at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and since when

    def take(self, key: str, a_minute: int, number: int = 1) -> None:
        """One request of ``key``, or a ``number`` of them; TooMany if they came too often."""
        with self._lock:
            now = self._clock()
            left, since = self._known.pop(key, (float(a_minute), now))
            left = min(float(a_minute), left + (now - since) * a_minute / _MINUTE)
            self._known[key] = (left - number if left >= number else left, now)
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        if left < number:
            after = math.ceil((number - left) * _MINUTE / a_minute)
            raise TooMany("too many requests; nothing was charged", retry_after=after)


class Places:
    """``most`` requests are worked on at once, and of one key ``of_one``."""

    def __init__(self, most: int, of_one: int) -> None:
        self._most, self._of_one = most, of_one
        self._taken, self._lock = Counter[str](), threading.Lock()

    @contextmanager
    def one(self, key: str) -> Iterator[None]:
        """A place for one request of ``key``; Busy or TooMany if there is none."""
        with self._lock:
            if self._taken.total() >= self._most:
                raise Busy("the server is busy; nothing was charged", retry_after=1)
            if self._taken[key] >= self._of_one:
                message = f"{self._of_one} queries at once are enough for one token; nothing was charged"
                raise TooMany(message, retry_after=1)
            self._taken[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[key] -= 1
                if not self._taken[key]:
                    del self._taken[key]

    @property
    def taken(self) -> int:
        with self._lock:
            return self._taken.total()


class Bytes:
    """Bytes that are held for requests: of one key at most ``of_one``, in total ``most``."""

    def __init__(self, most: int, of_one: int) -> None:
        self._most, self._of_one = most, of_one
        self._held, self._lock = Counter[str](), threading.Lock()

    def take(self, key: str, size: int) -> None:
        """Hold ``size`` more bytes for ``key``; TooMany or Busy if they do not fit."""
        with self._lock:
            if self._held[key] + size > self._of_one:
                message = "this token sends too many bytes at once; nothing was charged"
                raise TooMany(message, retry_after=1)
            if self._held.total() + size > self._most:
                raise Busy("too many bytes are sent at once; nothing was charged", retry_after=1)
            self._held[key] += size

    def give(self, key: str, size: int) -> None:
        """They are held no longer."""
        with self._lock:
            self._held[key] -= size
            if self._held[key] <= 0:
                del self._held[key]

    def of(self, key: str) -> int:
        """How many are held for ``key``."""
        with self._lock:
            return self._held[key]


class Holding:
    """What one request holds; all of it is given back when the request ends."""

    def __init__(self, held: Bytes, key: str) -> None:
        self._held, self._key, self._size = held, key, 0

    def take(self, size: int) -> None:
        self._held.take(self._key, size)
        self._size += size

    def __enter__(self) -> Holding:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.give(self._key, self._size)
