"""PURE-IMPLIES-GDP against mpmath with 50 digits, and randomized response, which attains it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.kernel.exact.special import special
from adyton.kernel.privacy import PureCost

SWITCH, END = Fraction(1, 10_000), Fraction(700)
EPSILONS = [
    *("1e-12", "1e-6", "0.00005", "0.0001", "0.00010001", "0.001", "0.01", "0.1", "0.5", "0.999", "1", "1.5"),
    *("2", "3", "5", "8", "12", "20", "37", "75", "150", "300", "500", "699.99", "700"),
]


def half_mu(epsilon: Fraction) -> Any:
    """z with P(N > z) = 1 / (1 + e**epsilon), by Newton's method on the logarithm of the tail."""
    e = mp.mpf(epsilon.numerator) / epsilon.denominator
    target = -e - mp.log1p(mp.exp(-e))
    z = min(e * mp.sqrt(mp.pi / 8), mp.sqrt(2 * e))
    for _ in range(200):
        tail = mp.erfc(z / mp.sqrt(2)) / 2
        step = (mp.log(tail) - target) * tail / (mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi))
        z += step
        if abs(step) < mp.mpf(10) ** -45 * (1 + z):
            return z
    raise AssertionError("the oracle did not converge")


def excess(epsilon: Fraction) -> Any:
    """By how much, relatively, the certified mu**2 is above the true one."""
    bound = PureCost(epsilon).gdp
    return mp.mpf(bound.numerator) / bound.denominator / (2 * half_mu(epsilon)) ** 2 - 1


@pytest.mark.parametrize("text", EPSILONS)
def test_theorem_PURE_IMPLIES_GDP_on_the_safe_side_and_close(text: str) -> None:
    with mp.workdps(50):
        assert 0 <= excess(Fraction(text)) <= mp.mpf("1e-9")


@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.floats(-8, 2.84).map(lambda x: Fraction(10**x)))
def test_theorem_PURE_IMPLIES_GDP_everywhere(epsilon: Fraction) -> None:
    with mp.workdps(50):
        assert 0 <= excess(epsilon) <= mp.mpf("1e-9")


@pytest.mark.parametrize("text", ["701", "1000", "1e6"])
def test_theorem_PURE_IMPLIES_GDP_beyond_the_floats(text: str) -> None:
    with mp.workdps(50):
        assert 0 <= excess(Fraction(text)) <= mp.mpf("0.02")


def test_theorem_PURE_IMPLIES_GDP_ndtri_errs_less_than_is_assumed() -> None:
    """The whole quantile, its probability in floats included, against 13 u + 8 u z; 13 u + 64 u z is assumed."""
    with mp.workdps(50):
        for epsilon in (Fraction(10 ** (x / 50)) for x in range(-199, 142)):
            z = half_mu(epsilon)
            found = -mp.mpf(float(special().ndtri(1 / (1 + float(mp.exp(mp.mpf(float(epsilon))))))))
            assert abs(found - z) <= mp.mpf(2) ** -53 * (13 + 8 * z)


@pytest.mark.literature
def test_theorem_PURE_IMPLIES_GDP_the_simple_bound_holds_for_every_epsilon() -> None:
    """mu <= epsilon sqrt(pi / 2); the derivative of the gap changes its sign once, as the proof says."""
    with mp.workdps(50):
        grid = [mp.mpf(k) / 20 for k in range(1, 400)]
        gap = [mp.ncdf(e * mp.sqrt(mp.pi / 8)) - 1 / (1 + mp.exp(-e)) for e in grid]
        assert min(gap) > 0
        falls = [b < a for a, b in pairwise(gap)]
        assert falls == sorted(falls)
        bend = [2 * mp.log(mp.cosh(mp.sqrt(t) / 2)) - mp.pi * t / 16 for t in grid]
        assert all(a + c <= 2 * b for a, b, c in zip(bend, bend[1:], bend[2:], strict=False))


@pytest.mark.literature
@pytest.mark.parametrize("text", ["0.01", "0.7", "3", "12"])
def test_theorem_PURE_IMPLIES_GDP_randomized_response_touches_its_corner(text: str) -> None:
    """Type II against type I: the broken line of randomized response lies above G_mu and meets it once."""
    with mp.workdps(50):
        epsilon = Fraction(text)
        mu, lie = 2 * half_mu(epsilon), 1 / (1 + mp.exp(mp.mpf(text)))

        def gaussian(alpha: Any) -> Any:
            return mp.ncdf(mp.sqrt(2) * mp.erfinv(1 - 2 * alpha) - mu)

        def response(alpha: Any) -> Any:
            ratio = mp.exp(mp.mpf(text))
            return max(0, 1 - ratio * alpha, (1 - alpha) / ratio)

        assert abs(gaussian(lie) - lie) < mp.mpf(10) ** -40
        assert abs(response(lie) - lie) < mp.mpf(10) ** -40
        for k in range(1, 200):
            alpha = mp.mpf(k) / 200
            assert response(alpha) >= gaussian(alpha) - mp.mpf(10) ** -40
        smaller = mu * mp.mpf("0.999")  # no smaller mu would do
        assert response(lie) < mp.ncdf(mp.sqrt(2) * mp.erfinv(1 - 2 * lie) - smaller)


def test_theorem_PURE_IMPLIES_GDP_a_larger_epsilon_costs_more() -> None:
    costs = [PureCost(Fraction(text)).gdp for text in (*EPSILONS, "701", "900")]
    assert costs == sorted(costs)
    assert PureCost(END).gdp < PureCost(END + 1).gdp
    assert PureCost(SWITCH).gdp == pytest.approx(1.5707963e-8, rel=1e-7)
