"""The list of everything that was ever charged, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adyton.certify import Amount
from adyton.exact import decimal_text
from adyton.ledger import Header, Receipt
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
        header = self._header
        return {
            "filter": self._filter_name,
            "header": {
                "study": header.study,
                "limit": decimal_text(header.limit),
                "salt": header.salt,
                "converted_from": header.converted_from,
                "digest": header.digest,
            },
            "receipts": [{**_told(r), "share": self._cost(r).share} for r in self],
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


def _told(receipt: Receipt) -> dict[str, Any]:
    order = receipt.order
    return {
        "number": receipt.number,
        "asked_at": receipt.asked_at,
        "by": order.by,
        "question": order.question,
        "detail": order.detail,
        "request": order.request,
        "amount": decimal_text(order.amount),
        "radius": decimal_text(order.radius),
        "pure": decimal_text(order.pure),
        "settled": decimal_text(receipt.settled),
        "spent": decimal_text(receipt.spent),
        "spent_radius": decimal_text(receipt.spent_radius),
        "spent_pure": decimal_text(receipt.spent_pure),
        "unproved": receipt.unproved,
        "spent_by": decimal_text(receipt.spent_by),
        "sub_limit": None if receipt.sub_limit is None else decimal_text(receipt.sub_limit),
        "secret": receipt.secret,
        "sealed": receipt.sealed,
        "digest": receipt.digest,
        "previous": receipt.previous,
    }


def _beginning(question: str) -> str:
    """A batch can be long; JSON has all of it."""
    return question if len(question) <= _LONGEST_SHOWN else question[:_LONGEST_SHOWN] + " ..."
