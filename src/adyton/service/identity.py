"""Who asks: a name, what it may do, and which conditions every charge of that name has to meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, rational
from adyton.kernel.ledger.texts import check_name
from adyton.operations.roles import Role, role_named
from adyton.service.agents.sessions import Caps, check_share

_FASTEST = 1_000_000_000
_RATE = f"a rate is a whole number of requests a minute, from 1 to {_FASTEST:,}"
PROVIDED = "oidc "  # before names that an identity provider vouches for: no token of ours is made for one


@dataclass(frozen=True, slots=True)
class Identity:
    """Shares are of the study's budget: ``budget_share`` for all queries of this name together,
    ``price_share`` for one of them.  ``rate`` is how many requests a minute are taken; None: as the server
    says.  ``session`` is what one session of this name may do; None: whatever the name may.
    """

    name: str
    role: Role
    budget_share: Fraction | None = None
    price_share: Fraction | None = None
    rate: int | None = None
    session: Caps | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        check_share(self.budget_share, "budget-share")
        check_share(self.price_share, "price-share")
        if self.rate is not None and (type(self.rate) is not int or not 1 <= self.rate <= _FASTEST):
            raise InvalidRequest(_RATE)
        if self.role is Role.AGENT and None in (self.budget_share, self.price_share, self.rate):
            raise InvalidRequest(
                "an agent has a budget share, a largest price, a rate and an end: give budget-share, "
                "price-share, rate and expires"
            )

    def budget_share_of(self, budget: int) -> int | None:
        """In units of a ledger with this budget, rounded down."""
        return _part(self.budget_share, budget)

    def largest_price(self, budget: int) -> int | None:
        """The most that one charge may be, rounded down."""
        return _part(self.price_share, budget)


def share_of(given: Number | None, what: str) -> Fraction | None:
    """A share as it is written, exactly."""
    return None if given is None else rational(given, what)


def identity_of(given: Mapping[str, Any], longest: int) -> Identity:
    """Of what somebody wrote for a new token; a name has at most ``longest`` characters."""
    name, rate = given.get("name") or "", given.get("rate")
    if len(name) > longest:
        raise InvalidRequest(f"a name has at most {longest} characters here")
    if isinstance(rate, str):
        if not rate.isascii() or not rate.isdigit() or len(rate) > 10:
            raise InvalidRequest(_RATE)
        rate = int(rate)
    whole = share_of(given.get("budget_share"), "budget_share")
    single = share_of(given.get("price_share"), "price_share")
    return Identity(name, role_named(given.get("role") or ""), whole, single, rate)


def _part(share: Fraction | None, budget: int) -> int | None:
    return None if share is None else int(share * budget)
