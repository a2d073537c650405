"""How far one unit moves what is read: every pair of points by brute force, and the balls around them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product

import pytest
from mpmath import mp

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading, stability_units, step_of_one
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.privacy import GaussianCost, Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn, Table, TextColumn
from adyton.kernel.sensitivities import moved_by_one, sensitivity_of
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity, bounds
from adyton.kernel.sensitivity.reading import (
    centred_and_counted,
    moment_values,
    search_weights,
    squared_values,
)
from adyton.kernel.special.mechanisms import key_selection as keys
from adyton.kernel.special.mechanisms.randomized_response import (
    RandomizedResponse,
    _below,
    _exp_down,
    _log_up,
)
from adyton.kernel.terms.leaves import EVERY_ROW, ValueOf
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    Extreme,
    Mean,
    Moments,
    Proportion,
    Quantile,
    Sum,
    Variance,
)
from refusing import refused
from support.randomness import Seeded

F = Fraction
Box = tuple[int, int]
BOXES: tuple[tuple[Box, ...], ...] = (
    ((0, 1),), ((-2, 5),), ((3, 5),), ((-6, -1),), ((-3, 3),), ((-1, 3), (0, 7)), ((2, 4), (-6, -1)), ((-1, 1), (5, 5)),
)  # fmt: skip
SCALES = (F(1, 2), F(3), F(7, 5))
Point = tuple[Fraction, ...]


def units(boxes: tuple[Box, ...], cells: int, touched: int) -> list[Point]:
    """What one unit of one row may add, at the corners of its boxes, in so many noise scales."""
    corners = [tuple(F(v) / s for v, s in zip(one, SCALES, strict=False)) for one in product(*boxes)]
    nothing = tuple(F(0) for _ in boxes)
    found = []
    for number in range(touched + 1):
        for where in combinations(range(cells), number):
            for chosen in product(corners, repeat=number):
                placed = dict(zip(where, chosen, strict=True))
                found.append(tuple(v for cell in range(cells) for v in placed.get(cell, nothing)))
    return found


def l1(point: Point) -> Fraction:
    return sum(map(abs, point), F(0))


def l2(point: Point) -> Fraction:
    return sum((v * v for v in point), F(0))


@pytest.mark.parametrize("boxes", BOXES)
@pytest.mark.parametrize(("cells", "touched"), [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2)])
def test_two_neighbors_are_as_far_apart_as_any_two_units(
    boxes: tuple[Box, ...], cells: int, touched: int
) -> None:
    """Mutants: any sign, factor or border of the two diameters."""
    boxes = boxes[:1] if cells + touched == 5 else boxes  # thousands of pairs are enough
    all_units = units(boxes, cells, touched)
    apart = {
        tuple(a - b for a, b in zip(one, other, strict=True)) for one, other in product(all_units, repeat=2)
    }
    scales = SCALES[: len(boxes)]
    for rows in (1, 2, 3):
        alone = Sensitivity(boxes, cells, "add-remove", rows, touched)
        assert alone.l1_diameter(scales) == rows * max(map(l1, all_units))
        assert alone.l2_diameter_squared(scales) == rows**2 * max(map(l2, all_units))
        both = Sensitivity(boxes, cells, "replace-one", rows, touched)
        assert both.l1_diameter(scales) == rows * max(map(l1, apart))
        assert both.l2_diameter_squared(scales) == rows**2 * max(map(l2, apart))


def least(of: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Where a convex function is least, and what it is there."""
    for _ in range(200):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if of(one) < of(other) else (one, high)
    return low, of(low)


@pytest.mark.parametrize("boxes", BOXES)
@pytest.mark.parametrize("cells", [1, 2, 3, 10])
def test_a_ball_holds_all_that_one_unit_may_add(boxes: tuple[Box, ...], cells: int) -> None:
    """Mutants: any sign, factor or border of the two radii."""
    scales, found = SCALES[: len(boxes)], Sensitivity(boxes, cells, "add-remove", 3)
    hulls = [(min(low, 0), max(high, 0)) for low, high in boxes]
    if cells == 1:
        l1_expected = sum((F(high - low, 2) / s for (low, high), s in zip(hulls, scales, strict=True)), F(0))
    else:
        l1_expected = max(map(l1, units(boxes, 1, 1)))
    assert found.l1_radius(scales) == 3 * l1_expected
    assert Sensitivity(boxes, cells, "replace-one").l1_radius(scales) == l1_expected
    if cells > 2:
        shared = Sensitivity(boxes, cells, "add-remove", 2, 2)
        assert shared.l1_radius(scales) == 4 * l1_expected
    centre = [
        least(
            lambda c, lo=lo, hi=hi: max((lo - c) ** 2, (hi - c) ** 2) + (cells - 1) * c * c, lo - 9, hi + 9
        )[0]
        for lo, hi in boxes
    ]
    corner = [max(box, key=abs) for box in boxes]

    def reach(share: float) -> float:
        inside = zero = 0.0
        for box, c, s in zip(boxes, centre, map(float, scales), strict=True):
            own = share * c
            inside += (max((v - own) ** 2 for v in box) + (cells - 1) * own**2) / s**2
            zero += cells * own**2 / s**2
        return max(inside, zero)

    square, along = (
        sum(k * other / float(s) ** 2 for k, other, s in zip(corner, of, scales, strict=True))
        for of in (corner, centre)
    )
    pulled = min(1.0, square / (2 * along)) if along > 0 else 1.0
    expected = 9 * min(reach(1.0), reach(pulled))
    assert float(found.l2_radius_squared(scales)) == pytest.approx(expected, rel=1e-7)
    if len(boxes) == 1:  # no other centre is better
        ((low, high),) = boxes
        best = least(
            lambda c: max(max((low - c) ** 2, (high - c) ** 2) + (cells - 1) * c * c, cells * c * c), -9, 9
        )
        assert float(found.l2_radius_squared((F(1),))) == pytest.approx(9 * best[1], rel=1e-7)


def test_a_ball_around_shares_of_several_cells_holds_them() -> None:
    """Mutants: how many cells are touched, and how many are not."""
    for (low, high), cells in product(((0, 4), (-3, 5), (2, 6)), (2, 3, 7)):
        found = Sensitivity(((low, high),), cells, "add-remove", 1, 2).l2_radius_squared((F(1),))
        middle = min(
            (F(low, cells), F(high, cells), F(low + high, 2)),
            key=lambda c: max((low - c) ** 2, (high - c) ** 2) + (cells - 1) * c * c,
        )
        farthest = max(low, high, key=abs)
        share = min(F(1), F(farthest**2) / (2 * farthest * middle)) if farthest * middle > 0 else F(1)
        expected = min(
            max(2 * max((low - c) ** 2, (high - c) ** 2) + (cells - 2) * c * c, cells * c * c)
            for c in (middle, share * middle)
        )
        assert found == expected


@pytest.mark.parametrize("touched", [1, 2])
def test_a_value_and_its_square_lie_on_a_curve(touched: int) -> None:
    """With a product each value answers for half of it.  Mutants: another coordinate, another share."""
    boxes = ((-10, 10), (-4, 4), (-6, 6), (-2, 2), (-8, 8), (0, 3), (1, 2))
    scales = tuple(F(k + 2, 3) for k in range(7))
    for chord, kind in ((bounds._chord_l1, 1), (bounds._chord_squared, 2)):
        lengths = [(F(high - low) / s) ** kind for (low, high), s in zip(boxes, scales, strict=True)]
        farthest = [
            (F(max(abs(low), abs(high))) / s) ** kind for (low, high), s in zip(boxes, scales, strict=True)
        ]
        for curved in (1, 2):
            found = Sensitivity(boxes, 9, "replace-one", 1, touched, curved)
            if curved == 1:
                within = chord(lengths[0], lengths[1], F(0)) + sum(lengths[2:])
            else:
                half = lengths[4] / 2
                within = (
                    chord(lengths[0], lengths[1], half)
                    + chord(lengths[2], lengths[3], half)
                    + sum(lengths[5:])
                )
            measured = found.l1_diameter(scales) if kind == 1 else found.l2_diameter_squared(scales)
            assert measured == max(touched * within, 2 * touched * sum(farthest))
            one = Sensitivity(boxes, 1, "replace-one", 1, 1, curved)
            measured = one.l1_diameter(scales) if kind == 1 else one.l2_diameter_squared(scales)
            assert measured == max(within, sum(farthest))


def test_two_points_of_the_curve_are_no_farther_apart() -> None:
    """Both ends of each border.  Mutants: another chord, another border, a root that is rounded up."""
    steps = [k / 200 for k in range(-200, 201)]
    for value, square in product((0.3, 1.0, 3.9, 4.0, 4.1, 9.0), (0.5, 1.0, 2.0)):
        u = [(value / 2 * x, square / 2 * (2 * x * x - 1)) for x in steps]
        far_l1 = max(abs(a - c) + abs(b - d) for (a, b), (c, d) in combinations(u[::4], 2))
        found = float(bounds._chord_l1(F(value), F(square), F(0)))
        assert far_l1 <= found * (1 + 1e-9) <= far_l1 * 1.002 + 1e-9
        far_l2 = max((a - c) ** 2 + (b - d) ** 2 for (a, b), (c, d) in combinations(u[::4], 2))
        found = float(bounds._chord_squared(F(value) ** 2, F(square) ** 2, F(0)))
        assert far_l2 <= found * (1 + 1e-9) <= far_l2 * 1.002 + 1e-9


def test_a_product_is_answered_for_by_halves() -> None:
    """The functions of the pages L1-SENSITIVITY and L2-SENSITIVITY, of which these are the largest values.

    Mutants: another share of the product, another border from which on the ends decide.
    """
    steps = [F(k, 400) for k in range(401)]
    for value, square, share in product(
        (F(1), F(4), F(7), F(20)), (F(1), F(5, 2)), (F(0), F(1), F(3), F(30))
    ):
        largest = max(value / 2 * (1 + b) + square * (1 - b * b) + share * (1 + b * b) / 2 for b in steps)
        assert 0 <= bounds._chord_l1(value, square, share) - largest <= F(1, 10**4)
    below = F(1, 10**9)
    for value, square, share, ends in (
        (F(62), F(81), F(50), True), (F(62), F(81), F(50) - below, False), (F(62) - below, F(81), F(50), False),
        (F(50), F(54), F(25), True), (F(50), F(54), F(25) - below, False), (F(50) - below, F(54), F(25), False),
        (F(112), F(81), F(0), False), (F(175, 2), F(54), F(0), True), (F(175, 2) - below, F(54), F(0), False),
        (F(60), F(54), F(10), False), (F(2), F(1), F(0), True), (F(3), F(1), F(5), True), (F(0), F(1), F(2), True),
    ):  # fmt: skip
        at = (
            value / 4 * (1 + b) ** 2 + square * (1 - b * b) ** 2 + share * (1 + 3 * b * b) / 4 for b in steps
        )
        found, largest = bounds._chord_squared(value, square, share), max(at)
        assert largest <= found
        if ends:
            assert found == value + share
            continue
        with mp.workdps(60):
            root = mp.sqrt(1 - mp.mpf(value.numerator) / value.denominator / (2 * int(square)))
            bend = int(square) * (3 - root) ** 3 * (1 + root) / 16
            expected = (
                max(mp.mpf(value.numerator) / value.denominator, bend)
                + mp.mpf(share.numerator) / share.denominator
            )
            off = mp.mpf(found.numerator) / found.denominator - expected
        assert -(mp.mpf(10) ** -40) <= off <= mp.mpf(10) ** -17


# What is bought --------------------------------------------------------------------------------------------


def test_noise_is_for_one_number_unless_more_is_said() -> None:
    """Mutants: another default, the other noise; a part of the price for squares, or a curve, unless one says so."""
    assert (
        Sensitivity(((0, 1),), 1, "add-remove").squares,
        Sensitivity(((0, 1),), 1, "add-remove").curved,
    ) == (0, 0)
    one = Sensitivity(((0, 3),), 1, "add-remove")
    assert float(GaussianNoise.for_cost(one, F(9)).scales[0]) == pytest.approx(1)
    assert float(GeometricNoise.for_cost(one, F(3)).scales[0]) == pytest.approx(1)
    assert (GaussianNoise.gaussian, GeometricNoise.gaussian) == (True, False)
    assert GaussianNoise.for_cost(one, F(9, 4)).cost(one).mu_squared == F(9, 4)  # met exactly
    assert GeometricNoise.for_cost(one, F(3, 2)).cost(one).epsilon == F(3, 2)


def test_a_person_s_answer_is_true_as_often_as_is_paid_for() -> None:
    """Mutants: another border, default, rounding or share of the truth."""
    assert [refused(lambda k=k: RandomizedResponse(k, F(9, 10))) for k in (0, 1, 2, 2**31, 2**31 + 1)] == [
        True, True, False, False, True,
    ]  # fmt: skip
    for make in (
        RandomizedResponse.for_epsilon,
        lambda e, k=2: RandomizedResponse.for_guarantee(Guarantee(e, F(0)), k),
    ):
        assert make(F(1)).categories == 2
        assert [refused(lambda e=e, make=make: make(e)) for e in (F(-1, 2), F(30), F(31))] == [
            True,
            False,
            True,
        ]
        for epsilon in (F(1, 100), F(3)):
            truth = make(epsilon, 5).truth
            assert float(truth) == pytest.approx(math.exp(epsilon) / (4 + math.exp(epsilon)), rel=1e-12)
    assert RandomizedResponse.for_guarantee(Guarantee(F(1), F(0))).categories == 2
    for epsilon in (F(0), F(-1, 2)):
        with pytest.raises(InvalidRequest, match="epsilon must be"):
            RandomizedResponse.for_epsilon(epsilon)
    with pytest.raises(InvalidRequest, match="categories"):
        RandomizedResponse(1, F(9, 10))
    with pytest.raises(InvalidRequest, match="epsilon must be"):
        RandomizedResponse.for_guarantee(Guarantee(F(31), F(0)))
    machine = RandomizedResponse(5, F(3, 5))
    assert (machine.lie, float(machine.cost().pure)) == (F(1, 10), pytest.approx(math.log(6)))
    assert machine.error(1000, 0.9) == pytest.approx(math.sqrt(1000 * math.log(20) / 2) / 0.5, rel=1e-11)
    assert machine.error(1000, 0.9) > math.sqrt(1000 * math.log(20) / 2) / 0.5
    assert (machine.variance(10, 20), machine.estimate([30, 10, 10, 0, 0])[0]) == (
        (10 * F(6, 25) + 20 * F(9, 100)) * 4,
        50,
    )
    assert [refused(lambda v=v: machine.release(v, Seeded(1))) for v in ([0, 4], [-1, 4], [0, 5], [])] == [
        False, True, True, False,
    ]  # fmt: skip
    held = [k % 5 for k in range(60)]
    honest = _below(5, 60, bits := Seeded(9)) < 3
    steps = 1 + _below(4, 60, bits)
    expected = [v if h else (v + int(s)) % 5 for v, h, s in zip(held, honest, steps, strict=True)]
    assert machine.release(held, Seeded(9)) == expected
    for x in (F(1, 3), F(7), F(100)):
        with mp.workdps(100):
            exact = mp.exp(mp.mpf(x.numerator) / x.denominator)
            assert 0 <= exact - mp.mpf(_exp_down(x).numerator) / _exp_down(x).denominator <= exact / 2**64
        assert float(_exp_down(x)) == pytest.approx(math.exp(x), rel=1e-15)
    assert _log_up(F(3)) >= F(math.log(3)) * (1 + 7 * F(1, 2**53))


def test_a_key_is_shown_above_a_threshold_for_its_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: another border of the probability, another side of it; a margin that makes the threshold less."""
    noise, pure = GaussianNoise((F(10),)), GeometricNoise((F(10),))
    assert 1 < keys._FARTHER < 1 + 1e-8
    monkeypatch.setattr(keys, "_FARTHER", 1.25)
    assert keys.KeySelection(noise, 2, F(1, 100)).threshold == math.ceil(
        1.5 + 2.6520698 * 1.25 * 10
    )  # ndtri(0.004)
    beyond = -math.log(0.004) * 1.25 - math.log1p(math.exp(-0.1))
    assert keys.KeySelection(pure, 2, F(1, 100)).threshold == 1 + math.ceil(beyond * 1.25 * 10)
    for probability, touched, good in (
        (keys.LEAST_PROBABILITY, 1, True),
        (keys.LEAST_PROBABILITY, 2, False),
        (keys.LEAST_PROBABILITY / 2, 1, False),
        (F(49, 100), 1, True),
        (F(1, 2), 1, False),
        (F(99, 100), 2, True),
        (F(1), 2, False),
    ):
        assert refused(lambda p=probability, t=touched: keys.KeySelection(noise, t, p)) != good
    assert F(1, 10**250) == keys.LEAST_PROBABILITY


def test_only_a_value_beside_its_square_lies_on_a_curve() -> None:
    """A curve makes the cost less.  Mutants: other coordinates taken for a square, a curve that is not known."""
    x, y = ValueOf(IntegerColumn("x", 0, 9)), ValueOf(IntegerColumn("y", -3, 4))
    unit, table = PrivacyUnit("replace-one"), Table("t", (x.column, y.column))
    squares, moments = squared_values(x), moment_values(x, y)
    for measure, coordinates, curved in (
        (Variance(x), squares, 1), (Mean(x), squares, 1), (Mean(x), squares[:2], 0), (Moments(y, x, "slope"), moments, 2),
        (Sum(x), squares, 0), (Variance(x), squares[:2], 0), (Moments(y, x, "slope"), moments[:5], 0),
    ):  # fmt: skip
        reading = Reading(
            "r", measure, EVERY_ROW, coordinates, (), Sensitivity(((0, 1),), 1, "add-remove"), table=table
        )
        found = sensitivity_of(reading, unit)
        assert (found.curved, found.boxes) == (curved, tuple(one.box for one in coordinates))
    for measure, coordinates in (
        (Variance(x), (squares[1], squares[0], squares[2])), (Mean(x), (*squares[:2], squares[0])),
        (Variance(y), squares), (Moments(x, y, "slope"), moments),
    ):  # fmt: skip
        reading = Reading(
            "r", measure, EVERY_ROW, coordinates, (), Sensitivity(((0, 1),), 1, "add-remove"), table=table
        )
        with pytest.raises(InvalidRequest, match="farther"):
            sensitivity_of(reading, unit)
    coordinate = Coordinate(x, times=2, minus=9)
    assert (coordinate.box, Coordinate(times=7).box, Coordinate().box) == ((-9, 9), (7, 7), (1, 1))
    assert centred_and_counted(ValueOf(IntegerColumn("z", 0, 2**21)))[-1] == Coordinate(times=2**20)


def test_what_is_counted_of_a_value_moves_as_its_weights_say() -> None:
    """Mutants: other weights of an end, another middle, a curve of what has none."""
    x = ValueOf(IntegerColumn("x", -3, 8))
    assert search_weights(Quantile(x, F(3, 10))) == (10, 3)
    assert (search_weights(Extreme(x, "least")), search_weights(Extreme(x, "greatest"))) == ((1, 0), (1, 1))
    assert centred_and_counted(x) == (Coordinate(x, times=2, minus=5), Coordinate(times=11))
    assert [one.box for one in centred_and_counted(x)] == [(-11, 11), (11, 11)]
    unit, table = PrivacyUnit("add-remove"), Table("t", (x.column, IntegerColumn("y", -3, 4)))
    box = Sensitivity(((0, 1),), 1, "add-remove")
    for measure in (Count(), Sum(x), Proportion(EVERY_ROW), Cdf(x, (F(1),))):
        reading = Reading("r", measure, EVERY_ROW, (Coordinate(times=7),), (), box, table=table)
        assert (sensitivity_of(reading, unit).curved, moved_by_one(reading, unit), reading.groups) == (
            0,
            7,
            0,
        )
    for cells in (3, 5):
        column = CategoryColumn("c", tuple("abcde"[:cells]))
        own = Table("t", (x.column, column))
        binned = Reading("r", Count(), EVERY_ROW, (Coordinate(),), (column,), box, table=own)
        assert sensitivity_of(binned, unit).cells == cells
        noise = NoisyReading(
            Reading("r", Count(), EVERY_ROW, (Coordinate(),), (column,), box, table=table),
            GaussianNoise((F(3),)),
        )
        assert (noise.times, noise.most_numbers) == (1, cells)
    assert step_of_one(Coordinate(ValueOf(RealColumn("z", 0, 4, F(1, 2))), times=3)) == F(1, 6)
    assert stability_units(GaussianCost(F(1, 10**30))) == 1
    searched = Sensitivity(((-1, 1),), 3, "add-remove")
    for measure, own in ((Quantile(x, F(1, 2)), 3), (Extreme(x, "least"), 3), (Count(), 12)):
        column = CategoryColumn("c", tuple("abcdefghijkl"))
        reading = Reading("r", measure, EVERY_ROW, (Coordinate(),), (column,), searched, table=table)
        assert NoisyReading(reading, GaussianNoise((F(3),)), 5).most_numbers == 5 * own
        assert NoisyReading(reading, GeometricNoise((F(3),)), 5).most_numbers is None
    found = Reading("r", Count(), EVERY_ROW, (Coordinate(),), (column, TextColumn("t")), box, table=table)
    noise = NoisyReading(found, GaussianNoise((F(3),)))
    assert (noise.most_numbers, noise.radius()) == (None, noise.radius_from_nothing())
    assert noise.radius() > stability_units(noise.mechanism.radius(box))
