"""Log in and out, and the files that every page needs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from adyton.errors import NotFound, Unauthenticated
from adyton.service.oidc import CodeFlow
from adyton.transports.pages.page import OpenRoute, Page, PageRoute, ThePage
from adyton.transports.pages.problems import wrong
from adyton.transports.pages.rendering import ASSETS, asset
from adyton.transports.pages.sessions import WebSession

files = APIRouter(include_in_schema=False)
open_routes = APIRouter(route_class=OpenRoute, include_in_schema=False)
routes = APIRouter(route_class=PageRoute, include_in_schema=False)
_LONGEST_TOKEN = 4096
_LONGEST_WAY = 8000
_KEPT = {"Cache-Control": "public, max-age=31536000, immutable"}


@files.get("/assets/{name}")
async def assets(name: str) -> Response:
    if name not in ASSETS:
        raise NotFound
    return Response(asset(name), media_type=ASSETS[name], headers=_KEPT)


@open_routes.get("/login")
async def log_in_page(page: ThePage) -> Response:
    return await _form(page, _way_back(page.request.query_params.get("next", "/")))


@open_routes.post("/login")
async def log_in(page: ThePage) -> Response:
    token, back = page.typed("token"), _way_back(page.typed("next"))
    try:
        session = await run_in_threadpool(page.sessions.begin, token[:_LONGEST_TOKEN])
    except Unauthenticated:
        said = "this token is not valid here: it may be misspelt, revoked or expired"
        return await _form(page, back, problem=wrong(said, "token"), status=401)
    response = page.go(back)
    page.keep(response, session)
    return response


@open_routes.get("/login/provider")
async def to_the_provider(page: ThePage) -> Response:
    """Sends the browser to the identity provider, with a note in a cookie of where it wanted to go."""
    way = _code_flow(page)
    note = page.sessions.new_way(_way_back(page.request.query_params.get("next", "/")))
    response = page.go(way.address(note["state"], note["verifier"]))
    page.note_way(response, page.sessions.sealed(note))
    return response


@open_routes.get("/login/back")
async def from_the_provider(page: ThePage) -> Response:
    """With a code.  The page that is shown goes on by itself: a cookie for this site alone does not come with
    requests that begin elsewhere, nor with what they are sent on to.
    """
    way, given = _code_flow(page), page.request.query_params
    note = page.sessions.way_of(page.way, given.get("state", ""))
    if note is None or not given.get("code"):
        said = "the identity provider did not let you in, or it took too long: try again"
        return await _form(page, "/", problem=wrong(said), status=401)

    def begun() -> WebSession:
        for token in way.exchanged(given["code"], note["verifier"]):
            with suppress(Unauthenticated):
                return page.sessions.begin(token)
        raise Unauthenticated

    try:
        session = await run_in_threadpool(begun)
    except Unauthenticated:
        said = "the identity provider knows you, but nothing here is for you: ask the owner of the study"
        return await _form(page, "/", problem=wrong(said), status=401)
    response = await page.show("welcome.html", "Log in", next=_way_back(note["next"]))
    page.keep(response, session)
    page.note_way(response, "")
    return response


def _code_flow(page: Page) -> CodeFlow:
    provider = page.desk.house.provider
    if provider is None or provider.code is None:
        raise NotFound
    return provider.code


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


async def _form(page: Page, back: str, *, status: int = 200, **values: Any) -> Response:
    provider = page.desk.house.provider
    sends = provider is not None and provider.code is not None
    response = await page.show("login.html", "Log in", status=status, next=back, sends=sends, **values)
    page.remember_visit(response)
    return response


def _way_back(path: str) -> str:
    """Only to a page of this server: nobody is sent elsewhere by a link they were given."""
    local = (
        len(path) < _LONGEST_WAY
        and path.startswith("/")
        and not path.startswith(("//", "/\\"))
        and path.isprintable()
    )
    return path if local and "\\" not in path else "/"
