"""Agents at a server's own port: Streamable HTTP at /mcp.

Each request stands for itself: who sends it is asked anew, so a revoked token ends at once, and it does not
matter which of several processes gets it.
"""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ConfigDict, ValidationError
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from adyton.certify import json_text
from adyton.errors import CuratorError, Forbidden, TooLarge, Unauthenticated
from adyton.service.gate import Holding
from adyton.service.house import Visitor
from adyton.service.limits import LIMITS
from adyton.service.settings import Settings
from adyton.transports.http.desk import LONGEST_TOKEN, Desk
from adyton.transports.http.errors import response_of
from adyton.transports.http.intake import again, read_body
from adyton.transports.http.large_json import parsed
from adyton.transports.mcp.server import Agents

_NAMING = (b"host", b"origin")
_NAME = re.compile(rb"(https?://)?(\[[0-9a-f:.]+\]|[a-z0-9._\-]+)(:[0-9]{1,5})?|null", re.IGNORECASE)
_HERE = ("127.0.0.1", "localhost", "[::1]")


class Admitted(AccessToken):
    """A token that was looked up, and who holds it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    visitor: Visitor


class ServerTokenVerifier(TokenVerifier):
    """The house's own tokens, and those of its identity provider."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def verify_token(self, token: str) -> AccessToken | None:
        if len(token) > LONGEST_TOKEN:
            return None
        try:
            visitor = self._desk.let_in(await self._desk.holder(token.strip()))
        except Unauthenticated:
            return None
        return Admitted(token="", client_id=visitor.key, scopes=[], visitor=visitor)


class DoorForAgents:
    """An ASGI application.  ``open`` must be entered before the first request."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._manager = StreamableHTTPSessionManager(
            Agents(desk, _caller, "").server(),
            json_response=True,  # nothing is ever sent but the answer
            stateless=True,
            security_settings=_names(desk.house.settings),
            max_request_body_size=LIMITS.agent_bytes,
        )
        inner = RequireAuthMiddleware(self._checked, [])
        self._app = AuthenticationMiddleware(inner, backend=BearerAuthBackend(ServerTokenVerifier(desk)))
        self.route = Route("/mcp", endpoint=self, include_in_schema=False)

    def open(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self.route  # by which it is logged and counted
        if scope["method"] != "POST":  # nothing is ever sent that was not asked for
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        try:
            self._desk.knock(scope)
            _check_names(scope)
            await self._app(scope, receive, send)
            return
        except CuratorError as error:
            refusal = response_of(error)
        await refusal(scope, receive, send)

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Only a message goes on to the SDK, which parses it in the loop, and would quote what is none."""
        admitted = scope["user"].access_token
        most = min(LIMITS.agent_bytes, self._desk.house.settings.request_bytes)
        with Holding(self._desk.uploads, admitted.client_id) as holding:
            content = await read_body(receive, most, holding)
            wrong = await self._desk.parsed(lambda: _wrong_with(content))
            if wrong is None:
                await self._manager.asgi_app(scope, again(content, receive), send)
                return
        await wrong(scope, receive, send)


def _wrong_with(content: bytes) -> Response | None:
    """None for one message of JSON-RPC 2.0."""
    code, said = PARSE_ERROR, "the body is not JSON; nothing was charged"
    try:
        made = parsed(content)
        code, said = INVALID_REQUEST, "the body is not one message of JSON-RPC 2.0; nothing was charged"
        jsonrpc_message_adapter.validate_python(made, by_name=False)
        return None
    except TooLarge as error:
        said = error.message
    except (CuratorError, ValidationError):
        pass
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": said}}
    return Response(json_text(body), 400, media_type="application/json")


def _check_names(scope: Scope) -> None:
    """The SDK compares how a name begins, and takes anything for the number of a port."""
    for header, value in scope["headers"]:
        if header in _NAMING and _NAME.fullmatch(value) is None:
            raise Forbidden(f"{header.decode().title()} is not a name of this server; nothing was charged")


def _caller(context: Any) -> Visitor:
    admitted = context.request.user.access_token
    assert isinstance(admitted, Admitted)
    return admitted.visitor


def _names(settings: Settings) -> TransportSecuritySettings:
    """Under which names a request may come: those of the server file, and this machine's own."""
    hosts = [one for host in (*_HERE, *settings.names) for one in (host, f"{host}:*")]
    ours = [f"http://{host}" for host in _HERE] + [f"https://{host}" for host in (*_HERE, *settings.names)]
    origins = [one for origin in ours for one in (origin, f"{origin}:*")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
