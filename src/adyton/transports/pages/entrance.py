"""Log in and out, and the files that every page needs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from adyton.errors import NotFound, Unauthenticated
from adyton.transports.pages.page import OpenRoute, Page, PageRoute, ThePage
from adyton.transports.pages.problems import wrong
from adyton.transports.pages.rendering import ASSETS, asset

files = APIRouter(include_in_schema=False)
open_routes = APIRouter(route_class=OpenRoute, include_in_schema=False)
routes = APIRouter(route_class=PageRoute, include_in_schema=False)
_LONGEST_TOKEN = 4096
_KEPT = {"Cache-Control": "public, max-age=31536000, immutable"}


@files.get("/assets/{name}")
async def assets(name: str) -> Response:
    if name not in ASSETS:
        raise NotFound
    return Response(asset(name), media_type=ASSETS[name], headers=_KEPT)


@open_routes.get("/login")
async def log_in_page(page: ThePage) -> Response:
    return _form(page, _way_back(page.request.query_params.get("next", "/")))


@open_routes.post("/login")
async def log_in(page: ThePage) -> Response:
    token, back = page.typed("token"), _way_back(page.typed("next"))
    try:
        session = await run_in_threadpool(page.sessions.begin, token[:_LONGEST_TOKEN])
    except Unauthenticated:
        said = "this token is not valid here: it may be misspelt, revoked or expired"
        return _form(page, back, problem=wrong(said, "token"), status=401)
    response = page.go(back)
    page.keep(response, session)
    return response


@routes.post("/logout")
async def log_out(page: ThePage) -> Response:
    assert page.session is not None
    everywhere = page.typed("where") == "everywhere"
    session = page.session
    await page.done(lambda: page.sessions.end(session, everywhere=everywhere))
    page.session = None
    response = page.go("/login")
    page.forget(response)
    return response


def _form(page: Page, back: str, *, status: int = 200, **values: Any) -> Response:
    response = page.show("login.html", "Log in", status=status, next=back, **values)
    page.remember_visit(response)
    return response


def _way_back(path: str) -> str:
    """Only to a page of this server: nobody is sent elsewhere by a link they were given."""
    local = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if local and "\\" not in path else "/"
