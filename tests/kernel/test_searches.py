"""Searches with next to no noise, against a plain look at the values: where they end, and what they compare.

Noise of scale 1/100 is 0 but once in 10**43 draws.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.kernel.exact import each_of, float_up
from adyton.kernel.exact.cells import Cells
from adyton.kernel.mechanisms import GeometricNoise
from adyton.kernel.mechanisms.search import rounds_for
from adyton.kernel.noise import SystemBits
from adyton.kernel.noisy import NoisyQueries, NoisyQuery
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn, Table
from adyton.kernel.searching import Running, SearchLevels, extra_rounds, rounds_of
from adyton.kernel.sensitivity import Reading
from adyton.kernel.sensitivity.bins import MOST_BINS, Bins, binned, bins_of, finer, levels_of, upto
from adyton.kernel.terms.buckets import MOST_CELLS, group_size
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, Extreme, Quantile
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.testing.engines.meaning import condition, number
from adyton.testing.engines.reference import exact_of

QUIET = GeometricNoise((Fraction(1, 100),))
REGION = CategoryColumn("region", ("a", "b", "c"))
UNIT = PrivacyUnit("add-remove")
SMALL, WIDE, HUGE = (
    IntegerColumn("v", -3, 17),
    IntegerColumn("v", 5, 5 + 2**20),
    IntegerColumn("v", -7, 2**40),
)
Rows = list[tuple[Any, dict[str, Any]]]


def part_of(column: IntegerColumn, measure: Any, *by: Any) -> NoisyReading:
    (reading,) = readings_of(Query(Table("t", (column, REGION)), (("m", measure),), by=by), UNIT)
    searched = isinstance(measure, Extreme | Quantile)
    return NoisyReading(reading, QUIET, rounds_of(reading) if searched else 1)


def rows_of(values: Sequence[int | None], regions: Sequence[int] = ()) -> Rows:
    places = regions or [0] * len(values)
    return [(i, {"v": v, "region": r}) for i, (v, r) in enumerate(zip(values, places, strict=True))]


def read_from(rows: Rows, seen: list[Reading]) -> Any:
    def read(reading: Reading) -> Any:
        seen.append(reading)
        return exact_of(rows, False, "salt", [reading])[0]

    return read


def first_value(values: list[int], column: IntegerColumn, times: int, minus: int, offset: int) -> int:
    """By the words of ``SearchLevels``; the last value where there is none."""
    for value in sorted({column.low, *(v for v in values), column.high}):
        if times * sum(v <= value for v in values) - minus * len(values) + offset >= 0:
            return value
    return column.high


def end_of(search: SearchLevels, released: list[Cells], cell: int = 0) -> int:
    bins, level, own = list(search.levels(released))[-1]
    assert bins.width == 1
    return bins.first + int(level.found(own)[cell])


MEASURES: list[tuple[Any, int, int]] = [
    (lambda v: Quantile(v, Fraction(1, 2)), 2, 1),
    (lambda v: Quantile(v, Fraction(3, 10)), 10, 3),
    (lambda v: Extreme(v, "least"), 1, 0),
    (lambda v: Extreme(v, "greatest"), 1, 1),
]


@pytest.mark.parametrize(("column", "levels"), [(SMALL, 1), (WIDE, 2), (HUGE, 3)])
@pytest.mark.parametrize("place", range(len(MEASURES)))
def test_a_search_ends_where_the_values_say(place: int, column: IntegerColumn, levels: int) -> None:
    """Through as many levels as the range has, with as many comparisons as are paid for.

    Mutants: each sign and place in ``release``, ``_counts_at``, ``counts``, ``offset`` and ``Running``.
    """
    make, times, minus = MEASURES[place]
    part = part_of(column, make(ValueOf(column)))
    search, rng = SearchLevels(part), random.Random(place)
    offset = {"least": -1, "greatest": 0}.get(getattr(part.reading.measure, "which", ""), 0)
    assert search.error == 0
    for size in (0, 1, 2, 5, 8):
        values = [
            rng.choice([column.low, column.high, rng.randint(column.low, column.high)]) for _ in range(size)
        ]
        rows, seen = rows_of([*values, None]), list[Reading]()
        read = read_from(rows, seen)
        released = search.release(read(part.reading), read, SystemBits())
        assert len(released) == part.times
        assert len(seen) == levels == len(list(search.levels(released)))
        if size or offset:
            expected = first_value(values, column, times, minus, offset)
            assert min(end_of(search, released), column.high) == expected  # bins are searched as if full


def test_each_group_is_searched_by_itself() -> None:
    """Mutants: ``Running`` that mixes cells; ``release`` that goes on after one level."""
    part = part_of(SMALL, Quantile(ValueOf(SMALL), Fraction(1, 2)), REGION)
    search = SearchLevels(part)
    values, regions = [-3, 0, 4, 9, 9, 17, 17], [0, 0, 0, 1, 1, 2, 2]
    rows, seen = rows_of(values, regions), list[Reading]()
    read = read_from(rows, seen)
    released = search.release(read(part.reading), read, SystemBits())
    assert [end_of(search, released, cell) for cell in range(3)] == [0, 9, 17]
    assert len(seen) == 1
    assert search.cells == 3
    sparse = Cells.at(np.array([3, 21 + 12, 21 + 13]), np.array([1, 2, 3]), 63)
    assert [end_of(search, search.release([sparse], read, SystemBits()), cell) for cell in (0, 1)] == [0, 10]


def test_an_extreme_is_searched_as_far_inside_as_noise_reaches() -> None:
    """Mutants: ``offset`` with another sign or one more; ``error`` for one comparison."""
    part = part_of(SMALL, Extreme(ValueOf(SMALL), "least"))
    loud = replace(part, mechanism=GeometricNoise((Fraction(4),)))
    error = loud.mechanism.error(float_up(each_of(LEVEL, loud.times)))
    assert SearchLevels(loud).error == error > 0
    assert SearchLevels(loud).offset == -error - 1
    greatest = replace(loud, reading=part_of(SMALL, Extreme(ValueOf(SMALL), "greatest")).reading)
    assert SearchLevels(greatest).offset == error
    median = replace(loud, reading=part_of(SMALL, Quantile(ValueOf(SMALL), Fraction(1, 2))).reading)
    assert SearchLevels(median).offset == 0


def test_as_many_comparisons_as_there_are_levels_and_both_ends() -> None:
    """Mutants: ``rounds_of``, ``extra_rounds`` and ``search_in`` with others."""
    half, least = Quantile(ValueOf(WIDE), Fraction(1, 2)), Extreme(ValueOf(WIDE), "least")
    # 2**20 + 1 values are 32769 bins of 32, and each of these is searched again.
    assert rounds_for(32769) == 16
    assert rounds_of(part_of(WIDE, least).reading) == 16 + 5
    assert rounds_of(part_of(WIDE, half).reading) == 16 + 5 + 8
    assert [extra_rounds(half, n) for n in (1, 2, 3, 5, 9)] == [0, 1, 1, 2, 2]
    assert extra_rounds(least, 9) == 0
    search = SearchLevels(part_of(WIDE, half))
    assert search.search_in(search.first_bins).extra == 8
    assert search.search_in(replace(search.first_bins, first=6)).extra == 0
    assert search.search_in(search.first_bins).sure == search.error
    grouped = part_of(WIDE, half, REGION).reading
    assert rounds_of(grouped) == 16 + 8


def test_rows_up_to_a_bin_are_those_of_it_and_before() -> None:
    """Mutants: ``Running`` with another end."""
    counts = [1, 2, 4, 8, 16, 32]
    for known in (counts, Cells(counts), Cells.at(np.arange(6), np.array(counts), 6)):
        one, two = Running(known, 1), Running(known, 2)
        assert [int(one.at(np.array([place]))[0]) for place in range(-1, 8)] == [
            0,
            1,
            3,
            7,
            15,
            31,
            63,
            63,
            63,
        ]
        assert [two.at(np.array([place, place])).tolist() for place in range(-1, 4)] == [
            [0, 0],
            [1, 8],
            [3, 24],
            [7, 56],
            [7, 56],
        ]


def test_bins_are_disjoint_and_hold_all_steps() -> None:
    """Mutants: ``ends``, ``number``, ``bins_of``, ``finer`` and ``levels_of`` with another border or width."""
    for first, last, cells in itertools.product(
        (-7, 0, 5), (8, 100, 2**16 + 9, 2**40), (1, 10, 400_000, 600_000)
    ):
        bins = bins_of(first, last, cells)
        most = max(2, min(MOST_BINS, MOST_CELLS // cells))
        assert bins.number <= most
        assert bins.width == 1 or -(-(last - first + 1) // (bins.width // 2)) > most
        assert bins.width & (bins.width - 1) == 0
        assert (bins.ends(0)[0], bins.ends(bins.number - 1)[1]) == (first, last)
        for place in {0, bins.number // 2, bins.number - 2} & set(range(bins.number - 1)):
            low, high = bins.ends(place)
            assert high - low + 1 == bins.width
            assert bins.ends(place + 1)[0] == high + 1
            inside = finer(bins, place)
            assert (inside.first, inside.last, inside.width) == (low, high, max(1, bins.width // MOST_BINS))
    assert [levels_of(ValueOf(IntegerColumn("v", 0, high)), 1) for high in (2**16 - 1, 2**16, 2**33)] == [
        (2**16,),
        (2**15 + 1, 2),
        (2**15 + 1, 2**16, 4),
    ]
    assert levels_of(ValueOf(IntegerColumn("v", 0, 2**33)), 2) == (2**15 + 1,)


def test_a_value_beyond_the_last_bin_is_nowhere() -> None:
    """Each row is in the bin of its value, or in none if the value lies outside of all bins.

    Mutants: ``binned`` with another side, place or width.
    """
    rate = RealColumn("v", Fraction(-3, 2), Fraction(4), Fraction(1, 2))
    for column, first, last, width in itertools.product(
        (SMALL, rate), (-3, -1, 0, 2), (2, 5, 8, 11), (1, 2, 4, 8, 16)
    ):
        bins, value = Bins(first, last, width), ValueOf(column)
        inside, bucket = binned(value, bins)
        for steps in range(column.lattice.low, column.lattice.high + 1):
            row = {"v": steps}
            expected = [
                place for place in range(bins.number) if bins.ends(place)[0] <= steps <= bins.ends(place)[1]
            ]
            place = number(bucket.value, row)
            assert ([place] if condition(inside, row) else []) == expected
        assert 0 <= bucket.value.lattice.low <= bucket.value.lattice.high < bins.number or first > -3


def test_a_point_counts_what_does_not_exceed_it() -> None:
    """Mutants: ``upto`` with another comparison, or one bin less."""
    points = (Fraction(-2), Fraction(1, 2), Fraction(17))
    bucket = upto(ValueOf(SMALL), points)
    for steps in range(-3, 18):
        assert number(bucket.value, {"v": steps}) == sum(steps > point for point in points)
    assert group_size(bucket) == 4


class Counts:
    """The exact integers of some rows."""

    place = 1

    def __init__(self, rows: Rows, readings: Sequence[Reading]) -> None:
        self._rows, self._readings = rows, readings

    def exact(self) -> Any:
        return iter(exact_of(self._rows, False, "salt", self._readings))

    def found(self) -> Any:
        raise NotImplementedError

    def again(self, reading: Reading) -> Any:
        return exact_of(self._rows, False, "salt", [reading])[0]


@pytest.mark.parametrize("place", range(len(MEASURES)))
def test_of_a_search_the_comparisons_are_released_and_no_bin(place: int) -> None:
    """As many as are paid for.  Mutants: ``_with_noise`` that adds noise to bins, ``refines`` of all readings."""
    part = part_of(WIDE, MEASURES[place][0](ValueOf(WIDE)))
    counted = part_of(SMALL, Count())
    both = NoisyQueries((NoisyQuery((counted, part)),))
    rows = rows_of([5, 9, 2**19])
    (stored,) = both.release(Counts(rows, both.readings), SystemBits())
    (one,), compared = stored.released
    assert (list(one), len(compared), {len(column) for column in compared}) == ([3], part.times, {1})
    search = SearchLevels(part)
    inside = search.reading_of(finer(search.first_bins, 3))
    assert both.refines(inside)
    assert not NoisyQueries((NoisyQuery((counted,)),)).refines(inside)
    assert not both.refines(replace(inside, coordinates=()))
