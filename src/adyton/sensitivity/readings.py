"""From a measure to the integers that must be read to answer it.

A mean is read as a centred sum and a count: centring halves what one unit can do to the sum.  Where the
number of rows is public (replace) and nothing is filtered, a proportion needs no second number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from adyton.privacy import PrivacyUnit
from adyton.query.nodes import (
    EVERY_ROW,
    Condition,
    Count,
    GroupColumn,
    Indicator,
    Mean,
    Measure,
    Number,
    Proportion,
    Question,
    Sum,
    all_of,
)
from adyton.sensitivity.bounds import Sensitivity

_MOST_STEPS_PER_ROW = 2**20


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A sum over contributing rows of ``times * value - minus``, or of ``times`` where there is no value."""

    value: Number | None = None
    times: int = 1
    minus: int = 0

    @property
    def box(self) -> tuple[int, int]:
        """The least and the greatest that one row can add."""
        if self.value is None:
            return self.times, self.times
        lattice = self.value.lattice
        return self.times * lattice.low - self.minus, self.times * lattice.high - self.minus


@dataclass(frozen=True, slots=True)
class Reading:
    """The integers behind one measure: ``coordinates`` in each of the cells of ``by``.

    A row contributes to all coordinates or to none: where ``where`` is true and every value is present.
    """

    name: str
    measure: Measure
    where: Condition
    coordinates: tuple[Coordinate, ...]
    by: tuple[GroupColumn, ...]
    sensitivity: Sensitivity
    public_rows: int | None = None


def readings_of(question: Question, unit: PrivacyUnit) -> tuple[Reading, ...]:
    """One reading for each measure, in order."""
    return tuple(_reading(name, measure, question, unit) for name, measure in question.measures)


def _reading(name: str, measure: Measure, question: Question, unit: PrivacyUnit) -> Reading:
    where = all_of(question.where, measure.where)
    public_rows = None
    match measure:
        case Count():
            coordinates: tuple[Coordinate, ...] = (Coordinate(),)
        case Sum(value):
            coordinates = (Coordinate(value),)
        case Mean(value):
            coordinates = _centred_and_counted(value)
        case Proportion(condition):
            public_rows = _public_denominator(where, question, unit)
            if public_rows is None:
                coordinates = _centred_and_counted(Indicator(condition))
            else:
                where, coordinates = condition, (Coordinate(),)
        case _:
            assert_never(measure)
    boxes = tuple(coordinate.box for coordinate in coordinates)
    sensitivity = Sensitivity(boxes, question.cells, unit.neighbours, unit.rows)
    return Reading(name, measure, where, coordinates, question.by, sensitivity, public_rows)


def _centred_and_counted(value: Number) -> tuple[Coordinate, Coordinate]:
    """Twice the distance from the middle of the bounds, whole even where the middle is not, and a count in
    steps about as fine: noise is rounded to whole steps, and a whole row would be a coarse step for a mean.
    """
    low, high = value.lattice.low, value.lattice.high
    steps_per_row = min(high - low, _MOST_STEPS_PER_ROW)
    return Coordinate(value, times=2, minus=low + high), Coordinate(times=steps_per_row)


def _public_denominator(where: Condition, question: Question, unit: PrivacyUnit) -> int | None:
    """Replacing a unit of one row never changes how many rows there are; a filter or a group could."""
    unfiltered = where == EVERY_ROW and not question.by
    fixed = unit.neighbours == "replace" and unit.rows == 1
    return question.table.rows if fixed and unfiltered else None
