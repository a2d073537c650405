"""What the methods for special cases certify, beside the general ones of the planner.

They answer more questions because they say less: a ladder publishes only the best score so far, and
Thresholdout answers from the training set and pays only where that overfits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.holdout.ladder import plan_ladder
from adyton.holdout.methods import Frame
from adyton.holdout.thresholdout import plan_thresholdout
from adyton.validity.search import largest

_MOST_SCORES = 10**6
_QUESTIONS = 10**4  # asked of Thresholdout, most of them answered from the training set


@dataclass(frozen=True, slots=True)
class Special:
    method: str
    questions: int
    scale: float | None
    theorem: str
    applies: str
    overfits: int | None = None

    def to_json(self) -> dict[str, object]:
        shown = {
            "method": self.method,
            "questions": self.questions,
            "scale": self.scale,
            "theorem": self.theorem,
        }
        paid = {} if self.overfits is None else {"overfits": self.overfits}
        return {**shown, **paid, "applies": self.applies}


def special_methods(rows: int, tolerance: Fraction, failure: Fraction) -> list[Special]:
    """For values in 0..1 on ``rows`` items."""
    frame = Frame(rows, 2, Fraction(0), failure)
    return [_thresholdout(frame, tolerance), _ladder(frame, tolerance)]


def _thresholdout(frame: Frame, tolerance: Fraction) -> Special:
    planned = plan_thresholdout(frame, tolerance, _QUESTIONS)
    overfits = planned.overfits if planned else 0
    return Special(
        "thresholdout",
        _QUESTIONS if planned else 0,
        planned.scale / frame.whole if planned else None,
        "THRESHOLDOUT-VALIDITY",
        f"a training set answers, and at most {overfits:,} of the answers overfit it",
        overfits,
    )


def _ladder(frame: Frame, tolerance: Fraction) -> Special:
    def fits(scores: int) -> bool:
        try:
            plan_ladder(frame, scores, tolerance)
        except InvalidRequest:
            return False
        return True

    scores = largest(fits, _MOST_SCORES)
    return Special("ladder", scores, None, "LADDER", "only the best score so far is published")
