"""What the population intervals of a study rest on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from adyton.errors import InvalidRequest
from adyton.privacy import Neighbours
from adyton.study.keys_failure import keys_failure
from adyton.validity.planned import PlannedSchedule

if TYPE_CHECKING:
    from adyton.study.facts import Study

_COUNTING = Fraction(1, 100)  # of the failure


@dataclass(frozen=True, slots=True)
class Validity:
    """What the population intervals of a study rest on, fixed before the first question.

    Either a cap on what all questions together may spend of stability (mu0), or how many questions there will
    be and the tolerance for each.  Beyond it a question is refused, or answered without the interval.
    """

    confidence: Fraction
    stability: Fraction | None = None
    questions: int | None = None
    tolerance: Fraction | None = None
    beyond: Literal["refuse", "answer"] = "refuse"

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InvalidRequest("validity.confidence must be above 0 and below 1, e.g. 0.95")
        if self.questions is not None and self.questions < 1:
            raise InvalidRequest("validity.questions must be at least 1")
        if (self.stability is None) == (self.tolerance is None):
            raise InvalidRequest(
                "give either validity.stability, or validity.tolerance and validity.questions"
            )
        if self.stability is not None and self.stability > 1:
            raise InvalidRequest("validity.stability above 1 certifies nothing; below 0.1 is useful")
        if self.tolerance is not None and self.questions is None:
            raise InvalidRequest("validity.tolerance needs validity.questions")


def check_tolerance(study: Study) -> None:
    """Refuses a plan that these rows cannot bear."""
    validity, rows = study.validity, study.table.rows
    if validity is None or validity.tolerance is None:
        return
    if rows is None:
        raise InvalidRequest("validity.tolerance needs validity.questions and table.rows")
    delta = keys_failure(study)
    best = planned(validity, rows, study.unit.neighbours, study.filter_name, delta).tolerance
    if best > validity.tolerance:
        from adyton.validity.planner import in_words

        shown = in_words(best, up=True) if math.isfinite(best) else "no tolerance"
        noise = " with the Laplace noise of a pure study" if study.filter_name == "pure" else ""
        found = " where keys may be found (privacy.keys_delta)" if study.keys_delta else ""
        units = "rows" if study.unit.person is None else "persons"
        raise InvalidRequest(
            f"{rows} {units} certify {validity.questions} adaptive questions within {shown}{noise}{found}, "
            f"not within {float(validity.tolerance):g}: ask fewer questions or allow a wider tolerance "
            "(see adyton plan)"
        )


@lru_cache(maxsize=16)
def planned(
    validity: Validity, rows: int, neighbours: Neighbours, filter_name: str, delta: Fraction = Fraction(0)
) -> PlannedSchedule:
    """The widths of the plan.  Where the size is private, noisy counts of the units must be right too."""
    assert validity.questions is not None
    failure = 1 - validity.confidence
    return PlannedSchedule.plan(
        rows,
        validity.questions,
        failure,
        noise="laplace" if filter_name == "pure" else "gaussian",
        counting=0 if neighbours == "replace" else failure * _COUNTING,
        delta=delta,
    )
