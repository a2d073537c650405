"""Covariances, correlations and straight lines: ends for every box of means, on exact small tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import float_up
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import IntegerColumn, RealColumn, Table
from adyton.kernel.sensitivity.bounds import Sensitivity
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Moments, Which
from adyton.noise_intervals.widths import ratio_band
from adyton.planning.learned import _noises
from adyton.planning.measures.moments import NEEDED, Joint, range_of
from adyton.planning.readings import readings_of
from adyton.population.base import PopulationContext
from adyton.query.nodes import Query

X, Y = IntegerColumn("x", 7, 12), RealColumn("y", Fraction(-2), Fraction(1), Fraction(1, 2))
TABLE = Table("t", (X, Y), rows=100)
WHICH: tuple[Which, ...] = get_args(Which)
Pairs = Sequence[tuple[Fraction, Fraction]]  # of x and y


def joint(which: Which, scale: int = 1) -> Joint:
    query = Query(TABLE, (("v", Moments(ValueOf(Y), ValueOf(X), which)),))
    (reading,) = readings_of(query, PrivacyUnit("replace-one"))
    return Joint(NoisyReading(reading, GaussianNoise((Fraction(scale),) * 6)))


def columns(part: Joint, rows: Pairs) -> list[int]:
    """What is read, by hand: of each row twice a number less the sum of its bounds, in steps."""
    middle, steps = (Fraction(19, 2), Fraction(-1, 2)), part.reading.coordinates
    found = [0] * 6
    for x, y in rows:
        a, b = x - middle[0], y - middle[1]
        for i, number in enumerate((x, a * a, y, b * b, a * b)):
            value = steps[i].value
            assert value is not None
            found[i] += int(steps[i].times * number / value.lattice.step) - steps[i].minus
        found[5] += steps[5].times
    return found


def exactly(which: Which, rows: Pairs) -> float | Fraction | None:
    """The value of these rows in fractions, the correlation by their square; None where there is none."""
    n = len(rows)
    x, y = (sum(row[i] for row in rows) / Fraction(n) for i in (0, 1))
    xx, yy, xy = (
        sum((row[i] - m) * (row[j] - k) for row in rows) / Fraction(n) for i, j, m, k in _centred(x, y)
    )
    match which:
        case "covariance":
            return xy
        case "slope" | "intercept":
            return None if not xx else xy / xx if which == "slope" else y - x * xy / xx
        case _:
            return (
                None
                if not xx * yy
                else xy * xy / (xx * yy)
                if which == "r2"
                else float(xy) / float(xx * yy) ** 0.5
            )


def _centred(x: Fraction, y: Fraction) -> list[tuple[int, int, Fraction, Fraction]]:
    return [(0, 0, x, x), (1, 1, y, y), (0, 1, x, y)]


pairs = st.tuples(st.integers(7, 12).map(Fraction), st.integers(-4, 2).map(lambda steps: Fraction(steps, 2)))


@given(
    rows=st.lists(pairs, min_size=1, max_size=5),
    which=st.sampled_from(WHICH),
    away=st.lists(st.sampled_from([0.0, 0.001, 0.1, 1.0, 3.0]), min_size=10, max_size=10),
)
def test_theorem_MOMENT_BOX_holds_for_every_box_around_the_means(
    rows: Pairs, which: Which, away: list[float]
) -> None:
    part, truth = joint(which), exactly(which, rows)
    if truth is None:
        return
    read = columns(part, rows)
    ratios = [read[top] / read[5] for top in NEEDED[which]]
    ends = [
        (np.array([r - below * abs(r) - below * 1e-9]), np.array([r + above * abs(r) + above * 1e-9]))
        for r, below, above in zip(ratios, away[::2], away[1::2], strict=False)
    ]
    found = part._intervals(ends, 0.95)
    slack = 1e-9 if which == "correlation" else 0  # a root of floats, here
    assert Fraction(float(found.low[0])) - slack <= truth <= Fraction(float(found.high[0])) + slack
    least, most = range_of(part._measure)
    assert least <= float(found.low[0]) <= float(found.high[0]) <= most
    if not any(away):  # then it is known, but for roundings
        assert float(found.high[0] - found.low[0]) <= 1e-6 * (1 + abs(float(truth)))


@pytest.mark.parametrize("which", WHICH)
def test_theorem_MOMENT_BOX_no_table_is_out_of_range_and_some_are_at_ends(which: Which) -> None:
    """All tables of up to three rows whose numbers are at the ends of the bounds, or a step from them."""
    some = list(
        itertools.product(map(Fraction, (7, 8, 11, 12)), (Fraction(-2), Fraction(-3, 2), Fraction(1)))
    )
    measure = joint(which)._measure
    found = [
        exactly(which, rows) for n in (1, 2, 3) for rows in itertools.combinations_with_replacement(some, n)
    ]
    values = [float(value) for value in found if value is not None]
    least, most = range_of(measure)
    assert least <= min(values) + 1e-12
    assert max(values) - 1e-12 <= most
    if which == "slope":  # a step of x apart, from end to end of y
        assert (least, most) == (-3.0, 3.0) == (min(values), max(values))
    if which == "correlation":
        assert (least, most) == pytest.approx((min(values), max(values)))


def test_theorem_MOMENT_BOX_says_nothing_where_the_noise_drowns_everything() -> None:
    for which in WHICH:
        part = joint(which)
        everything = [(np.array([-1e9]), np.array([1e9]))] * len(NEEDED[which])
        found = part._intervals(everything, 0.95)
        assert (float(found.low[0]), float(found.high[0])) == range_of(part._measure)


def test_theorem_MOMENT_BOX_knows_the_sign_where_a_variance_may_be_nothing() -> None:
    """A covariance above 0 with a spread that is not known: the slope and the correlation are above 0."""
    for which, least in (("slope", 0.0), ("correlation", 0.0), ("r2", 0.0)):
        part = joint(which)  # type: ignore[arg-type]
        rows = [(Fraction(7), Fraction(-2)), (Fraction(12), Fraction(1))] * 2
        read = columns(part, rows)
        ends = []
        for top in NEEDED[part._measure.which]:
            ratio = read[top] / read[5]
            wide = 1e9 if top in (1, 3) else 0.0  # the squares
            ends.append((np.array([ratio - wide]), np.array([ratio + wide])))
        found = part._intervals(ends, 0.95)
        assert float(found.low[0]) > least


# What one unit can move ------------------------------------------------------------------------------------

STEPS = 10


def _points(scales: Sequence[Fraction], steps: int = STEPS) -> np.ndarray:
    """What one row can add, in noise: u, 2 u^2 - 1, v, 2 v^2 - 1, u v, 1."""
    line = np.arange(-steps, steps + 1) / steps
    u, v = (side.ravel() for side in np.meshgrid(line, line))
    wide = np.stack([u, 2 * u * u - 1, v, 2 * v * v - 1, u * v, np.ones_like(u)], axis=1)
    return np.vstack([wide / [float(scale) for scale in scales], np.zeros(6)])


def _farthest(points: np.ndarray) -> tuple[float, float]:
    moves = [points - one for one in points]
    return max(float(np.abs(m).sum(axis=1).max()) for m in moves), max(
        float((m**2).sum(axis=1).max()) for m in moves
    )


def _of_a_pair(adjacency: str, cells: int = 1) -> Sensitivity:
    return Sensitivity(((-1, 1),) * 5 + ((1, 1),), cells, adjacency, curved=2)  # type: ignore[arg-type]


@given(st.tuples(*[st.fractions(Fraction(1, 8), 8, max_denominator=16)] * 6))
def test_theorem_L2_SENSITIVITY_of_two_values_squares_and_product(
    scales: tuple[Fraction, ...],
) -> None:
    """Never less than the farthest pair of many; what is added or removed is exactly as far as the corners."""
    points = _points(scales)
    l1, l2 = _farthest(points)
    assert l1 * (1 - 1e-12) <= _of_a_pair("replace-one").l1_diameter(scales)
    assert l2 * (1 - 1e-12) <= _of_a_pair("replace-one").l2_diameter_squared(scales)
    alone = _of_a_pair("add-remove")
    assert float(alone.l1_diameter(scales)) == pytest.approx(float(np.abs(points).sum(axis=1).max()))
    assert float(alone.l2_diameter_squared(scales)) == pytest.approx(float((points**2).sum(axis=1).max()))
    boxed = replace(_of_a_pair("replace-one"), curved=0)
    assert _of_a_pair("replace-one").l1_diameter(scales) <= boxed.l1_diameter(scales)
    assert _of_a_pair("replace-one").l2_diameter_squared(scales) <= boxed.l2_diameter_squared(scales)


def test_theorem_L1_SENSITIVITY_of_five_sums_is_hardly_more_than_needed() -> None:
    """The noise that is used: all sums alike.  In L1 2 %, in squared L2 7 % more than the farthest pair."""
    equal = (Fraction(1),) * 5 + (Fraction(1000),)  # so much noise on the count that it does not decide
    l1, l2 = _farthest(_points(equal, 20))
    one, two = _of_a_pair("replace-one"), _of_a_pair("replace-one", 2)
    assert one.l1_diameter(equal) == Fraction(22, 3) <= 1.03 * l1
    assert one.l2_diameter_squared(equal) == 12 <= 1.07 * l2
    assert two.l2_diameter_squared((Fraction(1),) * 6) == 12  # leaving one group and entering another


@given(st.tuples(*[st.fractions(Fraction(1, 4), 4, max_denominator=16)] * 6))
def test_theorem_L2_RADIUS_of_two_values_their_squares_and_their_product(
    scales: tuple[Fraction, ...],
) -> None:
    """A ball around all points is no smaller than half of the distance of any two."""
    _, l2 = _farthest(_points(scales, 4))
    assert float(_of_a_pair("replace-one").l2_radius_squared(scales)) >= l2 / 4 * (1 - 1e-12)


# Levels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", WHICH)
def test_theorem_MOMENT_BOX_the_means_share_the_level(which: Which) -> None:
    """Of the noise interval here, and of the population's by the number of values that must be right at once."""
    part, needed = joint(which, scale=40), NEEDED[which]
    released = [[value] for value in columns(part, [(Fraction(7), Fraction(1)), (Fraction(9), Fraction(0))])]
    here = PopulationContext(None, None, None, noise_level=0.9)  # type: ignore[arg-type]  # not looked at
    ratios, level = part.ratios(released, here), float_up(1 - Fraction(1, 10) / len(needed))
    assert [ratio.band for ratio in ratios] == [
        ratio_band(part.mechanism.at(top, 5), level) for top in needed
    ]
    assert (
        part.noises
        == _noises(part.reading, [])
        == len(needed)
        == {"covariance": 3, "slope": 4}.get(which, 4 if which == "intercept" else 5)
    )
