"""Bodies: read once it is known who sends them and where to, counted as they come in, parsed by a thread."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.types import Message, Receive

from adyton.errors import InvalidRequest, TooLarge
from adyton.service.gate import Holding
from adyton.service.limits import LIMITS
from adyton.transports.http.bodies import Body
from adyton.transports.http.errors import place_and_fix
from adyton.transports.http.large_json import NO_JSON

_CUT = "the body ended early; nothing was charged"
_JSON = re.compile(r"application/([^;\s]+\+)?json\s*(;|$)", re.IGNORECASE)


def too_large(most: int) -> TooLarge:
    return TooLarge(f"a request has at most {most} bytes here; nothing was charged")


async def read_body(receive: Receive, most: int, holding: Holding) -> bytes:
    """All of a body.  TooLarge beyond ``most`` bytes; what is beyond a small one counts as held."""
    parts, size, more = list[bytes](), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise InvalidRequest(_CUT)
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise too_large(most)
        if size > LIMITS.small_bytes:
            holding.take(len(part))
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def again(content: bytes, receive: Receive) -> Receive:
    """A body that was read already, for somebody else to read."""
    given = False

    async def once_more() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": content, "more_body": False}

    return once_more


def parsed_small(content: bytes) -> Any:
    """The value of a body that one call reads in no time."""
    with suppress(ValueError, RecursionError):
        return json.loads(content)
    raise InvalidRequest(NO_JSON)


def valid(takes: type[Body], told: Any) -> Body:
    """InvalidRequest with the first thing that is wrong."""
    try:
        return takes.model_validate(told)
    except ValidationError as error:
        wrong: dict[str, Any] = dict(error.errors(include_url=False, include_input=False)[0])
    raise InvalidRequest(place_and_fix(wrong))


def is_json(request: Request) -> bool:
    return _JSON.match(request.headers.get("content-type", "")) is not None
