"""The joint law of the largest noise and the likelihood ratio: its closed form, its inequality, its numbers."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import binom
from small_tables import SMALL, Small

from adyton.errors import InvalidRequest
from adyton.validity import joint_width
from adyton.validity.joint_law import (
    Choice,
    _hinge,
    _log_kept,
    _numbers,
    _values,
    expectation,
    joint_law_questions,
    joint_law_width,
    width_with,
)

REFERENCE = [
    (10**4, 159, Choice(0.0146816, 0.092574, 0.0990528, 2.95323), 0.099873),
    (10**5, 10220, Choice(0.0117421, 0.0928866, 0.0985392, 3.72451), 0.099854),
    (10**5, 840, Choice(0.00664741, 0.0464825, 0.0503735, 3.18882), 0.049912),
    (10**6, 706000, Choice(0.00986516, 0.0927919, 0.0981933, 4.53849), 0.099915),
]


@settings(deadline=None, max_examples=60)
@given(st.floats(0.01, 0.6), st.floats(0.02, 0.5), st.floats(-0.5, 0.5), st.floats(0.7, 1), st.floats(1, 1.4))
def test_theorem_CENTRED_HINGE_JOINT_LAW_closed_form(
    mu: float, c: float, slope: float, low: float, high: float
) -> None:
    """Against an integral of the larger positive part itself."""

    # A fine grid: at its kinks an adaptive rule may give up with a warning.
    x = np.linspace(-9, 9, 400_001)
    ratio = np.exp(mu * x - mu * mu / 2)
    both = [slope * r + c / 4 + (r - 1) ** 2 / (4 * c) for r in (low * ratio, high * ratio)]
    heights = np.maximum(0.0, np.maximum(*both)) * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    exact = float(np.trapezoid(heights, x))
    found = float(_hinge(np.array([mu]), c, np.array([slope]), low, np.array([high]))[0])
    assert found == pytest.approx(exact, rel=1e-5, abs=1e-7)
    assert found >= exact * (1 - 1e-6) - 1e-8


@pytest.mark.parametrize(("large", "size"), [(0, 2.5), (1, 3.0), (3, 4.0), (4, 6.0)])
def test_theorem_CENTRED_HINGE_JOINT_LAW_one_cell_as_stated(large: int, size: float) -> None:
    """Everything from the statement again: d, mu, g, both factors and the largest noise."""
    rows, questions, choice = 50, 4, Choice(0.1, 0.3, 0.2, 2.5)
    d = 1 / (2 * rows * choice.scale)
    mu = d * math.sqrt(questions + large * math.pi / 2 * size**2)
    kept = float(ndtr(choice.z0 - d) - ndtr(-choice.z0 - d)) / float(1 - 2 * ndtr(-choice.z0))
    slope = choice.scale * size + 1 / (2 * rows) - choice.alpha
    ends = (kept**questions, math.exp(d * d * large * size**2 / 2))

    def integrand(x: float) -> float:
        ratio = math.exp(mu * x - mu * mu / 2)
        both = (slope * r + choice.c / 4 + (r - 1) ** 2 / (4 * choice.c) for r in (e * ratio for e in ends))
        return max(0.0, *both) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    exact = sum(quad(integrand, a, a + 0.25, limit=200)[0] for a in np.arange(-9, 12, 0.25))
    found = float(_values(rows, questions, choice, np.array([[float(large)]]), np.array([[size]]))[0, 0])
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 2e-3)  # what truncation takes is bounded, not computed


@pytest.mark.parametrize("small", [s for s in SMALL if s.mu0() <= 0.2])
@pytest.mark.parametrize(("alpha", "c", "z0"), [(0.5, 0.4, 2.0), (2.0, 0.2, 2.5), (5.0, 1.0, 3.0)])
def test_theorem_CENTRED_HINGE_JOINT_LAW_small_tables(
    small: Small, alpha: float, c: float, z0: float
) -> None:
    """E (Y + X - alpha)_+ exactly, for two adaptive answers, and the failures that follow from it."""
    choice = Choice(small.sigma, alpha, c, z0)
    bound = expectation(small.n, 2, choice, 0.9)
    both = np.abs(small.noise / small.density).max(axis=0) + small.distance()
    assert small.probability(np.maximum(both - alpha, 0)) <= bound
    for failure in (0.3, 0.05):
        width = width_with(small.n, 2, failure, choice)
        assert small.probability(small.errors() > width) <= failure


def test_theorem_CENTRED_HINGE_JOINT_LAW_against_simulated_strategies() -> None:
    """E F for two analysts of 159 questions, 20,000 draws: below the bound, and not far below."""
    rows, questions, choice, _ = REFERENCE[0]
    random, d = np.random.default_rng(21), 1 / (2 * rows * choice.scale)
    zeta = random.standard_normal((20_000, questions))
    worst = choice.scale * np.abs(zeta).max(axis=1) + 1 / (2 * rows) - choice.alpha
    bound = expectation(rows, questions, choice, 0.97)
    for theta in (np.full(questions, d), d * np.where(np.arange(questions) % 2, 1.0, -1.0)):
        ratio = np.exp(zeta @ theta - (theta**2).sum() / 2)
        value = np.maximum(ratio * worst + choice.c / 4 + (ratio - 1) ** 2 / (4 * choice.c), 0)
        error = 5 * float(value.std()) / math.sqrt(value.size)
        assert float(value.mean()) - error <= bound <= 2 * (float(value.mean()) + error)


@pytest.mark.parametrize(("rows", "questions", "choice", "width"), REFERENCE)
def test_theorem_CENTRED_HINGE_JOINT_LAW_reference_widths(
    rows: int, questions: int, choice: Choice, width: float
) -> None:
    found = width_with(rows, questions, "0.05", choice)
    assert width * 0.998 <= found <= width
    assert found < width_with(rows, questions, "0.05", choice, ratio=0.8)  # coarser cells only cost
    assert found < joint_width(rows, questions, "0.05").tolerance


@pytest.mark.parametrize(("rows", "tolerance", "questions"), [(10**4, "0.1", 159), (10**5, "0.1", 10220)])
def test_theorem_CENTRED_HINGE_JOINT_LAW_certified_questions(
    rows: int, tolerance: str, questions: int
) -> None:
    found, choice = joint_law_questions(rows, tolerance, "0.05")
    assert questions <= found <= questions * 1.03
    assert choice is not None
    assert width_with(rows, found, "0.05", choice) <= float(tolerance)


@pytest.mark.parametrize(
    ("questions", "z0"), [(3, 2.0), (159, 2.95), (10**4, 3.7), (10**6, 4.6), (10**5, 2.0)]
)
def test_theorem_CENTRED_HINGE_JOINT_LAW_numbers_of_large_noises(questions: int, z0: float) -> None:
    numbers, weights = _numbers(questions, z0)
    p = 2 * float(ndtr(-z0))
    assert weights.sum() >= 1 - 1e-12
    assert numbers[-1] == questions
    exact = binom.pmf(numbers[:-1], questions, p)
    assert np.all(weights[:-1] >= exact * (1 - 1e-9))
    if questions * p < 10:
        assert weights.sum() <= 1 + 1e-9


@pytest.mark.parametrize(("z0", "d"), [(2.0, 0.5), (3.0, 0.01), (4.5, 1e-4)])
def test_theorem_CENTRED_HINGE_JOINT_LAW_what_truncation_takes(z0: float, d: float) -> None:
    kept = float(ndtr(z0 - d) - ndtr(-z0 - d)) / float(1 - 2 * ndtr(-z0))
    assert _log_kept(z0, d) <= math.log(kept) + 1e-15
    assert _log_kept(z0, d) >= math.log(kept) - 3 * d**2


@settings(max_examples=100)
@given(st.floats(0, 30))
def test_theorem_CENTRED_HINGE_JOINT_LAW_a_sign_is_below_a_lognormal(y: float) -> None:
    s = math.sqrt(math.pi / 2) * y
    assert math.tanh(y) <= 2 * float(ndtr(s)) - 1 + 1e-15


def test_theorem_CENTRED_HINGE_JOINT_LAW_refuses_what_is_not_proved() -> None:
    for choice in (Choice(0.01, 0.1, 0.1, 1.9), Choice(0.01, 0.1, 0.0, 3.0), Choice(0.0001, 0.1, 0.1, 3.0)):
        with pytest.raises(InvalidRequest):
            width_with(10**4, 100, "0.05", choice)
    assert joint_law_questions(10, "0.01", "0.05") == (0, None)
    assert (
        joint_law_width(10**5, 100, "0.05", effort=60).tolerance < joint_width(10**5, 100, "0.05").tolerance
    )


def test_theorem_CENTRED_HINGE_JOINT_LAW_tails_are_as_exact_as_assumed() -> None:
    """ndtr against fifty digits: within 16 u absolutely, and within 1e-11 relatively down to -37."""
    with mpmath.workdps(50):
        for x in np.linspace(-37, 8, 2001):
            exact = mpmath.erfc(-mpmath.mpf(float(x)) / mpmath.sqrt(2)) / 2
            error = abs(mpmath.mpf(float(ndtr(x))) - exact)
            assert error <= 16 * mpmath.mpf(2) ** -53
            assert error <= mpmath.mpf(10) ** -11 * exact
