"""The rounding estimator: a mean to a few digits, which says little because it can only say little."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, rational
from adyton.kernel.exact.outward import UNIT_ROUNDOFF


@dataclass(frozen=True, slots=True)
class RoundedMeans:
    """Answers a mean between 0 and 1 with the middle of the one of ``levels`` equal cells that holds it.

    Claim:    every answer is within 1/(2 levels) of the mean of the rows; whatever is asked, and however
              it is chosen, k answers are one of levels**k, so a transcript has a code of k log2(levels) bits.
    Assumes:  nothing.  It is deterministic, so it is private for no epsilon: it protects conclusions, not
              people, and has no cost that a ledger could be charged with.
    Source:   Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015 (description length).
    Theorem: ROUNDING-ESTIMATOR.
    """

    levels: int

    def __post_init__(self) -> None:
        if self.levels < 1:
            raise InvalidRequest(f"there must be at least 1 level, not {self.levels}")

    @classmethod
    def within(cls, error: Number) -> RoundedMeans:
        """The fewest levels whose answers are within ``error``: ceil(1 / (2 error))."""
        wanted = rational(error, "error")
        if not 0 < wanted <= Fraction(1, 2):
            raise InvalidRequest("the error of a mean between 0 and 1 must be above 0 and at most 1/2")
        return cls(math.ceil(1 / (2 * wanted)))

    @property
    def error(self) -> Fraction:
        return Fraction(1, 2 * self.levels)

    def release(self, means: Sequence[Fraction]) -> list[Fraction]:
        return [self._middle(mean) for mean in means]

    def _middle(self, mean: Fraction) -> Fraction:
        if not 0 <= mean <= 1:
            raise InvalidRequest("a mean must be between 0 and 1: scale the values by their public bounds")
        cell = min(math.floor(mean * self.levels), self.levels - 1)
        return Fraction(2 * cell + 1, 2 * self.levels)

    def transcripts(self, queries: int) -> int:
        """How many sequences of answers there are at most."""
        return int(self.levels**queries)

    def bits(self, queries: int) -> float:
        """The length of a code for the transcript, rounded up: k log2(levels)."""
        return queries * math.log2(self.levels) * (1 + 32 * UNIT_ROUNDOFF)
