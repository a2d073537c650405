"""Any history at all: a ledger behaves like a list of charges."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from adyton.errors import BudgetRefused, InvalidRequest
from adyton.kernel.ledger.links import Cap, Order, Receipt
from adyton.kernel.ledger.replaying import replay_open
from adyton.testing.ledgers.orders import MakeLedger, order

NAMES = st.sampled_from([None, "ana", "ben"])


class LedgerMachine(RuleBasedStateMachine):
    """A ledger beside the simplest thing that could replace it: lists and dictionaries of what was said.

    ``counted`` is what the radius of each receipt counts for the ones after it: fixed when the next is
    charged, by the answer that was there by then.
    """

    budget = 60

    def __init__(self, make_ledger: MakeLedger) -> None:
        super().__init__()
        self.ledger = make_ledger(self.budget)
        self.orders: list[Order] = []
        self.budget_shares: list[int | None] = []
        self.by_request: dict[tuple[str | None, str], int] = {}
        self.answers: dict[int, str] = {}
        self.final: dict[int, int] = {}
        self.counted: list[int] = []

    @rule(
        amount=st.integers(1, 20),
        radius=st.integers(0, 20),
        query=st.sampled_from(["count", "sum"]),
        request=st.sampled_from([None, None, "a", "b", "c"]),
        cap=st.sampled_from([None, None, Cap(radius=40), Cap(queries=4), Cap(30, 6)]),
        by=NAMES,
        budget_share=st.sampled_from([None, None, 10, 25]),
        pure=st.integers(0, 3),
        unproved=st.booleans(),
    )
    def charge(
        self,
        amount: int,
        radius: int,
        query: str,
        request: str | None,
        cap: Cap | None,
        by: str | None,
        budget_share: int | None,
        pure: int,
        unproved: bool,
    ) -> None:
        more = {"by": by, "budget_share": budget_share, "pure": pure, "unproved": unproved}
        wanted = order(amount, query, request, radius, cap, **more)
        earlier = self.by_request.get((by, request)) if request is not None else None
        if earlier is not None and self.orders[earlier - 1] == wanted:
            again = self.ledger.charge(wanted)
            assert (again.receipt.number, again.fresh) == (earlier, False)
        elif earlier is not None:
            with pytest.raises(InvalidRequest):
                self.ledger.charge(wanted)
        elif self.spent() + amount > self.budget or self.beyond(wanted):
            with pytest.raises(BudgetRefused):
                self.ledger.charge(wanted)
        else:
            self.append(wanted)

    def append(self, wanted: Order) -> None:
        before, number = self.radius(), len(self.orders) + 1
        if self.orders:
            self.counted.append(self.final.get(number - 1, self.orders[-1].radius))
        charged = self.ledger.charge(wanted)
        self.orders.append(wanted)
        self.budget_shares.append(wanted.budget_share)
        assert charged.fresh
        receipt = charged.receipt
        assert receipt.number == number
        assert (receipt.spent, receipt.spent_by) == (self.spent(), self.spent_by(wanted.by))
        assert receipt.spent_radius == before + wanted.radius
        assert receipt.final_radius == (self.counted[-1] if self.counted else 0)
        if wanted.request is not None:
            self.by_request[wanted.by, wanted.request] = number

    @precondition(lambda self: self.orders)
    @rule(
        data=st.data(),
        answer=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
        part=st.sampled_from([None, 0, 50, 100]),
    )
    def remember(self, data: st.DataObject, answer: str, part: int | None) -> None:
        number = data.draw(st.integers(1, len(self.orders)))
        full = self.orders[number - 1].radius
        radius = None if part is None else full * part // 100
        assert self.ledger.remember(number, answer, radius) == self.answers.setdefault(number, answer)
        self.final.setdefault(number, full if radius is None else radius)

    @precondition(lambda self: self.orders)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(self.orders))
        same = [n for n in self.answers if _same(self.orders[n - 1], asked)]
        found = self.ledger.repeated(asked.query, asked.detail, asked.amount)
        if found is None:
            assert not same
        else:
            assert (found[0].number, found[1]) == (max(same), self.answers[max(same)])

    @invariant()
    def totals_agree(self) -> None:
        totals = self.ledger.totals()
        assert self.ledger.count() == totals.receipts == len(self.orders)
        assert self.ledger.spent() == totals.spent == self.spent() <= self.budget
        assert self.ledger.spent_radius() == totals.radius == self.radius()
        assert totals.pure == sum(o.pure for o in self.orders)
        assert totals.unproved == sum(o.unproved for o in self.orders)

    def teardown(self) -> None:
        receipts = list(self.ledger.receipts())
        assert [receipt.order for receipt in receipts] == [replace(o, cap=None) for o in self.orders]
        assert [receipt.budget_share for receipt in receipts] == self.budget_shares
        assert {n: self.ledger.recall(n) for n in self.answers} == self.answers
        assert {n: self.ledger.final_cost(n).radius for n in self.final} == self.final
        found = self.ledger.verify()
        assert found.receipts == len(self.orders)
        links = [receipt.open for receipt in receipts]
        for by in (None, "ana", "ben"):
            assert replay_open(self.ledger.header, links, own=_own(receipts, by)) == found
        self.ledger.close()

    def spent(self) -> int:
        return sum(o.amount for o in self.orders)

    def spent_by(self, by: str | None) -> int:
        return sum(o.amount for o in self.orders if o.by == by)

    def radius(self) -> int:
        """The last receipt by its final radius now, those before as they were when the next one came."""
        number = len(self.orders)
        return sum(self.counted) + (self.final.get(number, self.orders[-1].radius) if number else 0)

    def beyond(self, wanted: Order) -> bool:
        most, cap = wanted.budget_share, wanted.cap or Cap()
        above = most is not None and self.spent_by(wanted.by) + wanted.amount > most
        wide = cap.radius is not None and self.radius() + wanted.radius > cap.radius
        return above or wide or (cap.queries is not None and len(self.orders) + 1 > cap.queries)


def _same(one: Order, other: Order) -> bool:
    return (one.query, one.detail, one.amount) == (other.query, other.detail, other.amount)


def _own(receipts: list[Receipt], by: str | None) -> list[Receipt]:
    return [receipt for receipt in receipts if receipt.order.by == by]
