"""All pages, put into the application."""

from __future__ import annotations

from contextlib import suppress

from fastapi import FastAPI, Request
from starlette.responses import Response

from adyton.errors import CuratorError
from adyton.operations.roles import Action
from adyton.service.house import House
from adyton.transports.pages import asking, budget, entrance, receipts, studies
from adyton.transports.pages import operation_forms as forms
from adyton.transports.pages.house import access, documentation, holdouts, lab, planning
from adyton.transports.pages.navigation import PageEntry
from adyton.transports.pages.page import new_page
from adyton.transports.pages.sessions import WebSessions

PAGES = (
    PageEntry("Studies", "/", "house", None, "how-to/a-tour-in-ten-minutes.md", studies.routes),
    PageEntry("Study", "/studies/{name}", "study", Action.LOOK, "reference/sql.md", studies.routes),
    PageEntry("Ask", "/studies/{name}/ask", "study", Action.ASK, "reference/sql.md", asking.routes),
    PageEntry(
        "Budget", "/studies/{name}/budget", "study", Action.BUDGET, "how-to/choose-epsilon.md", budget.routes
    ),
    PageEntry(
        "Receipts",
        "/studies/{name}/receipts",
        "study",
        Action.OWN_RECEIPTS,
        "how-to/verify-without-trusting-the-server.md",
        receipts.routes,
    ),
    PageEntry("More", "/studies/{name}/do", "study", Action.LOOK, "reference/http.md", forms.routes),
    PageEntry(
        "Access", "/studies/{name}/access", "study", Action.TOKENS, "how-to/run-a-server.md", access.routes
    ),
    PageEntry("Holdout", "/holdouts/{name}", "holdout", Action.LOOK, "how-to/holdout.md", holdouts.routes),
    PageEntry(
        "Leaderboard",
        "/holdouts/{name}/board",
        "holdout",
        Action.STANDINGS,
        "how-to/publish-a-leaderboard.md",
        holdouts.routes,
    ),
    PageEntry("More", "/holdouts/{name}/do", "holdout", Action.LOOK, "reference/http.md", forms.routes),
    PageEntry(
        "Access", "/holdouts/{name}/access", "holdout", Action.TOKENS, "how-to/run-a-server.md", access.routes
    ),
    PageEntry("Plan", "/plan", "house", None, "how-to/plan-a-study.md", planning.routes),
    PageEntry("Lab", "/lab", "house", None, "how-to/lab.md", lab.routes),
)
"""All pages that somebody can go to: a new page is one line here."""
_BESIDE = (entrance.files, entrance.open_routes, entrance.routes, holdouts.open_routes, documentation.routes)


def install(app: FastAPI, house: House, *, secure: bool) -> None:
    """``secure``: browsers reach this server by TLS, whatever it sees itself."""
    app.state.sessions, app.state.secure = WebSessions(house), secure
    app.state.error_page, app.state.pages = error_page, PAGES
    for part in {id(one): one for one in (*_BESIDE, *(page.routes for page in PAGES))}.values():
        app.router.routes.extend(part.routes)  # as they are: to include them makes each anew


async def error_page(request: Request, error: CuratorError) -> Response | None:
    """For a browser that went to an address that does not exist; None for programs."""
    if request.url.path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
        return None
    page = new_page(request)
    with suppress(CuratorError):  # whoever is logged in sees where else to go
        page.enter()
    return await page.failed(error)
