"""The conversions to (epsilon, delta), step by step: each formula, its slopes, and what it adds for roundings.

A margin is a multiple of u, the rounding of one operation.  So u is set to 0 and to 1: what remains and what is
added are then numbers that the formulas of the two files say, and fifty digits agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import pytest
from mpmath import mp, mpf

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian, rules, zcdp
from adyton.kernel.privacy import GaussianCost, Guarantee

Digits = pytest.MonkeyPatch
SERIES = [(mu, mu * (a + mu / 2)) for mu in (1e-9, 1e-4, 0.003, 0.00999) for a in (0.5, 3, 20)] + [
    (0.008, 0.0)
]
SUBTRACTED = [
    (mu, mu * (a + mu / 2)) for mu in (0.01, 0.3, 2.5, 40.0) for a in (-0.9, 0, 2, 30) if a + mu / 2 >= 0
]
TAILS = [(mu, mu * (a + mu / 2)) for mu in (2.6, 5.0, 45.0) for a in (-1.01, -1.2, -mu / 2)]


@pytest.fixture(autouse=True)
def fifty_digits() -> object:
    with mp.workdps(50):
        yield


def with_roundings(patch: Digits, module: ModuleType, u: float, work: Callable[[], float]) -> float:
    patch.setattr(module, "UNIT_ROUNDOFF", u)
    return work()


def mills(t: mpf) -> mpf:
    return mp.sqrt(mp.pi / 2) * mp.erfc(t / mp.sqrt(2)) * mp.exp(t * t / 2)


def phi(t: mpf) -> mpf:
    return mp.exp(-t * t / 2) / mp.sqrt(2 * mp.pi)


def true_delta(mu: mpf, epsilon: mpf) -> mpf:
    with mp.workdps(50 + max(0, int(-mp.log10(mu)))):  # the subtraction cancels as many
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        return phi(a) * (mills(a) - mills(b))


def of_exponent(c: mpf, a: mpf, log_gap: mpf) -> mpf:
    return 4 * (abs(a) * c + a * a + 8 * abs(log_gap) + 8)


def formula(mu: mpf, epsilon: mpf) -> tuple[mpf, mpf]:
    """ln delta without roundings, and the multiple of u that is added for them."""
    c = epsilon / mu
    a, b = c - mu / 2, c + mu / 2
    log_phi = -(a * a / 2 + mp.log(2 * mp.pi) / 2)
    if mu < mpf(0.01):
        i0 = mills(c)
        i1 = 1 - c * i0
        third = mu**2 / 24 * ((2 + c * c) * i1 - c * i0) / i1
        log_gap = mp.log(mu * i1 * (1 + third))
        margin = 80 / i1 + 2 * mu**2 / 24 * (3 + c * c) * 40 / i1 + of_exponent(c, a, log_gap)
        return log_phi + log_gap + mu**4 / 200, margin
    if a < -1:
        return mp.log(mp.erfc(a / mp.sqrt(2)) / 2 - phi(a) * mills(b)), 64 + 4 * mu
    gap = mills(a) - mills(b)
    margin = 2 * (42 + mu) * (mills(a) + mills(b)) / gap + of_exponent(c, a, mp.log(gap))
    return log_phi + mp.log(gap), margin


@pytest.mark.parametrize(("mu", "epsilon"), SERIES + SUBTRACTED + TAILS)
def test_each_formula_of_delta_is_what_it_says(monkeypatch: Digits, mu: float, epsilon: float) -> None:
    """Mutants: any sign, constant or operation of the three formulas, of their margins and of their slopes."""
    exact, margin = formula(mpf(mu), mpf(epsilon))
    plain, one = (
        with_roundings(monkeypatch, gaussian, u, lambda: gaussian._at(mu, epsilon).log_delta)
        for u in (0.0, 1.0)
    )
    lost = 2.0**-53 * float(margin)  # what the margin is for
    assert abs(plain - exact) <= lost
    assert one - plain == pytest.approx(float(margin), rel=1e-9 + 4 * lost / float(margin))
    truth = true_delta(mpf(mu), mpf(epsilon))
    assert mpf(0) <= exact - mp.log(truth) + mpf(10) ** -30 <= mpf(mu) ** 4 / 200 + mpf(10) ** -29
    a, b = mpf(epsilon) / mu - mpf(mu) / 2, mpf(epsilon) / mu + mpf(mu) / 2
    point, near = gaussian._at(mu, epsilon), 1e-6 + 2 * mu * (mu < 0.01)  # its slopes only steer
    assert point.by_mu == pytest.approx(float(phi(a) / truth), rel=near)
    assert point.by_epsilon == pytest.approx(float(-phi(a) * mills(b) / truth), rel=near)


@pytest.mark.parametrize("mu", [1e-4, 0.01, 3.0])
def test_delta_is_rounded_up_and_ends_where_floats_end(monkeypatch: Digits, mu: float) -> None:
    """Mutants: another margin, a delta of 0 or above 1."""
    monkeypatch.setattr(gaussian, "UNIT_ROUNDOFF", 1e-5)
    point = math.exp(gaussian._at(mu, mu).log_delta)
    assert gaussian.delta_up(mu, mu) / point == pytest.approx(1 + 32e-5, rel=1e-12)
    assert gaussian._log_down(1e-9) / math.log(1e-9) == pytest.approx(1 + 32e-5, rel=1e-12)
    assert (gaussian.delta_up(0.0, 1.0), gaussian.delta_up(30.0, 0.0)) == (0.0, 1.0)
    assert gaussian.delta_up(1e-9, 700.0) == gaussian.delta_up(1.0, 38.1) == 1e-305


def test_a_tiny_delta_is_worked_out_as_far_as_floats_reach() -> None:
    """Mutants: a border from which on all deltas are the least."""
    for mu, a in ((40.0, 36), (1.0, 30), (0.001, 37)):
        epsilon = mu * (a + mu / 2)
        assert 0 <= gaussian.delta_up(mu, epsilon) / true_delta(mpf(mu), mpf(epsilon)) - 1 <= mpf("1e-9")


def test_a_distance_that_is_enough_is_no_more_than_that() -> None:
    """Mutants: another factor, a square root of what is below 0."""
    for delta in (1e-300, 1e-9, 0.3, 0.4999):
        assert gaussian._far_enough(delta) == pytest.approx(
            float(mp.sqrt(-2 * mp.log(2 * mpf(delta)))), rel=1e-12
        )
    assert (gaussian._far_enough(0.5), gaussian._far_enough(0.9)) == (0.0, 0.0)


def roundings(mu: float, epsilon: float, delta: float) -> mpf:
    """What is added to ln delta, and to ln of the delta that is asked for."""
    margin = formula(mpf(mu), mpf(epsilon))[1] - 36 * math.log(delta)
    return 2.0**-53 * margin + mpf(mu) ** 4 / 200 * (mu < 0.01)


def test_a_search_ends_within_its_slack_on_the_safe_side() -> None:
    """Of ln delta: it aims one slack below, and for mu four, and comes nearer from the safe side.

    Mutants: another aim, a search that ends early, at a border, or never; a start that is not valid.
    """
    slack = mpf(10) ** -11
    for mu in (1e-6, 0.02, 0.7, 3.0, 20.0):
        for delta in (1e-300, 1e-30, 1e-6, 0.01, 0.4):
            epsilon = gaussian.epsilon_up(mu, delta)
            assert (epsilon > 0) == (true_delta(mpf(mu), mpf(0)) > delta), (mu, delta)
            if epsilon:
                left = mp.log(mpf(delta)) - mp.log(true_delta(mpf(mu), mpf(epsilon)))
                assert 0 <= left <= 2 * slack + roundings(mu, epsilon, delta), (mu, delta)
    for epsilon in (0.0, 1e-6, 0.1, 2.0, 50.0, 700.0):
        for delta in (1e-300, 1e-30, 1e-6, 0.01, 0.4, 0.9):
            mu = gaussian.mu_down(epsilon, delta)
            left = mp.log(mpf(delta)) - mp.log(true_delta(mpf(mu), mpf(epsilon)))
            near = roundings(mu, epsilon, delta)
            assert 3.9 * slack <= left <= 5 * slack + near, (epsilon, delta, left / slack)


# Zero-concentrated -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [1e-6, 0.1, 1.0, 30.0, 1e9])
@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.5])
def test_each_order_of_zcdp_is_what_it_says(monkeypatch: Digits, t: float, delta: float) -> None:
    """Mutants: any sign, constant or operation of the bound of one order and of its margin."""
    rho, log_inverse = 0.01, -math.log(delta)
    bound = [
        with_roundings(monkeypatch, zcdp, u, lambda: zcdp.epsilon_at(t, rho, delta)) for u in (0.0, 2.0**-10)
    ]
    order, inverse = mpf(t), mpf(log_inverse)
    exact = rho * (1 + order) + mp.log(order / (1 + order)) + (inverse - mp.log1p(order)) / order
    gain, terms = mp.log1p(1 / order), (inverse + mp.log1p(order)) / order
    margin = 8 * (rho * (1 + order) + gain + terms)
    assert bound[0] == pytest.approx(max(0.0, float(exact)), rel=1e-12, abs=2.0**-50 * float(margin))
    if exact > 0:
        assert (bound[1] - bound[0]) * 2**10 == pytest.approx(float(margin), rel=1e-9)


def test_the_best_order_solves_its_equation() -> None:
    """Mutants: another equation, another slope, a search that ends early."""
    for rho in (1e-18, 1e-6, 0.01, 1.0, 500.0):
        for delta in (1e-300, 1e-30, 1e-6, 0.01, 0.9):
            t = mpf(zcdp.best_order(rho, delta))
            off = rho * t * t + mp.log1p(t) + mp.log(mpf(delta))
            assert abs(off / (2 * rho * t * t + t / (1 + t))) <= 1.01e-9, (rho, delta)


def test_rho_is_rounded_down_and_hardly() -> None:
    """Mutants: another start, another line, another margin."""
    assert zcdp.epsilon_up(0.0, 1e-6) == 0.0
    for epsilon in (1e-9, 1e-3, 1.0, 30.0, 500.0):
        for delta in (1e-300, 1e-30, 1e-6, 0.01, 0.9):
            rho = zcdp.rho_down(epsilon, delta)
            assert (
                zcdp.epsilon_up(rho, delta)
                <= epsilon
                < zcdp.epsilon_up(rho * (1 + 1e-11), delta) * (1 + 1e-15)
            )


def test_rho_leaves_room_for_the_roundings_of_both_ways(monkeypatch: Digits) -> None:
    """Mutants: one margin less or more, another factor at the end."""
    u = 1e-7
    monkeypatch.setattr(zcdp, "UNIT_ROUNDOFF", u)
    for epsilon in (1e-3, 1.0, 30.0):
        for delta in (1e-30, 1e-6, 0.01):
            rho = zcdp.rho_down(epsilon, delta)
            fixed, margin = zcdp._without_rho(zcdp.best_order(rho, delta), -math.log(delta))
            left = epsilon - zcdp.epsilon_up(rho, delta)
            assert left == pytest.approx(margin + 24 * u * (epsilon - fixed), rel=1e-3)


# Rules -----------------------------------------------------------------------------------------------------


def test_what_fits_is_the_whole_of_it_or_a_hair_less() -> None:
    """Mutants: a step of another size, a search that stops at once or below 0."""
    assert rules._fitting(10**18, lambda spent: True) == 10**18
    looked: list[int] = []
    assert rules._fitting(3 * 10**12, lambda spent: bool(looked.append(spent)) or spent < 3 * 10**12 - 5) > 0
    assert looked == [3 * 10**12, 3 * 10**12 - 4, 3 * 10**12 - 4 - 3]
    assert rules._fitting(5, lambda spent: spent <= 2) == 2
    assert rules._fitting(5, lambda spent: False) == 0


def test_what_has_no_price_is_refused_in_words() -> None:
    """Mutants: a check that is left to the next one."""
    for rule in (rules.GdpAccounting(), rules.ZcdpAccounting()):
        for delta in (Fraction(0), Fraction(-1)):
            with pytest.raises(InvalidRequest, match="pure filter"):
                rule.epsilon(1, delta)
    with pytest.raises(InvalidRequest, match="no pure epsilon"):
        rules.PureAccounting().amount(GaussianCost(Fraction(1)))
    assert rules.PureAccounting().allowed(Guarantee(Fraction(1, 3), Fraction(0))) == (10**18 - 1) // 3
