"""How long a request may take to come in, and how long its head may be: nobody sends for ever."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from adyton.certify import json_text
from adyton.errors import Busy, InvalidRequest
from adyton.service.limits import LIMITS
from adyton.transports.http.crowd import Crowd

_LONGEST_HEAD = LIMITS.head_bytes
_VERSIONS = ("1.0", "1.1")
_TOO_LONG = f"the head of a request has at most {_LONGEST_HEAD} bytes; nothing was charged"
_CROWDED = "too many connections are open; nothing was charged"
_NO_REQUEST = "this is no request of HTTP/1.1; nothing was charged"


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection when a request, head and body, is not there ``seconds`` after its first byte, or
    the first one after the connection was made; when its head takes too long; and when an answer is not read.
    Between two requests uvicorn itself waits, and less long.  ``crowd``: how many connections there may be.
    """

    def __init__(self, *, seconds: float, crowd: Crowd | None = None, **words: Any) -> None:
        super().__init__(**words)
        self._seconds, self._crowd = seconds, crowd or Crowd(sys.maxsize)
        self._end: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._body_ended = False  # of a request that would rather speak something else
        self._owes = self._in_head = True  # what the other side has still to send
        self._head = 0  # bytes of it that came

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._crowd.enter(self, self.client[0] if self.client else ""):
            self._look()
        else:
            self._refuse(_CROWDED, "503 Service Unavailable")

    def data_received(self, data: bytes) -> None:
        if self._body_ended or self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self._owes = True  # also if these are empty lines, of which there may be any number
        if self._in_head:
            self._head += len(data)
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._refuse(_NO_REQUEST)
        except httptools.HttpParserUpgrade as stopped:
            self._go_on_as_before(data[stopped.args[0] :])
        if self._head > _LONGEST_HEAD:
            self._refuse(_TOO_LONG)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self.resume_writing()
        self._crowd.leave(self)
        super().connection_lost(exc)

    # Called by the parser, and when an answer has left.

    def on_message_begin(self) -> None:
        self._owes = self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # what follows a body is not from whoever stands in front and vouches for the head
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._head = False, 0
        if sum(len(name) + len(value) for name, value in self.headers) + len(self.url) > _LONGEST_HEAD:
            self._refuse(_TOO_LONG)
            raise ValueError("a head that is too long")
        version, hosts = self.parser.get_http_version(), sum(name == b"host" for name, _ in self.headers)
        if version not in _VERSIONS or hosts > 1 or (hosts < 1 and version == "1.1"):
            raise ValueError("no request of HTTP/1")
        super().on_headers_complete()
        self._stop()  # the body has a time of its own
        self._look()

    def on_message_complete(self) -> None:
        self._owes, self._in_head = False, True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    # An answer that nobody reads.

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self._unread or self.loop.call_later(LIMITS.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    # What is no request.

    def _refuse(self, why: str, status: str = "400 Bad Request") -> None:
        if self._answers:
            self.cycle.keep_alive = False  # this would be taken for the answer to that one
            return
        error = InvalidRequest(why) if status.startswith("400") else Busy(why)
        body = json_text(error.to_json()).encode()
        said = {"Content-Type": "application/json", "Content-Length": len(body), "Connection": "close"}
        head = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in said.items())]
        self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
        self.transport.close()

    def _go_on_as_before(self, rest: bytes) -> None:
        """Who would rather speak something else is answered as ever and then let go.  The parser takes a body
        for that something else, so another one reads it.
        """
        self.cycle.keep_alive = False
        lengths = [one for one in self.headers if one[0] in (b"content-length", b"transfer-encoding")]
        if lengths:
            self.cycle.more_body = self._owes = True
            self.parser = httptools.HttpRequestParser(_Body(self, self._ended))
            head = b"".join(b"%b: %b\r\n" % one for one in lengths)
            self.parser.feed_data(b"POST / HTTP/1.1\r\n" + head + b"\r\n")
            self.data_received(rest)

    def _ended(self) -> None:
        """Nothing behind this body is read: it is part of no request, and the connection ends."""
        self._body_ended = True
        self.on_message_complete()

    # The deadline.

    @property
    def _answers(self) -> bool:
        """Whether a request is there, whole, that has no answer yet."""
        newest = self.cycle
        return bool(self.pipeline) or not (newest is None or newest.more_body or newest.response_complete)

    def _look(self) -> None:
        self._crowd.waits(self, idle=not self._answers)
        if not self._owes or self._answers or self.transport.is_closing():
            self._stop()
        elif self._end is None:
            seconds = min(self._seconds, LIMITS.head_seconds) if self._in_head else self._seconds
            self._end = self.loop.call_later(seconds, self.transport.close)

    def _stop(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None


class _Body:
    """What a parser tells of one body, and of nothing behind it."""

    def __init__(self, to: PatientProtocol, ended: Callable[[], None]) -> None:
        self._to, self._tell_end, self._has_ended = to, ended, False

    def on_body(self, body: bytes) -> None:
        if not self._has_ended:
            self._to.on_body(body)

    def on_message_complete(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._tell_end()
