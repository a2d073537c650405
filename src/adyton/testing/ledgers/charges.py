"""The part of the ledger's contract that speaks of charges and of request ids."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import InvalidRequest, PrivacyRefused
from adyton.kernel.ledger.base import Charged
from adyton.kernel.ledger.links import Order, Receipt
from adyton.testing.ledgers.orders import (
    FEW,
    NOT_AMOUNTS,
    NOT_REQUESTS,
    MakeLedger,
    accepted,
    order,
    short,
    trace,
)


class ChargesContract:
    """A charge fits or leaves no trace."""

    def test_a_refused_charge_leaves_no_trace(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(7))
        before = trace(ledger)
        with pytest.raises(PrivacyRefused):
            ledger.charge(order(4, request="too-much"))
        assert trace(ledger) == before
        assert ledger.charge(order(3, request="too-much")).fresh

    def test_a_refusal_says_requested_spent_budget_and_largest(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10**18)
        ledger.charge(order(7 * 10**17))
        with pytest.raises(PrivacyRefused) as refused:
            ledger.charge(order(5 * 10**17))
        facts = refused.value.facts
        accounting = ledger.header.accounting
        expected = {
            "requested": "0.5",
            "spent": "0.7",
            "budget": "1",
            "largest": "0.3",
            "counted_in": accounting,
            "whose": "study",
            "asked_for": "query",
        }
        assert facts == expected

    def test_the_budget_may_be_filled_exactly_and_not_by_one_unit_more(self, make_ledger: MakeLedger) -> None:
        budget = 3 * 10**30 + 1  # far above 64 bits
        ledger = make_ledger(budget)
        with pytest.raises(PrivacyRefused):
            ledger.charge(order(budget + 1))
        ledger.charge(order(budget - 1))
        ledger.charge(order(1))
        assert ledger.spent() == budget
        with pytest.raises(PrivacyRefused):
            ledger.charge(order(1))

    def test_first_sees_a_receipt_before_it_is_written_and_may_refuse_it(
        self, make_ledger: MakeLedger
    ) -> None:
        ledger = make_ledger(10)
        seen: list[Receipt] = []

        def refuse(receipt: Receipt) -> None:
            raise InvalidRequest("not now")

        written = ledger.charge(order(1, request="a"), seen.append).receipt
        ledger.charge(order(1, request="a"), seen.append)  # charged before
        assert seen == [written]
        before = trace(ledger)
        with pytest.raises(InvalidRequest, match="not now"):
            ledger.charge(order(2), refuse)
        assert trace(ledger) == before
        with pytest.raises(PrivacyRefused):
            ledger.charge(order(10), seen.append)  # what is refused is not announced
        assert seen == [written]
        assert ledger.charge(order(2), seen.append).receipt == seen[-1]
        assert ledger.verify().receipts == 2

    @pytest.mark.parametrize("amount", NOT_AMOUNTS, ids=short)
    def test_no_charge_gives_budget_back(self, make_ledger: MakeLedger, amount: Any) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(7))
        with pytest.raises(InvalidRequest):
            ledger.charge(order(amount))
        assert (ledger.spent(), ledger.count()) == (7, 1)

    @pytest.mark.parametrize("radius", [r for r in NOT_AMOUNTS if r is False or r != 0], ids=short)
    def test_no_charge_gives_radius_back(self, make_ledger: MakeLedger, radius: Any) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(7, radius=3))
        with pytest.raises(InvalidRequest):
            ledger.charge(order(1, radius=radius))
        with pytest.raises(InvalidRequest):
            ledger.charge(order(1, pure=radius))
        assert (ledger.totals().pure, ledger.spent_radius(), ledger.count()) == (0, 3, 1)

    def test_pure_parts_and_what_no_theorem_covers_are_counted(self, make_ledger: MakeLedger) -> None:
        ledger, large = make_ledger(100), 10**30
        ledger.charge(order(pure=large))
        ledger.charge(order(unproved=True))
        third = ledger.charge(order(pure=2, unproved=True)).receipt
        assert (third.spent_pure, third.unproved) == (large + 2, 2)
        last = ledger.charge(order()).receipt
        assert (last.spent_pure, last.unproved, last.order.unproved) == (large + 2, 2, False)
        totals = ledger.totals()
        assert (totals.pure, totals.unproved, totals.receipts, totals.spent) == (large + 2, 2, 4, 4)
        assert [r.order.unproved for r in ledger.receipts()] == [False, True, True, False]
        for flag in (1, 0, None, "yes"):
            with pytest.raises(InvalidRequest):
                ledger.charge(order(unproved=flag))
        assert ledger.verify().receipts == 4

    def test_law_n_charges_equal_one_charge_of_n(self, make_ledger: MakeLedger) -> None:
        @FEW
        @given(st.integers(1, 10**40), st.integers(0, 10**40), st.integers(1, 9))
        def law(amount: int, radius: int, n: int) -> None:
            many, one = make_ledger(n * amount), make_ledger(n * amount)
            for _ in range(n):
                many.charge(order(amount, radius=radius))
            one.charge(order(n * amount, radius=n * radius))
            assert many.spent() == one.spent() == n * amount
            assert many.spent_radius() == one.spent_radius() == n * radius
            for ledger in (many, one):
                with pytest.raises(PrivacyRefused):
                    ledger.charge(order(1))
                ledger.close()

        law()

    @pytest.mark.usefixtures("restless")
    def test_two_threads_never_overspend(self, make_ledger: MakeLedger) -> None:
        ledger, start = make_ledger(1501), threading.Barrier(2)

        def spend() -> int:
            start.wait()
            return sum(accepted(ledger, order(2)) for _ in range(500))

        with ThreadPoolExecutor(2) as pool:
            through = sum(future.result() for future in [pool.submit(spend) for _ in range(2)])
        assert through == ledger.count() == 750
        assert ledger.verify().spent == 1500


class RequestsContract:
    """One request, one charge."""

    def test_the_same_request_is_charged_once(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        first = ledger.charge(order(7, request="a"))
        assert first.fresh
        for _ in range(3):  # 7 more would not fit: the look-up comes before the budget
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
            order(1, request="a", pure=1),
            order(1, request="a", unproved=True),
        ],
        ids=["query", "amount", "radius", "detail", "pure", "unproved"],
    )
    def test_the_same_request_id_for_another_order_is_refused(
        self, make_ledger: MakeLedger, other: Order
    ) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(1, request="a"))
        with pytest.raises(InvalidRequest, match="request id 'a' was already used for another query"):
            ledger.charge(other)
        assert ledger.spent() == 1

    @pytest.mark.usefixtures("restless")
    def test_many_threads_with_one_request_id_pay_once(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        with ThreadPoolExecutor(4) as pool:
            charged = list(pool.map(ledger.charge, [order(1, request="a")] * 12))
        assert sum(charge.fresh for charge in charged) == 1
        assert {charge.receipt.digest for charge in charged} == {ledger.head()}

    @pytest.mark.parametrize("request_id", NOT_REQUESTS, ids=short)
    def test_a_request_id_is_short_and_printable(self, make_ledger: MakeLedger, request_id: Any) -> None:
        ledger = make_ledger(10)
        with pytest.raises(InvalidRequest):
            ledger.charge(order(1, request=request_id))
        assert ledger.count() == 0
