"""What the methods for special cases certify, beside the general ones of the planner.

They answer more questions because they say less: a ladder publishes only the best score so far, Thresholdout
answers from the training set and pays only where that overfits, guess and check confirms what was guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.holdout.guess_and_check_plan import first_step, most_wrong_guesses
from adyton.holdout.ladder import ladder_width
from adyton.holdout.methods import Frame
from adyton.holdout.thresholdout import plan_thresholdout
from adyton.validity.joint import MOST
from adyton.validity.planner import HALF, Plan, Wanted
from adyton.validity.search import largest, largest_near, least, smallest

_MOST_SCORES = 10**6
_QUESTIONS = 10**4  # asked of Thresholdout and of guess and check, most of them answered almost for nothing
_WRONG = 10  # guesses, where the number of questions is given
_NATS = 3.4  # that an answer to a wrong guess costs, about: where to look first
_HALVINGS = 40
_STEPS = 30


@dataclass(frozen=True, slots=True)
class Special:
    """``wanted`` and ``value`` as in an Option of the planner; the rest says when it holds."""

    method: str
    wanted: Wanted
    value: int | float | None
    scale: float | None
    theorem: str
    applies: str
    overfits: int | None = None
    wrong_guesses: int | None = None
    at_worst: int | None = None

    def to_json(self) -> dict[str, object]:
        shown = {
            "method": self.method,
            self.wanted: self.value,
            "scale": self.scale,
            "theorem": self.theorem,
        }
        paid = {"overfits": self.overfits, "wrong_guesses": self.wrong_guesses, "at_worst": self.at_worst}
        known = {key: value for key, value in paid.items() if value is not None}
        return {**shown, **known, "applies": self.applies}


def special_methods(plan: Plan) -> list[Special]:
    """For values in 0..1; only guess and check also says how exact, and how many rows are needed."""
    failure = 1 - plan.confidence
    if plan.rows is not None and plan.tolerance is not None:
        frame = _frame(plan.rows, failure)
        return [
            _thresholdout(frame, plan.tolerance),
            _guess_and_check(frame, plan.tolerance),
            _ladder(frame, plan.tolerance),
        ]
    assert plan.questions is not None
    wrong = min(_WRONG, plan.questions)
    if plan.rows is not None:
        return [_guess_and_check_tolerance(_frame(plan.rows, failure), plan.questions, wrong)]
    assert plan.tolerance is not None
    return [_guess_and_check_rows(plan.tolerance, failure, plan.questions, wrong)]


def _frame(rows: int, failure: Fraction) -> Frame:
    return Frame(rows, 2, Fraction(0), failure)


def _thresholdout(frame: Frame, tolerance: Fraction) -> Special:
    planned = plan_thresholdout(frame, tolerance, _QUESTIONS)
    overfits = planned.overfits if planned else 0
    return Special(
        "thresholdout",
        "questions",
        _QUESTIONS if planned else 0,
        planned.scale / frame.whole if planned else None,
        "THRESHOLDOUT-VALIDITY",
        f"a training set answers, and at most {overfits:,} of the answers overfit it",
        overfits,
    )


def _ladder(frame: Frame, tolerance: Fraction) -> Special:
    within, log = float(tolerance), math.log(2 / float(frame.failure))

    def about(scores: int, rungs: float) -> float:
        """``ladder_width`` in floats, because counting all submissions exactly takes long."""
        nodes = math.lgamma(scores + rungs + 1) - math.lgamma(scores) - math.lgamma(rungs + 2)
        return 1 / rungs + math.sqrt((nodes + log) / (2 * frame.items))

    def certified(scores: int, rungs: int) -> int | None:
        """So many rungs as one rung in steps, if that is within the tolerance."""
        rung = -(-frame.whole // rungs)
        near = about(scores, rungs) <= within * (1 + 1e-6)
        return rung if near and ladder_width(frame, scores, rung) <= tolerance else None

    def rung_for(scores: int) -> int | None:
        few = math.ceil(2 / within)  # counted sooner, and often good enough
        best = least(lambda rungs: about(scores, rungs), 1 / within, 1000 / within, _STEPS)
        return certified(scores, few) or certified(scores, round(best))

    scores = largest(lambda scores: rung_for(scores) is not None, _MOST_SCORES)
    rung = rung_for(scores) if scores else None
    return Special(
        "ladder",
        "questions",
        scores,
        rung / frame.whole if rung else None,
        "LADDER",
        "only the best score so far is published",
    )


def _guess_and_check(frame: Frame, tolerance: Fraction) -> Special:
    """As many questions as are looked at if few guesses are wrong; or fewer, whatever the guesses."""
    near = tolerance / 2
    asked = largest(lambda k: _allows(frame, tolerance, k, 1), _QUESTIONS)
    at_worst = _whatever_the_guesses(frame, tolerance)
    if at_worst >= asked:
        applies = "each question comes with a guess, however wrong"
        return _guessed("questions", at_worst, frame, tolerance, applies, at_worst, at_worst)
    wrong = most_wrong_guesses(frame, tolerance, asked, near) or 0
    applies = (
        f"each question comes with a guess, and at most {wrong:,} of the guesses are off by more than "
        f"{float(near):g} on these rows ({at_worst:,} questions if all of them may be)"
    )
    return _guessed("questions", asked, frame, tolerance, applies, wrong, at_worst)


def _whatever_the_guesses(frame: Frame, tolerance: Fraction) -> int:
    def holds(questions: int) -> bool:
        return most_wrong_guesses(frame, tolerance, questions, Fraction(0)) == questions

    about = float(2 * frame.items * tolerance**2) / _NATS
    return largest_near(holds, int(about), _QUESTIONS)


def _guess_and_check_tolerance(frame: Frame, questions: int, wrong: int) -> Special:
    found = _least(lambda tolerance: _allows(frame, Fraction(tolerance), questions, wrong))
    tolerance = None if found is None else Fraction(found)
    return _guessed("tolerance", found, frame, tolerance, _if_most(wrong), wrong)


def _guess_and_check_rows(tolerance: Fraction, failure: Fraction, questions: int, wrong: int) -> Special:
    found = smallest(lambda n: _allows(_frame(n, failure), tolerance, questions, wrong), MOST)
    frame = _frame(found or 1, failure)
    return _guessed("rows", found, frame, tolerance if found else None, _if_most(wrong), wrong)


def _allows(frame: Frame, tolerance: Fraction, questions: int, wrong: int) -> bool:
    found = most_wrong_guesses(frame, tolerance, questions, tolerance / 2, min(wrong, questions))
    return found is not None and found >= min(wrong, questions)


def _if_most(wrong: int) -> str:
    return (
        f"each question comes with a guess, and at most {wrong:,} of the guesses are off by more than half "
        f"the tolerance on these rows"
    )


def _guessed(
    wanted: Wanted,
    value: int | float | None,
    frame: Frame,
    tolerance: Fraction | None,
    applies: str,
    wrong: int,
    at_worst: int | None = None,
) -> Special:
    scale = first_step(frame, tolerance) if value and tolerance is not None else None
    return Special(
        "guess_and_check",
        wanted,
        value,
        scale,
        "GUESS-AND-CHECK",
        applies,
        wrong_guesses=wrong,
        at_worst=at_worst,
    )


def _least(holds: Callable[[float], bool]) -> float | None:
    """The least tolerance, up to rounding, that holds; it has been true of what is returned."""
    low, high = 0.0, HALF
    if not holds(high):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
