"""The exponential mechanism, exact: a declared candidate, the likelier the higher its score."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Generic, TypeVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import BoundedRangeCost
from adyton.kernel.special.mechanisms import exponential_weights
from adyton.kernel.special.mechanisms.selection.scores import (
    Scores,
    ScoreSensitivity,
    gaps_of,
    rate_of,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExponentialMechanism(Generic[T]):
    """Releases candidate o with probability proportional to exp(epsilon * score(o) / span).

    The span is 2 * bound, or the bound alone for monotone scores.

    Claim:    epsilon-DP, and of range epsilon, which is less in zcdp and gdp than epsilon-DP alone; the
              probabilities are exactly these: no float takes part in the choice.
    Assumes:  ``candidates`` were fixed without looking at the data: one that is on the list because of
              somebody's row gives that row away.  One unit moves the integer scores as ``sensitivity`` says.
              The words of ``bits`` are uniform and independent of everything the analyst has seen.
    Source:   McSherry, Talwar 2007; Dwork, Roth 2014, Theorem 3.10.  Theorem: EXPONENTIAL-MECHANISM.
              Theorem: DECLARED-RANGE.  Theorem: BOUNDED-RANGE.

    Time depends on the number of candidates and on epsilon; on the scores only through a second try, of
    probability below candidates * 2**-54 (and where a score needs more than 64 bits).
    """

    candidates: tuple[T, ...]
    epsilon: Fraction
    sensitivity: ScoreSensitivity
    name: ClassVar[str] = "exponential mechanism"
    theorems: ClassVar[tuple[str, ...]] = (
        "SCORE-SPAN",
        "EXPONENTIAL-MECHANISM",
        "DECLARED-RANGE",
        "BOUNDED-RANGE",
    )

    def __post_init__(self) -> None:
        if not self.candidates:
            raise InvalidRequest("declare at least one candidate")
        rate_of(self.epsilon, self.sensitivity)

    @property
    def rate(self) -> Fraction:
        return rate_of(self.epsilon, self.sensitivity)

    def cost(self) -> BoundedRangeCost:
        """Theorem: BOUNDED-RANGE."""
        return BoundedRangeCost(self.epsilon)

    def release(self, scores: Scores, bits: Bits) -> T:
        gaps = gaps_of(scores, len(self.candidates))
        return self.candidates[exponential_weights.choose(gaps, self.rate, bits)]

    def law(self, scores: Scores) -> Floats:
        """The probability of each candidate, to about 12 digits: for audits, not for releases."""
        weights = np.exp(-float(self.rate) * gaps_of(scores, len(self.candidates)).astype(float))
        law: Floats = weights / weights.sum()
        return law
