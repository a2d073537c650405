"""The receipts of a ledger as a server sends them: all links, and what each role may read whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, UnsetType

from adyton.curator.receipts import ShownHeader, ShownLink, ShownReceipt, shown_link, shown_receipt
from adyton.documents import Document, Units
from adyton.errors import InvalidRequest
from adyton.kernel.ledger import Ledger, Receipt
from adyton.operations.roles import Action, may
from adyton.service.identity import Identity

PAGE = 500


def page_of(ledger: Ledger, after: int, most: int = PAGE) -> tuple[list[Receipt], int | None]:
    """Some receipts, and after which number others may follow: a restored ledger has lost numbers."""
    check_after(after)
    newest = ledger.count()
    last = min(after + most, newest)
    return numbered(ledger, range(after + 1, last + 1)), last if last < newest else None


def check_after(after: int) -> None:
    if after < 0:
        raise InvalidRequest("receipts are listed from a number on, at least 0")


def numbered(ledger: Ledger, numbers: Iterable[int]) -> list[Receipt]:
    return [found for number in numbers if number > 0 and (found := ledger.receipt(number)) is not None]


@dataclass(frozen=True, slots=True)
class BareHeader(Document):
    """Of a holdout: what the digest is of would tell the right labels from wrong ones."""

    budget: Units
    digest: str


@dataclass(frozen=True, slots=True)
class ReceiptPage(Document):
    """The open part of every link, and of the own receipts, or of all, everything."""

    accounting: str
    header: ShownHeader | BareHeader
    links: Sequence[ShownLink]
    receipts: Sequence[ShownReceipt]
    answers: Sequence[dict[str, Any]] | UnsetType = UNSET
    next: int | UnsetType | None = UNSET

    json_keys = "accounting header links receipts answers? next?"

    @classmethod
    def of(
        cls,
        who: Identity,
        page: Sequence[Receipt],
        accounting: str,
        header: ShownHeader | BareHeader,
        **more: Any,
    ) -> ReceiptPage:
        everything = may(who.role, Action.ALL_RECEIPTS)
        shown = [shown_receipt(ShownReceipt, r) for r in page if everything or r.order.by == who.name]
        return cls(accounting, header, [shown_link(ShownLink, r.open) for r in page], shown, **more)
