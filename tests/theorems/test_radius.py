"""What a release costs validity: balls against boxes, rounding, and persons."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from adyton.errors import InvalidRequest
from adyton.validity import joint_width, stability_width
from adyton.validity.radius import (
    MEAN,
    jung_radius_squared,
    one_hot_radius_squared,
    person_as_row,
    rounding_margin,
    spent_by,
)


def test_theorem_VALIDITY_PAYS_THE_RADIUS_of_a_mean_and_a_histogram() -> None:
    assert spent_by(MEAN, 100, "0.1") == Fraction(1, 400)
    for cells in (2, 3, 10):
        centre = [Fraction(1, cells)] * cells
        for hot in range(cells):
            point = [Fraction(int(i == hot)) for i in range(cells)]
            assert sum((a - b) ** 2 for a, b in zip(point, centre, strict=True)) == one_hot_radius_squared(
                cells
            )
        assert one_hot_radius_squared(cells) <= jung_radius_squared(
            "1.41421356237309504881", cells - 1
        ) + Fraction(1, 10**15)
        assert one_hot_radius_squared(cells) >= Fraction(1, 2)  # half the diameter


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=2, max_size=5))
def test_theorem_VALIDITY_PAYS_THE_RADIUS_jung(points: list[tuple[float, float]]) -> None:
    """In the plane the least enclosing circle is that of two or three of the points."""
    diameter = max(math.dist(p, q) for p, q in combinations(points, 2))
    if diameter < 1e-6:
        return
    candidates = [((p[0] + q[0]) / 2, (p[1] + q[1]) / 2) for p, q in combinations(points, 2)]
    for a, b, c in combinations(points, 3):
        d = 2 * (a[0] * (b[1] - c[1]) + b[0] * (c[1] - a[1]) + c[0] * (a[1] - b[1]))
        if abs(d) > 1e-9:
            sq = [p[0] ** 2 + p[1] ** 2 for p in (a, b, c)]
            x = (sq[0] * (b[1] - c[1]) + sq[1] * (c[1] - a[1]) + sq[2] * (a[1] - b[1])) / d
            y = (sq[0] * (c[0] - b[0]) + sq[1] * (a[0] - c[0]) + sq[2] * (b[0] - a[0])) / d
            candidates.append((x, y))
    radius = min(max(math.dist(p, c) for p in points) for c in candidates)
    assert radius**2 <= float(jung_radius_squared(str(diameter), 2)) * (1 + 1e-6)


def test_theorem_VALIDITY_PAYS_THE_RADIUS_one_row_in_three_cells() -> None:
    """One row, one noisy one-hot vector: X_T exactly, by a grid in the plane of the three corners."""
    sigma = 3.0
    mu0 = math.sqrt(spent_by(one_hot_radius_squared(3), 1, str(sigma)))
    corners = np.sqrt(2 / 3) * np.array([[0, 1], [math.sqrt(3) / 2, -0.5], [-math.sqrt(3) / 2, -0.5]])
    grid, step = np.linspace(-6 * sigma, 6 * sigma, 401, retstep=True)
    x, y = np.meshgrid(grid, grid)
    density = np.stack([np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * sigma**2)) for a, b in corners])
    density /= 3 * 2 * math.pi * sigma**2
    distance = np.abs(density / density.sum(axis=0) - 1 / 3).sum(axis=0) / 2
    for failure in (0.3, 0.1, 0.01):
        for mu, holds in ((mu0, True), (mu0 / 2, False)):
            mass = float((density.sum(axis=0) * (distance > stability_width(mu, failure))).sum() * step**2)
            assert (mass <= failure) == holds


def test_theorem_ROUNDED_ANSWERS_integer_sums() -> None:
    """Three fair bits, rounded noise: the law of the released integer is exact, and so is every failure."""
    assert rounding_margin("0.5") == Fraction(1, 4)
    n, sigma = 3, 0.8  # of the mean; the sum has n sigma
    for failure in (0.5, 0.2, 0.05):
        width = joint_width(n, 1, failure, sigma).tolerance + float(rounding_margin(Fraction(1, n)))
        wrong = 0.0
        for bits in product((0, 1), repeat=n):
            for z in range(-60, 61):
                mass = float(ndtr((z + 0.5) / (n * sigma)) - ndtr((z - 0.5) / (n * sigma)))
                wrong += mass / 2**n * (abs((sum(bits) + z) / n - 0.5) > width)
        assert wrong <= failure


@pytest.mark.literature
def test_theorem_ROUNDED_ANSWERS_rounding_and_noise_commute() -> None:
    values = np.random.default_rng(3).normal(0, 10, 1000)
    for total in (-3, 0, 17):
        assert np.array_equal(np.floor(total + values + 0.5), total + np.floor(values + 0.5))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.fractions(0, 1), max_size=5), st.integers(5, 9))
def test_theorem_PERSONS_AS_ROWS_is_a_row(values: list[Fraction], most: int) -> None:
    f, g = person_as_row(values, most)
    assert 0 <= f <= g <= 1
    assert g == 0 or f / g == sum(values) / len(values)
    with pytest.raises(InvalidRequest):
        person_as_row([*values, 2], most)


def test_theorem_PERSONS_AS_ROWS_mean_over_records() -> None:
    """Persons of one or three records: E f / E g is the mean of all records, not of the persons' means."""
    light, heavy = person_as_row([1], 3), person_as_row([0, 0, 1], 3)
    ratio = (light[0] + heavy[0]) / (light[1] + heavy[1])
    assert ratio == Fraction(2, 4)
    with pytest.raises(InvalidRequest):
        person_as_row([0, 0], 1)
