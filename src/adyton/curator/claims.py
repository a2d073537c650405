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
from adyton.planning.plan import Basket, Plan
from adyton.planning.settling import Units, settled_radius
from adyton.population.base import Population, Position, Standing, learned_key
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

    def standing(self, basket: Basket, at: Position, known: Sequence[Stored | None] = ()) -> Standing:
        known = known or [None] * len(basket.plans)
        values = sum(plan.values(cells_in(plan, own)) for plan, own in zip(basket.plans, known, strict=True))
        unproved = at.unproved or basket.unproved
        at = replace(at, values=values, elsewhere=self._elsewhere(basket), unproved=unproved)
        units = self._population.units_read(self.stand_in.units())
        standing = Standing(self._population, at, units)
        return replace(standing, learned=self._learned.spreads(basket.readings, standing))

    def _elsewhere(self, basket: Basket) -> bool:
        """Whether another table than the one that is a sample is asked, or a join."""
        return any(reading.table not in (None, self._study.table) for reading in basket.readings)

    def of_next(self, basket: Basket) -> Standing:
        """Where the answers would stand if they were asked now."""
        return self.standing(basket, Position.after(self._ledger.totals(), basket.radius))

    def later(self, radius: int, pure: int = 0, *, unproved: bool = False) -> Later | None:
        """What later answers would pay for something that is charged now."""
        at = Position.after(self._ledger.totals(), radius)
        paid = at.pure + Fraction(pure, UNITS_PER_ONE)
        after = replace(at, pure=paid, unproved=at.unproved or unproved)
        return later_widths(self._study, Standing(self._population, at, self.stand_in.units()), after)

    def refuse_beyond_cap(self, radius: int) -> None:
        """Refuses what the ledger would refuse in the charge, before anything is prepared."""
        cap, totals = self._population.cap, self._ledger.totals()
        if cap is not None:
            cap.check(totals.receipts, totals.radius, radius)

    def settled(self, basket: Basket, number: int, released: Sequence[Stored]) -> int | None:
        """What validity pays for the answer, now that it is known; None: what was charged."""
        population = self._population
        if not isinstance(population, SubsetPopulation) or population.validity is None:
            return None
        if self._study.parts > 1:
            return None  # no later answer is about the same units
        if self._elsewhere(basket):  # what persons add who are in no sample hides how few of the sample do
            return None
        if self._study.unit.neighbours == "replace":
            rows = self._study.table.rows or 0
            units = Units(rows, rows)
        elif (count := self.stand_in.counted) is not None:
            units = Units(population.units_at_least(count), population.units_at_most(count))
        else:
            return None
        standing = Standing(population, Position.after(self._ledger.totals()), units.most)
        squares = self._learned.squares_in_sample(basket.readings, standing, units)
        return settled_radius(basket, released, units, population.noise_failure(number), squares)

    def certificate(self, plan: Plan, standing: Standing) -> Certificate:
        if all(isinstance(measure, Extreme) for _, measure in plan.question.measures):
            return plan.certificate  # nothing is said about a population's extremes
        ratios = any(len(noised.reading.coordinates) > 1 for noised in plan.noised)
        theorems, assumptions = self._population.certificate(standing.at, standing.units, ratios=ratios)
        sums = [noised.reading for noised in plan.noised if len(noised.reading.coordinates) == 1]
        if theorems and any(learned_key(reading) in standing.learned for reading in sums):
            theorems += tuple(name for name in ("SUBSET-SUMS", "SUBSET-BENNETT") if name not in theorems)
        known = plan.certificate
        return Certificate(known.theorems + theorems, known.assumptions + assumptions)
