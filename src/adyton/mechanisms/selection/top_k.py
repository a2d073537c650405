"""The k best candidates, one after another."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Generic, TypeVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.exact import Number, each_of
from adyton.mechanisms.selection.permute_and_flip import winner
from adyton.mechanisms.selection.scores import (
    Scores,
    ScoreSensitivity,
    check_number,
    gaps_below_best,
    rate_of,
    whole,
)
from adyton.mechanisms.selection.utility import flip_chance, largest_shortfall
from adyton.noise import Bits
from adyton.privacy import PureCost

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopK(Generic[T]):
    """Takes the winner of permute-and-flip out, k times, each time with epsilon / k; in the order of winning.

    Claim:    epsilon-DP for the ordered list of k different candidates.
    Assumes:  as permute-and-flip: ``candidates`` were fixed without looking at the data, one unit moves the
              integer scores as ``sensitivity`` says, the words of ``bits`` are uniform.
    Source:   peeling: Durfee, Rogers 2019; with permute-and-flip derived on the theorem's page.
    Theorem: TOP-K.

    Time is that of k runs of permute-and-flip.
    """

    candidates: tuple[T, ...]
    k: int
    epsilon: Fraction
    sensitivity: ScoreSensitivity
    name: ClassVar[str] = "top k"
    theorems: ClassVar[tuple[str, ...]] = ("SCORE-SPAN", "TOP-K", "PERMUTE-AND-FLIP", "DECLARED-RANGE")

    def __post_init__(self) -> None:
        if not 1 <= self.k <= len(self.candidates):
            raise InvalidRequest(f"k must be from 1 to the number of candidates, {len(self.candidates)}")
        rate_of(self.epsilon, self.sensitivity)

    @property
    def rate(self) -> Fraction:
        """Of one round."""
        return rate_of(self.epsilon / self.k, self.sensitivity)

    def cost(self) -> PureCost:
        return PureCost(self.epsilon)

    def release(self, scores: Scores, bits: Bits) -> tuple[T, ...]:
        check_number(scores, len(self.candidates))
        left, exact = np.arange(len(scores)), whole(scores)
        taken: list[T] = []
        for _ in range(self.k):
            place = winner(gaps_below_best(exact[left]), self.rate, bits)
            taken.append(self.candidates[left[place]])
            left = np.delete(left, place)
        return tuple(taken)

    def error(self, confidence: Number) -> int:
        """The j-th released score is at most this far below the j-th best, for all j at once, this often.

        Theorem: TOP-K-UTILITY.
        """
        rate, number = self.rate, len(self.candidates)
        return largest_shortfall(
            lambda c: flip_chance(rate, Fraction(c), number), each_of(confidence, self.k)
        )
