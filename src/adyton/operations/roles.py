"""Who may do what.  This table is the only place that says so: the pages and the tests are made from it."""

from __future__ import annotations

from enum import StrEnum

from adyton.errors import InvalidRequest


class Role(StrEnum):
    """What somebody who holds a token is."""

    OWNER = "owner"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    AGENT = "agent"


class Action(StrEnum):
    """What can be done over the network.  Nothing here raises a budget."""

    LOOK = "see the public facts"
    PREVIEW = "preview a query"
    TRY = "try a query on made-up rows"
    ASK = "ask, open and feed monitors, suggest bounds"
    BUDGET = "see what is spent and left, in all and of the own share"
    OWN_RECEIPTS = "read the own receipts, and the open part of all"
    ALL_RECEIPTS = "read all receipts, with who asked what"
    VERIFY = "have the whole ledger replayed"
    SCORE = "score, submit and compare predictions, and choose among models"
    CLOSE = "close a holdout with a last, exact score"
    STANDINGS = "see the leaderboard"
    TOKENS = "make, list and revoke tokens"


_EVERYBODY = frozenset(Role)
_ASKERS = frozenset({Role.OWNER, Role.ANALYST, Role.AGENT})
_OVERSEERS = frozenset({Role.OWNER, Role.AUDITOR})

ALLOWED: dict[Action, frozenset[Role]] = {
    Action.LOOK: _EVERYBODY,
    Action.PREVIEW: _ASKERS,
    Action.TRY: _ASKERS,
    Action.ASK: _ASKERS,
    Action.BUDGET: _EVERYBODY,
    Action.OWN_RECEIPTS: _EVERYBODY,
    Action.ALL_RECEIPTS: _OVERSEERS,
    Action.VERIFY: _OVERSEERS,
    Action.SCORE: _ASKERS,
    Action.CLOSE: frozenset({Role.OWNER}),
    Action.STANDINGS: _EVERYBODY,
    Action.TOKENS: frozenset({Role.OWNER}),
}


def may(role: Role, action: Action) -> bool:
    """Whether ``role`` is allowed to do this."""
    return role in ALLOWED[action]


def role_named(name: str) -> Role:
    try:
        return Role(name)
    except ValueError:
        raise InvalidRequest(f"a role is one of {', '.join(Role)}, not {name!r}") from None
