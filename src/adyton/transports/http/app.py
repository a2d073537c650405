"""The application: routes, errors, limits, and what happens when it starts and stops."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.responses import Response

from adyton.service.facts import API
from adyton.service.house import House
from adyton.transports.http import errors, holdouts, studies, tokens
from adyton.transports.http.desk import Desk
from adyton.transports.http.formats import told
from adyton.transports.http.limits import SizeLimit
from adyton.transports.http.watching import Metrics, Watching

_ABOUT = (
    "Question data you may not see: every answer is private, valid for the population, and receipted. "
    "Bodies and answers are the objects of docs/reference/json.md."
)
# Spans and logs of the framework would hold paths as they were typed, and what exceptions say.
_NO_OTHERS = TelemetryConfig(
    tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False
)


def make_app(house: House, metrics: Metrics | None = None) -> FastAPI:
    """Everything in ``house`` must be loaded before the first request: ``house.load()``."""
    desk = Desk(house)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()
        house.close()

    app = FastAPI(
        title="adyton",
        version=API,
        description=_ABOUT,
        lifespan=living,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        telemetry=_NO_OTHERS,
        redirect_slashes=False,  # it would send clients, and their tokens, to whatever Host they were told
    )
    app.state.desk = desk
    errors.install(app)
    for part in (studies, holdouts, tokens):
        app.include_router(part.routes)
    app.add_api_route("/healthz", _alive, summary="The process answers", tags=["health"])
    app.add_api_route("/readyz", _ready, summary="Everything is loaded", tags=["health"])
    app.add_middleware(SizeLimit, settings=house.settings)
    app.add_middleware(Watching, metrics=metrics or Metrics())
    app.add_middleware(errors.Guard)
    return app


async def _alive() -> Response:
    return told({"ok": True})


async def _ready() -> Response:
    return told({"ok": True, "api": API})
