"""Means whose squares are read beside them: then the population interval knows how spread the values are.

Without that a mean has the interval of values at both ends of their range.  The squares take a twentieth of
the price, so the noise of the mean is a fortieth larger; its population interval is often half as wide.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

from adyton.arithmetic.ratio import Ratio, Solved
from adyton.certify import Absent, Bound, Values
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact.cells import whole
from adyton.kernel.measurement import Columns
from adyton.kernel.terms.measures import Mean, Measure, middle_of_square
from adyton.planning.measures.additive import Additive, mean_ratio, means_of, over_count
from adyton.planning.part import OfOneReading
from adyton.population.base import PopulationContext
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.length import MOST_WEIGHT, weight
from adyton.query.nodes import Query
from adyton.study import Study

SQUARES = Fraction(1, 20)
"""Of the price of a mean, for its squares."""
_ENOUGH = 3_000  # rows a cell: with fewer the squares are too noisy to be worth their price
_NONE = Fraction(0)


def squares_of(study: Study, query: Query, measure: Measure) -> Fraction:
    """The part of the price that squares use; 0 where they would not pay.  From public facts alone.

    A study that plans its queries has planned the noise of means as they are.
    """
    if not isinstance(measure, Mean) or query.discovers_groups or query.table.behind != study.table:
        return _NONE
    validity, lattice = study.validity, measure.value.lattice
    if validity is None or validity.tolerance is not None or study.rule.capped or study.grid:
        return _NONE
    if lattice.high - lattice.low < 2 or _rows_a_cell(study, query) < _ENOUGH:
        return _NONE
    return SQUARES if _can_be_squared(measure) else _NONE


def _rows_a_cell(study: Study, query: Query) -> int:
    """About how many, if the query reads all rows."""
    return (study.rows_expected(query.table) or 0) // number_of_cells(query)


def _can_be_squared(measure: Mean) -> bool:
    try:
        return weight(middle_of_square(measure.value)) <= MOST_WEIGHT // 8
    except InvalidRequest:  # the squares could become too large for exact arithmetic
        return False


@dataclass(frozen=True, slots=True)
class MeanWithSquares(OfOneReading):
    """A mean, with an upper end of the variance of its values from the same release."""

    theorems = ("RATIO-INTERVAL", "VARIANCE-INTERVAL")
    noises = 1
    columns = ("sum", "squares", "count")

    @property
    def mean(self) -> NoisyReading:
        return self.over_count(0)

    def pays(self, study: Study, query: Query) -> bool:
        """Whether noise has at most twice the variance that values at both ends of their range give the sum.

        Else an interval is hardly narrower where they are not, and wider by the larger noise.
        """
        reach, rows = self.reading.coordinates[0].box[1], _rows_a_cell(study, query)
        return self.mechanism.scales[0] ** 2 <= 2 * rows * reach**2

    def alike(self, context: PopulationContext) -> Hashable:
        """Which rows are read makes no difference, but for what is known of the spread in them."""
        reading = self.reading
        if context.learned_of(reading) is not None:
            return None
        public = (reading.coordinates, reading.sensitivity)
        return type(self), public, self.mechanism, self.only.nats

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        return [mean_ratio(self.mean, over_count(released, 0), context.noise_level)]

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        columns, population, mean = [*map(whole, released)], context.population, self.mean
        return means_of(
            mean,
            over_count(released, 0),
            context,
            solved,
            lambda: population.means_with_squares(self.only, mean, columns, context),
        )

    def bound(self, expected_rows: int | None) -> Bound:
        return Additive(self.mean).bound(expected_rows)

    def population_bound(
        self, context: PopulationContext, expected_rows: int | None, expect: Fraction | None = None
    ) -> Bound | Absent:
        """As wide as it is if the values turn out to be at both ends of their range."""
        return Additive(self.mean).population_bound(context, expected_rows, expect)
