"""How long a request may take to come in, and how long its head may be: nobody sends for ever."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from adyton.transports.http.one_piece import InOnePiece

_LONGEST_HEAD = 65_536  # bytes
_VERSIONS = ("1.0", "1.1")
_TOO_LONG = "The head of the request is too long."


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection when a request, head and body, is not there ``seconds`` after its first byte, or
    the first one after the connection was made.  Between two requests uvicorn itself waits, and less long.
    """

    def __init__(self, *, seconds: float, **words: Any) -> None:
        super().__init__(**words)
        self._seconds = seconds
        self._end: asyncio.TimerHandle | None = None
        self._owes = self._in_head = True  # what the other side has still to send
        self._head = 0  # bytes of it that came

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, InOnePiece(transport, self.loop)))
        self._look()

    def data_received(self, data: bytes) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self._owes = True  # also if these are empty lines, of which there may be any number
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._head > _LONGEST_HEAD and not self.transport.is_closing():
            self.send_400_response(_TOO_LONG)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    # Called by the parser.

    def on_message_begin(self) -> None:
        self._owes = self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # what follows a body is not from whoever stands in front and vouches for the head
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._head = False, 0
        version, hosts = self.parser.get_http_version(), sum(name == b"host" for name, _ in self.headers)
        if version not in _VERSIONS or hosts > 1 or (hosts < 1 and version == "1.1"):
            raise ValueError("no request of HTTP/1")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._owes, self._in_head = False, True
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Who would rather speak something else is answered as ever and then let go."""
        self.cycle.keep_alive = False

    # The deadline.

    def _look(self) -> None:
        if not self._owes or self.transport.is_closing():
            self._stop()
        elif self._end is None:
            self._end = self.loop.call_later(self._seconds, self.transport.close)

    def _stop(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None
