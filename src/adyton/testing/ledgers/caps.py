"""The part of the ledger's contract that speaks of caps: an order that would pass its own cap is not charged.

Looking at the totals first and charging afterwards is not enough: somebody else may charge in between.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from adyton.errors import InvalidRequest, PrivacyRefused, ValidityRefused
from adyton.kernel.ledger.base import Charged, Ledger
from adyton.kernel.ledger.links import Cap
from adyton.testing.ledgers.orders import NOT_AMOUNTS, MakeLedger, Reopen, accepted, order, short, trace

NOT_CAPS = [value for value in NOT_AMOUNTS if value is not None and (value is False or value != 0)]


class CapsContract:
    """A cap is a condition of one charge, looked at in the same transaction."""

    def test_a_cap_on_the_radius_may_be_filled_exactly_and_no_further(self, make_ledger: MakeLedger) -> None:
        most = 3 * 10**30 + 1  # far above 64 bits
        ledger, cap = make_ledger(100), Cap(radius=most)
        ledger.charge(order(radius=most - 2, cap=cap))
        before = trace(ledger)
        with pytest.raises(ValidityRefused):
            ledger.charge(order(radius=3, cap=cap, request="too-much"))
        assert trace(ledger) == before
        assert ledger.charge(order(radius=2, cap=cap, request="too-much")).receipt.spent_radius == most
        with pytest.raises(ValidityRefused):
            ledger.charge(order(radius=1, cap=cap))
        assert ledger.charge(order(radius=0, cap=cap)).fresh
        assert ledger.verify().receipts == 3

    def test_a_cap_on_the_number_of_queries_counts_every_receipt(self, make_ledger: MakeLedger) -> None:
        ledger, cap = make_ledger(100), Cap(queries=3)
        ledger.charge(order())  # without a cap, and yet a query
        ledger.charge(order(cap=cap))
        ledger.charge(order(cap=cap))
        before = trace(ledger)
        with pytest.raises(ValidityRefused):
            ledger.charge(order(cap=cap))
        assert trace(ledger) == before
        with pytest.raises(ValidityRefused):
            make_ledger(100).charge(order(cap=Cap(queries=0)))

    def test_both_caps_bind(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(100)
        ledger.charge(order(radius=5, cap=Cap(5, 1)))
        for cap in (Cap(5, 2), Cap(6, 1)):
            with pytest.raises(ValidityRefused):
                ledger.charge(order(radius=1, cap=cap))
        assert ledger.charge(order(radius=1, cap=Cap(6, 2))).fresh

    def test_a_cap_does_not_widen_the_budget(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        with pytest.raises(PrivacyRefused) as refused:
            ledger.charge(order(11, cap=Cap(100, 100)))
        assert refused.value.facts["counted_in"] == ledger.header.accounting
        assert ledger.count() == 0

    def test_a_refusal_by_a_cap_says_which_and_what_still_fits(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(100)
        ledger.charge(order(radius=7 * 10**17))
        with pytest.raises(ValidityRefused) as beyond:
            ledger.charge(order(radius=5 * 10**17, cap=Cap(radius=10**18)))
        expected = {"requested": "0.5", "spent": "0.7", "budget": "1", "largest": "0.3", "counted_in": "mu0²"}
        whose = {"whose": "plan", "asked_for": "query"}
        assert beyond.value.facts == expected | whose
        with pytest.raises(ValidityRefused) as too_many:
            ledger.charge(order(cap=Cap(queries=1)))
        counted = {"requested": "1", "spent": "1", "budget": "1", "largest": "0", "counted_in": "queries"}
        assert too_many.value.facts == counted | whose

    def test_a_cap_below_what_is_spent_leaves_nothing_and_never_less(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(100)
        ledger.charge(order(radius=7 * 10**17))
        with pytest.raises(ValidityRefused) as refused:
            ledger.charge(order(radius=1, cap=Cap(radius=5 * 10**17)))
        assert refused.value.facts["largest"] == "0"

    def test_a_cap_is_neither_stored_nor_compared(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(100)
        first = ledger.charge(order(request="a", radius=4, cap=Cap(4, 1)))
        assert first.receipt.order.cap is None
        assert [receipt.order.cap for receipt in ledger.receipts()] == [None]
        for cap in (
            None,
            Cap(4, 1),
            Cap(0, 0),
            Cap(9),
        ):  # a retry is no new charge
            again = ledger.charge(order(request="a", radius=4, cap=cap))
            assert again == Charged(first.receipt, fresh=False)
        with pytest.raises(InvalidRequest):
            ledger.charge(order(request="a", radius=5, cap=Cap(9)))
        assert ledger.verify().receipts == 1

    @pytest.mark.parametrize("value", NOT_CAPS, ids=short)
    def test_what_is_no_cap_charges_nothing(self, make_ledger: MakeLedger, value: Any) -> None:
        ledger = make_ledger(10)
        with pytest.raises(InvalidRequest):
            ledger.charge(order(cap=Cap(radius=value)))
        with pytest.raises(InvalidRequest):
            ledger.charge(order(cap=Cap(queries=value)))
        assert ledger.count() == 0

    @pytest.mark.usefixtures("restless")
    @pytest.mark.parametrize(("cap", "fits"), [(Cap(radius=301), 150), (Cap(queries=150), 150)], ids=repr)
    def test_two_threads_never_pass_a_cap(self, make_ledger: MakeLedger, cap: Cap, fits: int) -> None:
        ledger = make_ledger(10**6)
        assert race(ledger, ledger, cap) == ledger.count() == fits
        assert ledger.spent_radius() == 2 * fits
        ledger.verify()

    @pytest.mark.usefixtures("restless")
    def test_two_openings_of_one_ledger_never_pass_a_cap(
        self, make_ledger: MakeLedger, reopen: Reopen
    ) -> None:
        ledger = make_ledger(10**6)
        ledger.charge(order())  # now there is something to open
        assert race(ledger, reopen(ledger), Cap(radius=201)) == 100
        assert ledger.spent_radius() == 200
        assert ledger.verify().receipts == 101


def race(one: Ledger, other: Ledger, cap: Cap) -> int:
    """How many charges of radius 2 two threads get through, each of which asks for 150."""
    start = threading.Barrier(2)

    def spend(ledger: Ledger) -> int:
        start.wait()
        return sum(accepted(ledger, order(radius=2, cap=cap)) for _ in range(150))

    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(spend, (one, other)))
