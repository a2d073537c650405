"""What a plan is: for every query, before the first, the noise of its answer."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

Noise = Literal["constant", "decreasing"]
MOST = 10**15
"""Rows and queries are searched for up to here."""


@dataclass(frozen=True)
class NoisePlan:
    """Adaptive queries that stay within ``tolerance``: ``counts[i]`` with noise of standard deviation
    ``scales[i]``, block after block; one block, if all have the same noise."""

    tolerance: float
    counts: tuple[int, ...]
    scales: tuple[float, ...]

    @classmethod
    def constant(cls, tolerance: float, queries: int, scale: float) -> NoisePlan:
        return cls(tolerance, (queries,), (scale,)) if queries else cls(tolerance, (), ())

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        return tuple(accumulate(self.counts))

    @property
    def queries(self) -> int:
        return self._ends[-1] if self._ends else 0

    def scale_of(self, query: int) -> float:
        """Of the query with this number, from 1 on; beyond the plan that of its last one."""
        return self.scales[min(bisect_left(self._ends, query), len(self.scales) - 1)]
