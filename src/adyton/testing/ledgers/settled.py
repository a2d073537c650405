"""The part of the ledger's contract that speaks of settled radii and of the open parts of a chain."""

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
from adyton.testing.ledgers.orders import FEW, MakeLedger, Reopen, order, short

NOT_SETTLED = [-1, True, False, 0.0, 1.5, "1", 8, 10**400]  # of a receipt of radius 7


class SettledContract:
    """The radius of a receipt counts in full until its answer is stored, and then as that says."""

    def test_the_next_receipt_takes_what_the_answer_settled(self, make_ledger: MakeLedger) -> None:
        ledger, large = make_ledger(100), 10**30
        ledger.charge(order(radius=large))
        assert (ledger.settled(1), ledger.spent_radius()) == (large, large)
        ledger.remember(1, "an answer", 7)
        assert (ledger.settled(1), ledger.spent_radius()) == (7, 7)
        second = ledger.charge(order(radius=20)).receipt
        assert (second.settled, second.spent_radius) == (7, 27)
        third = ledger.charge(order(radius=3)).receipt  # the second is not answered yet
        assert (third.settled, third.spent_radius) == (20, 30)
        ledger.remember(2, "too late to count", 0)
        assert (ledger.settled(2), ledger.spent_radius()) == (0, 30)
        ledger.remember(3, "in full")
        assert (ledger.settled(3), ledger.spent_radius()) == (3, 30)
        last = ledger.charge(order()).receipt
        assert (last.settled, last.spent_radius) == (3, 30)
        assert [receipt.settled for receipt in ledger.receipts()] == [0, 7, 20, 3]
        assert ledger.verify().receipts == 4

    def test_the_first_answer_settles(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(radius=7))
        assert ledger.remember(1, "first", 5) == "first"
        assert ledger.remember(1, "second", 2) == ledger.remember(1, "first", 2) == "first"
        assert (ledger.settled(1), ledger.spent_radius()) == (5, 5)

    @pytest.mark.parametrize("radius", NOT_SETTLED, ids=short)
    def test_no_answer_settles_more_than_was_charged(self, make_ledger: MakeLedger, radius: Any) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(radius=7))
        with pytest.raises(InvalidRequest):
            ledger.remember(1, "an answer", radius)
        assert (ledger.recall(1), ledger.settled(1)) == (None, 7)
        assert ledger.remember(1, "an answer", 7) == "an answer"

    def test_only_a_receipt_is_settled(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        wrong: list[Any] = [0, 1, True, None, 10**30]
        for number in wrong:
            with pytest.raises(InvalidRequest):
                ledger.settled(number)

    def test_a_cap_counts_what_was_settled(self, make_ledger: MakeLedger) -> None:
        ledger, cap = make_ledger(10), Cap(radius=10)
        ledger.charge(order(radius=8, cap=cap))
        with pytest.raises(BudgetRefused):
            ledger.charge(order(radius=3, cap=cap))
        ledger.remember(1, "an answer", 6)
        assert ledger.charge(order(radius=4, cap=cap)).receipt.spent_radius == 10
        with pytest.raises(BudgetRefused):
            ledger.charge(order(radius=1, cap=cap))

    def test_what_was_settled_survives_reopening(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        ledger = make_ledger(10)
        ledger.charge(order(radius=8))
        ledger.remember(1, "an answer", 6)
        ledger.close()
        again = reopen(ledger)
        assert (again.settled(1), again.spent_radius()) == (6, 6)
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
        assert not any(word in shown for word in ("ana", "ben", "secret query", "gaussian", "id-7"))
        with pytest.raises(LedgerCorrupt, match="rolled back"):
            replay_open(ledger.header, links[:-1], whole.head)

    def test_law_no_field_of_a_link_can_be_changed(self, make_ledger: MakeLedger) -> None:
        ledger = history(make_ledger(1000))
        links, head = [receipt.open for receipt in ledger.receipts()], ledger.head()
        numbers = [name for name in OpenLink.__slots__ if name not in ("asked_at", "previous", "sealed")]

        @FEW
        @given(st.integers(0, len(links) - 1), st.sampled_from(numbers), st.integers(-30, 30).filter(bool))
        def law(place: int, name: str, by: int) -> None:
            changed = replace(links[place], **{name: getattr(links[place], name) + by})
            with pytest.raises(LedgerCorrupt):
                replay_open(ledger.header, [*links[:place], changed, *links[place + 1 :]], head)

        law()
        for name in ("asked_at", "previous", "sealed"):
            text: dict[str, Any] = {name: "0" * 64}
            changed = replace(links[1], **text)
            with pytest.raises(LedgerCorrupt):
                replay_open(ledger.header, [links[0], changed, *links[2:]], head)

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
            {"settled": links[1].radius + 1, "spent_radius": links[2].spent_radius + 1},
            {"settled": -1, "spent_radius": links[2].spent_radius - links[2].settled - 1},
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
    ledger.charge(order(5, "secret query", "id-7", 9, by="ana", sub_limit=50, pure=2))
    ledger.remember(1, "an answer", 4)
    ledger.charge(order(6, radius=8, by="ben"))
    ledger.charge(order(7, radius=7, unproved=True))
    ledger.remember(3, "an answer", 0)
    ledger.charge(order(8, "secret query", radius=6, by="ana", sub_limit=60, pure=1, unproved=True))
    ledger.charge(order(9, radius=5, by="ben", sub_limit=15))
    return ledger


def own_of(ledger: Ledger, by: str | None) -> list[Receipt]:
    return [receipt for receipt in ledger.receipts() if receipt.order.by == by]
