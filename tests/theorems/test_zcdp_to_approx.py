"""epsilon of zero-concentrated differential privacy: valid at its order, and the best order was found."""

from __future__ import annotations

import math
from random import Random

import mpmath as mp
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.kernel.accounting.gaussian import delta_up
from adyton.kernel.accounting.zcdp import epsilon_up, rho_down
from support.tries import often

rhos = st.floats(-18, 3).map(lambda x: 10**x)
epsilons = st.floats(-9, 2.69).map(lambda x: 10**x)
deltas = st.floats(-299.9, -0.01).map(lambda x: 10**x)


def bound(rho: float, delta: float, t: mp.mpf) -> mp.mpf:
    alpha = 1 + t
    return alpha * rho + mp.log(1 - 1 / alpha) - mp.log(delta * alpha) / t


def best(rho: float, delta: float) -> mp.mpf:
    """The minimum over all orders: the root in ln t of a convex increasing function, by Newton's method."""
    log_inverse = -mp.log(delta)
    log_t = min(mp.log(log_inverse / rho) / 2, log_inverse)
    for _ in range(80):
        t = mp.exp(log_t)
        step = (rho * t * t + mp.log1p(t) - log_inverse) / (2 * rho * t * t + t / (1 + t))
        if abs(step) < mp.mpf(10) ** -25:
            return bound(rho, delta, t)
        log_t -= step
    raise AssertionError("the search for the best order did not end")


def test_theorem_ZCDP_TO_APPROX_is_never_below_the_best_order_and_close() -> None:
    random = Random(1)
    for _ in range(often(800, 2000)):
        rho, delta = 10 ** random.uniform(-18, 3), 10 ** random.uniform(random.choice([-300, -15]), -0.1)
        with mp.workdps(40):
            truth = max(mp.mpf(0), best(rho, delta))
            reported = epsilon_up(rho, delta)
            assert truth <= reported <= truth * (1 + mp.mpf("1e-9")) + mp.mpf("1e-9") * mp.sqrt(rho), (
                rho,
                delta,
            )


def test_theorem_ZCDP_TO_APPROX_rho_fits_and_a_little_more_does_not() -> None:
    random = Random(2)
    for _ in range(often(400, 1000)):
        epsilon, delta = (
            10 ** random.uniform(-9, 2.69),
            10 ** random.uniform(random.choice([-300, -15]), -0.1),
        )
        rho = rho_down(epsilon, delta)
        with mp.workdps(40):
            assert best(rho, delta) <= epsilon, (epsilon, delta)
            assert best(rho * (1 + 1e-9), delta) > epsilon, (epsilon, delta)


def test_theorem_ZCDP_TO_APPROX_holds_for_the_gaussian_of_known_delta() -> None:
    """A Gaussian of mu**2 = 2 rho is rho-zCDP, and its true delta at the reported epsilon is below delta."""
    for exponent in range(-12, 3):
        for delta in (1e-300, 1e-12, 1e-6, 1e-3, 0.5):
            rho = 10.0**exponent
            assert delta_up(math.sqrt(2 * rho), epsilon_up(rho, delta)) <= delta


def test_theorem_ZCDP_TO_APPROX_wrong_orders_are_only_worse() -> None:
    reported = epsilon_up(0.02, 1e-6)
    with mp.workdps(40):
        assert all(
            bound(0.02, 1e-6, mp.mpf(10) ** (k / mp.mpf(10))) >= reported - 1e-12 for k in range(-20, 60)
        )


@settings(deadline=None, max_examples=150)
@given(rhos, rhos, deltas, deltas)
def test_theorem_ZCDP_TO_APPROX_epsilon_is_monotone(r1: float, r2: float, d1: float, d2: float) -> None:
    (small, large), (low, high) = sorted([r1, r2]), sorted([d1, d2])
    more = epsilon_up(large, low)
    assert epsilon_up(small, high) <= more + 1e-9 * (more + math.sqrt(large))


@settings(deadline=None, max_examples=150)
@given(epsilons, epsilons, deltas, deltas)
def test_theorem_ZCDP_TO_APPROX_rho_is_monotone(e1: float, e2: float, d1: float, d2: float) -> None:
    (less, more), (low, high) = sorted([e1, e2]), sorted([d1, d2])
    assert rho_down(less, low) <= rho_down(more, high) * (1 + 1e-9)
    assert epsilon_up(rho_down(less, low), low) <= less
