"""Sessions of agents: what one name may ask and pay for until it ends, whatever connections it opens.

A session begins with the first query of a name and lasts for some hours.  Whoever connects anew, through
another process or after a restart, is still in it, so nobody gets another one by hanging up.  It is kept in a
file beside the study; a name whose file was lost begins a new session, and its budget share still holds.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from adyton.errors import BudgetRefused, InvalidRequest
from adyton.kernel.exact import rational
from adyton.refusals import Refusal, refused
from adyton.service.beside import Database

_TABLE = """
CREATE TABLE IF NOT EXISTS sessions (
    name TEXT PRIMARY KEY, id TEXT NOT NULL, began_at INTEGER NOT NULL, spent_before TEXT NOT NULL,
    taken INTEGER NOT NULL
) STRICT
"""
_BEGIN = (
    "INSERT INTO sessions (name, id, began_at, spent_before, taken) VALUES (?, ?, ?, ?, 0) "
    "ON CONFLICT (name) DO UPDATE SET id = excluded.id, began_at = excluded.began_at, "
    "spent_before = excluded.spent_before, taken = 0"
)
_DAY = Fraction(24)
_LONGEST = Fraction(24 * 366)
_LEAST = Fraction(1, 10**6)


def check_share(share: Fraction | None, what: str) -> None:
    if share is not None and not _LEAST <= share <= 1:
        raise InvalidRequest(f"{what} is a share of the budget: from {float(_LEAST):g} to 1")


@dataclass(frozen=True, slots=True)
class Caps:
    """The section ``[agent]`` of the server file: what one session may spend, as a share of the study's
    budget; how many charges it may make; how many hours it lasts.
    """

    budget_share: Fraction | None = None
    queries: int | None = None
    hours: Fraction = _DAY

    def __post_init__(self) -> None:
        check_share(self.budget_share, "agent.budget_share")
        if self.queries is not None and (type(self.queries) is not int or self.queries < 1):
            raise InvalidRequest("agent.queries is a whole number, at least 1")
        if not 0 < self.hours <= _LONGEST:
            raise InvalidRequest("agent.hours is more than 0, and a year at most")

    @classmethod
    def of(cls, section: Mapping[str, Any] | None) -> Caps:
        """As the server file has it."""
        known = [one.name for one in fields(cls)]
        given = dict(section or {})
        unknown = next((name for name in given if name not in known), None)
        if unknown is not None:
            raise InvalidRequest(f"agent.{unknown} is not known; known: {', '.join(known)}")
        for name in ("budget_share", "hours"):
            if name in given:
                given[name] = rational(given[name], f"agent.{name}")
        return cls(**given)

    @property
    def any(self) -> bool:
        """Whether there is something to hold to."""
        return self.budget_share is not None or self.queries is not None


@dataclass(frozen=True, slots=True)
class AgentSession:
    """Of one name.  ``spent_before`` is what that name had spent when it began, ``taken`` its charges."""

    id: str
    ends_at: int
    spent_before: int
    taken: int


class AgentSessions:
    """The sessions of the study or holdout at ``path``; their file is made by the first one."""

    def __init__(
        self, path: str | Path, hours: Fraction = _DAY, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = Path(path).absolute().with_suffix(".sessions")
        self._seconds, self._clock = int(hours * 3600), clock
        self._kept = Database(self.path, "the sessions", _prepare)

    def current(self, name: str, spent: Callable[[], int]) -> AgentSession:
        """The session of a name, begun now if there is none; ``spent`` says what it has spent by now."""
        with self._kept.work() as connection:
            found = self._found(connection, name)
        if found is not None:
            return found
        spent_before = spent()  # what is paid for meanwhile counts for the session: never too little
        with self._kept.work() as connection:
            connection.execute("BEGIN IMMEDIATE")
            found = self._found(connection, name)  # another process may have been first
            if found is None:
                row = (name, secrets.token_hex(8), int(self._clock()), str(spent_before))
                connection.execute(_BEGIN, row)
                found = self._found(connection, name)
        assert found is not None
        return found

    def take(self, name: str, session: AgentSession, most: int) -> None:
        """One charge of so many; SessionRefused if there is none left."""
        with self._kept.work() as connection:
            taken = connection.execute(
                "UPDATE sessions SET taken = taken + 1 WHERE name = ? AND id = ? AND taken < ?",
                (name, session.id, most),
            ).rowcount
        if not taken:
            raise _used_up(name, most, session.ends_at - int(self._clock()))

    def give_back(self, name: str, session: AgentSession) -> None:
        """Nothing was charged after all."""
        with self._kept.work() as connection:
            connection.execute(
                "UPDATE sessions SET taken = taken - 1 WHERE name = ? AND id = ? AND taken > 0",
                (name, session.id),
            )

    def close(self) -> None:
        self._kept.close()

    def _found(self, connection: sqlite3.Connection, name: str) -> AgentSession | None:
        row = connection.execute(
            "SELECT id, began_at, spent_before, taken FROM sessions WHERE name = ?", (name,)
        ).fetchone()
        if row is None:
            return None
        id_, began_at, spent_before, taken = row
        now, ends_at = self._clock(), began_at + self._seconds
        return AgentSession(id_, ends_at, int(spent_before), taken) if now < ends_at else None


class Turns:
    """The session of one name, and what it has left.  The price is a share, so the ledger looks at it in
    the transaction of the charge; the number is taken just before, and given back if nothing was charged.
    """

    def __init__(self, sessions: AgentSessions, name: str, caps: Caps, spent: Callable[[], int]) -> None:
        self._sessions, self._name, self._caps, self._spent = sessions, name, caps, spent

    def session(self) -> AgentSession:
        return self._sessions.current(self._name, self._spent)

    def budget_share(self, session: AgentSession, budget: int) -> int | None:
        """What the name may have spent by the end of the session, rounded down."""
        share = self._caps.budget_share
        return None if share is None else session.spent_before + int(share * budget)

    def queries_left(self, session: AgentSession) -> int | None:
        most = self._caps.queries
        return None if most is None else max(0, most - session.taken)

    def take(self, session: AgentSession) -> None:
        if self._caps.queries is not None:
            self._sessions.take(self._name, session, self._caps.queries)

    def give_back(self, session: AgentSession) -> None:
        if self._caps.queries is not None:
            self._sessions.give_back(self._name, session)


def _used_up(name: str, most: int, seconds: int) -> BudgetRefused:
    return refused(
        Refusal(
            whose="session",
            by=name,
            counted_in="queries",
            requested="1",
            spent=str(most),
            budget=str(most),
            largest="0",
            next_session_in=seconds,
        )
    )


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(_TABLE)
