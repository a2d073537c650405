"""A survey: its questions, the budget of one person, and what everybody does with their own answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number
from adyton.kernel.noise import Bits, SystemBits
from adyton.kernel.privacy import Guarantee
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.surveys.dividing import Randomizer, randomizers
from adyton.surveys.questions import SurveyQuestion
from adyton.surveys.results import SurveyResults, results_of

Answers = Mapping[str, object]
Report = dict[str, str | int]
MOST_QUESTIONS = 1000
SURVEY = "survey"  # the name under which a report says which survey it belongs to


@dataclass(frozen=True)
class Survey:
    """Questions, and the (epsilon, delta) that all answers of one person together may cost that person.

    ``independent`` is the asker's word that respondents are independent draws from a population; without it
    nothing is said about one.
    """

    name: str
    questions: tuple[SurveyQuestion, ...]
    budget: Guarantee
    independent: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.questions) <= MOST_QUESTIONS:
            raise InvalidRequest(f"a survey asks 1 to {MOST_QUESTIONS:,} questions, e.g. [questions.age]")
        names = [question.name for question in self.questions]
        if len(set(names)) != len(names):
            raise InvalidRequest("two questions of a survey have the same name")

    @cached_property
    def randomizers(self) -> tuple[Randomizer, ...]:
        """The noise of each question.  Theorem: LOCAL-REPORTS."""
        return randomizers(self.questions, self.budget)

    @cached_property
    def fingerprint(self) -> str:
        """Of all that a report depends on: a report of another survey, or of another budget, is refused."""
        facts = [self.name, str(self.budget.epsilon), str(self.budget.delta), *map(repr, self.questions)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]

    def randomize(self, answers: Answers, bits: Bits | None = None) -> Report:
        """The report of one person, who does this alone and sends nothing else.

        Claim:    (epsilon, delta)-DP for any two lists of answers that this person may have.
        Assumes:  the person reports once; the words of ``bits`` are uniform and nobody else's.
        Source:   as ``randomizers``.  Theorem: LOCAL-REPORTS.
        """
        return self.randomize_all([answers], bits)[0]

    def randomize_all(self, people: Sequence[Answers], bits: Bits | None = None) -> list[Report]:
        """A report for each person.  All answers are checked before any noise is drawn."""
        coins = SystemBits() if bits is None else bits
        codes = [[q.code(self._answer(answers, q)) for answers in people] for q in self.questions]
        noisy = [
            _released(randomizer, column, coins)
            for randomizer, column in zip(self.randomizers, codes, strict=True)
        ]
        return [self._report([column[i] for column in noisy]) for i in range(len(people))]

    def _report(self, codes: Sequence[int]) -> Report:
        told: Report = {SURVEY: self.fingerprint}
        for question, code in zip(self.questions, codes, strict=True):
            told[question.name] = question.report(code)
        return told

    def _answer(self, answers: Answers, question: SurveyQuestion) -> object:
        if unknown := sorted(set(answers) - {q.name for q in self.questions}):
            asked = ", ".join(q.name for q in self.questions)
            raise InvalidRequest(f"the survey does not ask for {unknown[0]!r}; it asks for: {asked}")
        if question.name not in answers:
            raise InvalidRequest(
                f"the answer to {question.name!r} is missing: nobody may leave one out, "
                "because that would tell; declare a value such as 'no answer' for it"
            )
        return answers[question.name]

    def estimate(self, reports: Iterable[Mapping[str, Any]], confidence: Number = "0.95") -> SurveyResults:
        """What all reports together say, with intervals for all values at once.

        Theorem: SURVEY-SHARES.  Theorem: SURVEY-MEANS.
        """
        rows = list(reports)
        if not rows:
            raise InvalidRequest("there are no reports to estimate from")
        others = (place for place, row in enumerate(rows, 1) if row.get(SURVEY) != self.fingerprint)
        if (place := next(others, None)) is not None:
            raise InvalidRequest(
                f"report {place:,} is not one of this survey as its file is now: its {SURVEY!r} must be "
                f"{self.fingerprint}"
            )
        columns = [
            [q.read(row.get(q.name), place) for place, row in enumerate(rows, 1)] for q in self.questions
        ]
        return results_of(self.questions, self.randomizers, columns, confidence, self.independent)


def _released(randomizer: Randomizer, codes: list[int], bits: Bits) -> list[int]:
    if isinstance(randomizer, RandomizedResponse):
        return randomizer.release(codes, bits)
    return [int(value) for value in randomizer.release([codes], bits)[0]]
