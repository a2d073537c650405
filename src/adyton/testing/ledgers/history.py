"""The part of the ledger's contract that speaks of answers and of the chain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from adyton.errors import InvalidRequest, LedgerCorrupt, PrivacyRefused
from adyton.kernel.ledger.links import Order
from adyton.kernel.ledger.subjects import SPREAD, Kind, ReceiptSubject, key_of_count
from adyton.testing.ledgers.orders import NOT_TEXTS, MakeLedger, Reopen, order


class AnswersContract:
    """What a receipt paid for is kept once."""

    def test_receipts_are_found_by_kind_and_key(self, make_ledger: MakeLedger) -> None:
        """Whatever their texts are; the newest first."""
        ledger = make_ledger(100)
        people = ReceiptSubject("query", table="people", measures=("Count",), counts_all=True)
        subjects = [
            people,
            ReceiptSubject("query", table="people", measures=("Count",)),
            ReceiptSubject("query", table="visits", measures=("Count",), counts_all=True),
            ReceiptSubject("batch", ("é", "ü"), table="people", measures=("Mean", "Variance")),
            ReceiptSubject("note"),
        ]
        for subject in (*subjects, *subjects):
            text = "RESTORED; STREAM OF SELECT COUNT(*) AS n FROM people"
            receipt = ledger.charge(replace(order(1, query=text), subject=subject)).receipt
            assert receipt.order.subject == subject
        assert [receipt.order.subject for receipt in ledger.receipts()] == [*subjects, *subjects]

        def found(kind: Kind | None = None, **where: Any) -> list[int]:
            return [receipt.number for receipt in ledger.find(kind, **where)]

        assert found() == list(range(10, 0, -1))
        assert found(most=3) == found(after=7) == [10, 9, 8]
        assert found("query") == [8, 7, 6, 3, 2, 1]
        assert found("batch", below=9) == [4]
        assert found("restored") == found("monitor") == []
        key = key_of_count("people")
        assert [found("query", key=key, below=below, most=1) for below in (99, 6, 1)] == [[6], [1], []]
        assert (found(key=SPREAD), found("query", key=SPREAD)) == ([9, 4], [])
        assert found(key="Count of people") == [7, 2]
        assert ledger.verify().receipts == 10

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
            ledger.charge(order(1, query=text))
        number = ledger.charge(order()).receipt.number
        with pytest.raises(InvalidRequest):
            ledger.remember(number, text)
        assert ledger.recall(number) is None

    def test_a_repeated_query_finds_its_newest_answer(self, make_ledger: MakeLedger) -> None:
        ledger, asked = make_ledger(10), order(2)
        same = (asked.query, asked.detail, asked.amount)
        assert ledger.repeated(*same) is None
        receipts = [ledger.charge(asked).receipt for _ in range(3)]
        assert ledger.repeated(*same) is None  # paid for, but never answered
        ledger.remember(2, "second")
        ledger.remember(1, "first")
        assert ledger.repeated(*same) == (receipts[1], "second")

    def test_a_repeated_query_is_the_very_same_query(self, make_ledger: MakeLedger) -> None:
        ledger, asked = make_ledger(10), order(2)
        ledger.remember(ledger.charge(asked).receipt.number, "answer")
        assert ledger.repeated("sum", asked.detail, 2) is None
        assert ledger.repeated(asked.query, "{}", 2) is None
        assert ledger.repeated(asked.query, asked.detail, 3) is None
        assert ledger.repeated(asked.query + asked.detail, "", 2) is None

    def test_what_was_paid_for_and_never_answered_is_found_by_its_query(
        self, make_ledger: MakeLedger
    ) -> None:
        ledger, asked = make_ledger(10), order(2)
        same = (asked.query, asked.detail, asked.amount)
        assert ledger.unanswered(*same) is None
        first, second = (ledger.charge(asked).receipt for _ in range(2))
        ledger.charge(order(1, "sum"))
        assert ledger.unanswered(*same) == second
        ledger.remember(2, "second")
        assert ledger.unanswered(*same) == first
        ledger.remember(1, "first")
        assert ledger.unanswered(*same) is None
        for other in (("sum", asked.detail, 2), (asked.query, "{}", 2), (asked.query, asked.detail, 1)):
            assert ledger.unanswered(*other) is None

    def test_a_mark_counts_everything_that_can_be_added(self, make_ledger: MakeLedger) -> None:
        ledger = make_ledger(10)
        before = ledger.mark()
        assert (before.receipts, before.answers, before.notes, before.spent) == (0, 0, 0, 0)
        for amount in (1, 2):
            ledger.charge(order(amount, radius=3))
        ledger.remember(2, "an answer")
        ledger.annotate(1, 0, "a note")
        ledger.annotate(2, 0, "a note")
        kept = []
        mark = ledger.mark(lambda mark, look_up: kept.append((mark, look_up(2), look_up(3))))
        assert kept == [(mark, ledger.receipt(2), None)]
        assert (mark.receipts, mark.answers, mark.notes, mark.closed) == (2, 1, 2, False)
        assert (mark.spent, mark.spent_radius, mark.head) == (3, 6, ledger.head())
        assert mark.ledger == ledger.header.digest == before.ledger

    def test_a_first_receipt_may_carry_what_another_ledger_has_spent(self, make_ledger: MakeLedger) -> None:
        ledger, subject = make_ledger(10), ReceiptSubject("carried", receipts=7, head="ab" * 32)
        first = ledger.charge(Order("carried", "{}", 6, 5, subject=subject)).receipt
        assert (first.number, first.spent, first.spent_radius) == (8, 6, 5)
        assert ledger.count() == 8
        assert (ledger.receipt(7), ledger.receipt(1), ledger.recall(1)) == (None, None, None)
        second = ledger.charge(order(4)).receipt
        assert (second.number, second.spent) == (9, 10)
        assert ledger.remember(9, "an answer") == ledger.recall(9) == "an answer"
        with pytest.raises(PrivacyRefused):
            ledger.charge(order(1))
        with pytest.raises(InvalidRequest, match="only the first receipt"):
            ledger.charge(Order("carried", "{}", 1, 0, subject=subject))
        with pytest.raises(InvalidRequest):
            ledger.remember(7, "free")
        assert list(ledger.receipts()) == [first, second]
        assert ledger.verify(first.digest).receipts == 9


class ChainContract:
    """Nothing is forgotten, and nothing is put in between."""

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
            found = ledger.verify(head=head)
            assert (found.receipts, found.head, found.spent) == (3, heads[-1], 3)
        with pytest.raises(LedgerCorrupt):
            ledger.verify(head="0" * 64)
        with pytest.raises(InvalidRequest, match="64 hexadecimal digits"):
            ledger.verify(head=heads[0][:12])

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
        with pytest.raises(PrivacyRefused):
            again.charge(order(9 * 10**29))
