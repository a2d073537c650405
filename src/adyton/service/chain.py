"""The receipts of a ledger as a server sends them: all links, and what each role may read whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from adyton.curator.receipts import link_told, receipt_told
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


def links_told(who: Identity, page: Sequence[Receipt]) -> dict[str, Any]:
    """The open part of every link, and of the own receipts, or of all, everything."""
    everything = may(who.role, Action.ALL_RECEIPTS)
    shown = [r for r in page if everything or r.order.by == who.name]
    return {"links": [link_told(r.open) for r in page], "receipts": [receipt_told(r) for r in shown]}
