"""The Ladder: a leaderboard says how good the best is so far, and only when it got clearly better."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from adyton.arithmetic.search import minimise
from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import HoldoutSize, Reply, State, UsedUp
from adyton.kernel.exact import float_up, whole
from adyton.kernel.special.scores import CountedAnswers, ScoreGrid
from adyton.validity.textbook.concentration import hoeffding_width


@dataclass(frozen=True, slots=True)
class LadderPlan:
    """``rung``, in steps of the sum: a score must beat the best by more than this, and is rounded to it.

    Claim:    with probability 1 - failure, after each of ``scores`` adaptive submissions the best score shown
              is within ``half_width`` of the best population value among all submissions so far.
    Assumes:  items are independent draws from the population; nobody has seen them otherwise.
    Source:   Blum, Hardt 2015; the number of transcripts is counted here.  Theorem: LADDER.
    """

    frame: HoldoutSize
    scores: int
    rung: int
    name: ClassVar[str] = "ladder"
    accounting: ClassVar[str] = "pure"
    needs_guess: ClassVar[bool] = False
    theorems: ClassVar[tuple[str, ...]] = ("LADDER", "HOEFFDING")

    def __post_init__(self) -> None:
        whole(self.scores, "the number of scores")
        whole(self.rung, "the rung in steps")

    def half_width(self) -> float:
        return ladder_width(self.frame, self.scores, self.rung)

    @property
    def measurement(self) -> CountedAnswers:
        return CountedAnswers(self.scores)

    def start(self) -> State:
        return {"asked": 0, "best": None}

    def left(self, state: State) -> int | None:
        return self.scores - int(state["asked"])

    def used_up(self, state: State) -> UsedUp | None:
        return UsedUp("scores", self.scores) if state["asked"] >= self.scores else None

    def question(self, state: State, guess: Fraction | None) -> ScoreGrid:
        return _better(self.frame, state["best"], self.rung, self.rung)

    def answered(self, state: State, guess: Fraction | None, value: int | None) -> tuple[Reply, State]:
        best, said = _best(state, value, self.rung)
        after = {"asked": state["asked"] + 1, "best": best}
        return Reply(said, value_of(self.frame, best), self.half_width()), after

    def settings(self) -> dict[str, str | int]:
        return {"scores": self.scores, "rung": self.rung}


@dataclass(frozen=True, slots=True)
class FreeLadderPlan:
    """The Ladder without a parameter: the rung is the standard error of the difference to the best.

    No bound is known for it that holds for everybody, so it comes without an interval.
    Source: Blum, Hardt 2015.
    """

    frame: HoldoutSize
    scores: int
    name: ClassVar[str] = "ladder-free"
    accounting: ClassVar[str] = "pure"
    needs_guess: ClassVar[bool] = False
    theorems: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        whole(self.scores, "the number of scores")

    @property
    def measurement(self) -> CountedAnswers:
        return CountedAnswers(self.scores)

    def start(self) -> State:
        return {"asked": 0, "best": None}

    def left(self, state: State) -> int | None:
        return self.scores - int(state["asked"])

    def used_up(self, state: State) -> UsedUp | None:
        return UsedUp("scores", self.scores) if state["asked"] >= self.scores else None

    def question(self, state: State, guess: Fraction | None) -> ScoreGrid:
        """The rung is sqrt(n) standard deviations of the differences, in steps of the sum."""
        grid = _better(self.frame, state["best"], 0, self.frame.steps)  # to 1/n
        return grid if state["best"] is None else replace(grid, items=self.frame.items)

    def answered(self, state: State, guess: Fraction | None, value: int | None) -> tuple[Reply, State]:
        best, said = _best(state, value, self.frame.steps)
        after = {"asked": state["asked"] + 1, "best": best}
        return Reply(said, value_of(self.frame, best), None), after

    def settings(self) -> dict[str, str | int]:
        return {"scores": self.scores}


def _better(frame: HoldoutSize, best: int | None, rung: int, step: int) -> ScoreGrid:
    """Nothing is said of a sum whose loss is not below the best by more than a rung; of another one, what
    the nearest multiple of the step to its loss is.  Halfway counts upwards.
    """
    if frame.greater_is_better:
        quiet = None if best is None else (0, frame.whole - best + rung)
        return ScoreGrid(-2, 2 * frame.whole + step, 2 * step, quiet=quiet)
    return ScoreGrid(2, step, 2 * step, quiet=None if best is None else (best - rung, frame.whole))


def _best(state: State, value: int | None, step: int) -> tuple[int, str]:
    return (state["best"], "no improvement") if value is None else (value * step, "improved")


def value_of(frame: HoldoutSize, loss: int) -> Fraction:
    share = Fraction(loss, frame.whole)
    return 1 - share if frame.greater_is_better else share


def ladder_nodes(scores: int, rungs: int) -> int:
    """How many different submissions any one analyst can ever make: C(k + G, k - 1), G = ceil(1 / rung).

    Theorem: LADDER.
    """
    return math.comb(scores + rungs, scores - 1)


@lru_cache(maxsize=4096)
def ladder_width(frame: HoldoutSize, scores: int, rung: int) -> float:
    """sqrt(ln(2 nodes / failure) / (2 n)) + rung, rounded up.  Theorem: LADDER."""
    nodes = ladder_nodes(scores, -(-frame.whole // rung))
    stray = hoeffding_width(frame.items, frame.failure / nodes)
    return float_up(Fraction(stray) + Fraction(rung, frame.whole) + frame.rounding)


def plan_ladder(frame: HoldoutSize, scores: int, tolerance: Fraction | None = None) -> LadderPlan:
    """The rung with about the least half-width; the tolerance may be left out."""

    def width(share: float) -> float:
        return ladder_width(frame, scores, max(1, round(share * frame.whole)))

    rung = max(1, round(minimise(width, max(1e-4, 1 / frame.whole), 0.5, 30) * frame.whole))
    return near_enough(LadderPlan(frame, scores, rung), tolerance)


def near_enough(made: LadderPlan, tolerance: Fraction | None) -> LadderPlan:
    """InvalidRequest if its width is above the tolerance, or says nothing."""
    width = made.half_width()
    if width >= 1 or (tolerance is not None and width > tolerance):
        wanted = "which says nothing" if tolerance is None else f"not {float(tolerance):g}"
        raise InvalidRequest(
            f"the ladder is certified within {width:.4g} for {made.scores:,} scores from "
            f"{made.frame.items:,} items, {wanted}"
        )
    return made
