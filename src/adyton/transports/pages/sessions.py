"""Who stands behind a cookie.

A cookie names tokens by their ids, never a token, and is signed with a key made of the server's secret: so it
holds in all processes, and nobody can write one.  Every request looks the tokens up anew: a session ends with
them, at once.  A person of the identity provider has no token here: a session names them and their claims,
and ends with the provider's token.  Ended sessions are noted beside the tokens until they would have run out.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from adyton.errors import Unauthenticated
from adyton.service.beside import keyed_hash, secret_beside
from adyton.service.house import House, Visitor
from adyton.service.oidc import Person

IDLE = 30 * 60  # seconds after which a session that nobody uses ends
LONGEST = 8 * 3600  # seconds after which any session ends
WAY = 600  # seconds for somebody to log in at the identity provider
_LONGEST_COOKIE = 4000


@dataclass(frozen=True, slots=True)
class WebSession:
    """``places``: the id of the token in each study and holdout.  Times are seconds since 1970; ``began`` is
    a moment of the tokens, which never goes back.
    """

    id: str
    began: float
    until: float  # if nobody uses it
    end: float  # in any case
    places: dict[str, str]
    person: str | None = None
    claims: tuple[str, ...] = ()

    @property
    def keys(self) -> list[str]:
        """Under which it can be ended: by itself, with its token, or with its person."""
        tokens = [f"token {id_}" for id_ in self.places.values()]
        return [f"session {self.id}", *tokens, *([f"person {self.person}"] if self.person else [])]


class WebSessions:
    """Of one house.  ``clock`` is that of the tokens."""

    def __init__(self, house: House, clock: Callable[[], float] = time.time) -> None:
        self._house, self._clock = house, clock

    @cached_property
    def _secret(self) -> bytes:
        return secret_beside(self._house.served[0].path)

    @cached_property
    def name(self) -> str:
        """Of the cookie.  Servers on several ports of one machine share cookies, so each has its own."""
        return f"adyton_{keyed_hash(self._secret, 'session', 'the name of the cookie')[:8]}"

    def begin(self, token: str) -> WebSession:
        """For whoever holds this token; Unauthenticated if nobody does."""
        now, provider = self._clock(), self._house.provider
        if provider is not None and self._house.is_from_provider(token):
            person = provider.person(token)
            self._house.visitor_of(provider.places_of(person))  # Unauthenticated if nothing here is for them
            fresh = self._fresh(provider.places_of(person), min(now + LONGEST, person.until))
            return replace(fresh, person=person.name, claims=person.claims)
        found = {one.name: one.tokens.find(token) for one in self._house.served}
        places = {name: known.id for name, known in found.items() if known is not None}
        if not places:
            raise Unauthenticated
        return replace(self._fresh(places, now + LONGEST), places=places)

    def _fresh(self, names: Collection[str], end: float) -> WebSession:
        """It began after whatever was ended before, also if the clock was set back meanwhile."""
        began = max(one.tokens.moment() for one in self._house.served if one.name in names)
        return WebSession(secrets.token_hex(16), began, min(self._clock() + IDLE, end), end, {})

    def visitor(self, session: WebSession) -> Visitor:
        """Whoever it is for, as the tokens and the server file say now."""
        if session.until <= self._clock():
            raise Unauthenticated
        provider = self._house.provider
        if session.person is not None:
            if provider is None:
                raise Unauthenticated
            person = Person(session.person, session.claims, int(session.end))
            visitor = self._house.visitor_of(provider.places_of(person))
        else:
            places = session.places
            visitor = self._house.visitor_by(lambda one: one.tokens.known(places.get(one.name, "")))
        ended = [one.tokens for one in self._house.served if visitor.identity(one.name)]
        if any(tokens.sessions_ended(session.keys) >= session.began for tokens in ended):
            raise Unauthenticated
        return visitor

    def end(self, session: WebSession, *, everywhere: bool) -> None:
        """This one; or all that anybody has begun with the same token."""
        keys = session.keys[1:] if everywhere else session.keys[:1]
        visitor = self.visitor(session)
        for one in self._house.served:
            if visitor.identity(one.name):
                for key in keys:
                    one.tokens.end_sessions(key)

    def prolonged(self, session: WebSession) -> WebSession | None:
        """The same for longer, if half of its time is over; None if it need not or cannot last longer."""
        now = self._clock()
        if session.until - now > IDLE / 2 or session.until >= session.end:
            return None
        return replace(session, until=min(now + IDLE, session.end))

    # Cookies and forms.

    def written(self, session: WebSession) -> str:
        return self._sealed("session", asdict(session))

    def read(self, cookie: str | None) -> WebSession:
        """Unauthenticated unless we wrote it."""
        told = self._unsealed("session", cookie)
        if told is None:
            raise Unauthenticated
        return WebSession(**{**told, "claims": tuple(told["claims"])})

    def new_way(self, next_: str) -> dict[str, str]:
        """To the identity provider and back: what only this browser and we know of it."""
        end = str(int(self._clock()) + WAY)
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        short = next_ if len(next_) <= _LONGEST_COOKIE // 4 else "/"
        return {"state": state, "verifier": verifier, "next": short, "end": end}

    def sealed(self, note: dict[str, str]) -> str:
        return self._sealed("way", note)

    def way_of(self, cookie: str | None, state: str) -> dict[str, str] | None:
        """The note of this browser, if it was sent by us with this ``state``, and not long ago."""
        note: dict[str, str] | None = self._unsealed("way", cookie)
        if note is None:
            return None
        fits = hmac.compare_digest(note["state"].encode(), state.encode("utf-8", "replace"))
        return note if fits and self._clock() < int(note["end"]) else None

    def form_value(self, visit: str) -> str:
        """What every form of this session, or of a visit before it, carries: no page elsewhere knows it."""
        return keyed_hash(self._secret, "form", visit)

    def fits(self, visit: str, value: object) -> bool:
        return isinstance(value, str) and hmac.compare_digest(
            self.form_value(visit).encode(), value.encode("utf-8", "replace")
        )

    def _sealed(self, purpose: str, told: dict[str, Any]) -> str:
        text = base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")
        return f"{text}.{keyed_hash(self._secret, purpose, text)}"

    def _unsealed(self, purpose: str, cookie: str | None) -> Any:
        """What a cookie says that we wrote for this purpose; None if we did not write it."""
        text, _, signature = (cookie or "").rpartition(".")
        if len(text) > _LONGEST_COOKIE or not (text + signature).isascii():
            return None
        if not hmac.compare_digest(keyed_hash(self._secret, purpose, text), signature):
            return None
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
