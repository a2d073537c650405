"""The stability width for other pairs than Gaussian ones: all atoms, and Laplace noise exactly."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri

from adyton.errors import InvalidRequest
from adyton.validity import stability_width
from adyton.validity.outward import digits
from adyton.validity.pairs import RandomizedResponses, _beyond, _window, hinge_of, stability_width_of


@pytest.mark.parametrize(
    ("releases", "epsilon", "t05", "t01"),
    [
        (1, 0.05, 0.0256355, 0.0256355),
        (10, 0.01, 0.035782, 0.0435447),
        (100, 0.005, 0.0593648, 0.0734909),
        (1000, 0.001, 0.0374789, 0.046292),
    ],
)
def test_theorem_HINGE_OF_A_PAIR_reference_values(
    releases: int, epsilon: float, t05: float, t01: float
) -> None:
    pair = RandomizedResponses(releases, epsilon)
    assert stability_width_of(pair, "0.05") == pytest.approx(t05, rel=3e-6)
    assert stability_width_of(pair, "0.01") == pytest.approx(t01, rel=3e-6)


@pytest.mark.parametrize(("releases", "epsilon"), [(1, 0.3), (5, 0.1), (12, 0.02), (600, 0.02)])
def test_theorem_HINGE_OF_A_PAIR_is_never_below_fifty_digits(releases: int, epsilon: float) -> None:
    """All atoms, with their true binomial weights; 600 releases have atoms beyond the window."""
    c, s = 0.1, 0.05
    with mpmath.workdps(50):
        e, total = mpmath.mpf(epsilon), mpmath.mpf(0)
        p = 1 / (1 + mpmath.exp(e))
        for x in range(releases + 1):
            r = mpmath.exp(e * (2 * x - releases))
            h = max(mpmath.mpf(0), mpmath.mpf(c) / 4 + (r - 1) ** 2 / (4 * mpmath.mpf(c)) - mpmath.mpf(s) * r)
            total += mpmath.binomial(releases, x) * p**x * (1 - p) ** (releases - x) * h
        found = hinge_of(digits(60), RandomizedResponses(releases, epsilon), c, s)
        assert (
            total * (1 - mpmath.mpf(10) ** -40)
            <= found
            <= total * (1 + mpmath.mpf(10) ** -20) + mpmath.mpf(10) ** -35
        )


@pytest.mark.parametrize("scale", [0.5, 1.0, 5.0, 50.0])
def test_theorem_HINGE_OF_A_PAIR_one_fair_bit_with_laplace_noise(scale: float) -> None:
    """X_T = tanh(|L| / 2) / 2, L the log-ratio: (|a| - |a - 1|) / scale, between -1/scale and 1/scale."""
    pair = RandomizedResponses.laplace(1, 1, scale)
    a = np.linspace(-60 * scale, 1 + 60 * scale, 200_001)
    density = (np.exp(-np.abs(a) / scale) + np.exp(-np.abs(a - 1) / scale)) / (4 * scale)
    distance = np.abs(np.tanh((np.abs(a) - np.abs(a - 1)) / (2 * scale))) / 2
    for failure in (0.5, 0.1, 0.01):
        width = stability_width_of(pair, failure)
        mass = float((density * (distance > width)).sum() * (a[1] - a[0]))
        assert mass <= failure
        assert width > 0.4 * float(distance.max()) * min(1.0, failure)


def test_theorem_HINGE_OF_A_PAIR_is_below_the_gaussian_that_dominates_it() -> None:
    """Pure epsilon is mu-GDP with mu = 2 quantile(1 / (1 + exp(-epsilon)))."""
    for releases, epsilon in ((1, 0.1), (20, 0.05), (300, 0.01)):
        mu = 2 * float(ndtri(1 / (1 + math.exp(-epsilon)))) * math.sqrt(releases)
        pair = RandomizedResponses.whole_guarantee(releases, str(epsilon))
        assert stability_width_of(pair, "0.05") <= stability_width(mu, "0.05")
    with pytest.raises(InvalidRequest):
        RandomizedResponses(10**9, 1e-6)
    with pytest.raises(InvalidRequest):
        RandomizedResponses(4, 1.5)


def test_theorem_HINGE_OF_A_PAIR_what_is_beyond_the_window_is_paid_for() -> None:
    pair, c, s = RandomizedResponses(600, 0.05), 0.5, 0.2
    first, last = _window(pair)
    assert 0 < first < last
    with mpmath.workdps(50):
        e, outside = mpmath.mpf(pair.epsilon), mpmath.mpf(0)
        p = 1 / (1 + mpmath.exp(e))
        for x in [*range(first), *range(last + 1, 601)]:
            r = mpmath.exp(e * (2 * x - 600))
            h = max(mpmath.mpf(0), mpmath.mpf(c) / 4 + (r - 1) ** 2 / (4 * mpmath.mpf(c)) - mpmath.mpf(s) * r)
            outside += mpmath.binomial(600, x) * p**x * (1 - p) ** (600 - x) * h
        assert 0 < outside <= _beyond(digits(50), pair, mpmath.mpf(c)) < mpmath.mpf(10) ** -35
