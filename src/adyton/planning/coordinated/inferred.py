"""Values of a batch that were measured together: the way back from what is stored, with intervals; and what
validity pays for them, now that they are known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arithmetic.ratio import Ratio, Solved
from adyton.certify import Absent, Bound, Intervals, Values
from adyton.errors import LedgerCorrupt
from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.kernel.exact import float_up, units_up
from adyton.kernel.exact.cells import Cells, Floats, whole
from adyton.kernel.exact.outward import COARSE, FEW, MANY
from adyton.kernel.exact.special import special
from adyton.kernel.ledger.texts import Stored, many_from_text, many_to_text
from adyton.kernel.measurement import Columns
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured, GeometricMeasured
from adyton.noise_intervals.strategies import deviation_of, simultaneous_widths, widths_of
from adyton.planning.coordinated.linear import CellSums
from adyton.planning.coordinated.measuring import Measuring, Norms, measuring_from
from adyton.planning.learned import UnitRange
from adyton.planning.measures.additive import population_bound_of
from adyton.population.base import PopulationContext
from adyton.population.subset import SubsetPopulation
from adyton.validity.subset.tails import FINAL_RADIUS_FROM

PURE = Absent("in a pure study nothing is proved about the population for values that are measured together")
CHOSEN_LATE = Absent("it was derived from an earlier answer, which may have led to it: ask it to get one")
_LEAST = 1e-9  # of a deviation: a value that no row can be in has none


@dataclass(frozen=True, eq=False)
class StrategyNoise:
    """What is measured, and which noise it gets."""

    measuring: Measuring
    mechanism: GaussianMeasured | GeometricMeasured

    @property
    def is_pure(self) -> bool:
        return isinstance(self.mechanism, GeometricMeasured)

    def widths(self, norms: Norms, level: float = LEVEL) -> Floats:
        return widths_of(self.mechanism, norms.deviations, norms.largest, level)

    def told(self) -> dict[str, Any]:
        own = self.mechanism
        if isinstance(own, GeometricMeasured):
            noise: dict[str, Any] = {"geometric": str(own.scale)}
        else:
            noise = {"gaussian": str(own.sigma), "steps": own.steps}
        return {"strategy": self.measuring.told(), **noise, "rows_each": own.rows_each}

    @classmethod
    def of(cls, told: dict[str, Any]) -> StrategyNoise:
        measuring, rows = measuring_from(told["strategy"]), told["rows_each"]
        if "geometric" in told:
            return cls(measuring, GeometricMeasured(measuring.strategy, Fraction(told["geometric"]), rows))
        sigma = Fraction(told["gaussian"])
        return cls(measuring, GaussianMeasured(measuring.strategy, sigma, told["steps"], rows))


class MeasuredIntegers(Cells):
    """Noisy integers, and how they were measured: enough for every value that follows from them."""

    __slots__ = ("estimate", "length", "noise")

    def __init__(self, values: Any, noise: StrategyNoise) -> None:
        super().__init__(values)
        self.noise, counted = noise, noise.mechanism
        steps = counted.steps if isinstance(counted, GaussianMeasured) else 1
        numbers = whole(self).astype(float) / steps
        self.length = float(np.sqrt((numbers**2).sum()))
        self.estimate = noise.measuring.estimate(numbers)


def measurement_to_text(measurement: MeasuredIntegers) -> str:
    released = json.loads(many_to_text([Stored([[measurement]])]))
    return json.dumps({"together": measurement.noise.told(), "measured": released})


def measurement_from_text(text: str) -> MeasuredIntegers:
    try:
        known = json.loads(text)
        noise = StrategyNoise.of(known["together"])
        (((measured,),),) = (many_from_text(json.dumps(known["measured"]))[0].released,)
        if len(measured) != noise.measuring.strategy.rows:
            raise ValueError("not what was stored")
        return MeasuredIntegers(whole(measured), noise)
    except (ValueError, TypeError, KeyError):
        raise LedgerCorrupt("a stored answer cannot be read back") from None


@dataclass(frozen=True, slots=True)
class Inferred:
    """One measure of a query of a batch: sums of cells, by least squares from what all are measured by.

    Claim:    each noise interval, by itself, has its level; each population interval has its part of the
              study's; values that are sums of each other are so in the answer.
    Assumes:  what was measured, and how, was fixed before its noise was drawn.
    Source:   derived on the theorem's page.  Theorem: COORDINATED-ANSWERS.
    """

    reading: Reading  # of the measure, as if it was asked alone
    linear: CellSums
    planned: StrategyNoise
    norms: Norms
    nats: float | None = None
    theorems = ("COORDINATED-ANSWERS",)
    noises = 1
    keys = None

    @property
    def name(self) -> str:
        return self.reading.name

    @property
    def only(self) -> NoisyReading:
        """As if it was read alone, with the noise that its widest value has."""
        scale = Fraction(
            max(deviation_of(self.planned.mechanism) * float(self.norms.deviations.max()), _LEAST)
        )
        noise = GeometricNoise((scale,)) if self.planned.is_pure else GaussianNoise((scale,))
        return NoisyReading(self.reading, noise, nats=self.nats)

    def alike(self, context: PopulationContext) -> Hashable:
        return None

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        return []

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        (measurement,) = released
        assert isinstance(measurement, MeasuredIntegers)
        noise, scale = measurement.noise, self._scale
        norms = self.norms if noise is self.planned else noise.measuring.norms(self.linear)
        found = noise.measuring.values(self.linear, measurement.estimate)
        slack = MANY * (norms.deviations * measurement.length + np.abs(found))
        slack = slack + norms.off * noise.measuring.mass(measurement.estimate)
        width = self._widths(noise, norms, context.noise_level) + slack
        near = Intervals(context.noise_level, *_outward(found, width, scale))
        return Values(found * scale, near, self._population(found, norms, slack, noise, context))

    def _widths(self, noise: StrategyNoise, norms: Norms, level: float) -> Floats:
        return noise.widths(norms, level)

    def _population(
        self, found: Floats, norms: Norms, slack: Floats, noise: StrategyNoise, context: PopulationContext
    ) -> Intervals | Absent:
        population = context.population
        if (absent := context.missing(self.only)) is not None:
            return absent
        if not isinstance(population, SubsetPopulation) or isinstance(noise.mechanism, GeometricMeasured):
            return PURE
        rows = noise.mechanism.rows_each
        rounding = norms.deviations * (noise.mechanism.strategy.rows**0.5 / 2 / noise.mechanism.steps)
        slack = slack + rounding + norms.off * float(context.known_units * rows)
        scales = np.maximum(deviation_of(noise.mechanism) * norms.deviations, _LEAST)
        low, high, way = population.combined(self.only, found, scales, slack * (1 + MANY), rows, context)
        nothing = np.zeros(len(found))
        return Intervals(
            population.level,
            _outward(low, nothing, self._scale)[0],
            _outward(high, nothing, self._scale)[1],
            way=way,
        )

    @property
    def _scale(self) -> float:
        """From rows to the units of the answer: a proportion is of all rows, whose number is public."""
        return 1.0 if self.reading.public_rows is None else 1 / self.reading.public_rows

    def bound(self, expected_rows: int | None) -> Bound:
        return Bound(LEVEL, float_up(Fraction(self.widest * self._scale * (1 + FEW))))

    @property
    def widest(self) -> float:
        """In rows."""
        return float(self._widths(self.planned, self.norms, LEVEL).max())

    def population_bound(
        self, context: PopulationContext, expected_rows: int | None, expect: Fraction | None = None
    ) -> Bound | Absent:
        if (absent := context.missing(self.only)) is not None:
            return absent
        if self.planned.is_pure:
            return PURE
        width = context.population.half_width(self.only, context, expected_rows, expect)
        return population_bound_of(context, width)


@dataclass(frozen=True, slots=True)
class Derived(Inferred):
    """A value that follows from what was measured for others, asked after the noise was seen.

    Claim:    with the level of the noise interval, all values that are derived from one measurement lie in
              their intervals at once.
    Assumes:  nothing about how the query was chosen.
    Source:   derived on the theorem's page.  Theorem: DERIVED-ANSWERS.
    """

    theorems = ("DERIVED-ANSWERS",)

    def _widths(self, noise: StrategyNoise, norms: Norms, level: float) -> Floats:
        rank = noise.measuring.rank
        return simultaneous_widths(noise.mechanism, norms.deviations, norms.sums, rank, level)

    def _population(
        self, found: Floats, norms: Norms, slack: Floats, noise: StrategyNoise, context: PopulationContext
    ) -> Intervals | Absent:
        return CHOSEN_LATE


def _outward(values: Floats, width: Floats, scale: float) -> tuple[Floats, Floats]:
    low, high = (values - width) * scale, (values + width) * scale
    return low - FEW * np.abs(low), high + FEW * np.abs(high)


def final_radius_together(
    measurement: MeasuredIntegers, charged: int, units: UnitRange, failure: Fraction
) -> int:
    """At most what was charged; all of it where nothing can be said about how spread the units were.

    Claim:    with probability 1 - failure the mean squared distance of the units from their mean, in units
              of the noise and over all that was measured, is at most this.
    Assumes:  the number of units is in ``units``.
    Source:   derived here.  Theorem: SUBSET-VARIANCE.
    """
    own = measurement.noise.mechanism
    if not isinstance(own, GaussianMeasured) or units.least < FINAL_RADIUS_FROM:
        return charged
    rows, deviation = own.strategy.rows, deviation_of(own)
    noise = deviation * math.sqrt(float(special().chdtri(rows, float(failure)))) * (1 + COARSE)
    noise += math.sqrt(rows) / 2 / own.steps
    mean = max(measurement.length * (1 - COARSE) - noise, 0.0) / units.most
    farthest = float_up(Fraction(own.rows_each**2 * own.strategy.l2_diameter_squared("add-remove")))
    spread = max(farthest - mean**2 * (1 - COARSE), 0.0) * (1 + COARSE)
    in_noise = Fraction(spread) * own.steps**2 / own.sigma**2
    return min(charged, max(1, units_up(in_noise)))
