"""The odometer against an analyst who may stop at the worst moment: the exact law of a random walk."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.accounting.odometer import ZcdpOdometer
from adyton.errors import InvalidRequest
from adyton.exact import UNITS_PER_ONE, units_up
from adyton.privacy import PureCost

TENTH = Fraction(1, 10)


def ever_above(epsilon0: float, steps: int, line: Callable[[int], float]) -> float:
    """P(loss after n > line(n) for some n <= steps) for randomized responses of epsilon0, exactly, by recursion."""
    true = 1 / (1 + math.exp(-epsilon0))
    alive, crossed = np.array([1.0]), 0.0  # alive[j]: j truths so far and never above
    for n in range(1, steps + 1):
        moved = np.zeros(n + 1)
        moved[1:] += true * alive
        moved[:-1] += (1 - true) * alive
        above = (2 * np.arange(n + 1) - n) * epsilon0 > line(n)
        crossed += float(moved[above].sum())
        alive = np.where(above, 0.0, moved)
    return crossed


@pytest.mark.parametrize(("epsilon0", "steps"), [("0.02", 3000), ("0.1", 1500), ("0.5", 400), ("1.5", 100)])
@pytest.mark.parametrize("octaves", [0, 2])
@pytest.mark.parametrize("delta", ["0.3", "0.01"])
def test_theorem_ZCDP_ODOMETER_holds_at_all_times_at_once(
    epsilon0: str, steps: int, octaves: int, delta: str
) -> None:
    amount = units_up(PureCost(Fraction(epsilon0)).zcdp)
    odometer = ZcdpOdometer.around(steps * Fraction(amount, UNITS_PER_ONE) / 4, delta, octaves)
    assert ever_above(float(epsilon0), steps, lambda n: odometer.epsilon(n * amount)) <= float(delta)


def test_theorem_ZCDP_ODOMETER_a_slope_chosen_afterwards_is_no_odometer() -> None:
    """rho + 2 sqrt(rho ln(1/delta)), the best slope at every time without paying for it, is crossed too often."""
    rho, delta = float(PureCost(TENTH).zcdp), 0.3
    assert ever_above(0.1, 4000, lambda n: n * rho + 2 * math.sqrt(n * rho * math.log(1 / delta))) > delta


@pytest.mark.parametrize("mutant", ["no ln", "no drift", "half rho"])
def test_theorem_ZCDP_ODOMETER_the_test_would_see_a_wrong_odometer(mutant: str) -> None:
    rho, delta = float(PureCost(TENTH).zcdp), 0.05
    slope = math.sqrt(math.log(1 / delta) / (rho * 500))

    def line(n: int) -> float:
        right = {"drift": (1 + slope) * n * rho, "start": math.log(1 / delta) / slope}
        if mutant == "no drift":
            return right["start"] + n * rho
        if mutant == "half rho":
            return (right["drift"] + right["start"]) / 2
        return right["drift"] + 1 / slope

    assert ever_above(0.1, 2000, line) > delta


def test_theorem_ZCDP_ODOMETER_adaptive_prices_and_stopping() -> None:
    """10,000 analysts who raise or lower the price after each answer and stop when the loss looks worst.

    At most delta = 1/20 of them may pass the reading; 622 or more of 10,000 would have probability 1e-7 at 500.
    """
    random, odometer = Random(17), ZcdpOdometer.around(Fraction(1, 2), Fraction(1, 20), 1)
    broken = 0
    for _ in range(10_000):
        spent, loss, price = 0, 0.0, Fraction(1, 5)
        for _ in range(12):
            spent += units_up(PureCost(price).zcdp)
            honest = random.random() < 1 / (1 + math.exp(-price))
            loss += float(price) if honest else -float(price)
            if loss > odometer.epsilon(spent):
                broken += 1
                break
            price = Fraction(4, 5) if honest else Fraction(1, 10)
    assert broken < 622


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 10**20), st.floats(-9, -1).map(lambda x: Fraction(10**x)), st.integers(0, 3))
def test_theorem_ZCDP_ODOMETER_rounds_up_and_grows(spent: int, delta: Fraction, octaves: int) -> None:
    odometer = ZcdpOdometer.around(Fraction(1, 10), delta, octaves)
    rho, share = Fraction(spent, UNITS_PER_ONE), Fraction(math.log(len(odometer.slopes) / delta))
    exact = min((1 + s) * rho + share * (1 - Fraction(1, 10**14)) / s for s in odometer.slopes)
    assert exact <= odometer.epsilon(spent) <= float(exact) * (1 + 1e-12)
    assert odometer.epsilon(spent + 10**18) > odometer.epsilon(spent)


def test_law_an_odometer_is_near_the_filter_where_it_was_set() -> None:
    rho, delta = Fraction(1, 10), Fraction(1, 10**6)
    at_its_best = ZcdpOdometer.around(rho, delta).epsilon(units_up(rho))
    assert at_its_best == pytest.approx(0.1 + 2 * math.sqrt(0.1 * math.log(1e6)), rel=1e-12)
    assert ZcdpOdometer.around(rho, delta).epsilon(0) == 0


def test_law_impossible_odometers_are_refused() -> None:
    for delta, slopes in (
        (Fraction(0), (TENTH,)),
        (Fraction(1), (TENTH,)),
        (TENTH, ()),
        (TENTH, (Fraction(0),)),
        (Fraction(1, 10**400), (TENTH,)),
        (Fraction(1, 10**300), (TENTH, TENTH)),
    ):
        with pytest.raises(InvalidRequest):
            ZcdpOdometer(delta, slopes)
    with pytest.raises(InvalidRequest):
        ZcdpOdometer(TENTH, (TENTH,)).epsilon(-1)
