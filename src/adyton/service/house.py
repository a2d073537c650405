"""Everything that one server serves, by name, and who stands before its door."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from adyton.errors import Forbidden, InvalidRequest, NotFound, Unauthenticated
from adyton.operations.operation import Operation
from adyton.operations.roles import Action, Role, may
from adyton.service.agents.sessions import Caps
from adyton.service.beside import hidden_file
from adyton.service.grid import ResponseGrid
from adyton.service.holdouts import ServedHoldout
from adyton.service.identity import Identity
from adyton.service.oidc import Provider, looks_like_one
from adyton.service.proofs.scram import ScramVerifier
from adyton.service.settings import Settings
from adyton.service.studies import ServedStudy
from adyton.service.tokens import TokenRecord, fresh_id, fresh_token

Served = ServedStudy | ServedHoldout
_KINDS = {"study": ServedStudy, "holdout": ServedHoldout}


class Visitor:
    """Somebody with a valid token: who that is, in each study and holdout that the token is for."""

    def __init__(self, key: str, places: dict[str, Identity]) -> None:
        self.key, self._places = key, places

    def identity(self, name: str) -> Identity | None:
        return self._places.get(name)

    def in_sessions(self, caps: Caps) -> Visitor:
        """The same, held to what one session may do."""
        if not caps.any:
            return self
        places = {name: replace(who, session=caps) for name, who in self._places.items()}
        return Visitor(self.key, places)

    @property
    def roles(self) -> set[Role]:
        """In whatever this visitor may see."""
        return {who.role for who in self._places.values()}

    @property
    def rate(self) -> int | None:
        """The least of those that were set."""
        return min((who.rate for who in self._places.values() if who.rate is not None), default=None)


class House:
    """Studies and holdouts by name.  Nothing is loaded before ``load``."""

    def __init__(self, served: Iterable[Served], settings: Settings) -> None:
        self.settings, self.caps = settings, settings.caps
        self.grid = ResponseGrid(float(settings.tick))
        self.provider = Provider(settings.oidc) if settings.oidc is not None else None
        self._served: dict[str, Served] = {}
        for one in served:
            if one.name in self._served:
                raise InvalidRequest(f"two files are called {one.name!r}: give them different names")
            one.tokens.longest_name = settings.longest_name
            self._served[one.name] = one

    @classmethod
    def of_files(cls, paths: Sequence[str | Path], settings: Settings) -> House:
        """Each file is a study or a holdout: which, it says itself."""
        if not paths:
            raise InvalidRequest("name at least one study file or holdout file to serve")
        made: list[Served] = []
        try:
            made.extend(_opened(Path(path), settings) for path in paths)
            return cls(made, settings)
        except BaseException:
            for one in made:
                one.close()
            raise

    def load(self) -> None:
        """All data is loaded and all ledgers are replayed before the first request."""
        for one in self._served.values():
            one.load()

    def close(self) -> None:
        for one in self._served.values():
            one.close()

    @property
    def served(self) -> list[Served]:
        return list(self._served.values())

    def owner_token(self) -> str | None:
        """One new token for all that has no owner yet, None if all have one.  It is never seen again."""
        without = self._without_owner()
        if not without:
            return None
        token, now = fresh_token(), int(time.time())
        for one in without:
            one.tokens.keep(token, TokenRecord(fresh_id(), Identity("owner", Role.OWNER), now, None, None))
        return token

    def write_owner_token(self, file: Path) -> bool:
        """The same into a file that only this user can read, which is there before the token is."""
        if not self._without_owner():
            return False
        try:
            with hidden_file(file) as written:
                written.write(f"{self.owner_token()}\n")
        except OSError as error:
            reason = f"the owner's token cannot be written to {file.name} ({error.strerror})"
            raise InvalidRequest(f"{reason}: start the server once in a terminal") from None
        return True

    def _without_owner(self) -> list[Served]:
        return [one for one in self._served.values() if not one.tokens.has_owner()]

    def is_from_provider(self, token: str | None) -> bool:
        return self.provider is not None and looks_like_one(token or "")

    def visitor(self, token: str | None) -> Visitor:
        """Whoever holds this token; Unauthenticated if it is not valid anywhere."""
        if self.provider is not None and self.is_from_provider(token):
            return self.visitor_of(self.provider.places_of(self.provider.person(token or "")))
        return self.visitor_by(lambda one: one.tokens.find(token or ""))

    def visitor_hashed(self, hashed: str) -> Visitor:
        """Whoever holds the token with this hash: the same as ``visitor``, for those who never send it."""
        return self.visitor_by(lambda one: one.tokens.find_hashed(hashed))

    def visitor_by(self, find: Callable[[Served], TokenRecord | None]) -> Visitor:
        """Whoever holds the tokens that are found; Unauthenticated if none is."""
        found = {name: find(one) for name, one in self._served.items()}
        known = {name: one for name, one in found.items() if one is not None}
        if not known:
            raise Unauthenticated
        return Visitor(next(iter(known.values())).id, {name: one.identity for name, one in known.items()})

    def salt_of(self, name: str) -> bytes:
        """For proofs about the study of this name, whether there is one or not."""
        known = self._served.get(name) or next(iter(self._served.values()))
        return known.tokens.salt_of(name)

    def verifiers(self, name: str) -> list[tuple[ScramVerifier, str]]:
        """Of the tokens of the study of this name, with their hashes; none if there is no such study."""
        found = self._served.get(name)
        return found.tokens.verifiers() if isinstance(found, ServedStudy) else []

    def visitor_of(self, places: dict[str, Identity]) -> Visitor:
        """Somebody for whom the identity provider vouches."""
        here = {name: who for name, who in places.items() if name in self._served}
        if not here:
            raise Unauthenticated
        return Visitor(next(iter(here.values())).name, here)

    def study(self, visitor: Visitor, name: str, action: Action) -> tuple[ServedStudy, Identity]:
        """The study, for somebody who may do this with it."""
        found, who = self.anything(visitor, name, action)
        if not isinstance(found, ServedStudy):
            raise NotFound
        return found, who

    def holdout(self, visitor: Visitor, name: str, action: Action) -> tuple[ServedHoldout, Identity]:
        """The holdout, for somebody who may do this with it."""
        found, who = self.anything(visitor, name, action)
        if not isinstance(found, ServedHoldout):
            raise NotFound
        return found, who

    def place(self, visitor: Visitor, operation: Operation[Any, Any], name: str) -> tuple[Served, Identity]:
        """The study or holdout for an operation, for somebody who may do it there."""
        assert operation.action is not None
        found, who = self.anything(visitor, name, operation.action)
        kind = _KINDS.get(operation.place.of)
        if kind is not None and not isinstance(found, kind):
            raise NotFound
        return found, who

    def kind(self, name: str) -> Literal["study", "holdout"] | None:
        """What has this name; None if nothing has."""
        found = self._served.get(name)
        return None if found is None else "study" if isinstance(found, ServedStudy) else "holdout"

    def listed(self, visitor: Visitor, operation: Operation[Any, Any]) -> Any:
        """What is there for somebody."""
        return operation.apply(_Listing(self, visitor), {})

    def anything(self, visitor: Visitor, name: str, action: Action) -> tuple[Served, Identity]:
        """The study or holdout, for somebody who may do this with it."""
        found, who = self._served.get(name), visitor.identity(name)
        if found is None or who is None:
            raise NotFound
        if not may(who.role, action):
            raise Forbidden(f"whoever is {who.role} may not {action}; nothing was charged")
        if who.role is Role.AGENT and self.caps.any:  # its token opens every door, so this holds at all
            who = replace(who, session=self.caps)
        return found, who


@dataclass(frozen=True, slots=True)
class _Listing:
    """What one token is for."""

    house: House
    visitor: Visitor

    def studies(self) -> list[dict[str, Any]]:
        return self._facts("study")

    def holdouts(self) -> list[dict[str, Any]]:
        return self._facts("holdout")

    def _facts(self, of: str) -> list[dict[str, Any]]:
        mine = (one for one in self.house.served if self.visitor.identity(one.name))
        return [one.facts() for one in mine if isinstance(one, _KINDS[of])]


def _opened(path: Path, settings: Settings) -> Served:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if {"http:", "https:"} & set(path.parts):
            raise InvalidRequest("this is the address of a server: name a file of this machine") from None
        raise InvalidRequest(f"there is no file {path.name}: name a study file or a holdout file") from None
    except OSError:
        raise InvalidRequest(f"{path.name} cannot be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InvalidRequest(f"{path.name} is neither a study file nor a holdout file") from None
    hours = settings.caps.hours
    return (
        ServedHoldout(path, hours) if "holdout" in raw else ServedStudy(path, hours, **settings.engine_limits)
    )
