"""Integers that are read, and the noise that they get: the smallest thing that is paid for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.rules import NO_RADIUS, Accounting
from adyton.kernel.exact import units_up
from adyton.kernel.mechanisms import Mechanism
from adyton.kernel.privacy import Cost
from adyton.kernel.schema import TextColumn
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity
from adyton.kernel.terms.measures import Extreme, Quantile

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class NoisyReading:
    """A reading and its noise, drawn ``times`` times.  What privacy and validity pay is in whole units.

    ``nats``: how long the description is of what is read, for one cell; None where it has none.
    """

    reading: Reading
    mechanism: Mechanism
    times: int = 1
    nats: float | None = None

    def amount(self, rule: Accounting) -> int:
        return self.times * _amount(self.mechanism, self.reading.sensitivity, rule)

    def amount_of_one_more(self, rule: Accounting) -> int:
        """What it would be if neighbors differed by one unit added or removed."""
        return self.times * _amount(self.mechanism, _one_more(self.reading.sensitivity), rule)

    def radius(self) -> int:
        """Where the keys of groups are found, their number has no bound: then the centre is at nothing."""
        if any(isinstance(group, TextColumn) for group in self.reading.by):
            return self.radius_from_nothing()
        return self.times * _radius(self.mechanism, self.reading.sensitivity)

    @property
    def most_numbers(self) -> int | None:
        """How many numbers with Gaussian noise are released, at most; None where that is not known in
        advance, or the noise is another one.
        """
        if not self.mechanism.gaussian or any(isinstance(group, TextColumn) for group in self.reading.by):
            return None
        searched = isinstance(self.reading.measure, Quantile | Extreme)  # compared in each cell of its own
        cells = self.reading.sensitivity.cells if searched else self.reading.cells
        return self.times * cells * len(self.reading.coordinates)

    def radius_from_nothing(self) -> int:
        """The radius around a unit that contributes nothing."""
        return self.times * _radius_from_nothing(self.mechanism, self.reading.sensitivity)


@lru_cache(maxsize=4096)
def _amount(mechanism: Mechanism, sensitivity: Sensitivity, rule: Accounting) -> int:
    """Worked out in exact fractions, and the same for the many queries of a batch that are alike."""
    return rule.amount(mechanism.cost(sensitivity))


@lru_cache(maxsize=4096)
def _radius_from_nothing(mechanism: Mechanism, sensitivity: Sensitivity) -> int:
    return stability_units(mechanism.cost(_one_more(sensitivity)))


def _one_more(sensitivity: Sensitivity) -> Sensitivity:
    return replace(sensitivity, adjacency="add-remove")


@lru_cache(maxsize=4096)
def _radius(mechanism: Mechanism, sensitivity: Sensitivity) -> int:
    return stability_units(mechanism.radius(sensitivity))


def stability_units(radius: Cost) -> int:
    """What validity pays, in units of mu**2 whatever the accounting of the study; rounded up."""
    if radius.gdp is None:
        raise InvalidRequest(NO_RADIUS)
    return max(1, units_up(radius.gdp))


def step_of(reading: Reading) -> Fraction:
    """What one step of the first integer means in the units of the answer."""
    return step_of_one(reading.coordinates[0])


def step_of_one(coordinate: Coordinate) -> Fraction:
    """The same of any one of them; of a count, in rows."""
    step = Fraction(1) if coordinate.value is None else coordinate.value.lattice.step
    return step / coordinate.times
