"""The studies and holdouts of a visitor, and what may be known of each."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from adyton.service.roles import Action, may
from adyton.service.studies import ServedStudy
from adyton.transports.pages.page import Page, PageRoute, ThePage

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get("/")
async def studies(page: ThePage) -> Response:
    mine = await page.done(lambda: _mine(page))
    return page.show("studies.html", "Studies", **mine)


def _mine(page: Page) -> dict[str, Any]:
    """What is left of each, as the statement of whoever looks says it."""
    studies: list[dict[str, Any]] = []
    holdouts: list[dict[str, Any]] = []
    for one in page.desk.house.served:
        who = page.visitor.identity(one.name)
        if who is None or not may(who.role, Action.LOOK):
            continue
        told: dict[str, Any] = {"name": one.name, "who": who, "facts": one.facts()}
        if isinstance(one, ServedStudy):
            studies.append({**told, "statement": one.statement(who)})
        else:
            holdouts.append({**told, "statement": one.statement()})
    return {"studies": studies, "holdouts": holdouts}
