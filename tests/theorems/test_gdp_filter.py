"""The GDP accounting against analysts who choose the next noise level from the last answer.

For two neighboring tables the analyst sees Y_1, Y_2, ... with Y_i = N(0, 1) or N(mu_i, 1).  Two and three
steps are integrated to 1e-9, relatively, in both directions: Gauss-Legendre on cells whose edges are the only
places where a strategy jumps.  A strategy that beats the guaranteed delta would be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import GdpAccounting
from adyton.kernel.accounting.gaussian import delta_up
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.exact.outward import square_root_up
from adyton.kernel.privacy import GaussianCost, Guarantee

Array = np.ndarray[Any, np.dtype[np.float64]]
Strategy = Callable[[Array], Array]  # share of the mu**2 that is left, as a function of the answer just seen
TOLERANCE = 1e-9
GDP = GdpAccounting()
MILLIONTH = Fraction(1, 10**6)


def nodes(width: float, order: int) -> tuple[Array, Array]:
    """Points and weights on [-12, 12], in cells of ``width``."""
    x, w = np.polynomial.legendre.leggauss(order)
    left = np.arange(-12, 12, width)[:, None]
    return (left + width * (x + 1) / 2).ravel(), np.tile(w * width / 2, left.size)


FINE = nodes(0.25, 16)
COARSE = nodes(0.5, 12)


def hockey_stick(epsilon: Array, mu: Array) -> Array:
    """E max(0, 1 - exp(epsilon - L)) for one Gaussian, with epsilon of either sign."""
    m = np.maximum(mu, 1e-300)
    c = np.clip(epsilon / m, -1e3, 1e3)
    one_step = ndtr(-c + m / 2) - np.exp(np.minimum(epsilon + log_ndtr(-c - m / 2), 0))
    return np.where(mu > 1e-9, one_step, np.maximum(0, -np.expm1(np.minimum(epsilon, 0))))


def two_steps(epsilon: float, first: float, left: float, strategy: Strategy, sign: int) -> float:
    """delta of: spend ``first``, see y, spend a share of ``left``.  ``sign`` = -1 swaps the two tables."""
    y, weight = FINE
    mean = first if sign > 0 else 0.0
    loss = sign * (first * y - first**2 / 2)
    density = np.exp(-((y - mean) ** 2) / 2) / math.sqrt(2 * math.pi)
    return float(np.sum(weight * density * hockey_stick(epsilon - loss, np.sqrt(left * strategy(y)))))


def three_steps(epsilon: float, first: float, left: float, second: Strategy, sign: int) -> float:
    """The second price depends on the first answer, the third is all that is left then."""
    y, weight = COARSE
    mu2 = np.sqrt(left * second(y))
    mu3 = np.sqrt(left * (1 - second(y)))
    loss1 = sign * (first * y - first**2 / 2)
    density1 = np.exp(-((y - (first if sign > 0 else 0.0)) ** 2) / 2) / math.sqrt(2 * math.pi)
    z = y[None, :] + mu2[:, None] * (sign > 0)
    loss2 = sign * (mu2[:, None] * z - mu2[:, None] ** 2 / 2)
    density2 = np.exp(-(y[None, :] ** 2) / 2) / math.sqrt(2 * math.pi)
    inner = hockey_stick(epsilon - loss1[:, None] - loss2, np.broadcast_to(mu3[:, None], z.shape))
    return float(np.sum(weight * density1 * np.sum(weight * density2 * inner, axis=1)))


def steps(levels: list[float]) -> Strategy:
    """A strategy that is constant on cells of half a unit between -4 and 4, where all of the action is."""

    def share(y: Array) -> Array:
        cell = np.clip(np.floor(2 * y) + 8, 0, len(levels) - 1).astype(int)
        return np.asarray(levels)[cell]

    return share


any_levels = st.lists(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)), min_size=16, max_size=16)
inner_levels = st.lists(st.floats(0, 0.9), min_size=16, max_size=16)  # something is left for the third query
totals = st.floats(0.05, 3)
shares = st.floats(0.05, 0.95)
signs = st.sampled_from([1, -1])


@settings(deadline=None, max_examples=60)
@given(totals, shares, st.floats(0, 3), any_levels, signs)
def test_theorem_GDP_FILTER_no_adaptive_noise_level_beats_the_limit(
    mu: float, share: float, ratio: float, levels: list[float], sign: int
) -> None:
    epsilon = ratio * mu
    found = two_steps(epsilon, mu * math.sqrt(share), mu**2 * (1 - share), steps(levels), sign)
    assert found <= delta_up(mu, epsilon) * (1 + TOLERANCE)


@settings(deadline=None, max_examples=15)
@given(totals, shares, st.floats(0, 3), inner_levels, signs)
def test_theorem_GDP_FILTER_spending_everything_is_one_gaussian(
    mu: float, share: float, ratio: float, levels: list[float], sign: int
) -> None:
    """Spending everything is one Gaussian, however it is divided."""
    epsilon = ratio * mu
    found = three_steps(epsilon, mu * math.sqrt(share), mu**2 * (1 - share), steps(levels), sign)
    assert found == pytest.approx(delta_up(mu, epsilon), rel=TOLERANCE)


@pytest.mark.parametrize("sign", [1, -1])
def test_theorem_GDP_FILTER_the_test_would_see_a_wrong_filter(sign: int) -> None:
    """Refutation of two filters that are wrong, by the same integral that fails to refute the right one."""
    mu, epsilon, first = 1.0, 2.0, 0.6
    guaranteed = delta_up(mu, epsilon)

    def found(left: float) -> float:
        return two_steps(epsilon, first, left, lambda y: np.where(sign * (y - 0.25) > 0, 1.0, 0.5), sign)

    assert found(mu**2 - first**2) <= guaranteed
    assert found(1.2 * mu**2 - first**2) > guaranteed * 1.05  # allows a fifth too much
    assert found(mu**2) > guaranteed * 1.05  # forgets to count the candidate: the second may cost mu**2 again


@pytest.mark.literature
def test_theorem_GDP_FILTER_best_second_price_is_all_that_is_left() -> None:
    """Over a grid of prices, the strongest analyst spends everything after every answer."""
    y, _ = FINE
    loss = 0.6 * y - 0.18
    grid = np.linspace(0.05, 1, 40)
    delta = np.stack([hockey_stick(2.0 - loss, np.full_like(y, 0.8 * math.sqrt(s))) for s in grid])
    # Adding a price never makes anything harder to tell apart; equality where both are 0 or 1 up to rounding.
    assert bool(np.all(np.diff(delta, axis=0) >= -1e-15))


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**22))
def test_theorem_GDP_FILTER_mu_is_rounded_up(spent: int) -> None:
    true = Fraction(spent, UNITS_PER_ONE)
    assert true <= Fraction(square_root_up(true)) ** 2 <= true * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize(("epsilon", "queries"), [(1, 560), (4, 7020)])
def test_theorem_GDP_FILTER_queries_of_one_hundredth(epsilon: int, queries: int) -> None:
    cost = GDP.amount(GaussianCost(Fraction(1, 10**4)))
    assert GDP.allowed(Guarantee(Fraction(epsilon), MILLIONTH)) // cost == queries


def test_theorem_GDP_FILTER_thousand_gaussians() -> None:
    spent = 1000 * GDP.amount(GaussianCost(Fraction(1, 2500)))
    assert GDP.epsilon(spent, MILLIONTH) == pytest.approx(2.921601, abs=5e-7)


def test_theorem_GDP_FILTER_adaptive_prices_never_pass_the_limit() -> None:
    """10,000 analysts whose next price depends on the last answer; integers above, exact rationals below."""
    random, budget = Random(17), GDP.allowed(Guarantee(Fraction(1), MILLIONTH))
    for _ in range(10_000):
        spent, true, answer = 0, Fraction(0), 0.0
        for _ in range(6):
            price = Fraction(random.randrange(1, 10**9), random.choice([10**10, 7 * 10**10, 10**11]))
            price = price * 3 if answer > 0 else price
            amount = GDP.amount(GaussianCost(price))
            if spent + amount <= budget:
                spent, true, answer = spent + amount, true + price, random.gauss(0, 1)
        assert true * UNITS_PER_ONE <= spent <= budget


def test_theorem_GDP_FILTER_refuses_what_it_cannot_price() -> None:
    unproved = SimpleNamespace(pure=None, zcdp=Fraction(1), gdp=None)
    with pytest.raises(InvalidRequest, match="no proved mu"):
        GDP.amount(unproved)
    with pytest.raises(InvalidRequest, match="delta > 0"):
        GDP.allowed(Guarantee(Fraction(1), Fraction(0)))
