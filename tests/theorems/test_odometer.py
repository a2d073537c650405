"""The odometer against an analyst who stops at the best moment, and what was shown in its place before."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise
from random import Random

import pytest
from best_stopping import delta_of_coins, delta_of_gaussians
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.accounting.odometer import ZcdpOdometer
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import accounting_named, zcdp
from adyton.kernel.exact import UNITS_PER_ONE, units_up
from adyton.kernel.privacy import Guarantee, PrivacyUnit, PureCost
from adyton.kernel.schema import BooleanColumn, Table
from adyton.planning.odometer import read_odometer
from adyton.study import Study, discovery_failure

TENTH = Fraction(1, 10)
TABLE = Table("t", (BooleanColumn("smoker"),), rows=1000)


def study(accounting: str, delta: str, epsilon: str = "1", discovery_delta: str = "0") -> Study:
    budget = Guarantee(Fraction(epsilon), Fraction(delta))
    keys = Fraction(discovery_delta)
    return Study(TABLE, PrivacyUnit("replace-one"), budget, accounting=accounting, discovery_delta=keys)


def geometric(known: Study, queries: int, ratio: float) -> list[int]:
    """Totals in units, each ``ratio`` times the one before, the last of them all that is allowed."""
    return [int(known.allowed / ratio ** (queries - 1 - i)) for i in range(queries)]


def true_delta(known: Study, totals: list[int], shown: list[float]) -> float:
    """As a multiple of the study's delta; releases are Gaussian, mu**2 = 2 rho."""
    times = 1 if known.accounting == "gdp" else 2
    return delta_of_gaussians([times * t / UNITS_PER_ONE for t in totals], shown) / float(known.budget.delta)


# The reading of a study ------------------------------------------------------------------------------------


@pytest.mark.parametrize("accounting", ["gdp", "zcdp"])
@pytest.mark.parametrize("delta", ["1e-6", "1e-9"])
@pytest.mark.parametrize(("epsilon", "queries", "ratio"), [("1", 12, 2), ("4", 12, 2), ("0.1", 40, 1.2)])
def test_theorem_ZCDP_ODOMETER_holds_against_best_stopping(
    accounting: str, delta: str, epsilon: str, queries: int, ratio: float
) -> None:
    """Mutants that fail: slopes that do not share delta, half of rho, the best slope at every moment."""
    known = study(accounting, delta, epsilon)
    totals = geometric(known, queries, ratio)
    shown = [read_odometer(known, spent).epsilon for spent in totals]
    assert true_delta(known, totals, shown) <= 0.99


@pytest.mark.parametrize(
    ("accounting", "delta", "times"), [("gdp", "1e-6", 9), ("gdp", "1e-9", 11), ("zcdp", "1e-6", 2.4)]
)
def test_a_running_epsilon_from_the_filter_is_no_guarantee(accounting: str, delta: str, times: float) -> None:
    """Twelve queries at geometric prices, and stopping at the best moment: delta is far above the one shown."""
    known = study(accounting, delta)
    totals = geometric(known, 12, 2)
    shown = [known.epsilon_of(spent) for spent in totals]
    assert true_delta(known, totals, shown) > times


def test_the_oracle_agrees_with_the_exact_delta_if_nobody_chooses_moments() -> None:
    """The oracle agrees with the exact delta where nobody can choose the moment."""
    known = study("gdp", "1e-6")
    for fineness in (4, 8, 16):
        total = known.allowed / UNITS_PER_ONE
        assert delta_of_gaussians([total], [1.0], fineness * 30) == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize("mutant", ["no shares of delta", "half of rho", "a slope chosen afterwards"])
def test_theorem_ZCDP_ODOMETER_the_test_would_see_a_wrong_odometer(mutant: str) -> None:
    known = study("gdp", "1e-6")
    totals = geometric(known, 12, 2)
    right = ZcdpOdometer.up_to(Fraction(known.allowed, 2 * UNITS_PER_ONE), known.budget.delta, 5)

    def wrong(rho: float) -> float:
        if mutant == "a slope chosen afterwards":
            return zcdp.epsilon_up(rho, 1e-6)
        share = 1e-6 if mutant == "no shares of delta" else 1e-6 / 6
        rho /= 2 if mutant == "half of rho" else 1
        return min(zcdp.epsilon_at(slope, rho, share) for slope in right.slopes)

    shown = [wrong(spent / 2 / UNITS_PER_ONE) for spent in totals]
    assert true_delta(known, totals, shown) > 1


def test_theorem_ZCDP_ODOMETER_the_reading_follows_from_public_facts() -> None:
    """The reading follows from public facts and grows."""
    for accounting in ("gdp", "zcdp"):
        known = study(accounting, "1e-9")
        readings = [read_odometer(known, known.allowed * i // 1000) for i in (0, 1, 10, 100, 500, 1000)]
        assert readings[0].epsilon == 0
        assert all(a.epsilon < b.epsilon for a, b in pairwise(readings))
        assert {r.delta for r in readings} == {1e-9}
        assert 1 < readings[-1].epsilon < 1.2  # above the budget's: then the budget is the better guarantee
        assert readings[2].epsilon < 0.13  # useful early, too


def test_theorem_ZCDP_ODOMETER_discovered_groups_are_paid_for() -> None:
    """A key of one person is shown with probability f at most, which is the rest of the study's delta."""
    known = study("gdp", "1e-4", discovery_delta="5e-5")
    bare = Study(TABLE, PrivacyUnit("replace-one"), Guarantee(Fraction(1), known.noise_delta))
    assert known.allowed == bare.allowed
    reading, without = read_odometer(known, known.allowed // 3), read_odometer(bare, bare.allowed // 3)
    assert reading.epsilon == without.epsilon > 0
    assert without.delta == 5e-5
    assert reading.delta == 1e-4 >= float(known.noise_delta + discovery_failure(known))


def test_theorem_PURE_FILTER_the_total_is_its_own_odometer() -> None:
    """Every transcript, stopped anywhere, has a loss of at most what was spent on it."""
    known = study("pure", "0")
    assert read_odometer(known, known.allowed // 4).to_json() == {
        "epsilon": 0.25,
        "delta": 0.0,
        "theorem": "PURE-FILTER",
    }
    assert delta_of_coins(0.1, [0.1 * n for n in range(11)]) < 1e-15
    assert delta_of_coins(0.1, [0.099 * n for n in range(11)]) > 1e-4


def test_theorem_PURE_FILTER_keys_found_have_their_delta_in_a_pure_study() -> None:
    """All of its delta is for them: a total with delta 0 would guarantee that no own key is ever shown."""
    known = study("pure", "1e-4", discovery_delta="1e-4")
    reading = read_odometer(known, known.allowed // 4)
    assert (reading.epsilon, reading.delta) == (0.25, 1e-4)
    assert Fraction(repr(reading.delta)) >= discovery_failure(known)


def test_an_odometer_of_the_smallest_delta_can_be_read() -> None:
    known = study("gdp", "1e-299")
    assert 1 < read_odometer(known, known.allowed).epsilon < 1.1


# The odometer itself ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon0", "steps"), [("0.02", 3000), ("0.1", 1500), ("0.5", 400), ("1.5", 100)])
@pytest.mark.parametrize("octaves", [0, 2])
@pytest.mark.parametrize("delta", ["0.3", "0.01"])
def test_theorem_ZCDP_ODOMETER_holds_for_randomized_responses(
    epsilon0: str, steps: int, octaves: int, delta: str
) -> None:
    amount = units_up(PureCost(Fraction(epsilon0)).zcdp)
    odometer = ZcdpOdometer.up_to(steps * Fraction(amount, UNITS_PER_ONE) / 4, delta, octaves)
    shown = [odometer.epsilon(n * amount) for n in range(steps + 1)]
    assert delta_of_coins(float(epsilon0), shown) <= float(delta)


def test_theorem_ZCDP_ODOMETER_adaptive_prices_and_stopping() -> None:
    """10,000 analysts who raise or lower the price after each answer and stop when the loss looks worst.

    Of each the win (1 - exp(reading - loss))_+ is between 0 and 1 and its mean at most delta = 1/20; by Hoeffding's
    inequality a sum of 500 + 284 has probability below 1e-6.
    """
    random, odometer = Random(17), ZcdpOdometer.up_to(Fraction(1, 2), Fraction(1, 20), 1)
    wins, reading, charged = 0.0, cache(odometer.epsilon), cache(lambda price: units_up(PureCost(price).zcdp))
    for _ in range(10_000):
        spent, loss, price = 0, 0.0, Fraction(1, 5)
        for _ in range(12):
            spent += charged(price)
            honest = random.random() < 1 / (1 + math.exp(-price))
            loss += float(price) if honest else -float(price)
            if loss > reading(spent):
                wins += -math.expm1(reading(spent) - loss)
                break
            price = Fraction(4, 5) if honest else Fraction(1, 10)
    assert wins < 784


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 10**20), st.floats(-9, -1).map(lambda x: Fraction(10**x)), st.integers(0, 3))
def test_theorem_ZCDP_ODOMETER_rounds_up_and_grows(spent: int, delta: Fraction, octaves: int) -> None:
    odometer = ZcdpOdometer.up_to(TENTH, delta, octaves)
    rho, log_share = spent / UNITS_PER_ONE, math.log(len(odometer.slopes) / delta)
    lines = [(1 + s) * rho + (log_share - math.log1p(s)) / s - math.log1p(1 / s) for s in odometer.slopes]
    near = max(0.0, min(lines))
    assert near * (1 - 1e-12) - 1e-12 <= odometer.epsilon(spent) <= near * (1 + 1e-12) + 1e-12
    assert odometer.epsilon(spent + 10**18) > odometer.epsilon(spent)


def test_law_an_odometer_of_one_slope_is_the_filter_where_it_was_set() -> None:
    rho, delta = TENTH, Fraction(1, 10**6)
    at_its_best = ZcdpOdometer.up_to(rho, delta).epsilon(units_up(rho))
    assert at_its_best == pytest.approx(accounting_named("zcdp").epsilon(units_up(rho), delta), rel=1e-9)
    assert ZcdpOdometer.up_to(rho, delta).epsilon(0) == 0


def test_law_impossible_odometers_are_refused() -> None:
    for delta, slopes in (
        (Fraction(0), (0.1,)),
        (Fraction(1), (0.1,)),
        (TENTH, ()),
        (TENTH, (0.0,)),
        (Fraction(1, 10**400), (0.1,)),
        (Fraction(1, 10**300), (0.1, 0.1)),
    ):
        with pytest.raises(InvalidRequest):
            ZcdpOdometer(delta, slopes)
    with pytest.raises(InvalidRequest):
        ZcdpOdometer(TENTH, (0.1,)).epsilon(-1)
