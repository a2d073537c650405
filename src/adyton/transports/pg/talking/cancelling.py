"""Cancel: who holds the key of a connection stops waiting for what it does, whichever process that is in.

What is not charged by then never is; what is charged goes on, and its answer is kept.

Processes share a port, so a request to cancel may come to another one: it is passed on through a socket in a
folder that only this server can open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import struct
import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from adyton.service.grid import GIVEN_UP
from adyton.transports.http.desk import goes_on
from adyton.transports.pg.errors import cancelled_error

_Done = TypeVar("_Done")
_KEY = struct.Struct("!iI")


class Cancels:
    """The connections of this process, by their keys; ``folder`` is where other processes are reached."""

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._waiting: dict[bytes, asyncio.Event] = {}
        self._transport: asyncio.DatagramTransport | None = None

    async def open(self) -> None:
        if self._folder is None:
            return
        loop, place = asyncio.get_running_loop(), str(self._folder / str(os.getpid()))
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: _Passed(self), local_addr=place, family=socket.AF_UNIX
        )

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def fresh_key(self, cancelled: asyncio.Event) -> bytes:
        """For a connection: the number of the process, and what nobody can guess."""
        key = _KEY.pack(os.getpid(), secrets.randbits(32))
        self._waiting[key] = cancelled
        return key

    def forget(self, key: bytes) -> None:
        self._waiting.pop(key, None)

    def cancel(self, key: bytes) -> None:
        """Whoever has a wrong key is not told so."""
        if len(key) != _KEY.size:
            return
        process, _ = _KEY.unpack(key)
        if process == os.getpid():
            self.cancel_here(key)
        elif self._transport is not None and self._folder is not None and process > 0:
            with contextlib.suppress(OSError):
                self._transport.sendto(key, str(self._folder / str(process)))

    def cancel_here(self, key: bytes) -> None:
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.set()


class _Passed(asyncio.DatagramProtocol):
    """What another process passes on."""

    def __init__(self, cancels: Cancels) -> None:
        self._cancels = cancels

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._cancels.cancel_here(data)


async def until_cancelled(cancelled: asyncio.Event, work: Awaitable[_Done]) -> _Done:
    """What ``work`` returns.  Whoever cancels it no longer waits; it holds its place until it is done."""
    cancelled.clear()
    given_up = threading.Event()
    before = GIVEN_UP.set(given_up)
    task = asyncio.ensure_future(work)  # which knows of it, in whatever thread it works
    GIVEN_UP.reset(before)
    stop = asyncio.ensure_future(cancelled.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()
        if not task.done():
            given_up.set()
            goes_on(task)
    if task.done():
        return task.result()
    raise cancelled_error()
