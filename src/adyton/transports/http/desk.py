"""Where requests are taken: who sends them, whether there is a place, when the answer leaves."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request
from fastapi.openapi.models import HTTPBearer
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Scope

from adyton.errors import InvalidRequest, TooMany
from adyton.operations.operation import Operation
from adyton.service.gate import Bytes, Holding, Places, Rate, network_of
from adyton.service.grid import TimedRequest
from adyton.service.holdouts import ServedHoldout
from adyton.service.house import House, Visitor
from adyton.service.limits import LIMITS
from adyton.service.studies import READING
from adyton.transports.http.bodies import Body
from adyton.transports.http.intake import again, is_json, parsed_small, read_body, valid
from adyton.transports.http.large_json import parsed

_Done = TypeVar("_Done")
LONGEST_TOKEN = 4096
_VISITOR = "adyton visitor"
_LARGE = 1_000_000  # bytes of an answer that is counted until it has left
_GOING: set[asyncio.Future[Any]] = set()  # tasks that nobody may wait for any more
_UNREAD = "this token has not read the answers that it was given; read them first, nothing was charged"


class Desk:
    """Work is plain functions in threads, one for each place: whoever has a place waits for no thread."""

    def __init__(self, house: House) -> None:
        settings = house.settings
        self.house = house
        self._places = Places(settings.places, settings.places_by_token)
        self._by_token, self._by_address, self._messages = Rate(), Rate(), Rate()
        self._threads = ThreadPoolExecutor(settings.places, "query")
        self._reader = ThreadPoolExecutor(1, "reader")  # of large bodies: one after the other
        self.uploads = Bytes(LIMITS.uploads_at_once * settings.upload_bytes, settings.upload_bytes)
        self._unsent = Bytes(2**63, 2**63)

    def knock(self, scope: Scope) -> None:
        """Before anything is looked at: too often from one address?"""
        self.knock_from(client[0] if (client := scope.get("client")) else "nobody")

    def knock_from(self, address: str) -> None:
        """The same, by whatever door."""
        self._by_address.take(network_of(address), self.house.settings.rate_by_address)

    async def holder(self, token: str | None) -> Visitor:
        """Whoever holds this token."""
        if self.house.is_from_provider(token):  # whose keys may have to be fetched
            return await run_in_threadpool(self.house.visitor, token)
        return self.house.visitor(token)

    def let_in(self, visitor: Visitor) -> Visitor:
        """The same, unless this token comes too often."""
        self._by_token.take(visitor.key, self._rate(visitor))
        return visitor

    def count_messages(self, visitor: Visitor, number: int = 1) -> None:
        """What is less than a request: many of them count as one."""
        self._messages.take(visitor.key, self._rate(visitor) * LIMITS.wire_messages_a_request, number)

    def _rate(self, visitor: Visitor) -> int:
        return visitor.rate or self.house.settings.rate_by_token

    async def done(self, visitor: Visitor, work: Callable[[], _Done]) -> _Done:
        """What ``work`` returns.  If it read data, that leaves on the grid; so does its failure."""
        if self._unsent.of(visitor.key) > LIMITS.unsent_bytes:
            raise TooMany(_UNREAD, retry_after=1)
        reading = self.house.grid.start()
        with self._places.one(visitor.key):
            made = await _done_by(self._threads, partial(_worked, reading, work))
        if isinstance(made, Response) and (size := len(made.body)) > _LARGE:
            self._unsent.take(visitor.key, size)
            weakref.finalize(made, self._unsent.give, visitor.key, size)
        return made

    async def parsed(self, work: Callable[[], _Done]) -> _Done:
        """What ``work`` makes of a large body, by the one thread that does nothing else."""
        return await _done_by(self._reader, work)

    def check_batch(self, queries: list[str]) -> list[str]:
        most = self.house.settings.queries_a_batch
        if len(queries) > most:
            raise InvalidRequest(f"a batch has at most {most} queries here; nothing was charged")
        return queries

    def close(self) -> None:
        """Waits for all that was begun."""
        self._threads.shutdown()
        self._reader.shutdown()


async def _done_by(threads: ThreadPoolExecutor, work: Callable[[], _Done]) -> _Done:
    return await asyncio.get_running_loop().run_in_executor(threads, work)


def _worked(reading: TimedRequest, work: Callable[[], _Done]) -> _Done:
    token = READING.set(reading)
    try:
        return work()
    finally:
        READING.reset(token)
        reading.shows()  # also that it failed: whoever waits for this thread would see it


def goes_on(task: asyncio.Future[Any]) -> None:
    """Whether anybody waits for it or not: it is held until it ends, which a loop does not do."""
    _GOING.add(task)
    task.add_done_callback(_ended)


def _ended(task: asyncio.Future[Any]) -> None:
    _GOING.discard(task)
    if not task.cancelled():
        task.exception()  # looked at, so that nobody logs it


def _token_of(authorization: str) -> str | None:
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" and len(token) <= LONGEST_TOKEN else None


async def desk_of(request: Request) -> Desk:
    """Not a plain function: those are handed to another thread, and there is nothing to wait for."""
    desk: Desk = request.app.state.desk
    return desk


async def sender_of(desk: Desk, scope: Scope, authorization: str) -> Visitor:
    """Who sends a request, looked at and counted once."""
    known = scope.setdefault("state", {})
    if _VISITOR not in known:
        desk.knock(scope)
        known[_VISITOR] = desk.let_in(await desk.holder(_token_of(authorization)))
    visitor: Visitor = known[_VISITOR]
    return visitor


async def _sender(request: Request) -> Visitor:
    return await sender_of(request.app.state.desk, request.scope, request.headers.get("authorization", ""))


class TokenFirst(APIRoute):
    """Who sends a request, and whether there is anything to send it to, is asked before its body is read:
    nobody else can keep the server reading.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()  # which reads what stands in the address
        if self.body_field is None:
            return answer
        takes = cast("type[Body]", self.body_field.field_info.annotation)

        async def handle(request: Request) -> Response:
            sender, desk = await _sender(request), await desk_of(request)
            most, longest = self._room(desk, sender, request.path_params)
            with Holding(desk.uploads, sender.key) as holding:
                content = await read_body(request.receive, most, holding)
                body: Body
                if is_json(request) and len(content) > LIMITS.small_bytes:
                    body = await desk.parsed(lambda: valid(takes, parsed(content, longest)))
                else:
                    body = valid(takes, parsed_small(content) if is_json(request) else content)
                read = Request(request.scope, again(content, request.receive))
                given = {"desk": desk, "sender": sender, "request": read, "body": body}
                made: Response = await self.endpoint(**given, **request.path_params)
                return made

        return handle

    def _room(self, desk: Desk, sender: Visitor, named: dict[str, str]) -> tuple[int, int | None]:
        """How many bytes a body may have, and how many elements a list in it."""
        operation: Operation[Any, Any] = self.endpoint.operation  # type: ignore[attr-defined]
        found, _ = desk.house.place(sender, operation, next(iter(named.values())))
        if isinstance(found, ServedHoldout) and operation.sends_items:
            return desk.house.settings.upload_bytes, found.items
        return desk.house.settings.request_bytes, None


class _Door(SecurityBase):
    """Whoever sends a request, and what the document says of how to say so."""

    def __init__(self) -> None:
        self.model = HTTPBearer(description="a token of adyton, or of the identity provider")
        self.scheme_name = "HTTPBearer"

    async def __call__(self, request: Request) -> Visitor:
        return await _sender(request)


TheDesk = Annotated[Desk, Depends(desk_of)]
Sender = Annotated[Visitor, Depends(_Door())]
