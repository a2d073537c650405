"""Counts of common cells, measured by one strategy for all values of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.measurement import Columns, Due, ReadOnce, Source
from adyton.kernel.noise import Bits
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.protection import Protection
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.histogram import Histogram, unit_of_all
from adyton.kernel.special.mechanisms.workloads.each_cell import EachCell
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured, GeometricMeasured
from adyton.kernel.special.mechanisms.workloads.product import Product
from adyton.kernel.special.mechanisms.workloads.residuals import Residuals
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy

Places = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Workload(ReadOnce):
    """``tables``: what the strategy calls each table that is counted, and how that is counted.

    ``at_least``: what is charged even if the noise costs less.
    """

    tables: tuple[tuple[Places, Histogram], ...]
    noise: GaussianMeasured | GeometricMeasured
    at_least: int = 1

    @property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(one.reading for _, one in self.tables)

    def due(self, protection: Protection) -> Due:
        """What the noise costs, from how far one unit moves all that the strategy measures.

        Claim:    all that is released costs at most this, under the accounting of the study.
        Assumes:  as the strategy; a unit adds 1 to one cell of each table for each of its rows, or nothing.
        Source:   the cost of the mechanism.  Theorem: MATRIX-MECHANISM-PRIVACY.
        """
        unit = self._checked(protection)
        amount = protection.rule.amount(self.noise.cost(unit.adjacency))
        radius, noise = stability_units(self.noise.radius()), self.noise
        known = ((noise.strategy.rows, radius),) if isinstance(noise, GaussianMeasured) else ()
        return Due(max(self.at_least, amount), radius, gaussian=known)

    def _checked(self, protection: Protection) -> PrivacyUnit:
        protection.refuse_split_or_rounded("a batch that is measured together")
        _, unit = unit_of_all([one for _, one in self.tables], protection)
        if type(self.noise) not in (GaussianMeasured, GeometricMeasured) or self.noise.rows_each != unit.rows:
            raise InvalidRequest("this noise is not made for the rows that a unit can have")
        if not _fits(self.noise.strategy, {name: list(one.shape) for name, one in self.tables}):
            raise InvalidRequest("this strategy does not measure the cells that are counted")
        return unit

    def release(self, source: Source, bits: Bits) -> Integers:
        return self.noise.release(self.histogram(source.exact()), bits)

    def histogram(self, exact: Iterable[Columns]) -> Any:
        """What the strategy measures, from the integers of the readings."""
        counted = zip(self.tables, exact, strict=True)
        tables = {name: one.counts(columns[0]) for (name, one), columns in counted}
        return histogram_of(self.noise.strategy, tables)


def histogram_of(strategy: object, tables: Mapping[Places, Any]) -> Any:
    """What a strategy measures: all tables of a strategy of residuals, otherwise the only one."""
    if isinstance(strategy, Residuals):
        return tables
    (only,) = tables.values()
    return only


def _fits(strategy: object, sizes: dict[Places, list[int]]) -> bool:
    """Whether a strategy of a known kind has one cell for each of those that are counted."""
    if type(strategy) is Residuals:
        classes = [attribute.classes for attribute in strategy.attributes]
        same = all([classes[place] for place in name] == own for name, own in sizes.items())
        return same and sorted(sizes) == sorted(strategy.tables)
    if len(sizes) != 1:
        return False
    (own,) = sizes.values()
    if type(strategy) is Product:
        return list(strategy.shape) == own
    return isinstance(strategy, EachCell | Strategy) and strategy.cells == prod(own)
