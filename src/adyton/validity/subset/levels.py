"""What a study that pays as it goes fixes in advance: the level of each question.

Levels never run out: those of all questions sum to one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from adyton.exact import float_down, whole
from adyton.exact.outward import SAFE

_PLANNED, _EQUAL, _BEYOND = Fraction(96, 100), Fraction(2, 100), Fraction(2, 100)
_SQUARES = Fraction(6079271018540266, 10**16)  # just below 6 / pi**2
_BLOCKS = 4096


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
        return math.log1p(1 / (j + 1)) / math.log(2) / (first * second) * (1 - 1e-12)


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
        return (float_down(_PLANNED) * planned + float_down(_EQUAL) * equal) * (1 - 1e-12)


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
