"""The pure filter: likelihood ratios multiply, and a guarantee in decimals is spent exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import PureAccounting
from adyton.kernel.exact import UNITS_PER_ONE, float_up
from adyton.kernel.privacy import GaussianCost, Guarantee, PureCost

PURE = PureAccounting()

# Odds are exp(epsilon): with whole odds, every likelihood ratio below is an exact rational number.
odds = st.integers(1, 9)


def likelihood(bit: bool, answers: tuple[bool, ...], first: int, after: dict[bool, int]) -> Fraction:
    """Two randomized responses about ``bit``; the odds of the second depend on the first answer."""
    total = Fraction(1)
    for answer, chance in zip(answers, (first, after[answers[0]]), strict=True):
        total *= Fraction(chance if answer == bit else 1, chance + 1)
    return total


@pytest.mark.literature
@settings(deadline=None, max_examples=150)
@given(odds, odds, odds)
def test_theorem_PURE_FILTER_adaptive_randomized_response(first: int, yes: int, no: int) -> None:
    after = {True: yes, False: no}
    limit = first * max(after.values())  # exp of the largest total that any transcript reaches
    for answers in product([True, False], repeat=2):
        ratio = likelihood(True, answers, first, after) / likelihood(False, answers, first, after)
        assert Fraction(1, limit) <= ratio <= limit


@pytest.mark.literature
def test_theorem_PURE_FILTER_the_test_would_see_a_wrong_filter() -> None:
    """A filter that counts the mean instead of the worst of the two later prices is refuted."""
    after = {True: 9, False: 1}
    ratio = likelihood(True, (True, True), 3, after) / likelihood(False, (True, True), 3, after)
    assert ratio == 27 > 3 * 5


@pytest.mark.parametrize("limit", ["0.1", "1", "2.7", "0.000001", "500"])
def test_theorem_PURE_FILTER_ten_tenths_fit_exactly(limit: str) -> None:
    allowed = PURE.allowed(Guarantee(Fraction(limit), Fraction(0)))
    assert 10 * PURE.amount(PureCost(Fraction(limit) / 10)) == allowed
    assert PURE.epsilon(allowed, Fraction(0)) == float_up(Fraction(limit))


def test_theorem_PURE_FILTER_thirds_are_rounded_against_the_analyst() -> None:
    """Three thirds, each rounded up, do not fit into one: the ledger is never below the truth."""
    allowed = PURE.allowed(Guarantee(Fraction(1), Fraction(0)))
    assert 3 * PURE.amount(PureCost(Fraction(1, 3))) == allowed + 2


def test_theorem_PURE_FILTER_adaptive_prices_never_pass_the_limit() -> None:
    random, budget = Random(19), PURE.allowed(Guarantee(Fraction(1), Fraction(0)))
    for _ in range(2000):
        spent, true = 0, Fraction(0)
        for _ in range(8):
            price = Fraction(random.randrange(1, 10**6), 3 * 10**6 if spent % 2 else 10**6)
            amount = PURE.amount(PureCost(price))
            if spent + amount <= budget:
                spent, true = spent + amount, true + price
        assert true * UNITS_PER_ONE <= spent <= budget == UNITS_PER_ONE


def test_theorem_PURE_FILTER_refuses_what_it_cannot_price() -> None:
    with pytest.raises(InvalidRequest, match="no pure epsilon"):
        PURE.amount(GaussianCost(Fraction(1)))
    with pytest.raises(InvalidRequest, match="a pure study has delta = 0"):
        PURE.allowed(Guarantee(Fraction(1), Fraction(1, 10)))
