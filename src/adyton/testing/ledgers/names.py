"""The part of the ledger's contract that speaks of names: who asks, and how much of the budget is theirs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from adyton.errors import InvalidRequest, PrivacyRefused
from adyton.kernel.ledger.base import Charged, Ledger
from adyton.testing.ledgers.orders import (
    NOT_AMOUNTS,
    NOT_REQUESTS,
    MakeLedger,
    Reopen,
    accepted,
    order,
    short,
    trace,
)

NOT_BUDGET_SHARES = [value for value in NOT_AMOUNTS if value is not None and (value is False or value != 0)]


class NamesContract:
    """A budget share is a condition of one charge, looked at in the same transaction as the budget."""

    def test_each_name_has_a_total_of_its_own(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(100)
        asked = [("ana", 1), (None, 2), ("ben", 4), ("ana", 8), (None, 16), ("ana", 32)]
        charged = [ledger.charge(order(amount, by=by)).receipt for by, amount in asked]
        assert [receipt.spent_by for receipt in charged] == [1, 2, 4, 9, 18, 41]
        assert [receipt.order.by for receipt in ledger.receipts()] == [by for by, _ in asked]
        assert list(ledger.receipts()) == charged
        assert ledger.verify().spent == 63

    def test_a_budget_share_may_be_filled_exactly_and_not_by_one_unit_more(
        self, make_ledger: MakeLedger
    ) -> None:
        most = 3 * 10**30 + 1  # far above 64 bits
        ledger = make_ledger(10 * most)
        ledger.charge(order(most - 2, by="ana", budget_share=most))
        ledger.charge(order(5 * most, by="ben"))
        before = trace(ledger)
        with pytest.raises(PrivacyRefused):
            ledger.charge(order(3, by="ana", budget_share=most, request="too-much"))
        assert trace(ledger) == before
        last = ledger.charge(order(2, by="ana", budget_share=most, request="too-much")).receipt
        assert (last.spent_by, last.budget_share) == (most, most)
        with pytest.raises(PrivacyRefused):
            ledger.charge(order(1, by="ana", budget_share=most))
        assert ledger.charge(order(1, by="ana", budget_share=most + 1)).fresh  # the owner gave more
        assert ledger.verify().receipts == 4

    def test_what_was_charged_without_a_budget_share_counts_too(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(100)
        ledger.charge(order(7, by="ana"))
        with pytest.raises(PrivacyRefused):
            ledger.charge(order(4, by="ana", budget_share=10))
        assert ledger.charge(order(3, by="ana", budget_share=10)).receipt.spent_by == 10
        with pytest.raises(PrivacyRefused):
            ledger.charge(order(1, by="ben", budget_share=0))

    def test_a_budget_share_does_not_widen_the_budget(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(8, by="ben"))
        with pytest.raises(PrivacyRefused) as refused:
            ledger.charge(order(3, by="ana", budget_share=100))
        assert "by" not in refused.value.facts
        assert ledger.count() == 1

    def test_a_refusal_by_a_budget_share_says_whose_and_what_still_fits(
        self, make_ledger: MakeLedger
    ) -> None:
        ledger, tenth = make_ledger(10**18), 10**17
        ledger.charge(order(2 * tenth, by="ana"))
        with pytest.raises(PrivacyRefused) as refused:
            ledger.charge(order(3 * tenth, by="ana", budget_share=4 * tenth))
        facts = {"requested": "0.3", "spent": "0.2", "budget": "0.4", "largest": "0.2", "by": "ana"}
        whose = {"whose": "analyst", "asked_for": "query", "counted_in": ledger.header.accounting}
        assert refused.value.facts == facts | whose
        ledger.charge(order(7 * tenth, by="ben"))
        with pytest.raises(PrivacyRefused) as nearly:  # the budget of all leaves less than the share
            ledger.charge(order(tenth, by="ana", budget_share=25 * tenth // 10))
        assert nearly.value.facts["largest"] == "0.05"
        with pytest.raises(PrivacyRefused) as lowered:
            ledger.charge(order(tenth, by="ana", budget_share=tenth))
        assert lowered.value.facts["largest"] == "0"

    def test_a_budget_share_is_written_down_and_not_compared(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(100)
        first = ledger.charge(order(4, by="ana", request="a", budget_share=4))
        assert (first.receipt.budget_share, first.receipt.order.budget_share) == (4, None)
        for most in (None, 0, 4, 9):  # a retry is no new charge
            again = ledger.charge(order(4, by="ana", request="a", budget_share=most))
            assert again == Charged(first.receipt, fresh=False)
        assert [receipt.budget_share for receipt in ledger.receipts()] == [4]
        assert ledger.verify().receipts == 1

    def test_request_ids_are_unique_for_each_name(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(100)
        for number, by in enumerate((None, "ana", "ben"), 1):
            charged = ledger.charge(order(number, by=by, request="a"))
            assert (charged.fresh, charged.receipt.number) == (True, number)
            assert ledger.requested("a", by) == charged.receipt
            assert not ledger.charge(order(number, by=by, request="a")).fresh
            with pytest.raises(InvalidRequest, match="already used for another query"):
                ledger.charge(order(50, by=by, request="a"))
        assert ledger.requested("a") == ledger.receipt(1)
        assert ledger.requested("a", "eve") is ledger.requested("b", "ana") is None
        assert ledger.verify().receipts == 3

    @pytest.mark.parametrize("name", NOT_REQUESTS, ids=short)
    def test_a_name_is_short_and_printable(self, make_ledger: MakeLedger, name: Any) -> None:
        ledger = make_ledger(10)
        with pytest.raises(InvalidRequest):
            ledger.charge(order(by=name))
        assert ledger.count() == 0

    @pytest.mark.parametrize("value", NOT_BUDGET_SHARES, ids=short)
    def test_what_is_no_budget_share_charges_nothing(self, make_ledger: MakeLedger, value: Any) -> None:
        ledger = make_ledger(10)
        with pytest.raises(InvalidRequest):
            ledger.charge(order(by="ana", budget_share=value))
        assert ledger.count() == 0

    def test_names_survive_reopening(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        ledger = make_ledger(100)
        for by in ("ana", "ben", None, "ana"):
            ledger.charge(order(5, by=by, budget_share=20, pure=3, unproved=by is None))
        before = trace(ledger)
        ledger.close()
        again = reopen(ledger)
        assert trace(again) == before
        with pytest.raises(PrivacyRefused):
            again.charge(order(11, by="ana", budget_share=20))
        assert again.charge(order(10, by="ana", budget_share=20)).receipt.spent_by == 20
        assert again.verify().receipts == 5

    @pytest.mark.usefixtures("restless")
    def test_two_threads_never_pass_a_budget_share(self, make_ledger: MakeLedger) -> None:
        ledger, start = make_ledger(10**6), threading.Barrier(2)

        def spend(one: Ledger) -> int:
            start.wait()
            for _ in range(60):
                accepted(one, order(3, by="ben"))
            return sum(accepted(one, order(2, by="ana", budget_share=141)) for _ in range(60))

        with ThreadPoolExecutor(2) as pool:
            assert sum(pool.map(spend, (ledger, ledger))) == 70
        assert max(r.spent_by for r in ledger.receipts() if r.order.by == "ana") == 140
        assert ledger.verify().spent == 140 + 360
