"""The studies and holdouts of a visitor, and what may be known of each."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from adyton.operations.roles import Action, may
from adyton.service.studies import ServedStudy
from adyton.transports.pages.page import Page, PageRoute, ThePage
from adyton.transports.pages.writing import FormFields, written

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get("/")
async def studies(page: ThePage) -> Response:
    mine = await page.done(lambda: _mine(page))
    return await page.show("studies.html", "Studies", **mine)


@routes.get("/studies/{study}")
async def study(page: ThePage, study: str) -> Response:
    found, who = page.desk.house.study(page.visitor, study, Action.LOOK)
    told = await page.done(lambda: found.budget(who))
    facts = found.facts()
    asks = may(who.role, Action.ASK)
    examples = _examples(facts) if asks else []
    return await page.show("study.html", "Study", of=study, facts=facts, budget=told, examples=examples)


def _examples(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Queries that this study answers, to begin with."""
    made = [("How many rows are there?", FormFields())]
    table = facts["tables"][0]
    group = next((one["name"] for one in table["columns"] if one["kind"] == "category"), "")
    number = next((one["name"] for one in table["columns"] if one["kind"] in ("integer", "real")), "")
    if group:
        made.append((f"How many in each {group}?", FormFields(group=group)))
    if number:
        made.append((f"What is the mean of {number}?", FormFields(measure="mean", column=number)))
    if group and number:
        chosen = FormFields(measure="mean", column=number, group=group)
        made.append((f"What is the mean of {number} in each {group}?", chosen))
    return [(words, written(chosen, facts)) for words, chosen in made]


def _mine(page: Page) -> dict[str, Any]:
    """What is left of each, as the budget of whoever looks says it."""
    studies: list[dict[str, Any]] = []
    holdouts: list[dict[str, Any]] = []
    for one in page.desk.house.served:
        who = page.visitor.identity(one.name)
        if who is None or not may(who.role, Action.LOOK):
            continue
        told: dict[str, Any] = {"name": one.name, "who": who, "facts": one.facts()}
        if isinstance(one, ServedStudy):
            studies.append({**told, "budget": one.budget(who)})
        else:
            holdouts.append({**told, "budget": one.budget()})
    return {"studies": studies, "holdouts": holdouts}
