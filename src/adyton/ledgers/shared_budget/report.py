"""What each study has spent of what all of them may spend together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adyton.certify import Amount, AmountLeft, RoundedGuarantee
from adyton.documents import Document, Units
from adyton.ledgers.shared_budget.file import detail_of
from adyton.show import Sheet, Shown

if TYPE_CHECKING:
    from adyton.kernel.ledger import Receipt
    from adyton.ledgers.shared_budget.file import SharedBudget

_ROWS = {
    "same": "All studies read the same rows: population intervals count what all of them released.",
    "related": "Population intervals of each study count what all of them released, in full.",
    "unrelated": "Declared unrelated: population intervals of a study count what that study released alone.",
}


@dataclass(frozen=True, slots=True)
class StudySpent(Document):
    """One study in a shared budget."""

    name: str
    fingerprint: str
    charges: int
    spent: Amount
    last_charged: str


@dataclass(frozen=True, slots=True)
class SharedBudgetReport(Shown, Document):
    """What a shared budget allows, what is spent of it by whom, and what is left."""

    name: str
    guarantee: RoundedGuarantee
    unit: str
    adjacency: str
    rows: str
    spent: Amount
    left: AmountLeft
    charges: int
    stability: Units
    studies: tuple[StudySpent, ...]

    json_keys = (
        "shared_budget=name guarantee unit adjacency rows spent left charges "
        "stability_spent=stability studies"
    )

    def sheet(self, verbose: bool = False) -> Sheet:
        """A line for each study, and one for all of them."""
        lines = [(one.name, f"{one.charges:,}", one.spent.shown(verbose)) for one in self.studies]
        lines.append(("all studies", f"{self.charges:,}", self.spent.shown(verbose)))
        lines.append(("left of the budget", "", self.left.shown(verbose)))
        protected = f"one {self.unit}, {self.adjacency}"
        notes = (f"The guarantee for all studies together: {self.guarantee} ({protected}).", _ROWS[self.rows])
        return Sheet(
            f"Shared budget {self.name}", ("study", "charges", "spent of the budget"), tuple(lines), notes
        )


def report_of(shared_budget: SharedBudget) -> SharedBudgetReport:
    facts, budget, share = shared_budget.facts, shared_budget.header.budget, shared_budget.share()
    charges: dict[str, int] = {}
    newest: dict[str, Receipt] = {}
    for receipt in shared_budget.receipts():
        name = receipt.order.by or ""
        charges[name] = charges.get(name, 0) + 1
        newest[name] = receipt
    studies = tuple(
        StudySpent(
            name,
            str(detail_of(last)["study"]),
            charges[name],
            Amount(facts.accounting, last.spent_by, budget),
            last.asked_at,
        )
        for name, last in newest.items()
    )
    return SharedBudgetReport(
        name=shared_budget.name,
        guarantee=share.guarantee,
        unit=facts.unit,
        adjacency=facts.adjacency,
        rows=facts.rows,
        spent=share.spent,
        left=share.left,
        charges=share.charges,
        stability=shared_budget.totals().radius,
        studies=studies,
    )
