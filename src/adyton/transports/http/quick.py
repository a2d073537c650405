"""Plain requests go by a short way; all others by the framework's, which says what is wrong with them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from adyton.transports.http.desk import Desk, TokenFirst, visitor_of

_KNOWN = {"desk", "sender", "study", "body", "request"}
_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class _ShortWay(APIRoute):
    """The framework's way through its dependencies takes longer than it takes to find a stored answer."""

    def get_route_handler(self) -> _Handler:
        usual, wanted = super().get_route_handler(), inspect.signature(self.endpoint).parameters
        model = self.body_field.field_info.annotation if self.body_field is not None else None
        if not wanted.keys() <= _KNOWN or not (isinstance(model, type) and issubclass(model, BaseModel)):
            return usual

        async def quick(request: Request) -> Response:
            body = await _read(request, model)
            if body is None:
                return await usual(request)
            desk: Desk = request.app.state.desk
            given = {
                "desk": desk,
                "sender": visitor_of(request),
                "body": body,
                "request": request,
                **request.path_params,
            }
            response: Response = await self.endpoint(**{name: given[name] for name in wanted})
            return response

        return quick


class QuickRoute(TokenFirst, _ShortWay):
    """The token first, on whatever way."""


async def _read(request: Request, model: type[BaseModel]) -> BaseModel | None:
    """None if anything about it is unusual or wrong."""
    if request.headers.get("content-type") != "application/json":
        return None
    content = await request.body()
    try:
        return model.model_validate(json.loads(content))
    except (ValueError, RecursionError, ValidationError):
        return None
