"""The application: routes, errors, limits, and what happens when it starts and stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache, partial
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import ASGIApp

from adyton.certify import json_text
from adyton.operations.facts import API
from adyton.service.house import House
from adyton.transports.http import errors
from adyton.transports.http.crowd import Faults
from adyton.transports.http.desk import Desk
from adyton.transports.http.formats import told
from adyton.transports.http.limits import SizeLimit
from adyton.transports.http.routes import made_routes
from adyton.transports.http.watching import Metrics, Watching
from adyton.transports.pages import mount as pages
from adyton.transports.pages.headers import Headers
from adyton.transports.pg.door import WireDoor

if TYPE_CHECKING:
    from adyton.transports.mcp.mounted import DoorForAgents

_ROUTES = made_routes().routes
_DOCUMENT = "/v1/openapi.json"
_ABOUT = (
    "Query data you may not see: every answer is private, valid for the population, and receipted. "
    "Bodies and answers are the objects of docs/reference/json.md."
)
# Spans and logs of the framework would hold paths as they were typed, and what exceptions say.
_NO_OTHERS = TelemetryConfig(
    tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False
)


def make_app(
    house: House, *, wire: WireDoor | None = None, secure: bool = False, mcp: bool = False
) -> FastAPI:
    """Everything in ``house`` must be loaded before the first request: ``house.load()``.

    ``wire``: where the same desk takes queries of clients of PostgreSQL, if anywhere.
    ``secure``: browsers come by TLS, though this process may not see it; cookies of pages then say so.
    ``mcp``: agents are let in too, at /mcp.
    """
    desk, metrics = Desk(house), Metrics()
    agents = _door_for_agents(desk) if mcp else None

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(Faults())
        async with AsyncExitStack() as doors:
            if agents is not None:
                await doors.enter_async_context(agents.open())
            if wire is not None:
                await doors.enter_async_context(_listening(desk, wire, metrics))
            yield
        desk.close()
        house.close()

    app = _InFront(
        title="adyton",
        version=API,
        description=_ABOUT,
        lifespan=living,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        telemetry=_NO_OTHERS,
        redirect_slashes=False,  # it would send clients, and their tokens, to whatever Host they were told
    )
    app.state.desk, app.state.metrics = desk, metrics
    errors.install(app)
    app.router.routes.extend(_ROUTES)  # as they are: to include them makes each anew
    app.add_api_route(_DOCUMENT, _document(app), include_in_schema=False)
    app.add_api_route("/healthz", _alive, summary="The process answers", tags=["health"])
    app.add_api_route("/readyz", _ready, summary="Everything is loaded", tags=["health"])
    app.add_middleware(errors.Guard)  # before the framework finds words of its own
    if agents is not None:
        app.router.routes.append(agents.route)
    pages.install(app, house, secure=secure)
    return app


def _listening(desk: Desk, wire: WireDoor, metrics: Metrics) -> AbstractAsyncContextManager[None]:
    """Imported late: most servers have no such door."""
    from adyton.transports.pg.talking.listening import listening

    return listening(desk, wire, partial(metrics.tell, "PG"))


def _door_for_agents(desk: Desk) -> DoorForAgents:
    """Imported late: most servers have no agents, and the SDK is large."""
    from adyton.transports.mcp.mounted import DoorForAgents

    return DoorForAgents(desk)


class _InFront(FastAPI):
    """What is around everything comes before the framework and what others add to it."""

    def build_middleware_stack(self) -> ASGIApp:
        desk, metrics = self.state.desk, self.state.metrics
        inside = SizeLimit(super().build_middleware_stack(), desk.house.settings)
        return Headers(errors.Guard(Watching(inside, metrics)))


def _document(app: FastAPI) -> Callable[[], Awaitable[Response]]:
    """Made once, by a thread: whoever has no token may ask for it."""
    text = cache(lambda: json_text(app.openapi()))

    async def document() -> Response:
        return Response(await run_in_threadpool(text), media_type="application/json")

    return document


async def _alive() -> Response:
    return told({"ok": True})


async def _ready() -> Response:
    return told({"ok": True, "api": API})
