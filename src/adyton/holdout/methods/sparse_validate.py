"""SparseValidate: the analyst says what a score will be, and the holdout says yes or no."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import HoldoutSize, Reply, State, UsedUp
from adyton.kernel.exact import float_down, float_up, whole
from adyton.kernel.special.scores import CountedAnswers, ScoreGrid
from adyton.validity.textbook.concentration import hoeffding_width


@dataclass(frozen=True, slots=True)
class SparseValidatePlan:
    """Yes if the guess is within ``accept`` steps of the sum; after that many a "no" nothing is answered.

    Claim:    with probability 1 - failure every guess that got a yes is within the tolerance of the
              population value, over all adaptive queries.
    Assumes:  items are independent draws from the population; nobody has seen them otherwise.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015; counted here.  Theorem: SPARSE-VALIDATE.
    """

    frame: HoldoutSize
    queries: int
    rejections: int
    accept: int
    name: ClassVar[str] = "sparse_validate"
    accounting: ClassVar[str] = "pure"
    needs_guess: ClassVar[bool] = True
    theorems: ClassVar[tuple[str, ...]] = ("SPARSE-VALIDATE", "HOEFFDING")

    def __post_init__(self) -> None:
        whole(self.queries, "the number of queries")
        whole(self.rejections, "the number of rejections")
        whole(self.accept, "the accepted steps", least=0)

    def half_width(self) -> float:
        """Of a guess that got a yes."""
        share = Fraction(self.accept, self.frame.whole) + Fraction(1, 2 * self.frame.whole)
        stray = validate_width(self.frame, self.queries, self.rejections)
        return float_up(share + Fraction(stray) + self.frame.rounding)

    @property
    def measurement(self) -> CountedAnswers:
        return CountedAnswers(self.queries)

    def start(self) -> State:
        return {"asked": 0, "left": self.rejections}

    def left(self, state: State) -> int | None:
        return min(int(state["left"]), self.queries - int(state["asked"]))

    def used_up(self, state: State) -> UsedUp | None:
        if state["left"] < 1:
            return UsedUp("rejections", self.rejections)
        return UsedUp("queries", self.queries) if state["asked"] >= self.queries else None

    def question(self, state: State, guess: Fraction | None) -> ScoreGrid:
        """All that is said of a sum that is not accepted is that it is not."""
        assert guess is not None
        middle = self.frame.lattice(guess)
        return ScoreGrid(times=0, quiet=(middle - self.accept, middle + self.accept))

    def answered(self, state: State, guess: Fraction | None, value: int | None) -> tuple[Reply, State]:
        after = {"asked": state["asked"] + 1, "left": state["left"] - (value is not None)}
        return Reply("yes", guess, self.half_width()) if value is None else Reply("no", None, None), after

    def settings(self) -> dict[str, str | int]:
        return {"queries": self.queries, "rejections": self.rejections, "accept": self.accept}


def validate_nodes(queries: int, rejections: int) -> int:
    """How many different queries any one analyst can ever ask: C(m,1) + ... + C(m,B).

    Theorem: SPARSE-VALIDATE.
    """
    return sum(math.comb(queries, j) for j in range(1, min(rejections, queries) + 1))


@lru_cache(maxsize=4096)
def validate_width(frame: HoldoutSize, queries: int, rejections: int) -> float:
    """How far any of those can stray.  Theorem: SPARSE-VALIDATE."""
    return hoeffding_width(frame.items, frame.failure / validate_nodes(queries, rejections))


def plan_sparse_validate(
    frame: HoldoutSize, tolerance: Fraction, queries: int, rejections: int
) -> SparseValidatePlan:
    """As much of the tolerance as is not needed for what the items may stray is accepted."""
    stray = Fraction(validate_width(frame, queries, rejections))
    room = tolerance - stray - frame.rounding - Fraction(1, frame.whole)
    if room <= 0:
        raise InvalidRequest(
            f"{queries:,} queries with {rejections:,} rejections may be off by {float(stray):.4g} "
            f"already; the tolerance is {float_down(tolerance):g}"
        )
    return SparseValidatePlan(frame, queries, rejections, math.floor(room * frame.whole))
