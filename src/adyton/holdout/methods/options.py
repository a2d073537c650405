"""What an owner may say of each method: ``Holdout.create(..., method=Thresholdout(overfits=3))``.

Each of these objects checks its own words when it is made.  ``plan`` then says what is certified, or refuses.
Amounts such as a threshold are in the unit of scores, as the tolerance is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import ClassVar, get_args

from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.baselines import RoundingPlan, SplitPlan, plan_baseline
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.gaussian_plans import GaussianWish, Noise, check_noise, plan_gaussian
from adyton.holdout.methods.guess_and_check import GuessAndCheckPlan
from adyton.holdout.methods.ladder import FreeLadderPlan, LadderPlan, near_enough, plan_ladder
from adyton.holdout.methods.slices import SlicesPlan, groups_from, plan_slices
from adyton.holdout.methods.sparse_validate import SparseValidatePlan, plan_sparse_validate
from adyton.holdout.methods.thresholdout import ThresholdoutPlan, plan_thresholdout
from adyton.kernel.exact import Number, positive, whole

_QUERIES = 1000
_MOST_SCORES = 10**12


@dataclass(frozen=True, slots=True)
class Aim:
    """What is asked of every method: how near scores are, and how many there will be; None: calculate it.

    ``tolerance`` is a part of the range of a score, and ``unit`` is the length of that range.
    """

    tolerance: Fraction | None = None
    scores: int | None = None
    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.scores is not None and whole(self.scores, "the number of scores") > _MOST_SCORES:
            raise InvalidRequest(f"at most {_MOST_SCORES:,} scores")

    def part(self, amount: Number | None, what: str) -> Fraction | None:
        """What the owner said in the unit of scores, as a part of their range."""
        return None if amount is None else positive(amount, what) / self.unit

    @property
    def within(self) -> Fraction:
        if self.tolerance is None:
            raise InvalidRequest("give a tolerance")
        return self.tolerance

    @property
    def number(self) -> int:
        if self.scores is None:
            raise InvalidRequest("say how many scores there will be")
        return self.scores


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Noise on every score, which answers every query with a number.  What a holdout does if not told.

    ``anytime``: sharper at first, fewer in all.  ``expected``: about what scores will be; it chooses the plan
    and guarantees nothing.  ``noise``: "constant", or "decreasing" for more scores.

    >>> Gaussian(expected="0.97")
    Gaussian(anytime=False, expected='0.97', noise='constant')
    """

    anytime: bool = False
    expected: Number | None = None
    noise: Noise = "constant"
    name: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        _positive(self.expected, "what is expected")
        check_noise(self.noise)

    def plan(self, frame: HoldoutSize, aim: Aim) -> GaussianPlan:
        """What so many items certify, or InvalidRequest."""
        expected = aim.part(self.expected, "what is expected")
        return plan_gaussian(
            frame, GaussianWish(aim.tolerance, aim.scores, self.anytime, expected, self.noise)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """A score for each group of items, all at once, and one of all items.

    ``groups``: a public text or whole number for each item.  ``expected``: as for ``Gaussian``.

    >>> Slices(["old", "young", "old"]).name
    'slices'
    """

    groups: object = field(repr=False)
    expected: Number | None = None
    name: ClassVar[str] = "slices"

    def __post_init__(self) -> None:
        _positive(self.expected, "what is expected")

    def plan(self, frame: HoldoutSize, aim: Aim) -> SlicesPlan:
        """What so many items certify, or InvalidRequest."""
        expected = aim.part(self.expected, "what is expected")
        groups = groups_from(self.groups, frame.items)
        return plan_slices(frame, groups, GaussianWish(aim.tolerance, aim.scores, expected=expected))


@dataclass(frozen=True, slots=True)
class Thresholdout:
    """The training score is confirmed for nothing; only where it overfits does the holdout speak.

    ``overfits``: how often it may.  ``threshold``: how far off training may be.  ``scale``: its noise.  What
    is not given is calculated from the tolerance; given all three, it may certify nothing.

    >>> Thresholdout(overfits=3)
    Thresholdout(overfits=3, threshold=None, scale=None)
    """

    overfits: int | None = None
    threshold: Number | None = None
    scale: Number | None = None
    name: ClassVar[str] = "thresholdout"

    def __post_init__(self) -> None:
        if self.overfits is not None:
            whole(self.overfits, "the number of overfits")
        _positive(self.threshold, "the threshold")
        _positive(self.scale, "the scale")
        if self.scale is not None and (self.threshold is None or self.overfits is None):
            raise InvalidRequest("with a scale, give the threshold and the number of overfits too")

    def plan(self, frame: HoldoutSize, aim: Aim) -> ThresholdoutPlan:
        """Calculated from the tolerance, or as given: then its half-width is whatever the theorem says."""
        queries = _QUERIES if aim.scores is None else aim.scores
        threshold, scale = aim.part(self.threshold, "the threshold"), aim.part(self.scale, "the scale")
        if scale is not None and threshold is not None and self.overfits is not None:
            steps = math.floor(threshold * frame.whole)
            return ThresholdoutPlan(frame, self.overfits, queries, steps, float(scale * frame.whole))
        made = plan_thresholdout(frame, aim.within, queries, threshold, self.overfits)
        if made is None:
            best = plan_thresholdout(frame, aim.within, queries, threshold)
            most = 0 if best is None else best.overfits
            raise InvalidRequest(
                f"{frame.items:,} items certify {most} overfits among {queries:,} queries within "
                f"{float(aim.within):g}; give overfits, threshold and scale to go without"
            )
        return made


@dataclass(frozen=True, slots=True)
class GuessAndCheck:
    """Each score comes with a guess, and is paid for only where the guess is wrong.

    >>> GuessAndCheck()
    GuessAndCheck()
    """

    name: ClassVar[str] = "guess_and_check"

    def plan(self, frame: HoldoutSize, aim: Aim) -> GuessAndCheckPlan:
        """What so many items certify, or InvalidRequest."""
        if aim.scores is not None:
            raise _meaningless("scores", self.name)
        made = GuessAndCheckPlan(frame, aim.within)
        if made.used_up(made.start()) is not None:
            raise InvalidRequest(f"{frame.items:,} items certify no answer within the tolerance")
        return made


@dataclass(frozen=True, slots=True)
class SparseValidate:
    """Says yes or no: is the score within the tolerance of the guess?  Up to ``rejections`` times it says no.

    >>> SparseValidate(rejections=5)
    SparseValidate(rejections=5)
    """

    rejections: int = 10
    name: ClassVar[str] = "sparse_validate"

    def __post_init__(self) -> None:
        whole(self.rejections, "how often it may say no")

    def plan(self, frame: HoldoutSize, aim: Aim) -> SparseValidatePlan:
        """What so many items certify, or InvalidRequest."""
        return plan_sparse_validate(frame, aim.within, aim.number, self.rejections)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Says how good the best is so far, and only when it got better by more than ``rung``.

    >>> Ladder(rung="0.01")
    Ladder(rung='0.01')
    """

    rung: Number | None = None
    name: ClassVar[str] = "ladder"

    def __post_init__(self) -> None:
        _positive(self.rung, "the rung")

    def plan(self, frame: HoldoutSize, aim: Aim) -> LadderPlan:
        """What so many items certify, or InvalidRequest."""
        part = aim.part(self.rung, "the rung")
        if part is None:
            return plan_ladder(frame, aim.number, aim.tolerance)
        rung = round(part * frame.whole)
        if not 1 <= rung < frame.whole:
            raise InvalidRequest("the rung must be below 1, and not finer than the scores themselves")
        return near_enough(LadderPlan(frame, aim.number, rung), aim.tolerance)


@dataclass(frozen=True, slots=True)
class FreeLadder:
    """A ladder that finds its rung itself, and certifies no interval.

    >>> FreeLadder().name
    'ladder-free'
    """

    name: ClassVar[str] = "ladder-free"

    def plan(self, frame: HoldoutSize, aim: Aim) -> FreeLadderPlan:
        """What so many items certify, or InvalidRequest."""
        return FreeLadderPlan(frame, aim.number)


@dataclass(frozen=True, slots=True)
class Split:
    """Fresh items for every score, without noise: a baseline.

    >>> Split()
    Split()
    """

    name: ClassVar[str] = "split"

    def plan(self, frame: HoldoutSize, aim: Aim) -> SplitPlan:
        """What so many items certify, or InvalidRequest."""
        return plan_baseline(SplitPlan, frame, aim.tolerance, aim.scores)


@dataclass(frozen=True, slots=True)
class Rounding:
    """Scores rounded to a coarse grid, without noise: a baseline.

    >>> Rounding()
    Rounding()
    """

    name: ClassVar[str] = "rounding"

    def plan(self, frame: HoldoutSize, aim: Aim) -> RoundingPlan:
        """What so many items certify, or InvalidRequest."""
        return plan_baseline(RoundingPlan, frame, aim.tolerance, aim.scores)


@dataclass(frozen=True, slots=True)
class Auto:
    """Of the methods that answer every query with a number, the one with the most scores.

    If it is said how many scores there will be: the one whose scores are nearest.

    >>> Auto(noise="decreasing")
    Auto(expected=None, noise='decreasing')
    """

    expected: Number | None = None
    noise: Noise = "constant"
    name: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        _positive(self.expected, "what is expected")
        check_noise(self.noise)

    def plan(self, frame: HoldoutSize, aim: Aim) -> GaussianPlan | RoundingPlan | SplitPlan:
        """What so many items certify, or InvalidRequest."""
        gaussian = Gaussian(expected=self.expected, noise=self.noise)
        offers: list[GaussianPlan | RoundingPlan | SplitPlan] = []
        for method in (gaussian, Rounding(), Split()):
            try:
                offers.append(method.plan(frame, aim))
            except InvalidRequest:
                continue
        if not offers:
            return gaussian.plan(frame, aim)  # which says how many items are needed
        return max(offers, key=lambda plan: (plan.scores, -plan.half_width()))


Method = (
    Gaussian
    | Slices
    | Thresholdout
    | GuessAndCheck
    | SparseValidate
    | Ladder
    | FreeLadder
    | Split
    | Rounding
    | Auto
)
_NAMED = {method.name: method for method in get_args(Method) if method is not Slices}


def method_named(name: str, words: Mapping[str, object], groups: object = None) -> Method:
    """The method of this name, with those words that were given; a command line has them all at once."""
    said = {word: value for word, value in words.items() if value is not None and value is not False}
    given = {word: value for word, value in said.items() if value != "constant"}  # 0 is said, and refused
    if name not in _NAMED:
        known = ", ".join(("auto", *(one for one in _NAMED if one != "auto")))
        raise InvalidRequest(f"no method {name!r}; known: {known}")
    known_words = {part.name for part in fields(_NAMED[name])}
    for word in given:
        if word not in known_words:
            raise _meaningless(word, name)
    if groups is None:
        made: Method = _NAMED[name](**given)
        return made
    if name != "gaussian" or set(given) - {"expected"}:
        raise InvalidRequest(
            "groups go with the method 'gaussian' alone, with constant noise and without anytime widths"
        )
    return Slices(groups, **given)  # type: ignore[arg-type]  # the one word that is left is what is expected


def checked_method(method: object) -> Method:
    if not isinstance(method, get_args(Method)):
        raise InvalidRequest(
            "a method is an object such as Thresholdout(overfits=3), from adyton.holdout, not a "
            f"{type(method).__name__}"
        )
    return method  # type: ignore[no-any-return]  # mypy does not read get_args


def _meaningless(word: str, method: str) -> InvalidRequest:
    return InvalidRequest(f"the method {method!r} takes no {word}")


def _positive(amount: Number | None, what: str) -> None:
    if amount is not None:
        positive(amount, what)
