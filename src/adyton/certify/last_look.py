"""How small a p-value must be after the rows have been questioned, in the words of whoever runs the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.show import Sheet, Shown, number

_LAST = (
    "A test on the rows is a last look. No theorem covers whoever has seen its result and goes on asking; "
    "if it is published, record it (--publish): later answers then have no population interval."
)
_NOT_PRIVATE = "An exact test is not private: whoever publishes it spends privacy that no ledger has counted."


@dataclass(frozen=True, slots=True)
class LastLook(Shown):
    """A test at level ``alpha`` may reject where its own p-value is at most ``threshold``.

    ``p_value`` is one that was computed, and ``corrected`` what it is worth after the questions.
    """

    alpha: float
    threshold: float
    questions: int
    theorem: str
    p_value: float | None = None
    corrected: float | None = None
    published: int | None = None  # the receipt that records it

    @property
    def significant(self) -> bool | None:
        return None if self.p_value is None else self.p_value <= self.threshold

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "alpha": self.alpha,
            "threshold": self.threshold,
            "questions": self.questions,
            "theorem": self.theorem,
        }
        if self.p_value is not None:
            told = {"p_value": self.p_value, "corrected": self.corrected, "significant": self.significant}
            shown |= told
        return shown if self.published is None else {**shown, "published": self.published}

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = [
            ("level of the test", number(self.alpha)),
            ("questions charged", f"{self.questions:,}"),
            ("significant if its p-value is at most", f"{self.threshold:.2g}"),
        ]
        if self.p_value is not None and self.corrected is not None:
            rows += [
                ("the p-value", f"{self.p_value:.2g}"),
                ("after these questions it is worth", f"{self.corrected:.2g}"),
                ("significant", "yes" if self.significant else "no"),
            ]
        rows += [("theorem", self.theorem)] if verbose else []
        recorded = () if self.published is None else (f"Recorded as receipt {self.published}.",)
        several = "For one test: whoever runs several divides the level by their number."
        return Sheet("Last look", ("", ""), tuple(rows), (several, _LAST, _NOT_PRIVATE, *recorded))
