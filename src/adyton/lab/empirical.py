"""The empirical mechanism: the exact answer, no noise.  NOT PRIVATE: the baseline of attacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Empirical:
    """Answers with what the rows say, exactly.  Only the lab may use it."""

    rows: tuple[int, ...]

    def count(self) -> int:
        return len(self.rows)

    def total(self) -> int:
        return sum(self.rows)

    def mean(self) -> Fraction:
        return Fraction(self.total(), self.count())

    @classmethod
    def of(cls, rows: Sequence[int]) -> Empirical:
        return cls(tuple(rows))
