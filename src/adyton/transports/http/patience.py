"""How requests come in and answers go out: whoever sends byte by byte does not stay for ever, and an answer
leaves in one piece.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_OWING = (h11.IDLE, h11.SEND_BODY)  # the head, or the rest of the body


class PatientProtocol(H11Protocol):
    """Closes a connection when a request, head and body, is not there ``seconds`` after its first byte, or
    the first one after the connection was made.  Between two requests uvicorn itself waits, and less long.
    """

    def __init__(self, *, seconds: float, **words: Any) -> None:
        super().__init__(**words)
        self._seconds = seconds
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = cast(asyncio.Transport, _InOnePiece(transport, self.loop))
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.conn.their_state not in _OWING:
            self._stop()
        elif self._end is None:
            self._end = self.loop.call_later(self._seconds, self.transport.close)

    def _stop(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None


class _InOnePiece:
    """A transport that sends the head of an answer together with its body: each piece would be a call of the
    system, and for whoever waits a message that says nothing yet.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop, self._held = transport, loop, b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, piece: bytes) -> None:
        if self._held:
            self._send(piece)
        elif piece:
            self._held = piece
            self._loop.call_soon(self._send)  # if nothing follows

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self, more: bytes = b"") -> None:
        held, self._held = self._held, b""
        if held:
            self._transport.write(held + more)
