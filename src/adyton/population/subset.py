"""What an answer of a study with Gaussian noise says about the population: the subset theorem.

Every answer pays for what was released before it, and for nothing else: the first one has the interval of a
query that was fixed in advance.  Nothing has to be planned, and no query is one too many: levels never
run out, and widths follow what was spent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import units_down
from adyton.kernel.exact.cells import Array, Floats
from adyton.kernel.ledger.links import Cap
from adyton.population.base import (
    Population,
    PopulationContext,
    PopulationEnds,
    for_variances,
    least_outside,
    narrowest,
    units_outside,
)
from adyton.population.claims import Certain, CertainAfter
from adyton.population.position import Counted, Position
from adyton.population.subset_ends import (
    combined_ends,
)
from adyton.population.variance_ends import EACH, most_squares
from adyton.study.validity import FOR_COUNTS, FOR_NOISE, claims_failure, gaussian_plan
from adyton.validity.plans.study_plans import StudyPlan
from adyton.validity.subset.tails import Before, KnownLevels, OpenLevels, largest_normal


class SubsetPopulation(Population):
    """The population intervals of a study with Gaussian noise."""

    @cached_property
    def plan(self) -> StudyPlan | None:
        planned = self.validity is not None and self.validity.tolerance is not None
        return gaussian_plan(self.study) if planned else None

    @cached_property
    def _levels(self) -> OpenLevels | KnownLevels:
        if self.plan is not None:
            return self.plan.levels
        known = self.validity.queries if self.validity is not None else None
        return OpenLevels() if known is None else KnownLevels(known)

    def level_of(self, query: int) -> float:
        return self._levels.share(query)

    def each(self, query: int) -> int | None:
        return units_down(self.plan.radius(query)) if self.plan is not None else None

    @property
    def certified(self) -> tuple[int | None, int | None]:
        return None, self.validity.queries if self.validity is not None else None

    @property
    def cap(self) -> Cap | None:
        if self.validity is None or self.validity.beyond_plan != "refuse" or self.validity.queries is None:
            return None
        return Cap(None, self.validity.queries)

    def _theorems(self, at: Position, ratios: bool) -> tuple[str, ...]:
        theorems: tuple[str, ...] = (
            "SUBSET-SHARES",
            "SUBSET-TRANSFER",
            "PAY-AS-YOU-GO",
            "SUBSET-VARIANCE",
            "L2-RADIUS",
        )
        theorems += ("SUBSET-MEANS", "SUBSET-BENNETT") if ratios else ()
        return theorems + (("SUBSET-WITH-PURE-PARTS",) if at.pure else ())

    def combined(
        self,
        part: NoisyReading,
        answers: Floats,
        scales: Floats,
        slack: Floats,
        rows: int,
        context: PopulationContext,
    ) -> PopulationEnds:
        """For counts of rows, ``rows`` of a unit, that are combinations of numbers with Gaussian noise."""
        given = answers, scales, slack, rows
        return narrowest(
            [combined_ends(*given, certain) for certain in self._after(context)],
            [combined_ends(*given, certain) for certain in self.described(part, context)],
        )

    def most_squares(
        self, part: NoisyReading, released: Sequence[Array], context: PopulationContext
    ) -> Floats:
        """Upper ends of sums of squared values, in squared steps, from what was released for variances."""
        return most_squares(part, released, self._certain_of_variances(context))

    def squares_failure(self, context: PopulationContext) -> Fraction:
        """How likely it may be that the noise of the squares of a variance is larger than final radii of
        means take it to be: a part of the level of that variance, where it stands.
        """
        return Fraction(self._certain_of_variances(context).level * EACH)

    def _certain_of_variances(self, context: PopulationContext) -> CertainAfter:
        return for_variances(self._certain(context))

    def units_read(self, units: int | None) -> int | None:
        if self.study.reserve is None:
            return units
        return units_outside(self.study, units, self._failure * FOR_COUNTS)

    def certifies(self, query: int) -> bool:
        return self.validity is not None

    def units_at_most(self, count: Counted, failure: Fraction | None = None) -> int:
        return max(1, math.ceil(count.released + self._noise_of(count, failure)))

    def units_at_least(self, count: Counted) -> int:
        """A lower end, right together with the upper ones."""
        return max(0, math.floor(count.released - self._noise_of(count, None)))

    def _noise_of(self, count: Counted, failure: Fraction | None) -> Fraction:
        share = failure if failure is not None else self._failure * FOR_COUNTS
        z = largest_normal(share * Fraction(OpenLevels().share(count.query)))
        return Fraction(z) * Fraction(count.scale) + 1

    @property
    def _failure(self) -> Fraction:
        assert self.validity is not None
        return 1 - self.validity.confidence

    def units_surely_read(self, units: int) -> int:
        """At least so many of exactly so many units are read; right together with ``units_read``."""
        return least_outside(self.study, units, self._failure * FOR_COUNTS)

    def noise_failure(self, query: int) -> Fraction:
        """How likely the noise of this answer may be larger than its final radius takes it to be."""
        return self._failure * FOR_NOISE * Fraction(OpenLevels().share(query))

    def _after(self, context: PopulationContext) -> list[Certain]:
        return [self._certain(context)] if self.silent(context.at) is None else []

    def _certain(self, context: PopulationContext) -> CertainAfter:
        at = context.at
        assert self.validity is not None
        level = self._of_claims * self.level_of(at.query) / at.values
        planned = self.plan.kept(at.query) if self.plan is not None else None
        return CertainAfter(Before(at.before, at.pure), context.known_units, level, planned)

    @cached_property
    def _of_claims(self) -> float:
        assert self.validity is not None
        return float(claims_failure(self.validity, self.study.unit.adjacency))
