"""Renyi curves against integrals at high precision, their sum on exact transcripts, and the best order."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_composition import adaptive_transcripts

from adyton.accounting.textbook.composition import same
from adyton.accounting.textbook.optimal import optimal
from adyton.accounting.textbook.renyi import (
    Curve,
    GaussianCurve,
    LaplaceCurve,
    PureCurve,
    epsilon_at,
    epsilon_up,
    renyi_total,
)
from adyton.accounting.textbook.trade_off import LaplaceView
from adyton.arithmetic.interval import lower, upper
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import zcdp

MICRO = Fraction(1, 10**6)
epsilons = st.floats(-6, 1.3).map(lambda x: Fraction(f"{10**x:.3g}"))
deltas = st.floats(-30, -0.1).map(lambda x: Fraction(10**x))
orders = st.floats(-3, 4).map(lambda x: 1 + Fraction(10**x))


def number(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("e", ["0.01", "0.5", "3"])
@pytest.mark.parametrize("alpha", ["1.01", "2", "17.5"])
def test_theorem_LAPLACE_RENYI_is_the_integral(e: str, alpha: str) -> None:
    with mp.workdps(30):
        shift, a = mp.mpf(e), mp.mpf(alpha)

        def density(x: mp.mpf) -> mp.mpf:
            return mp.exp(-a * abs(x) - (1 - a) * abs(x - shift)) / 2

        truth = mp.log(mp.quad(density, [-80, -20, 0, shift, shift + 20, shift + 80])) / (a - 1)
        found = LaplaceCurve(Fraction(e)).renyi(Fraction(alpha))
        assert abs(number(upper(found)) - truth) < mp.mpf("1e-15") * truth


@given(epsilons, orders)
def test_theorem_LAPLACE_RENYI_smaller_shifts_reveal_less(e: Fraction, alpha: Fraction) -> None:
    worst = upper(LaplaceCurve(e).renyi(alpha))
    for share in (Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000)):
        assert upper(LaplaceCurve(e * share).renyi(alpha)) < worst


@given(epsilons, orders)
def test_theorem_PURE_IMPLIES_RENYI_is_the_formula_and_above_laplace(e: Fraction, alpha: Fraction) -> None:
    with mp.workdps(80):
        x, a = number(e), number(alpha)
        truth = mp.log(mp.cosh((a - 0.5) * x) / mp.cosh(x / 2)) / (a - 1)
        found = PureCurve(e).renyi(alpha)
        assert number(lower(found)) <= truth <= number(upper(found))
        assert number(upper(found)) - truth <= truth * mp.mpf("1e-20")
    assert (
        lower(LaplaceCurve(e).renyi(alpha))
        <= upper(found)
        <= min(e, alpha * e**2 / 2) * (1 + Fraction(1, 10**20))
    )


def exact_renyi(p: dict, q: dict, alpha: int) -> float:
    return math.log(sum(p[k] ** alpha / q[k] ** (alpha - 1) for k in p)) / (alpha - 1)


@pytest.mark.parametrize("alpha", [2, 3, 8])
def test_theorem_PURE_IMPLIES_RENYI_covers_any_pure_mechanism(alpha: int) -> None:
    for prices, (p, q) in adaptive_transcripts():
        pure = sum(prices)
        assert exact_renyi(p, q, alpha) <= upper(PureCurve(pure).renyi(Fraction(alpha)))


@pytest.mark.parametrize("alpha", [2, 3, 8])
def test_theorem_RENYI_COMPOSITION_covers_adaptive_transcripts(alpha: int) -> None:
    for prices, (p, q) in adaptive_transcripts():
        total = renyi_total([(PureCurve(e), 1) for e in prices], Fraction(alpha))
        assert max(exact_renyi(p, q, alpha), exact_renyi(q, p, alpha)) <= total


@pytest.mark.parametrize(
    "curve", [LaplaceCurve(Fraction(1, 7)), PureCurve(Fraction(1, 7)), GaussianCurve(Fraction(1, 7))]
)
def test_theorem_RENYI_COMPOSITION_n_charges_are_one_charge_of_n(curve: Curve) -> None:
    other = PureCurve(Fraction(1, 3))
    assert (
        epsilon_up([(curve, 40)], MICRO)
        == epsilon_up([(curve, 1)] * 40, MICRO)
        > epsilon_up([(curve, 39)], MICRO)
    )
    assert renyi_total([(curve, 2), (other, 3)], Fraction(5)) == renyi_total(
        [(other, 3), (curve, 2)], Fraction(5)
    )


@settings(deadline=None, max_examples=60)
@given(epsilons, st.integers(1, 10**6), deltas)
def test_theorem_RENYI_TO_APPROX_finds_the_best_order(e: Fraction, k: int, delta: Fraction) -> None:
    """No order of a fine grid is better by more than a hair, and each is valid, so none is below optimal.

    The hair is delta at least: at orders near 1/delta a pure release gains a last fraction of delta over infinity.
    """
    curve = PureCurve(e)
    found = epsilon_up([(curve, k)], delta)
    for power in range(-24, 60):
        alpha = 1 + Fraction(10 ** (power / 6))
        one = epsilon_at([(curve, k)], delta, alpha)
        assert found <= max(Fraction(0), one) * (1 + Fraction(1, 10**7)) + max(
            min(delta, MICRO), Fraction(1, 10**12)
        )
    assert optimal(same(e, k), delta) * (1 - 1e-9) <= found <= float(k * e) * (1 + 1e-12)


@settings(deadline=None, max_examples=100)
@given(epsilons, deltas)
def test_theorem_RENYI_TO_APPROX_one_laplace_release_is_not_undercut(e: Fraction, delta: Fraction) -> None:
    """delta(epsilon) of one Laplace release is known exactly; at the epsilon that was found it must fit."""
    found = epsilon_up([(LaplaceCurve(e), 1)], delta)
    with mp.workdps(40):
        assert 1 - mp.exp((mp.mpf(found) - number(e)) / 2) <= number(delta)
    assert LaplaceView(e).delta_up(0.0) > 0


@settings(deadline=None, max_examples=60)
@given(st.floats(-8, 2).map(lambda x: Fraction(10**x)), deltas)
def test_theorem_RENYI_TO_APPROX_of_gaussian_noise_is_that_of_zcdp(
    mu_squared: Fraction, delta: Fraction
) -> None:
    found = epsilon_up([(GaussianCurve(mu_squared), 1)], delta)
    expected = zcdp.epsilon_up(float(mu_squared / 2), float(delta))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * math.sqrt(mu_squared))


@pytest.mark.parametrize(
    "call",
    [
        lambda: LaplaceCurve(Fraction(0)),
        lambda: PureCurve(Fraction(-1)),
        lambda: PureCurve(Fraction(501)),
        lambda: GaussianCurve(Fraction(0)),
        lambda: epsilon_up([], MICRO),
        lambda: epsilon_up([(PureCurve(Fraction(1)), 0)], MICRO),
        lambda: epsilon_up([(PureCurve(Fraction(1)), 1)], Fraction(0)),
        lambda: epsilon_up([(PureCurve(Fraction(1)), 1)], Fraction(1)),
        lambda: renyi_total([(PureCurve(Fraction(1)), 1)], Fraction(1)),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(InvalidRequest):
        call()
