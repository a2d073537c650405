"""What a study that pays as it goes fixes in advance: the level of each question, and ways to pay.

Levels never run out: those of all questions sum to one.

A question pays for what was released before it.  The best part c of the rows to keep depends on how much
was spent compared with how much a question fluctuates by itself, which nobody knows in advance; so a few
are fixed, each with a weight, and every question takes whichever gives the narrowest interval at its
weight.  Once something was released that is not Gaussian, a second part of the rows pays for that.
Theorems: PAY-AS-YOU-GO, SUBSET-VARIANCE, SUBSET-WITH-PURE-PARTS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from adyton.errors import InvalidRequest
from adyton.exact import float_down, float_up, whole
from adyton.exact.outward import MANY, SAFE
from adyton.validity.subset.tails import Way

_PLANNED, _EQUAL, _BEYOND = Fraction(96, 100), Fraction(2, 100), Fraction(2, 100)
_SQUARES = Fraction(6079271018540266, 10**16)  # just below 6 / pi**2
_BLOCKS = 4096
KEPT = tuple((c, 1 / 5) for c in (0.2, 0.5, 0.8, 0.94, 0.985))


# Levels ----------------------------------------------------------------------------------------------------


def question_share(number: int) -> Fraction:
    """6 / (pi j)**2, rounded down: the shares of any number of questions sum to at most 1.

    What question ``number`` may use if nobody knows how many will follow, where an exact rational is needed.
    """
    return _SQUARES / whole(number, "the number of a question") ** 2


@dataclass(frozen=True, slots=True)
class OpenLevels:
    """Question j may use 1 / log2(j + 1) - 1 / log2(j + 2) of the failure, all of them together all of it."""

    def share(self, question: int) -> float:
        j = whole(question, "the number of a question")
        first, second = math.log2(j + 1), math.log2(j + 2)
        return math.log1p(1 / (j + 1)) / math.log(2) / (first * second) * (1 - MANY)


@dataclass(frozen=True, slots=True)
class KnownLevels:
    """For as many questions with about equal noise: those who pay for many before them get the larger levels.

    As what was spent grows like j, the last tenth of the questions is in danger, and the others hardly are:
    most of the failure is divided so that all widths are about the same.  A small part is divided equally, so
    that early answers are narrow as well, and a small part is kept for questions beyond the plan.
    """

    questions: int
    rising: bool = True

    def share(self, question: int) -> float:
        j = whole(question, "the number of a question")
        if j > self.questions:
            return OpenLevels().share(j - self.questions) * float_down(_BEYOND)
        equal = float_down(Fraction(1) / self.questions)
        planned = _danger(j, self.questions) / _all_dangers(self.questions) if self.rising else equal
        return (float_down(_PLANNED) * planned + float_down(_EQUAL) * equal) * (1 - MANY)


def _danger(question: float, questions: int) -> float:
    """As the chance to miss, if the shift of the last question is half of the tolerance."""
    return math.exp(-_steepness(questions) * ((2 - math.sqrt(question / questions)) ** 2 - 1))


def _steepness(questions: int) -> float:
    """About the logarithm of one over the chance of the last one to miss; any number is valid."""
    return max(1.0, math.log(questions))


@cache
def _all_dangers(questions: int) -> float:
    """Their sum, rounded up: they grow, so each block is judged at its last question."""
    ends = np.unique(np.ceil(np.linspace(0, questions, min(questions, _BLOCKS) + 1))[1:])
    counts = np.diff(ends, prepend=0.0)
    dangers = np.exp(-_steepness(questions) * ((2 - np.sqrt(ends / questions)) ** 2 - 1))
    return float(np.sum(counts * dangers)) * SAFE


# Ways to pay -----------------------------------------------------------------------------------------------


"""With weights.  c / (1 - c) grows by four, so that the shift is at most 1.25 times that of the best c."""
KEPT_TWICE = tuple((kept * (1 - part), kept * part) for kept in (0.5, 0.85, 0.97) for part in (0.2, 0.6))
"""Parts for Gaussian answers and for releases that are not."""
_FOR_PURE = 1 / 32  # of the failure, for questions after such a release
_FORESEEN = 0.98  # of the rest, for the part that a plan foresees
SETTLED_FROM = 100  # units: with fewer, no answer settles for less than its full radius


@dataclass(frozen=True, slots=True)
class Before:
    """What was released about these units before a question: Gaussian answers, as the sum of their squared
    radii, each in units of its noise; and the sum of the epsilons, if one unit is replaced, of the rest.
    """

    spent: Fraction = Fraction(0)
    pure: Fraction = Fraction(0)


def ways_after(
    before: Before,
    units: int,
    failure: float,
    planned: float | None = None,
    kept: Sequence[tuple[float, float]] = KEPT,
) -> list[Way]:
    """All that are valid together at ``failure``, for at most so many units.

    ``planned``: the part c that a plan, fixed in advance, foresees for the question with this number.
    Where nothing was released before, the question was fixed in advance: one way, with all of the failure.
    """
    if not 0 < failure < 1:
        raise InvalidRequest("a level is a probability above 0 and below 1")
    spent, pure = float_up(before.spent), float_up(before.pure)
    if not spent and not pure:
        return [Way(1.0, 0.0, math.log(failure))]
    if pure:
        level = math.log(failure * _FOR_PURE / len(KEPT_TWICE))
        return [
            Way(1 - c - other, gaussian_price(units, spent, c) + pure_price(units, pure, other), level)
            for c, other in KEPT_TWICE
        ]
    left = failure * (1 - _FOR_PURE)
    ways = []
    if planned is not None:
        ways.append(Way(1 - planned, gaussian_price(units, spent, planned), math.log(left * _FORESEEN)))
        left *= 1 - _FORESEEN
    return ways + [Way(1 - c, gaussian_price(units, spent, c), math.log(left * weight)) for c, weight in kept]


def gaussian_price(units: int, spent: float, kept: float) -> float:
    """What the Gaussian answers before add to an exponent, if rows in a part ``kept`` are compared with all.

    ((1 - c) / c) (n + 2) mu0**2 / 2 and a trifle, rounded up: n + 2 covers n**2 / (n - 1), the trifle that
    the size of a part is a whole number.  Theorem: SUBSET-VARIANCE.
    """
    whole_size = 1 / (4 * kept**3 * (SETTLED_FROM - 1))
    return ((1 - kept) / kept * (units + 2) / 2 + whole_size) * spent * SAFE


def pure_price(units: int, epsilon: float, kept: float) -> float:
    """((1 - c) / c) n epsilon**2 / 8, rounded up.  Theorem: SUBSET-WITH-PURE-PARTS."""
    return (1 - kept) / kept * units * epsilon**2 / 8 * SAFE
