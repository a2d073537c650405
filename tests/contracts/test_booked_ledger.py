"""A ledger with a book behind it keeps the contract of every ledger, and so does one with a checkpoint too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import adyton
from adyton.errors import PrivacyRefused
from adyton.kernel.ledger import Ledger, MemoryLedger
from adyton.kernel.ledger.base import InFront, counted, with_book
from adyton.ledgers.book import BookedLedger, BookFacts
from adyton.ledgers.book.book import Entrant
from adyton.ledgers.checkpoint import Checkpoint
from adyton.ledgers.checkpointed import CheckpointedLedger
from adyton.ledgers.on_demand import LedgerOnDemand
from adyton.testing.ledgers.contract import LedgerContract, MakeLedger, Reopen, order
from adyton.testing.ledgers.orders import trace

STUDY = "ab" * 32
ENTRANT = Entrant("people abababababab", STUDY, 50)


@pytest.fixture(autouse=True)
def any_limit(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The limit of the books here, in units: far above those of the contract, which the study must keep."""
    limit = [10**60]
    monkeypatch.setattr(BookFacts, "allowed", property(lambda facts: limit[0]))
    return limit


def book_at(path: Path) -> adyton.Book:
    return adyton.Book.create(path, epsilon=1, delta=0, accounting="pure", rows="same")


def booked(name: Path, limit: int) -> BookedLedger:
    file = LedgerOnDemand(name.with_suffix(".ledger"), study=STUDY, accounting="pure", budget=limit)
    checkpointed = CheckpointedLedger(file, Checkpoint(name.with_suffix(".checkpoint")))
    return BookedLedger(checkpointed, adyton.Book(name.with_suffix(".book")), ENTRANT)


class TestBookedLedger(LedgerContract):
    @pytest.fixture
    def make_ledger(self, tmp_path: Path) -> Iterator[MakeLedger]:
        opened: list[BookedLedger] = []

        def make(limit: int) -> BookedLedger:
            name = tmp_path / str(len(opened))
            book_at(name.with_suffix(".book")).close()
            opened.append(booked(name, limit))
            return opened[-1]

        yield make
        for ledger in opened:
            ledger.close()

    @pytest.fixture
    def reopen(self) -> Iterator[Reopen]:
        opened: list[BookedLedger] = []

        def again(ledger: Ledger) -> BookedLedger:
            assert isinstance(ledger, BookedLedger)
            opened.append(booked(ledger.book.path.with_suffix(""), ledger.header.budget))
            return opened[-1]

        yield again
        for ledger in opened:
            ledger.close()

    def test_what_the_book_refuses_leaves_no_trace_in_either(
        self, tmp_path: Path, make_ledger: MakeLedger, any_limit: list[int]
    ) -> None:
        ledger = make_ledger(10**20)
        assert isinstance(ledger, BookedLedger)
        any_limit[0] = 7
        ledger.book = book_at(tmp_path / "tight.ledger")
        ledger.charge(order(5, request="a"))
        before = trace(ledger), list(ledger.book.receipts())
        with pytest.raises(PrivacyRefused, match=r"limit of the book tight\.ledger") as refused:
            ledger.charge(order(3))
        assert (trace(ledger), list(ledger.book.receipts())) == before
        assert refused.value.facts["book"] == "tight.ledger"
        assert float(refused.value.facts["largest"]) == 2e-18
        assert ledger.charge(order(2)).fresh
        assert not ledger.charge(order(5, request="a")).fresh  # paid for before, so the book is not asked
        assert ledger.book.totals().spent == 7


def test_a_ledger_in_front_of_it_still_knows_the_book(tmp_path: Path) -> None:
    """As that of a name in a service: what validity counts must not hang on who asks."""
    book_at(tmp_path / "a.book").close()
    ledger = booked(tmp_path / "a", 10)
    assert with_book(InFront(InFront(ledger))) is ledger
    assert with_book(InFront(MemoryLedger(ledger.header))) is None
    receipt = InFront(ledger).charge(order(radius=3)).receipt
    assert counted(InFront(ledger), receipt) == ledger.counted(receipt) != receipt
    ledger.close()
