"""What every response says to browsers: nothing from elsewhere, nothing inline, no frames, nothing kept."""

from __future__ import annotations

from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


def completed(headers: Collection[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """With all that was not said otherwise."""
    said = dict(headers)
    return [*headers, *(one for one in _RAW if one[0] not in said)]


class Headers:
    """Around everything, also around what catches faults of ours."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = completed(message["headers"])
            await send(message)

        await self._app(scope, receive, with_headers)
