"""Holdouts over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from adyton.service.holdouts import ServedHoldout
from adyton.service.roles import Action
from adyton.transports.http.bodies import After, Last, Models, Pair, Predictions, Submitted, Verify
from adyton.transports.http.desk import Sender, TheDesk, TokenFirst
from adyton.transports.http.errors import RESPONSES
from adyton.transports.http.formats import told

routes = APIRouter(prefix="/v1/holdouts", tags=["holdouts"], responses=RESPONSES, route_class=TokenFirst)


@routes.get("", summary="The holdouts that this token is for")
async def holdouts(desk: TheDesk, sender: Sender) -> Response:
    mine = [one for one in desk.house.served if sender.identity(one.name) and isinstance(one, ServedHoldout)]
    return await desk.done(sender, lambda: told({"holdouts": [one.facts() for one in mine]}))


@routes.get("/{holdout}", summary="Its public facts")
async def facts(desk: TheDesk, sender: Sender, holdout: str) -> Response:
    found, _ = desk.house.holdout(sender, holdout, Action.LOOK)
    return await desk.done(sender, lambda: told(found.facts()))


@routes.post("/{holdout}/score", summary="Score predictions, in the order of the items")
async def score(desk: TheDesk, sender: Sender, holdout: str, body: Predictions) -> Response:
    found, who = desk.house.holdout(sender, holdout, Action.SCORE)
    return await desk.done(sender, lambda: told(found.score(who, body.predictions, body.guess)))


@routes.post("/{holdout}/submit", summary="Score predictions as a model of the team that the token is for")
async def submit(desk: TheDesk, sender: Sender, holdout: str, body: Submitted) -> Response:
    found, who = desk.house.holdout(sender, holdout, Action.SCORE)
    words = body.guess, body.entrant, body.name
    return await desk.done(sender, lambda: told(found.submit(who, body.predictions, *words)))


@routes.post("/{holdout}/best", summary="Which of several models is the best, for the price of one score")
async def best(desk: TheDesk, sender: Sender, holdout: str, body: Models) -> Response:
    found, who = desk.house.holdout(sender, holdout, Action.SCORE)
    return await desk.done(sender, lambda: told(found.best_of(who, body.models, body.scores)))


@routes.post("/{holdout}/close", summary="The last score, exact: afterwards nothing is scored")
async def close(desk: TheDesk, sender: Sender, holdout: str, body: Last) -> Response:
    found, who = desk.house.holdout(sender, holdout, Action.CLOSE)
    return await desk.done(sender, lambda: told(found.close_with(who, body.predictions)))


@routes.post("/{holdout}/compare", summary="By how much the first are better, for the price of one score")
async def compare(desk: TheDesk, sender: Sender, holdout: str, body: Pair) -> Response:
    found, who = desk.house.holdout(sender, holdout, Action.SCORE)
    return await desk.done(sender, lambda: told(found.compare(who, body.first, body.second)))


@routes.get("/{holdout}/budget", summary="How many scores are left")
async def budget(desk: TheDesk, sender: Sender, holdout: str) -> Response:
    found, _ = desk.house.holdout(sender, holdout, Action.BUDGET)
    return await desk.done(sender, lambda: told(found.budget()))


@routes.get("/{holdout}/standings", summary="Who is ahead, ties as ties")
async def standings(desk: TheDesk, sender: Sender, holdout: str) -> Response:
    found, _ = desk.house.holdout(sender, holdout, Action.STANDINGS)
    return await desk.done(sender, lambda: told(found.standings()))


@routes.get("/{holdout}/scores", summary="The own scores; for owners and auditors all")
async def scores(desk: TheDesk, sender: Sender, holdout: str) -> Response:
    found, who = desk.house.holdout(sender, holdout, Action.OWN_RECEIPTS)
    return await desk.done(sender, lambda: told(found.scores(who)))


@routes.get(
    "/{holdout}/receipts", summary="The chain: the open part of all links, and the own receipts whole"
)
async def receipts(desk: TheDesk, sender: Sender, holdout: str, after: After = 0) -> Response:
    found, who = desk.house.holdout(sender, holdout, Action.OWN_RECEIPTS)
    return await desk.done(sender, lambda: told(found.receipts(who, after)))


@routes.post("/{holdout}/verify", summary="Replay its ledger here")
async def verify(desk: TheDesk, sender: Sender, holdout: str, body: Verify) -> Response:
    found, _ = desk.house.holdout(sender, holdout, Action.VERIFY)
    return await desk.done(sender, lambda: told(found.verify(body.head)))
