"""The Renyi divergence of randomized response, the worst case of pure privacy, against rho * alpha."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adyton.kernel.privacy import PureCost

EPSILONS = ["0.000001", "0.01", "0.3", "1", "2.5", "8", "30"]
ORDERS = ["1.000001", "1.1", "1.5", "2", "3", "10", "100", "10000"]


def renyi(p: list[mp.mpf], q: list[mp.mpf], alpha: mp.mpf) -> mp.mpf:
    return mp.log(mp.fsum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True))) / (alpha - 1)


def randomized_response(epsilon: str, alpha: str) -> mp.mpf:
    truth = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
    return renyi([truth, 1 - truth], [1 - truth, truth], mp.mpf(alpha))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_theorem_PURE_IMPLIES_ZCDP_randomized_response(epsilon: str) -> None:
    rho = PureCost(Fraction(epsilon)).zcdp
    with mp.workdps(60):
        for alpha in ORDERS:
            assert randomized_response(epsilon, alpha) <= mp.mpf(alpha) * rho.numerator / rho.denominator


@pytest.mark.literature
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_theorem_PURE_IMPLIES_ZCDP_sharp_constant(epsilon: str) -> None:
    """epsilon tanh(epsilon / 2) is enough, and nothing smaller is."""
    with mp.workdps(60):
        e = mp.mpf(epsilon)
        sharp = e * mp.tanh(e / 2)
        assert sharp <= e**2 / 2
        for alpha in ORDERS:
            assert randomized_response(epsilon, alpha) <= mp.mpf(alpha) * sharp
        assert randomized_response(epsilon, "1.000000001") > mp.mpf("0.9999") * sharp


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.floats(-30, 6).map(lambda x: Fraction(10**x)))
@example(Fraction(1, 10**400))
@example(Fraction(10**9))
def test_theorem_PURE_IMPLIES_ZCDP_rounded_up_and_close(epsilon: Fraction) -> None:
    rho = PureCost(epsilon).zcdp
    with mp.workdps(60):
        e = mp.mpf(epsilon.numerator) / epsilon.denominator
        above = mp.mpf(rho.numerator) / rho.denominator / (e * mp.tanh(e / 2)) - 1
        assert -(mp.mpf(10) ** -55) <= above <= mp.mpf(2) ** -48
    assert rho <= min(epsilon, epsilon**2 / 2)


@pytest.mark.literature
@settings(deadline=None, max_examples=100)
@given(
    st.integers(1, 400).map(lambda n: Fraction(n, 100)),
    st.lists(st.tuples(st.integers(1, 50), st.floats(-1, 1)), min_size=2, max_size=6),
    st.sampled_from(ORDERS[1:6]),
)
def test_theorem_PURE_IMPLIES_ZCDP_other_pairs(
    limit: Fraction, shape: list[tuple[int, float]], alpha: str
) -> None:
    """Any pair of distributions, with the epsilon that its own likelihood ratios show."""
    with mp.workdps(40):
        q = [mp.mpf(weight) for weight, _ in shape]
        p = [
            w * mp.exp(mp.mpf(tilt) * limit.numerator / limit.denominator)
            for w, (_, tilt) in zip(q, shape, strict=True)
        ]
        q, p = [w / mp.fsum(q) for w in q], [w / mp.fsum(p) for w in p]
        epsilon = max(abs(mp.log(a / b)) for a, b in zip(p, q, strict=True))
        assert renyi(p, q, mp.mpf(alpha)) <= mp.mpf(alpha) * epsilon**2 / 2 + mp.mpf(10) ** -35
