"""The matrix mechanism: true output laws of neighbors, and errors as predicted."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian
from adyton.kernel.noise import rounded_gaussian, two_sided_geometric
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy
from adyton.noise_intervals.laws import gaussian_pmf, geometric_log_pmf, geometric_pmf
from adyton.noise_intervals.strategies import geometric_variance
from adyton.planning.coordinated.range_workload import (
    ExplicitQueries,
    IdentityQueries,
    LinearQueries,
    Prefixes,
    Ranges,
)
from adyton.planning.coordinated.strategies import identity, tree, wavelet
from adyton.planning.coordinated.strategy_choice import error_factor, optimal_strategy
from adyton.textbook.matrix import (
    GaussianMatrix,
    GeometricMatrix,
    rounded_variance,
)
from literature.marginals import Marginals
from support.randomness import Seeded, in_bulk

SMALL = [np.array([[1, 0], [0, 1]]), np.array([[1, 1], [1, -1]]), np.array([[2, -1], [1, 3]])]
WORKLOADS: list[LinearQueries] = [
    IdentityQueries(12),
    Prefixes(33),
    Ranges(32),
    Marginals((2, 3, 4), 1),
    Marginals((2, 2, 2, 2), 2),
    ExplicitQueries([[1, 1, 0, 0, 1], [1, 1, 0, 0, 1]]),
    ExplicitQueries([[Fraction(1, 3), 1, 0], [-2, 0, Fraction(1, 2)]]),
]


def _moves(cells: int, adjacency: Adjacency) -> list[tuple[np.ndarray, np.ndarray]]:
    """All pairs of histograms of one unit (replace-one), or of one unit and none."""
    points = [np.zeros(cells, dtype=np.int64), *np.eye(cells, dtype=np.int64)]
    if adjacency == "replace-one":
        return list(itertools.permutations(points, 2))
    return [pair for p in points[1:] for pair in ((points[0], p), (p, points[0]))]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("matrix", SMALL, ids=str)
def test_theorem_MATRIX_MECHANISM_PRIVACY_gaussian_form_by_its_joint_law(
    matrix: np.ndarray, adjacency: Adjacency
) -> None:
    """Both rows together, all neighbors: never easier to tell apart than mu says, and some by nearly that."""
    mechanism = GaussianMatrix(Strategy("small", matrix), Fraction(9, 2), steps=2)
    mu = math.sqrt(mechanism.cost(adjacency).gdp)
    reach = 60
    law = np.array([gaussian_pmf(4.5, z) for z in range(-2 * reach, 2 * reach + 1)])

    def joint(histogram: np.ndarray) -> np.ndarray:
        shifts = 2 * (matrix @ histogram)
        one, two = (law[reach - s : 3 * reach - s + 1] for s in shifts)
        return np.outer(one, two).ravel()

    for epsilon in (0.0, 0.5, 1.5):
        worst = max(
            float(np.maximum(joint(x) - math.exp(epsilon) * joint(y), 0).sum())
            for x, y in _moves(2, adjacency)
        )
        assert worst <= gaussian.delta_up(mu, epsilon) + 1e-12
        assert worst > gaussian.delta_up(0.9 * mu, epsilon)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("matrix", SMALL, ids=str)
def test_theorem_MATRIX_MECHANISM_PRIVACY_of_the_pure_form_by_every_output(
    matrix: np.ndarray, adjacency: Adjacency
) -> None:
    mechanism = GeometricMatrix(Strategy("small", matrix), Fraction(5, 2))
    epsilon = float(mechanism.cost(adjacency).epsilon)
    outputs = list(itertools.product(range(-12, 13), repeat=2))

    def log_law(histogram: np.ndarray) -> np.ndarray:
        exact = matrix @ histogram
        return np.array(
            [sum(geometric_log_pmf(2.5, int(o - e)) for o, e in zip(y, exact, strict=True)) for y in outputs]
        )

    worst = max(float((log_law(x) - log_law(y)).max()) for x, y in _moves(2, adjacency))
    assert worst == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("strategy", [identity(6), tree(6, 2), wavelet(6)], ids=lambda s: s.name)
def test_theorem_MATRIX_MECHANISM_PRIVACY_releases_integers_and_noise(
    strategy: Strategy,
) -> None:
    """What is released is the measured integer and its noise."""
    histogram = np.array([5, 0, 7, 1, 0, 10**12])
    exact = [sum(int(a) * int(x) for a, x in zip(row, histogram, strict=True)) for row in strategy.matrix]
    loud = GaussianMatrix(strategy, Fraction(37, 4), steps=3)
    noise = rounded_gaussian.draw(9.25, strategy.rows, Seeded(1))
    assert loud.release(histogram, Seeded(1)).tolist() == [
        3 * e + n for e, n in zip(exact, noise.tolist(), strict=True)
    ]
    pure = GeometricMatrix(strategy, Fraction(37, 4))
    noise = two_sided_geometric.draw(9.25, strategy.rows, Seeded(1))
    assert pure.release(histogram, Seeded(1)).tolist() == [
        e + n for e, n in zip(exact, noise.tolist(), strict=True)
    ]


@given(units=st.integers(10**6, 10**20), adjacency=st.sampled_from(ADJACENCIES), branching=st.integers(2, 5))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_law_calibrated_noise_never_costs_more_than_the_price(
    units: int, adjacency: Adjacency, branching: int
) -> None:
    price, strategy = Fraction(units, 10**18), tree(9, branching)
    gauss = GaussianMatrix.for_cost(strategy, adjacency, price)
    pure = GeometricMatrix.for_cost(strategy, adjacency, price)
    for cost in (gauss.cost(adjacency).gdp, pure.cost(adjacency).pure):
        assert price * (1 - Fraction(1, 10**12)) <= cost <= price
    assert (
        gauss.radius().gdp <= gauss.cost(adjacency).gdp
    )  # a ball around all points is not wider than 2 of them
    assert float(gauss.sigma) >= 64 * math.sqrt(strategy.rows) * (1 - 1e-12)


# Errors ---------------------------------------------------------------------------------------------------


@given(sigma=st.floats(0.05, 4))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_theorem_MATRIX_MECHANISM_ERROR_the_variances_of_the_noises(sigma: float) -> None:
    by_sum = math.fsum(2 * z * z * gaussian_pmf(sigma, z) for z in range(1, 120))
    assert rounded_variance(sigma) == pytest.approx(by_sum, rel=1e-9, abs=1e-12)
    by_sum = math.fsum(2 * z * z * geometric_pmf(sigma, z) for z in range(1, 400))
    assert geometric_variance(sigma) == pytest.approx(by_sum, rel=1e-9, abs=1e-12)


def test_theorem_MATRIX_MECHANISM_ERROR_is_the_covariance_on_a_small_case() -> None:
    """W A^+ written out by numpy's own pseudo-inverse."""
    workload, strategy = Ranges(6), tree(6, 2)
    rows = [[float(i <= c <= j) for c in range(6)] for i in range(6) for j in range(i, 6)]
    inference = np.array(rows) @ np.linalg.pinv(strategy.matrix.astype(float))
    assert error_factor(workload, strategy) == pytest.approx((inference**2).sum() / 21)
    mechanism = GaussianMatrix(strategy, Fraction(3, 4), steps=2)
    assert mechanism.predicted_error(workload) == pytest.approx(
        (inference**2).sum() / 21 * rounded_variance(0.75) / 4
    )
    released = mechanism.release(np.arange(6), Seeded(3))
    assert np.allclose(mechanism.answers(workload, released), inference @ released / 2)


def test_theorem_MATRIX_MECHANISM_ERROR_is_trace_by_sensitivity_and_price() -> None:
    """The error at a price is trace times sensitivity over price."""
    workload, price = Ranges(20), Fraction(1, 7)
    for strategy, adjacency in itertools.product((identity(20), tree(20, 3), wavelet(20)), ADJACENCIES):
        predicted = GaussianMatrix.for_cost(strategy, adjacency, price).predicted_error(workload)
        by_hand = (
            float((np.linalg.inv(strategy.gram) * workload.gram()).sum())
            / workload.queries
            * strategy.l2_diameter_squared(adjacency)
            / float(price)
        )
        assert by_hand <= predicted <= by_hand * (1 + 1 / (12 * 64**2) + 1e-9)


@pytest.mark.parametrize("strategy", [identity(16), tree(16, 2), wavelet(16)], ids=lambda s: s.name)
@pytest.mark.parametrize("kind", [GaussianMatrix, GeometricMatrix])
def test_theorem_MATRIX_MECHANISM_ERROR_is_what_releases_show(
    kind, strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4,000 releases, a coarse grid (sigma = 0.8) so that rounding shows.

    Bias: each of 136 ranges within 6.5 standard errors.  Mean squared error: within 6.5 standard errors of the
    mean over releases.  A false alarm has probability below 137 * 1e-10, up to the normal approximation of a
    mean of 4,000 bounded-kurtosis terms; the bits are fixed, so it never wavers.
    """
    mechanism, workload, runs = kind(strategy, Fraction(4, 5)), Ranges(16), 4000
    histogram = np.arange(16) * 3
    exact, bits = workload.numerators(histogram), Seeded(11)
    for sampler in (rounded_gaussian, two_sided_geometric):
        monkeypatch.setattr(sampler, "draw", in_bulk(sampler.draw, bits))
    errors = np.array(
        [mechanism.answers(workload, mechanism.release(histogram, bits)) - exact for _ in range(runs)]
    )
    variance = rounded_variance(0.8) if kind is GaussianMatrix else geometric_variance(0.8)
    deviations = np.sqrt(workload.variances(strategy.inverse) * variance)
    assert np.all(np.abs(errors.mean(axis=0)) <= 6.5 * deviations / math.sqrt(runs))
    squared = (errors**2).mean(axis=1)
    slack = 6.5 * squared.std() / math.sqrt(runs)
    assert abs(squared.mean() - mechanism.predicted_error(workload)) <= slack
    assert slack < 0.13 * mechanism.predicted_error(workload)  # noise 0.9 times as loud would show


@pytest.mark.parametrize("kind", [GaussianMatrix, GeometricMatrix])
def test_theorem_MATRIX_MECHANISM_ERROR_half_widths_cover(kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 releases; fewer covered than the 1e-9 quantile of the binomial law would be an alarm."""
    strategy, workload, runs, bits = tree(8, 2), Prefixes(8), 3000, Seeded(12)
    for sampler in (rounded_gaussian, two_sided_geometric):
        monkeypatch.setattr(sampler, "draw", in_bulk(sampler.draw, bits))
    mechanism = kind.for_cost(strategy, "replace-one", Fraction(1, 2))
    widths = mechanism.error(workload, 0.9)
    none = np.zeros(8, dtype=np.int64)
    errors = np.array([mechanism.answers(workload, mechanism.release(none, bits)) for _ in range(runs)])
    covered = (np.abs(errors) <= widths).sum(axis=0)
    assert covered.min() >= binom.ppf(1e-9, runs, 0.9)
    if kind is GaussianMatrix:  # and not wider than it must be
        assert covered.max() <= binom.ppf(1 - 1e-9, runs, 0.905)


@pytest.mark.parametrize("sigma", [Fraction(1, 10), Fraction(3, 10), Fraction(4, 10), Fraction(1)])
def test_theorem_MATRIX_MECHANISM_ERROR_half_widths_pay_for_rounding(sigma: Fraction) -> None:
    """Where a step is as large as the noise, half a step of rounding decides whether the level is reached."""
    (width,) = GaussianMatrix(identity(1), sigma).error(IdentityQueries(1), 0.95)
    inside = range(-math.floor(width), math.floor(width) + 1)
    assert sum(gaussian_pmf(float(sigma), z) for z in inside) >= 0.95


def test_theorem_MATRIX_MECHANISM_ERROR_is_infinite_if_nothing_is_measured() -> None:
    total = Strategy("total", np.ones((1, 4), dtype=np.int64))
    assert error_factor(IdentityQueries(4), total) == math.inf
    assert error_factor(ExplicitQueries([[1, 1, 1, 1]]), total) == pytest.approx(1.0)
    with pytest.raises(InvalidRequest, match="does not measure enough"):
        GaussianMatrix(total, Fraction(1)).answers(IdentityQueries(4), np.zeros(1, dtype=np.int64))
    with pytest.raises(InvalidRequest, match="cells"):
        error_factor(IdentityQueries(5), total)
    with pytest.raises(InvalidRequest, match="confidence"):
        GaussianMatrix(total, Fraction(1)).error(ExplicitQueries([[1, 1, 1, 1]]), 1.0)


@pytest.mark.parametrize("large", [1, 1000, 2**20])
def test_theorem_MATRIX_MECHANISM_ERROR_is_infinite_for_what_is_unmeasured(
    large: int,
) -> None:
    """Beside a query that is large it must not be taken for answered, with an error of 0."""
    first_cell = Strategy("the first cell", np.array([[1, 0]]))
    both = ExplicitQueries([[large, 0], [0, 1]])
    assert error_factor(both, first_cell) == math.inf
    with pytest.raises(InvalidRequest, match="does not measure enough"):
        GaussianMatrix(first_cell, Fraction(1)).error(both, 0.95)
    assert error_factor(ExplicitQueries([[large, 0], [0, 0]]), first_cell) == large**2 / 2


# Strategies -----------------------------------------------------------------------------------------------


def _least_possible(workload: LinearQueries) -> float:
    """A lower bound for every strategy with columns of length 1, by duality: 2 tr (V^1/2 G V^1/2)^1/2 - tr V.

    It holds for all V; a few steps look for a good one.
    """
    multipliers = np.sqrt(np.diag(workload.gram()))
    for _ in range(60):
        scale = np.sqrt(multipliers)
        values, vectors = np.linalg.eigh(scale[:, None] * workload.gram() * scale)
        roots = np.sqrt(np.maximum(values, 0))
        bound = (2 * roots.sum() - multipliers.sum()) / workload.queries
        multipliers = (vectors**2) @ roots
    return float(bound)


@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_theorem_OPTIMAL_STRATEGY_no_strategy_is_much_better(workload: LinearQueries) -> None:
    """Within a hundredth of a bound that holds for all strategies."""
    strategy = optimal_strategy(workload)
    reached = error_factor(workload, strategy) * strategy.l2_diameter_squared("add-remove")
    bound = _least_possible(workload)
    assert bound * (1 - 1e-6) <= reached <= bound * 1.01


@given(data=st.data(), cells=st.integers(2, 6))
@settings(deadline=None, derandomize=True, max_examples=40)
def test_theorem_OPTIMAL_STRATEGY_beats_random_strategies(data: st.DataObject, cells: int) -> None:
    rows = data.draw(
        st.lists(
            st.lists(st.integers(-4, 4), min_size=cells, max_size=cells), min_size=cells, max_size=cells + 3
        )
    )
    workload = Ranges(cells)
    best = optimal_strategy(workload)
    reached = error_factor(workload, best) * best.l2_diameter_squared("add-remove")
    if any(map(any, rows)):
        rival = Strategy("rival", np.array(rows))
        assert reached <= 1.01 * error_factor(workload, rival) * rival.l2_diameter_squared("add-remove")


def test_ranges_are_answered_far_better_than_by_independent_noise() -> None:
    """256 cells at one price: against noise on every cell ten times, on every range thousands of times better."""
    workload, price = Ranges(256), Fraction(1, 10)
    reached, cells = (
        GaussianMatrix.for_cost(strategy, "add-remove", price).predicted_error(workload)
        for strategy in (optimal_strategy(workload), identity(256))
    )
    ranges = int(workload.gram().max()) / float(price)  # a cell in the middle is in that many ranges
    assert cells / reached > 10
    assert ranges / reached > 1900
