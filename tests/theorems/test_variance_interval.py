"""Variances and standard deviations: whatever the noise is within its bounds, the interval holds the truth."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.arithmetic.ratio import Band, intervals_of
from adyton.certify import Values
from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.kernel.measurement import Columns
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import RealColumn, Table
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Variance
from adyton.noise_intervals.widths import ratio_band
from adyton.planning.measures.spread import Spread, variance_between
from adyton.planning.readings import readings_of
from adyton.population.base import PopulationContext
from adyton.query.nodes import Query
from adyton.study import Study
from adyton.testing.engines.meaning import number
from support.curators import standing_of

# An odd number of steps, so that the middle of the bounds is not on the step; and bounds far from 0.
COLUMNS = (
    RealColumn("x", Fraction(-3), Fraction(9, 2), Fraction(1, 2)),
    RealColumn("x", Fraction(1000), Fraction(1001), Fraction(1, 8)),
)


class Bounded:
    """Noise of which a test knows how far it reaches, and says so, or says less."""

    name, norm, theorems = "bounded", 2, ()

    def __init__(self, *reach: int, said: float = 1.0, levels: set[float] | None = None) -> None:
        self.reach, self.said, self.levels = reach, said, set() if levels is None else levels
        self.scales = (Fraction(1),) * len(reach)

    def at(self, *coordinates: int) -> Bounded:
        return Bounded(*(self.reach[i] for i in coordinates), said=self.said, levels=self.levels)


@ratio_band.register
def _(noise: Bounded, level: float) -> Band:
    noise.levels.add(level)
    top, bottom = noise.reach
    return Band(0.0, 0.0, top * noise.said, bottom * noise.said)


def spread(column: RealColumn, root: bool, noise: Bounded) -> Spread:
    table = Table("t", (column,), rows=9)
    (reading,) = readings_of(
        Query(table, (("v", Variance(ValueOf(column), root=root)),)), PrivacyUnit("replace-one")
    )
    return Spread(NoisyReading(reading, noise), root)  # type: ignore[arg-type]


def read(reading: Reading, steps: list[int]) -> list[int]:
    """The three integers behind a variance, by a plain loop."""
    totals = []
    for coordinate in reading.coordinates:
        values = [1 if coordinate.value is None else number(coordinate.value, {"x": step}) for step in steps]
        totals.append(sum(coordinate.times * v - coordinate.minus for v in values if v is not None))
    return totals


def context() -> PopulationContext:
    table = Table("t", (COLUMNS[0],), rows=9)
    study = Study(table, PrivacyUnit("replace-one"), Guarantee(Fraction(5), Fraction(1, 10**6)))
    return standing_of(study, 9)


def values(part: Spread, released: Columns) -> Values:
    where = context()
    return part.values(released, where, intervals_of(part.ratios(released, where)))


def variance_of(column: RealColumn, steps: list[int]) -> Fraction:
    values = [step * column.step for step in steps]
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((v - mean) ** 2 for v in values), Fraction(0)) / len(values)


@st.composite
def tables(draw: st.DrawFn) -> tuple[RealColumn, list[int]]:
    column = draw(st.sampled_from(COLUMNS))
    low, high = int(column.low / column.step), int(column.high / column.step)
    return column, draw(st.lists(st.integers(low, high), min_size=1, max_size=12))


@given(table=tables(), root=st.booleans(), data=st.data())
def test_theorem_VARIANCE_INTERVAL_holds_whatever_the_noise_is(
    table: tuple[RealColumn, list[int]], root: bool, data: st.DataObject
) -> None:
    column, steps = table
    reaches = [data.draw(st.integers(0, 60)) for _ in range(3)]
    part = spread(column, root, Bounded(*reaches))
    exact = read(part.reading, steps)
    released = [[e + data.draw(st.integers(-most, most))] for e, most in zip(exact, reaches, strict=True)]
    (found,) = values(part, released)
    truth = variance_of(column, steps)
    interval = found.noise_interval
    low, high = (Fraction(end) ** 2 if root else Fraction(end) for end in (interval.low, interval.high))
    assert 0 <= low <= truth <= high
    assert interval.low <= found.value <= interval.high
    assert interval.level == LEVEL


def test_theorem_VARIANCE_INTERVAL_both_means_hold_at_once() -> None:
    """Each gets half of what may fail."""
    noise = Bounded(3, 3, 3)
    values(spread(COLUMNS[0], False, noise), [[5], [7], [40]])
    (level,) = noise.levels
    assert level == pytest.approx(1 - (1 - LEVEL) / 2)


def test_theorem_VARIANCE_INTERVAL_every_number_is_used_with_its_own_noise() -> None:
    """Three reaches that differ: the mean has the first, the mean square the second, both have the third."""
    part = spread(COLUMNS[0], False, Bounded(1, 2, 3))
    assert [noisy.mechanism.reach for noisy in (part.mean, part.square)] == [(1, 3), (2, 3)]  # type: ignore[attr-defined]
    mean, square = part.ratios([[5], [7], [40]], context())
    assert (mean.numerator, mean.denominator, square.numerator, square.denominator) == (5, 40, 7, 40)


@given(
    mean=st.tuples(st.floats(-5, 5), st.floats(-5, 5)).map(sorted),
    square=st.tuples(st.floats(0, 25), st.floats(0, 25)).map(sorted),
    where=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_theorem_VARIANCE_INTERVAL_is_the_range_over_all_pairs(
    mean: list[float], square: list[float], where: tuple[float, float]
) -> None:
    """No pair is outside, and the ends are those of two pairs: nothing is given away."""
    sides = [np.array([side]) for side in (*mean, *square)]
    low, high = variance_between((sides[0], sides[1]), (sides[2], sides[3]))
    m, s = (a + t * (b - a) for (a, b), t in zip((mean, square), where, strict=True))
    assert low <= max(0.0, s - m * m) <= high
    middle = min(max(0.0, mean[0]), mean[1])
    least, greatest = square[0] - max(m * m for m in mean), square[1] - middle**2
    assert low == pytest.approx(max(0.0, least), abs=1e-9)
    assert high == pytest.approx(max(0.0, greatest), abs=1e-9)


@pytest.mark.parametrize("said", [0.5, 0.8])
def test_an_interval_from_less_noise_than_there_was_is_refuted(said: float) -> None:
    """The same property finds the counterexample if the noise is understated."""
    column, steps = COLUMNS[0], [-6, 9, 9, 0, 2, 3, 5, 5] * 20
    missed = 0
    reaches = (300, 900, 2)
    for signs in itertools.product((-1, 1), repeat=3):
        part = spread(column, False, Bounded(*reaches, said=said))
        exact = read(part.reading, steps)
        released = [[e + sign * most] for e, sign, most in zip(exact, signs, reaches, strict=True)]
        (found,) = values(part, released)
        missed += not found.noise_interval.low <= variance_of(column, steps) <= found.noise_interval.high
    assert missed > 0


def test_nothing_is_known_of_too_few_rows() -> None:
    """Where the noise drowns the count, the interval is all that the bounds allow."""
    part = spread(COLUMNS[0], False, Bounded(10, 10, 1000))
    (found,) = values(part, [[3], [4], [20]])
    half = Fraction(15, 4)
    assert found.noise_interval.low == 0
    assert found.noise_interval.high == pytest.approx(float(half**2))
