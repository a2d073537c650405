"""The questions of a survey, and an answer as the whole number that noise is put on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, keep_exactly, rational

STEPS = 2**20
"""From the lower bound of a number to the upper one: fine enough that no rounding is ever seen."""
MOST_VALUES = 10_000


@dataclass(frozen=True, slots=True)
class CategoryQuestion:
    """One of some declared values, each a text."""

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        if any(not isinstance(value, str) or not value for value in self.values):
            raise InvalidRequest(f"questions.{self.name}.values must be texts that are not empty")
        if len(set(self.values)) != len(self.values) or not 2 <= len(self.values) <= MOST_VALUES:
            raise InvalidRequest(
                f"questions.{self.name}.values must be 2 to {MOST_VALUES:,} different ones; whoever may not "
                "want to answer needs one, such as 'no answer'"
            )

    def code(self, answer: object) -> int:
        """The place of an answer among the values.  The error does not repeat the answer."""
        if not isinstance(answer, str) or answer not in self.values:
            listed = ", ".join(self.values[:8]) + (", ..." if len(self.values) > 8 else "")
            raise InvalidRequest(f"an answer to {self.name!r} must be one of: {listed}")
        return self.values.index(answer)

    def report(self, code: int) -> str:
        return self.values[code]

    def read(self, report: object, place: int = 1) -> int:
        """What was reported, as its code; ``place`` is where it stands among the reports."""
        if not isinstance(report, str) or report not in self.values:
            raise InvalidRequest(f"report {place:,}: {self.name!r} is none of its values")
        return self.values.index(report)


@dataclass(frozen=True, slots=True)
class NumberQuestion:
    """A number between two public bounds; what lies outside counts as the nearer of them."""

    name: str
    low: Fraction
    high: Fraction

    if TYPE_CHECKING:

        def __init__(self, name: str, low: Number, high: Number) -> None: ...

    def __post_init__(self) -> None:
        _check_name(self.name)
        keep_exactly(self, "low", "high")
        if not self.low < self.high:
            raise InvalidRequest(f"questions.{self.name}.low must be below questions.{self.name}.high")

    @property
    def step(self) -> Fraction:
        return (self.high - self.low) / STEPS

    def code(self, answer: object) -> int:
        """An answer in steps above the lower bound.  The error does not repeat the answer."""
        try:
            exact = rational(answer, "an answer")
        except InvalidRequest:
            raise InvalidRequest(f"an answer to {self.name!r} must be a number, such as 25 or 0.5") from None
        return round((min(max(exact, self.low), self.high) - self.low) / self.step)

    def report(self, code: int) -> int:
        return code

    def read(self, report: object, place: int = 1) -> int:
        text = str(report)
        if isinstance(report, bool) or not text.removeprefix("-").isdecimal() or len(text) > 30:
            raise InvalidRequest(f"report {place:,}: {self.name!r} must be a whole number of steps")
        return int(text)


SurveyQuestion = CategoryQuestion | NumberQuestion


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name.isidentifier() or name == "survey":
        raise InvalidRequest("the name of a question is one word, such as age, and not 'survey'")
