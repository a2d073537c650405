"""What an answer of a pure study says about the population: the centred hinge, with a cap fixed in advance.

The theorem has two parts.  The *noise* of an answer is small: the same noise as in the noise interval, at a
level that leaves room for all queries and cells.  The *stability* of everything released bounds, for every
function of a unit at once, how far these rows can have been singled out from the population; it grows with
what has been spent, which every receipt records (``spent_radius``, squared radii measured in noise).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from adyton.arithmetic.ratio import Ends
from adyton.certify import Absent
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import float_up, floats_up, units_down
from adyton.kernel.exact.cells import Array, Floats
from adyton.kernel.exact.outward import FEW, UP
from adyton.kernel.exact.shares import query_share
from adyton.kernel.ledger.links import Cap
from adyton.noise_intervals.widths import largest_ratio
from adyton.population.base import Population, PopulationContext, units_outside
from adyton.population.position import Counted, Position
from adyton.study import Validity, discovery_failure, planned
from adyton.study.validity import FOR_THEIR_NOISE
from adyton.validity.described import FOR_DESCRIBED
from adyton.validity.hinge.noise_part import laplace_multiplier
from adyton.validity.hinge.peeling import WidthSchedule
from adyton.validity.hinge.planned import PlannedSchedule
from adyton.validity.subset.tails import Places
from adyton.validity.subset.widths import ratio_ends

_LEVELS = 10
_ROUNDING = 1  # a step, of geometric noise

_OPEN = ("PEELING", "NOISE-GIVEN-TRANSCRIPT", "CENTRED-HINGE")
_PLANNED = ("CENTRED-HINGE-PLAN", "CENTRED-HINGE")


class HingePopulation(Population):
    """The population intervals of a pure study."""

    @cached_property
    def schedule(self) -> WidthSchedule | PlannedSchedule | None:
        if self.validity is None:
            return None
        rows, delta = self.study.units_expected, discovery_failure(self.study)
        if self.validity.tolerance is None or rows is None:
            return _open_schedule(self.validity, delta)
        return planned(self.validity, rows, self.study.unit.adjacency, delta)

    def silent(self, at: Position) -> Absent | None:
        schedule = self.schedule
        if schedule is not None:
            if not schedule.covers(at.spent):
                return Absent(
                    "beyond the stability that this study was certified for; so are all later answers"
                )
            if schedule.queries is not None and at.query > schedule.queries:
                return Absent(f"beyond the {schedule.queries} queries that this study was certified for")
        return super().silent(at)

    def each(self, query: int) -> int | None:
        schedule = self.schedule if self.validity is not None and self.validity.tolerance else None
        return units_down(schedule.cap) // schedule.queries if schedule and schedule.queries else None

    @property
    def certified(self) -> tuple[int | None, int | None]:
        schedule = self.schedule
        return (units_down(schedule.cap), schedule.queries) if schedule is not None else (None, None)

    @property
    def cap(self) -> Cap | None:
        if self.schedule is None or self.validity is None or self.validity.beyond_plan == "answer":
            return None
        return Cap(*self.certified)

    def _theorems(self, at: Position, ratios: bool) -> tuple[str, ...]:
        theorems: tuple[str, ...] = _PLANNED if isinstance(self.schedule, PlannedSchedule) else _OPEN
        theorems += ("L1-RADIUS", "PURE-IMPLIES-GDP", "HINGE-OF-A-PAIR")
        theorems += ("HINGE-WITH-DELTA",) if self.study.discovery_delta else ()
        return theorems + (("RATIO-OF-MEANS",) if ratios else ())

    def _singles(self, part: NoisyReading, released: Array, context: PopulationContext) -> Ends:
        reach = float_up(self._hidden(part, context)[0] + self._drift(part, context))
        values = released.astype(float)
        slack = FEW * (np.abs(values) + reach)
        return values - reach - slack, values + reach + slack

    def _means(self, part: NoisyReading, released: Sequence[Array], context: PopulationContext) -> Ends:
        """The stability part enters once.  Theorem: RATIO-OF-MEANS."""
        top, bottom = (column.astype(float) for column in released)
        first, second = floats_up(self._hidden(part, context))
        fixed, reach = first + float_up(self._drift(part, context)), largest_ratio(part.reading.sensitivity)

        def widths(low: Floats, high: Floats, _: Places) -> Ends:
            width = fixed + second * np.maximum(np.abs(low), np.abs(high)) * UP
            return width, width

        whole = np.full(len(top), reach)
        return ratio_ends(top, bottom, -whole, whole, widths)

    def _cumulated(
        self, part: NoisyReading, left: Floats, right: Floats, bins: Ends, context: PopulationContext
    ) -> Ends:
        each = float_up(self._noise(part, context, part.mechanism.scales[0]) + _ROUNDING)
        drift = float_up(self._drift(part, context))

        def widths(low: Floats, high: Floats, places: Places) -> Ends:
            on_left, on_right = (side[places] for side in bins)
            noisy = np.maximum(*((1 - f) * on_left + f * on_right for f in (low, high)))
            width = (each * noisy + drift) * UP
            return width, width

        nothing = np.zeros(len(left))
        return ratio_ends(left, left + right, nothing, nothing + 1, widths)

    def _turns(self, part: NoisyReading, context: PopulationContext) -> tuple[int, int]:
        reach = math.ceil(self._hidden(part, context)[0] + self._drift(part, context))
        return reach, reach

    def units_read(self, units: int | None) -> int | None:
        """Without a plan no failure is left for the size of a reserve: then it is all of them, at most."""
        if not isinstance(self.schedule, PlannedSchedule):
            return units
        return units_outside(self.study, units, self.schedule.counting)

    def certifies(self, query: int) -> bool:
        schedule = self.schedule
        return schedule is not None and (schedule.queries is None or query <= schedule.queries)

    def units_at_most(self, count: Counted, failure: Fraction | None = None) -> int:
        schedule = self.schedule
        if failure is not None:
            share = failure * query_share(count.query)
        elif isinstance(schedule, PlannedSchedule):
            share = schedule.counting / schedule.queries
        else:
            share = self._failure(count.query)
        z = laplace_multiplier(share)
        return max(1, math.ceil(count.released + Fraction(z) * Fraction(count.scale) + 1))

    def _drift(self, part: NoisyReading, context: PopulationContext) -> Fraction:
        """How far what the rows add may be from what the population makes one expect, in steps."""
        assert self.schedule is not None
        units, span = context.known_units, self._span(part)
        if isinstance(self.schedule, PlannedSchedule):  # part of it is for the excess of the noise
            units, span = max(units, self._rows), max(span, 1)
        return units * span * Fraction(self.schedule.stability(context.at.spent))

    def _noise(self, part: NoisyReading, context: PopulationContext, scale: Fraction) -> Fraction:
        """How much noise a value of the answer may hide, if it has this scale in what is claimed."""
        schedule, noises = self.schedule, len(part.mechanism.scales) * context.at.values
        if isinstance(schedule, PlannedSchedule):
            relative = scale / (self._rows * max(self._span(part), 1))
            return Fraction(schedule.threshold(relative, noises)) * scale
        return Fraction(laplace_multiplier(self._failure(context.at.query), noises)) * scale

    def _hidden(self, part: NoisyReading, context: PopulationContext) -> list[Fraction]:
        """How much of each coordinate's noise the transcript may hide, all values of the answer at once.

        The noise of a mean's count stands in its claim times the mean, which is no more than the largest.
        """
        first, *others = part.mechanism.scales
        most = (others and Fraction(largest_ratio(part.reading.sensitivity))) or Fraction(1)
        hidden = [self._noise(part, context, first) + _ROUNDING]
        return hidden + [self._noise(part, context, scale * most) / most + _ROUNDING for scale in others]

    @property
    def _rows(self) -> int:
        """The public number of units of a plan, or the public guess, in which its noise is measured."""
        assert self.study.units_expected is not None
        return self.study.units_expected

    def _span(self, part: NoisyReading) -> int:
        """The length of the interval in which one unit's share of the (first) integer lies.

        For a mean it is that of value - t * count at the true mean t, which is no longer than the box.
        """
        low, high = part.reading.sensitivity.boxes[0]
        if len(part.reading.coordinates) == 1:
            low, high = min(low, 0), max(high, 0)
        return (high - low) * part.reading.sensitivity.rows

    def _failure(self, query: int) -> Fraction:
        """The part of the failure probability that this query's noise may use."""
        assert isinstance(self.schedule, WidthSchedule)
        known = self.schedule.queries
        return self.schedule.noise_failure * (Fraction(1, known) if known else query_share(query))


@lru_cache(maxsize=16)
def _open_schedule(validity: Validity, delta: Fraction) -> WidthSchedule:
    assert validity.stability is not None
    failure = (1 - validity.confidence) * (1 - FOR_DESCRIBED - FOR_THEIR_NOISE)
    return WidthSchedule.plan(failure, validity.stability, _LEVELS, queries=validity.queries, delta=delta)
