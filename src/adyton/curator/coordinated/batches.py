"""The walk of a batch whose values all follow from one measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adyton.certify import Step
from adyton.curator.certifying import PopulationClaims
from adyton.curator.purse import Purse
from adyton.kernel.exact import units_up
from adyton.kernel.ledger.texts import Stored
from adyton.kernel.ledger.validity import FinalCost
from adyton.kernel.noise.refine import Integers
from adyton.noise_intervals.strategies import deviation_of
from adyton.planning.coordinated.choosing import CoordinatedBatch
from adyton.planning.coordinated.inferred import (
    MeasuredIntegers,
    final_radius_together,
    measurement_from_text,
    measurement_to_text,
)
from adyton.planning.plan import PricedBatch


def written_together(batch: PricedBatch, claims: PopulationClaims) -> WrittenTogether:
    assert isinstance(batch, CoordinatedBatch)
    return WrittenTogether(batch, claims)


def told_together(batch: PricedBatch, purse: Purse) -> tuple[str, Step]:
    """What a preview says of the strategy, and of its noise."""
    assert isinstance(batch, CoordinatedBatch)
    own, unit, pure = batch.noise.mechanism, batch.unit, batch.noise.is_pure
    gain = f"{batch.gain:,.3g} times less" if batch.gain >= 1 else f"{1 / batch.gain:,.3g} times more"
    gained = f"it costs {gain}" if batch.price.by == "within" else f"{gain} variance"
    moved = float(own.strategy.l1_diameter(unit.adjacency))
    if not pure:
        moved = own.strategy.l2_diameter_squared(unit.adjacency) ** 0.5
    step = Step(
        value="all values",
        mechanism=f"{own.strategy.name}, {'two-sided geometric' if pure else 'rounded Gaussian'}",
        scales=(deviation_of(own),),
        sensitivity=unit.rows * moved,
        cost=purse.amount(batch.amount),
    )
    return f"{batch.noise.measuring.kind}, one strategy for all: {gained} than each for itself", step


@dataclass(frozen=True, slots=True)
class WrittenTogether:
    """Stored is what was measured; each part of each plan gets all of it."""

    batch: CoordinatedBatch
    claims: PopulationClaims

    def made(self, noisy: Integers) -> Sequence[Stored]:
        return self._of_each(MeasuredIntegers(noisy, self.batch.noise))

    def text(self, kept: Sequence[Stored]) -> str:
        measurement = kept[0].released[0][0]
        assert isinstance(measurement, MeasuredIntegers)
        return measurement_to_text(measurement)

    def read(self, text: str) -> Sequence[Stored]:
        return self._of_each(measurement_from_text(text))

    def final_cost(self, number: int, kept: Sequence[Stored]) -> FinalCost | None:
        units, measurement = self.claims.units_of_final_cost(self.batch), kept[0].released[0][0]
        if units is None:
            return None
        assert isinstance(measurement, MeasuredIntegers)
        failure = self.claims.noise_failure(number)
        radius = final_radius_together(measurement, self.batch.radius, units, failure)
        return FinalCost(radius, units_up(failure))

    def _of_each(self, measurement: MeasuredIntegers) -> Sequence[Stored]:
        return [Stored([[measurement] for _ in plan.parts]) for plan in self.batch.plans]
