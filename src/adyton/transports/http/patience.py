"""How long a request may take to come in: whoever sends it byte by byte does not stay for ever."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from adyton.transports.http.one_piece import InOnePiece

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
        self.transport = cast(asyncio.Transport, InOnePiece(transport, self.loop))
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
