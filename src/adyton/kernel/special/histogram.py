"""Rows in the cells of a table: what workloads and marginals are measured of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import whole
from adyton.kernel.noise.refine import Integers
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.protection import Protection
from adyton.kernel.schema import Table
from adyton.kernel.sensitivities import check_reading
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity
from adyton.kernel.terms.measures import Count


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """``places``: for each integer of the reading, the cell in which its rows are counted."""

    reading: Reading
    places: Integers
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)

    def unit(self, protection: Protection) -> PrivacyUnit:
        """Who is protected; refuses what is no count, or is counted in more cells than one.

        Claim:    one row adds 1 to one cell, or to none.
        Assumes:  as ``sensitivity_of``.
        Source:   every integer is added to one cell, whichever that is.  Theorem: L1-SENSITIVITY.
        """
        reading = self.reading
        if reading.table is None or reading.persons is not None or not isinstance(reading.measure, Count):
            raise InvalidRequest("the cells of a histogram are counts of rows")
        if reading.coordinates != (Coordinate(),) or len(self.places) != reading.cells:
            raise InvalidRequest("every integer is counted in one cell of a histogram")
        unit = protection.unit_of(reading.table)
        check_reading(reading, unit)
        return unit

    def counts(self, column: Sequence[int]) -> Integers:
        """From the integers of the reading."""
        counted = np.zeros(self.size, np.int64)
        np.add.at(counted, self.places, whole(column).astype(np.int64))
        return counted


def unit_of_all(histograms: Sequence[Histogram], protection: Protection) -> tuple[Table, PrivacyUnit]:
    """The table that all of them count, and who is protected in it."""
    units = {id(one.reading.table): one.unit(protection) for one in histograms}
    table = histograms[0].reading.table if histograms else None
    if table is None or any(one.reading.table != table for one in histograms):
        raise InvalidRequest("histograms that are measured together are of one table")
    return table, next(iter(units.values()))


def moved(size: int, unit: PrivacyUnit) -> Sensitivity:
    """How far one unit moves a histogram of this size.  Theorem: L1-SENSITIVITY."""
    return Sensitivity(((1, 1),), size, unit.adjacency, unit.rows)
