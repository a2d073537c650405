"""What the reports of a survey say, with intervals for the respondents and for the population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from adyton.documents import Document
from adyton.kernel.exact import Number, failure_of, float_down, float_up, rational
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.show import Sheet, Shown
from adyton.show.sheet import ends, number
from adyton.surveys.dividing import Randomizer
from adyton.surveys.intervals import Interval, noise_of_mean, share_of_population, share_of_respondents
from adyton.surveys.questions import STEPS, CategoryQuestion, NumberQuestion, SurveyQuestion
from adyton.validity.textbook.concentration import hoeffding_width

_HALF = Fraction(1, 2)
_BOTH = (
    "The respondents' interval covers the noise of their reports; the population's also how they were drawn."
)
_RESPONDENTS_ONLY = "Nothing is said about a population: the survey does not declare independent respondents."


@dataclass(frozen=True, slots=True)
class SurveyResult(Document):
    """A share of the people who hold ``value``, or a mean where that is None.

    ``estimate`` is right on average, so it may lie a little outside of what is possible; intervals do not.
    """

    question: str
    value: str | None
    estimate: float
    respondents: Interval
    population: Interval | None


@dataclass(frozen=True, slots=True)
class SurveyResults(Shown, Document):
    people: int
    confidence: float
    results: tuple[SurveyResult, ...]

    def __getitem__(self, key: str | tuple[str, str]) -> SurveyResult:
        """``results["age"]`` for a mean, ``results["smokes", "yes"]`` for a share."""
        question, value = (key, None) if isinstance(key, str) else key
        for result in self.results:
            if (result.question, result.value) == (question, value):
                return result
        raise KeyError(key)

    def sheet(self, *, verbose: bool = False) -> Sheet:
        rows = tuple(
            (
                r.question,
                r.value or "mean",
                _shown(r, r.estimate),
                _ends(r, r.respondents),
                _ends(r, r.population),
            )
            for r in self.results
        )
        drawn = self.results[0].population is not None
        notes = (
            f"{self.people:,} reports. Each column of intervals holds simultaneously for all its lines, with "
            f"probability {self.confidence:.10g}.",
            _BOTH if drawn else _RESPONDENTS_ONLY,
        )
        details = ("Theorems: LOCAL-REPORTS, SURVEY-SHARES, SURVEY-MEANS.",) if verbose else ()
        headers = ("question", "value", "estimate", "respondents", "population")
        return Sheet("Survey", headers, rows, notes + details, left_aligned=2)


def _shown(result: SurveyResult, value: float) -> str:
    if result.value is not None:
        return f"{100 * value:.1f} %"
    return number(value, (result.respondents[1] - result.respondents[0]) / 2)


def _ends(result: SurveyResult, interval: Interval | None) -> str:
    if interval is None:
        return "not declared"
    low, high = interval
    if result.value is None:
        return ends(low, high, (high - low) / 2)
    return ends(100 * low, 100 * high, (high - low) * 50) + " %"


def results_of(
    questions: Sequence[SurveyQuestion],
    randomizers: Sequence[Randomizer],
    columns: Sequence[Sequence[int]],
    confidence: Number,
    independent: bool,
) -> SurveyResults:
    """Intervals for all values at once: what may fail is divided among them."""
    failure = failure_of(confidence) / sum(map(claims, questions))
    results: list[SurveyResult] = []
    for question, randomizer, codes in zip(questions, randomizers, columns, strict=True):
        if isinstance(question, CategoryQuestion):
            assert isinstance(randomizer, RandomizedResponse)
            results += _shares(question, randomizer, codes, failure, independent)
        else:
            results.append(_mean(question, randomizer, codes, failure, independent))
    return SurveyResults(len(columns[0]), float(rational(confidence, "confidence")), tuple(results))


def claims(question: SurveyQuestion) -> int:
    """How many intervals may fail by themselves: of two values, one says the same as the other."""
    if isinstance(question, NumberQuestion) or len(question.values) == 2:
        return 1
    return len(question.values)


def _shares(
    question: CategoryQuestion,
    mechanism: RandomizedResponse,
    codes: Sequence[int],
    failure: Fraction,
    independent: bool,
) -> list[SurveyResult]:
    people = len(codes)
    counts = [0] * len(question.values)
    for code in codes:
        counts[code] += 1
    estimates = mechanism.estimate(counts)
    return [
        SurveyResult(
            question.name,
            value,
            float(estimate / people),
            share_of_respondents(mechanism, count, people, failure),
            share_of_population(mechanism, count, people, failure) if independent else None,
        )
        for value, count, estimate in zip(question.values, counts, estimates, strict=True)
    ]


def _mean(
    question: NumberQuestion,
    noise: Randomizer,
    codes: Sequence[int],
    failure: Fraction,
    independent: bool,
) -> SurveyResult:
    """Values were rounded to whole steps, by half a step at most.  Theorem: SURVEY-MEANS."""
    assert not isinstance(noise, RandomizedResponse)
    people = len(codes)
    middle = question.low + question.step * Fraction(sum(codes), people)

    def around(width: Fraction) -> Interval:
        low, high = middle - width * question.step, middle + width * question.step
        inside = [min(max(end, question.low), question.high) for end in (low, high)]
        return float_down(inside[0]), float_up(inside[1])

    respondents = Fraction(noise_of_mean(noise, people, failure)) + _HALF
    if not independent:
        return SurveyResult(question.name, None, float(middle), around(respondents), None)
    both = Fraction(noise_of_mean(noise, people, failure / 2)) + _HALF
    both += Fraction(hoeffding_width(people, failure / 2)) * STEPS
    return SurveyResult(question.name, None, float(middle), around(respondents), around(both))
