"""The list of everything that was ever charged, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adyton.certify import Amount
from adyton.exact import decimal_text
from adyton.ledger import Receipt
from adyton.show import Sheet, Shown

_LONGEST_SHOWN = 300  # of a question


class Receipts(Shown, list[Receipt]):
    """Receipts, oldest first: a list that prints and shows itself in a notebook."""

    def __init__(self, receipts: Iterable[Receipt], currency: str, limit: int) -> None:
        super().__init__(receipts)
        self._currency, self._limit = currency, limit

    def _cost(self, receipt: Receipt) -> Amount:
        return Amount(self._currency, receipt.order.amount, self._limit)

    def to_json(self) -> dict[str, Any]:
        return {
            "currency": self._currency,
            "receipts": [
                {
                    "number": r.number,
                    "asked_at": r.asked_at,
                    "question": r.order.question,
                    "amount": decimal_text(r.order.amount),
                    "share": self._cost(r).share,
                    "spent": decimal_text(r.spent),
                    "digest": r.digest,
                    "previous": r.previous,
                }
                for r in self
            ],
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(
            (
                str(r.number),
                r.asked_at[:16].replace("T", " "),
                _beginning(r.order.question),
                str(self._cost(r)),
                *([self._cost(r).in_currency] if verbose else []),
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


def _beginning(question: str) -> str:
    """A batch can be long; JSON has all of it."""
    return question if len(question) <= _LONGEST_SHOWN else question[:_LONGEST_SHOWN] + " ..."
