"""From noisy integers back to the rows of an answer, and what these may say about the population."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from threading import Lock

import numpy as np

from adyton.arithmetic.ratio import intervals_of
from adyton.certify import (
    AnswerBits,
    Certificate,
    DiscoveryResult,
    KeyedRows,
    Later,
    LateValues,
    Values,
)
from adyton.kernel.accounting.noisy_reading import NoisyReading, step_of, step_of_one
from adyton.kernel.exact import UNITS_PER_ONE, units_up
from adyton.kernel.exact.cells import Cells, Floats, whole
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.base import counted_number, counted_totals
from adyton.kernel.ledger.texts import Stored
from adyton.kernel.ledger.validity import FinalCost
from adyton.kernel.measurement import Columns
from adyton.kernel.sensitivity import Reading, Sensitivity
from adyton.kernel.terms.measures import Extreme
from adyton.ledgers.shared_budget.ledger import shared_budget_ledger
from adyton.planning.advice import later_widths
from adyton.planning.discovery import found
from adyton.planning.learned import Learned, UnitRange, final_radius
from adyton.planning.part import MeasurePlan
from adyton.planning.plan import PricedBatch, QueryPlan
from adyton.population.base import Population, PopulationContext, StandIn
from adyton.population.position import Position
from adyton.population.subset import SubsetPopulation
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.text import names_given
from adyton.study import Study

_MOST_KEPT = 64  # answers whose numbers are kept
_FEW = 1_000  # numbers of one answer
Reads = Callable[[], Sequence[Stored]]  # what a receipt paid for, read when it is needed


def rows_of_many(
    plans: Sequence[QueryPlan], stored: Sequence[Stored], context: PopulationContext
) -> list[KeyedRows]:
    """The rows of each answer."""
    values = values_of_many(plans, stored, context)
    return [
        KeyedRows(plan.keys(own.keys), found) for plan, own, found in zip(plans, stored, values, strict=True)
    ]


def read_for_keys(plans: Sequence[QueryPlan], read: Reads) -> Sequence[Stored | None]:
    """What is stored, where only it says how many rows there are; nothing where all keys are declared."""
    if any(plan.discovery is not None for plan in plans):
        return read()
    return [None] * len(plans)


class LateNumbers:
    """The numbers of one receipt, made when somebody looks at the first of them, and then kept.

    There may be millions of them, and whoever asks may want the receipt, or what is left.
    """

    def __init__(self, plans: Sequence[QueryPlan], read: Reads, context: PopulationContext) -> None:
        self._plans, self._standing = plans, context
        self._read: Reads | None = read
        self._made: list[dict[str, Values]] = []
        self._lock = Lock()

    def rows(self) -> list[KeyedRows]:
        return [
            KeyedRows(plan.keys(), LateValues([part.name for part in plan.parts], partial(self._of, place)))
            for place, plan in enumerate(self._plans)
        ]

    def stand(self, plans: Sequence[QueryPlan], context: PopulationContext) -> bool:
        """Whether they are the numbers of that receipt, what they would be now, and under these names."""
        own = self._standing
        if [names_given(plan.query) for plan in plans] != [names_given(p.query) for p in self._plans]:
            return False
        return (context.at, context.units) == (own.at, own.units) and _alike(context.learned, own.learned)

    def _of(self, place: int) -> dict[str, Values]:
        with self._lock:
            if self._read is not None:
                self._made = values_of_many(self._plans, self._read(), self._standing)
                self._read = None  # what was stored is needed no more, and may be large
            return self._made[place]


class NewestNumbers:
    """Those of the newest answers are kept: who asks the same again does not wait for them again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, LateNumbers] = OrderedDict()
        self._are_few, self._lock = True, Lock()

    def of(self, plans: Sequence[QueryPlan], read: Reads, context: PopulationContext) -> LateNumbers:
        number, are_few = context.at.query, sum(map(_size, plans)) <= _FEW
        with self._lock:
            found = self._kept.pop(number, None)
            if found is None or not found.stand(plans, context):
                found = LateNumbers(plans, read, context)
            if not (are_few and self._are_few):  # beside so many there is no room for others
                self._kept.clear()
            self._kept[number], self._are_few = found, are_few
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return found


def _size(plan: QueryPlan) -> int:
    return number_of_cells(plan.query) * len(plan.parts)


def _alike(some: Mapping[Hashable, Floats], others: Mapping[Hashable, Floats]) -> bool:
    return some.keys() == others.keys() and all(np.array_equal(some[key], others[key]) for key in some)


def values_of_many(
    plans: Sequence[QueryPlan], stored: Sequence[Stored], context: PopulationContext
) -> list[dict[str, Values]]:
    """The values of each answer.  What is alike is told together, and so is all that must be searched for."""
    parts = [
        (part, released)
        for plan, own in zip(plans, stored, strict=True)
        for part, released in zip(plan.parts, own.released, strict=True)
    ]
    values = iter(_told_together(parts, context))
    return [{part.name: next(values) for part in plan.parts} for plan in plans]


def _told_together(parts: Sequence[tuple[MeasurePlan, Columns]], context: PopulationContext) -> list[Values]:
    alike: dict[Hashable, list[int]] = {}
    for place, (part, _) in enumerate(parts):
        alike.setdefault(part.alike(context) or place, []).append(place)
    joined = [(parts[own[0]][0], _joined([parts[place][1] for place in own])) for own in alike.values()]
    ratios = [part.ratios(columns, context) for part, columns in joined]
    solved = iter(intervals_of([ratio for own in ratios for ratio in own]))
    told: dict[int, Values] = {}
    for places, (part, columns), own in zip(alike.values(), joined, ratios, strict=True):
        values = part.values(columns, context, [next(solved) for _ in own])
        told |= zip(places, _parted(values, [len(parts[place][1][0]) for place in places]), strict=True)
    return [told[place] for place in range(len(parts))]


def _joined(each: Sequence[Columns]) -> Columns:
    """The cells of all, one after another."""
    if len(each) == 1:
        return each[0]
    return [Cells(np.concatenate([whole(column) for column in own])) for own in zip(*each, strict=True)]


def _parted(values: Values, sizes: Sequence[int]) -> list[Values]:
    if len(sizes) == 1:
        return [values]  # not its cells: a quantile is told by fewer values than it has cells
    ends = np.cumsum(sizes).tolist()
    return [values.at(slice(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


def found_in(plan: QueryPlan, stored: Stored | None, receipt: int) -> DiscoveryResult | None:
    """What the answer says about groups that it does not show."""
    if plan.discovery is None or stored is None or stored.keys is None:
        return None
    return found(plan.discovery, len(stored.keys), stored.noisy_number, receipt)


def cells_in(plan: QueryPlan, stored: Stored | None) -> int:
    """How many groups the answer has; at least 1, so that a preview has something to say."""
    if not plan.query.discovers_groups:
        return number_of_cells(plan.query)
    return max(1, len(stored.keys or ())) if stored is not None else 1


def scales_of(noisy: NoisyReading) -> tuple[float, ...]:
    """The noise in the units of the answer, or squared where a square is read, and of a count in rows."""
    scaled = zip(noisy.mechanism.scales, noisy.reading.coordinates, strict=True)
    return tuple(float(scale * step_of_one(coordinate)) for scale, coordinate in scaled)


def sensitivity_of(noisy: NoisyReading) -> float:
    """How far one unit can move the (first) number that is read, in the units of the answer."""
    whole = noisy.reading.sensitivity
    first = Sensitivity(whole.boxes[:1], whole.cells, whole.adjacency, whole.rows, whole.touched)
    one = (Fraction(1),)
    moved = (
        float(first.l2_diameter_squared(one)) ** 0.5
        if noisy.mechanism.gaussian
        else float(first.l1_diameter(one))
    )
    return moved * float(step_of(noisy.reading))


# What may be said about the population ---------------------------------------------------------------------


class PopulationClaims:
    """Looks at the ledger, and never charges."""

    def __init__(self, study: Study, ledger: Ledger, population: Population) -> None:
        self._study, self._ledger, self._population = study, ledger, population
        self.stand_in, self._learned = StandIn(study, ledger, population), Learned(study, ledger)

    def context(
        self, batch: PricedBatch, at: Position, known: Sequence[Stored | None] = ()
    ) -> PopulationContext:
        known, readings = known or [None] * len(batch.plans), batch.readings
        values = sum(plan.values(cells_in(plan, own)) for plan, own in zip(batch.plans, known, strict=True))
        unproved = at.unproved or batch.unproved
        at = replace(at, values=values, elsewhere=self._elsewhere(readings), unproved=unproved)
        units = self._population.units_read(self.stand_in.units())
        context = PopulationContext(self._population, at, units)
        learned = self._learned.spreads(readings, context)
        return replace(context, learned=learned) if learned else context

    def _elsewhere(self, readings: Iterable[Reading]) -> bool:
        """Whether another table than the one that is a sample is asked, or a join."""
        read = {id(reading.table): reading.table for reading in readings if reading.table is not None}
        return any(table.behind != self._study.table for table in read.values())

    def of_next(self, batch: PricedBatch) -> PopulationContext:
        """Where the answers would stand if they were asked now."""
        return self.context(batch, Position.after(counted_totals(self._ledger), batch.radius))

    def later(self, radius: int, pure: int = 0, *, unproved: bool = False) -> Later | None:
        """What later answers would pay for something that is charged now."""
        at = Position.after(counted_totals(self._ledger), radius)
        paid = at.pure + Fraction(pure, UNITS_PER_ONE)
        after = replace(at, pure=paid, unproved=at.unproved or unproved)
        units = self.stand_in.units()
        units = self._population.units_read(units) if self._study.parts == 1 else units
        return later_widths(self._study, PopulationContext(self._population, at, units), after)

    def transcript(self, batch: PricedBatch) -> AnswerBits | None:
        """Where answers are rounded: the bits of all before, and of these."""
        if self._study.grid is None:
            return None
        return AnswerBits(self._ledger.totals().radius, batch.radius)

    def refuse_beyond_cap(self, radius: int) -> None:
        """Refuses what the ledger would refuse in the charge, before anything is prepared."""
        cap = self._population.cap
        if cap is not None:
            totals = counted_totals(self._ledger)
            cap.check(totals.receipts, totals.radius, radius)

    def units_of_final_cost(self, batch: PricedBatch) -> UnitRange | None:
        """How many units there are, where final validity costs may be less than what was charged."""
        population = self._population
        if not isinstance(population, SubsetPopulation) or population.validity is None:
            return None
        if self._study.one_by_one:
            return None  # no later answer is about the same units, or bits are what it pays
        if self._elsewhere(
            batch.readings
        ):  # what persons add who are in no sample hides how few of the sample do
            return None
        if self._study.unit.adjacency == "replace-one":
            rows = self._study.table.rows or 0
            return UnitRange(population.units_surely_read(rows), population.units_read(rows) or rows)
        if (count := self.stand_in.counted) is not None:
            return UnitRange(population.units_at_least(count), population.units_at_most(count))
        return None

    def noise_failure(self, number: int) -> Fraction:
        """How likely the noise of this answer may be larger than its final radius takes it to be."""
        assert isinstance(self._population, SubsetPopulation)
        return self._population.noise_failure(counted_number(self._ledger, number))

    def final_cost(self, batch: PricedBatch, number: int, released: Sequence[Stored]) -> FinalCost | None:
        """What validity pays for the answer, now that it is known; None: what was charged."""
        population, units = self._population, self.units_of_final_cost(batch)
        if units is None:
            return None
        assert isinstance(population, SubsetPopulation)
        context = PopulationContext(population, Position.after(counted_totals(self._ledger)), units.most)
        squares = self._learned.squares_in_sample(batch.readings, context, units, {number: released})
        failure = self.noise_failure(number)
        return FinalCost(final_radius(batch, released, units, failure, squares), units_up(failure))

    def certificate(self, plan: QueryPlan, context: PopulationContext) -> Certificate:
        known = plan.certificate
        if (shared_budget := shared_budget_ledger(self._ledger)) is not None:
            known = known.citing("SHARED-BUDGET", assuming=shared_budget.said)
        if all(isinstance(measure, Extreme) for _, measure in plan.query.measures):
            return known  # nothing is said about a population's extremes
        ratios = any(len(noisy.reading.coordinates) > 1 for noisy in plan.noisy)
        nats = {part.name: part.only.nats for part in plan.parts}
        theorems, assumptions = self._population.certificate(
            context.at, context.units, ratios=ratios, nats=list(nats.values())
        )
        sums = [noisy.reading for noisy in plan.noisy if len(noisy.reading.coordinates) == 1]
        if theorems and any(context.learned_of(reading) is not None for reading in sums):
            theorems += tuple(name for name in ("SUBSET-SUMS", "SUBSET-BENNETT") if name not in theorems)
        lengths = {name: length for name, length in nats.items() if length is not None} if theorems else {}
        return Certificate(known.theorems + theorems, known.assumptions + assumptions, lengths)
