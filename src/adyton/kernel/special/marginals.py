"""Marginal tables that are chosen and measured one after the other, where a public guess is worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import Accounting
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.exact import UNITS_PER_ONE, units_up
from adyton.kernel.measurement import Due, ReadOnce, Source
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import PrivacyUnit, PureCost
from adyton.kernel.protection import Protection
from adyton.kernel.sensitivity import Reading, Sensitivity
from adyton.kernel.special.histogram import Histogram, moved, unit_of_all
from adyton.kernel.special.mechanisms.marginals.adaptive import (
    AdaptiveMarginals,
    AdaptiveRound,
    MarginalModel,
    NoisyMarginal,
)
from adyton.kernel.special.mechanisms.marginals.tables import Array, size_of, tables_of

Places = tuple[int, ...]
SELECTING = 10  # a tenth of what a round costs is for its selection


@dataclass(frozen=True, slots=True, eq=False)
class Marginals(ReadOnce):
    """``tables``: the axes of each table that is counted, and how; all marginals are sums of these.

    ``guess`` is public: it sees what was released, and nothing else.
    """

    tables: tuple[tuple[Places, Histogram], ...]
    machine: AdaptiveMarginals
    guess: MarginalModel
    rule: Accounting

    @property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(one.reading for _, one in self.tables)

    def due(self, protection: Protection) -> Due:
        """All units of the machine.  Validity pays a radius for what is measured, and for selections the
        epsilon of exchanging a unit.

        Claim:    all that is selected and measured costs at most this, under the accounting of the study.
        Assumes:  as the machine; ``step_for`` says what each step costs.
        Source:   composition of the rounds.  Theorem: ADAPTIVE-MARGINALS.
        """
        self._check(protection)
        machine, largest = self.machine, self.machine.sensitivity
        twice = 1 if largest.adjacency == "replace-one" else 2
        if protection.rule.capped:
            pure = PureCost(twice * Fraction(machine.units, UNITS_PER_ONE))
            return Due(machine.units, stability_units(pure))
        one = (Fraction(1),)
        part = largest.l2_radius_squared(one) / largest.l2_diameter_squared(one)
        measured = part * protection.rule.noise_cost(machine.units)
        return Due(machine.units, units_up(measured), units_up(twice * machine.most_epsilon))

    def _check(self, protection: Protection) -> None:
        protection.refuse_split_or_rounded("a synthetic table")
        _, unit = unit_of_all([one for _, one in self.tables], protection)
        machine, shape = self.machine, self.machine.shape
        fits = all(one.shape == tuple(shape[place] for place in by) for by, one in self.tables)
        if type(machine) is not AdaptiveMarginals or not fits:
            raise InvalidRequest("these marginals are not those of the axes that are counted")
        if machine.sensitivity != marginals_sensitivity(shape, machine.candidates, machine.first, unit):
            raise InvalidRequest("one unit moves these marginals farther than the machine allows for")
        if self.rule != protection.rule:
            raise InvalidRequest("the rounds of these marginals are not priced by the study's accounting")

    def release(self, source: Source, bits: Bits) -> Sequence[NoisyMarginal]:
        steps = partial(step_for, self.rule, self.machine.sensitivity)
        return self.machine.release(self._tables(source), self.guess, steps, bits)

    def _tables(self, source: Source) -> Mapping[Places, Array]:
        """The whole numbers of every marginal that may be measured."""
        wanted = {*self.machine.candidates, *self.machine.first}
        found: dict[Places, Array] = {}
        for (by, one), (column,) in zip(self.tables, source.exact(), strict=True):
            counted = one.counts(column).reshape(one.shape)
            here = {own: tuple(map(by.index, own)) for own in wanted - found.keys() if set(own) <= set(by)}
            tables = tables_of(counted, here.values())
            found |= {own: tables[places] for own, places in here.items()}
        return found


def marginals_sensitivity(
    shape: Sequence[int], candidates: Sequence[Places], first: Sequence[Places], unit: PrivacyUnit
) -> Sensitivity:
    """Of the largest marginal: no other moves farther, and none has a larger radius."""
    largest = max(size_of(shape, one) for one in (*candidates, *first))
    return moved(max(2, largest), unit)


def step_for(rule: Accounting, moved: Sensitivity, units: int) -> AdaptiveRound:
    """The step that so many units pay for, and what it costs by the accounting.

    Claim:    what ``selecting`` and ``measuring`` say is what is charged for them, and not above ``units``.
    Source:   the costs of the mechanisms.  Theorem: ADAPTIVE-MARGINALS.
    """
    epsilon = rule.largest_epsilon(units // SELECTING, rule.choice)
    selecting = rule.amount(rule.choice(epsilon))
    noise = rule.noise.for_cost(moved, rule.noise_cost(units - units // SELECTING))
    if not isinstance(noise, GaussianNoise | GeometricNoise):
        raise InvalidRequest("marginals are measured with Gaussian or geometric noise alone")
    step = AdaptiveRound(epsilon, selecting, noise, rule.amount(noise.cost(moved)))
    assert step.units <= units
    return step
