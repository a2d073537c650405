"""What a study has spent, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.certify.answer import Amount, Odometer, Promise
from adyton.certify.later import in_bits
from adyton.exact import decimal_text
from adyton.show import Sheet, Shown

_ODOMETER = (
    "The odometer holds at whatever moment somebody stops, by whatever rule ({}). "
    "It may be above the promise; then the promise is the better bound."
)


@dataclass(frozen=True, slots=True)
class BookShare:
    """What all studies of a book have spent, of what; ``rows`` is what the book says of their rows."""

    name: str
    limit: Promise
    spent: Amount
    left: Amount
    charges: int
    rows: str

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "limit": self.limit.to_json(),
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            "charges": self.charges,
            "rows": self.rows,
        }

    def lines(self, verbose: bool) -> list[tuple[str, str]]:
        return [
            (f"book {self.name}, for all studies", str(self.limit)),
            ("spent of the book, by all studies", self.spent.shown(verbose)),
            ("left of the book", self.left.shown(verbose)),
        ]


@dataclass(frozen=True, slots=True)
class Statement(Shown):
    """What a study has spent, of what; where it declares validity, also the stability, as mu0 squared.

    ``more``: how many charges like the last one would still fit; None before the first.  Stability is in
    units of 10**-18.  ``certified_questions`` is None if the stability alone decides how many.

    >>> statement = curator.statement()
    >>> statement.questions, statement.spent.share, statement.left.share
    (0, 0.0, 1.0)
    """

    spent: Amount
    left: Amount
    limit: Promise
    questions: int
    more: int | None
    odometer: Odometer
    stability: int | None = None
    stability_cap: int | None = None
    certified_questions: int | None = None
    bits: int | None = None  # of all answers so far, in units of 10**-18, where they are rounded
    reserve: str | None = None  # where units are kept from all questions: how many, and whether it was opened
    book: BookShare | None = None

    @property
    def beyond(self) -> bool:
        """Whether the newest answer is already beyond what population intervals are certified for."""
        if self.stability is None or self.stability_cap is None:
            return False  # with Gaussian noise answers beyond a plan have intervals as well
        most = self.questions if self.certified_questions is None else self.certified_questions
        return self.questions > most or self.stability > self.stability_cap

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        shown: dict[str, Any] = {
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            "limit": self.limit.to_json(),
            "questions": self.questions,
            "more": self.more,
            "odometer": self.odometer.to_json(),
            **({"reserve": self.reserve} if self.reserve is not None else {}),
        }
        if self.bits is not None:
            shown["transcript"] = {"bits": decimal_text(self.bits)}
        if self.book is not None:
            shown["book"] = self.book.to_json()
        if self.stability is None or self.stability_cap is None:
            return shown
        validity = {
            "spent": decimal_text(self.stability),
            "cap": decimal_text(self.stability_cap),
            "questions": self.certified_questions,
            "beyond": self.beyond,
        }
        return {**shown, "validity": validity}

    def sheet(self, verbose: bool = False, *, odometer: bool = False) -> Sheet:
        """The statement as a table; ``odometer`` adds the running epsilon."""
        rows: list[tuple[str, str]] = [
            ("the promise, whatever is asked", str(self.limit)),
            ("questions charged", f"{self.questions:,}"),
            ("spent of the limit", self.spent.shown(verbose)),
            ("left of the limit", self.left.shown(verbose)),
        ]
        rows += self.book.lines(verbose) if self.book is not None else []
        rows += [("would fit, like the last one", f"{self.more:,} more")] if self.more is not None else []
        rows += [("odometer", str(self.odometer))] if odometer else []
        rows += [("reserve", self.reserve)] if self.reserve is not None else []
        if self.stability is not None and self.stability_cap is not None:
            most = self.certified_questions
            stable = Amount("mu0²", self.stability, self.stability_cap)
            rows += [
                ("stability spent, of what is certified", stable.shown(verbose)),
                ("questions certified", "any number" if most is None else f"{most:,}"),
            ]
        rows += [("bits of all answers so far", in_bits(self.bits))] if self.bits is not None else []
        beyond = "The newest answers have no population interval: they are beyond what is certified."
        notes = [_ODOMETER.format(self.odometer.theorem)] if odometer else []
        return Sheet("Statement", ("", ""), tuple(rows), (*notes, *([beyond] if self.beyond else [])))
