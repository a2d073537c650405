"""How large a request may be, looked at while it comes in."""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adyton.errors import InvalidRequest, TooLarge
from adyton.operations.table import operations
from adyton.service.limits import LIMITS
from adyton.service.settings import Settings
from adyton.transports.http.errors import response_of
from adyton.transports.http.intake import too_large

# What is in front of the server may believe the other one, and take a part of the body for a request.
COOKIES = "adyton cookies"
_ROUTES = (re.sub(r"\{\w+\}", "[^/]+", one.route) for one in operations() if one.sends_items)
_UPLOADS = re.compile("|".join((*_ROUTES, "/holdouts/[^/]+(/do/[^/]+)?")))
_LONG_ADDRESS = f"an address has at most {LIMITS.small_bytes} bytes; nothing was charged"
_TWO_LENGTHS = "a request has a Content-Length or is chunked, not both; nothing was charged"


class SizeLimit:
    """Refuses a body as soon as it is known to be too large, by its header or by what came so far."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._most(scope["path"])
        headers = dict(scope["headers"])
        if b"content-length" in headers and b"transfer-encoding" in headers:
            refused = response_of(InvalidRequest(_TWO_LENGTHS))
            refused.headers["Connection"] = "close"  # where it ends nobody can say
            await refused(scope, receive, send)
            return
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared[:20]) > most:
            await response_of(too_large(most))(scope, receive, send)
            return
        if len(scope["query_string"]) + len(scope["path"]) > LIMITS.small_bytes:
            await response_of(TooLarge(_LONG_ADDRESS))(scope, receive, send)
            return
        _put_cookies_aside(scope)
        came = 0

        async def counted() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > most:
                raise too_large(most)
            return message

        await self._app(scope, counted, send)

    def _most(self, path: str) -> int:
        if path == "/login":  # whoever is not known yet
            return LIMITS.head_bytes
        uploads = _UPLOADS.fullmatch(path) is not None
        return self._settings.upload_bytes if uploads else self._settings.request_bytes


def _put_cookies_aside(scope: Scope) -> None:
    """The framework reads cookies of every request, by the standard library, which takes seconds for some."""
    headers = scope["headers"]
    scope.setdefault("state", {})[COOKIES] = b"; ".join(value for name, value in headers if name == b"cookie")
    scope["headers"] = [header for header in headers if header[0] != b"cookie"]
