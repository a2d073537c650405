"""How many connections there may be.  A process may have so many files open, and a stranger may open any
number of connections: where there are too many, the one that has waited longest makes room.
"""

from __future__ import annotations

import logging
import resource
import time
from asyncio import AbstractEventLoop
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from adyton.service.limits import LIMITS
from adyton.service.settings import Settings

_operator_log = logging.getLogger("adyton.operator")
_FEWEST = 16  # connections, however few files may be open
_MINUTE = 60.0


class Connected(Protocol):
    transport: Any


class Crowd:
    """At most ``most`` connections, ``of_one`` of them from one address.  Idle ones wait for a request."""

    def __init__(self, most: int, of_one: int | None = None) -> None:
        self._most, self._of_one = most, of_one or most
        self._address: dict[Connected, str] = {}
        self._idle: OrderedDict[Connected, None] = OrderedDict()  # who has waited longest comes first
        self._idle_of: dict[str, OrderedDict[Connected, None]] = {}
        self._number = Counter[str]()

    def enter(self, one: Connected, address: str) -> bool:
        """Whether there is room, or somebody who is idle makes some."""
        self._address[one] = address
        self._number[address] += 1
        if self._number[address] > self._of_one:
            return self._ends(self._idle_of.get(address, OrderedDict()))
        return len(self._address) <= self._most or self._ends(self._idle)

    def waits(self, one: Connected, *, idle: bool) -> None:
        """Whether it waits for a request, from now on or as before."""
        address = self._address.get(one)
        if address is None or (one in self._idle) == idle:
            return
        if idle:
            self._idle[one] = None
            self._idle_of.setdefault(address, OrderedDict())[one] = None
        else:
            self._is_no_longer_idle(one, address)

    def leave(self, one: Connected) -> None:
        address = self._address.pop(one, None)
        if address is None:
            return
        self._is_no_longer_idle(one, address)
        self._number[address] -= 1
        if not self._number[address]:
            del self._number[address]

    def _is_no_longer_idle(self, one: Connected, address: str) -> None:
        self._idle.pop(one, None)
        idle = self._idle_of.get(address)
        if idle is not None:
            idle.pop(one, None)
            if not idle:
                del self._idle_of[address]

    def _ends(self, idle: OrderedDict[Connected, None]) -> bool:
        """The one that has waited longest is closed; False if all are at work."""
        if not idle:
            return False
        oldest = next(iter(idle))
        self.leave(oldest)
        oldest.transport.abort()
        return True


def fitted(settings: Settings, *, wire: bool) -> Settings:
    """With as many connections as files may be open, after the system was asked for more of those."""
    wanted = settings.http_connections + (2 * settings.connections if wire else 0)
    allowed = _allow_files(wanted + LIMITS.spare_files)
    room = max(_FEWEST, allowed - min(LIMITS.spare_files, allowed // 2))
    if room >= wanted:
        return settings
    http = min(settings.http_connections, room // 2 if wire else room)
    left = max(_FEWEST, (room - http) // 2)  # clients of PostgreSQL that are not let in take a file too
    return replace(settings, http_connections=http, connections=min(settings.connections, left))


def _allow_files(wanted: int) -> int:
    """Each connection is an open file, and systems allow a process few of them unless it asks for more."""
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY or most >= wanted:
        return wanted
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed


class Faults:
    """Faults of a loop, such as a system that has no files left: each kind is told once a minute, without
    a traceback, which would fill the log and may hold values.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._told = clock, dict[str, float]()
        self._since = Counter[str]()

    def __call__(self, _: AbstractEventLoop, context: dict[str, Any]) -> None:
        kind, now = type(context.get("exception")).__name__, self._clock()
        self._since[kind] += 1
        if now - self._told.get(kind, -_MINUTE) >= _MINUTE:
            self._told[kind] = now
            _operator_log.error("the server met %s %d times", kind, self._since.pop(kind))
