"""Charging a ledger: the step between what was priced and what is released."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.errors import Forbidden, LedgerCorrupt
from adyton.kernel.genuine import OnlyHere, made_here, require
from adyton.kernel.ledger import Charged, Ledger, Order, Receipt
from adyton.kernel.ledger.links import Cap
from adyton.kernel.noisy import still_due
from adyton.kernel.price import Priced


@dataclass(frozen=True, slots=True, eq=False)
class Paid(OnlyHere):
    """What was priced, and the receipt that paid for it.  ``fresh``: it was charged just now."""

    priced: Priced
    ledger: Ledger
    receipt: Receipt
    fresh: bool


def charge(ledger: Ledger, priced: Priced, request: str | None = None, cap: Cap | None = None) -> Paid:
    """Charges what was priced, or finds the receipt of the request id that was charged for it before.

    Claim:    the receipt was charged what ``price`` worked out for this measurement, or, where units are
              split, at least so much was spent in total once it was charged.
    Assumes:  as the ledger: what was spent never becomes less.
    Source:   derived here.  Theorem: SPLIT-STUDY.
    """
    order = order_of(ledger, require(priced, Priced), request, cap)
    charged = ledger.charge(order)
    return _paid(ledger, priced, charged.receipt, fresh=charged.fresh)


def resume(ledger: Ledger, priced: Priced, receipt: Receipt) -> Paid:
    """A receipt that paid for the very same before: after a crash, or for what is used again and again."""
    require(priced, Priced)
    stored = ledger.receipt(receipt.number)
    if stored is None or stored != receipt:
        raise LedgerCorrupt(f"receipt {receipt.number} is not one of this ledger")
    return _paid(ledger, priced, stored, fresh=False)


def reopen(ledger: Ledger, priced: Priced, receipt: Receipt) -> Paid:
    """The same, for comparisons, which are over where a copy of the ledger was put back since."""
    if ledger.find("restored", after=receipt.number, most=1):
        raise Forbidden(
            f"what receipt {receipt.number} paid for is over: a copy of the ledger was put back since, which "
            "may have forgotten some of its answers"
        )
    return resume(ledger, priced, receipt)


def record(ledger: Ledger, order: Order) -> Charged:
    """Charges for what releases nothing: a note in the ledger that something happened elsewhere."""
    return ledger.charge(order)


def order_of(ledger: Ledger, priced: Priced, request: str | None = None, cap: Cap | None = None) -> Order:
    """What is charged for it now, or was charged for it under the same request id."""
    due, label, amount = priced.due, priced.label, priced.due.amount
    if ledger.header.accounting != priced.protection.rule.name:
        raise TypeError("what was priced under one accounting is not charged under another")
    if due.everything:
        amount = max(1, ledger.header.budget - ledger.totals().spent)
    if priced.split:
        earlier = ledger.requested(request) if request is not None else None
        if earlier is not None and _is_for(earlier, priced, 0):
            amount = earlier.order.amount
        else:
            amount = still_due(due.amount, ledger.totals().spent)
    what = (label.query, label.detail, amount, due.radius)
    return Order(
        *what,
        request,
        cap,
        pure=due.pure,
        unproved=due.unproved,
        subject=priced.subject,
        validity=priced.validity,
    )


def _paid(ledger: Ledger, priced: Priced, receipt: Receipt, *, fresh: bool) -> Paid:
    if not _is_for(receipt, priced, ledger.header.budget):
        raise LedgerCorrupt(f"receipt {receipt.number} did not pay for this")
    return made_here(Paid(priced, ledger, receipt, fresh))


def _is_for(receipt: Receipt, priced: Priced, budget: int) -> bool:
    order, label = receipt.order, priced.label
    same = (order.query, order.detail, order.subject) == (label.query, label.detail, priced.subject)
    if priced.split or priced.due.everything:
        return same and receipt.spent >= (budget if priced.due.everything else priced.due.amount)
    return same and order.amount == priced.due.amount
