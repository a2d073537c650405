"""The stability width for other pairs than Gaussian ones: all atoms, and Laplace noise exactly."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri

from adyton.errors import InvalidRequest
from adyton.kernel.exact.outward import digits
from adyton.validity.hinge.opening import open_at
from adyton.validity.hinge.pairs import RandomizedResponses, _beyond, _window, hinge_of, stability_width_of
from adyton.validity.hinge.stability import gaussian_hinge, stability_width


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
    pair = RandomizedResponses(1, 1 / (2 * scale))
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
        pair = RandomizedResponses(releases, epsilon)
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


# Geometric noise on integers: the phantom may stand between them -----------------------------------------


def geometric_law(scale: float, centre: float, reach: int) -> np.ndarray:
    law = np.exp(-np.abs(np.arange(-reach, reach + 1) - centre) / scale)
    return law / law.sum()


def hinge_mean(ratio: np.ndarray, law: np.ndarray, c: float, s: float) -> float:
    return float(law @ np.maximum(c / 4 + (ratio - 1) ** 2 / (4 * c) - s * ratio, 0))


@pytest.mark.literature
@pytest.mark.parametrize("scale", [0.4, 1.0, 3.0, 20.0])
@pytest.mark.parametrize(("length", "centre"), [(1, 0.5), (3, 1.5), (4, 2.0), (2, 0.7)])
def test_theorem_HINGE_OF_A_PAIR_geometric_noise_is_below_its_gaussian(
    scale: float, length: int, centre: float
) -> None:
    """A unit adds 0 or ``length``; the phantom adds ``centre``.  Also where exp(-e) is undercut."""
    e = max(centre, length - centre) / scale
    m = 2 * float(ndtri(1 / (1 + math.exp(-e))))
    x, step = np.linspace(-14, 14, 400_001, retstep=True)
    normal, lognormal = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * step, np.exp(m * x - m * m / 2)
    phantom = geometric_law(scale, centre, int(60 * scale) + 20)
    for added in (0, length):
        ratio = geometric_law(scale, added, int(60 * scale) + 20) / phantom
        for c, s in ((e, e), (2 * e, e / 2), (e / 2, 0.2 * e), (0.3 * e, 2 * e)):
            assert (
                hinge_mean(ratio, phantom, c, s) <= hinge_mean(lognormal, normal, c, s) * (1 + 1e-6) + 1e-12
            )
        for t in (0.3, 0.7, 1.0, 1.3, 2.5):  # every convex function is made of these
            above = float(phantom @ np.maximum(ratio - t, 0))
            assert above <= float(normal @ np.maximum(lognormal - t, 0)) + 1e-9


@pytest.mark.literature
def test_theorem_HINGE_OF_A_PAIR_a_phantom_between_integers_breaks_it() -> None:
    """A count with noise 1: the ratio is 1 - tanh(1/2) or 1 + tanh(1/2), so it leaves exp(-1/2)..exp(1/2)."""
    phantom, law = geometric_law(1.0, 0.5, 80), geometric_law(1.0, 0, 80)
    ratio = law / phantom
    assert (ratio.min(), ratio.max()) == (
        pytest.approx(1 - math.tanh(0.5)),
        pytest.approx(1 + math.tanh(0.5)),
    )
    response = np.array([1, math.exp(0.5)]) / (1 + math.exp(0.5))
    ends = np.array([math.exp(0.5), math.exp(-0.5)])
    assert float(response @ ends) == pytest.approx(1)
    assert float(response @ np.maximum(0.6 - ends, 0)) == 0  # the convex function (0.6 - r)_+
    assert float(phantom @ np.maximum(0.6 - ratio, 0)) > 0.03


# Adaptive releases, exactly --------------------------------------------------------------------------------


def bit_given(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From densities of everything released given the bit: how likely it is, and X_T, for one fair bit."""
    both = (first + second) / 2
    return both, np.abs(first - second) / (4 * np.maximum(both, 1e-300))


@pytest.mark.parametrize("scale", [0.8, 2.0])
def test_theorem_HINGE_OF_A_PAIR_two_adaptive_laplace_answers(scale: float) -> None:
    """The second query is the bit or its complement, or nothing, whichever the first answer says."""
    grid, step = np.linspace(-14 * scale, 1 + 14 * scale, 1201, retstep=True)
    a, b = np.meshgrid(grid, grid, indexing="ij")

    def density(bit: int) -> np.ndarray:
        second = np.where(a < 0.2, bit, np.where(a > 0.8, 1 - bit, 0.5))
        return np.exp(-(np.abs(a - bit) + np.abs(b - second)) / scale) / (2 * scale) ** 2 * step**2

    both, distance = bit_given(density(0), density(1))
    assert both.sum() == pytest.approx(1, abs=1e-3)
    pair = RandomizedResponses(2, 1 / (2 * scale))
    for c, s in ((0.3, 0.1), (0.6, 0.3), (1.0, 0.05)):
        mean = float((both * np.maximum(distance - s, 0)).sum())
        assert mean <= float(hinge_of(digits(30), pair, c, s))
    one = RandomizedResponses(1, 1 / (2 * scale))  # as if the second answer had said nothing
    least = min(float(hinge_of(digits(30), one, c, 0.2)) for c in np.linspace(0.2, 1.5, 40))
    enough = min(float(hinge_of(digits(30), pair, c, 0.2)) for c in np.linspace(0.2, 1.5, 40))
    assert float((both * np.maximum(distance - 0.2, 0)).sum()) <= enough
    assert least < enough


def test_theorem_HINGE_OF_A_PAIR_releases_of_several_kinds_share_one_cap() -> None:
    """A geometric count of one bit, then a normal answer whose noise the count chooses, so that 0.5 is spent."""
    scale, cap, reach = 1.5, 0.5, 60
    e = 1 / (2 * scale)
    spent = (2 * float(ndtri(1 / (1 + math.exp(-e))))) ** 2
    z, step = np.arange(-reach, reach + 1), 0.02
    grid = np.arange(-20, 21, step)
    loud = 1 / (2 * math.sqrt((cap - spent) / 3))
    quiet = 1 / (2 * math.sqrt(cap - spent))

    def density(bit: int) -> np.ndarray:
        noise = np.where(z > 0, quiet, loud)[:, None]
        normal = np.exp(-((grid[None, :] - bit) ** 2) / (2 * noise**2)) / (noise * math.sqrt(2 * math.pi))
        return geometric_law(scale, bit, reach)[:, None] * normal * step

    both, distance = bit_given(density(0), density(1))
    assert both.sum() == pytest.approx(1, abs=1e-3)
    for failure in (0.5, 0.2, 0.05, 0.01):
        mu0 = math.sqrt(cap)
        c, s = open_at(mu0, failure)
        mean = float((both * np.maximum(distance - s, 0)).sum())
        assert mean <= float(gaussian_hinge(digits(40), mu0, c, s))
        assert float((both * (distance > stability_width(mu0, failure))).sum()) <= failure
    c, s = open_at(math.sqrt(spent / 4), 0.5)  # a quarter of the first release alone would be refuted
    mean = float((both * np.maximum(distance - s, 0)).sum())
    assert mean > float(gaussian_hinge(digits(40), math.sqrt(spent / 4), c, s))
