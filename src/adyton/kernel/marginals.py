"""Marginal tables that are chosen and measured one after the other, where a public guess is worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from adyton.accounting import Filter
from adyton.accounting.buying import cost_of_units, largest_epsilon
from adyton.accounting.noisy_reading import stability_units
from adyton.errors import InvalidRequest
from adyton.exact import UNITS_PER_ONE, units_up
from adyton.kernel.measurement import Due, ReadOnce, Source
from adyton.kernel.protection import Protection
from adyton.mechanisms import GaussianNoise, GeometricNoise
from adyton.mechanisms.marginals.adaptive import AdaptiveMarginals, Guess, Step
from adyton.mechanisms.marginals.fitting import Measured
from adyton.mechanisms.marginals.tables import Array, size_of, tables_of
from adyton.noise import Bits
from adyton.privacy import BoundedRangeCost, PrivacyUnit, PureCost
from adyton.query.conditions.atoms import Axes
from adyton.sensitivity import Reading, Sensitivity
from adyton.sensitivity.readings import readings_of

Places = tuple[int, ...]
SELECTING = 10  # a tenth of what a round costs is for its selection


@dataclass(frozen=True, slots=True, eq=False)
class Marginals(ReadOnce):
    """``read``: the axes of each table that is counted, of which all marginals are sums.

    ``guess`` is public: it sees what was released, and nothing else.
    """

    axes: Axes
    read: tuple[Places, ...]
    readings: tuple[Reading, ...]
    machine: AdaptiveMarginals
    guess: Guess
    rule: Filter

    def due(self, protection: Protection) -> Due:
        """All units of the machine.  Validity pays a radius for what is measured, and for selections the
        epsilon of exchanging a unit.

        Claim:    all that is selected and measured costs at most this, under the accounting of the study.
        Assumes:  as the machine; ``step_for`` says what each step costs.
        Source:   composition of the rounds.  Theorem: ADAPTIVE-MARGINALS.
        """
        self._check(protection)
        machine, moved = self.machine, self.machine.sensitivity
        twice = 1 if moved.neighbours == "replace" else 2
        if protection.is_pure:
            pure = PureCost(twice * Fraction(machine.units, UNITS_PER_ONE))
            return Due(machine.units, stability_units(pure))
        one = (Fraction(1),)
        part = moved.l2_radius_squared(one) / moved.l2_diameter_squared(one)
        measured = part * cost_of_units(protection.rule.name, machine.units)
        return Due(machine.units, units_up(measured), units_up(twice * machine.most_epsilon))

    def _check(self, protection: Protection) -> None:
        protection.refuse_split_or_rounded("a synthetic table")
        unit, machine = protection.unit_of(self.axes.table), self.machine
        wanted = tuple(one for by in self.read for one in readings_of(self.axes.question(by), unit))
        if self.readings != wanted or len(wanted) != len(self.read):
            raise InvalidRequest("marginals are counted in the cells of their tables")
        if type(machine) is not AdaptiveMarginals or machine.shape != self.axes.shape:
            raise InvalidRequest("these marginals are not those of the axes that are counted")
        if machine.sensitivity != marginals_sensitivity(self.axes, machine.candidates, machine.first, unit):
            raise InvalidRequest("one unit moves these marginals farther than the machine allows for")
        if self.rule != protection.rule:
            raise InvalidRequest("the rounds of these marginals are not priced by the study's accounting")

    def release(self, source: Source, bits: Bits) -> Sequence[Measured]:
        steps = partial(step_for, self.rule, self.machine.sensitivity)
        return self.machine.release(self._tables(source), self.guess, steps, bits)

    def _tables(self, source: Source) -> Mapping[Places, Array]:
        """The whole numbers of every marginal that may be measured."""
        wanted = {*self.machine.candidates, *self.machine.first}
        found: dict[Places, Array] = {}
        for by, (column,) in zip(self.read, source.exact(), strict=True):
            counted = self.axes.counts(column, by).reshape([self.axes.shape[place] for place in by])
            here = {own: tuple(map(by.index, own)) for own in wanted - found.keys() if set(own) <= set(by)}
            tables = tables_of(counted, here.values())
            found |= {own: tables[places] for own, places in here.items()}
        return found


def marginals_sensitivity(
    axes: Axes, candidates: Sequence[Places], first: Sequence[Places], unit: PrivacyUnit
) -> Sensitivity:
    """Of the largest marginal: no other moves farther, and none has a larger radius."""
    largest = max((*candidates, *first), key=lambda one: size_of(axes.shape, one))
    (reading,) = readings_of(axes.question(largest), unit)
    return replace(reading.sensitivity, cells=max(2, size_of(axes.shape, largest)))


def step_for(rule: Filter, moved: Sensitivity, units: int) -> Step:
    """The step that so many units pay for, and what it costs by the accounting.

    Claim:    what ``selecting`` and ``measuring`` say is what is charged for them, and not above ``units``.
    Source:   the costs of the mechanisms.  Theorem: ADAPTIVE-MARGINALS.
    """
    kind: type[GaussianNoise] | type[GeometricNoise] = (
        GeometricNoise if rule.name == "pure" else GaussianNoise
    )
    cost: type[PureCost] | type[BoundedRangeCost] = PureCost if rule.name == "pure" else BoundedRangeCost
    epsilon = largest_epsilon(rule, units // SELECTING, cost)
    selecting = rule.amount(cost(epsilon))
    noise = kind.for_cost(moved, cost_of_units(rule.name, units - units // SELECTING))
    step = Step(epsilon, selecting, noise, rule.amount(noise.cost(moved)))
    assert step.units <= units
    return step
