"""The transfer theorem of JLNRSS: published widths, and exact small studies."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from small_tables import SMALL, Small

from adyton.errors import InvalidRequest
from adyton.validity.published.jung import (
    closed_form_epsilon,
    jlnrss_width,
    scale_of,
    transfer_failure,
    transfer_width,
    width_at,
)
from literature import bassily as bnsssu


def test_theorem_JLNRSS_TRANSFER_published_widths() -> None:
    """.05246 is the formula where the authors' search stopped; the minimum is a little lower."""
    assert round(jlnrss_width(10**5, 50, "0.05").tolerance, 5) == 0.07414
    assert round(width_at(10**6, 1000, "0.05", 2.24557818e-08, 2.67786519e-05), 5) == 0.05246
    assert round(jlnrss_width(10**6, 1000, "0.05").tolerance, 5) == 0.05243


def test_theorem_JLNRSS_TRANSFER_as_stated() -> None:
    assert transfer_width(0.1, 0.2, 0.03, 0.04) == pytest.approx(0.2 + math.expm1(0.1) + 0.03 + 0.08)
    assert transfer_failure(0.01, 0.002, 0.5, 0.1) == pytest.approx(0.02 + 0.02)


def test_published_widths_of_bnsssu() -> None:
    assert round(bnsssu.published_width(10**5, 50, "0.05"), 5) == 0.11474
    assert round(bnsssu.published_width_at(10**6, 1000, "0.05", 2.29584066e-08, 7.57645097e-05), 5) == 0.08093
    assert bnsssu.published_width(10**6, 1000, "0.05") < 0.08093


@pytest.mark.parametrize(
    ("rows", "tolerance", "queries"),
    [(10**5, 0.05, 11), (10**6, 0.05, 832), (10**4, 0.1, 2), (10**5, 0.1, 153), (10**6, 0.1, 11616)],
)
def test_theorem_JLNRSS_TRANSFER_certified_queries(rows: int, tolerance: float, queries: int) -> None:
    assert jlnrss_width(rows, queries, "0.05").tolerance <= tolerance
    assert jlnrss_width(rows, int(queries * 1.01) + 1, "0.05").tolerance > tolerance


def gdp_delta(mu: float, epsilon: float) -> float:
    return float(ndtr(-epsilon / mu + mu / 2) - math.exp(epsilon) * ndtr(-epsilon / mu - mu / 2))


@pytest.mark.parametrize("small", SMALL)
def test_theorem_JLNRSS_TRANSFER_small_tables(small: Small) -> None:
    """Two Gaussian answers are mu-GDP, mu = sqrt(2) / (n sigma); every epsilon, c and d is tried."""
    mu = math.sqrt(2) / (small.n * small.sigma)
    errors = small.errors()
    for epsilon in (0.1, 0.5, 1.0):
        delta = gdp_delta(mu, epsilon)
        for z, c, d in ((2.0, 0.2, 0.2), (2.5, 0.1, 0.3), (1.5, 0.5, 0.1)):
            beta = 4 * float(ndtr(-z))
            width = transfer_width(epsilon, z * small.sigma, c, d)
            assert small.probability(errors > width) <= transfer_failure(beta, delta, c, d)


@pytest.mark.literature
@pytest.mark.parametrize("small", SMALL)
def test_theorem_JLNRSS_TRANSFER_stability_of_small_tables(small: Small) -> None:
    """The second half of the proof by itself, with the constant that it proves: Pr[X_T > e^eps - 1 + 2d] <= delta/(2d)."""
    mu = math.sqrt(2) / (small.n * small.sigma)
    distance = small.distance()
    for epsilon in (0.02, 0.1, 0.3):
        for d in (0.01, 0.05, 0.1):
            tail = small.probability(distance > math.expm1(epsilon) + 2 * d)
            assert tail <= gdp_delta(mu, epsilon) / (2 * d) + 1e-9


def test_theorem_JLNRSS_TRANSFER_epsilon_of_zcdp() -> None:
    """Gaussian noise is rho-zCDP and mu-GDP, mu**2 = 2 rho: the true delta is below."""
    for rho in (1e-4, 0.01, 0.3, 2.0):
        for delta in (1e-9, 1e-5, 0.01):
            assert gdp_delta(math.sqrt(2 * rho), closed_form_epsilon(rho, delta)) <= delta
    assert scale_of(100, 0.5) == pytest.approx(0.01)
    assert math.isinf(width_at(100, 10, "0.05", 1e-6, 0.2))
    with pytest.raises(InvalidRequest):
        transfer_failure(0.1, 0.1, 0.0, 0.1)
    assert np.isfinite(jlnrss_width(10, 5, "0.5").tolerance)
