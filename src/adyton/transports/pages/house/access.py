"""Access, for owners: tokens with their budget shares, the checkpoint, and how the server is.

Nothing here raises a budget.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from adyton.errors import CuratorError
from adyton.operations.roles import Action, Role
from adyton.service.house import Served
from adyton.service.identity import Identity, identity_of
from adyton.service.settings import plainly
from adyton.service.studies import ServedStudy
from adyton.transports.pages.page import Page, PageRoute, ThePage
from adyton.transports.pages.problems import problem_of

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
_FIELDS = ("name", "role", "budget_share", "price_share", "rate", "expires")


@routes.get("/studies/{name}/access")
@routes.get("/holdouts/{name}/access")
async def access(page: ThePage, name: str) -> Response:
    return await _shown(page, name)


@routes.post("/studies/{name}/access")
@routes.post("/holdouts/{name}/access")
async def change(page: ThePage, name: str) -> Response:
    found, _ = page.desk.house.anything(page.visitor, name, Action.TOKENS)
    revoked = page.typed("revoke")
    try:
        if revoked:
            await page.done(lambda: found.tokens.revoke(revoked))
            return page.go(page.request.url.path)
        typed = {field: page.typed(field) or None for field in _FIELDS}
        wanted = identity_of(typed, page.desk.house.settings.longest_name)
        token, _ = await page.done(lambda: found.tokens.make(wanted, typed["expires"]))
    except CuratorError as error:
        return await _shown(page, name, error=error)
    return await page.show("new_token.html", "Access", of=name, token=token, wanted=wanted, kind=_kind(found))


async def _shown(page: Page, name: str, error: CuratorError | None = None) -> Response:
    found, who = page.desk.house.anything(page.visitor, name, Action.TOKENS)
    told = await page.done(lambda: _told(found, who))
    return await page.show(
        "access.html",
        "Access",
        of=name,
        kind=_kind(found),
        roles=[(role, role) for role in Role],
        typed={field: page.typed(field) for field in _FIELDS},
        settings={name: plainly(one) for name, one in page.desk.house.settings.limits.items()},
        problem=None if error is None else problem_of(error),
        status=200 if error is None else error.status,
        **told,
    )


def _kind(found: Served) -> str:
    return "studies" if isinstance(found, ServedStudy) else "holdouts"


def _told(found: Served, who: Identity) -> dict[str, Any]:
    """The tokens; of a study also what each name has spent, the checkpoint and how many receipts there
    are.
    """
    now, spent = time.time(), _spent(found, who) if isinstance(found, ServedStudy) else {}
    tokens = [
        {**known.to_json(), "valid": known.is_valid(now), "spent": spent.get(known.identity.name)}
        for known in found.tokens.all()
    ]
    if not isinstance(found, ServedStudy):
        return {"tokens": tokens, "checkpoint": None, "count": None}
    return {"tokens": tokens, "checkpoint": _checkpoint(found), "count": found.count()}


def _spent(found: ServedStudy, who: Identity) -> dict[str, Fraction]:
    """Of each name, as a share of the budget."""
    budget, parts = Fraction(found.budget_told()), found.budget(who)["by_name"]
    return {name: Fraction(part["spent"]) / budget for name, part in parts.items()}


def _checkpoint(found: ServedStudy) -> dict[str, Any] | None:
    """What it has seen, and how far the ledger is; None without one."""
    try:
        return found.checkpoint()
    except CuratorError as error:  # that it is damaged is for the owner to know
        return {"wrong": error.message}
