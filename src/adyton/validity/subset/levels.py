"""What a study that pays as it goes fixes in advance: the level of each question, and the parts of rows kept.

Levels never run out: those of all questions sum to one.  The best part c of rows to keep depends on how much
was spent compared with how much a question fluctuates by itself, which nobody knows in advance; so a few are
fixed, each with a weight, and every question takes whichever gives the narrowest interval at its weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from adyton.validity.outward import float_down, whole

KEPT: tuple[tuple[float, Fraction], ...] = (
    (0.2, Fraction(1, 5)),
    (0.5, Fraction(1, 5)),
    (0.8, Fraction(1, 5)),
    (0.94, Fraction(1, 5)),
    (0.985, Fraction(1, 5)),
)
"""Parts c whose c / (1 - c) grows by four, with their weights: in between the shift is at most 1.25 times
what the best c would give."""


@dataclass(frozen=True, slots=True)
class OpenLevels:
    """Question j may use 1 / log2(j + 1) - 1 / log2(j + 2) of the failure, all of them together all of it."""

    def share(self, question: int) -> float:
        j = whole(question, "the number of a question")
        first, second = math.log2(j + 1), math.log2(j + 2)
        return math.log1p(1 / (j + 1)) / math.log(2) / (first * second) * (1 - 1e-12)


@dataclass(frozen=True, slots=True)
class KnownLevels:
    """Each of so many questions may use an equal part; a twentieth is kept for those beyond."""

    questions: int

    def share(self, question: int) -> float:
        j = whole(question, "the number of a question")
        if j <= self.questions:
            return float_down(Fraction(19, 20) / self.questions)
        return OpenLevels().share(j - self.questions) / 20
