"""Holdouts: what is left, predictions to score or to compare, who is ahead."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from adyton.errors import CuratorError, InvalidRequest, NotFound
from adyton.operations.holdouts import HoldoutOperations
from adyton.operations.roles import Action, may
from adyton.service.holdouts import ServedHoldout
from adyton.service.house import Visitor
from adyton.service.identity import Identity
from adyton.transports.pages.forms import Sent
from adyton.transports.pages.operation_forms import CHOOSE, values_of
from adyton.transports.pages.page import OpenRoute, Page, PageRoute, ThePage
from adyton.transports.pages.problems import problem_of

routes = APIRouter(route_class=PageRoute, include_in_schema=False)
open_routes = APIRouter(route_class=OpenRoute, include_in_schema=False)


@routes.get("/holdouts/{holdout}")
async def holdout(page: ThePage, holdout: str) -> Response:
    return await _shown(page, holdout)


@routes.post("/holdouts/{holdout}")
async def scored(page: ThePage, holdout: str) -> Response:
    """The same predictions again are free, so neither a second click nor a reload is charged."""
    found, who = page.desk.house.holdout(page.visitor, holdout, Action.SCORE)
    pair = page.typed("do") == "compare"
    field = "predictions"
    try:
        first = await page.done(lambda: _values(page, found, "predictions"))
        if pair:
            field = "second"
            second = await page.done(lambda: _values(page, found, "second"))
            field = ""
            pair_of = {"first": first, "second": second}
            told = await page.done(lambda: found.perform(HoldoutOperations.compare, who, pair_of).to_json())
        else:
            guess, name, field = page.typed("guess") or None, page.typed("name") or None, ""
            told = await page.done(lambda: _scored(found, who, first, guess, name))
    except CuratorError as error:
        return await _shown(page, holdout, error=error, field=field)
    return await page.show("score.html", "Holdout", of=holdout, told=told, pair=pair)


@routes.get("/holdouts/{holdout}/board")
async def board(page: ThePage, holdout: str) -> Response:
    found, _ = page.desk.house.holdout(page.visitor, holdout, Action.STANDINGS)
    told = await page.done(lambda: _standings(found))
    public = holdout in page.desk.house.settings.public_boards
    return await page.show("board.html", "Leaderboard", of=holdout, public=public, **told)


@open_routes.get("/boards/{holdout}")
async def public_board(page: ThePage, holdout: str) -> Response:
    """For everybody, where the owner says so; any other name might not exist."""
    found = next((one for one in page.desk.house.served if one.name == holdout), None)
    if holdout not in page.desk.house.settings.public_boards or not isinstance(found, ServedHoldout):
        raise NotFound
    told = await page.desk.done(Visitor("public boards", {}), lambda: _standings(found))
    return await page.show("board.html", "Leaderboard", title=f"Leaderboard · {holdout}", public=True, **told)


def _scored(
    found: ServedHoldout, who: Identity, predictions: list[Any], guess: str | None, name: str | None
) -> dict[str, Any]:
    """A name of the model is for the leaderboard, which not every method has."""
    operation = HoldoutOperations.score if name is None else HoldoutOperations.submit
    words = {"predictions": predictions, "guess": guess, "name": name}
    given = {word: said for word, said in words.items() if said is not None}
    told: dict[str, Any] = found.perform(operation, who, given).to_json()
    return told


def _standings(found: ServedHoldout) -> dict[str, Any]:
    facts = found.facts()
    told = {"facts": facts, "budget": found.budget(), "entries": [], "missing": ""}
    try:
        return {**told, "entries": [one.to_json() for one in found.standings()]}
    except InvalidRequest as error:  # a method without a list of scores
        return {**told, "missing": error.message}


async def _shown(page: Page, holdout: str, error: CuratorError | None = None, field: str = "") -> Response:
    found, who = page.desk.house.holdout(page.visitor, holdout, Action.LOOK)
    budget = await page.done(found.budget)
    return await page.show(
        "holdout.html",
        "Holdout",
        of=holdout,
        facts=found.facts(),
        budget=budget,
        scores=may(who.role, Action.SCORE),
        cost=HoldoutOperations.score.cost,
        typed={name: page.typed(name) for name in ("guess", "column", "name")},
        problem=None if error is None else problem_of(error, field),
        status=200 if error is None else error.status,
    )


def _values(page: Page, found: ServedHoldout, field: str) -> list[Any]:
    """Of a file that was sent.  What it is called decides only how it is read."""
    file = page.form.get(field)
    if not isinstance(file, Sent) or not file.name:
        raise InvalidRequest(CHOOSE)
    return values_of(found, file, page.typed("column") or None)
