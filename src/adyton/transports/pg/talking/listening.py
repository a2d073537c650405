"""The second door of a server: connections are taken on a port of their own, in the loop that serves HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from adyton.errors import CuratorError, TooMany
from adyton.transports.http.errors import unexpected
from adyton.transports.pg.door import WireDoor
from adyton.transports.pg.errors import SqlError, code_of, fields_of_error
from adyton.transports.pg.settings import Session
from adyton.transports.pg.talking import messages
from adyton.transports.pg.talking.cancelling import Cancels
from adyton.transports.pg.talking.messages import BrokenMessage
from adyton.transports.pg.talking.session import Connection, Watch
from adyton.transports.pg.talking.startup import Cancel, authenticate, greet
from adyton.transports.pg.work import Work

if TYPE_CHECKING:
    from adyton.transports.http.desk import Desk

_CROWD = 2  # times as many may be open as may be let in; others are not even listened to
_PATIENCE = 10.0  # seconds to say who one is
_GONE = (asyncio.IncompleteReadError, BrokenMessage, ConnectionError, TimeoutError, ssl.SSLError, OSError)
_BUFFERED = 32_768  # bytes of a connection that may wait to be read


class Wire:
    """All connections of one process."""

    def __init__(self, desk: Desk, door: WireDoor, watch: Watch) -> None:
        self._desk, self._door, self._context, self._watch = desk, door, door.context(), watch
        self._cancels = Cancels(door.folder)
        self._connections: dict[bytes, tuple[Connection, asyncio.Task[None]]] = {}
        self._open = 0
        self._stopping = False

    async def serve(self) -> asyncio.Server:
        await self._cancels.open()
        return await asyncio.start_server(
            self._take,
            self._door.host,
            self._door.port,
            limit=_BUFFERED,
            reuse_port=self._door.folder is not None or None,
            backlog=1024,
        )

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
        self._open += 1
        failed = ""
        try:
            if self._open <= _CROWD * self._desk.house.settings.connections:
                await self._talk(reader, writer)
        except _GONE:
            pass
        except asyncio.CancelledError:
            _write_error(writer, SqlError("57P01", "terminating connection: the server stops"))
        except Exception as error:
            failed = type(error).__name__
        finally:
            self._open -= 1
            with contextlib.suppress(Exception):
                writer.close()
        if failed:
            unexpected(failed, "a connection")

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw = writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        address = str((writer.get_extra_info("peername") or ("nobody",))[0])
        try:
            async with asyncio.timeout(_PATIENCE):
                work = await self._entered(reader, writer, address)
        except (CuratorError, SqlError) as error:
            told = _as_told(error)
            self._watch("login", code_of(told), 0.0)
            _write_error(writer, told)
            await writer.drain()
            return
        if work is None:
            return
        most = self._desk.house.settings.request_bytes
        connection = Connection(reader, writer, work, most, self._watch)
        key, task = self._cancels.fresh_key(connection.cancelled), asyncio.current_task()
        assert task is not None
        writer.write(messages.message("K", key))
        self._connections[key] = connection, task
        try:
            await connection.run()
        finally:
            self._cancels.forget(key)
            del self._connections[key]

    async def _entered(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> Work | None:
        """Whoever has proved to hold a token; None for somebody who only cancels."""
        start = await greet(reader, writer, self._context)
        if isinstance(start, Cancel):
            self._cancels.cancel(start.key)
            return None
        self._desk.knock_from(address)
        if self._open > self._desk.house.settings.connections or self._stopping:
            raise SqlError("53300", "too many connections", "Close some, or raise server.connections.")
        house = self._desk.house
        hashed = await authenticate(reader, writer, house, start.database)
        who = house.visitor_hashed(hashed).identity(start.database)
        session = Session(who.name if who else "")
        session.begin(start.settings)
        for name, value in session.reported():
            writer.write(messages.parameter_status(name, value))
        return Work(self._desk, start.database, hashed, address, session)


def _as_told(error: Exception) -> Exception:
    if isinstance(error, TooMany):
        return SqlError("53300", error.message, f"Try again in {error.facts.get('retry_after', 1)} s.")
    return error


def _write_error(writer: asyncio.StreamWriter, error: Exception) -> None:
    with contextlib.suppress(Exception):
        writer.write(messages.error(fields_of_error(error, severity="FATAL")))


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
