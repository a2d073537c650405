"""The file of a shared budget: a ledger in which each study is a name, and each of its receipts has one.

A receipt of the shared budget says for which receipt of which study it was charged, and through a salted
digest for which order: whoever reads the shared budget learns what each study spent, and no query.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.certify import Amount, AmountLeft, RoundedGuarantee
from adyton.certify.budget import SharedBudgetTotals
from adyton.errors import BudgetRefused, InvalidRequest, LedgerCorrupt, PrivacyRefused
from adyton.kernel.exact import printed_up
from adyton.kernel.ledger.base import Totals, Verification, same_budget
from adyton.kernel.ledger.links import Cap, Header, Order, Receipt, check_budgets, text_digest
from adyton.kernel.ledger.stored.checking import stored_facts
from adyton.kernel.ledger.stored.sqlite import SqliteLedger
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.ledger.validity import FinalCost
from adyton.kernel.privacy import Adjacency, Guarantee
from adyton.ledgers.shared_budget.facts import Rows, SharedBudgetFacts, Unit
from adyton.refusals import refusal_of, refused
from adyton.show import Sheet, Shown

if TYPE_CHECKING:
    from adyton.kernel.exact import Number
    from adyton.ledgers.shared_budget.report import SharedBudgetReport

QUERY = "A CHARGE OF A STUDY"


class SharedBudgetFile(SqliteLedger):
    """A charge of a study holds that study's ledger, then waits for the shared budget, never the reverse."""

    held_last = True

    def facts(self) -> dict[str, str] | None:
        with self.store.read() as connection:
            return stored_facts(connection)


@dataclass(frozen=True, slots=True)
class Entrant:
    """A study as the shared budget knows it: its name, its fingerprint, and how many units are public."""

    name: str
    fingerprint: str
    units: int | None = None


class SharedBudget(Shown):
    """What all studies of the same persons may spend together, and what each of them has spent.

    >>> shared_budget = adyton.SharedBudget.create(folder / "shared.ledger", epsilon=2, delta=1e-9)
    >>> shared_budget.report().spent.share
    0.0
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        if not self.path.is_file():
            raise InvalidRequest(
                f"there is no shared budget {self.path.name}; make it with: adyton shared-budget create "
                f"{self.path.name} --epsilon E --delta D"
            )
        self._ledger = SharedBudgetFile(self.path)
        try:
            self.facts = SharedBudgetFacts.of(self._ledger.facts(), self.path.name)
            header = self._ledger.header
            theirs = (header.study, header.accounting)
            if theirs != (self.facts.fingerprint, self.facts.accounting) or not same_budget(
                header.budget, self.facts.allowed
            ):
                raise LedgerCorrupt(f"the facts of the shared budget {self.path.name} were changed")
        except BaseException:
            self._ledger.close()
            raise

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        epsilon: Number,
        delta: Number,
        accounting: str = "gdp",
        unit: Unit = "person",
        adjacency: Adjacency = "replace-one",
        rows: Rows = "related",
        discovery_delta: Number = 0,
        confidence: Number | None = None,
        stability: Number | None = None,
    ) -> SharedBudget:
        """A new shared budget; an existing file is never overwritten, and what it says never changes."""
        facts = SharedBudgetFacts(
            Guarantee(epsilon, delta),
            accounting,
            unit,
            adjacency,
            rows,
            discovery_delta,
            confidence,
            stability,
        )
        header = Header.fresh(facts.fingerprint, facts.accounting, facts.allowed)
        SharedBudgetFile.create(path, header, facts.named).close()
        return cls(path)

    @property
    def header(self) -> Header:
        """The first link: the fingerprint of its facts, and what may be spent."""
        return self._ledger.header

    @property
    def name(self) -> str:
        """That of the file."""
        return self.path.name

    def enter(self, study: Header, entrant: Entrant, receipt: Receipt, cap: Cap | None) -> Receipt:
        """Charges what a study is about to write; the same again after a crash in between is found.

        Claim:    each receipt of a study has one receipt of the shared budget, and no receipt of the shared
                  budget stands behind two answers that were shown, whatever crashes and whoever asks at once.
        Assumes:  the caller alone can write to the ledger of the study until it has written the receipt.
        Source:   derived here.  Theorem: SHARED-BUDGET.
        """
        if self.knows(study, entrant, receipt.number + 1):
            raise self._study_behind(receipt.number + 1)
        self.refuse_other_rows(entrant)
        for attempt in count():
            order = _order(study, entrant, receipt, attempt, cap)
            known = self._known(study, entrant, receipt.number, attempt)
            if known is None or _sealed(known) == _sealed(order):
                break
        try:
            charged = self._ledger.charge(order)
        except PrivacyRefused as refusal:
            raise self._refused(refusal) from None
        self.refuse_other_rows(entrant)  # another study may have been the first: then this charge is wasted
        if not charged.fresh and self.confirmed(charged.receipt):
            raise self._study_behind(receipt.number)
        return charged.receipt

    def knows(self, study: Header, entrant: Entrant, number: int) -> bool:
        """Whether this receipt of a study was charged, be it written there or not."""
        return self._known(study, entrant, number, 0) is not None

    def refuse_other_rows(self, entrant: Entrant) -> None:
        """Where all studies read the same rows, all have as many of them as the first that was charged."""
        first = self.first() if self.facts.rows == "same" else None
        units = detail_of(first).get("units") if first is not None else entrant.units
        if units != entrant.units:
            raise InvalidRequest(
                f"this study cannot share the budget {self.name}: table.rows is {entrant.units} here and was "
                f"{units} in the first study, and all read the same rows"
            )

    def refuse_lost(self, study: Header, entrant: Entrant, numbers: Sequence[int], amount: int) -> None:
        """Refuses a shared budget that was put back too: a study lost these receipts, which spent so much.

        A receipt that stands for lost ones has a unit of its own, which no shared budget was charged.
        """
        charged = [self._charged(study, entrant, number) for number in numbers]
        if amount > sum(charged) + charged.count(0) + 1:
            raise LedgerCorrupt(
                f"the shared budget {self.name} has not what this study has lost: it was put back too, or "
                "exchanged, and what other studies have spent since is lost with it; put the newest shared "
                "budget back; nothing was answered"
            )

    def _charged(self, study: Header, entrant: Entrant, number: int) -> int:
        """For one receipt of a study, by all attempts."""
        return sum(known.order.amount for known in self._attempts(study, entrant, number))

    def refuse_beyond(self, order: Order, *, capped: bool) -> None:
        """What ``enter`` would refuse now."""
        totals = self._ledger.totals()
        try:
            check_budgets(self._ledger.header, totals.spent, order, 0)
        except PrivacyRefused as refusal:
            raise self._refused(refusal) from None
        if capped and order.cap is not None:
            order.cap.check(totals.receipts, totals.radius, order.radius)

    def behind(self, study: Header, entrant: Entrant, receipt: Receipt) -> Receipt | None:
        """The receipt of the shared budget that stands behind one of a study."""
        charged = _sealed(_order(study, entrant, receipt, 0, None))
        attempts = self._attempts(study, entrant, receipt.number)
        return next((known for known in attempts if _sealed(known) == charged), None)

    def confirm(self, behind: Receipt, receipt: Receipt, shown: str, final: FinalCost | None) -> None:
        """Durably, before anybody sees it: which answer a study shows for what the shared budget was charged.

        Claim:    for one receipt of the shared budget at most one text is ever shown, although the ledger of
                  the study was copied or put back.
        Source:   derived here.  Theorem: SHARED-BUDGET.
        """
        said = text_digest(json.dumps([receipt.digest, shown]))
        stored = self._ledger.recall(behind.number)
        if stored is None:
            stored = self._ledger.remember(behind.number, said, *(final or ()))
        if stored != said:
            raise self._study_behind(receipt.number)

    def begun(self, behind: Receipt, receipt: Receipt) -> None:
        """Durably, before the first note of a receipt is written: as ``confirm``, for what is fed later."""
        number = behind.number
        first = self._ledger.annotate(number, 0, receipt.digest)
        if not first and self._ledger.notes(number) != [receipt.digest]:
            raise self._study_behind(receipt.number)

    def kept(self, behind: Receipt) -> bool:
        """Whether the shared budget knows which answer was shown for it."""
        return self._ledger.recall(behind.number) is not None

    def confirmed(self, behind: Receipt) -> bool:
        """Whether an answer may have been shown for it."""
        return self.kept(behind) or bool(self._ledger.notes(behind.number))

    def totals(self) -> Totals:
        """What the next charge builds on."""
        return self._ledger.totals()

    def left(self) -> int:
        """What may still be charged, in units."""
        return self._ledger.header.budget - self._ledger.totals().spent

    def share(self) -> SharedBudgetTotals:
        """What all studies together have spent, and what is left."""
        totals, budget, facts = self._ledger.totals(), self._ledger.header.budget, self.facts
        return SharedBudgetTotals(
            name=self.name,
            guarantee=RoundedGuarantee(printed_up(facts.budget.epsilon), printed_up(facts.budget.delta)),
            spent=Amount(facts.accounting, totals.spent, budget),
            left=AmountLeft(facts.accounting, budget - totals.spent, budget),
            charges=totals.receipts,
            rows=facts.rows,
        )

    def first(self) -> Receipt | None:
        """The first charge, if there was one."""
        return self._ledger.receipt(1) if self._ledger.count() else None

    def began_with(self, ledger: str) -> bool:
        """Whether its first charge is for receipt 1 of the ledger whose header has this digest."""
        first = self.first()
        return first is not None and first.order.request == _request(ledger, 1, 0)

    def receipts(self) -> Iterator[Receipt]:
        """All charges of all studies, oldest first."""
        return self._ledger.receipts()

    def report(self) -> SharedBudgetReport:
        """What each study has spent of what all of them may spend together."""
        from adyton.ledgers.shared_budget.report import report_of

        return report_of(self)

    def verify(self, head: str | None = None) -> Verification:
        """Replays the file; LedgerCorrupt unless it is intact and, if given, ``head`` is in its chain."""
        return self._ledger.verify(head)

    def sheet(self, verbose: bool = False) -> Sheet:
        """Its report as a table."""
        return self.report().sheet(verbose=verbose)

    def close(self) -> None:
        """Lets go of the file."""
        self._ledger.close()

    def __enter__(self) -> SharedBudget:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _attempts(self, study: Header, entrant: Entrant, number: int) -> Iterator[Receipt]:
        """All charges for one receipt of a study: one, unless the order was another one after a crash."""
        for attempt in count():
            known = self._known(study, entrant, number, attempt)
            if known is None:
                return
            yield known

    def _known(self, study: Header, entrant: Entrant, number: int, attempt: int) -> Receipt | None:
        return self._ledger.requested(_request(study.digest, number, attempt), entrant.name)

    def _refused(self, refusal: PrivacyRefused) -> BudgetRefused:
        facts = refusal_of(refusal)
        assert facts is not None
        return refused(replace(facts, whose="shared budget", shared_budget=self.name))

    def _study_behind(self, number: int) -> LedgerCorrupt:
        return LedgerCorrupt(
            f"the ledger of this study was cut, rolled back or copied: the shared budget {self.name} has "
            f"seen more of receipt {number} than it has; put the right file back; nothing was answered"
        )


def detail_of(receipt: Receipt) -> dict[str, Any]:
    """For which receipt of which study it was charged."""
    known: dict[str, Any] = json.loads(receipt.order.detail)
    return known


def _request(ledger: str, number: int, attempt: int) -> str:
    """``ledger``: the digest of its header."""
    return f"{ledger}:{number}:{attempt}"


def _order(study: Header, entrant: Entrant, receipt: Receipt, attempt: int, cap: Cap | None) -> Order:
    charged = receipt.order
    what = (charged.subject.text, charged.query, charged.detail, charged.request, charged.by)
    costs = (charged.amount, charged.radius, charged.pure, charged.unproved, charged.validity.text)
    sealed = text_digest(json.dumps([study.salt, *what, *costs]))
    said = {"study": entrant.fingerprint, "receipt": receipt.number, "units": entrant.units, "order": sealed}
    return Order(
        QUERY,
        json.dumps(said),
        charged.amount,
        charged.radius,
        _request(study.digest, receipt.number, attempt),
        cap,
        entrant.name,
        charged.pure,
        charged.unproved,
        subject=ReceiptSubject("study charge"),
        validity=charged.validity,
    )


def _sealed(known: Receipt | Order) -> tuple[object, ...]:
    """What must be the same for a charge to be the same: all but which attempt it was."""
    order = known.order if isinstance(known, Receipt) else known
    return order.detail, order.amount, order.radius, order.pure, order.unproved, order.validity, order.by
