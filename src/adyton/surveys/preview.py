"""What a survey will be worth, from its file alone: the noise of each question, and widths of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.documents import Document
from adyton.kernel.exact import Number, failure_of, rational, whole
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.show import Sheet, Shown
from adyton.surveys.dividing import Randomizer
from adyton.surveys.intervals import noise_of_mean, share_of_population, share_of_respondents
from adyton.surveys.questions import STEPS, NumberQuestion, SurveyQuestion
from adyton.surveys.results import claims
from adyton.surveys.survey import Survey
from adyton.validity.textbook.concentration import hoeffding_width


@dataclass(frozen=True, slots=True)
class ExpectedWidths(Document):
    """Of one question: its noise in words, and half-widths; of a share about where it is least certain."""

    question: str
    noise: str
    respondents: float
    population: float
    is_share: bool

    json_keys = "question noise respondents population"


@dataclass(frozen=True, slots=True)
class SurveyPreview(Shown, Document):
    epsilon: float
    delta: float
    people: int
    confidence: float
    questions: tuple[ExpectedWidths, ...]

    def sheet(self, *, verbose: bool = False) -> Sheet:
        rows = tuple(
            (e.question, e.noise, _width(e, e.respondents), _width(e, e.population)) for e in self.questions
        )
        delta = f", delta {self.delta:g}".replace("e-0", "e-") if self.delta else ""
        notes = (
            f"All answers of a person cost epsilon {self.epsilon:g}{delta} together, whoever reads them.",
            f"Half-widths for {self.people:,} reports, simultaneous for all lines, with probability "
            f"{self.confidence:.10g}; those for a population if people are independent draws.",
        )
        return Sheet(
            "Survey", ("question", "noise", "respondents", "population"), rows, notes, left_aligned=2
        )


def preview_of(survey: Survey, people: int, confidence: Number = "0.95") -> SurveyPreview:
    """Reads nothing but the survey file."""
    whole(people, "the number of people")
    failure = failure_of(confidence) / sum(map(claims, survey.questions))
    pairs = zip(survey.questions, survey.randomizers, strict=True)
    expected = tuple(_expected(question, noise, people, failure) for question, noise in pairs)
    budget = survey.budget
    confident = float(rational(confidence, "confidence"))
    return SurveyPreview(float(budget.epsilon), float(budget.delta), people, confident, expected)


def _expected(question: SurveyQuestion, noise: Randomizer, people: int, failure: Fraction) -> ExpectedWidths:
    if isinstance(noise, RandomizedResponse):
        middle = noise.lie + (noise.truth - noise.lie) / 2  # half of the people hold it
        count = round(people * middle)
        alone, drawn = (
            (high - low) / 2
            for low, high in (
                share_of_respondents(noise, count, people, failure),
                share_of_population(noise, count, people, failure),
            )
        )
        words = f"true with {100 * float(noise.truth):.3g} %, else another value"
        return ExpectedWidths(question.name, words, alone, drawn, True)
    assert isinstance(question, NumberQuestion)
    length = float(question.high - question.low)
    words = f"{noise.name} of scale {float(noise.scales[0]) / STEPS * length:.3g}"
    own, both = (noise_of_mean(noise, people, part) / STEPS * length for part in (failure, failure / 2))
    sampled = hoeffding_width(people, failure / 2) * length
    return ExpectedWidths(question.name, words, own, both + sampled, False)


def _width(expected: ExpectedWidths, width: float) -> str:
    return f"± {100 * width:.2g} %" if expected.is_share else f"± {width:.3g}"
