"""Budget: where the budget went, and what is left, in per cent and in queries like the last one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from adyton.operations.roles import Action
from adyton.service.identity import Identity
from adyton.service.studies import ServedStudy
from adyton.transports.pages import pictures
from adyton.transports.pages.page import PageRoute, ThePage

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
_SHOWN = 10  # of the newest receipts


@routes.get("/studies/{study}/budget")
async def budget(page: ThePage, study: str) -> Response:
    found, who = page.desk.house.study(page.visitor, study, Action.BUDGET)
    told, newest, picture = await page.done(
        lambda: (found.budget(who), _newest(found, who), pictures.of_budget(found, who))
    )
    whole = newest["header"]["budget"]
    return await page.show(
        "budget.html",
        "Budget",
        of=study,
        budget=told,
        whole=whole,
        own=_part(told["own"], whole),
        names=[(name, _part(part, whole)) for name, part in told.get("by_name", {}).items()],
        chain_links=newest["links"][::-1],
        picture=picture,
        validity=_validity(newest["links"], told),
    )


@routes.get("/studies/{study}/budget.svg")
async def burn_down(page: ThePage, study: str) -> Response:
    found, who = page.desk.house.study(page.visitor, study, Action.BUDGET)
    return await page.done(lambda: pictures.drawn(page, pictures.of_budget(found, who)))


def _newest(found: ServedStudy, who: Identity) -> dict[str, Any]:
    return found.receipts(who, max(0, found.count() - _SHOWN))


def _part(part: Mapping[str, Any], whole: str) -> dict[str, Any]:
    """What a name has spent, as a share of the whole budget and of its own share of it."""
    spent, all_of_it = Fraction(part["spent"]), Fraction(whole)
    own = None if part["budget_share"] is None else Fraction(part["budget_share"])
    return {
        "spent": spent / all_of_it,
        "budget_share": None if own is None else own / all_of_it,
        "left": None if own is None else Fraction(part["left"]) / all_of_it,
        "left_of_own": Fraction(part["left"]) / own if own else None,
    }


def _validity(links: list[dict[str, Any]], told: Mapping[str, Any]) -> dict[str, Any]:
    """What validity was charged; of a pure study also how much is certified."""
    charged = links[-1]["spent_radius"] if links else "0"
    known, share = told.get("validity"), None
    if known is not None and Fraction(known["cap"]) > 0:
        share = max(Fraction(0), 1 - Fraction(known["spent"]) / Fraction(known["cap"]))
    return {"charged": charged, "known": known, "left": share}
