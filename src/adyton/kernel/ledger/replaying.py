"""Everything again, link by link: by whoever has the ledger, and by whoever has only the open parts of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from adyton.errors import BudgetRefused, InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger.base import Verification, next_receipt
from adyton.kernel.ledger.links import Header, OpenHeader, OpenLink, Receipt
from adyton.kernel.ledger.texts import check_head
from adyton.kernel.ledger.validity import FinalCost

Final = Callable[[int], FinalCost | None]  # what is stored with the answer of a receipt, if there is one
OfName = Callable[[str | None], Receipt | None]


def no_receipt(_: str | None) -> None:
    """What was the last receipt of a name before the first receipt of all."""


def replay(
    header: Header,
    receipts: Iterable[Receipt],
    head: str | None,
    last: Receipt | None = None,
    *,
    final: Final,
    of_name: OfName = no_receipt,
) -> Verification:
    """Charge every order again, from the header or the receipt ``last`` on, and compare link by link.

    ``of_name`` finds the newest receipt of a name up to ``last``.
    """
    check_head(head)
    newest = last.digest if last else header.digest
    found = head in (None, newest)
    names: dict[str | None, Receipt | None] = {}
    for receipt in receipts:
        by = receipt.order.by
        if by not in names:
            names[by] = of_name(by)
        if receipt != _due(header, last, receipt, names[by], final):
            raise LedgerCorrupt(f"receipt {receipt.number} of the ledger does not follow from the last one")
        last, names[by], newest = receipt, receipt, receipt.digest
        found = found or newest == head
    if not found:
        raise _exchanged()
    return Verification(last.number if last else 0, newest, last.spent if last else 0)


def _due(
    header: Header, last: Receipt | None, receipt: Receipt, of_name: Receipt | None, final: Final
) -> Receipt | None:
    """Whether the answer came before the next charge is not written down: both radii are what was true."""
    then = FinalCost(receipt.final_radius, receipt.final_level)
    in_full = last is None or then == FinalCost(last.order.radius)
    if not in_full and last is not None and then != final(last.number):
        return None
    try:
        return next_receipt(
            header,
            last,
            replace(receipt.order, budget_share=receipt.budget_share),
            receipt.asked_at,
            final=then,
            last_of_name=of_name,
            secret=receipt.secret,
        )
    except (BudgetRefused, InvalidRequest, LedgerCorrupt):
        return None


def replay_open(
    header: Header | OpenHeader,
    links: Iterable[OpenLink],
    head: str | None = None,
    own: Iterable[Receipt] = (),
) -> Verification:
    """The same for whoever sees only the open part of each link, and the ``own`` receipts: all of one name,
    or of several.

    Checked are the chain, its totals and the budget, that each own receipt is a link of it, and that the
    totals of each name follow from its receipts and keep their budget shares.  That the final radius
    which the next link names is that of an answer is for those who may read it: here it is at most what was
    charged.
    """
    mine = {receipt.number: receipt for receipt in own}
    check_head(head)
    last, newest = None, header.digest
    spent_by: Counter[str | None] = Counter()
    found = head in (None, newest)
    for link in links:
        if not _follows(header, last, link):
            raise LedgerCorrupt(f"link {link.number} does not follow from the last one")
        receipt = mine.pop(link.number, None)
        if receipt is not None:
            by = receipt.order.by
            spent_by[by] += link.amount
            if receipt.open != link or receipt.spent_by != spent_by[by] or _is_beyond(receipt):
                raise LedgerCorrupt(f"receipt {link.number} is not the one in the chain")
        last, newest = link, link.digest
        found = found or newest == head
    if mine:
        raise LedgerCorrupt(f"receipt {min(mine)} is not in the chain")
    if not found:
        raise _exchanged()
    return Verification(last.number if last else 0, newest, last.spent if last else 0)


def _follows(header: Header | OpenHeader, last: OpenLink | None, link: OpenLink) -> bool:
    """The first link may have any number: it may carry what another ledger has spent."""
    amounts = (link.amount - 1, link.radius, link.pure, link.final_radius, link.final_level, link.number - 1)
    if any(type(amount) is not int or amount < 0 for amount in amounts) or link.spent > header.budget:
        return False
    if link.validity.linear_radius(link.radius) < 0:
        return False
    due, before = (link.amount, link.radius, link.pure, header.digest), 0
    final, full = _final(link), FinalCost(0)
    if last is not None:
        if link.number <= last.number:  # it may go on further up, after a restored copy
            return False
        radius = last.spent_radius - last.radius + final.radius + link.radius
        due = (last.spent + link.amount, radius, last.spent_pure + link.pure, last.digest)
        full, before = FinalCost(last.radius), last.unproved
    totals = (link.spent, link.spent_radius, link.spent_pure, link.previous)
    possible = final == full or final.radius < full.radius
    return totals == due and possible and link.unproved - before in (0, 1)


def _final(link: OpenLink) -> FinalCost:
    return FinalCost(link.final_radius, link.final_level)


def _is_beyond(receipt: Receipt) -> bool:
    return receipt.budget_share is not None and receipt.spent_by > receipt.budget_share


def _exchanged() -> LedgerCorrupt:
    return LedgerCorrupt("the ledger was rolled back or exchanged: the expected head is not in its chain")
