"""What an answer may say about the population, and what validity pays for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from adyton.certify import Certificate, Later
from adyton.curator.certifying import cells_in
from adyton.exact import UNITS_PER_ONE
from adyton.ledger import Ledger
from adyton.planning.advice import later_widths
from adyton.planning.learned import Learned
from adyton.planning.plan import PricedBatch, QuestionPlan
from adyton.planning.settling import Units, settled_radius
from adyton.population.base import Population, PopulationContext, Position, learned_key
from adyton.population.subset import SubsetPopulation
from adyton.population.unit_count import StandIn
from adyton.query.measures import Extreme
from adyton.study import Study
from adyton.wire import Stored


class PopulationClaims:
    """Looks at the ledger, and never charges."""

    def __init__(self, study: Study, ledger: Ledger, population: Population) -> None:
        self._study, self._ledger, self._population = study, ledger, population
        self.stand_in, self._learned = StandIn(study, ledger, population), Learned(study, ledger)

    def context(
        self, batch: PricedBatch, at: Position, known: Sequence[Stored | None] = ()
    ) -> PopulationContext:
        known = known or [None] * len(batch.plans)
        values = sum(plan.values(cells_in(plan, own)) for plan, own in zip(batch.plans, known, strict=True))
        unproved = at.unproved or batch.unproved
        at = replace(at, values=values, elsewhere=self._elsewhere(batch), unproved=unproved)
        units = self._population.units_read(self.stand_in.units())
        context = PopulationContext(self._population, at, units)
        return replace(context, learned=self._learned.spreads(batch.readings, context))

    def _elsewhere(self, batch: PricedBatch) -> bool:
        """Whether another table than the one that is a sample is asked, or a join."""
        return any(reading.table not in (None, self._study.table) for reading in batch.readings)

    def of_next(self, batch: PricedBatch) -> PopulationContext:
        """Where the answers would stand if they were asked now."""
        return self.context(batch, Position.after(self._ledger.totals(), batch.radius))

    def later(self, radius: int, pure: int = 0, *, unproved: bool = False) -> Later | None:
        """What later answers would pay for something that is charged now."""
        at = Position.after(self._ledger.totals(), radius)
        paid = at.pure + Fraction(pure, UNITS_PER_ONE)
        after = replace(at, pure=paid, unproved=at.unproved or unproved)
        return later_widths(
            self._study, PopulationContext(self._population, at, self.stand_in.units()), after
        )

    def refuse_beyond_cap(self, radius: int) -> None:
        """Refuses what the ledger would refuse in the charge, before anything is prepared."""
        cap, totals = self._population.cap, self._ledger.totals()
        if cap is not None:
            cap.check(totals.receipts, totals.radius, radius)

    def settled(self, batch: PricedBatch, number: int, released: Sequence[Stored]) -> int | None:
        """What validity pays for the answer, now that it is known; None: what was charged."""
        population = self._population
        if not isinstance(population, SubsetPopulation) or population.validity is None:
            return None
        if self._study.parts > 1:
            return None  # no later answer is about the same units
        if self._elsewhere(batch):  # what persons add who are in no sample hides how few of the sample do
            return None
        if self._study.unit.neighbours == "replace":
            rows = self._study.table.rows or 0
            units = Units(rows, rows)
        elif (count := self.stand_in.counted) is not None:
            units = Units(population.units_at_least(count), population.units_at_most(count))
        else:
            return None
        context = PopulationContext(population, Position.after(self._ledger.totals()), units.most)
        squares = self._learned.squares_in_sample(batch.readings, context, units, {number: released})
        return settled_radius(batch, released, units, population.noise_failure(number), squares)

    def certificate(self, plan: QuestionPlan, context: PopulationContext) -> Certificate:
        if all(isinstance(measure, Extreme) for _, measure in plan.question.measures):
            return plan.certificate  # nothing is said about a population's extremes
        ratios = any(len(noisy.reading.coordinates) > 1 for noisy in plan.noisy)
        theorems, assumptions = self._population.certificate(context.at, context.units, ratios=ratios)
        sums = [noisy.reading for noisy in plan.noisy if len(noisy.reading.coordinates) == 1]
        if theorems and any(learned_key(reading) in context.learned for reading in sums):
            theorems += tuple(name for name in ("SUBSET-SUMS", "SUBSET-BENNETT") if name not in theorems)
        known = plan.certificate
        return Certificate(known.theorems + theorems, known.assumptions + assumptions)
