"""Everything that was ever charged: as a table, as JSON and read back from it, and looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from adyton.certify import Amount
from adyton.errors import LedgerCorrupt
from adyton.exact import decimal_text, decimal_units
from adyton.ledger import Header, Ledger, OpenLink, Order, Receipt
from adyton.show import Sheet, Shown

_LONGEST_SHOWN = 300  # of a question


class Receipts(Shown, list[Receipt]):
    """Receipts, oldest first: a list that prints and shows itself in a notebook."""

    def __init__(self, receipts: Iterable[Receipt], header: Header, limit: int) -> None:
        super().__init__(receipts)
        self._header, self._filter_name, self._limit = header, header.filter_name, limit

    def _cost(self, receipt: Receipt) -> Amount:
        return Amount(self._filter_name, receipt.order.amount, self._limit)

    def to_json(self) -> dict[str, Any]:
        """With all that a replay needs: whoever has it can compute every digest again."""
        return {
            "filter": self._filter_name,
            "header": header_told(self._header),
            "receipts": [{**receipt_told(r), "share": self._cost(r).share} for r in self],
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(
            (
                str(r.number),
                r.asked_at[:16].replace("T", " "),
                _beginning(r.order.question),
                str(self._cost(r)),
                *([self._cost(r).in_units] if verbose else []),
                r.digest[:12],
            )
            for r in self
        )
        amount = ["amount"] if verbose else []
        headers = ("number", "asked at", "question", "cost", *amount, "digest")
        notes = ("Costs are shares of the limit." if rows else "Nothing was charged yet.",)
        narrower = Sheet(
            "Receipts", ("number", "question"), tuple(map(_stacked, rows)), notes, left_aligned=2
        )
        return Sheet("Receipts", headers, rows, notes, left_aligned=3, narrower=narrower)


def _stacked(row: tuple[str, ...]) -> tuple[str, str]:
    """For a narrow terminal: what else there is to say stands below the question."""
    number, asked_at, question, *costs, digest = row
    return number, f"{question}\n{', '.join((asked_at, *costs, digest))}"


def header_told(header: Header) -> dict[str, Any]:
    """The first link of the chain."""
    return {
        "study": header.study,
        "limit": decimal_text(header.limit),
        "salt": header.salt,
        "converted_from": header.converted_from,
        "digest": header.digest,
    }


def link_told(link: OpenLink) -> dict[str, Any]:
    """What everybody may see of a receipt: enough to compute its digest."""
    return {
        "number": link.number,
        "asked_at": link.asked_at,
        "amount": decimal_text(link.amount),
        "radius": decimal_text(link.radius),
        "pure": decimal_text(link.pure),
        "settled": decimal_text(link.settled),
        "spent": decimal_text(link.spent),
        "spent_radius": decimal_text(link.spent_radius),
        "spent_pure": decimal_text(link.spent_pure),
        "unproved": link.unproved,
        "sealed": link.sealed,
        "digest": link.digest,
        "previous": link.previous,
    }


def receipt_told(receipt: Receipt) -> dict[str, Any]:
    """All of a receipt, for whoever may read its question."""
    order = receipt.order
    return {
        **link_told(receipt.open),
        "by": order.by,
        "question": order.question,
        "detail": order.detail,
        "request": order.request,
        "spent_by": decimal_text(receipt.spent_by),
        "sub_limit": None if receipt.sub_limit is None else decimal_text(receipt.sub_limit),
        "secret": receipt.secret,
    }


# Read back -------------------------------------------------------------------------------------------------


def header_from(told: Mapping[str, Any], filter_name: str) -> Header:
    """LedgerCorrupt unless its digest is the one that was told."""
    limit = decimal_units(told["limit"])
    header = Header(told["study"], filter_name, limit, told["salt"], told["converted_from"])
    if header.digest != told["digest"]:
        raise LedgerCorrupt("the header of the ledger does not have the digest that was told")
    return header


def link_from(told: Mapping[str, Any]) -> OpenLink:
    """LedgerCorrupt unless its digest is the one that was told."""
    names = ("amount", "radius", "pure", "settled", "spent", "spent_radius", "spent_pure")
    amounts: dict[str, Any] = {name: decimal_units(told[name]) for name in names}
    others = {name: told[name] for name in ("number", "unproved", "asked_at", "previous", "sealed")}
    link = OpenLink(**amounts, **others)
    if link.digest != told["digest"]:
        raise LedgerCorrupt(f"link {link.number} does not have the digest that was told")
    return link


def receipt_from(told: Mapping[str, Any], before: int) -> Receipt:
    """``before``: how many orders before it no theorem covers.  LedgerCorrupt unless its digest is right."""
    link, sub_limit = link_from(told), told["sub_limit"]
    order = Order(
        told["question"],
        told["detail"],
        link.amount,
        link.radius,
        told["request"],
        by=told["by"],
        pure=link.pure,
        unproved=link.unproved > before,
    )
    receipt = Receipt(
        link.number,
        order,
        link.spent,
        link.spent_radius,
        link.spent_pure,
        link.unproved,
        decimal_units(told["spent_by"]),
        None if sub_limit is None else decimal_units(sub_limit),
        link.settled,
        link.asked_at,
        link.previous,
        told["secret"],
    )
    if receipt.digest != told["digest"]:
        raise LedgerCorrupt(f"receipt {link.number} does not have the digest that was told")
    return receipt


def _beginning(question: str) -> str:
    """A batch can be long; JSON has all of it."""
    return question if len(question) <= _LONGEST_SHOWN else question[:_LONGEST_SHOWN] + " ..."


# What was paid for before ----------------------------------------------------------------------------------


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

    def requested(self, request: str | None) -> Receipt | None:
        """What was charged under a request id: a retry is planned as that was, whatever was spent since."""
        return self._ledger.requested(request) if request is not None else None

    def newest_unanswered(self) -> Receipt | None:
        """The newest receipt of all, if it has no answer yet."""
        newest = self._ledger.count()
        receipt = self._ledger.receipt(newest) if newest else None
        return None if receipt is None or self._ledger.recall(receipt.number) is not None else receipt

    def unrequested(self, order: Order) -> tuple[str, str, int] | None:
        """What is ordered; None under a request id that was used before, which the ledger has to judge."""
        if order.request is not None and self._ledger.requested(order.request) is not None:
            return None
        return order.question, order.detail, order.amount

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
