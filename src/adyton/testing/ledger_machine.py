"""Any history at all: a ledger behaves like a list of charges."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from adyton.errors import BudgetRefused, InvalidRequest
from adyton.ledger.cap import Cap
from adyton.ledger.links import Order
from adyton.testing.ledger_orders import MakeLedger, order


class LedgerMachine(RuleBasedStateMachine):
    """A ledger beside the simplest thing that could replace it: a list of orders and two dictionaries."""

    limit = 60

    def __init__(self, make_ledger: MakeLedger) -> None:
        super().__init__()
        self.ledger = make_ledger(self.limit)
        self.orders: list[Order] = []
        self.by_request: dict[str, int] = {}
        self.answers: dict[int, str] = {}

    @rule(
        amount=st.integers(1, 20),
        radius=st.integers(0, 20),
        question=st.sampled_from(["count", "sum"]),
        request=st.sampled_from([None, None, "a", "b", "c"]),
        cap=st.sampled_from([None, None, Cap(radius=40), Cap(questions=4), Cap(30, 6)]),
    )
    def charge(self, amount: int, radius: int, question: str, request: str | None, cap: Cap | None) -> None:
        wanted = order(amount, question, request, radius, cap)
        earlier = self.by_request.get(request) if request is not None else None
        if earlier is not None and self.orders[earlier - 1] == wanted:
            again = self.ledger.charge(wanted)
            assert (again.receipt.number, again.fresh) == (earlier, False)
        elif earlier is not None:
            with pytest.raises(InvalidRequest):
                self.ledger.charge(wanted)
        elif self.spent() + amount > self.limit or self.beyond(cap, radius):
            with pytest.raises(BudgetRefused):
                self.ledger.charge(wanted)
        else:
            self.append(wanted)

    def append(self, wanted: Order) -> None:
        charged = self.ledger.charge(wanted)
        self.orders.append(wanted)
        assert charged.fresh
        assert charged.receipt.number == len(self.orders)
        if wanted.request is not None:
            self.by_request[wanted.request] = len(self.orders)

    @precondition(lambda self: self.orders)
    @rule(data=st.data(), answer=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5))
    def remember(self, data: st.DataObject, answer: str) -> None:
        number = data.draw(st.integers(1, len(self.orders)))
        assert self.ledger.remember(number, answer) == self.answers.setdefault(number, answer)

    @precondition(lambda self: self.orders)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(self.orders))
        same = [n for n in self.answers if _same(self.orders[n - 1], asked)]
        found = self.ledger.repeated(asked.question, asked.detail, asked.amount)
        if found is None:
            assert not same
        else:
            assert (found[0].number, found[1]) == (max(same), self.answers[max(same)])

    @invariant()
    def totals_agree(self) -> None:
        assert self.ledger.count() == len(self.orders)
        assert self.ledger.spent() == self.spent() <= self.limit
        assert self.ledger.spent_radius() == sum(o.radius for o in self.orders)

    def teardown(self) -> None:
        assert [receipt.order for receipt in self.ledger.receipts()] == self.orders
        assert {n: self.ledger.recall(n) for n in self.answers} == self.answers
        assert self.ledger.verify().receipts == len(self.orders)
        self.ledger.close()

    def spent(self) -> int:
        return sum(o.amount for o in self.orders)

    def beyond(self, cap: Cap | None, radius: int) -> bool:
        if cap is None:
            return False
        wide = cap.radius is not None and sum(o.radius for o in self.orders) + radius > cap.radius
        return wide or (cap.questions is not None and len(self.orders) + 1 > cap.questions)


def _same(one: Order, other: Order) -> bool:
    return (one.question, one.detail, one.amount) == (other.question, other.detail, other.amount)
