"""What a study has spent, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.certify.values import Amount, Promise
from adyton.exact import decimal_text
from adyton.show import Sheet, Shown


@dataclass(frozen=True, slots=True)
class Statement(Shown):
    """What a study has spent, of what; where it declares validity, also the stability, as mu0 squared.

    Amounts are in units of 10**-18.  ``certified_questions`` is None if the stability alone decides how many.
    """

    spent: Promise
    limit: Promise
    currency: str
    left: int
    questions: int
    stability: int | None = None
    stability_cap: int | None = None
    certified_questions: int | None = None

    @property
    def beyond(self) -> bool:
        """Whether the newest answer is already beyond what population intervals are certified for."""
        most = self.questions if self.certified_questions is None else self.certified_questions
        stable = self.stability is None or self.stability_cap is None or self.stability <= self.stability_cap
        return self.questions > most or not stable

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "spent": self.spent.to_json(),
            "limit": self.limit.to_json(),
            "currency": self.currency,
            "left": decimal_text(self.left),
            "questions": self.questions,
        }
        if self.stability is None or self.stability_cap is None:
            return shown
        validity = {
            "spent": decimal_text(self.stability),
            "cap": decimal_text(self.stability_cap),
            "questions": self.certified_questions,
            "beyond": self.beyond,
        }
        return {**shown, "validity": validity}

    def sheet(self) -> Sheet:
        rows: tuple[tuple[str, str], ...] = (
            ("questions charged", str(self.questions)),
            ("epsilon so far", f"{self.spent.epsilon:.6g}"),
            ("epsilon allowed", f"{self.limit.epsilon:g}"),
            ("delta", f"{self.limit.delta:g}"),
            ("left", str(Amount(self.currency, self.left))),
        )
        if self.stability is not None and self.stability_cap is not None:
            most = self.certified_questions
            rows += (
                ("stability so far", str(Amount("mu0²", self.stability))),
                ("stability certified", str(Amount("mu0²", self.stability_cap))),
                ("questions certified", "any number" if most is None else f"{most:,}"),
            )
        notes = ("The newest answers have no population interval: they are beyond what is certified.",)
        return Sheet("Statement", ("", ""), rows, notes if self.beyond else ())
