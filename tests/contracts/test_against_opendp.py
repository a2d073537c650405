"""OpenDP as an oracle: where the two libraries guarantee the same they agree, elsewhere the difference is stated.

OpenDP's generator cannot be seeded, so its samples are new on every run.  A test of fit fails if its p-value
is below 1e-10; with fewer than ten of them a false alarm happens about once in 10**9 runs of this file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from scipy.special import chdtrc

from adyton.kernel.accounting import gaussian
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noise import rounded_gaussian, two_sided_geometric
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.noise_intervals.laws import gaussian_pmf, geometric_pmf
from support.randomness import Seeded

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")

ALARM = 1e-10
SAMPLES = 40_000
ONE = (Fraction(1),)
SCALES = [0.7, 3.0, 41.5]


def vector_of_integers() -> Any:
    return dp.vector_domain(dp.atom_domain(T=int))


def their_laplace(scale: float, count: int = SAMPLES) -> list[int]:
    measurement = dp.m.make_laplace(vector_of_integers(), dp.l1_distance(T=int), scale=scale)
    return list(measurement([0] * count))


def their_gaussian(scale: float, count: int = SAMPLES) -> list[int]:
    measurement = dp.m.make_gaussian(vector_of_integers(), dp.l2_distance(T=float), scale=scale)
    return list(measurement([0] * count))


def fit(drawn: Sequence[int], pmf: Callable[[int], float]) -> float:
    """P-value of Pearson's chi-square; integers that are expected fewer than 20 times count as one."""
    seen = Counter(drawn)
    common = {z: pmf(z) * len(drawn) for z in range(min(seen), max(seen) + 1)}
    common = {z: expected for z, expected in common.items() if expected >= 20}
    rest = len(drawn) - sum(common.values())
    total = sum((seen[z] - expected) ** 2 / expected for z, expected in common.items())
    total += (len(drawn) - sum(seen[z] for z in common) - rest) ** 2 / max(rest, 1)
    return float(chdtrc(len(common), total))


def same(one: Sequence[int], two: Sequence[int]) -> float:
    """P-value of the chi-square test that two samples of equal size have one law."""
    first, second = Counter(one), Counter(two)
    common = [z for z in first | second if first[z] + second[z] >= 40]
    pairs = [(first[z], second[z]) for z in common]
    pairs.append((len(one) - sum(a for a, _ in pairs), len(two) - sum(b for _, b in pairs)))
    total = sum((a - b) ** 2 / (a + b) for a, b in pairs if a + b)
    return float(chdtrc(len(common), total))


# Two-sided geometric noise is their discrete Laplace -------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_has_our_law(scale: float) -> None:
    theirs = their_laplace(scale)
    ours = two_sided_geometric.draw(scale, SAMPLES, Seeded(1)).tolist()
    assert fit(theirs, lambda z: geometric_pmf(scale, z)) > ALARM
    assert same(ours, theirs) > ALARM


def test_the_test_of_fit_would_notice_a_tenth_less_noise() -> None:
    theirs = their_laplace(3.0)
    assert fit(theirs, lambda z: geometric_pmf(2.7, z)) < ALARM
    assert same(two_sided_geometric.draw(2.7, SAMPLES, Seeded(2)).tolist(), theirs) < ALARM


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("moved", [1, 2, 7])
def test_discrete_laplace_costs_our_epsilon(scale: float, moved: int) -> None:
    theirs = dp.m.make_laplace(vector_of_integers(), dp.l1_distance(T=int), scale=scale).map(moved)
    ours = GeometricNoise((Fraction(scale),)).cost(Sensitivity(((0, moved),), 1, "replace-one")).epsilon
    assert theirs == pytest.approx(float(ours), rel=1e-12)
    assert Fraction(theirs) >= ours  # both round away from danger


# Their discrete Gaussian and our rounded Gaussian ----------------------------------------------------------


def discrete_gaussian(scale: float) -> Callable[[int], float]:
    """P(z) proportional to exp(-z**2 / (2 scale**2)): another law than a rounded normal variable's."""
    reach = int(40 * scale) + 1
    whole = math.fsum(math.exp(-(z**2) / (2 * scale**2)) for z in range(-reach, reach + 1))
    return lambda z: math.exp(-(z**2) / (2 * scale**2)) / whole


@pytest.mark.parametrize("scale", [0.6, 3.0, 41.5])
def test_gaussian_noise_costs_the_same_rho(scale: float) -> None:
    theirs = dp.m.make_gaussian(vector_of_integers(), dp.l2_distance(T=float), scale=scale).map(2.0)
    ours = GaussianNoise((Fraction(scale),)).cost(Sensitivity(((0, 2),), 1, "replace-one")).zcdp
    assert theirs == pytest.approx(float(ours), rel=1e-12)


def test_with_much_noise_the_two_gaussians_are_hard_to_tell_apart() -> None:
    theirs = their_gaussian(20.0)
    assert fit(theirs, lambda z: gaussian_pmf(20.0, z)) > ALARM
    assert same(rounded_gaussian.draw(20.0, SAMPLES, Seeded(3)).tolist(), theirs) > ALARM


def test_documented_difference_with_little_noise_two_gaussians_differ() -> None:
    """Rounding adds a variance of about 1/12; their law has a little less than scale**2."""
    scale = 0.6
    theirs = their_gaussian(scale)
    assert fit(theirs, discrete_gaussian(scale)) > ALARM
    assert fit(theirs, lambda z: gaussian_pmf(scale, z)) < ALARM
    reach = range(-40, 41)
    rounded, discrete = (
        math.fsum(z * z * law(z) for z in reach)
        for law in (lambda z: gaussian_pmf(scale, z), discrete_gaussian(scale))
    )
    assert discrete <= scale**2 <= rounded
    assert rounded == pytest.approx(scale**2 + 1 / 12, rel=0.01)


def test_documented_difference_only_the_rounded_gaussian_is_gdp() -> None:
    """At mu = 1/scale the discrete law passes the delta of mu-GDP somewhere, the rounded law nowhere."""
    scale = 0.6
    passes = {"rounded": False, "discrete": False}
    for name, law in (
        ("rounded", lambda z: gaussian_pmf(scale, z)),
        ("discrete", discrete_gaussian(scale)),
    ):
        chances = [law(z) for z in range(-30, 32)]
        for step in range(60):
            epsilon = step / 20
            delta = math.fsum(max(0.0, here - math.exp(epsilon) * there) for here, there in pairwise(chances))
            passes[name] |= delta > gaussian.delta_up(1 / scale, epsilon) + 1e-12
    assert passes == {"rounded": False, "discrete": True}


# Sensitivities: their symmetric distance 1 is our add-remove; 2 with a public size is our replace-one ---


def bounded(low: int, high: int, size: int | None = None) -> Any:
    atom = dp.atom_domain(T=int, bounds=(low, high))
    return dp.vector_domain(atom) if size is None else dp.vector_domain(atom, size=size)


@pytest.mark.parametrize("bounds", [(0, 10), (-3, 10), (-8, -2), (1, 10)])
def test_sums_move_as_far(bounds: tuple[int, int]) -> None:
    low, high = bounds
    theirs = dp.t.make_sum(bounded(low, high), dp.symmetric_distance()).map(1)
    assert theirs == Sensitivity((bounds,), 1, "add-remove").l1_diameter(ONE)
    sized = dp.t.make_sum(bounded(low, high, 50), dp.symmetric_distance()).map(2)
    ours = Sensitivity((bounds,), 1, "replace-one").l1_diameter(ONE)
    assert sized == high - low
    assert ours == max(high - low, abs(low), abs(high))  # ours also covers a row that has no value


@pytest.mark.parametrize("bounds", [(0, 10), (-3, 10), (1, 300)])
def test_means_move_as_far_where_the_size_is_public(bounds: tuple[int, int]) -> None:
    low, high = bounds
    atom = dp.atom_domain(T=float, bounds=(float(low), float(high)))
    theirs = dp.t.make_mean(dp.vector_domain(atom, size=50), dp.symmetric_distance()).map(2)
    centred = ((low - high, high - low),)  # 2 value - low - high
    ours = Sensitivity(centred, 1, "replace-one").l1_diameter(ONE) / 2 / 50
    assert ours == Fraction(high - low, 50)
    assert float(ours) <= theirs <= float(ours) + 1e-9  # theirs adds what float sums may lose


def test_counts_and_histograms_move_as_far() -> None:
    count = dp.t.make_count(vector_of_integers(), dp.symmetric_distance())
    assert count.map(1) == Sensitivity(((1, 1),), 1, "add-remove").l1_diameter(ONE) == 1
    histogram = dp.t.make_count_by_categories(
        vector_of_integers(), dp.symmetric_distance(), categories=[1, 2, 3], MO=dp.L1Distance[int]
    )
    cells = 4  # theirs has one more for all other values
    assert histogram.map(1) == Sensitivity(((1, 1),), cells, "add-remove").l1_diameter(ONE) == 1
    assert histogram.map(2) == Sensitivity(((1, 1),), cells, "replace-one").l1_diameter(ONE) == 2


def test_documented_difference_replacing_moves_a_histogram_by_root_2() -> None:
    """They add distances of two single changes; ours measures the two cells at once."""
    theirs = dp.t.make_count_by_categories(
        vector_of_integers(), dp.symmetric_distance(), categories=[1, 2, 3], MO=dp.L2Distance[float]
    ).map(2)
    assert theirs == 2.0
    assert Sensitivity(((1, 1),), 4, "replace-one").l2_diameter_squared(ONE) == 2


# Randomized response ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("categories", "truth"), [(2, "3/4"), (3, "3/5"), (10, "1/2")])
def test_randomized_response_costs_our_epsilon(categories: int, truth: str) -> None:
    theirs = dp.m.make_randomized_response(list(range(categories)), prob=float(Fraction(truth))).map(1)
    ours = RandomizedResponse(categories, Fraction(truth)).cost().epsilon
    assert theirs == pytest.approx(float(ours), rel=1e-12)


def test_randomized_response_has_our_law() -> None:
    ours = RandomizedResponse(3, Fraction(3, 5))
    measurement = dp.m.make_randomized_response([0, 1, 2], prob=0.6)
    theirs = [measurement(1) for _ in range(6_000)]
    law = [float(ours.lie), float(ours.truth), float(ours.lie)]
    assert fit(theirs, lambda z: law[z]) > ALARM
    assert same(ours.release([1] * 6_000, Seeded(4)), theirs) > ALARM
