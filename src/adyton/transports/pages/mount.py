"""All pages, put into the application."""

from __future__ import annotations

from contextlib import suppress

from fastapi import FastAPI, Request
from starlette.responses import Response

from adyton.errors import CuratorError
from adyton.service.house import House
from adyton.transports.pages import asking, budget, entrance, operation_forms, receipts, studies
from adyton.transports.pages.house import access, documentation, holdouts, lab, planning
from adyton.transports.pages.page import new_page
from adyton.transports.pages.sessions import WebSessions

_PARTS = (
    entrance.files,
    entrance.open_routes,
    entrance.routes,
    studies.routes,
    asking.routes,
    budget.routes,
    receipts.routes,
    planning.routes,
    lab.routes,
    holdouts.routes,
    holdouts.open_routes,
    access.routes,
    operation_forms.routes,
    documentation.routes,
)


def install(app: FastAPI, house: House, *, secure: bool) -> None:
    """``secure``: browsers reach this server by TLS, whatever it sees itself."""
    app.state.sessions, app.state.secure = WebSessions(house), secure
    app.state.error_page = error_page
    for part in _PARTS:
        app.router.routes.extend(part.routes)  # as they are: to include them makes each anew


async def error_page(request: Request, error: CuratorError) -> Response | None:
    """For a browser that went to an address that does not exist; None for programs."""
    if request.url.path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
        return None
    page = new_page(request)
    with suppress(CuratorError):  # whoever is logged in sees where else to go
        page.enter()
    return await page.failed(error)
