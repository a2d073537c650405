"""Receipts: the chain, page by page, and what a browser needs to compute all of it again."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from adyton.errors import InvalidRequest
from adyton.operations.roles import Action, may
from adyton.transports.http.formats import told
from adyton.transports.pages.page import Page, PageRoute, ThePage

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
_A_PAGE = 50


@routes.get("/studies/{study}/receipts")
async def receipts(page: ThePage, study: str) -> Response:
    found, who = page.desk.house.study(page.visitor, study, Action.OWN_RECEIPTS)
    count = await page.done(found.count)
    after = min(_after(page, max(0, count - _A_PAGE)), count)
    chain = await page.done(lambda: found.receipts(who, after, _A_PAGE))
    return await page.show(
        "receipts.html",
        "Receipts",
        of=study,
        chain=chain,
        whole={one["number"]: one for one in chain["receipts"]},
        count=count,
        after=after,
        before=max(0, after - _A_PAGE),
        replays=may(who.role, Action.VERIFY),
        fingerprint=found.facts()["fingerprint"],
    )


@routes.get("/studies/{study}/receipts.json")
async def chain(page: ThePage, study: str) -> Response:
    """The same object as over the API, for the script that verifies."""
    found, who = page.desk.house.study(page.visitor, study, Action.OWN_RECEIPTS)
    after = _after(page, 0)
    return await page.done(lambda: told(found.receipts(who, after)))


@routes.post("/studies/{study}/receipts")
async def replay(page: ThePage, study: str) -> Response:
    """Replayed by the server: for owners and auditors, and for whoever has no script."""
    found, _ = page.desk.house.study(page.visitor, study, Action.VERIFY)
    head = page.typed("head") or None
    said = await page.done(lambda: found.verify(head))
    return await page.show("replayed.html", "Receipts", of=study, said=said, head=head)


def _after(page: Page, usual: int) -> int:
    given = page.request.query_params.get("after", "")
    if not given:
        return usual
    if not given.isascii() or not given.isdigit() or len(given) > 12:
        raise InvalidRequest("after is the number of a receipt")
    return int(given)
