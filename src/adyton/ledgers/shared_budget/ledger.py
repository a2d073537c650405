"""The ledger of a study that has a shared budget: a charge fits both; it is
written there first, then in the study.

The ledger of the study is held while the shared budget is charged.  So at most one charge of a study, its
newest, can stand in the shared budget and not yet in the study: a crash in between wastes it, or the same
charge again finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from adyton.certify.budget import SharedBudgetTotals
from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.base import (
    Charged,
    First,
    InFront,
    Ledger,
    Totals,
    Verification,
    WithSharedBudget,
    with_shared_budget,
)
from adyton.kernel.ledger.links import Order, Receipt
from adyton.ledgers.shared_budget.file import Entrant, SharedBudget

_SAME_UNITS = "a unit of this study is one unit, or none, in every other study of its shared budget"
_OF_ROWS = {
    "same": "all studies of this budget read the same rows",
    "related": "units of other studies of this budget that are not in this one are independent of its units",
    "unrelated": "what is released about the rows of other studies of this budget says nothing about these",
}


class SharedBudgetLedger(InFront, WithSharedBudget):
    """The contract of ``Ledger`` over the ledger of a study and its shared budget."""

    def __init__(self, study: Ledger, shared_budget: SharedBudget, entrant: Entrant) -> None:
        super().__init__(study)
        self.shared_budget, self._entrant = shared_budget, entrant
        self._check_newest()

    def charge(self, order: Order, first: First | None = None) -> Charged:
        counts = self.shared_budget.facts.counts
        if self._ledger.count() == 0 and not self.shared_budget.knows(self._ledger.header, self._entrant, 1):
            self.shared_budget.refuse_beyond(order, capped=counts)  # what is refused leaves no file either

        def enter(receipt: Receipt) -> None:
            if first is not None:
                first(receipt)
            self.shared_budget.enter(
                self._ledger.header, self._entrant, receipt, order.cap if counts else None
            )

        # Where the shared budget counts for validity a cap speaks of its totals, which are no less than the
        # study's.
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
            self.shared_budget.begun(behind, receipt)
        return self._ledger.annotate(number, index, text)

    def repeated(self, query: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        found = self._ledger.repeated(query, detail, amount)
        if found is not None:
            self._confirm(found[0].number, found[1])
        return found

    def verify(self, head: str | None = None) -> Verification:
        """Replays both, and compares what each receipt paid with what it paid in the shared budget."""
        found = self._ledger.verify(head)
        self.shared_budget.verify()
        for receipt in self._ledger.receipts():
            behind = self._behind(receipt)
            stored = self._ledger.recall(receipt.number)
            if behind is not None and stored is not None and self.shared_budget.kept(behind):
                self.shared_budget.confirm(behind, receipt, stored, None)
        return found

    def close(self) -> None:
        self._ledger.close()
        self.shared_budget.close()

    # What validity and discovered groups go by.

    def counted(self, receipt: Receipt) -> Receipt:
        return (self._behind(receipt) or receipt) if self.shared_budget.facts.counts else receipt

    def counted_totals(self) -> Totals:
        return self.shared_budget.totals() if self.shared_budget.facts.counts else self._ledger.totals()

    def all_counted(self) -> Iterator[Receipt]:
        return self.shared_budget.receipts() if self.shared_budget.facts.counts else self._ledger.receipts()

    def place(self, number: int | None) -> int:
        if number is None:
            return self.shared_budget.totals().receipts + 1
        receipt = self._ledger.receipt(number)
        behind = self._behind(receipt) if receipt is not None else None
        return behind.number if behind is not None else number

    @property
    def began_shared_budget(self) -> bool:
        """Whether this study, or the one that it amends, was the first in the shared budget.

        Claim:    True only if the facts of that study were fixed before anything was charged to the shared
                  budget.
        Assumes:  the digest of a header determines the fingerprint in it.
        Source:   derived here.  Theorem: SHARED-BUDGET.
        """
        if not self.shared_budget.facts.counts:
            return True
        return self.shared_budget.began_with(began_in(self._ledger))

    def left_in_shared_budget(self, receipt: Receipt | None) -> int:
        behind = self._behind(receipt) if receipt is not None else None
        return (
            self.shared_budget.header.budget - behind.spent
            if behind is not None
            else self.shared_budget.left()
        )

    @property
    def share(self) -> SharedBudgetTotals:
        return self.shared_budget.share()

    @property
    def said(self) -> tuple[str, ...]:
        return _SAME_UNITS, _OF_ROWS[self.shared_budget.facts.rows]

    def _behind(self, receipt: Receipt) -> Receipt | None:
        """None of a receipt that carries what an older ledger of the study, or one that was put back, has
        spent: the shared budget knows that already.
        """
        found = self.shared_budget.behind(self._ledger.header, self._entrant, receipt)
        if found is None and receipt.order.kind not in ("carried", "restored"):
            raise LedgerCorrupt(
                f"receipt {receipt.number} of this study is not in the shared budget "
                f"{self.shared_budget.name}: the shared budget was cut, rolled back or exchanged; put the "
                "right file back; nothing was answered"
            )
        return found

    def _check_newest(self) -> None:
        newest = self._ledger.count()
        receipt = self._ledger.receipt(newest) if newest else None
        if receipt is not None:
            self._behind(receipt)
            self._check_lost(receipt)

    def _check_lost(self, receipt: Receipt) -> None:
        """The shared budget has what a receipt stands for after a copy was put back."""
        last = receipt.order.subject.receipts
        if receipt.order.kind == "restored":
            lost = list(takewhile(lambda number: self._ledger.receipt(number) is None, range(last, 0, -1)))
            self.shared_budget.refuse_lost(self._ledger.header, self._entrant, lost, receipt.order.amount)

    def _confirm(self, number: int, shown: str) -> None:
        receipt = self._ledger.receipt(number)
        behind = self._behind(receipt) if receipt is not None else None
        if receipt is None or behind is None:
            return
        # Only where all studies read the same rows does the final cost of one answer hold for the others.
        final = self._ledger.final_cost(number) if self.shared_budget.facts.rows == "same" else None
        self.shared_budget.confirm(behind, receipt, shown, final)


def began_in(ledger: Ledger) -> str:
    """The digest of the header of the ledger that has receipt 1: an older one if the study was amended."""
    first = next(ledger.receipts(), None)
    return (first.order.subject.began if first is not None else None) or ledger.header.digest


def shared_budget_ledger(ledger: Ledger) -> SharedBudgetLedger | None:
    """The ledger itself, or the one behind it, that has a shared budget; None if there is none."""
    found = with_shared_budget(ledger)
    return found if isinstance(found, SharedBudgetLedger) else None
