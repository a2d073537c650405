"""What goes wrong, in one shape.  What nobody expected is told to the operator by its kind alone."""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adyton.certify import json_text
from adyton.errors import CuratorError, InvalidRequest, NotFound, Unexpected
from adyton.refusals import message_of
from adyton.transports.http.bodies import ErrorBody

_operator_log = logging.getLogger("adyton.operator")
_SAID = {
    401: "no valid token",
    403: "this role may not do that",
    404: "nothing here for this token",
    409: "refused: nothing is left for this price, or the request id was used",
    413: "too many bytes",
    422: "the request is wrong; the message has the place and the fix",
    429: "too many requests: see Retry-After",
    500: "a fault of ours",
    502: "the engine failed after the charge: ask the same again, free",
    503: "busy: see Retry-After; or the ledger cannot be trusted",
}
_IN_WORDS = {
    "extra_forbidden": "is not known here; {} names what is",
    "missing": "is missing",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "model_attributes_type": "must be an object, {...}, with Content-Type: application/json",
    "model_type": "must be an object, {...}, with Content-Type: application/json",
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": said} for status, said in _SAID.items()
}


def response_of(error: CuratorError) -> Response:
    headers = {"Cache-Control": "no-store"}
    if "retry_after" in error.facts:
        headers["Retry-After"] = str(error.facts["retry_after"])
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    text = json_text(error.to_json(message_of(error, "json")))
    return Response(text, status_code=error.status, media_type="application/json", headers=headers)


def install(app: FastAPI) -> None:
    """Every error of ours, of the framework, and of nobody in particular."""

    async def ours(_: Request, error: Exception) -> Response:
        assert isinstance(error, CuratorError)
        return response_of(error)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return response_of(InvalidRequest(place_and_fix(dict(error.errors()[0]))))

    async def framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if isinstance(error.__cause__, CuratorError):  # raised while the body came in
            return response_of(error.__cause__)
        if error.status_code == 404:
            return await app.state.error_page(request, NotFound()) or response_of(NotFound())
        if error.status_code == 400:
            return response_of(InvalidRequest("the body is not JSON; nothing was charged"))
        words = InvalidRequest("this is not a request that the server knows")
        words.status = error.status_code  # type: ignore[misc]
        return response_of(words)

    app.add_exception_handler(CuratorError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, framework)


class Guard:
    """Around everything else: no traceback is sent, and none is logged, because it may hold values."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        kind = ""
        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            kind = type(error).__name__
        if not kind:
            return
        fault = unexpected(kind)
        if not started and scope["type"] == "http":
            shown = await _told(scope, fault)
            await shown(scope, receive, send)


def unexpected(kind: str, where: str = "a request") -> Unexpected:
    """What is told of a fault; the operator is told its kind alone, and after it was caught: whoever watches
    the log could look at what is being handled.
    """
    reference = secrets.token_hex(6)
    _operator_log.error("%s failed with %s (reference %s)", where, kind, reference)
    return Unexpected(reference)


async def _told(scope: Scope, error: CuratorError) -> Response:
    """A page to a browser, unless the page fails as well; the usual body to programs."""
    page = None
    with suppress(Exception):
        page = await scope["app"].state.error_page(Request(scope), error)
    return page or response_of(error)


def place_and_fix(
    first: dict[str, Any], whole: str = "the body", page: str = "docs/reference/http.md"
) -> str:
    """The first thing that pydantic found wrong, in words; ``page`` says what is right."""
    if first["type"] == "json_invalid":
        return "the body is not JSON; nothing was charged"
    place = ".".join(str(part) for part in first["loc"] if part != "body")[:200]
    plain = _IN_WORDS.get(first["type"], "").replace("{}", page)
    said = f" {plain}" if plain else f": {first['msg']}"
    return f"{place or whole}{said}; nothing was charged"
