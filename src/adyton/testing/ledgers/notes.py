"""The part of the ledger's contract that speaks of notes; ``LedgerContract`` includes it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger.links import Order


def paid(ledger: Any, count: int = 1) -> Any:
    """``ledger`` with ``count`` receipts."""
    for _ in range(count):
        ledger.charge(Order("monitor", "[]", 1, 0))
    return ledger


class NotesContract:
    def test_notes_are_kept_in_order(self, make_ledger: Any) -> None:
        ledger = paid(make_ledger(10), 2)
        assert ledger.notes(1) == []
        for index, text in enumerate(["first", "second", "é \u2028 ' \" ; --"]):
            assert ledger.annotate(1, index, text)
        assert ledger.annotate(2, 0, "other")
        assert ledger.notes(1) == ["first", "second", "é \u2028 ' \" ; --"]
        assert ledger.notes(1, 1) == ledger.notes(1)[1:]
        assert ledger.notes(1, 3) == ledger.notes(1, 9) == []
        assert ledger.notes(2) == ["other"]
        assert ledger.verify().receipts == 2

    def test_a_place_is_written_once(self, make_ledger: Any) -> None:
        ledger = paid(make_ledger(10))
        assert ledger.annotate(1, 0, "first")
        assert not ledger.annotate(1, 0, "another")
        assert not ledger.annotate(1, 0, "first")
        assert ledger.annotate(1, 1, "second")
        assert not ledger.annotate(1, 0, "rewritten")
        assert ledger.notes(1) == ["first", "second"]

    def test_a_gap_stops_everything(self, make_ledger: Any) -> None:
        """Who has seen more notes than there are has seen a ledger that was rolled back since."""
        ledger = paid(make_ledger(10))
        ledger.annotate(1, 0, "first")
        with pytest.raises(LedgerCorrupt, match="lost notes"):
            ledger.annotate(1, 2, "third")
        assert ledger.notes(1) == ["first"]

    def test_notes_change_neither_the_chain_nor_what_is_spent(self, make_ledger: Any) -> None:
        ledger = paid(make_ledger(10))
        before = (ledger.head(), ledger.spent(), ledger.spent_radius(), ledger.count())
        ledger.annotate(1, 0, "canary-4711")
        assert (ledger.head(), ledger.spent(), ledger.spent_radius(), ledger.count()) == before
        assert "canary-4711" not in repr(list(ledger.receipts()))
        assert ledger.recall(1) is None

    def test_a_note_needs_a_receipt_a_place_and_plain_text(self, make_ledger: Any) -> None:
        ledger = paid(make_ledger(10))
        for number in (0, -1, 2, 10**30, True, 1.0, "1", None):
            with pytest.raises(InvalidRequest):
                ledger.annotate(number, 0, "free")
        for index in (-1, True, 0.0, "0", None, 10**30):
            with pytest.raises(InvalidRequest):
                ledger.annotate(1, index, "nowhere")
        for text in ("half \ud800", "zero \0", None, 7, b"text"):
            with pytest.raises(InvalidRequest):
                ledger.annotate(1, 0, text)
        assert ledger.notes(1) == ledger.notes(2) == []

    def test_a_receipt_is_found_by_its_number(self, make_ledger: Any) -> None:
        ledger = paid(make_ledger(10), 3)
        assert [ledger.receipt(n) for n in (1, 2, 3)] == list(ledger.receipts())
        assert ledger.receipt(4) is None
        with pytest.raises(InvalidRequest):
            ledger.receipt(0)

    def test_many_threads_append_each_place_once(self, make_ledger: Any) -> None:
        ledger, start = paid(make_ledger(10)), threading.Barrier(4)

        def append(name: int) -> int:
            start.wait()
            return sum(ledger.annotate(1, len(ledger.notes(1)), f"{name}") for _ in range(25))

        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(append, range(4)))
        notes = ledger.notes(1)
        assert sum(won) == len(notes)
        assert [notes.count(str(name)) for name in range(4)] == won
        ledger.verify()

    def test_notes_survive_reopening(self, make_ledger: Any, reopen: Any) -> None:
        ledger = paid(make_ledger(10))
        ledger.annotate(1, 0, "first")
        ledger.close()
        again = reopen(ledger)
        assert again.notes(1) == ["first"]
        assert not again.annotate(1, 0, "another")
        assert again.annotate(1, 1, "second")
