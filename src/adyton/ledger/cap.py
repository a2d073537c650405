"""A cap that comes with an order: how much may have been charged, the order included, for it to make sense.

A population interval is certified only up to some stability and some number of questions.  Whoever looks at
the totals first and charges afterwards can be overtaken in between, and then has paid for an answer without
an interval.  So the cap travels with the order, and the ledger looks at it in the transaction of the charge.
"""

from __future__ import annotations

from dataclasses import dataclass

from adyton.errors import ValidityRefused
from adyton.exact import decimal_text
from adyton.ledger.checks import check_amount

RADIUS, QUESTIONS = "mu0²", "questions"


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that all radii may sum up to, and the highest number that the receipt may have; None: any."""

    radius: int | None = None
    questions: int | None = None

    def __post_init__(self) -> None:
        if self.radius is not None:
            check_amount(self.radius, "a cap on the radius", least=0)
        if self.questions is not None:
            check_amount(self.questions, "a cap on the number of questions", least=0)

    def check(self, questions: int, spent_radius: int, radius: int) -> None:
        """Refuses one more charge of ``radius`` after that many questions and that much spent."""
        if self.questions is not None and questions >= self.questions:
            raise _refusal(QUESTIONS, "1", str(questions), str(self.questions), "0")
        if self.radius is not None and spent_radius + radius > self.radius:
            left = max(self.radius - spent_radius, 0)
            requested, spent, most, largest = map(decimal_text, (radius, spent_radius, self.radius, left))
            raise _refusal(RADIUS, requested, spent, most, largest)


def _refusal(counted_in: str, requested: str, spent: str, limit: str, largest: str) -> ValidityRefused:
    facts = {"requested": requested, "spent": spent, "limit": limit, "largest": largest}
    facts |= {"counted_in": counted_in}
    message = (
        "this would go beyond the {what} for which population intervals are certified "
        "(validity.beyond_plan = 'refuse'): {requested} ({counted_in}) was requested, {spent} of {limit} is "
        "spent, at most {largest} still fits; nothing was charged"
    )
    what = "stability" if counted_in == RADIUS else "number of questions"
    return ValidityRefused(message.format(what=what, **facts), **facts)
