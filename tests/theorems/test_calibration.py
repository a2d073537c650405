"""Gaussian calibration: the textbook's formula where it is proved, where it breaks, and the exact answer."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adyton.accounting.textbook.calibration import (
    analytic_sigma,
    classical_breaks_at,
    classical_sigma,
    true_delta,
)
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee

deltas = st.floats(-200, -0.31).map(lambda log: Fraction(10.0**log))
sensitivities = st.fractions(Fraction(1, 1000), 1000)


def exact_delta(mu: float, epsilon: Fraction) -> mpmath.mpf:
    """Phi(-e/mu + mu/2) - exp(e) Phi(-e/mu - mu/2), to 100 digits."""
    with mpmath.workdps(400):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


@given(epsilon=st.fractions(Fraction(1, 1000), Fraction(999, 1000)), delta=deltas)
def test_theorem_CLASSICAL_GAUSSIAN_keeps_its_delta_below_one(epsilon: Fraction, delta: Fraction) -> None:
    sigma = classical_sigma(1, Guarantee(epsilon, delta))
    assert exact_delta(1 / sigma, epsilon) <= float(delta)


@pytest.mark.parametrize("delta", [0.74, 0.75, 0.9, 0.99, 0.999999])
def test_theorem_CLASSICAL_GAUSSIAN_also_for_a_delta_near_one(delta: float) -> None:
    for epsilon in (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)):
        sigma = classical_sigma(1, Guarantee(epsilon, Fraction(delta)))
        assert exact_delta(1 / sigma, epsilon) <= delta


def test_theorem_CLASSICAL_GAUSSIAN_is_the_formula() -> None:
    guarantee = Guarantee(Fraction(1, 2), Fraction(1, 10**5))
    assert classical_sigma(3, guarantee) == pytest.approx(3 * math.sqrt(2 * math.log(1.25e5)) * 2, rel=1e-13)


@pytest.mark.parametrize("epsilon", [1, 2, 10])
def test_theorem_CLASSICAL_GAUSSIAN_is_refused_where_nobody_proved_it(epsilon: int) -> None:
    guarantee = Guarantee(Fraction(epsilon), Fraction(1, 10**5))
    with pytest.raises(InvalidRequest, match="below 1"):
        classical_sigma(1, guarantee)
    assert classical_sigma(1, guarantee, unproved=True) > 0


@pytest.mark.parametrize(
    ("delta", "breaks"),
    [("1e-2", 6.7718), ("1e-3", 7.4635), ("1e-5", 8.4198), ("1e-6", 8.7821), ("1e-9", 9.6237)],
)
def test_theorem_CLASSICAL_GAUSSIAN_breaks_from_here_on(delta: str, breaks: float) -> None:
    found = classical_breaks_at(delta)
    assert found == pytest.approx(breaks, abs=1e-4)
    for epsilon, broken in ((found * 0.999, False), (found * 1.001, True), (found + 5, True)):
        at = Fraction(epsilon)
        sigma = classical_sigma(1, Guarantee(at, Fraction(delta)), unproved=True)
        assert (exact_delta(1 / sigma, at) > float(delta)) == broken


@given(epsilon=st.fractions(Fraction(1, 1000), 50), delta=deltas, sensitivity=sensitivities)
def test_theorem_ANALYTIC_GAUSSIAN_keeps_its_delta_and_wastes_nothing(
    epsilon: Fraction, delta: Fraction, sensitivity: Fraction
) -> None:
    sigma = analytic_sigma(sensitivity, Guarantee(epsilon, delta))
    assert exact_delta(float(sensitivity) / sigma, epsilon) <= float(delta) * (1 + 1e-12)
    assert exact_delta(float(sensitivity) / sigma * (1 + 1e-7), epsilon) > float(delta)
    assert true_delta(sensitivity, sigma, epsilon) == pytest.approx(float(delta), rel=1e-5)


@pytest.mark.parametrize(("epsilon", "waste"), [("1", 1.29866), ("0.1", 1.57557)])
def test_theorem_ANALYTIC_GAUSSIAN_needs_less_than_the_textbook(epsilon: str, waste: float) -> None:
    guarantee = Guarantee(Fraction(epsilon), Fraction(1, 10**5))
    classical = classical_sigma(1, guarantee, unproved=True)
    assert classical / analytic_sigma(1, guarantee) == pytest.approx(waste, abs=1e-5)


def test_the_true_delta_of_the_textbook_at_ten() -> None:
    guarantee = Guarantee(Fraction(10), Fraction(1, 10**5))
    assert true_delta(1, classical_sigma(1, guarantee, unproved=True), 10) == pytest.approx(
        2.265e-5, abs=5e-9
    )


@pytest.mark.parametrize(
    "guarantee", [Guarantee(Fraction(1, 2), Fraction(0)), Guarantee(Fraction(501), Fraction(1, 2))]
)
def test_a_guarantee_that_gaussian_noise_cannot_keep_is_refused(guarantee: Guarantee) -> None:
    for calibrate in (classical_sigma, analytic_sigma):
        with pytest.raises(InvalidRequest):
            calibrate(1, guarantee)
