"""The ledger of a study that has a book: a charge fits both, the book is written first, then the study.

The ledger of the study is held while the book is charged.  So at most one charge of a study, its newest, can
stand in the book and not yet in the study: a crash in between wastes it, or the same charge again finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from adyton.certify.statement import BookShare
from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.base import (
    Charged,
    First,
    InFront,
    Ledger,
    Totals,
    Verification,
    WithBook,
    with_book,
)
from adyton.kernel.ledger.links import Order, Receipt
from adyton.ledgers.book.book import Book, Entrant

_SAME_UNITS = "a unit of this study is one unit, or none, in every other study of its book"
_OF_ROWS = {
    "same": "all studies of the book read the same rows",
    "related": "units of other studies of the book that are not in this one are independent of its units",
    "unrelated": "what is released about the rows of other studies of the book says nothing about these",
}


class BookedLedger(InFront, WithBook):
    """The contract of ``Ledger`` over the ledger of a study and its book."""

    def __init__(self, study: Ledger, book: Book, entrant: Entrant) -> None:
        super().__init__(study)
        self.book, self._entrant = book, entrant
        self._check_newest()

    def charge(self, order: Order, first: First | None = None) -> Charged:
        counts = self.book.facts.counts
        if self._ledger.count() == 0 and not self.book.knows(self._ledger.header, self._entrant, 1):
            self.book.refuse_beyond(order, capped=counts)  # what is refused leaves no file either

        def enter(receipt: Receipt) -> None:
            if first is not None:
                first(receipt)
            self.book.enter(self._ledger.header, self._entrant, receipt, order.cap if counts else None)

        # Where the book counts for validity a cap speaks of its totals, which are no less than the study's.
        return self._ledger.charge(replace(order, cap=None) if counts else order, enter)

    def remember(self, number: int, answer: str, radius: int | None = None, level: int = 0) -> str:
        stored = self._ledger.remember(number, answer, radius, level)
        self._confirm(number, stored)
        return stored

    def recall(self, number: int) -> str | None:
        stored = self._ledger.recall(number)
        if stored is not None:
            self._confirm(number, stored)
        return stored

    def annotate(self, number: int, index: int, text: str) -> bool:
        receipt = self._ledger.receipt(number) if index == 0 else None
        behind = self._behind(receipt) if receipt is not None else None
        if receipt is not None and behind is not None:
            self.book.begun(behind, receipt)
        return self._ledger.annotate(number, index, text)

    def repeated(self, query: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        found = self._ledger.repeated(query, detail, amount)
        if found is not None:
            self._confirm(found[0].number, found[1])
        return found

    def verify(self, head: str | None = None) -> Verification:
        """Replays both, and compares what each receipt paid with what it paid in the book."""
        found = self._ledger.verify(head)
        self.book.verify()
        for receipt in self._ledger.receipts():
            behind = self._behind(receipt)
            stored = self._ledger.recall(receipt.number)
            if behind is not None and stored is not None and self.book.kept(behind):
                self.book.confirm(behind, receipt, stored, None)
        return found

    def close(self) -> None:
        self._ledger.close()
        self.book.close()

    # What validity and found keys go by.

    def counted(self, receipt: Receipt) -> Receipt:
        return (self._behind(receipt) or receipt) if self.book.facts.counts else receipt

    def counted_totals(self) -> Totals:
        return self.book.totals() if self.book.facts.counts else self._ledger.totals()

    def all_counted(self) -> Iterator[Receipt]:
        return self.book.receipts() if self.book.facts.counts else self._ledger.receipts()

    def place(self, number: int | None) -> int:
        if number is None:
            return self.book.totals().receipts + 1
        receipt = self._ledger.receipt(number)
        behind = self._behind(receipt) if receipt is not None else None
        return behind.number if behind is not None else number

    @property
    def began_book(self) -> bool:
        """Whether this study, or the one that it amends, was the first in the book.

        Claim:    True only if the facts of that study were fixed before anything was charged to the book.
        Assumes:  the digest of a header determines the fingerprint in it.
        Source:   derived here.  Theorem: BOOK.
        """
        if not self.book.facts.counts:
            return True
        return self.book.began_with(began_in(self._ledger))

    def left_in_book(self, receipt: Receipt | None) -> int:
        behind = self._behind(receipt) if receipt is not None else None
        return self.book.header.budget - behind.spent if behind is not None else self.book.left()

    @property
    def share(self) -> BookShare:
        return self.book.share()

    @property
    def said(self) -> tuple[str, ...]:
        return _SAME_UNITS, _OF_ROWS[self.book.facts.rows]

    def _behind(self, receipt: Receipt) -> Receipt | None:
        """None of a receipt that carries what an older ledger of the study, or one that was put back, has
        spent: the book knows that already.
        """
        found = self.book.behind(self._ledger.header, self._entrant, receipt)
        if found is None and receipt.order.kind not in ("carried", "restored"):
            raise LedgerCorrupt(
                f"receipt {receipt.number} of this study is not in the book {self.book.name}: the book was "
                "cut, rolled back or exchanged; put the right file back; nothing was answered"
            )
        return found

    def _check_newest(self) -> None:
        newest = self._ledger.count()
        receipt = self._ledger.receipt(newest) if newest else None
        if receipt is not None:
            self._behind(receipt)
            self._check_lost(receipt)

    def _check_lost(self, receipt: Receipt) -> None:
        """The book has what a receipt stands for after a copy was put back."""
        last = receipt.order.subject.receipts
        if receipt.order.kind == "restored":
            lost = list(takewhile(lambda number: self._ledger.receipt(number) is None, range(last, 0, -1)))
            self.book.refuse_lost(self._ledger.header, self._entrant, lost, receipt.order.amount)

    def _confirm(self, number: int, shown: str) -> None:
        receipt = self._ledger.receipt(number)
        behind = self._behind(receipt) if receipt is not None else None
        if receipt is None or behind is None:
            return
        # Only where all studies read the same rows does the final cost of one answer hold for the others.
        final = self._ledger.final_cost(number) if self.book.facts.rows == "same" else None
        self.book.confirm(behind, receipt, shown, final)


def began_in(ledger: Ledger) -> str:
    """The digest of the header of the ledger that has receipt 1: an older one if the study was amended."""
    first = next(ledger.receipts(), None)
    return (first.order.subject.began if first is not None else None) or ledger.header.digest


def booked(ledger: Ledger) -> BookedLedger | None:
    """The ledger itself, or the one behind it, that has a book; None if there is none."""
    found = with_book(ledger)
    return found if isinstance(found, BookedLedger) else None
