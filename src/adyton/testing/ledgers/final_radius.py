"""The part of the ledger's contract that speaks of final radii and of the open parts of a chain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.errors import BudgetRefused, InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger.base import Ledger
from adyton.kernel.ledger.links import Cap, OpenLink, Receipt
from adyton.kernel.ledger.replaying import replay_open
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.ledger.validity import ValidityRecord
from adyton.testing.ledgers.orders import FEW, MakeLedger, Reopen, order, short

KNOWN = ValidityRecord(((12, 3), (1, 2)), 5 * 10**17, 40, 1, (3, 7))
OTHER_FACTS: list[dict[str, Any]] = [
    {"gaussian": ((12, 3), (1, 6))},
    {"gaussian": ((13, 3), (1, 2))},
    {"coded_nats": 1},
    {"units": None},
    {"law": 2},
    {"blocks": None},
    {"blocks": (3, 8)},
]
_NOT_NUMBERS = ("asked_at", "previous", "sealed", "validity")
NOT_FINAL = [-1, True, False, 0.0, 1.5, "1", 8, 10**400]  # of a receipt of radius 7


class FinalRadiusContract:
    """The radius of a receipt counts in full until its answer is stored, and then as that says."""

    def test_a_final_radius_has_its_level(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        """One that is all that was charged holds for sure."""
        ledger = make_ledger(100)
        for radius, level, final in ((5, 10**15, (5, 10**15)), (9, 4, (9, 0)), (None, 4, (9, 0))):
            number = ledger.charge(order(radius=9)).receipt.number
            assert ledger.final_cost(number) == (9, 0)
            ledger.remember(number, "an answer", radius, level)
            assert ledger.final_cost(number) == final
        with pytest.raises(InvalidRequest):
            ledger.remember(ledger.charge(order(radius=9)).receipt.number, "an answer", 3, -1)
        costs = [(receipt.final_radius, receipt.final_level) for receipt in ledger.receipts()]
        assert costs == [(0, 0), (5, 10**15), (9, 0), (9, 0)]
        ledger.close()
        again = reopen(ledger)
        assert again.final_cost(1) == (5, 10**15)
        assert again.verify().receipts == 4

    def test_what_validity_has_to_know_is_kept(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        ledger = make_ledger(100)
        for fields in ({}, *OTHER_FACTS):
            ledger.charge(replace(order(radius=9), validity=replace(KNOWN, **fields)))
        expected = [KNOWN, *(replace(KNOWN, **fields) for fields in OTHER_FACTS)]
        assert [receipt.order.validity for receipt in ledger.receipts()] == expected
        assert [receipt.order.linear_radius for receipt in ledger.receipts()][:2] == [4, 0]
        ledger.close()
        assert [receipt.open.validity for receipt in reopen(ledger).receipts()] == expected
        for wrong in (((3, 10),), ((0, 1),), ((1, -1),), ((True, 1),)):
            with pytest.raises(InvalidRequest):
                ledger.charge(replace(order(radius=9), validity=ValidityRecord(wrong)))

    def test_the_next_receipt_takes_the_final_radius_of_the_answer(self, make_ledger: MakeLedger) -> None:
        ledger, large = make_ledger(100), 10**30
        ledger.charge(order(radius=large))
        assert (ledger.final_cost(1).radius, ledger.spent_radius()) == (large, large)
        ledger.remember(1, "an answer", 7)
        assert (ledger.final_cost(1).radius, ledger.spent_radius()) == (7, 7)
        second = ledger.charge(order(radius=20)).receipt
        assert (second.final_radius, second.spent_radius) == (7, 27)
        third = ledger.charge(order(radius=3)).receipt  # the second is not answered yet
        assert (third.final_radius, third.spent_radius) == (20, 30)
        ledger.remember(2, "too late to count", 0)
        assert (ledger.final_cost(2).radius, ledger.spent_radius()) == (0, 30)
        ledger.remember(3, "in full")
        assert (ledger.final_cost(3).radius, ledger.spent_radius()) == (3, 30)
        last = ledger.charge(order()).receipt
        assert (last.final_radius, last.spent_radius) == (3, 30)
        assert [receipt.final_radius for receipt in ledger.receipts()] == [0, 7, 20, 3]
        assert ledger.verify().receipts == 4

    def test_the_first_answer_has_the_final_radius(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(radius=7))
        assert ledger.remember(1, "first", 5) == "first"
        assert ledger.remember(1, "second", 2) == ledger.remember(1, "first", 2) == "first"
        assert (ledger.final_cost(1).radius, ledger.spent_radius()) == (5, 5)

    @pytest.mark.parametrize("radius", NOT_FINAL, ids=short)
    def test_no_final_radius_is_more_than_was_charged(self, make_ledger: MakeLedger, radius: Any) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(radius=7))
        with pytest.raises(InvalidRequest):
            ledger.remember(1, "an answer", radius)
        assert (ledger.recall(1), ledger.final_cost(1).radius) == (None, 7)
        assert ledger.remember(1, "an answer", 7) == "an answer"

    def test_only_a_receipt_has_a_final_radius(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        wrong: list[Any] = [0, 1, True, None, 10**30]
        for number in wrong:
            with pytest.raises(InvalidRequest):
                ledger.final_cost(number)

    def test_a_cap_counts_final_radii(self, make_ledger: MakeLedger) -> None:
        ledger, cap = make_ledger(10), Cap(radius=10)
        ledger.charge(order(radius=8, cap=cap))
        with pytest.raises(BudgetRefused):
            ledger.charge(order(radius=3, cap=cap))
        ledger.remember(1, "an answer", 6)
        assert ledger.charge(order(radius=4, cap=cap)).receipt.spent_radius == 10
        with pytest.raises(BudgetRefused):
            ledger.charge(order(radius=1, cap=cap))

    def test_a_final_radius_survives_reopening(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(radius=8))
        ledger.remember(1, "an answer", 6)
        ledger.close()
        again = reopen(ledger)
        assert (again.final_cost(1).radius, again.spent_radius()) == (6, 6)
        assert again.charge(order(radius=1)).receipt.spent_radius == 7
        assert again.verify().receipts == 2


class OpenLinksContract:
    """Whoever sees only the open parts and the own receipts can replay the chain, and reads nothing else."""

    def test_the_open_parts_are_the_same_chain(self, make_ledger: MakeLedger) -> None:
        ledger = history(make_ledger(1000))
        links, whole = [receipt.open for receipt in ledger.receipts()], ledger.verify()
        assert replay_open(ledger.header, links) == whole
        assert [link.digest for link in links] == [receipt.digest for receipt in ledger.receipts()]
        for by in ("ana", "ben", None):
            assert replay_open(ledger.header, links, whole.head, own_of(ledger, by)) == whole
        shown = repr(links)
        assert not any(word in shown for word in ("ana", "ben", "secret query", "mechanism", "id-7"))
        with pytest.raises(LedgerCorrupt, match="rolled back"):
            replay_open(ledger.header, links[:-1], whole.head)

    def test_law_no_field_of_a_link_can_be_changed(self, make_ledger: MakeLedger) -> None:
        ledger = history(make_ledger(1000))
        links, head = [receipt.open for receipt in ledger.receipts()], ledger.head()
        numbers = [name for name in OpenLink.__slots__ if name not in _NOT_NUMBERS]

        @FEW
        @given(st.integers(0, len(links) - 1), st.sampled_from(numbers), st.integers(-30, 30).filter(bool))
        def law(place: int, name: str, by: int) -> None:
            changed = replace(links[place], **{name: getattr(links[place], name) + by})
            with pytest.raises(LedgerCorrupt):
                replay_open(ledger.header, [*links[:place], changed, *links[place + 1 :]], head)

        law()
        other: list[dict[str, Any]] = [{name: "0" * 64} for name in ("asked_at", "previous", "sealed")]
        other += [{"validity": replace(KNOWN, **field)} for field in OTHER_FACTS]
        for fields in other:
            changed = replace(links[0], **fields)
            with pytest.raises(LedgerCorrupt):
                replay_open(ledger.header, [changed, *links[1:]], head)

    def test_totals_must_follow_although_all_links_were_made_anew(self, make_ledger: MakeLedger) -> None:
        """Who writes the whole chain anew still cannot give anything back."""
        ledger = history(make_ledger(1000))
        links = [receipt.open for receipt in ledger.receipts()]
        header = ledger.header
        changes: list[dict[str, Any]] = [
            {"spent": links[2].spent - 1},
            {"spent_radius": links[2].spent_radius - 1},
            {"spent_pure": links[2].spent_pure - 1},
            {"unproved": links[2].unproved + 2},
            {"final_radius": links[1].radius + 1, "spent_radius": links[2].spent_radius + 1},
            {"final_radius": -1, "spent_radius": links[2].spent_radius - links[2].final_radius - 1},
            {"final_level": -1},
            {"final_level": 1},  # of a radius that holds for sure
            {"validity": ValidityRecord(((1, links[2].radius + 1),))},
            {"number": links[1].number},  # which would use a share of delta, or a level, twice
            {"amount": 0, "spent": links[1].spent},
            {"radius": -1, "spent_radius": links[2].spent_radius - links[2].radius - 1},
            {"amount": 2000, "spent": links[1].spent + 2000},
        ]
        for change in changes:
            forged = replace(links[2], **change)
            with pytest.raises(LedgerCorrupt):
                replay_open(header, [*links[:2], forged])
        with pytest.raises(LedgerCorrupt):
            replay_open(header, links[1:])

    def test_own_receipts_must_be_in_the_chain(self, make_ledger: MakeLedger) -> None:
        ledger = history(make_ledger(1000))
        links, own = [receipt.open for receipt in ledger.receipts()], own_of(ledger, "ana")
        first, *rest = own
        forged = [
            [replace(first, order=replace(first.order, query="another")), *rest],
            [
                replace(
                    first,
                    order=replace(first.order, subject=ReceiptSubject("restored", receipts=1, head="0")),
                ),
                *rest,
            ],
            [replace(first, order=replace(first.order, validity=ValidityRecord())), *rest],
            [replace(first, secret="0" * 32), *rest],
            [replace(first, number=99), *rest],
            rest,  # one is missing, and the total says so
        ]
        for receipts in forged:
            with pytest.raises(LedgerCorrupt):
                replay_open(ledger.header, links, own=receipts)
        others = own_of(ledger, "ben")
        assert replay_open(ledger.header, links, own=[*own, *others]) == replay_open(ledger.header, links)
        with pytest.raises(LedgerCorrupt):  # each name has a total of its own
            replay_open(ledger.header, links, own=[*rest, *others])

    def test_each_receipt_has_a_secret_of_its_own(self, make_ledger: MakeLedger) -> None:
        """Without it, whoever guesses a query could check the guess against the open digest."""
        ledger = make_ledger(10)
        alike = [ledger.charge(order()).receipt for _ in range(3)]
        assert len({receipt.secret for receipt in alike}) == 3
        assert all(len(receipt.secret) == 32 for receipt in alike)
        one = alike[0]
        guessed = [replace(one, secret=other) for other in ("", "0" * 32, alike[1].secret)]
        assert one.sealed not in [guess.sealed for guess in guessed]


def history(ledger: Ledger) -> Ledger:
    """Three names, all fields, some answers."""
    first = order(5, "secret query", "id-7", 9, by="ana", budget_share=50, pure=2)
    asked = ReceiptSubject("query", table="secret query", measures=("Mean",))
    ledger.charge(replace(first, subject=asked, validity=KNOWN))
    ledger.remember(1, "an answer", 4, 7)
    ledger.charge(order(6, radius=8, by="ben"))
    ledger.charge(order(7, radius=7, unproved=True))
    ledger.remember(3, "an answer", 0)
    ledger.charge(order(8, "secret query", radius=6, by="ana", budget_share=60, pure=1, unproved=True))
    ledger.charge(order(9, radius=5, by="ben", budget_share=15))
    return ledger


def own_of(ledger: Ledger, by: str | None) -> list[Receipt]:
    return [receipt for receipt in ledger.receipts() if receipt.order.by == by]
