"""The stability part of the centred hinge theorem: exact posteriors, fifty digits, reference values."""

from __future__ import annotations

import math
from itertools import product
from random import Random
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from small_tables import SMALL, Small

from adyton.errors import InvalidRequest
from adyton.kernel.exact.outward import digits
from adyton.validity.hinge.opening import open_at
from adyton.validity.hinge.peeling import WidthSchedule
from adyton.validity.hinge.stability import gaussian_hinge, stability_width


def hinge_by_quadrature(mu: float, c: float, s: float) -> Any:
    """E h by integrating the positive part itself, with fifty digits."""
    with mpmath.workdps(50):
        m, c, s = mpmath.mpf(mu), mpmath.mpf(c), mpmath.mpf(s)

        def quadratic(x: Any) -> Any:
            v = mpmath.expm1(m * x - m * m / 2)
            return (c / 4 + v * v / (4 * c) - s * (1 + v)) * mpmath.npdf(x)

        root = mpmath.sqrt(s / c + s * s - mpmath.mpf(1) / 4)
        above = (mpmath.log1p(2 * c * (s + root)) + m * m / 2) / m
        total = mpmath.quad(quadratic, [above, above + 1, above + 4, above + 12, above + 25])
        if 2 * c * (s - root) > -1:
            below = (mpmath.log1p(2 * c * (s - root)) + m * m / 2) / m
            total += mpmath.quad(quadratic, [below - 25, below - 12, below - 4, below - 1, below])
        return +total


# Against fifty digits ------------------------------------------------------------------------------------


def random_parameters(count: int) -> list[tuple[float, float]]:
    random = Random(5)
    return [(10 ** random.uniform(-8, 0), 10 ** random.uniform(-6, -0.3)) for _ in range(count)]


@pytest.mark.parametrize(("mu", "failure"), random_parameters(10))
def test_theorem_CENTRED_HINGE_is_never_below_fifty_digits(mu: float, failure: float) -> None:
    c, s = open_at(mu, failure)
    width = stability_width(mu, failure)
    with mpmath.workdps(50):
        exact = s + hinge_by_quadrature(mu, c, s) / mpmath.mpf(str(failure))
        assert exact * (1 - mpmath.mpf(10) ** -25) <= width <= exact * (1 + mpmath.mpf(10) ** -14)


@settings(deadline=None, max_examples=40)
@given(st.floats(-9, 0.1), st.floats(-5, 0), st.floats(-1, 1), st.floats(-1, 1))
def test_theorem_CENTRED_HINGE_the_search_finds_the_minimum(
    log_mu: float, log_failure: float, of_c: float, of_s: float
) -> None:
    """No other hinge, tried at random around it, is better by more than a billionth."""
    mu, failure = 10**log_mu, min(0.9, 10**log_failure)
    width = stability_width(mu, failure)
    c, s = open_at(mu, failure)
    c, s = c * math.exp(of_c), s * math.exp(of_s)
    other = s + gaussian_hinge(digits(80), mu, c, s) / failure
    assert width <= other * (1 + 1e-9)


@pytest.mark.parametrize(("mu", "c", "s"), [(0.3, 2.0, 0.3), (1.0, 5.0, 0.1), (0.01, 0.5, 0.1)])
def test_theorem_CENTRED_HINGE_where_the_quadratic_is_never_negative(mu: float, c: float, s: float) -> None:
    with mpmath.workdps(40):
        exact = mpmath.quad(
            lambda x: (
                (
                    c / 4
                    + mpmath.expm1(mu * x - mu * mu / 2) ** 2 / (4 * c)
                    - s * mpmath.exp(mu * x - mu * mu / 2)
                )
                * mpmath.npdf(x)
            ),
            [-20, -8, 0, 8, 20],
        )
    assert float(gaussian_hinge(digits(40), mu, c, s)) == pytest.approx(float(exact), rel=1e-12)


REFERENCE = {
    1e-6: (1.181314e-6, 1.453372e-6, 1.781557e-6),
    0.001: (0.001181318, 0.001453385, 0.001781591),
    0.01: (0.01181736, 0.01454582, 0.01784938),
    0.02: (0.02365988, 0.02916294, 0.03589207),
    0.05: (0.05957505, 0.07404843, 0.09250073),
    0.1: (0.1218699, 0.1545785, 0.1984895),
    0.3: (0.4244518, 0.5827851, 0.8215963),
    0.5: (0.8513911, 1.254829, 1.933562),
}
SMALL_MU = {
    "0.1": 2.095915,
    "0.05": 2.362628,
    "0.025": 2.608114,
    "0.01": 2.906745,
    "0.001": 3.563114,
    "0.000001": 5.085085,
}


@pytest.mark.parametrize("mu", REFERENCE)
def test_theorem_CENTRED_HINGE_reference_values(mu: float) -> None:
    found = [stability_width(mu, failure) for failure in ("0.05", "0.01", "0.001")]
    assert found == pytest.approx(REFERENCE[mu], rel=5e-7)


@pytest.mark.parametrize("failure", SMALL_MU)
def test_theorem_CENTRED_HINGE_is_linear_in_small_mu(failure: str) -> None:
    assert stability_width(1e-9, failure) / 0.5e-9 == pytest.approx(SMALL_MU[failure], rel=5e-7)


@settings(deadline=None, max_examples=60)
@given(st.floats(-10, 0.25), st.floats(0.001, 1), st.floats(-8, -0.01), st.floats(0.001, 2))
def test_law_more_spent_or_less_failure_never_narrows_the_width(
    log_mu: float, more: float, log_failure: float, less: float
) -> None:
    mu, failure = 10**log_mu, 10**log_failure
    width = stability_width(mu, failure)
    assert stability_width(mu * (1 + more), failure) > width * (1 - 1e-12)
    assert stability_width(mu, failure / (1 + less)) > width * (1 - 1e-12)
    assert width > 0.4 * mu  # less than the mean of X_T in the worst case would be a contradiction


def test_theorem_CENTRED_HINGE_edges() -> None:
    assert stability_width(0.0, "0.05") == 0.0
    assert math.isinf(stability_width(2.1, "0.05"))
    assert stability_width(1e-300, "0.05") < 1e-29
    for mu, failure in ((-0.1, "0.05"), (0.1, "0"), (0.1, "1"), (math.nan, "0.05")):
        with pytest.raises(InvalidRequest):
            stability_width(mu, failure)


# Exact posteriors: one row --------------------------------------------------------------------------------


def exceeding(t: float, sigma: float) -> float:
    """Pr[X_T > t] for one fair bit with noise sigma: X_T = tanh(|y| / (2 sigma**2)) / 2, y the answer less 1/2."""
    if t >= 0.5:
        return 0.0
    y = 2 * sigma**2 * math.atanh(2 * t)
    return float(ndtr((0.5 - y) / sigma) + ndtr((-0.5 - y) / sigma))


def lumped(share: float, sigma: float) -> float:
    """X_T with probability ``share`` when only the sign, and whether |y| is large, is released."""
    low, high = 0.0, 40 * sigma
    for _ in range(200):
        middle = (low + high) / 2
        mass = float(ndtr((0.5 - middle) / sigma) + ndtr((-0.5 - middle) / sigma))
        low, high = (middle, high) if mass > share else (low, middle)
    right, wrong = float(ndtr((0.5 - high) / sigma)), float(ndtr((-0.5 - high) / sigma))
    return right / (right + wrong) - 0.5


CELLS = list(product((0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5), (0.2, 0.1, 0.05, 0.01, 0.001)))


@pytest.mark.parametrize(("mu", "failure"), CELLS)
def test_theorem_CENTRED_HINGE_one_fair_bit(mu: float, failure: float) -> None:
    """Without Monte Carlo, and nearly sharp: a width of 0.96 times as much would be refuted somewhere."""
    sigma, width = 1 / (2 * mu), stability_width(mu, failure)
    assert exceeding(width, sigma) <= failure
    assert lumped(failure, sigma) <= width


def test_theorem_CENTRED_HINGE_one_fair_bit_refutes_what_is_too_small() -> None:
    """One fair bit refutes what is a little too small."""

    def refuted(factor: float) -> int:
        return sum(lumped(f, 1 / (2 * mu)) > factor * stability_width(mu, f) for mu, f in CELLS)

    assert refuted(1.0) == 0
    assert refuted(0.98) > 0
    assert refuted(0.5) >= 30  # of 35: a factor of 2 forgotten


# Exact posteriors: a few rows, two adaptive answers ---------------------------------------------------------


@pytest.mark.parametrize("small", SMALL)
def test_theorem_CENTRED_HINGE_few_rows_two_adaptive_answers(small: Small) -> None:
    assert small.probability(np.ones_like(small.first)) == pytest.approx(1, abs=1e-6)
    mu0, distance = small.mu0(), small.distance()
    for failure in (0.3, 0.1, 0.02):
        width = stability_width(mu0, failure)
        assert small.probability(distance > width) <= failure
        c, s = open_at(mu0, failure)
        mean = small.probability(np.maximum(distance - s, 0))  # the inequality inside the proof
        assert mean <= float(gaussian_hinge(digits(40), mu0, c, s)) + 1e-9


def test_theorem_CENTRED_HINGE_the_small_tables_would_see_a_wrong_radius() -> None:
    """With half of mu0 the inequality inside the proof is broken by every table."""
    for small in SMALL[:2]:
        mu0 = small.mu0() / 2
        c, s = open_at(mu0, 0.1)
        mean = small.probability(np.maximum(small.distance() - s, 0))
        assert mean > float(gaussian_hinge(digits(40), mu0, c, s))


# With a delta: the row itself is shown with a small probability ----------------------------------------------


def leaking(leak: float, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """One row of four equally likely values, a noisy answer about it, and with probability ``leak`` the row.

    Returns the probabilities of all transcripts and X_T at each, by quadrature.
    """
    values = np.array([0.0, 1.0, 1.0, 0.3])
    grid, step = np.linspace(-9 * sigma, 1 + 9 * sigma, 4001, retstep=True)
    given_row = np.exp(-((grid[None, :] - values[:, None]) ** 2) / (2 * sigma**2))
    given_row *= step / (sigma * math.sqrt(2 * math.pi)) / 4
    quiet = given_row.sum(axis=0)
    distance = np.abs(given_row / quiet - 0.25).sum(axis=0) / 2
    return np.append((1 - leak) * quiet, leak), np.append(distance, 0.75)


@pytest.mark.parametrize("leak", [0.001, 0.02, 0.3])
@pytest.mark.parametrize("sigma", [0.8, 5.0, 200.0])
def test_theorem_HINGE_WITH_DELTA_a_row_that_is_shown_at_times(leak: float, sigma: float) -> None:
    mass, distance = leaking(leak, sigma)
    mu0 = 1 / (2 * sigma)
    for failure in (0.4, 0.1, 0.9 * leak, 0.01 * leak):
        assert float(mass @ (distance > stability_width(mu0, failure, leak))) <= failure
        c, s = open_at(mu0, failure)
        bound = float(gaussian_hinge(digits(40), mu0, c, s)) + (2 + s) * leak
        assert float(mass @ np.maximum(distance - s, 0)) <= bound
    if sigma == 200.0:  # a row that is shown is not covered by what the noise alone allows
        assert float(mass @ (distance > stability_width(mu0, 0.9 * leak))) > 0.9 * leak


def test_theorem_HINGE_WITH_DELTA_adds_what_the_page_says() -> None:
    assert stability_width(0.1, "0.05", "0.001") == pytest.approx(stability_width(0.1, "0.05") + 0.06)
    assert stability_width(0.0, "0.05", "0.001") == pytest.approx(0.06)
    assert stability_width(0.1, "0.05", 0) == stability_width(0.1, "0.05")
    leaky = WidthSchedule.plan("0.05", "0.1", 10, delta="0.00001")
    for level, plain in zip(leaky.levels, WidthSchedule.plan("0.05", "0.1", 10).levels, strict=True):
        assert level.width == pytest.approx(plain.width + 3e-5 / 0.0035)
    for delta in ("-0.1", "1"):
        with pytest.raises(InvalidRequest):
            stability_width(0.1, "0.05", delta)
