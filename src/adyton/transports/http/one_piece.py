"""Answers leave in one piece: a head that leaves alone is a call of the system more, and says nothing yet."""

from __future__ import annotations

import asyncio
from typing import Any


class InOnePiece:
    """A transport that sends the head of an answer together with its body."""

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
