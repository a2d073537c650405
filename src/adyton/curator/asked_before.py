"""What was paid for before, by question and price: an answer, or a receipt that is still without one."""

from __future__ import annotations

from dataclasses import replace

from adyton.ledger import Ledger, Order, Receipt


class AskedBefore:
    """Looks into the ledger.

    Where units are split, the same question at the same price is charged differently at another time: then it
    is known by its mechanisms, which follow from the price.
    """

    def __init__(self, ledger: Ledger, *, split: bool) -> None:
        self._ledger, self._split = ledger, split
        self._looked_at = 0
        self._numbers: dict[tuple[str, str], list[int]] = {}

    def repeated(self, question: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        """The newest answer already given."""
        if not self._split:
            return self._ledger.repeated(question, detail, amount)
        for receipt in self._same(question, detail):
            stored = self._ledger.recall(receipt.number)
            if stored is not None:
                return receipt, stored
        return None

    def unanswered(self, question: str, detail: str, amount: int) -> Receipt | None:
        """The newest receipt that has no answer yet."""
        if not self._split:
            return self._ledger.unanswered(question, detail, amount)
        same = self._same(question, detail)
        return next((receipt for receipt in same if self._ledger.recall(receipt.number) is None), None)

    def as_charged(self, order: Order) -> Order:
        """The order as it was charged under its request id, if it was for the same."""
        earlier = self._ledger.requested(order.request) if self._split and order.request else None
        if earlier is None or (earlier.order.question, earlier.order.detail) != (
            order.question,
            order.detail,
        ):
            return order
        return replace(order, amount=earlier.order.amount)

    def _same(self, question: str, detail: str) -> list[Receipt]:
        """The newest first."""
        newest = self._ledger.count()
        for number in range(self._looked_at + 1, newest + 1):
            receipt = self._ledger.receipt(number)
            if receipt is not None:
                known = (receipt.order.question, receipt.order.detail)
                self._numbers.setdefault(known, []).append(number)
        self._looked_at = newest
        found = map(self._ledger.receipt, reversed(self._numbers.get((question, detail), [])))
        return [receipt for receipt in found if receipt is not None]
