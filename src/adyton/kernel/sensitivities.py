"""How far one protected unit moves a reading, worked out from the reading itself.

Planning says it too, because it chooses noise by it.  What is charged goes by what is worked out here: a
reading that says less than the truth is refused before anything is charged.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import assert_never

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.mechanisms import NOISES
from adyton.kernel.mechanisms.grid import NoiseOnAGrid
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import TextColumn
from adyton.kernel.searching import rounds_of
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity
from adyton.kernel.sensitivity.reading import Persons, moment_values, search_weights, squared_values
from adyton.kernel.terms.buckets import MOST_CELLS, group_size
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
from adyton.kernel.terms.names import columns_in, private_part


def check_noisy(noisy: NoisyReading, unit: PrivacyUnit) -> None:
    """Refuses noise of an unknown kind, and a reading whose sensitivity is not what it says."""
    reading, mechanism = noisy.reading, noisy.mechanism
    noise = mechanism.noise if type(mechanism) is NoiseOnAGrid else mechanism
    if type(noise) not in NOISES or len(mechanism.scales) != len(reading.sensitivity.boxes):
        raise InvalidRequest("this noise is not of a kind whose cost is proved")
    check_reading(reading, unit)
    searched = isinstance(reading.measure, Quantile | Extreme)
    if noisy.times < (rounds_of(reading) if searched else 1):
        raise InvalidRequest("a search is paid for as often as it compares")


def check_reading(reading: Reading, unit: PrivacyUnit) -> None:
    """Refuses a reading whose sensitivity is not what it says."""
    said, found = reading.sensitivity, sensitivity_of(reading, unit)
    own = (said.boxes, said.cells, said.adjacency, said.rows, said.touched, said.curved)
    if own != (found.boxes, found.cells, found.adjacency, found.rows, found.touched, found.curved):
        raise InvalidRequest("a reading is moved farther by one unit than it says")


def sensitivity_of(reading: Reading, unit: PrivacyUnit) -> Sensitivity:
    """How far one unit moves the integers of a reading; refuses one that no engine reads as it is described.

    Claim:    adding, removing or exchanging one unit moves them by a point of these boxes, as often as said.
    Assumes:  the engine reads what the reading describes: values in their bounds, no more rows of a person
              than ``unit`` says, of ``persons`` one number each, in at most so many groups.
    Source:   ``sensitivity.bounds``, on the pages of the theorems there.  Theorem: L2-SENSITIVITY.
    """
    measure, persons = reading.measure, reading.persons
    _check_columns(reading)
    cells = _cells(reading, own=isinstance(measure, Quantile | Extreme))
    if persons is not None:
        _check_persons(reading, persons)
        bounds = ((persons.low, persons.high),)
        return Sensitivity(bounds, cells, unit.adjacency, touched=persons.groups)
    if isinstance(measure, Quantile | Extreme):
        _check_search(reading)
        times, minus = search_weights(measure)
        return Sensitivity(((-minus, times - minus),), cells, unit.adjacency, unit.rows)
    boxes = tuple(coordinate.box for coordinate in reading.coordinates)
    return Sensitivity(boxes, cells, unit.adjacency, unit.rows, curved=_curved(measure, reading.coordinates))


def _cells(reading: Reading, *, own: bool) -> int:
    """How many integers one coordinate has; of a search only the cells of the query, not its bins."""
    if any(isinstance(group, TextColumn) for group in reading.by):
        return MOST_CELLS  # groups that nobody declared: more than any answer has
    if not own:
        return reading.cells
    return prod(map(group_size, reading.by[: reading.groups])) if reading.kept is None else len(reading.kept)


def _check_columns(reading: Reading) -> None:
    """A column of another table has other bounds, and the engine reads the one of this name."""
    if reading.table is not None:
        known = private_part(reading.table).columns
        read = columns_in(reading.measure, reading.where, reading.coordinates, reading.by)
        if any(column not in known for column in read):
            raise InvalidRequest("only columns of a table as it is declared are read")


def _check_persons(reading: Reading, persons: Persons) -> None:
    """Of each person one number, which is clipped as it is, or 1 for being there."""
    (first, *more), bounds = reading.coordinates, (persons.low, persons.high)
    plain = not more and first == Coordinate(first.value) and (first.value is not None or bounds == (1, 1))
    if not plain or isinstance(reading.measure, Quantile | Extreme) or persons.low > persons.high:
        raise InvalidRequest("of each person one number is read, within its bounds")


def _check_search(reading: Reading) -> None:
    if reading.coordinates != (Coordinate(),) or len(reading.by) != reading.groups + 1:
        raise InvalidRequest("a search reads how many rows are in each bin")


@lru_cache(maxsize=1024)
def _curved(measure: Measure, coordinates: tuple[Coordinate, ...]) -> int:
    """Of how many values the squares are read too.  It makes the cost less, so it is checked."""
    match measure:
        case Variance(value) if len(coordinates) == 3:
            expected, curved = squared_values(value), 1
        case Mean(value) if len(coordinates) == 3:
            expected, curved = squared_values(value), 1
        case Moments(y, x) if len(coordinates) == 6:
            expected, curved = moment_values(x, y), 2
        case Variance() | Mean() | Moments() | Count() | CountPersons() | Sum() | SumOfPersons():
            return 0
        case Proportion() | Quantile() | Extreme() | Cdf():
            return 0
        case _:
            assert_never(measure)
    if coordinates != expected:
        raise InvalidRequest("a reading is moved farther by one unit than it says")
    return curved


def moved_by_one(reading: Reading, unit: PrivacyUnit) -> Fraction:
    """How far one unit moves the single integer of a reading."""
    return sensitivity_of(reading, unit).l1_diameter((Fraction(1),))
