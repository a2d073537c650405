"""What the methods for special cases certify, beside the general ones of the planner.

They answer more queries because they say less: a ladder publishes only the best score so far, Thresholdout
answers from the training set and pays only where that overfits, guess and check confirms what was guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.arithmetic.search import (
    edge,
    largest_near,
    largest_that_holds,
    least_that_holds,
    least_within,
    minimise,
)
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.guess_and_check import first_step, most_wrong_guesses
from adyton.holdout.methods.ladder import ladder_width
from adyton.holdout.methods.thresholdout import ThresholdoutPlan, plan_thresholdout, width_of
from adyton.validity.classes.growth import RuleClass
from adyton.validity.classes.uniform import threshold_width, uniform_shares, uniform_width
from adyton.validity.planner import HALF, MethodOffer, PlanComparison, Unknown
from adyton.validity.plans.noise_plan import MOST

_MOST_SCORES = 10**6
_QUERIES = 10**4  # asked of Thresholdout and of guess and check, most of them answered almost for nothing
_FEW = 10  # guesses may be wrong, or answers overfit, where the number of queries is given
_SLACKS = (1 + 1e-6, 1.001, 1.01)
_NATS = 3.4  # that an answer to a wrong guess costs, about: where to look first
_HALVINGS = 40
_STEPS = 30
_MOST_ROWS = 10**9  # of a class
ONE_COLUMN = RuleClass("thresholds", 1)


@dataclass(frozen=True, slots=True)
class Special(MethodOffer):
    """``wanted`` and ``value`` as in an Option of the planner; the rest says when it holds."""

    method: str
    wanted: Unknown
    value: int | float | None
    scale: float | None
    theorem: str
    applies: str
    overfits: int | None = None
    wrong_guesses: int | None = None
    at_worst: int | None = None

    json_keys = "method queries? tolerance? rows? scale theorem overfits? wrong_guesses? at_worst? applies"


def special_methods(plan: PlanComparison) -> list[Special]:
    """For values in 0..1."""
    failure = 1 - plan.confidence
    if plan.rows is not None and plan.tolerance is not None:
        frame = _frame(plan.rows, failure)
        return [
            _thresholdout(frame, plan.tolerance),
            _guess_and_check(frame, plan.tolerance),
            _ladder(frame, plan.tolerance),
        ]
    assert plan.queries is not None
    few = min(_FEW, plan.queries)
    if plan.rows is not None:
        frame = _frame(plan.rows, failure)
        return [
            _thresholdout_tolerance(frame, plan.queries, few),
            _guess_and_check_tolerance(frame, plan.queries, few),
            _ladder_tolerance(frame, plan.queries),
        ]
    assert plan.tolerance is not None
    return [
        _thresholdout_rows(plan.tolerance, failure, plan.queries, few),
        _guess_and_check_rows(plan.tolerance, failure, plan.queries, few),
        _ladder_rows(plan.tolerance, failure, plan.queries),
    ]


def _frame(rows: int, failure: Fraction) -> HoldoutSize:
    return HoldoutSize(rows, 2, Fraction(0), failure)


def _thresholdout(frame: HoldoutSize, tolerance: Fraction) -> Special:
    return _thresholded("queries", plan_thresholdout(frame, tolerance, _QUERIES), _QUERIES, 0)


def _thresholdout_tolerance(frame: HoldoutSize, queries: int, overfits: int) -> Special:
    """The threshold is half the tolerance, so the tolerance is twice what comes on top of it."""
    above = _above_the_threshold(frame, queries, overfits)
    for slack in _SLACKS if above else ():
        tolerance = 2 * above * slack
        if tolerance < HALF:
            planned = plan_thresholdout(frame, Fraction(tolerance), queries, overfits=overfits)
            if planned:
                return _thresholded("tolerance", planned, tolerance, overfits)
    return _thresholded("tolerance", None, None, overfits)


def _thresholdout_rows(tolerance: Fraction, failure: Fraction, queries: int, overfits: int) -> Special:
    """What comes on top of the threshold falls like the root of the rows: a few steps find them."""
    rows = 1000.0
    for _ in range(_STEPS):
        above = _above_the_threshold(_frame(round(rows), failure), queries, overfits)
        moved = (2 * above / float(tolerance)) ** 2 if above else 16.0
        rows *= moved
        if abs(moved - 1) < 0.001 or not 1 <= rows <= MOST:
            break
    for slack in _SLACKS:
        found = math.ceil(rows * slack)
        if 1 <= found <= MOST and queries <= _MOST_SCORES:
            planned = plan_thresholdout(_frame(found, failure), tolerance, queries, overfits=overfits)
            if planned:
                return _thresholded("rows", planned, found, overfits)
    return _thresholded("rows", None, None, overfits)


def _above_the_threshold(frame: HoldoutSize, queries: int, overfits: int) -> float:
    """0 if nothing is certified."""
    if queries > _MOST_SCORES:
        return 0.0
    made = plan_thresholdout(frame, Fraction(999, 1000), queries, overfits=overfits)
    if made is None:
        return 0.0
    width = width_of(frame, overfits, queries, made.threshold, made.scale)
    return width - made.threshold / frame.whole


def _thresholded(
    wanted: Unknown, planned: ThresholdoutPlan | None, value: int | float | None, overfits: int
) -> Special:
    found = planned.overfits if planned else overfits
    return Special(
        "thresholdout",
        wanted,
        value if planned else 0 if wanted == "queries" else None,
        planned.scale / planned.frame.whole if planned else None,
        "THRESHOLDOUT-VALIDITY",
        f"a training set answers, and at most {found:,} of the answers overfit it",
        found,
    )


class _Rungs:
    """``ladder_width`` in floats, because counting all submissions exactly takes long."""

    def __init__(self, frame: HoldoutSize) -> None:
        self.frame, self._log = frame, math.log(2 / float(frame.failure))

    def about(self, scores: int, rungs: float) -> float:
        nodes = math.lgamma(scores + rungs + 1) - math.lgamma(scores) - math.lgamma(rungs + 2)
        return 1 / rungs + math.sqrt((nodes + self._log) / (2 * self.frame.items))

    def best(self, scores: int, within: float) -> int:
        return round(minimise(lambda rungs: self.about(scores, rungs), 1 / within, 1000 / within, _STEPS))

    def step(self, rungs: int) -> int:
        """So many rungs as one rung, in steps."""
        return -(-self.frame.whole // rungs)

    def certified(self, scores: int, rungs: int, tolerance: Fraction) -> int | None:
        """The rung, if it is within the tolerance."""
        rung = self.step(rungs)
        near = self.about(scores, rungs) <= float(tolerance) * (1 + 1e-6)
        return rung if near and ladder_width(self.frame, scores, rung) <= tolerance else None

    def rung_for(self, scores: int, tolerance: Fraction) -> int | None:
        few = math.ceil(2 / tolerance)  # counted sooner, and often good enough
        found = self.certified(scores, few, tolerance)
        return found or self.certified(scores, self.best(scores, float(tolerance)), tolerance)


def _ladder(frame: HoldoutSize, tolerance: Fraction) -> Special:
    rungs = _Rungs(frame)
    scores = largest_that_holds(lambda scores: rungs.rung_for(scores, tolerance) is not None, _MOST_SCORES)
    return _climbed("queries", scores, frame, rungs.rung_for(scores, tolerance) if scores else None)


def _ladder_tolerance(frame: HoldoutSize, scores: int) -> Special:
    rungs = _Rungs(frame)
    if scores <= _MOST_SCORES:
        rung = rungs.step(rungs.best(scores, HALF))
        width = ladder_width(frame, scores, rung)
        if width < HALF:
            return _climbed("tolerance", width, frame, rung)
    return _climbed("tolerance", None, frame, None)


def _ladder_rows(tolerance: Fraction, failure: Fraction, scores: int) -> Special:
    def rung(rows: int) -> int | None:
        return _Rungs(_frame(rows, failure)).rung_for(scores, tolerance)

    found = least_that_holds(lambda rows: rung(rows) is not None, MOST) if scores <= _MOST_SCORES else None
    return _climbed("rows", found, _frame(found or 1, failure), rung(found) if found else None)


def _climbed(wanted: Unknown, value: int | float | None, frame: HoldoutSize, rung: int | None) -> Special:
    scale = rung / frame.whole if rung else None
    return Special("ladder", wanted, value, scale, "LADDER", "only the best score so far is published")


def _guess_and_check(frame: HoldoutSize, tolerance: Fraction) -> Special:
    """As many queries as are looked at if few guesses are wrong; or fewer, whatever the guesses."""
    near = tolerance / 2
    asked = largest_that_holds(lambda k: _allows(frame, tolerance, k, 1), _QUERIES)
    at_worst = _whatever_the_guesses(frame, tolerance)
    if at_worst >= asked:
        applies = "each query comes with a guess, however wrong"
        return _guessed("queries", at_worst, frame, tolerance, applies, at_worst, at_worst)
    wrong = most_wrong_guesses(frame, tolerance, asked, near) or 0
    applies = (
        f"each query comes with a guess, and at most {wrong:,} of the guesses are off by more than "
        f"{float(near):g} on these rows ({at_worst:,} queries if all of them may be)"
    )
    return _guessed("queries", asked, frame, tolerance, applies, wrong, at_worst)


def _whatever_the_guesses(frame: HoldoutSize, tolerance: Fraction) -> int:
    def holds(queries: int) -> bool:
        return most_wrong_guesses(frame, tolerance, queries, Fraction(0)) == queries

    about = float(2 * frame.items * tolerance**2) / _NATS
    return largest_near(holds, int(about), _QUERIES)


def _guess_and_check_tolerance(frame: HoldoutSize, queries: int, wrong: int) -> Special:
    found = _least(lambda tolerance: _allows(frame, Fraction(tolerance), queries, wrong))
    tolerance = None if found is None else Fraction(found)
    return _guessed("tolerance", found, frame, tolerance, _if_most(wrong), wrong)


def _guess_and_check_rows(tolerance: Fraction, failure: Fraction, queries: int, wrong: int) -> Special:
    found = least_that_holds(lambda n: _allows(_frame(n, failure), tolerance, queries, wrong), MOST)
    frame = _frame(found or 1, failure)
    return _guessed("rows", found, frame, tolerance if found else None, _if_most(wrong), wrong)


def _allows(frame: HoldoutSize, tolerance: Fraction, queries: int, wrong: int) -> bool:
    found = most_wrong_guesses(frame, tolerance, queries, tolerance / 2, min(wrong, queries))
    return found is not None and found >= min(wrong, queries)


def _if_most(wrong: int) -> str:
    return (
        f"each query comes with a guess, and at most {wrong:,} of the guesses are off by more than half "
        f"the tolerance on these rows"
    )


def _guessed(
    wanted: Unknown,
    value: int | float | None,
    frame: HoldoutSize,
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
    return edge(holds, HALF, 0.0, halvings=_HALVINGS) if holds(HALF) else None


def class_method(plan: PlanComparison, rules: RuleClass = ONE_COLUMN) -> Special:
    """Exact answers of any number of queries that count the rows to which a rule of the class says yes.

    Of queries the planner's largest number stands for any number.
    """
    failure = 1 - plan.confidence
    value: int | float | None
    if plan.rows is None:
        assert plan.tolerance is not None
        value = least_within(lambda rows: _class_width(rules, rows, failure), plan.tolerance, _MOST_ROWS)
    else:
        width = _class_width(rules, plan.rows, failure)
        if plan.tolerance is None:
            value = width if width < HALF else None
        else:
            value = MOST if width <= plan.tolerance else 0
    applies = f"all queries count rows by rules of the class {rules.name}, without noise; any number of them"
    return Special(f"class {rules.name}", plan.wanted, value, None, "UNIFORM-CLASSES", applies)


def _class_width(rules: RuleClass, rows: int, failure: Fraction) -> float:
    """Of sets that grow with the cut the width of one query is enough."""
    if rules == ONE_COLUMN:
        return threshold_width(rows, failure)
    return uniform_width(uniform_shares(rules, rows, failure))
