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
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from adyton.errors import Unauthenticated
from adyton.service.house import House, Visitor
from adyton.service.identity import Identity
from adyton.service.oidc import Person
from adyton.service.secret import keyed_hash, secret_beside

IDLE = 30 * 60  # seconds after which a session that nobody uses ends
LONGEST = 8 * 3600  # seconds after which any session ends
_LONGEST_COOKIE = 4000


@dataclass(frozen=True, slots=True)
class Session:
    """``places``: the id of the token in each study and holdout.  Times are seconds since 1970."""

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


class Sessions:
    """Of one house.  ``clock`` is that of the tokens."""

    def __init__(self, house: House, clock: Callable[[], float] = time.time) -> None:
        self._house, self._clock = house, clock
        # An empty house is only described: it lets nobody in.
        self._secret = secret_beside(house.served[0].path) if house.served else secrets.token_bytes(32)
        self.name = f"adyton_{self._signature('the name of the cookie')[:8]}"  # ports share their cookies

    def begin(self, token: str) -> Session:
        """For whoever holds this token; Unauthenticated if nobody does."""
        now, provider = self._clock(), self._house.provider
        if provider is not None and self._house.is_from_provider(token):
            self._house.visitor(token)
            person = provider.person(token)
            end = min(now + LONGEST, person.until)
            return _fresh(now, end, {}, person.name, person.claims)
        found = {one.name: one.tokens.find(token) for one in self._house.served}
        places = {name: known.id for name, known in found.items() if known is not None}
        if not places:
            raise Unauthenticated
        return _fresh(now, now + LONGEST, places)

    def visitor(self, session: Session) -> Visitor:
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
            visitor = self._of_tokens(session)
        ended = [one.tokens for one in self._house.served if visitor.identity(one.name)]
        if any(tokens.sessions_ended(session.keys) >= session.began for tokens in ended):
            raise Unauthenticated
        return visitor

    def _of_tokens(self, session: Session) -> Visitor:
        places: dict[str, Identity] = {}
        key = ""
        for one in self._house.served:
            known = one.tokens.known(session.places.get(one.name, ""))
            if known is not None:
                places[one.name] = known.identity
                key = key or known.id
        if not places:
            raise Unauthenticated
        return Visitor(key, places)

    def end(self, session: Session, *, everywhere: bool) -> None:
        """This one; or all that anybody has begun with the same token."""
        keys = session.keys[1:] if everywhere else session.keys[:1]
        visitor = self.visitor(session)
        for one in self._house.served:
            if visitor.identity(one.name):
                for key in keys:
                    one.tokens.end_sessions(key, LONGEST)

    def prolonged(self, session: Session) -> Session | None:
        """The same for longer, if half of its time is over; None if it need not or cannot last longer."""
        now = self._clock()
        if session.until - now > IDLE / 2 or session.until >= session.end:
            return None
        return replace(session, until=min(now + IDLE, session.end))

    # Cookies and forms.

    def written(self, session: Session) -> str:
        text = base64.urlsafe_b64encode(json.dumps(asdict(session)).encode()).decode().rstrip("=")
        return f"{text}.{self._signature(text)}"

    def read(self, cookie: str | None) -> Session:
        """Unauthenticated unless we wrote it."""
        text, _, signature = (cookie or "").rpartition(".")
        if len(text) > _LONGEST_COOKIE or not text.isascii() or not signature.isascii():
            raise Unauthenticated
        if not hmac.compare_digest(self._signature(text), signature):
            raise Unauthenticated
        told = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return Session(**{**told, "claims": tuple(told["claims"])})

    def form_value(self, visit: str) -> str:
        """What every form of this session, or of a visit before it, carries: no page elsewhere knows it."""
        return keyed_hash(self._secret, "form", visit)

    def fits(self, visit: str, value: object) -> bool:
        return isinstance(value, str) and hmac.compare_digest(
            self.form_value(visit).encode(), value.encode("utf-8", "replace")
        )

    def _signature(self, text: str) -> str:
        return keyed_hash(self._secret, "session", text)


def _fresh(
    now: float, end: float, places: dict[str, str], person: str | None = None, claims: tuple[str, ...] = ()
) -> Session:
    return Session(secrets.token_hex(16), now, min(now + IDLE, end), end, places, person, claims)
