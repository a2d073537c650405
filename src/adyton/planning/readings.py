"""From a measure to the integers that must be read to answer it.

A mean is read as a centred sum and a count: centring halves what one unit can do to the sum.  Where the
number of rows is public (replace-one) and nothing is filtered, a proportion needs no second number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import assert_never

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.sensitivity.bins import binned, bins_of, upto
from adyton.kernel.sensitivity.bounds import Sensitivity
from adyton.kernel.sensitivity.reading import (
    Coordinate,
    Persons,
    Reading,
    centred_and_counted,
    moment_values,
    search_weights,
    squared_values,
)
from adyton.kernel.special.histogram import Histogram
from adyton.kernel.terms.buckets import MOST_CELLS
from adyton.kernel.terms.expressions import Condition, Indicator, all_of
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.kernel.terms.names import columns_in, entries
from adyton.kernel.terms.persons import TableOfPersons
from adyton.query.conditions.atoms import Axes
from adyton.query.conditions.possible_cells import Places, kept_cells
from adyton.query.missing import present
from adyton.query.nodes import Query, without_dimensions


def readings_of(query: Query, unit: PrivacyUnit) -> tuple[Reading, ...]:
    """The readings of all measures, in order."""
    kept = kept_cells(query)
    return tuple(
        reading
        for name, measure in query.measures
        for reading in readings_for(name, measure, query, unit, kept)
    )


def histogram_of_axes(
    axes: Axes, by: Sequence[int] | None, unit: PrivacyUnit, where: Condition = EVERY_ROW
) -> Histogram:
    """The rows in each cell of these axes, or of all."""
    (reading,) = readings_of(axes.query(by, where), unit)
    return Histogram(reading, axes.cells_of(by, where), axes.shape_of(by))


def readings_for(
    name: str,
    measure: Measure,
    query: Query,
    unit: PrivacyUnit,
    kept: Places | None,
    squares: Fraction = Fraction(0),
) -> tuple[Reading, ...]:
    """What must be read for one measure.  What public tables say is part of it: no engine reads it.

    ``kept`` are the cells of the query that some row can be in, for one measure or another.  ``squares``:
    the part of the price of a mean for which the squares of its values are read too.
    """
    measure, asked = without_dimensions(name, measure, query)
    cells, places = MOST_CELLS, None  # where groups are discovered, more than any answer has
    if not query.discovers_groups:
        cells, places = query.cells if kept is None else len(kept), kept
    return tuple(
        replace(reading, table=asked.table, kept=places, groups=len(query.by))
        for reading in _readings(name, measure, asked, unit, cells, squares)
    )


def _readings(
    name: str, measure: Measure, query: Query, unit: PrivacyUnit, cells: int, squares: Fraction
) -> tuple[Reading, ...]:
    """A mean is read as a sum and a count, and perhaps its squares; a variance as two sums and a count, a
    covariance as five and a count, a quantile as a histogram.
    """
    where = all_of(query.where, measure.where)

    def rows(where: Condition, *coordinates: Coordinate, public_rows: int | None = None) -> Reading:
        boxes = tuple(coordinate.box for coordinate in coordinates)
        sensitivity = Sensitivity(boxes, cells, unit.adjacency, unit.rows)
        return Reading(name, measure, where, coordinates, query.by, sensitivity, public_rows)

    match measure:
        case Count():
            return (rows(where, Coordinate()),)
        case CountPersons() | SumOfPersons():
            return (_of_persons(name, measure, where, query, unit, cells),)
        case Sum(value):
            return (rows(where, Coordinate(value)),)
        case Mean(value) if squares:
            reading = rows(where, *squared_values(value))
            return (replace(reading, sensitivity=replace(reading.sensitivity, curved=1, squares=squares)),)
        case Mean(value):
            return (rows(where, *centred_and_counted(value)),)
        case Proportion(condition):
            known = _public_denominator(where, query, unit)
            if known is None:
                return (rows(where, *centred_and_counted(Indicator(condition))),)
            return (rows(condition, Coordinate(), public_rows=known),)
        case Variance(value):
            reading = rows(where, *squared_values(value))
            return (replace(reading, sensitivity=replace(reading.sensitivity, curved=1)),)
        case Moments(y, x):
            both = all_of(where, present(x), present(y))
            reading = rows(both, *moment_values(x, y))
            return (replace(reading, sensitivity=replace(reading.sensitivity, curved=2)),)
        case Quantile() | Extreme():
            return (_searched(name, measure, where, query, unit, cells),)
        case Cdf(value, points):
            whole = rows(where, Coordinate())
            bins = upto(value, points)
            all_bins = cells * (len(points) + 1)  # a unit may leave one bin and enter another
            between = replace(whole.sensitivity, cells=all_bins)
            return (replace(whole, by=(*query.by, bins), sensitivity=between),)
        case _:
            assert_never(measure)


def _of_persons(
    name: str,
    measure: CountPersons | SumOfPersons,
    where: Condition,
    query: Query,
    unit: PrivacyUnit,
    cells: int,
) -> Reading:
    if unit.person is None:
        raise InvalidRequest("persons are counted only where the privacy unit is a person; here it is a row")
    groups = min(_most_groups(query, unit), cells, query.most_groups or cells)
    if isinstance(measure, CountPersons):
        coordinate, low, high = Coordinate(), 1, 1
    else:
        coordinate, (low, high) = Coordinate(measure.value), measure.steps
    sensitivity = Sensitivity(((low, high),), cells, unit.adjacency, touched=groups)
    persons = Persons(low, high, groups)
    return Reading(name, measure, where, (coordinate,), query.by, sensitivity, None, persons)


def _most_groups(query: Query, unit: PrivacyUnit) -> int:
    """In how many groups a person can be: for each table that they are made of, one for each own row in it.

    Theorem: JOINED-ROWS.
    """
    join = query.table.join
    if join is None or len(unit.rows_in) != len(join.tables):
        return unit.rows
    grouped = {column.name for column in columns_in(query.by)}
    sources = {entry.source for entry in entries(join) if entry.shown.name in grouped}
    named = zip(join.tables, unit.rows_in, strict=True)
    return prod(rows for table, rows in named if table.name in sources)


def _searched(
    name: str,
    measure: Quantile | Extreme,
    where: Condition,
    query: Query,
    unit: PrivacyUnit,
    cells: int,
) -> Reading:
    """The rows of each bin.  What gets noise is not they but, again and again, whether a value is too small:
    a row adds ``times - minus`` where its own value is not above it, and ``-minus`` where it is.
    """
    lattice = measure.value.lattice
    times, minus = search_weights(measure)
    inside, bins = binned(measure.value, bins_of(lattice.low, lattice.high, cells))
    sensitivity = Sensitivity(((-minus, times - minus),), cells, unit.adjacency, unit.rows)
    where = all_of(where, inside)
    return Reading(name, measure, where, (Coordinate(),), (*query.by, bins), sensitivity)


def _public_denominator(where: Condition, query: Query, unit: PrivacyUnit) -> int | None:
    """Replacing a unit of one row never changes how many rows there are; in a filter, a group, a part of the
    units or outside of a reserve it could, and in a table of those persons who have a row of some kind.
    """
    unfiltered = where == EVERY_ROW and not query.by
    unfiltered = unfiltered and (
        not isinstance(query.table, TableOfPersons) or query.table.given == EVERY_ROW
    )
    fixed = unit.adjacency == "replace-one" and unit.rows == 1 and unit.parts == 1 and unit.reserve is None
    return query.table.rows if fixed and unfiltered else None
