"""What a ledger is: what may be charged, what is refused, what follows what.  A back end only stores.

The last receipt, whether it is answered, and the last receipt of whoever asks decide whether the next charge
fits and what it says: so a charge costs the same whatever the history.

Whoever can write to the storage can also compute a new chain from the first link to the last.  To notice
that, or a restored backup, keep a checkpoint somewhere else (``CheckpointedLedger``), or a head for
``verify``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from adyton.errors import InvalidRequest, LedgerCorrupt, RequestIdUsed
from adyton.kernel.ledger.links import Header, Order, Receipt, check_budgets, fresh_secret
from adyton.kernel.ledger.subjects import Kind
from adyton.kernel.ledger.validity import FinalCost


@dataclass(frozen=True, slots=True)
class Charged:
    """``fresh`` is False if the request id had been charged before, for the same order."""

    receipt: Receipt
    fresh: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """What ``verify`` found: how many links there are, the digest of the newest, and what was spent.

    Of a monitor, and of a holdout whose method was paid for at once, its answers count as links.
    """

    receipts: int
    head: str
    spent: int


@dataclass(frozen=True, slots=True)
class Totals:
    """What the next receipt builds on: the sum of final radii."""

    receipts: int = 0  # the number of the last one
    spent: int = 0
    radius: int = 0
    pure: int = 0
    unproved: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a ledger is.  What it counts can only grow, so a mark kept elsewhere shows a rollback."""

    ledger: str  # the digest of its header
    receipts: int
    head: str
    answers: int
    notes: int
    spent: int
    spent_radius: int
    spent_pure: int
    unproved: int
    closed: bool = False  # for good: the study goes on elsewhere


_Kind = TypeVar("_Kind")
Keep = Callable[[Mark, Callable[[int], "Receipt | None"]], None]  # the mark, and how to look up a receipt
First = Callable[[Receipt], None]


class Ledger:
    """Append and read.  No update, no delete, no refund.

    What a class does not define itself is that of the ledger ``behind`` it.  One that stores defines it all.
    """

    @property
    def behind(self) -> Ledger:
        """The ledger that this one stands in front of."""
        raise TypeError("this ledger stores for itself")

    @property
    def header(self) -> Header:
        return self.behind.header

    def charge(self, order: Order, first: First | None = None) -> Charged:
        """Check budget, budget share and cap and append, in one step.  A refusal leaves no trace.

        ``first`` is called with the receipt before it is written, while nobody else can write to the ledger,
        and not for a request id that was charged before.  If it raises, nothing is written.
        """
        return self.behind.charge(order, first)

    def remember(self, number: int, answer: str, radius: int | None = None, level: int = 0) -> str:
        """Keep the answer that a receipt paid for, durably.  The first one wins and is returned.

        ``radius`` is the final one of the receipt, now that the answer is known: at most what was charged,
        None for all of it.  ``level``: how likely its noise makes that too small, in units of 10**-18.
        """
        return self.behind.remember(number, answer, radius, level)

    def recall(self, number: int) -> str | None:
        """The answer that a receipt paid for, if it was kept."""
        return self.behind.recall(number)

    def final_cost(self, number: int) -> FinalCost:
        """The final validity cost of a receipt: as its answer says, in full while it has none."""
        return self.behind.final_cost(number)

    def annotate(self, number: int, index: int, text: str) -> bool:
        """Append note ``index`` to a receipt if it is the next one, durably; False if another was first."""
        return self.behind.annotate(number, index, text)

    def notes(self, number: int, first: int = 0) -> list[str]:
        """The notes of a receipt, from note ``first`` on.  They may be secret; receipts never show them."""
        return self.behind.notes(number, first)

    def repeated(self, query: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        """The newest answer already given to this very query at this price."""
        return self.behind.repeated(query, detail, amount)

    def unanswered(self, query: str, detail: str, amount: int) -> Receipt | None:
        """The newest receipt that paid for this very query at this price and has no answer yet."""
        return self.behind.unanswered(query, detail, amount)

    def requested(self, request: str, by: str | None = None) -> Receipt | None:
        """The receipt that this request id of this name was charged under."""
        return self.behind.requested(request, by)

    def receipt(self, number: int) -> Receipt | None:
        """The receipt of this number."""
        return self.behind.receipt(number)

    def totals(self) -> Totals:
        """What the next receipt builds on."""
        return self.behind.totals()

    def spent(self) -> int:
        """All amounts together, in units of 10**-18."""
        return self.totals().spent

    def spent_radius(self) -> int:
        """The sum of all final radii: what the next receipt builds on."""
        return self.totals().radius

    def spent_by(self, by: str | None) -> int:
        """All amounts of one name together; None is whoever asks in process."""
        return self.behind.spent_by(by)

    def left(self, spent: int) -> int:
        """The most that whoever asks through this ledger could be charged, once ``spent`` is spent."""
        return self.behind.left(spent)

    def head(self) -> str:
        """The digest of the newest link: keep it elsewhere to notice a rollback."""
        return self.behind.head()

    def count(self) -> int:
        """The number of the newest receipt, 0 before the first."""
        return self.totals().receipts

    def receipts(self) -> Iterator[Receipt]:
        """All of them, oldest first."""
        return self.behind.receipts()

    def find(
        self,
        kind: Kind | None = None,
        key: str | None = None,
        *,
        after: int = 0,
        below: int | None = None,
        most: int | None = None,
    ) -> list[Receipt]:
        """Receipts of this kind, or of any, and with this key, if one is named: those between two numbers,
        the newest first, so many at most.  By kind and key the newest takes the same time after any history.
        """
        return self.behind.find(kind, key, after=after, below=below, most=most)

    def verify(self, head: str | None = None) -> Verification:
        """Replay everything; LedgerCorrupt unless all is intact and, if given, ``head`` is in the chain."""
        return self.behind.verify(head)

    def mark(self, keep: Keep | None = None) -> Mark:
        """How far the ledger is; ``keep`` is called with it while nobody else can write to the ledger."""
        return self.behind.mark(keep)

    def close(self) -> None:
        """Lets go of whatever it holds open."""
        self.behind.close()


def documented(kind: type[_Kind]) -> type[_Kind]:
    """A ledger whose methods say what the protocol says of them, where they say nothing themselves."""
    for name, method in vars(Ledger).items():
        own = vars(kind).get(name)
        if callable(method) and callable(own) and not own.__doc__:
            own.__doc__ = method.__doc__
    return kind


class InFront(Ledger):
    """A ledger in front of another one: whatever it does not change goes through."""

    name: str | None = None  # of whoever is charged through it; None in process
    most_at_once: int | None = None  # that one charge through it may be, if not all that is left

    def __init__(self, behind: Ledger) -> None:
        self._ledger = behind

    @property
    def behind(self) -> Ledger:
        return self._ledger

    def charges_left(self) -> int | None:
        """How many more charges may be made through it, apart from what they cost; None: any number."""
        return None


class WithSharedBudget(ABC):
    """A ledger with a shared budget behind it, which several studies share: each receipt has one there."""

    @abstractmethod
    def counted(self, receipt: Receipt) -> Receipt:
        """The receipt by whose number and totals validity goes."""

    @abstractmethod
    def counted_totals(self) -> Totals:
        """What the next such receipt builds on."""

    @abstractmethod
    def all_counted(self) -> Iterator[Receipt]:
        """All that validity counts, oldest first."""

    @abstractmethod
    def place(self, number: int | None) -> int:
        """The number of a receipt, or of the next one, in the shared budget: shares of delta go by it."""

    @abstractmethod
    def left_in_shared_budget(self, receipt: Receipt | None) -> int:
        """What the shared budget has left, now or after this receipt."""

    @property
    @abstractmethod
    def began_shared_budget(self) -> bool:
        """Whether validity counts nothing that another study released before this one was first charged."""


def with_shared_budget(ledger: Ledger) -> WithSharedBudget | None:
    """The ledger itself, or the one behind it, that has a shared budget; None if there is none."""
    while isinstance(ledger, InFront):
        if isinstance(ledger, WithSharedBudget):
            return ledger
        ledger = ledger.behind
    return None


def counted(ledger: Ledger, receipt: Receipt) -> Receipt:
    """By whose number and totals validity goes: the receipt itself, or that of a shared budget."""
    shared_budget = with_shared_budget(ledger)
    return shared_budget.counted(receipt) if shared_budget is not None else receipt


def counted_number(ledger: Ledger, number: int) -> int:
    """The number by which validity goes, of the receipt with this number."""
    shared_budget = with_shared_budget(ledger)
    receipt = ledger.receipt(number) if shared_budget is not None else None
    return (
        shared_budget.counted(receipt).number if shared_budget is not None and receipt is not None else number
    )


def counted_totals(ledger: Ledger) -> Totals:
    """What the next receipt builds on, as validity counts."""
    shared_budget = with_shared_budget(ledger)
    return shared_budget.counted_totals() if shared_budget is not None else ledger.totals()


def all_counted(ledger: Ledger) -> Iterator[Receipt]:
    """All that was charged about these units, as far as it is known here."""
    shared_budget = with_shared_budget(ledger)
    return shared_budget.all_counted() if shared_budget is not None else ledger.receipts()


def place_of(ledger: Ledger, number: int) -> int:
    """The number by which shares of delta for keys go, of the receipt with this number."""
    shared_budget = with_shared_budget(ledger)
    return shared_budget.place(number) if shared_budget is not None else number


def next_place(ledger: Ledger) -> int:
    """That of the next receipt."""
    shared_budget = with_shared_budget(ledger)
    return shared_budget.place(None) if shared_budget is not None else ledger.count() + 1


def least_left(ledger: Ledger, left: int, receipt: Receipt | None = None) -> int:
    """What may be charged if a study has ``left``, now or after a receipt: a shared budget may have less."""
    shared_budget = with_shared_budget(ledger)
    return min(left, shared_budget.left_in_shared_budget(receipt)) if shared_budget is not None else left


def totals_after(last: Receipt | None, final: FinalCost) -> Totals:
    """What comes after ``last`` builds on its totals, with its final radius."""
    if last is None:
        return Totals()
    radius = last.spent_radius - last.order.radius + final.radius
    return Totals(last.number, last.spent, radius, last.spent_pure, last.unproved)


def next_receipt(
    header: Header,
    last: Receipt | None,
    order: Order,
    asked_at: str,
    *,
    final: FinalCost,
    last_of_name: Receipt | None,
    secret: str,
) -> Receipt:
    """The receipt that follows ``last``, or a refusal: beyond the budget, the budget share or the cap.

    ``final`` is the final cost of ``last``, 0 if there is none, and ``last_of_name`` the newest receipt of
    whoever asks.

    The first receipt of a study that goes on under corrected facts carries what the old ledger has spent.
    Its number goes on where the old ledger ended.  Shares of delta for discovered groups, and shares of the
    failure probability, go by the number of a receipt: so none of them is used twice.
    """
    if not 0 <= final.radius <= (last.order.radius if last else 0):
        raise LedgerCorrupt("an answer of the ledger has a larger final radius than its receipt was charged")
    if last_of_name is not None and last_of_name.order.by != order.by:
        raise LedgerCorrupt(f"receipt {last_of_name.number} of the ledger is filed under another name")
    carried = order.subject.receipts if order.kind == "carried" else 0
    if carried and last is not None:
        raise InvalidRequest("only the first receipt of a ledger can carry what another one has spent")
    before = totals_after(last, final)
    lost = order.subject.receipts if order.kind == "restored" else 0
    if lost and lost < before.receipts:
        raise InvalidRequest("only what a ledger has lost can be restored: it has later receipts")
    number = max(before.receipts, lost) or carried
    spent_by = last_of_name.spent_by if last_of_name else 0
    check_budgets(header, before.spent, order, spent_by)
    if order.cap is not None:
        order.cap.check(number, before.radius, order.radius)
    return Receipt(
        number=number + 1,
        order=replace(order, cap=None, budget_share=None),
        spent=before.spent + order.amount,
        spent_radius=before.radius + order.radius,
        spent_pure=before.pure + order.pure,
        unproved=before.unproved + order.unproved,
        spent_by=spent_by + order.amount,
        budget_share=order.budget_share,
        final_radius=final.radius,
        final_level=final.level,
        asked_at=asked_at,
        previous=last.digest if last else header.digest,
        secret=secret,
    )


def check_first(header: Header, order: Order) -> None:
    """Refuses what a new ledger would refuse, so that no file is made for it."""
    next_receipt(header, None, order, now(), final=FinalCost(0), last_of_name=None, secret=fresh_secret())


def charged_before(earlier: Receipt, order: Order) -> Charged:
    """The same request id again: the same receipt for the same order, a refusal for any other."""
    if earlier.order != order:
        raise RequestIdUsed(f"request id {order.request!r} was already used for another query")
    return Charged(earlier, fresh=False)


def is_next_note(receipt: Receipt, index: int, written: int) -> bool:
    """Whether ``index`` is the place after the ``written`` notes; beyond it, notes have been lost."""
    if index > written:
        raise LedgerCorrupt(f"receipt {receipt.number} of the ledger has lost notes; nothing was answered")
    return index == written


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def same_budget(theirs: int, ours: int) -> bool:
    """The last digits of a conversion may differ between versions of a library; the written one rules."""
    return abs(theirs - ours) * 10**6 <= ours
