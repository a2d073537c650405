"""The zCDP filter: Renyi divergence of adaptively priced releases, and how many queries fit."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import GdpAccounting, ZcdpAccounting
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import GaussianCost, Guarantee, PureCost
from support.strategies import fractions

ZCDP = ZcdpAccounting()
MILLIONTH = Fraction(1, 10**6)
ORDERS = [1.01, 1.5, 2.0, 4.0, 16.0, 64.0]


def moment(epsilon: float, alpha: float) -> float:
    """E exp((alpha - 1) L) of one randomized response."""
    return math.cosh((alpha - 0.5) * epsilon) / math.cosh(epsilon / 2)


def renyi(alpha: float, first: float, after: dict[bool, float]) -> float:
    """Two randomized responses on one bit, enumerated; the second epsilon depends on the first answer."""
    truth = 1 / (1 + math.exp(-first))
    total = 0.0
    for told, p, loss in ((True, truth, first), (False, 1 - truth, -first)):
        total += p * math.exp((alpha - 1) * loss) * moment(after[told], alpha)
    return math.log(total) / (alpha - 1)


@pytest.mark.literature
@settings(deadline=None, max_examples=150)
@given(st.floats(0.01, 2), st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 1), st.sampled_from(ORDERS))
def test_theorem_ZCDP_FILTER_adaptive_randomized_response(
    total: float, share: float, one: float, other: float, alpha: float
) -> None:
    """``total`` is an epsilon; rho = total**2 / 2 is divided adaptively."""
    left = total * math.sqrt(1 - share)
    after = {True: left * math.sqrt(one), False: left * math.sqrt(other)}
    assert renyi(alpha, total * math.sqrt(share), after) <= alpha * total**2 / 2 * (1 + 1e-12) + 1e-15


@pytest.mark.literature
def test_theorem_ZCDP_FILTER_the_test_would_see_a_wrong_filter() -> None:
    """A filter that allows a tenth too much is refuted at small epsilon, where the bound is sharp."""
    left = 0.1 * math.sqrt(0.6)
    assert renyi(1.5, 0.1 * math.sqrt(0.5), {True: left, False: left}) > 1.5 * 0.1**2 / 2


@pytest.mark.parametrize(("epsilon", "queries"), [(1, 487), (4, 6221)])
def test_theorem_ZCDP_FILTER_queries_of_one_hundredth(epsilon: int, queries: int) -> None:
    cost = ZCDP.amount(GaussianCost(Fraction(1, 10**4)))
    assert ZCDP.allowed(Guarantee(Fraction(epsilon), MILLIONTH)) // cost == queries


def test_theorem_ZCDP_FILTER_adaptive_prices_never_pass_the_limit() -> None:
    random, budget = Random(18), ZCDP.allowed(Guarantee(Fraction(1), MILLIONTH))
    for _ in range(2000):
        spent, true = 0, Fraction(0)
        for _ in range(6):
            price = Fraction(random.randrange(1, 10**9), 7 * 10**9 if spent % 2 else 10**10)
            amount = ZCDP.amount(PureCost(price))
            if spent + amount <= budget:
                spent, true = spent + amount, true + price**2 / 2 - price**4 / 24  # tanh x >= x - x**3 / 3
        assert true * UNITS_PER_ONE <= spent <= budget


@settings(deadline=None, max_examples=150)
@given(st.floats(0, 18).map(lambda x: int(10**x)), st.integers(1, 1000), st.floats(-299, -0.31))
def test_law_a_tighter_accountant_never_reports_more(units: int, times: int, exponent: float) -> None:
    """Gaussian noise: gdp knows the whole curve, zcdp only its Renyi divergences."""
    cost, delta = GaussianCost(Fraction(2 * units, UNITS_PER_ONE)), Fraction(10**exponent)
    gdp = GdpAccounting()
    assert gdp.epsilon(times * gdp.amount(cost), delta) <= ZCDP.epsilon(times * ZCDP.amount(cost), delta)


@settings(deadline=None, max_examples=100)
@given(st.lists(fractions(Fraction(1, 10**6), 1), min_size=1, max_size=20))
def test_law_dividing_a_pure_epsilon_never_costs_more_rho(parts: list[Fraction]) -> None:
    apart = sum(ZCDP.amount(PureCost(p)) for p in parts)
    assert apart <= ZCDP.amount(PureCost(sum(parts, Fraction(0)))) + len(parts)


def test_law_many_small_pure_queries_are_cheaper_in_rho() -> None:
    """1,000 queries of 0.01 at delta = 1e-6: 10 as a pure sum; the best accountant says 1.36545."""
    reported = ZCDP.epsilon(1000 * ZCDP.amount(PureCost(Fraction(1, 100))), MILLIONTH)
    assert 1.36545 < reported < 1.71226  # never below the optimum, below strong composition


def test_theorem_ZCDP_FILTER_more_noise_never_costs_more() -> None:
    amounts = [ZCDP.amount(GaussianCost(1 / Fraction(sigma) ** 2)) for sigma in (1, 2, 3, 50, 10**8, 10**12)]
    assert all(more >= less for more, less in pairwise(amounts))
    assert amounts[-1] == 1  # nothing is free


def test_theorem_ZCDP_FILTER_refuses_what_it_cannot_price() -> None:
    with pytest.raises(InvalidRequest, match="delta > 0"):
        ZCDP.allowed(Guarantee(Fraction(1), Fraction(0)))
