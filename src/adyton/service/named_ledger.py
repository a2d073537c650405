"""The ledger of a study as one name uses it: every charge says who asks, and meets that name's conditions.

The conditions travel with the order, so the ledger looks at them in the transaction of the charge: no two
processes can spend one share twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from adyton.errors import BudgetRefused, InvalidRequest
from adyton.kernel.exact import decimal_text
from adyton.kernel.ledger import Charged, Ledger, Order, Receipt
from adyton.kernel.ledger.base import First, InFront
from adyton.refusals import Refusal, refused
from adyton.service.agents.sessions import AgentSession, Turns
from adyton.service.identity import Identity


class NamedLedger(InFront):
    """The contract of ``Ledger`` for one name.  ``reads`` is called when something was charged that will be
    read, and ``shows`` before what was read can be seen by others.  ``turns`` is the session of the name, if
    what it may do in one is capped.  ``charges`` is called before anything is charged, and may raise.

    Whatever anybody was answered is repeated for everybody, because what is released is released; but a
    request id is known to the name alone that sent it.
    """

    def __init__(
        self,
        behind: Ledger,
        who: Identity,
        reads: Callable[[], None],
        shows: Callable[[], None],
        turns: Turns | None = None,
        charges: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(behind)
        self._who, self._reads, self._shows, self._turns = who, reads, shows, turns
        self._charges = charges
        self.name = who.name
        self.most_at_once = who.largest_price(behind.header.budget)

    def charge(self, order: Order, first: First | None = None) -> Charged:
        self._charges()
        who, most = self._who, self.most_at_once
        if most is not None and order.amount > most and not self._charged_before(order):
            raise _too_dear(who, order.amount, most, self.header.accounting)
        session = self._turns.session() if self._turns is not None else None
        named = replace(order, by=who.name, budget_share=self._budget_share(session))
        charged = self._ledger.charge(named, first) if session is None else self._taken(named, first, session)
        if charged.fresh:
            self._reads()
        return charged

    def _taken(self, order: Order, first: First | None, session: AgentSession) -> Charged:
        """One charge of those that a session may make."""
        assert self._turns is not None
        if self._charged_before(order):
            return self._ledger.charge(order, first)  # it was taken when it was charged
        self._turns.take(session)
        try:
            charged = self._ledger.charge(order, first)
        except (BudgetRefused, InvalidRequest):
            self._turns.give_back(session)
            raise
        if not charged.fresh:
            self._turns.give_back(session)
        return charged

    def _charged_before(self, order: Order) -> bool:
        return order.request is not None and self.requested(order.request) is not None

    def remember(self, number: int, answer: str, radius: int | None = None, level: int = 0) -> str:
        self._shows()
        return self._ledger.remember(number, answer, radius, level)

    def annotate(self, number: int, index: int, text: str) -> bool:
        self._shows()
        return self._ledger.annotate(number, index, text)

    def requested(self, request: str, by: str | None = None) -> Receipt | None:
        return self._ledger.requested(request, self._who.name)

    def left(self, spent: int) -> int:
        """For one charge."""
        most, left = self.most_at_once, self.left_in_all(spent)
        return left if most is None else min(left, most)

    def charges_left(self) -> int | None:
        """In the session of this name, if it has one."""
        return None if self._turns is None else self._turns.queries_left(self._turns.session())

    def left_in_all(self, spent: int) -> int:
        """For all charges of this name together."""
        session = self._turns.session() if self._turns is not None else None
        if self._turns is not None and session is not None and self._turns.queries_left(session) == 0:
            return 0
        own, left = self._budget_share(session), self._ledger.left(spent)
        if own is not None:
            left = min(left, own - self._ledger.spent_by(self._who.name))
        return max(0, left)

    def _budget_share(self, session: AgentSession | None) -> int | None:
        """The smaller one, of the name and of its session."""
        budget = self.header.budget
        own = self._who.budget_share_of(budget)
        here = None if session is None or self._turns is None else self._turns.budget_share(session, budget)
        return min((known for known in (own, here) if known is not None), default=None)


def _too_dear(who: Identity, requested: int, most: int, accounting: str) -> BudgetRefused:
    return refused(
        Refusal(
            whose="query",
            by=who.name,
            counted_in=accounting,
            requested=decimal_text(requested),
            spent="0",
            budget=decimal_text(most),
            largest=decimal_text(most),
        )
    )
