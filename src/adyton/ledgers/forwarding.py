"""A ledger in front of another one: whatever it does not change goes through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from adyton.kernel.ledger.base import (
    Charged,
    First,
    InFront,
    Keep,
    Ledger,
    Mark,
    Totals,
    Verification,
    documented,
)
from adyton.kernel.ledger.links import Header, Order, Receipt


@documented
class _Forwarding(ABC):
    """The contract of ``Ledger`` over ``behind``: whatever is not said otherwise goes through unchanged."""

    @property
    @abstractmethod
    def behind(self) -> Ledger: ...

    @property
    def header(self) -> Header:
        return self.behind.header

    def charge(self, order: Order, first: First | None = None) -> Charged:
        return self.behind.charge(order, first)

    def remember(self, number: int, answer: str, radius: int | None = None) -> str:
        return self.behind.remember(number, answer, radius)

    def recall(self, number: int) -> str | None:
        return self.behind.recall(number)

    def settled(self, number: int) -> int:
        return self.behind.settled(number)

    def annotate(self, number: int, index: int, text: str) -> bool:
        return self.behind.annotate(number, index, text)

    def notes(self, number: int, first: int = 0) -> list[str]:
        return self.behind.notes(number, first)

    def repeated(self, query: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        return self.behind.repeated(query, detail, amount)

    def unanswered(self, query: str, detail: str, amount: int) -> Receipt | None:
        return self.behind.unanswered(query, detail, amount)

    def requested(self, request: str, by: str | None = None) -> Receipt | None:
        return self.behind.requested(request, by)

    def receipt(self, number: int) -> Receipt | None:
        return self.behind.receipt(number)

    def totals(self) -> Totals:
        return self.behind.totals()

    def spent(self) -> int:
        return self.behind.spent()

    def spent_radius(self) -> int:
        return self.behind.spent_radius()

    def spent_by(self, by: str | None) -> int:
        return self.behind.spent_by(by)

    def left(self, spent: int) -> int:
        return self.behind.left(spent)

    def head(self) -> str:
        return self.behind.head()

    def count(self) -> int:
        return self.behind.count()

    def receipts(self) -> Iterator[Receipt]:
        return self.behind.receipts()

    def mentioning(self, words: Sequence[str], after: int) -> list[Receipt]:
        return self.behind.mentioning(words, after)

    def counting(self, start: str, end: str, after: int, below: int) -> Receipt | None:
        return self.behind.counting(start, end, after, below)

    def verify(self, head: str | None = None) -> Verification:
        return self.behind.verify(head)

    def mark(self, keep: Keep | None = None) -> Mark:
        return self.behind.mark(keep)

    def close(self) -> None:
        self.behind.close()


class ForwardingLedger(InFront, _Forwarding):
    def __init__(self, behind: Ledger) -> None:
        self._ledger = behind
