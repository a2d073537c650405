"""Counts of common cells, measured by one strategy for all values of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from adyton.accounting.noisy_reading import stability_units
from adyton.errors import InvalidRequest
from adyton.kernel.measurement import Columns, Due, ReadOnce, Source
from adyton.kernel.protection import Protection
from adyton.mechanisms.workloads.each_cell import EachCell
from adyton.mechanisms.workloads.measured import GaussianMeasured, GeometricMeasured
from adyton.mechanisms.workloads.product import Product
from adyton.mechanisms.workloads.residuals import Residuals
from adyton.mechanisms.workloads.strategy import Strategy
from adyton.noise import Bits
from adyton.noise.refine import Integers
from adyton.privacy import PrivacyUnit
from adyton.query.conditions.atoms import Axes
from adyton.sensitivity import Reading
from adyton.sensitivity.readings import readings_of

Places = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Workload(ReadOnce):
    """``tables``: of each table that is counted, what the strategy calls it, and which of the axes it has.

    ``at_least``: what is charged even if the noise costs less.
    """

    axes: Axes
    tables: tuple[tuple[Places, Places], ...]
    readings: tuple[Reading, ...]
    noise: GaussianMeasured | GeometricMeasured
    at_least: int = 1

    def due(self, protection: Protection) -> Due:
        """What the noise costs, from how far one unit moves all that the strategy measures.

        Claim:    all that is released costs at most this, under the accounting of the study.
        Assumes:  as the strategy; a unit adds 1 to one cell of each table for each of its rows, or nothing.
        Source:   the cost of the mechanism.  Theorem: MATRIX-MECHANISM-PRIVACY.
        """
        unit = self._checked(protection)
        amount = protection.rule.amount(self.noise.cost(unit.neighbours))
        return Due(max(self.at_least, amount), stability_units(self.noise.radius()))

    def _checked(self, protection: Protection) -> PrivacyUnit:
        protection.refuse_split_or_rounded("a batch that is measured together")
        unit = protection.unit_of(self.axes.table)
        wanted = tuple(one for _, by in self.tables for one in readings_of(self.axes.question(by), unit))
        if self.readings != wanted or len(wanted) != len(self.tables):
            raise InvalidRequest("a strategy measures the cells of its tables, and nothing else")
        if type(self.noise) not in (GaussianMeasured, GeometricMeasured) or self.noise.rows_each != unit.rows:
            raise InvalidRequest("this noise is not made for the rows that a unit can have")
        sizes = {name: [self.axes.shape[place] for place in by] for name, by in self.tables}
        if not _fits(self.noise.strategy, sizes):
            raise InvalidRequest("this strategy does not measure the cells that are counted")
        return unit

    def release(self, source: Source, bits: Bits) -> Integers:
        return self.noise.release(self.histogram(source.exact()), bits)

    def histogram(self, exact: Iterable[Columns]) -> Any:
        """What the strategy measures, from the integers of the readings."""
        tables = {
            name: self.axes.counts(columns[0], by)
            for (name, by), columns in zip(self.tables, exact, strict=True)
        }
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
