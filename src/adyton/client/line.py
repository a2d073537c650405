"""The line to a server: requests out, objects back, again where that is safe.

Safe is what is free, what carries a request id, which is charged once, and what gets the same answer again.
After 429, and after 503 with Retry-After, nothing was charged, so everything is sent again; after 502 the
charge stands, and nothing is.
"""

from __future__ import annotations

import json
import random
import secrets
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from types import ModuleType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from adyton.certify import json_text
from adyton.client.access import Access
from adyton.client.address import checked_address
from adyton.client.faults import (
    InterruptedOnTheWay,
    fetched_by,
    in_words,
    told_error,
    unanswered,
    unreachable,
)
from adyton.errors import CuratorError, InvalidRequest

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 120.0  # seconds
_LATER = (429, 503)
_ELSEWHERE = (301, 302, 303, 307, 308)
_Read = TypeVar("_Read")
_NOT_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol")


@dataclass(frozen=True, slots=True)
class Manner:
    """How patient a client is: seconds for one reply, and how often something is sent again."""

    timeout: float = 90.0
    retries: int = 5
    ca: str | None = None
    plain_http: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent.  ``later``: what whoever gets no answer can do; None where nothing is charged.

    ``again``: the same twice is the same once.  ``request``: the id of what is charged, where it has one.
    """

    method: str
    path: str
    body: bytes | None = None
    later: str | None = None
    again: bool = True
    request: str | None = None


@dataclass(frozen=True, slots=True)
class _Lost:
    """No reply; ``sent`` if the request may have reached the server."""

    why: str
    sent: bool


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    wait: float | None  # seconds, if the server says so
    content: bytes


class HttpTransport:
    """Requests to one server.  Threads may share it."""

    def __init__(self, url: str, access: Access, manner: Manner) -> None:
        self.url = checked_address(url, plain_http=manner.plain_http)
        self.access, self.manner = access, manner
        self.host = urlsplit(self.url).netloc
        httpx = _httpx()
        self._failures = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)
        self._client = httpx.Client(
            headers={**access.header, "Accept": "application/json", "User-Agent": "adyton-client"},
            timeout=manner.timeout,
            verify=_trusted(manner.ca) if self.url.startswith("https") else False,
            trust_env=self.url.startswith("https"),  # a proxy in between would read the token
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=16, keepalive_expiry=4.0),
        )

    def first_contact(self) -> object:
        """The version that the server says it speaks, or None.  A host that is not there is given up."""
        reply = self._sent(Message("GET", "/readyz"))
        if isinstance(reply, _Lost):
            raise unreachable(reply.why)
        told = _object(reply.content)
        return told.get("api") if isinstance(told, dict) else None

    def get(self, path: str, read: Callable[[Any], _Read], **params: int) -> _Read:
        """What a server tells, free of charge, as ``read`` makes it of its JSON."""
        query = "?" + "&".join(f"{name}={value}" for name, value in params.items()) if params else ""
        return checked_reply(read, self._told(Message("GET", path + query)))

    def post(
        self,
        path: str,
        body: dict[str, Any],
        read: Callable[[Any], _Read],
        later: str | None = None,
        *,
        again: bool = True,
    ) -> _Read:
        """Without a request id: what is free, or gets the same answer again, or is not sent ``again``."""
        return checked_reply(read, self._told(Message("POST", path, _written(body), later, again)))

    def charged(
        self, path: str, body: dict[str, Any], read: Callable[[Any], _Read], request: str | None
    ) -> _Read:
        """Under a request id, a new one if none is given, which is charged once however often it is sent."""
        request = request or secrets.token_hex(16)
        written = _written({**body, "request": request})
        told = self._told(Message("POST", path, written, fetched_by(request), request=request))
        return checked_reply(read, told, request)

    def close(self) -> None:
        self._client.close()

    def __del__(self) -> None:
        """Whoever lets go of a connection need not close it."""
        with suppress(Exception):
            self._client.close()

    def _told(self, message: Message) -> Any:
        """What came in the end.  Errors of others are over when ours is raised: theirs hold the token."""
        try:
            return self._tried(message)
        except KeyboardInterrupt:
            if message.later is None:
                raise
        raise InterruptedOnTheWay(message.later)

    def _tried(self, message: Message) -> Any:
        """``doubt``: an earlier try may have been taken."""
        doubt, wait = False, _FIRST_WAIT
        for tries_left in range(self.manner.retries, -1, -1):
            reply, pause = self._sent(message), wait * random.uniform(0.5, 1.0)
            if isinstance(reply, _Lost):
                doubt = doubt or reply.sent
                if not tries_left or (reply.sent and not message.again):
                    raise self._given_up(reply.why, message, doubt)
            else:
                if not tries_left or not reply.wait or not reply.wait <= _LONGEST_WAIT:
                    return self._read(reply, message, doubt)
                pause = max(reply.wait, pause)
            sleep(pause)
            wait *= 2
        raise AssertionError("the last try returns or raises")

    def _sent(self, message: Message) -> _Reply | _Lost:
        headers = {"Content-Type": "application/json"} if message.body is not None else {}
        url = self.url + message.path
        try:
            reply = self._client.request(message.method, url, content=message.body, headers=headers)
            later = _seconds(reply.headers.get("retry-after")) if reply.status_code in _LATER else None
            return _Reply(reply.status_code, later, reply.content)
        except self._failures as error:
            return _Lost(in_words(error, self.host), type(error).__name__ not in _NOT_SENT)

    def _read(self, reply: _Reply, message: Message, doubt: bool) -> Any:
        told, status = _object(reply.content), reply.status
        if status == 200 and told is not None:
            return told
        if isinstance(told, dict) and isinstance(told.get("error"), dict) and "kind" in told["error"]:
            error = told_error(told, message.request)
            raise self._given_up(error.message, message, doubt) if doubt and status in _LATER else error
        if status in _ELSEWHERE:
            why = f"{self.host} sends requests elsewhere: give the address that it sends them to"
        else:
            why = f"{self.host} answered, with status {status}, but not as a server of adyton does"
        raise self._given_up(why, message, doubt or status == 200 or status >= 500)

    def _given_up(self, why: str, message: Message, doubt: bool) -> CuratorError:
        if message.later is None or not doubt:
            return unreachable(why)
        return unanswered(why, message.later, message.request)


class LeftOpen:
    """For ``with``, as in process: there is nothing to let go of."""

    def close(self) -> None:
        """Nothing to let go of: the connection stays open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def each(read: Callable[[Any], _Read]) -> Callable[[Any], list[_Read]]:
    """Reads a list of what ``read`` reads."""
    return lambda told: [read(one) for one in told]


def checked_reply(read: Callable[[Any], _Read], told: Any, request: str | None = None) -> _Read:
    """What ``read`` makes of what was told, or an error that says that nothing could be made of it."""
    try:
        return read(told)
    except CuratorError as error:
        if not isinstance(error, InvalidRequest):
            raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        pass
    later = "install the version of adyton that fits the server" if request is None else fetched_by(request)
    raise unanswered("what the server answered cannot be read by this version of adyton", later, request)


def _written(body: dict[str, Any]) -> bytes:
    try:
        return json_text(body).encode()
    except (ValueError, TypeError, RecursionError):  # a NaN, an infinity, half a surrogate pair
        raise InvalidRequest("only finite numbers and plain Unicode text can be sent") from None


def _object(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _seconds(text: str | None) -> float | None:
    """What Retry-After says, in seconds; a date counts as a moment."""
    if text is None:
        return None
    return float(text) if text.isdigit() and len(text) < 10 else 1.0


def _trusted(ca: str | None) -> Any:
    if ca is None:
        return True
    if not Path(ca).is_file():
        raise InvalidRequest(f"there is no file of certificates {ca!r}")
    try:
        return ssl.create_default_context(cafile=ca)
    except (ssl.SSLError, OSError):
        raise InvalidRequest(f"{ca!r} is no file of certificates, in the form PEM") from None


def _httpx() -> ModuleType:
    try:
        import httpx2
    except ImportError:
        raise InvalidRequest("a client needs httpx2: pip install 'adyton[client]'") from None
    return httpx2
