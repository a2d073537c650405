"""Reports of the local model: one person with two different lists of answers, and what may be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adyton.audit.cases.trial import AuditedMechanism, AuditTarget, Trial
from adyton.certify import RoundedGuarantee
from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Guarantee
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.surveys import CategoryQuestion, NumberQuestion, Survey

_YES_NO = ("yes", "no")
_NUMBERS = tuple(NumberQuestion(f"number_{i}", 0, 10) for i in range(12))
_SURVEYS: dict[str, tuple[Any, ...]] = {
    "one question": (CategoryQuestion("smokes", _YES_NO),),
    "three questions": (
        CategoryQuestion("smokes", _YES_NO),
        CategoryQuestion("by", ("bike", "bus", "car")),
        NumberQuestion("age", 0, 99),
    ),
    "twelve numbers": _NUMBERS,
}


def _pure_responses(target: AuditTarget) -> Iterator[Trial]:
    for categories in (2, 5):
        mechanism = RandomizedResponse.for_epsilon(target.epsilon, categories)
        claim = RoundedGuarantee(float_up(mechanism.cost().epsilon), 0.0)
        yield _response("randomized-response", mechanism, categories, claim, target.bits)


def _responses(target: AuditTarget) -> Iterator[Trial]:
    """Randomized response that uses its delta."""
    budget = Guarantee(target.epsilon, _needed(target))
    for categories in (2, 5):
        mechanism = RandomizedResponse.for_guarantee(budget, categories)
        yield _response("randomized-response-with-delta", mechanism, categories, _claim(budget), target.bits)


def _response(
    name: str, mechanism: RandomizedResponse, categories: int, claim: RoundedGuarantee, bits: Bits
) -> Trial:
    def release(value: int, n: int) -> Any:
        return np.array(mechanism.release([value] * n, bits))

    return Trial(name, f"{categories} categories", "replace-one", release, (0, categories - 1), claim)


def _surveys(target: AuditTarget) -> Iterator[Trial]:
    budget = Guarantee(target.epsilon, _needed(target))
    for name, questions in _SURVEYS.items():
        survey = Survey("audited", questions, budget)
        yield Trial(
            "survey",
            name,
            "replace-one",
            _asking(survey, target.bits),
            _pair(survey),
            _claim(budget),
            slow=True,
        )


def _pair(survey: Survey) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answers at one end and at the other."""
    here: dict[str, Any] = {}
    there: dict[str, Any] = {}
    for question in survey.questions:
        if isinstance(question, CategoryQuestion):
            here[question.name], there[question.name] = question.values[0], question.values[-1]
        else:
            here[question.name], there[question.name] = question.low, question.high
    return here, there


def _asking(survey: Survey, bits: Bits) -> Callable[[dict[str, Any], int], Any]:
    def release(answers: dict[str, Any], n: int) -> Any:
        reports = survey.randomize_all([answers] * n, bits)
        return np.array([[q.read(report[q.name]) for q in survey.questions] for report in reports])

    return release


def _needed(target: AuditTarget) -> Any:
    if target.delta == 0:
        raise InvalidRequest("these reports use a delta: give one above 0")
    return target.delta


def _claim(budget: Guarantee) -> RoundedGuarantee:
    return RoundedGuarantee(float_up(budget.epsilon), float_up(budget.delta))


ENTRIES = (
    AuditedMechanism("randomized-response", "two and five categories", _pure_responses),
    AuditedMechanism("randomized-response-with-delta", "two and five categories", _responses),
    AuditedMechanism("survey", "all reports of one person, with delta", _surveys),
)
