"""Tokens over HTTP, for owners; nothing here raises a limit."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from adyton.errors import InvalidRequest
from adyton.service.identity import Identity, share_of
from adyton.service.roles import Action, role_named
from adyton.transports.http.bodies import NewToken, Revoked
from adyton.transports.http.desk import Sender, TheDesk, TokenFirst
from adyton.transports.http.errors import RESPONSES
from adyton.transports.http.formats import told

routes = APIRouter(prefix="/v1/tokens", tags=["tokens"], responses=RESPONSES, route_class=TokenFirst)


@routes.get("/{name}", summary="The tokens of a study or holdout; none of them can be seen again")
async def tokens(desk: TheDesk, sender: Sender, name: str) -> Response:
    found, _ = desk.house.anything(sender, name, Action.TOKENS)
    return told({"tokens": [known.to_json() for known in found.tokens.all()]})


@routes.post("/{name}", summary="A new token, shown once")
async def make(desk: TheDesk, sender: Sender, name: str, body: NewToken) -> Response:
    found, _ = desk.house.anything(sender, name, Action.TOKENS)
    if len(body.name) > desk.house.settings.longest_name:
        raise InvalidRequest(f"a name has at most {desk.house.settings.longest_name} characters here")
    identity = Identity(
        body.name,
        role_named(body.role),
        share_of(body.limit_share, "limit_share"),
        share_of(body.price_share, "price_share"),
        body.rate,
    )
    token, known = await desk.done(sender, lambda: found.tokens.make(identity, body.expires))
    return told({"token": token, **known.to_json()})


@routes.post("/{name}/revoke", summary="End a token, or all of a name, at once")
async def revoke(desk: TheDesk, sender: Sender, name: str, body: Revoked) -> Response:
    found, _ = desk.house.anything(sender, name, Action.TOKENS)
    ended = await desk.done(sender, lambda: found.tokens.revoke(body.token))
    return told({"revoked": [known.id for known in ended]})
