"""What an answer of a study with Gaussian noise says about the population: the subset theorem.

Every answer pays for what was released before it, and for nothing else: the first one has the interval of a
question that was fixed in advance.  Nothing has to be planned, and no question is one too many: levels never
run out, and widths follow what was spent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from adyton.accounting.noisy_reading import NoisyReading, step_of
from adyton.exact import float_up, units_down
from adyton.exact.cells import Array, Floats
from adyton.ledger.links import Cap
from adyton.mechanisms.ratio import Ends
from adyton.population.base import (
    Counted,
    Population,
    PopulationContext,
    Position,
    learned_key,
    least_outside,
    units_outside,
)
from adyton.population.subset_ends import (
    Certain,
    combined_ends,
    cumulated_ends,
    mean_ends,
    search_reach,
    single_ends,
    span_of,
    sum_ends,
    uncentred,
)
from adyton.population.variance_ends import EACH, OF_LEAST, least_variance, most_squares, most_variance
from adyton.query.measures import Cdf, Quantile, Variance
from adyton.sensitivity.readings import search_weights
from adyton.study.validity import FOR_COUNTS, FOR_NOISE, claims_failure, gaussian_plan
from adyton.validity.plans.study_plans import StudyPlan
from adyton.validity.subset.tails import Before, KnownLevels, OpenLevels, largest_normal

OF_VARIANCES = 1 / 2  # of the level of a variance, for its upper end
OF_MEANS = 1 - OF_VARIANCES * (1 + OF_LEAST)  # for a mean and a mean square; the rest is for its lower end


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
        known = self.validity.questions if self.validity is not None else None
        return OpenLevels() if known is None else KnownLevels(known)

    def each(self, question: int) -> int | None:
        return units_down(self.plan.radius(question)) if self.plan is not None else None

    @property
    def certified(self) -> tuple[int | None, int | None]:
        return None, self.validity.questions if self.validity is not None else None

    @property
    def cap(self) -> Cap | None:
        if self.validity is None or self.validity.beyond_plan != "refuse" or self.validity.questions is None:
            return None
        return Cap(None, self.validity.questions)

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

    def singles(self, part: NoisyReading, released: Array, context: PopulationContext) -> Ends:
        squares = context.learned.get(learned_key(part.reading))
        if squares is None:
            return single_ends(part, released, self._certain(context))
        return sum_ends(part, released, self._certain(context), squares)

    def combined(
        self, answers: Floats, scales: Floats, slack: Floats, rows: int, context: PopulationContext
    ) -> Ends:
        """For counts of rows, ``rows`` of a unit, that are combinations of numbers with Gaussian noise."""
        return combined_ends(answers, scales, slack, rows, self._certain(context))

    def means(self, part: NoisyReading, released: Sequence[Array], context: PopulationContext) -> Ends:
        top, bottom = released
        first, second = (float_up(scale) for scale in part.mechanism.scales)
        certain = self._certain(context)
        if isinstance(part.reading.measure, Variance):
            certain = replace(certain, level=certain.level * OF_MEANS)
        spread = context.learned.get(learned_key(part.reading))
        return mean_ends(part, top, bottom, certain, (first, second), spread)

    def variances(
        self, part: NoisyReading, released: Sequence[Array], mean: Ends, context: PopulationContext
    ) -> Ends | None:
        certain = self._certain_of_variances(context)
        return least_variance(part, released, mean, certain), most_variance(part, released, certain)

    def most_squares(
        self, part: NoisyReading, released: Sequence[Array], context: PopulationContext
    ) -> Floats:
        """Upper ends of sums of squared values, in squared steps, from what was released for variances."""
        return most_squares(part, released, self._certain_of_variances(context))

    def squares_failure(self, context: PopulationContext) -> Fraction:
        """How likely it may be that the noise of the squares of a variance is larger than means that settle
        by them take it to be: a part of the level of that variance, where it stands.
        """
        return Fraction(self._certain_of_variances(context).level * EACH)

    def _certain_of_variances(self, context: PopulationContext) -> Certain:
        certain = self._certain(context)  # a variance has the levels of two values
        return replace(certain, level=2 * certain.level * OF_VARIANCES)

    def cumulated(
        self, part: NoisyReading, left: Floats, right: Floats, bins: Ends, context: PopulationContext
    ) -> Ends:
        return cumulated_ends(part, left, right, bins, self._certain(context))

    def turns(self, part: NoisyReading, context: PopulationContext) -> tuple[int, int]:
        measure = part.reading.measure
        assert isinstance(measure, Quantile)
        times, _ = search_weights(measure)
        return search_reach(part, measure.fraction, times, self._certain(context))

    def half_width(
        self,
        part: NoisyReading,
        context: PopulationContext,
        expected_rows: int | None,
        expect: Fraction | None = None,
    ) -> float | None:
        certain, reading = self._certain(context), part.reading
        if len(reading.coordinates) == 1 and not isinstance(reading.measure, Cdf):
            step = step_of(reading) / (reading.public_rows or 1)
            middle = Fraction(context.known_units * sum(span_of(part)), 2)
            released = middle if expect is None else expect / step
            return _half(self.singles(part, np.array([round(released)]), _widest(context)), step)
        if not expected_rows:
            return None
        if isinstance(reading.measure, Cdf):
            fraction, bins = 0.5 if expect is None else float(expect), len(reading.measure.points) + 1
            sides = (np.array([expected_rows * fraction]), np.array([expected_rows * (1 - fraction)]))
            half = np.array([bins / 2])
            return _half(cumulated_ends(part, *sides, (half, half), certain), Fraction(1))
        line = uncentred(part)
        ratio = Fraction(0) if expect is None else (expect - line.shift) / line.scale
        count = expected_rows * reading.coordinates[1].times
        both = np.array([round(ratio * count)]), np.array([count])
        return _half(self.means(part, both, _widest(context)), line.scale)

    def units_read(self, units: int | None) -> int | None:
        if self.study.reserve is None:
            return units
        return units_outside(self.study, units, self._failure * FOR_COUNTS)

    def certifies(self, question: int) -> bool:
        return self.validity is not None

    def units_at_most(self, count: Counted, failure: Fraction | None = None) -> int:
        return max(1, math.ceil(count.released + self._noise_of(count, failure)))

    def units_at_least(self, count: Counted) -> int:
        """A lower end, right together with the upper ones."""
        return max(0, math.floor(count.released - self._noise_of(count, None)))

    def _noise_of(self, count: Counted, failure: Fraction | None) -> Fraction:
        share = failure if failure is not None else self._failure * FOR_COUNTS
        z = largest_normal(share * Fraction(OpenLevels().share(count.question)))
        return Fraction(z) * Fraction(count.scale) + 1

    @property
    def _failure(self) -> Fraction:
        assert self.validity is not None
        return 1 - self.validity.confidence

    def units_surely_read(self, units: int) -> int:
        """At least so many of exactly so many units are read; right together with ``units_read``."""
        return least_outside(self.study, units, self._failure * FOR_COUNTS)

    def noise_failure(self, question: int) -> Fraction:
        """How likely it may be that the noise of this answer is larger than settling takes it to be."""
        return self._failure * FOR_NOISE * Fraction(OpenLevels().share(question))

    def _certain(self, context: PopulationContext) -> Certain:
        at = context.at
        assert self.validity is not None
        failure = claims_failure(self.validity, self.study.unit.neighbours)
        level = float(failure) * self._levels.share(at.question) / at.values
        planned = self.plan.kept(at.question) if self.plan is not None else None
        return Certain(Before(at.before, at.pure), context.known_units, level, planned)


def _widest(context: PopulationContext) -> PopulationContext:
    """For one cell, whichever it is."""
    return replace(context, learned={key: end.max(keepdims=True) for key, end in context.learned.items()})


def _half(ends: Ends, step: Fraction) -> float:
    low, high = ends
    return float_up(Fraction(float((high - low)[0])) / 2 * step)
