"""Tokens over HTTP, for owners; nothing here raises a budget."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from adyton.service.identity import identity_of
from adyton.service.roles import Action
from adyton.transports.http.bodies import NewToken, Revoked
from adyton.transports.http.desk import Sender, TheDesk, TokenFirst
from adyton.transports.http.errors import RESPONSES
from adyton.transports.http.formats import told

routes = APIRouter(prefix="/v1/tokens", tags=["tokens"], responses=RESPONSES, route_class=TokenFirst)


@routes.get("/{name}", summary="The tokens of a study or holdout; none of them can be seen again")
async def tokens(desk: TheDesk, sender: Sender, name: str) -> Response:
    found, _ = desk.house.anything(sender, name, Action.TOKENS)
    return await desk.done(sender, lambda: told(found.tokens.listed().to_json()))


@routes.post("/{name}", summary="A new token, shown once")
async def make(desk: TheDesk, sender: Sender, name: str, body: NewToken) -> Response:
    found, _ = desk.house.anything(sender, name, Action.TOKENS)
    identity = identity_of(body.words(), desk.house.settings.longest_name)
    token, known = await desk.done(sender, lambda: found.tokens.make(identity, body.expires))
    return told({"token": token, **known.to_json()})


@routes.post("/{name}/revoke", summary="End a token, or all of a name, at once")
async def revoke(desk: TheDesk, sender: Sender, name: str, body: Revoked) -> Response:
    found, _ = desk.house.anything(sender, name, Action.TOKENS)
    ended = await desk.done(sender, lambda: found.tokens.revoke(body.token))
    return told({"revoked": [known.id for known in ended]})
