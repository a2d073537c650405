"""From a method's name and the owner's wishes to a plan, and from the file of a holdout back to it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.exact import Number, positive, rational, whole
from adyton.holdout.methods.base import Frame
from adyton.holdout.methods.baselines import Rounding, Split, plan_baseline
from adyton.holdout.methods.gaussian import Gaussian
from adyton.holdout.methods.gaussian_plans import GaussianWish, plan_gaussian
from adyton.holdout.methods.guess_and_check import GuessAndCheck
from adyton.holdout.methods.ladder import FreeLadder, Ladder, near_enough, plan_ladder
from adyton.holdout.methods.slices import Groups, Slices, plan_slices, restored_slices
from adyton.holdout.methods.sparse_validate import SparseValidate, plan_sparse_validate
from adyton.holdout.methods.thresholdout import Thresholdout, plan_thresholdout
from adyton.validity.plans.planned_scores import Blocks

PricedPlan = Gaussian | Split | Rounding | Slices
StagedPlan = Thresholdout | Ladder | FreeLadder | SparseValidate | GuessAndCheck
Plan = PricedPlan | StagedPlan
METHODS = (
    "gaussian",
    "thresholdout",
    "guess_and_check",
    "sparse_validate",
    "ladder",
    "ladder-free",
    "split",
    "rounding",
)
_QUESTIONS = 1000
_MOST_SCORES = 10**12


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the owner asked for; None: calculate it."""

    tolerance: Fraction | None = None
    scores: int | None = None
    anytime: bool = False
    overfits: int | None = None
    threshold: Number | None = None
    scale: Number | None = None
    noes: int | None = None
    rung: Number | None = None
    groups: Groups | None = None
    expected: Fraction | None = None
    noise: str = "constant"

    @property
    def gaussian(self) -> GaussianWish:
        return GaussianWish(self.tolerance, self.scores, self.anytime, self.expected, self.noise)


def plan_of(frame: Frame, method: str, wishes: Wishes) -> Plan:
    """InvalidRequest if nothing is certified at these wishes, or if the method does not know one of them."""
    _check_wishes(method, wishes)
    if wishes.groups is not None:
        if method != "gaussian" or wishes.anytime or wishes.noise != "constant":
            raise InvalidRequest(
                "groups go with the method 'gaussian' alone, with constant noise and without anytime widths"
            )
        return plan_slices(frame, wishes.groups, wishes.gaussian)
    match method:
        case "auto":
            return _most_scores(frame, wishes)
        case "gaussian":
            return plan_gaussian(frame, wishes.gaussian)
        case "split":
            return plan_baseline(Split, frame, wishes.tolerance, wishes.scores)
        case "rounding":
            return plan_baseline(Rounding, frame, wishes.tolerance, wishes.scores)
        case "thresholdout":
            return _thresholdout(frame, wishes)
        case "ladder":
            return _ladder(frame, wishes)
        case "ladder-free":
            return FreeLadder(frame, _number(wishes.scores))
        case "sparse_validate":
            noes = 10 if wishes.noes is None else wishes.noes
            return plan_sparse_validate(frame, _tolerance(wishes), _number(wishes.scores), noes)
        case _:
            made = GuessAndCheck(frame, _tolerance(wishes))
            if (why := made.refusal({"asked": 0, "failed": 0, "answers": "1"})) is not None:
                raise InvalidRequest(f"{frame.items:,} items certify no answer within the tolerance ({why})")
            return made


def restore(frame: Frame, method: str, tolerance: Fraction | None, settings: dict[str, str | int]) -> Plan:
    """The plan that the file of a holdout holds."""
    if method in ("gaussian", "slices") and "reach" not in settings:
        raise InvalidRequest(_OLDER)
    try:
        match method:
            case "gaussian":
                return _gaussian(frame, settings)
            case "slices":
                return restored_slices(frame, settings)
            case "split":
                return Split(frame, _int(settings["scores"]))
            case "rounding":
                return Rounding(frame, _int(settings["scores"]))
            case "thresholdout":
                counts = [_int(settings[key]) for key in ("overfits", "questions", "threshold")]
                return Thresholdout(frame, counts[0], counts[1], counts[2], float(settings["scale"]))
            case "ladder":
                return Ladder(frame, _int(settings["scores"]), _int(settings["rung"]))
            case "ladder-free":
                return FreeLadder(frame, _int(settings["scores"]))
            case "sparse_validate":
                counts = [_int(settings[key]) for key in ("questions", "noes", "accept")]
                return SparseValidate(frame, counts[0], counts[1], counts[2])
            case "guess_and_check" if tolerance is not None:
                return GuessAndCheck(frame, tolerance)
    except (KeyError, ValueError, TypeError):
        pass
    raise InvalidRequest(f"the section [{method}] of the holdout cannot be read")


_OLDER = (
    "this holdout was planned by an older theorem, whose widths are not calculated any more: make a new one, "
    "of items that nobody has seen"
)


def _gaussian(frame: Frame, settings: dict[str, str | int]) -> Gaussian:
    counts, scales = (json.loads(str(settings[key])) for key in ("counts", "scales"))
    if any(type(count) is not int for count in counts) or sum(counts) != settings["scores"]:
        raise ValueError
    blocks = Blocks(tuple(counts), tuple(map(float, scales)))
    expected = rational(settings["expected"], "expected") if "expected" in settings else None
    low, high = map(float, json.loads(str(settings["reach"])))
    return Gaussian(frame, blocks, (low, high), expected, settings.get("anytime") == "yes")


_KNOWN = {
    "thresholdout": {"scores", "overfits", "threshold", "scale"},
    "gaussian": {"scores", "anytime", "expected", "noise"},
    "ladder": {"scores", "rung"},
    "sparse_validate": {"scores", "noes"},
    "guess_and_check": set(),
    "auto": {"scores", "expected", "noise"},
}


def _check_wishes(method: str, wishes: Wishes) -> None:
    if method not in (*METHODS, "auto"):
        raise InvalidRequest(f"no method {method!r}; known: auto, {', '.join(METHODS)}")
    known = _KNOWN.get(method, {"scores"})
    for name in ("scores", "overfits", "threshold", "scale", "noes", "rung", "anytime", "expected", "noise"):
        if getattr(wishes, name) not in (None, False, "constant") and name not in known:
            raise InvalidRequest(f"{name} means nothing to the method {method!r}")
    if wishes.scores is not None and whole(wishes.scores, "the number of scores") > _MOST_SCORES:
        raise InvalidRequest(f"at most {_MOST_SCORES:,} scores")


def _most_scores(frame: Frame, wishes: Wishes) -> Plan:
    """Of the methods that answer every question with a number, the one with the most scores.

    If it is said how many scores there will be: the one whose scores are nearest.
    """
    offers: list[PricedPlan] = []
    for method in ("gaussian", "rounding", "split"):
        for_it = wishes if method == "gaussian" else replace(wishes, expected=None, noise="constant")
        try:
            made = plan_of(frame, method, for_it)
        except InvalidRequest:
            continue
        assert isinstance(made, Gaussian | Split | Rounding)
        offers.append(made)
    if not offers:
        return plan_of(frame, "gaussian", wishes)  # which says how many items are needed
    return max(offers, key=lambda plan: (plan.scores, -plan.half_width()))


def _thresholdout(frame: Frame, wishes: Wishes) -> Thresholdout:
    """Calculated from the tolerance, or as given: then its half-width is whatever the theorem says."""
    questions = _QUESTIONS if wishes.scores is None else wishes.scores
    if wishes.scale is not None:
        if wishes.threshold is None or wishes.overfits is None:
            raise InvalidRequest("with a scale, give the threshold and the number of overfits too")
        scale = positive(wishes.scale, "the scale") * frame.whole
        steps = math.floor(positive(wishes.threshold, "the threshold") * frame.whole)
        return Thresholdout(frame, wishes.overfits, questions, steps, float(scale))
    threshold = None if wishes.threshold is None else positive(wishes.threshold, "the threshold")
    made = plan_thresholdout(frame, _tolerance(wishes), questions, threshold, wishes.overfits)
    if made is None:
        best = plan_thresholdout(frame, _tolerance(wishes), questions, threshold)
        most = 0 if best is None else best.overfits
        raise InvalidRequest(
            f"{frame.items:,} items certify {most} overfits among {questions:,} questions within "
            f"{float(_tolerance(wishes)):g}; give overfits, threshold and scale to go without"
        )
    return made


def _ladder(frame: Frame, wishes: Wishes) -> Ladder:
    if wishes.rung is None:
        return plan_ladder(frame, _number(wishes.scores), wishes.tolerance)
    rung = round(positive(wishes.rung, "the rung") * frame.whole)
    if not 1 <= rung < frame.whole:
        raise InvalidRequest("the rung must be below 1, and not finer than the scores themselves")
    return near_enough(Ladder(frame, _number(wishes.scores), rung), wishes.tolerance)


def _number(scores: int | None) -> int:
    if scores is None:
        raise InvalidRequest("say how many scores there will be")
    return whole(scores, "the number of scores")


def _tolerance(wishes: Wishes) -> Fraction:
    if wishes.tolerance is None:
        raise InvalidRequest("give a tolerance")
    return wishes.tolerance


def _int(value: str | int) -> int:
    if type(value) is not int:
        raise TypeError
    return value
