"""delta(epsilon) of Gaussian differential privacy: the safe side of the truth, and within 1e-9 of it."""

from __future__ import annotations

import math
from random import Random

import mpmath as mp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfcx

from adyton.kernel.accounting.gaussian import delta_up, epsilon_up, mu_down
from support.tries import often

mus = st.floats(-9, math.log10(50)).map(lambda x: 10**x)
epsilons = st.floats(-9, math.log10(700)).map(lambda x: 10**x)
deltas = st.floats(-299.9, math.log10(0.5)).map(lambda x: 10**x)
close = settings(deadline=None, max_examples=150)


def true_delta(mu: float, epsilon: float) -> mp.mpf:
    """To about 60 digits, whatever the subtraction cancels."""
    with mp.workdps(70 + max(0, int(-math.log10(mu)))):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        return (mp.erfc((e / m - m / 2) / mp.sqrt(2)) - mp.exp(e) * mp.erfc((e / m + m / 2) / mp.sqrt(2))) / 2


def log_uniform(random: Random, low: float, high: float) -> float:
    return math.exp(random.uniform(math.log(low), math.log(high)))


def any_delta(random: Random) -> float:
    return log_uniform(random, random.choice([1e-300, 1e-15, 1e-3]), 0.5)


def test_theorem_GDP_TO_APPROX_assumed_accuracy_of_the_library_functions() -> None:
    random, u = Random(1), 2.0**-53
    with mp.workdps(40):
        for _ in range(often(1500, 4000)):
            t = random.choice(
                [random.uniform(-0.71, 2), random.uniform(0, 90), log_uniform(random, 1e-12, 1)]
            )
            assert abs(float(erfcx(t)) / (mp.erfc(t) * mp.exp(mp.mpf(t) ** 2)) - 1) < 16 * u  # 32 u assumed
            t = -random.uniform(0.7, 40)
            assert abs(math.erfc(t) / mp.erfc(t) - 1) < 4 * u  # 8 u assumed


def test_theorem_GDP_TO_APPROX_delta_is_never_below_the_truth_and_close() -> None:
    random = Random(2)
    for _ in range(often(1000, 2500)):
        mu = log_uniform(random, 1e-9, 50)
        epsilon = max(0.0, mu * random.uniform(-1, 38) + random.uniform(-1, 1) * mu * mu / 2)
        truth, reported = true_delta(mu, epsilon), delta_up(mu, epsilon)
        assert reported >= truth, (mu, epsilon)
        assert reported <= max(truth * (1 + 1e-9), 2e-305), (mu, epsilon)


def test_theorem_GDP_TO_APPROX_epsilon_is_never_below_the_truth_and_close() -> None:
    random = Random(3)
    for _ in range(often(1000, 2500)):
        mu, delta = log_uniform(random, 1e-9, 50), any_delta(random)
        epsilon = epsilon_up(mu, delta)
        assert true_delta(mu, epsilon) <= delta, (mu, delta)
        less = epsilon - 1e-9 * (epsilon + mu)
        assert less < 0 or true_delta(mu, less) > delta, (mu, delta)


def test_theorem_GDP_TO_APPROX_mu_is_never_above_the_truth_and_close() -> None:
    random = Random(4)
    for _ in range(often(1000, 2500)):
        epsilon, delta = random.choice([0.0, 1, 1, 1]) * log_uniform(random, 1e-9, 700), any_delta(random)
        mu = mu_down(epsilon, delta)
        assert true_delta(mu, epsilon) <= delta, (epsilon, delta)
        assert true_delta(mu * (1 + 1e-9), epsilon) > delta, (epsilon, delta)
        assert epsilon_up(mu, delta) <= epsilon, (epsilon, delta)


def test_theorem_GDP_TO_APPROX_where_the_formulas_meet_and_end() -> None:
    """Both sides of mu = 0.01 and of a = -1, deltas above 1/2, and the corners of the range."""
    for mu in (1e-9, 0.01 * (1 - 1e-12), 0.01, 2 - 1e-9, 2.0, 2 + 1e-9, 50.0):
        for a in (-mu / 2, -1 - 1e-9, -1.0, 0.0, 37.0):
            epsilon = max(0.0, mu * (a + mu / 2))
            assert true_delta(mu, epsilon) <= delta_up(mu, epsilon)
        for delta in (1e-300, 1e-9, 0.5, 0.7, 0.999, 1 - 2**-53):
            assert true_delta(mu, epsilon_up(mu, delta)) <= delta
    for epsilon in (0.0, 1e-9, 1.0, 700.0):
        for delta in (1e-300, 0.5, 0.7, 0.999, 1 - 2**-53):
            assert true_delta(mu_down(epsilon, delta), epsilon) <= delta
    assert 0 < delta_up(1e-9, 700.0) <= 1e-300  # the truth is far below every float, and not 0
    assert delta_up(0.0, 1.0) == 0.0 == epsilon_up(0.0, 1e-6)
    assert delta_up(1e6, 1.0) == 1.0


def test_theorem_GDP_TO_APPROX_a_delta_that_is_enough_needs_no_epsilon() -> None:
    assert epsilon_up(0.1, 0.04) == 0.0  # total variation of N(0, 1) and N(0.1, 1): 0.03988
    assert epsilon_up(0.1, 0.0398) > 0.0


def test_theorem_GDP_TO_APPROX_published_number() -> None:
    """1,000 Gaussians of sigma = 50 and sensitivity 1."""
    assert round(epsilon_up(math.sqrt(1000) / 50, 1e-6), 6) == 2.921601


@close
@given(mus, mus, deltas, deltas)
def test_theorem_GDP_TO_APPROX_epsilon_is_monotone(mu1: float, mu2: float, d1: float, d2: float) -> None:
    (small, large), (low, high) = sorted([mu1, mu2]), sorted([d1, d2])
    more = epsilon_up(large, low)
    assert epsilon_up(small, high) <= more + 1e-9 * (more + large)


@close
@given(mus, mus, epsilons, epsilons)
def test_theorem_GDP_TO_APPROX_delta_is_monotone(mu1: float, mu2: float, e1: float, e2: float) -> None:
    (small, large), (low, high) = sorted([mu1, mu2]), sorted([e1, e2])
    assert delta_up(small, high) <= delta_up(large, low) * (1 + 1e-9)


@close
@given(epsilons, epsilons, deltas, deltas)
def test_theorem_GDP_TO_APPROX_mu_is_monotone(e1: float, e2: float, d1: float, d2: float) -> None:
    (less, more), (low, high) = sorted([e1, e2]), sorted([d1, d2])
    assert mu_down(less, low) <= mu_down(more, high) * (1 + 1e-9)


@close
@given(mus, epsilons)
def test_theorem_GDP_TO_APPROX_there_and_back(mu: float, epsilon: float) -> None:
    delta = delta_up(mu, epsilon)
    if 1e-300 <= delta <= 0.5:
        assert abs(epsilon_up(mu, delta) - epsilon) <= 1e-9 * (epsilon + mu)
        assert abs(mu_down(epsilon, delta) / mu - 1) <= 1e-9
