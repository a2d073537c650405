"""The promise of ``adyton.ledger.Ledger``, as tests.

pytest.register_assert_rewrite("adyton.testing.ledger")   # in conftest.py: readable failures

class TestMyLedger(LedgerContract):
    @pytest.fixture
    def make_ledger(self):
        return lambda limit: MyLedger(...)       # a new, empty ledger each time

    @pytest.fixture
    def reopen(self):                            # leave out if the ledger does not outlive its process
        return lambda ledger: MyLedger(...)
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from adyton.errors import BudgetRefused, InvalidRequest, LedgerCorrupt
from adyton.ledger.base import Charged, Ledger, Order
from adyton.testing.ledger_notes import NotesContract

MakeLedger = Callable[[int], Ledger]
Reopen = Callable[[Ledger], Ledger]

# make_ledger makes a new ledger on each call, so Hypothesis may share the fixture between its examples.
_few = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)

NOT_AMOUNTS = (0, -1, True, False, 1.0, 0.5, math.nan, math.inf, -math.inf, 1e308, "1", None, 10**400)
NOT_REQUESTS = ("", "x" * 201, "two\nlines", "\0", "\ud800", 7, b"id")
NOT_TEXTS = ("half \ud800", "zero \0", None, 7, b"text")


def _short(value: object) -> str:
    return repr(value)[:9]


def order(amount: int = 1, question: str = "count", request: str | None = None, radius: int = 0) -> Order:
    return Order(question, '{"mechanism":"gaussian"}', amount, radius, request)


class LedgerContract(NotesContract):
    """Subclass it, supply ``make_ledger``, and ``reopen`` if the history is kept."""

    @pytest.fixture
    def make_ledger(self) -> MakeLedger:
        raise NotImplementedError("supply a fixture make_ledger: limit -> a new, empty ledger")

    @pytest.fixture
    def reopen(self) -> Reopen:
        pytest.skip("this ledger does not outlive its process")

    @pytest.fixture
    def restless(self) -> Iterator[None]:
        """Let Python change threads as often as it can, so that a missing lock shows."""
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        yield
        sys.setswitchinterval(usual)

    # What may be charged

    def test_a_refused_charge_leaves_no_trace(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(7))
        before = (ledger.spent(), ledger.head(), ledger.count(), list(ledger.receipts()))
        with pytest.raises(BudgetRefused):
            ledger.charge(order(4, request="too-much"))
        assert (ledger.spent(), ledger.head(), ledger.count(), list(ledger.receipts())) == before
        assert ledger.charge(order(3, request="too-much")).fresh

    def test_a_refusal_says_requested_spent_limit_and_largest(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10**18)
        ledger.charge(order(7 * 10**17))
        with pytest.raises(BudgetRefused) as refused:
            ledger.charge(order(5 * 10**17))
        facts = refused.value.facts
        currency = ledger.header.currency
        expected = {"requested": "0.5", "spent": "0.7", "limit": "1", "largest": "0.3", "currency": currency}
        assert facts == expected
        assert all(fact in refused.value.message for fact in facts.values())

    def test_the_limit_may_be_filled_exactly_and_not_by_one_unit_more(self, make_ledger: MakeLedger) -> None:
        limit = 3 * 10**30 + 1  # far above 64 bits
        ledger = make_ledger(limit)
        with pytest.raises(BudgetRefused):
            ledger.charge(order(limit + 1))
        ledger.charge(order(limit - 1))
        ledger.charge(order(1))
        assert ledger.spent() == limit
        with pytest.raises(BudgetRefused):
            ledger.charge(order(1))

    @pytest.mark.parametrize("amount", NOT_AMOUNTS, ids=_short)
    def test_no_charge_gives_budget_back(self, make_ledger: MakeLedger, amount: Any) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(7))
        with pytest.raises(InvalidRequest):
            ledger.charge(order(amount))
        assert (ledger.spent(), ledger.count()) == (7, 1)

    @pytest.mark.parametrize("radius", [r for r in NOT_AMOUNTS if r is False or r != 0], ids=_short)
    def test_no_charge_gives_radius_back(self, make_ledger: MakeLedger, radius: Any) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(7, radius=3))
        with pytest.raises(InvalidRequest):
            ledger.charge(order(1, radius=radius))
        assert (ledger.spent_radius(), ledger.count()) == (3, 1)

    def test_law_n_charges_equal_one_charge_of_n(self, make_ledger: MakeLedger) -> None:
        @_few
        @given(st.integers(1, 10**40), st.integers(0, 10**40), st.integers(1, 9))
        def law(amount: int, radius: int, n: int) -> None:
            many, one = make_ledger(n * amount), make_ledger(n * amount)
            for _ in range(n):
                many.charge(order(amount, radius=radius))
            one.charge(order(n * amount, radius=n * radius))
            assert many.spent() == one.spent() == n * amount
            assert many.spent_radius() == one.spent_radius() == n * radius
            for ledger in (many, one):
                with pytest.raises(BudgetRefused):
                    ledger.charge(order(1))
                ledger.close()

        law()

    @pytest.mark.usefixtures("restless")
    def test_two_threads_never_overspend(self, make_ledger: MakeLedger) -> None:
        ledger, start = make_ledger(1501), threading.Barrier(2)

        def spend() -> int:
            start.wait()
            return sum(_accepted(ledger, order(2)) for _ in range(500))

        with ThreadPoolExecutor(2) as pool:
            accepted = sum(future.result() for future in [pool.submit(spend) for _ in range(2)])
        assert accepted == ledger.count() == 750
        assert ledger.verify().spent == 1500

    # One request, one charge

    def test_the_same_request_is_charged_once(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        first = ledger.charge(order(7, request="a"))
        assert first.fresh
        for _ in range(3):  # 7 more would not fit: the look-up comes before the limit
            assert ledger.charge(order(7, request="a")) == Charged(first.receipt, fresh=False)
        assert (ledger.spent(), ledger.count()) == (7, 1)

    def test_without_a_request_id_each_charge_counts(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        assert ledger.charge(order(3)).fresh
        assert ledger.charge(order(3)).fresh
        assert ledger.spent() == 6

    @pytest.mark.parametrize(
        "other",
        [
            order(1, "sum", request="a"),
            order(2, request="a"),
            order(1, request="a", radius=1),
            Order("count", "{}", 1, 0, "a"),
        ],
        ids=["question", "amount", "radius", "detail"],
    )
    def test_the_same_request_id_for_another_order_is_refused(
        self, make_ledger: MakeLedger, other: Order
    ) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(1, request="a"))
        with pytest.raises(InvalidRequest, match="request id 'a' was already used for another question"):
            ledger.charge(other)
        assert ledger.spent() == 1

    @pytest.mark.usefixtures("restless")
    def test_many_threads_with_one_request_id_pay_once(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        with ThreadPoolExecutor(4) as pool:
            charged = list(pool.map(ledger.charge, [order(1, request="a")] * 12))
        assert sum(charge.fresh for charge in charged) == 1
        assert {charge.receipt.digest for charge in charged} == {ledger.head()}

    @pytest.mark.parametrize("request_id", NOT_REQUESTS, ids=_short)
    def test_a_request_id_is_short_and_printable(self, make_ledger: MakeLedger, request_id: Any) -> None:
        ledger = make_ledger(10)
        with pytest.raises(InvalidRequest):
            ledger.charge(order(1, request=request_id))
        assert ledger.count() == 0

    # Answers

    def test_the_first_remembered_answer_wins(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        number = ledger.charge(order()).receipt.number
        assert ledger.recall(number) is None
        assert ledger.remember(number, "41") == "41"
        assert ledger.remember(number, "42") == "41"
        assert ledger.recall(number) == "41"

    @pytest.mark.usefixtures("restless")
    def test_many_threads_release_one_answer(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        number = ledger.charge(order()).receipt.number
        with ThreadPoolExecutor(4) as pool:
            released = set(pool.map(lambda k: ledger.remember(number, str(k)), range(12)))
        assert released == {ledger.recall(number)}

    def test_an_answer_needs_a_receipt(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        ledger.charge(order())
        wrong: list[Any] = [0, -1, 2, 10**30, True, 1.0, "1", None]
        for number in wrong:
            with pytest.raises(InvalidRequest):
                ledger.remember(number, "free")
        assert ledger.recall(2) is None

    @pytest.mark.parametrize("text", NOT_TEXTS, ids=repr)
    def test_what_cannot_be_stored_unchanged_is_refused(self, make_ledger: MakeLedger, text: Any) -> None:
        ledger = make_ledger(10)
        with pytest.raises(InvalidRequest):
            ledger.charge(order(1, question=text))
        number = ledger.charge(order()).receipt.number
        with pytest.raises(InvalidRequest):
            ledger.remember(number, text)
        assert ledger.recall(number) is None

    def test_a_repeated_question_finds_its_newest_answer(self, make_ledger: MakeLedger) -> None:
        ledger, asked = make_ledger(10), order(2)
        same = (asked.question, asked.detail, asked.amount)
        assert ledger.repeated(*same) is None
        receipts = [ledger.charge(asked).receipt for _ in range(3)]
        assert ledger.repeated(*same) is None  # paid for, but never answered
        ledger.remember(2, "second")
        ledger.remember(1, "first")
        assert ledger.repeated(*same) == (receipts[1], "second")

    def test_a_repeated_question_is_the_very_same_question(self, make_ledger: MakeLedger) -> None:
        ledger, asked = make_ledger(10), order(2)
        ledger.remember(ledger.charge(asked).receipt.number, "answer")
        assert ledger.repeated("sum", asked.detail, 2) is None
        assert ledger.repeated(asked.question, "{}", 2) is None
        assert ledger.repeated(asked.question, asked.detail, 3) is None
        assert ledger.repeated(asked.question + asked.detail, "", 2) is None

    # The chain

    def test_receipts_form_a_chain(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(100)
        charged = [ledger.charge(order(k, radius=k, request=f"r{k}")).receipt for k in (1, 2, 3)]
        receipts = list(ledger.receipts())
        assert receipts == charged
        assert [r.previous for r in receipts] == [ledger.header.digest, *(r.digest for r in receipts[:-1])]
        assert [(r.number, r.spent, r.spent_radius) for r in receipts] == [(1, 1, 1), (2, 3, 3), (3, 6, 6)]
        assert ledger.head() == receipts[-1].digest

    def test_an_empty_ledger_has_a_head_of_its_own(self, make_ledger: MakeLedger) -> None:
        first, second = make_ledger(10), make_ledger(10)
        assert first.head() == first.header.digest == first.verify().head
        assert first.head() != second.head()
        assert (first.spent(), first.spent_radius(), first.count()) == (0, 0, 0)

    def test_verify_knows_every_earlier_head_and_no_other(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        heads = [ledger.head(), *(ledger.charge(order()).receipt.digest for _ in range(3))]
        for head in heads:
            found = ledger.verify(expected_head=head)
            assert (found.receipts, found.head, found.spent) == (3, heads[-1], 3)
        with pytest.raises(LedgerCorrupt):
            ledger.verify(expected_head="0" * 64)

    def test_history_survives_reopening(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        ledger = make_ledger(10**30)
        ledger.charge(order(10**29, "é \u2028 ' \" ; --", request="a", radius=5))
        ledger.remember(1, "an answer")
        before = (
            ledger.header,
            list(ledger.receipts()),
            ledger.head(),
            ledger.spent(),
            ledger.spent_radius(),
        )
        ledger.close()
        again = reopen(ledger)
        after = (again.header, list(again.receipts()), again.head(), again.spent(), again.spent_radius())
        assert after == before
        assert again.recall(1) == "an answer"
        assert not again.charge(order(10**29, "é \u2028 ' \" ; --", request="a", radius=5)).fresh
        assert again.charge(order()).receipt.number == 2
        with pytest.raises(BudgetRefused):
            again.charge(order(9 * 10**29))

    def test_a_ledger_behaves_like_a_list_of_charges(self, make_ledger: MakeLedger) -> None:
        class Machine(LedgerMachine):
            def __init__(self) -> None:
                super().__init__(make_ledger)

        run_state_machine_as_test(Machine, settings=settings(_few, stateful_step_count=20))


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
    )
    def charge(self, amount: int, radius: int, question: str, request: str | None) -> None:
        wanted = order(amount, question, request, radius)
        earlier = self.by_request.get(request) if request is not None else None
        if earlier is not None and self.orders[earlier - 1] == wanted:
            again = self.ledger.charge(wanted)
            assert (again.receipt.number, again.fresh) == (earlier, False)
        elif earlier is not None:
            with pytest.raises(InvalidRequest):
                self.ledger.charge(wanted)
        elif self.spent() + amount > self.limit:
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


def _same(one: Order, other: Order) -> bool:
    return (one.question, one.detail, one.amount) == (other.question, other.detail, other.amount)


def _accepted(ledger: Ledger, wanted: Order) -> bool:
    try:
        ledger.charge(wanted)
    except BudgetRefused:
        return False
    return True
