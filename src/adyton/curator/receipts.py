"""Everything that was ever charged: as a table, by its query, as JSON, and read back from it."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from adyton.certify import Amount
from adyton.documents import Document, Units
from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger import Header, Ledger, OpenLink, Order, Receipt
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.ledger.validity import ValidityRecord
from adyton.show import MOST_ROWS, Sheet, Shown, in_short

_LONGEST_SHOWN = 300  # of a query
_Link = TypeVar("_Link", bound="ShownLink")


class Receipts(Shown, list[Receipt]):
    """Receipts, oldest first: a list that prints and shows itself in a notebook, of a long one the newest."""

    def __init__(self, receipts: Iterable[Receipt], header: Header, budget: int) -> None:
        super().__init__(receipts)
        self._header, self._accounting, self._budget = header, header.accounting, budget
        self._most, self._earlier = MOST_ROWS, 0
        self._before: int | None = None

    def newest(self, last: int | None = None, before: int | None = None) -> Receipts:
        """The newest receipts, so many, 60 unless said; only those with a number below ``before``.

        >>> curator.receipts().newest(10, before=2)[-1].number
        1
        """
        for name, given in (("last", last), ("before", before)):
            if given is not None and (type(given) is not int or given < 1):
                raise InvalidRequest(f"{name} is a whole number, 1 or more, not {given!r}")
        most, end = last or MOST_ROWS, len(self) if before is None else self._place(before)
        part = Receipts(self[max(0, end - most) : end], self._header, self._budget)
        part._most, part._earlier, part._before = most, self._earlier + max(0, end - most), before
        return part

    def _place(self, number: int) -> int:
        return bisect.bisect_left(self, number, key=lambda receipt: receipt.number)

    def _cost(self, receipt: Receipt) -> Amount:
        return Amount(self._accounting, receipt.order.amount, self._budget)

    def to_json(self) -> dict[str, Any]:
        """With all that a replay needs: whoever has it can compute every digest again."""
        listed = tuple(shown_receipt(ListedReceipt, one, share=self._cost(one).share) for one in self)
        return ListedReceipts(self._accounting, shown_header(self._header), listed).to_json()

    def sheet(self, verbose: bool = False, command: bool = False) -> Sheet:
        """``command``: options of the command line are named, and not arguments."""
        shown = self[-self._most :]
        earlier = self._earlier + len(self) - len(shown)
        rows = tuple(
            (
                str(r.number),
                r.asked_at[:16].replace("T", " "),
                _beginning(r.order.query),
                str(self._cost(r)),
                *([self._cost(r).in_units] if verbose else []),
                r.digest[:12],
            )
            for r in shown
        )
        amount = ["amount"] if verbose else []
        headers = ("number", "asked at", "query", "cost", *amount, "digest")
        none = f"before {self._before}" if self._before else "yet"
        notes: tuple[str, ...] = (f"Nothing was charged {none}.",)
        if rows:
            notes = ("Costs are shares of the budget.",)
        if earlier and rows:
            where = f"--before {rows[0][0]}" if command else f"newest(before={rows[0][0]})"
            are = "receipt is" if earlier == 1 else "receipts are"
            notes = (f"{earlier:,} earlier {are} not shown: {where}.", *notes)
        narrower = Sheet(
            "Receipts", headers[:3:2], tuple(map(_stacked, rows)), notes, left_aligned=2, most=self._most
        )
        return Sheet("Receipts", headers, rows, notes, left_aligned=3, narrower=narrower, most=self._most)


def _stacked(row: tuple[str, ...]) -> tuple[str, str]:
    """For a narrow terminal: what else there is to say stands below the query."""
    number, asked_at, query, *costs, digest = row
    return number, f"{query}\n{', '.join((asked_at, *costs, digest))}"


@dataclass(frozen=True, slots=True)
class ShownHeader(Document):
    """The first link of the chain."""

    study: str
    budget: Units
    salt: str
    digest: str


@dataclass(frozen=True, slots=True)
class ShownLink(Document):
    """What everybody may see of a receipt: enough to compute its digest."""

    number: int
    asked_at: str
    amount: Units
    radius: Units
    pure: Units
    final_radius: Units
    final_level: Units
    spent: Units
    spent_radius: Units
    spent_pure: Units
    unproved: int
    validity: dict[str, Any]
    sealed: str
    digest: str
    previous: str


@dataclass(frozen=True, slots=True)
class ShownReceipt(ShownLink):
    """All of a receipt, for whoever may read its query."""

    by: str | None
    subject: dict[str, Any]
    query: str
    detail: str
    request: str | None
    spent_by: Units
    budget_share: Units | None
    secret: str


@dataclass(frozen=True, slots=True)
class ListedReceipt(ShownReceipt):
    """The same, with its share of the budget."""

    share: float


@dataclass(frozen=True, slots=True)
class ListedReceipts(Document):
    """Receipts with all that a replay needs."""

    accounting: str
    header: ShownHeader
    receipts: tuple[ListedReceipt, ...]


def shown_header(header: Header) -> ShownHeader:
    return ShownHeader(header.study, header.budget, header.salt, header.digest)


def shown_link(kind: type[_Link], link: OpenLink, **more: Any) -> _Link:
    known = {one.name: getattr(link, one.name) for one in fields(ShownLink)}
    return kind(**known | {"validity": link.validity.to_json()} | more)


def shown_receipt(kind: type[_Link], receipt: Receipt, **more: Any) -> _Link:
    order = receipt.order
    own = {name: getattr(order, name) for name in ("by", "query", "detail", "request")}
    own |= {name: getattr(receipt, name) for name in ("spent_by", "budget_share", "secret")}
    return shown_link(kind, receipt.open, subject=order.subject.to_json(), **own, **more)


class EarlierAnswers:
    """The receipts of each query.  Only those that are new since the last look are read."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._lock = ledger, threading.Lock()
        self._looked_at = 0
        self._numbers: dict[str, list[int]] = {}

    def numbers(self, text: str) -> list[int]:
        """Newest first."""
        with self._lock:
            newest = self._ledger.count()
            for number in range(self._looked_at + 1, newest + 1):
                receipt = self._ledger.receipt(number)
                if receipt is not None:
                    self._numbers.setdefault(receipt.order.query, []).append(number)
            self._looked_at = newest
            return self._numbers.get(text, [])[::-1]


# Read back -------------------------------------------------------------------------------------------------


def header_from(told: Mapping[str, Any], accounting: str) -> Header:
    """LedgerCorrupt unless its digest is the one that was told."""
    shown = ShownHeader.from_json(told)
    header = Header(shown.study, accounting, shown.budget, shown.salt)
    if header.digest != shown.digest:
        raise LedgerCorrupt("the header of the ledger does not have the digest that was told")
    return header


def link_from(told: Mapping[str, Any]) -> OpenLink:
    """LedgerCorrupt unless its digest is the one that was told."""
    return _link_of(ShownLink.from_json(told))


def _link_of(shown: ShownLink) -> OpenLink:
    known = {one.name: getattr(shown, one.name) for one in fields(OpenLink)}
    link = OpenLink(**known | {"validity": ValidityRecord.from_json(shown.validity)})
    if link.digest != shown.digest:
        raise LedgerCorrupt(f"link {link.number} does not have the digest that was told")
    return link


def receipt_from(told: Mapping[str, Any], before: int) -> Receipt:
    """``before``: how many orders before it no theorem covers.  LedgerCorrupt unless its digest is right."""
    shown = ShownReceipt.from_json(told)
    link = _link_of(shown)
    order = Order(
        shown.query,
        shown.detail,
        link.amount,
        link.radius,
        shown.request,
        by=shown.by,
        pure=link.pure,
        unproved=link.unproved > before,
        subject=ReceiptSubject.from_json(shown.subject),
        validity=link.validity,
    )
    known = {one.name: getattr(shown, one.name) for one in fields(Receipt) if one.name != "order"}
    receipt = Receipt(order=order, **known)
    if receipt.digest != shown.digest:
        raise LedgerCorrupt(f"receipt {link.number} does not have the digest that was told")
    return receipt


def _beginning(query: str) -> str:
    """A batch can be long, and so can a list of values; JSON has all of it."""
    query = in_short(query)
    return query if len(query) <= _LONGEST_SHOWN else query[:_LONGEST_SHOWN] + " ..."
