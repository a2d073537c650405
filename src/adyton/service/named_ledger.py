"""The ledger of a study as one name uses it: every charge says who asks, and meets that name's conditions.

The conditions travel with the order, so the ledger looks at them in the transaction of the charge: no two
processes can spend one part twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from adyton.errors import PrivacyRefused
from adyton.exact import decimal_text
from adyton.ledger import Charged, Ledger, Order, Receipt
from adyton.ledger.base import First
from adyton.ledger.forwarding import ForwardingLedger
from adyton.service.identity import Identity


class NamedLedger(ForwardingLedger):
    """The contract of ``Ledger`` for one name.  ``reads`` is called when something was charged that will be
    read, and ``shows`` before what was read can be seen by others.

    Whatever anybody was answered is repeated for everybody, because what is released is released; but a
    request id is known to the name alone that sent it.
    """

    def __init__(
        self, behind: Ledger, who: Identity, reads: Callable[[], None], shows: Callable[[], None]
    ) -> None:
        super().__init__(behind)
        self._who, self._reads, self._shows = who, reads, shows
        self.most_at_once = who.largest_price(behind.header.limit)

    def charge(self, order: Order, first: First | None = None) -> Charged:
        limit, who = self.header.limit, self._who
        most = who.largest_price(limit)
        if most is not None and order.amount > most:
            raise _too_dear(who, order.amount, most, self.header.filter_name)
        charged = self._ledger.charge(replace(order, by=who.name, sub_limit=who.sub_limit(limit)), first)
        if charged.fresh:
            self._reads()
        return charged

    def remember(self, number: int, answer: str, radius: int | None = None) -> str:
        self._shows()
        return self._ledger.remember(number, answer, radius)

    def annotate(self, number: int, index: int, text: str) -> bool:
        self._shows()
        return self._ledger.annotate(number, index, text)

    def requested(self, request: str, by: str | None = None) -> Receipt | None:
        return self._ledger.requested(request, self._who.name)

    def left(self, spent: int) -> int:
        limit = self.header.limit
        own, most = self._who.sub_limit(limit), self._who.largest_price(limit)
        left = self._ledger.left(spent)
        if own is not None:
            left = min(left, own - self._ledger.spent_by(self._who.name))
        return max(0, left if most is None else min(left, most))


def _too_dear(who: Identity, requested: int, most: int, filter_name: str) -> PrivacyRefused:
    facts = {
        "requested": decimal_text(requested),
        "spent": "0",
        "limit": decimal_text(most),
        "largest": decimal_text(most),
        "counted_in": filter_name,
        "by": who.name,
    }
    message = (
        "{requested} ({counted_in}) was requested, and one question of {by} may cost at most {limit}; "
        "nothing was charged"
    )
    return PrivacyRefused(message.format(**facts), **facts)
