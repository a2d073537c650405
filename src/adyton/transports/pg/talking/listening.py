"""The second door of a server: connections are taken on a port of their own, in the loop that serves HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from adyton.errors import CuratorError, TooMany
from adyton.service.limits import LIMITS
from adyton.transports.http.errors import unexpected
from adyton.transports.pg.door import WireDoor
from adyton.transports.pg.errors import SqlError, code_of, fields_of_error, too_many_error
from adyton.transports.pg.settings import SessionSettings
from adyton.transports.pg.talking import messages
from adyton.transports.pg.talking.cancelling import Cancels
from adyton.transports.pg.talking.keeping import Memory
from adyton.transports.pg.talking.session import Watch, WireConnection
from adyton.transports.pg.talking.startup import Cancel, authenticate, greet
from adyton.transports.pg.work import Work

if TYPE_CHECKING:
    from adyton.transports.http.desk import Desk

_GONE = (asyncio.IncompleteReadError, ConnectionError, TimeoutError, ssl.SSLError, OSError)
_BUFFERED = 32_768  # bytes of a connection that may wait to be read
_AT_ONCE = 16  # connections are taken before those that were taken are looked at
_QUEUE = 1024  # connections wait to be taken
_LEAST = 16  # strangers
_TOO_MANY = ("53300", "too many connections", "Close some, or raise server.connections.")
_NEWER = ("53300", "too many connections that are not logged in: this was the oldest")
_LATE = ("57014", f"canceling authentication: it takes at most {LIMITS.wire_login_seconds} s")
_STOPS = ("57P01", "terminating connection: the server stops")


class Wire:
    """All connections of one process."""

    def __init__(self, desk: Desk, door: WireDoor, watch: Watch) -> None:
        self._desk, self._door, self._context, self._watch = desk, door, door.context(), watch
        self._cancels = Cancels(door.folder)
        self._memory = Memory()
        self._connections: dict[bytes, tuple[WireConnection, asyncio.Task[None]]] = {}
        self._strangers: dict[asyncio.Task[None], None] = {}  # the oldest first
        self._by_token = Counter[str]()
        self._room = desk.house.settings.connections
        self._stopping = False

    async def serve(self) -> asyncio.Server:
        await self._cancels.open()
        server = await asyncio.start_server(
            self._take,
            self._door.host,
            self._door.port,
            limit=_BUFFERED,
            reuse_port=self._door.folder is not None or None,
            backlog=_AT_ONCE,
        )
        for one in server.sockets:  # the same socket: more of them may wait than are taken at once
            with socket.socket(fileno=os.dup(one.fileno())) as listening_socket:
                listening_socket.listen(_QUEUE)
        return server

    async def stop(self, grace: float) -> None:
        """Who waits for an answer gets it, within the grace; all others are told to leave."""
        self._stopping = True
        for connection, task in self._connections.values():
            if connection.idle:
                task.cancel()
        tasks = [task for _, task in self._connections.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace)
            for task in late:
                task.cancel()
        self._cancels.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task, failed = asyncio.current_task(), ""
        assert task is not None
        self._strangers[task] = None
        self._make_room()
        try:
            await self._talk(reader, writer, task)
            await _part(reader, writer)
        except _GONE:
            pass
        except asyncio.CancelledError:
            _write_error(writer, SqlError(*(_STOPS if self._stopping else _NEWER)))
        except Exception as error:
            failed = type(error).__name__
        finally:
            self._strangers.pop(task, None)
            await _closed(writer)
        if failed:
            unexpected(failed, "a connection")

    def _make_room(self) -> None:
        """For a new stranger: whoever logs in does so at once, so the oldest one goes."""
        most = min(LIMITS.wire_strangers, max(self._room, _LEAST))
        while len(self._strangers) > most:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.cancel()

    async def _talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> None:
        raw = writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        address = str((writer.get_extra_info("peername") or ("nobody",))[0])
        refused: Exception | None = None
        try:
            async with asyncio.timeout(LIMITS.wire_login_seconds):
                work = await self._entered(reader, writer, address)
        except TimeoutError:
            refused = SqlError(*_LATE)
        except (CuratorError, SqlError) as error:
            refused = too_many_error("53300", error) if isinstance(error, TooMany) else error
        if refused is not None:
            self._watch("login", code_of(refused), 0.0, 1)
            _write_error(writer, refused)
        elif work is not None:
            await self._serve(reader, writer, work, task)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, work: Work, task: asyncio.Task[None]
    ) -> None:
        """Whoever has logged in, until the end."""
        most = min(LIMITS.wire_connections_by_token, max(2, self._room // 2))
        if self._by_token[work.token] >= most:
            _write_error(writer, SqlError("53300", f"too many connections: one token has at most {most}"))
            return
        settings, share = self._desk.house.settings, self._memory.of_connection(work.token)
        most_bytes, seconds = settings.request_bytes, settings.request_seconds
        connection = WireConnection(
            reader, writer, work, share, self._watch, most=most_bytes, seconds=seconds
        )
        key = self._cancels.fresh_key(connection.cancelled)
        writer.write(messages.message("K", key))
        self._strangers.pop(task, None)
        self._by_token[work.token] += 1
        self._connections[key] = connection, task
        try:
            await connection.run()
        finally:
            self._cancels.forget(key)
            del self._connections[key]
            self._by_token -= Counter([work.token])
            share.close()
            self._strangers[task] = None  # until it is closed
            self._make_room()

    async def _entered(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> Work | None:
        """Whoever has proved to hold a token; None for somebody who only cancels."""
        start = await greet(reader, writer, self._context, lambda: self._desk.knock_from(address))
        if isinstance(start, Cancel):
            self._cancels.cancel(start.key)
            return None
        if len(self._connections) >= self._room or self._stopping:
            raise SqlError(*_TOO_MANY)
        house = self._desk.house
        hashed = await authenticate(reader, writer, house, start.database)
        who = house.visitor_hashed(hashed).identity(start.database)
        session = SessionSettings(who.name if who else "")
        session.begin(start.settings)
        for name, value in session.reported():
            writer.write(messages.parameter_status(name, value))
        return Work(self._desk, start.database, hashed, address, session)


def _write_error(writer: asyncio.StreamWriter, error: Exception) -> None:
    with contextlib.suppress(Exception):
        writer.write(messages.error(fields_of_error(error, severity="FATAL")))


async def _part(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Lets the other side read the last word, which the system drops while something comes in unread."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LIMITS.wire_closing_seconds):
            await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
                while await reader.read(_BUFFERED):
                    pass


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Closed also if the other side does not take what was sent to it."""
    try:
        with contextlib.suppress(Exception):
            writer.close()
            async with asyncio.timeout(LIMITS.wire_closing_seconds):
                await writer.wait_closed()
    finally:
        writer.transport.abort()


@contextlib.asynccontextmanager
async def listening(desk: Desk, door: WireDoor, watch: Watch) -> AsyncIterator[None]:
    """While this lasts, connections are taken; ``watch`` is told of every statement."""
    wire = Wire(desk, door, watch)
    server = await wire.serve()
    try:
        yield
    finally:
        server.close()
        await wire.stop(desk.house.settings.grace)
