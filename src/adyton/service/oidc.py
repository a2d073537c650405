"""Bearer tokens of an identity provider (OpenID Connect): who that is, and which roles its claims give.

Signatures are checked with the provider's own keys, which are fetched when a new one appears and kept for
some minutes: one that the provider withdraws is then no longer believed.  Anybody can send a token that names
a key that nobody knows, so keys are fetched seldom, and by one request at a time.  Only algorithms with
public keys are taken.  What the server file does not map gives no role.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

from adyton.errors import InvalidRequest, Unauthenticated
from adyton.operations.roles import role_named
from adyton.service.identity import PROVIDED, Identity, share_of

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_CODE_KEYS = ("client_id", "authorize", "token", "redirect")
_KEYS = ("issuer", "audience", "jwks", "name_claim", "roles_claim", "roles", *_CODE_KEYS)
_OF_ROLE = ("claim", "study", "role", "budget_share", "price_share", "rate")
_KEEP_KEYS = 300  # seconds, after which they are fetched anew
_LONGEST_KEPT = 900  # seconds, after which they are no longer believed, though the provider is silent
_PAUSE = 10  # seconds between two times that they are fetched
_PATIENCE = 5  # seconds for the provider to answer
_LEEWAY = 30  # seconds by which clocks may differ
_LONGEST_NAME = 150
_LONGEST_REPLY = 100_000  # bytes
SECRET = "ADYTON_OIDC_SECRET"  # of this server at the provider, where that wants one


@dataclass(frozen=True, slots=True)
class Mapping:
    """Whoever has ``claim`` among the values of the roles claim has this role in this study or holdout."""

    claim: str
    study: str
    role: str
    budget_share: Fraction | None = None
    price_share: Fraction | None = None
    rate: int | None = None

    def identity(self, name: str) -> Identity:
        return Identity(name, role_named(self.role), self.budget_share, self.price_share, self.rate)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody for whom the provider vouches, until a time in seconds."""

    name: str
    claims: tuple[str, ...]
    until: int


@dataclass(frozen=True, slots=True)
class CodeFlow:
    """How a browser is sent to the provider and comes back with a code, which only we can exchange for tokens
    (authorization code flow with PKCE).  ``redirect`` is where it comes back to, as the provider knows it.
    """

    client_id: str
    authorize: str
    token: str
    redirect: str

    def __post_init__(self) -> None:
        for what in ("authorize", "token", "redirect"):
            if not getattr(self, what).startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
                raise InvalidRequest(f"oidc.{what} must be an https address")

    def address(self, state: str, verifier: str) -> str:
        """Where to send the browser.  Whoever reads it cannot exchange the code: it lacks the verifier."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect,
            "scope": "openid",
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self.authorize}{'&' if '?' in self.authorize else '?'}{urlencode(asked)}"

    def exchanged(self, code: str, verifier: str) -> list[str]:
        """The tokens that the provider gives for a code; Unauthenticated if it gives none."""
        told = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect,
            "client_id": self.client_id,
            "code_verifier": verifier,
        }
        secret = os.environ.get(SECRET)
        body = urlencode({**told, **({"client_secret": secret} if secret else {})}).encode()
        request = urllib.request.Request(self.token, body, {"Accept": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as reply:
                given = json.loads(reply.read(_LONGEST_REPLY))
            found = [given.get(name) for name in ("id_token", "access_token")]
        except (OSError, ValueError, AttributeError):
            found = []
        if not any(isinstance(one, str) for one in found):
            raise Unauthenticated
        return [one for one in found if isinstance(one, str)]


class Provider:
    """An issuer that this server believes."""

    def __init__(self, section: dict[str, Any]) -> None:
        unknown = next((key for key in section if key not in _KEYS), None)
        if unknown is not None:
            raise InvalidRequest(f"oidc.{unknown} is not known; known: {', '.join(_KEYS)}")
        self._issuer, self._audience, jwks = (_text(section, key) for key in ("issuer", "audience", "jwks"))
        self._name_claim = section.get("name_claim", "sub")
        self._roles_claim = section.get("roles_claim", "groups")
        self._mappings = [_mapping(one) for one in section.get("roles", [])]
        self.code = _code_flow(section)
        if not jwks.startswith("https://") and not jwks.startswith("http://127.0.0.1:"):
            raise InvalidRequest("oidc.jwks must be an https address")
        try:
            from jwt import PyJWKClient
        except ImportError:
            raise InvalidRequest("[oidc] needs PyJWT: pip install 'adyton[server]'") from None
        self._keys = ProviderKeys(PyJWKClient(jwks, cache_jwk_set=False, timeout=_PATIENCE).get_signing_keys)

    def person(self, token: str) -> Person:
        """What a token says, as far as the server file asks for it."""
        claims = self._claims(token)
        name = claims.get(self._name_claim)
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
            raise Unauthenticated
        if name != name.strip():
            raise Unauthenticated
        held = claims.get(self._roles_claim, [])
        listed = held if isinstance(held, list) else [held]
        values = {one for one in listed if isinstance(one, str)}
        asked_for = sorted({one.claim for one in self._mappings if one.claim in values})
        return Person(name, tuple(asked_for), int(claims["exp"]))

    def places_of(self, person: Person) -> dict[str, Identity]:
        """Who that is, in each study and holdout that their claims lead to, as the server file says now."""
        found: dict[str, Identity] = {}
        for one in self._mappings:  # the first that fits rules
            if one.claim in person.claims and one.study not in found:
                found[one.study] = one.identity(PROVIDED + person.name)
        return found

    def _claims(self, token: str) -> dict[str, Any]:
        import jwt

        try:
            key = self._keys.named(jwt.get_unverified_header(token).get("kid"))
            return dict(
                jwt.decode(
                    token,
                    key,
                    algorithms=_ALGORITHMS,
                    audience=self._audience,
                    issuer=self._issuer,
                    leeway=_LEEWAY,
                    options={"require": ["exp", "iat", "iss", "aud", "sub"]},
                )
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            claims = None
        if claims is None:
            raise Unauthenticated
        return claims


class ProviderKeys:
    """The keys of a provider by their names; ``fetch`` gets them, or raises."""

    def __init__(self, fetch: Callable[[], list[Any]], clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch, self._clock, self._fetching = fetch, clock, threading.Lock()
        self._kept: dict[str, Any] = {}
        self._fetched = self._tried = -float("inf")

    def named(self, name: object) -> Any:
        """The key of this name; Unauthenticated if the provider has none, or cannot be asked now."""
        missing = not self._is_young(_KEEP_KEYS) or name not in self._kept
        # Whoever comes while keys are fetched goes on with those that are known, unless there are none.
        if missing and self._fetching.acquire(blocking=not self._kept):
            try:
                self._look_again(name)
            finally:
                self._fetching.release()
        if not self._is_young(_LONGEST_KEPT) or name not in self._kept:
            raise Unauthenticated
        return self._kept[name]

    def _look_again(self, name: object) -> None:
        import jwt

        now = self._clock()
        if now - self._tried < _PAUSE or (self._is_young(_KEEP_KEYS) and name in self._kept):
            return
        self._tried = now
        with suppress(jwt.PyJWTError, OSError, ValueError):
            self._kept = {key.key_id: key.key for key in self._fetch()}
            self._fetched = now

    def _is_young(self, seconds: float) -> bool:
        return self._clock() - self._fetched < seconds


def looks_like_one(token: str) -> bool:
    """Three parts with dots between them: a token of ours has none."""
    return token.count(".") == 2


def _code_flow(section: dict[str, Any]) -> CodeFlow | None:
    """None if people paste a token instead."""
    if not any(key in section for key in _CODE_KEYS):
        return None
    return CodeFlow(*(_text(section, key) for key in _CODE_KEYS))


def _mapping(raw: dict[str, Any]) -> Mapping:
    unknown = next((key for key in raw if key not in _OF_ROLE), None)
    if unknown is not None:
        raise InvalidRequest(f"oidc.roles.{unknown} is not known; known: {', '.join(_OF_ROLE)}")
    shares = {what: share_of(raw.get(what), f"oidc.roles.{what}") for what in ("budget_share", "price_share")}
    made = Mapping(
        _text(raw, "claim"), _text(raw, "study"), _text(raw, "role"), **shares, rate=raw.get("rate")
    )
    made.identity("tried")  # what makes no sense is found now
    return made


def _text(section: dict[str, Any], key: str) -> str:
    value = section.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"oidc: {key} is missing")
    return value
