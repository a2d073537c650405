"""What a plan is: for every question, before the first, the noise of its answer."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

Noise = Literal["constant", "decreasing"]
MOST = 10**15
"""Rows and questions are searched for up to here."""


@dataclass(frozen=True)
class NoisePlan:
    """Adaptive questions that stay within ``tolerance``: ``counts[i]`` with noise of standard deviation
    ``scales[i]``, block after block; one block, if all have the same noise."""

    tolerance: float
    counts: tuple[int, ...]
    scales: tuple[float, ...]

    @classmethod
    def constant(cls, tolerance: float, questions: int, scale: float) -> NoisePlan:
        return cls(tolerance, (questions,), (scale,)) if questions else cls(tolerance, (), ())

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        return tuple(accumulate(self.counts))

    @property
    def questions(self) -> int:
        return self._ends[-1] if self._ends else 0

    def scale_of(self, question: int) -> float:
        """Of the question with this number, from 1 on; beyond the plan that of its last one."""
        return self.scales[min(bisect_left(self._ends, question), len(self.scales) - 1)]
