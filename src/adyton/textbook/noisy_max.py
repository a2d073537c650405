"""Report noisy max: noise on every score, and the index of the largest is all that leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Generic, TypeVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise import Bits, two_sided_geometric
from adyton.kernel.noise.refine import Integers, check_scale
from adyton.kernel.privacy import PureCost
from adyton.kernel.special.mechanisms.selection.scores import (
    Scores,
    ScoreSensitivity,
    check_number,
    gaps_of,
    rate_of,
    whole,
)
from adyton.noise_intervals.selections import largest_shortfall, noisy_max_chance

T = TypeVar("T")
_LAW_LIMIT = 10**7
_REFUSED = Fraction(2**100)  # more than any sampler takes, and still a float
_TAIL = 45  # scales; exp(-45) of the noise lies beyond


@dataclass(frozen=True, slots=True)
class NoisyMax(Generic[T]):
    """Adds two-sided geometric noise of scale span / epsilon to each score; releases which is the largest.

    The scale is bound / epsilon for monotone scores (counts, when units are added or removed) and
    2 * bound / epsilon in general (counts, when units are replaced).  Ties go to the one declared first.

    Claim:    epsilon-DP, exactly, for the index alone; the noisy score behind it would cost extra.
    Assumes:  as the exponential mechanism: ``candidates`` were fixed without looking at the data, one unit
              moves the integer scores as ``sensitivity`` says, the words of ``bits`` are uniform.
    Source:   Dwork, Roth 2014, Claim 3.9 (Laplace noise, monotone counts); on the integers derived here.
    Theorem: REPORT-NOISY-MAX.

    Time depends on the number of candidates and, as the noise's own sampler says, on the noise; not on the
    scores, save where one needs more than 64 bits.  Permute-and-flip is the better default.
    """

    candidates: tuple[T, ...]
    epsilon: Fraction
    sensitivity: ScoreSensitivity
    name: ClassVar[str] = "report noisy max"
    theorems: ClassVar[tuple[str, ...]] = ("SCORE-SPAN", "REPORT-NOISY-MAX", "DECLARED-RANGE")

    def __post_init__(self) -> None:
        if not self.candidates:
            raise InvalidRequest("declare at least one candidate")
        check_scale(self.scale, "a noise scale", two_sided_geometric.LARGEST_SCALE)

    @property
    def scale(self) -> float:
        """Rounded up, because the sampler takes floats: more noise never costs more."""
        return float_up(min(1 / rate_of(self.epsilon, self.sensitivity), _REFUSED))

    def cost(self) -> PureCost:
        return PureCost(self.epsilon)

    def release(self, scores: Scores, bits: Bits) -> T:
        check_number(scores, len(self.candidates))
        noise = two_sided_geometric.draw(self.scale, len(scores), bits).tolist()
        noisy = [score + n for score, n in zip(whole(scores).tolist(), noise, strict=True)]
        return self.candidates[noisy.index(max(noisy))]  # index: the first of equals

    def law(self, scores: Scores) -> Floats:
        """The probability of each candidate, to about 12 digits: for audits, not for releases."""
        gaps = gaps_of(scores, len(self.candidates))
        reach = math.ceil(_TAIL * self.scale) + 1
        if (2 * reach + int(gaps.max())) * len(scores) > _LAW_LIMIT:
            raise InvalidRequest("the law is worked out for small scores and little noise only")
        return max_law(-gaps.astype(np.int64), self.scale, reach)

    def error(self, confidence: Number) -> int:
        """How far below the best the released score is at most, with this probability.

        Theorem: NOISY-MAX-UTILITY.
        """
        scale, number = Fraction(self.scale), len(self.candidates)
        return largest_shortfall(lambda c: noisy_max_chance(scale, c, number), confidence)


def max_law(scores: Integers, scale: float, reach: int) -> Floats:
    """P(i) = sum over v of P(score_i + Z = v) * product of P(score_j + Z < v or, after i, <= v)."""
    values = np.arange(int(scores.min()) - reach, int(scores.max()) + reach + 1)
    q = math.exp(-1 / scale)
    offsets = values[:, None] - scores[None, :]
    mass = math.tanh(0.5 / scale) * np.exp(-np.abs(offsets) / scale)
    far = np.exp(-np.abs(offsets) / scale) / (1 + q)
    at_most = np.where(offsets >= 0, 1 - far * q, far)
    law = np.empty(scores.size)
    for i in range(scores.size):
        before = at_most[:, :i] - mass[:, :i]
        law[i] = (mass[:, i] * before.prod(axis=1) * at_most[:, i + 1 :].prod(axis=1)).sum()
    return law
