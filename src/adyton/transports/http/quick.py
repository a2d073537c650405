"""Questions go by a short way, in front of the framework, which takes longer than a repeat does.

Whatever is unusual about one goes on to the framework, which says what is wrong with it.
"""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

from fastapi import Request
from pydantic import ValidationError
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adyton.errors import CuratorError, InvalidRequest
from adyton.service.roles import Action
from adyton.transports.http.bodies import Question
from adyton.transports.http.desk import Desk, let_in
from adyton.transports.http.errors import response_of
from adyton.transports.http.studies import answer, key_of

_ASK = re.compile("/v1/studies/([^/]+)/ask")
_ROUTE = SimpleNamespace(path="/v1/studies/{study}/ask")  # as the framework would say it


class Quick:
    """The token first, then the body; and who asks the same again waits for no thread."""

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app, self._desk = app, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = _ASK.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None or scope["method"] != "POST" or not _is_json(request := Request(scope, receive)):
            await self._app(scope, receive, send)
            return
        scope["route"] = _ROUTE
        try:
            response = await self._answer(request, found[1])
        except CuratorError as error:
            response = response_of(error)
        except ClientDisconnect:
            response = response_of(InvalidRequest("the body ended early; nothing was charged"))
        if response is not None:
            await response(scope, receive, send)
            return
        del scope["route"]
        await self._app(scope, _once_more(await request.body(), receive), send)

    async def _answer(self, request: Request, name: str) -> Response | None:
        """None if the body is not a question."""
        desk = self._desk
        sender = await let_in(desk, request)
        content = await request.body()
        study, who = desk.house.study(sender, name, Action.ASK)
        key = key_of(who, request, content)
        known: Response | None = study.repeats.find(key)
        if known is not None:
            return known
        try:
            question = Question.model_validate(json.loads(content))
        except (ValueError, RecursionError, ValidationError):
            return None
        return await desk.done(sender, lambda: answer(study, who, question, key))


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type") == "application/json"


def _once_more(content: bytes, receive: Receive) -> Receive:
    """A body that was read already, for somebody else to read."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": content, "more_body": False}

    return again
