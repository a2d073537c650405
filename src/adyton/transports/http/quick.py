"""Queries go by a short way, in front of the framework, which takes longer than a repeat does.

Whatever is unusual about one goes on to the framework, which says what is wrong with it.  What is answered
here meets the same conditions in the same order: how large it is, who sends it, and only then its body.
"""

from __future__ import annotations

import json
import re
import time

from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from adyton.errors import CuratorError
from adyton.operations.roles import Action
from adyton.operations.studies import StudyOperations
from adyton.service.gate import Holding
from adyton.service.limits import LIMITS
from adyton.transports.http.bodies import body_of
from adyton.transports.http.desk import Desk, sender_of
from adyton.transports.http.errors import response_of, unexpected
from adyton.transports.http.formats import send_body
from adyton.transports.http.intake import again, read_body
from adyton.transports.http.routes import cached_answer, key_of
from adyton.transports.http.watching import Metrics, is_traced
from adyton.transports.pages.headers import completed

_ASK = StudyOperations.ask
_ROUTE = _ASK.route  # as the framework would say it
_ADDRESS = re.compile(_ROUTE.replace("{study}", "([^/]+)"))


class Quick:
    """Around the framework and all that is around that; and who asks the same again waits for no thread."""

    def __init__(self, app: ASGIApp, desk: Desk, metrics: Metrics) -> None:
        self._app, self._desk, self._metrics = app, desk, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = _ADDRESS.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None or not self._is_usual(scope, headers := dict(scope["headers"])):
            await self._app(scope, receive, send)
            return
        began, fault = time.perf_counter(), ""
        try:
            response: Response | bytes = await self._answer(scope, headers, receive, found[1])
        except CuratorError as error:
            response = response_of(error)
        except Exception as error:
            fault = type(error).__name__
        if fault:
            response = response_of(unexpected(fault))
        if isinstance(response, bytes):  # a body that is no query
            await self._app(scope, again(response, receive), send)
            return
        try:
            start = {"type": "http.response.start", "status": response.status_code}
            await send({**start, "headers": completed(response.raw_headers)})
            await send_body(send, response.body)
        finally:
            self._metrics.tell("POST", _ROUTE, response.status_code, time.perf_counter() - began)

    def _is_usual(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """One of each header, JSON, of a length that is told and allowed; and nobody collects spans."""
        length = headers.get(b"content-length", b"")
        return (
            scope["method"] == "POST"
            and len(headers) == len(scope["headers"])
            and headers.get(b"content-type") == b"application/json"
            and b"transfer-encoding" not in headers
            and length.isdigit()
            and len(length) < 20
            and int(length) <= min(LIMITS.small_bytes, self._desk.house.settings.request_bytes)
            and not is_traced()
        )

    async def _answer(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, name: str
    ) -> Response | bytes:
        """The token first, then the body."""
        desk = self._desk
        sender = await sender_of(desk, scope, headers.get(b"authorization", b"").decode("latin-1"))
        study, who = desk.house.study(sender, name, Action.ASK)
        content = await read_body(receive, LIMITS.small_bytes, Holding(desk.uploads, sender.key))
        key = key_of(who, headers.get(b"accept", b""), content)
        known: Response | None = study.repeats.find(key)
        if known is not None:
            return known
        try:
            query = body_of(_ASK).model_validate(json.loads(content))
        except (ValueError, RecursionError, ValidationError):
            return content
        return await desk.done(sender, lambda: cached_answer(_ASK, study, who, query.words(), key))
