"""Tokens of a study or a holdout: 256 random bits, shown once, kept as a keyed hash beside its file.

Every request looks a token up anew, so one that was revoked is revoked in all processes at once.  A token is
as long as a key, so a fast hash is right: nobody can try them out.  Beside the hash is a verifier, for
clients that prove a token and never send it.
"""

from __future__ import annotations

import hmac
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from adyton.errors import InvalidRequest
from adyton.operations.roles import Role, role_named
from adyton.service.beside import Database, keyed_hash, secret_beside
from adyton.service.identity import PROVIDED, Identity, identity_of
from adyton.service.proofs.scram import ScramVerifier

_TABLE = """
CREATE TABLE IF NOT EXISTS tokens (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,
    budget_share TEXT, price_share TEXT, rate INTEGER, made_at INTEGER NOT NULL, expires_at INTEGER,
    revoked_at INTEGER, verifier TEXT
) STRICT
"""
_ENDED = "CREATE TABLE IF NOT EXISTS ended_sessions (key TEXT PRIMARY KEY, at REAL NOT NULL) STRICT"
_MOMENTS = "CREATE TABLE IF NOT EXISTS moments (id INTEGER PRIMARY KEY, at REAL NOT NULL) STRICT"
_MOST_ENDED = 100_000  # log-outs that are remembered
_COLUMNS = "id, name, role, budget_share, price_share, rate, made_at, expires_at, revoked_at"
_PREFIX = "adyton_"
_TOKEN = re.compile(_PREFIX + r"[0-9a-f]{64}")
_SPANS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LONGEST = 100 * 366 * 86400
LONGEST_NAME = 100
_PURPOSE, _SALT = "token", "salt of verifiers"


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What is kept of a token: everything but itself."""

    id: str
    identity: Identity
    made_at: int
    expires_at: int | None
    revoked_at: int | None

    def is_valid(self, now: float) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def to_json(self) -> dict[str, Any]:
        who = self.identity
        return {
            "id": self.id,
            "name": who.name,
            "role": str(who.role),
            "budget_share": None if who.budget_share is None else float(who.budget_share),
            "price_share": None if who.price_share is None else float(who.price_share),
            "rate": who.rate,
            "made_at": self.made_at,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
        }


class Tokens:
    """The tokens of the study or holdout at ``path``; their file is made by the first one."""

    def __init__(self, path: str | Path, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path).absolute().with_suffix(".tokens")
        self.longest_name = LONGEST_NAME  # letters; a server may say how many
        self._owner_file, self._clock = Path(path).absolute(), clock
        self._kept = Database(self.path, "the tokens", _prepare)

    def make(self, identity: Identity, expires: str | None = None) -> tuple[str, TokenRecord]:
        """A new token, and what is kept of it: the token itself is never seen again."""
        if identity.name != identity.name.strip():  # " ana" in a list would be taken for ana
            raise InvalidRequest("a name neither begins nor ends with a space")
        if identity.name.startswith(PROVIDED):
            raise InvalidRequest(f"names that begin with {PROVIDED!r} are for people of an identity provider")
        if identity.role is Role.AGENT and expires is None:
            raise InvalidRequest("a token of an agent expires: give expires, such as 30d")
        token, now = fresh_token(), int(self._clock())
        known = TokenRecord(fresh_id(), identity, now, _end(expires, now), None)
        self.keep(token, known)
        return token, known

    def create(self, **given: Any) -> dict[str, Any]:
        """A new token of what somebody wrote, with what is kept of it."""
        token, known = self.make(identity_of(given, self.longest_name), given["expires"])
        return {"token": token, **known.to_json()}

    def listed(self) -> list[dict[str, Any]]:
        return [known.to_json() for known in self.all()]

    def ended(self, token: str) -> list[str]:
        """The ids of those that end now."""
        return [known.id for known in self.revoke(token)]

    def keep(self, token: str, known: TokenRecord) -> None:
        """Store the hash of a token that was made."""
        who = known.identity
        row = (
            known.id,
            self._hash(token),
            who.name,
            str(who.role),
            _share_text(who.budget_share),
            _share_text(who.price_share),
            who.rate,
            known.made_at,
            known.expires_at,
            ScramVerifier.of(token, self.salt_of(self._owner_file.stem)).to_text(),
        )
        with self._kept.work() as connection:
            connection.execute(
                "INSERT INTO tokens (id, hash, name, role, budget_share, price_share, rate, made_at, "
                "expires_at, verifier) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def find(self, token: str) -> TokenRecord | None:
        """Who holds this token, None if nobody does any more or never did."""
        if not self.path.exists():  # nor is a secret made to look for it
            return None
        known = self.find_hashed(self._hash(token))  # also of what cannot be one: all take the same time
        return known if _TOKEN.fullmatch(token) is not None else None

    def find_hashed(self, looked_for: str) -> TokenRecord | None:
        """Who holds the token with this hash, as ``find``."""
        rows = self._rows(f"SELECT hash, {_COLUMNS} FROM tokens WHERE hash = ?", looked_for)
        return self._valid([known for hashed, *known in rows if hmac.compare_digest(hashed, looked_for)])

    def known(self, id_: str) -> TokenRecord | None:
        """What is kept of the token with this id, None unless it is still valid."""
        return self._valid(self._rows(f"SELECT {_COLUMNS} FROM tokens WHERE id = ?", id_))

    def end_sessions(self, key: str) -> None:
        """From now on no session of the web pages holds that has ``key`` and began before."""
        with self._kept.work() as connection:
            at = _moment(connection, self._clock())
            connection.execute("INSERT OR REPLACE INTO ended_sessions VALUES (?, ?)", (key, at))
            connection.execute(
                "DELETE FROM ended_sessions WHERE rowid <= (SELECT max(rowid) FROM ended_sessions) - ?",
                (_MOST_ENDED,),
            )

    def moment(self) -> float:
        """Now, and later than any moment that was given out before, whatever the clock does."""
        with self._kept.work() as connection:
            return _moment(connection, self._clock())

    def sessions_ended(self, keys: Sequence[str]) -> float:
        """When sessions with one of these keys were ended last; 0 if they never were."""
        marks = ", ".join("?" * len(keys))
        rows = self._rows(f"SELECT at FROM ended_sessions WHERE key IN ({marks})", *keys)
        return float(max((at for (at,) in rows), default=0.0))

    def verifiers(self) -> list[tuple[ScramVerifier, str]]:
        """Of all tokens that are valid now and have one, each with the hash of its token."""
        rows = self._rows(f"SELECT verifier, hash, {_COLUMNS} FROM tokens")
        if not rows:
            return []
        now, salt = self._clock(), self.salt_of(self._owner_file.stem)
        made = [
            (ScramVerifier.from_text(text), hashed)
            for text, hashed, *row in rows
            if text is not None and _known(row).is_valid(now)
        ]
        return [(verifier, hashed) for verifier, hashed in made if verifier.salt == salt]

    def without_verifier(self) -> list[TokenRecord]:
        """Valid tokens that cannot be proved: of an older version, or of a file of another name."""
        proved = {hashed for _, hashed in self.verifiers()}
        rows = self._rows(f"SELECT hash, {_COLUMNS} FROM tokens")
        known = [(hashed, _known(row)) for hashed, *row in rows]
        return [one for hashed, one in known if hashed not in proved and one.is_valid(self._clock())]

    def salt_of(self, name: str) -> bytes:
        """Of all verifiers of a study of this name; it says nothing, not even whether there is one."""
        return bytes.fromhex(keyed_hash(self._secret, _SALT, name)[:32])

    def all(self) -> list[TokenRecord]:
        """Oldest first, also those that are revoked or expired."""
        return [_known(row) for row in self._rows(f"SELECT {_COLUMNS} FROM tokens ORDER BY made_at, rowid")]

    def revoke(self, id_or_name: str) -> list[TokenRecord]:
        """Ends the token with this id, or all of this name; returns those that it ended."""
        now = int(self._clock())
        ended = [
            known
            for known in self.all()
            if id_or_name in (known.id, known.identity.name) and known.revoked_at is None
        ]
        if not ended:
            raise InvalidRequest(f"there is no token with the id or name {id_or_name!r} to revoke")
        with self._kept.work() as connection:
            for known in ended:
                connection.execute("UPDATE tokens SET revoked_at = ? WHERE id = ?", (now, known.id))
        return ended

    def has_owner(self) -> bool:
        now = self._clock()
        return any(known.identity.role is Role.OWNER and known.is_valid(now) for known in self.all())

    def close(self) -> None:
        self._kept.close()

    def _hash(self, token: str) -> str:
        return keyed_hash(self._secret, _PURPOSE, token)

    @cached_property
    def _secret(self) -> bytes:
        return secret_beside(self._owner_file)

    def _rows(self, select: str, *given: str) -> list[tuple[Any, ...]]:
        """None where there is no file yet: looking for something makes none."""
        if not self.path.exists():
            return []
        with self._kept.work() as connection:
            return connection.execute(select, given).fetchall()

    def _valid(self, rows: Sequence[Sequence[Any]]) -> TokenRecord | None:
        """The token in the only row, if there is one and it is still valid."""
        known = _known(rows[0]) if rows else None
        return known if known is not None and known.is_valid(self._clock()) else None


def fresh_token() -> str:
    return _PREFIX + secrets.token_hex(32)


def fresh_id() -> str:
    """By which a token is listed and revoked; it opens nothing."""
    return secrets.token_hex(4)


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(_TABLE)
    connection.execute(_ENDED)
    connection.execute(_MOMENTS)
    if "verifier" not in {row[1] for row in connection.execute("PRAGMA table_info(tokens)")}:
        with suppress(sqlite3.OperationalError):  # another process has just done it
            connection.execute("ALTER TABLE tokens ADD COLUMN verifier TEXT")


def _moment(connection: sqlite3.Connection, now: float) -> float:
    connection.execute(
        "INSERT INTO moments VALUES (0, ?) ON CONFLICT (id) DO UPDATE SET at = max(at + 1e-3, excluded.at)",
        (now,),
    )
    (at,) = connection.execute("SELECT at FROM moments").fetchone()
    return float(at)


def _known(row: Sequence[Any]) -> TokenRecord:
    id_, name, role, budget_share, price_share, rate, made_at, expires_at, revoked_at = row
    shares = [None if share is None else Fraction(share) for share in (budget_share, price_share)]
    identity = Identity(name, role_named(role), shares[0], shares[1], rate)
    return TokenRecord(id_, identity, made_at, expires_at, revoked_at)


def _share_text(share: Fraction | None) -> str | None:
    return None if share is None else str(share)


def _end(expires: str | None, now: int) -> int | None:
    """From 90d, 12h, 30m or 2w."""
    if expires is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,6})([mhdw])", expires)
    if found is None:
        raise InvalidRequest(f"a span of time is written 90d, 12h, 30m or 2w, not {expires[:50]!r}")
    seconds = int(found[1]) * _SPANS[found[2]]
    if seconds > _LONGEST:
        raise InvalidRequest("a token lasts a hundred years at most")
    return now + seconds
