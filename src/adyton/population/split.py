"""What an answer says about the population where each query reads units of its own.

The units of a part were in no answer before, so the query was fixed in advance as far as they are
concerned: its interval is that of a first query, at an equal share of the failure.  Theorem: SPLIT-STUDY.
"""

from __future__ import annotations

from fractions import Fraction

from adyton.kernel.exact import float_down
from adyton.kernel.ledger.links import Cap
from adyton.population.base import PopulationContext
from adyton.population.claims import CertainAfter
from adyton.population.position import Counted, Position
from adyton.population.subset import SubsetPopulation
from adyton.study.validity import FOR_COUNTS
from adyton.validity.part_sizes import most_in_part, most_units
from adyton.validity.subset.tails import Before, largest_normal


class SplitPopulation(SubsetPopulation):
    """The population intervals of a study that splits its units.

    Claim:    with the confidence of the study all intervals hold at once, however queries were chosen.
    Assumes:  units are independent draws from the population; the hash sends each to a part as if by lot.
    Source:   derived here.  Theorem: SPLIT-STUDY.
    """

    @property
    def cap(self) -> Cap:
        """There is a part for each query that was planned, and none for others."""
        return Cap(None, self.study.parts)

    def _theorems(self, at: Position, ratios: bool) -> tuple[str, ...]:
        subset = ("SUBSET-TRANSFER", "PAY-AS-YOU-GO", "SUBSET-VARIANCE")  # for answers before, which are none
        return tuple(name for name in super()._theorems(at, ratios) if name not in subset)

    def _assumptions(self) -> tuple[str, ...]:
        return (*super()._assumptions(), "a salted hash sends each unit to a part as if by lot")

    def units_read(self, units: int | None) -> int | None:
        return None if units is None else most_in_part(units, self.study.parts, self._for_sizes)

    def units_at_most(self, count: Counted, failure: Fraction | None = None) -> int:
        """Of all units, from a noisy count of those of one part."""
        z = largest_normal(self._for_sizes)
        in_part = count.released + Fraction(z) * Fraction(count.scale) + 1
        return most_units(-(-in_part.numerator // in_part.denominator), self.study.parts, self._for_sizes)

    @property
    def _each(self) -> Fraction:
        """The failure of one query, and of what must be known for it."""
        return self._failure / self.study.parts

    @property
    def _for_sizes(self) -> Fraction:
        """Three things are said with each part: of its size, of its noisy count, and of all units by it."""
        return self._each * FOR_COUNTS / 3

    def _certain(self, context: PopulationContext) -> CertainAfter:
        level = float_down(self._each * (1 - FOR_COUNTS) / context.at.values)
        return CertainAfter(Before(), context.known_units, level)
