"""Permute-and-flip: the exponential mechanism's guarantee with never a larger error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Generic, TypeVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Words
from adyton.kernel.privacy import PureCost
from adyton.kernel.special.mechanisms import exponential_weights
from adyton.kernel.special.mechanisms.coins import below
from adyton.kernel.special.mechanisms.selection.scores import (
    Scores,
    ScoreSensitivity,
    gaps_of,
    rate_of,
)

T = TypeVar("T")
_LAW_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(Generic[T]):
    """Goes through the candidates in random order; each is taken with probability exp(-epsilon * gap / span).

    The gap is how far a score lies below the best; the best is always taken when its turn comes.

    Claim:    epsilon-DP, exactly; for every table and every shortfall, the chance of falling that short of
              the best score is at most that of the exponential mechanism.
    Assumes:  as the exponential mechanism: ``candidates`` were fixed without looking at the data, one unit
              moves the integer scores as ``sensitivity`` says, the words of ``bits`` are uniform.
    Source:   McKenna, Sheldon 2020 (permute-and-flip).
    Theorem: PERMUTE-AND-FLIP.

    All coins are flipped at once, so time depends on the number of candidates and on epsilon; on the scores
    only through a coin that must read on, of probability below candidates * 2**-54 (and where a score needs
    more than 64 bits).
    """

    candidates: tuple[T, ...]
    epsilon: Fraction
    sensitivity: ScoreSensitivity
    name: ClassVar[str] = "permute-and-flip"
    theorems: ClassVar[tuple[str, ...]] = ("SCORE-SPAN", "PERMUTE-AND-FLIP", "DECLARED-RANGE")

    def __post_init__(self) -> None:
        if not self.candidates:
            raise InvalidRequest("declare at least one candidate")
        rate_of(self.epsilon, self.sensitivity)

    @property
    def rate(self) -> Fraction:
        return rate_of(self.epsilon, self.sensitivity)

    def cost(self) -> PureCost:
        return PureCost(self.epsilon)

    def release(self, scores: Scores, bits: Bits) -> T:
        return self.candidates[winner(gaps_of(scores, len(self.candidates)), self.rate, bits)]

    def law(self, scores: Scores) -> Floats:
        """The probability of each candidate, to about 12 digits: for audits, not for releases."""
        gaps = gaps_of(scores, len(self.candidates))
        if len(gaps) > _LAW_LIMIT:
            raise InvalidRequest(f"the law is worked out for up to {_LAW_LIMIT} candidates")
        return flip_law(np.exp(-float(self.rate) * gaps.astype(float)))


def winner(gaps: Words, rate: Fraction, bits: Bits) -> int:
    """The index that is taken.  The order is independent of the coins, so the first of the heads is a uniform
    one among them; and the best is always among them.  Theorem: PERMUTE-AND-FLIP.
    """
    heads = np.flatnonzero(exponential_weights.flip(gaps, rate, bits))
    return int(heads[below(heads.size, bits)])


def flip_law(p: Floats) -> Floats:
    """P(i) = p_i * integral over u in [0, 1] of the product of (1 - u * p_j) over j != i.

    Gauss's quadrature is exact for this polynomial, and all its terms are positive.
    """
    nodes, weights = np.polynomial.legendre.leggauss(p.size // 2 + 1)
    missed = 1 - np.outer((nodes + 1) / 2, p)  # no node is 1, so no factor is 0
    others = missed.prod(axis=1, keepdims=True) / missed
    law: Floats = p * (weights / 2 @ others)
    return law
