"""Scores of candidates: how far one unit can move them, and how far each lies below the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest
from adyton.kernel.noise.refine import Integers, Words
from adyton.kernel.privacy import Adjacency

Scores = Sequence[int] | Integers
LARGEST_GAP = 2**64 - 1


@dataclass(frozen=True, slots=True)
class ScoreSensitivity:
    """One unit moves every score by at most ``bound``; ``monotone``: all of them the same way, or not at all.

    A selection depends on differences of scores alone, so what it pays for is the ``span``: how far the
    difference of two scores can move.  That is the bound where all move the same way, else twice the bound.
    """

    bound: Fraction
    monotone: bool = False

    def __post_init__(self) -> None:
        if self.bound <= 0:
            raise InvalidRequest("the sensitivity of a score must be above 0")

    @property
    def span(self) -> Fraction:
        """Theorem: SCORE-SPAN."""
        return self.bound if self.monotone else 2 * self.bound

    @classmethod
    def of_counts(cls, adjacency: Adjacency) -> ScoreSensitivity:
        """Numbers of units, each unit counted for any set of candidates.  Theorem: SCORE-SPAN."""
        return cls(Fraction(1), monotone=adjacency == "add-remove")


def rate_of(epsilon: Fraction, sensitivity: ScoreSensitivity) -> Fraction:
    """How much less likely, in the exponent, a candidate becomes with each point that its score is lower."""
    if epsilon <= 0:
        raise InvalidRequest("epsilon must be above 0")
    return epsilon / sensitivity.span


def check_number(scores: Scores, candidates: int) -> None:
    if len(scores) != candidates:
        raise InvalidRequest(f"{candidates} candidates need {candidates} scores, not {len(scores)}")


def whole(scores: Scores) -> npt.NDArray[Any]:
    """As 64-bit integers, or as Python's own where these do not fit; never as floats."""
    if isinstance(scores, np.ndarray):
        if scores.dtype.kind != "i":
            raise InvalidRequest("scores must be whole numbers")
        return scores.astype(np.int64)
    if set(map(type, scores)) - {int}:
        raise InvalidRequest("scores must be whole numbers")
    try:
        return np.array(scores, np.int64)
    except OverflowError:  # no refusal: whether it happens may depend on the data
        return np.array(scores, object)


def gaps_of(scores: Scores, candidates: int) -> Words:
    """How far each of as many scores as there are candidates lies below the best."""
    check_number(scores, candidates)
    return gaps_below_best(whole(scores))


def gaps_below_best(scores: npt.NDArray[Any]) -> Words:
    """best - score.  More than 2**64 - 1 counts as that: the floor moves with the best, so no span grows."""
    if scores.dtype == object:
        best = max(scores)
        return np.array([min(best - s, LARGEST_GAP) for s in scores], np.uint64)
    unsigned = scores.view(np.uint64)
    best_at = int(scores.argmax())
    return unsigned[best_at : best_at + 1] - unsigned  # modulo 2**64, where the true difference fits
