"""The routes, one for each operation of the tables."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from adyton.errors import InvalidRequest
from adyton.operations.operation import Operation
from adyton.operations.table import operations
from adyton.operations.words import Word
from adyton.service.limits import LIMITS
from adyton.service.repeats import Key
from adyton.transports.http.bodies import body_of, field_of
from adyton.transports.http.desk import Desk, Sender, TheDesk, TokenFirst
from adyton.transports.http.errors import RESPONSES
from adyton.transports.http.formats import ARROW, CSV, check_free, written

_TYPES = {"number": int}  # of what stands in an address; other names are texts


def made_routes() -> APIRouter:
    router = APIRouter(prefix="", responses=RESPONSES, route_class=TokenFirst)
    for operation in operations():
        router.add_api_route(
            operation.route,
            _endpoint(operation),
            methods=["GET" if operation.get else "POST"],
            summary=operation.help,
            description=_described(operation),
            tags=[operation.route.split("/")[2]],
        )
    return router


def _described(operation: Operation[Any, Any]) -> str:
    who = "hold a token" if operation.action is None else operation.action
    return f"{operation.cost.capitalize()}. For those who may {who}."


def _endpoint(operation: Operation[Any, Any]) -> Callable[..., Awaitable[Response]]:
    """A function with the signature that the framework looks at."""
    names = operation.place.names
    sent = [word for word in operation.words if operation.get]

    async def endpoint(**given: Any) -> Response:
        desk, sender, request, body = given["desk"], given["sender"], given["request"], given.get("body")
        words = {word.name: said for word in sent if (said := given[word.name]) is not None}
        words |= body.words() if body is not None else {}
        words |= {name: _in_its_type(name, given[name]) for name in names[1:]}
        return await _answer(operation, desk, sender, request, given[names[0]] if names else "", words)

    only = inspect.Parameter.KEYWORD_ONLY
    kinds = {"desk": TheDesk, "sender": Sender, "request": Request}
    kinds |= {name: _TYPES.get(name, str) for name in names}
    if not operation.get and operation.words:
        kinds["body"] = body_of(operation)
    parameters = [inspect.Parameter(name, only, annotation=kind) for name, kind in kinds.items()]
    parameters += [_in_the_address(word) for word in sent]
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = operation.name
    endpoint.operation = operation  # type: ignore[attr-defined]
    return endpoint


def _in_its_type(name: str, told: Any) -> Any:
    """What stands in an address."""
    with suppress(ValueError):
        return _TYPES.get(name, str)(told)
    raise InvalidRequest(f"{name} must be a whole number; nothing was charged")


def _in_the_address(word: Word) -> inspect.Parameter:
    kind, field = field_of(word)
    known: Any = Annotated[kind, Query(description=word.help)]
    return inspect.Parameter(
        word.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=known
    )


async def _answer(
    operation: Operation[Any, Any],
    desk: Desk,
    sender: Sender,
    request: Request,
    name: str,
    words: dict[str, Any],
) -> Response:
    accept = request.headers.get("accept", "")
    if not name:
        return await desk.done(sender, lambda: written(desk.house.listed(sender, operation), accept))
    found: Any
    found, who = desk.house.place(sender, operation, name)
    desk.check_batch(words.get("queries", []))
    if operation.cached:
        key: Key = (who, accept, await request.body())
        known: Response | None = found.repeats.find(key)
        if known is not None:  # it waits for no thread
            return known
        return await desk.done(sender, lambda: _cached_answer(operation, found, words, key))

    def work() -> Response:
        as_table = "query" in words and (ARROW in accept or CSV in accept)
        if operation.lists and not operation.spends and not as_table:
            check_values(found, words, LIMITS.free_values)
        return written(found.perform(operation, who, words), accept)

    return await desk.done(sender, work)


def check_values(found: Any, words: dict[str, Any], most: int) -> None:
    """How many values an answer would list, before it is made."""
    queries = words.get("queries") or [words["query"]]
    check_free(found.values_asked(queries, words.get("dialect")), most)


def _cached_answer(operation: Operation[Any, Any], found: Any, words: dict[str, Any], key: Key) -> Response:
    """A repeat is kept as it leaves: all that it depends on is in the key and in the ledger."""
    who, accept, _ = key
    before = found.repeats.stamp()
    made = found.perform(operation, who, words)
    response = written(made, accept)
    if made.repeated:
        found.repeats.keep(key, response, len(response.body), before)
    return response
