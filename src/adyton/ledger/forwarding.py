"""A ledger in front of another one: whatever is not said otherwise goes through unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adyton.ledger.base import Charged, First, InFront, Keep, Ledger, Mark, Totals, Verification, documented
from adyton.ledger.links import Header, Order, Receipt


@documented
class ForwardingLedger(InFront):
    """The contract of ``Ledger`` over ``behind``."""

    def __init__(self, behind: Ledger) -> None:
        self._ledger = behind

    @property
    def header(self) -> Header:
        return self._ledger.header

    def charge(self, order: Order, first: First | None = None) -> Charged:
        return self._ledger.charge(order, first)

    def remember(self, number: int, answer: str, radius: int | None = None) -> str:
        return self._ledger.remember(number, answer, radius)

    def recall(self, number: int) -> str | None:
        return self._ledger.recall(number)

    def settled(self, number: int) -> int:
        return self._ledger.settled(number)

    def annotate(self, number: int, index: int, text: str) -> bool:
        return self._ledger.annotate(number, index, text)

    def notes(self, number: int, first: int = 0) -> list[str]:
        return self._ledger.notes(number, first)

    def repeated(self, question: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        return self._ledger.repeated(question, detail, amount)

    def unanswered(self, question: str, detail: str, amount: int) -> Receipt | None:
        return self._ledger.unanswered(question, detail, amount)

    def requested(self, request: str, by: str | None = None) -> Receipt | None:
        return self._ledger.requested(request, by)

    def receipt(self, number: int) -> Receipt | None:
        return self._ledger.receipt(number)

    def totals(self) -> Totals:
        return self._ledger.totals()

    def spent(self) -> int:
        return self._ledger.spent()

    def spent_radius(self) -> int:
        return self._ledger.spent_radius()

    def spent_by(self, by: str | None) -> int:
        return self._ledger.spent_by(by)

    def left(self, spent: int) -> int:
        return self._ledger.left(spent)

    def head(self) -> str:
        return self._ledger.head()

    def count(self) -> int:
        return self._ledger.count()

    def receipts(self) -> Iterator[Receipt]:
        return self._ledger.receipts()

    def mentioning(self, words: Sequence[str], after: int) -> list[Receipt]:
        return self._ledger.mentioning(words, after)

    def counting(self, start: str, end: str, after: int, below: int) -> Receipt | None:
        return self._ledger.counting(start, end, after, below)

    def verify(self, head: str | None = None) -> Verification:
        return self._ledger.verify(head)

    def mark(self, keep: Keep | None = None) -> Mark:
        return self._ledger.mark(keep)

    def close(self) -> None:
        self._ledger.close()
