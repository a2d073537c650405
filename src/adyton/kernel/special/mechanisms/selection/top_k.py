"""The k best candidates, one after another."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Generic, TypeVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import BoundedRangeCost, PureCost
from adyton.kernel.special.mechanisms import exponential_weights
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.selection.permute_and_flip import winner
from adyton.kernel.special.mechanisms.selection.scores import (
    Scores,
    ScoreSensitivity,
    check_number,
    gaps_below_best,
    rate_of,
    whole,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopK(Generic[T]):
    """Takes the winner of a selection out, k times, each time with epsilon / k; in the order of winning.

    The selection is permute-and-flip, or the exponential mechanism if it ``flips`` not: that one errs more at
    the same epsilon, and has more epsilon at the same price in zcdp and gdp.

    Claim:    epsilon-DP for the ordered list of k different candidates; without flips k releases of range
              epsilon / k.
    Assumes:  as permute-and-flip: ``candidates`` were fixed without looking at the data, one unit moves the
              integer scores as ``sensitivity`` says, the words of ``bits`` are uniform.
    Source:   peeling: Durfee, Rogers 2019; with permute-and-flip derived on the theorem's page.
    Theorem: TOP-K.  Theorem: BOUNDED-RANGE.

    Time is that of k runs of the selection.
    """

    candidates: tuple[T, ...]
    k: int
    epsilon: Fraction
    sensitivity: ScoreSensitivity
    flips: bool = True
    name: ClassVar[str] = "top k"

    @property
    def theorems(self) -> tuple[str, ...]:
        each = ("PERMUTE-AND-FLIP",) if self.flips else ("EXPONENTIAL-MECHANISM", "BOUNDED-RANGE")
        return ("SCORE-SPAN", "TOP-K", *each, "DECLARED-RANGE", "TOP-K-UTILITY")

    def __post_init__(self) -> None:
        if not 1 <= self.k <= len(self.candidates):
            raise InvalidRequest(f"k must be from 1 to the number of candidates, {len(self.candidates)}")
        rate_of(self.epsilon, self.sensitivity)

    @property
    def rate(self) -> Fraction:
        """Of one round."""
        return rate_of(self.epsilon / self.k, self.sensitivity)

    def cost(self) -> PureCost | ComposedCost:
        if self.flips:
            return PureCost(self.epsilon)
        return ComposedCost(((BoundedRangeCost(self.epsilon / self.k), self.k),))

    def release(self, scores: Scores, bits: Bits) -> tuple[T, ...]:
        check_number(scores, len(self.candidates))
        left, exact = np.arange(len(scores)), whole(scores)
        choose = winner if self.flips else exponential_weights.choose
        taken: list[T] = []
        for _ in range(self.k):
            place = choose(gaps_below_best(exact[left]), self.rate, bits)
            taken.append(self.candidates[left[place]])
            left = np.delete(left, place)
        return tuple(taken)
