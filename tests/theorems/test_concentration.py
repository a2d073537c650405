"""Concentration of averages, against exact binomial laws."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from adyton.errors import InvalidRequest
from adyton.kernel.exact.outward import log_up
from adyton.validity.binomial import exact_interval, exact_width
from adyton.validity.plans.expected import Expected
from adyton.validity.splitting import exact_splitting_width, expected_splitting_width, splitting_width
from adyton.validity.textbook.concentration import (
    chebyshev_rows,
    chebyshev_tail,
    chernoff_tail,
    exp_up,
    hoeffding_rows,
    hoeffding_tail,
    hoeffding_width,
    markov_tail,
    mcdiarmid_tail,
)

rows = st.integers(1, 400)
shares = st.floats(0.001, 0.999)
small = st.floats(0.001, 0.5)


def tail(n: int, p: float, deviation: float) -> float:
    """Pr[|X/n - p| >= deviation] for a binomial X, exactly."""
    low, high = math.floor(n * (p - deviation) + 1e-9), math.ceil(n * (p + deviation) - 1e-9)
    return float(binom.cdf(low, n, p) + binom.sf(high - 1, n, p))


@settings(max_examples=100)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 60))
def test_theorem_MARKOV_holds_for_every_sample(values: list[int], threshold: int) -> None:
    mean = Fraction(sum(values), len(values))
    assert Fraction(sum(v >= threshold for v in values), len(values)) <= markov_tail(mean, threshold)


def test_theorem_MARKOV_is_attained() -> None:
    assert markov_tail(Fraction(1, 4), 1) == Fraction(1, 4)


@settings(max_examples=100)
@given(rows, shares, small)
def test_theorem_CHEBYSHEV_and_HOEFFDING_hold_for_every_coin(n: int, p: float, deviation: float) -> None:
    true = tail(n, p, deviation)
    assert true <= float(chebyshev_tail(Fraction(p) * (1 - Fraction(p)) / n, deviation)) + 1e-12
    assert true <= float(chebyshev_tail(Fraction(1, 4 * n), deviation)) + 1e-12
    assert true <= hoeffding_tail(n, deviation) + 1e-12


@settings(max_examples=100)
@given(rows, shares, small)
def test_theorem_HOEFFDING_by_relative_entropy_is_sharper(n: int, p: float, deviation: float) -> None:
    observed = p + deviation
    if observed < 1:
        true = float(binom.sf(math.ceil(n * observed - 1e-9) - 1, n, p))
        assert true <= chernoff_tail(n, p, observed) + 1e-12
        assert chernoff_tail(n, p, observed) <= hoeffding_tail(n, deviation, sides=1) * (1 + 1e-9)


def test_theorem_CHEBYSHEV_rows_of_the_seed() -> None:
    assert chebyshev_rows("0.01", "0.01") == 250_000
    assert chebyshev_tail(Fraction(1, 4 * 250_000), "0.01") == Fraction(1, 100)


def test_theorem_HOEFFDING_rows_of_the_seed() -> None:
    assert hoeffding_rows("0.01", "0.01") == 26_492
    assert hoeffding_tail(26_492, "0.01") <= 0.01 < hoeffding_tail(26_491, "0.01")
    assert hoeffding_width(26_492, "0.01") <= 0.01 < hoeffding_width(26_491, "0.01")


def test_theorem_HOEFFDING_a_tail_too_small_for_a_float_is_not_impossible() -> None:
    """exp(-2 n t**2) with an exponent of 16 million: rounded up it is a small number, and never 0."""
    assert 0 < hoeffding_tail(10**7, "0.9") < 1e-300
    assert 0 < chernoff_tail(10**6, "0.1", "0.9") < 1e-300
    assert 0 < mcdiarmid_tail([Fraction(1, 10**6)] * 4, 1) < 1e-300
    with mpmath.workdps(40):
        for exponent in (1, 30, 300, 699, 700):
            assert exp_up(Fraction(exponent)) >= mpmath.exp(-exponent)
    assert chernoff_tail(5, "0.1", 2) == 0  # an average above 1 is impossible


@settings(max_examples=60)
@given(st.lists(st.floats(0, 3), min_size=1, max_size=8), st.floats(0.01, 5))
def test_theorem_MCDIARMID_holds_for_weighted_coins(weights: list[float], deviation: float) -> None:
    """f = sum of w_i x_i over fair coins: all 2**n outcomes."""
    if sum(w * w for w in weights) < 1e-9:
        return
    bits = (np.arange(2 ** len(weights))[:, None] >> np.arange(len(weights))) & 1
    value = bits @ np.array(weights)
    true = float(np.mean(np.abs(value - value.mean()) >= deviation + 1e-9))
    assert true <= mcdiarmid_tail([Fraction(w) for w in weights], deviation) + 1e-12


def test_theorem_MCDIARMID_of_a_mean_is_hoeffding() -> None:
    assert mcdiarmid_tail([Fraction(1, 50)] * 50, "0.1") == pytest.approx(hoeffding_tail(50, "0.1"))
    assert mcdiarmid_tail([0], 1) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.floats(0.001, 0.5))
def test_theorem_EXACT_BINOMIAL_covers_every_probability(n: int, failure: float) -> None:
    counts = np.arange(n + 1)
    ends = np.array([exact_interval(x, n, failure) for x in range(n + 1)])
    tried = np.concatenate([np.linspace(0, 1, 41), ends.ravel()])[:, None]
    outside = (tried < ends[:, 0]) | (tried > ends[:, 1])
    missed = (binom.pmf(counts, n, tried) * outside).sum(axis=1)
    assert missed.max() <= failure * (1 + 1e-7)


def test_theorem_EXACT_BINOMIAL_known_interval() -> None:
    """0 of n: 1 - (failure/2)**(1/n); and the interval is not much wider than it must be."""
    assert exact_interval(0, 10, "0.05") == (0, pytest.approx(1 - 0.025**0.1, rel=1e-8))
    assert exact_interval(10, 10, "0.05")[1] == 1
    low, high = exact_interval(30, 100, "0.05")
    assert float(binom.sf(29, 100, low)) == pytest.approx(0.025, rel=1e-6)
    assert float(binom.cdf(30, 100, high)) == pytest.approx(0.025, rel=1e-6)
    with pytest.raises(InvalidRequest):
        exact_interval(11, 10, "0.05")


@settings(max_examples=25, deadline=None)
@given(st.integers(20, 300), st.integers(1, 10), st.floats(0.01, 0.3))
def test_theorem_SAMPLE_SPLITTING_every_coin(n: int, queries: int, failure: float) -> None:
    plain = splitting_width(n, queries, failure)
    exact = exact_splitting_width(n, queries, failure)
    assert plain is not None
    assert exact is not None
    for p in np.linspace(0.02, 0.98, 25):
        for width in (plain, exact):
            assert queries * tail(n // queries, float(p), width + 1e-9) <= failure * (1 + 1e-7)


def test_theorem_SAMPLE_SPLITTING_published_widths() -> None:
    found = [splitting_width(10**5, 50, "0.05"), splitting_width(10**6, 1000, "0.05")]
    assert [round(w, 5) for w in found if w] == [0.04359, 0.07279]
    assert splitting_width(10, 11, "0.05") is None
    exact = exact_splitting_width(10**4, 10, "0.05")
    hoeffding = splitting_width(10**4, 10, "0.05")
    assert exact is not None
    assert hoeffding is not None
    assert exact < hoeffding


@pytest.mark.parametrize("trials", [1, 3, 60, 499, 501, 900, 2500])
@pytest.mark.parametrize("share", [None, "0.3", "0.02"])
def test_theorem_EXACT_BINOMIAL_longest_arm_of_all_counts(trials: int, share: str | None) -> None:
    """Found by stretches, against every count: never less, and at most a ten-thousandth more."""
    most = float(share or 1)
    ends = [exact_interval(x, trials, "0.01") for x in range(trials + 1)]
    arms = [x / trials - low for x, (low, _) in enumerate(ends) if low <= most]
    arms += [min(high, most) - x / trials for x, (_, high) in enumerate(ends)]
    assert max(arms) <= exact_width(trials, "0.01", share) <= 1.0003 * max(arms)


@pytest.mark.parametrize("trials", [20_001, 10**6, 10**9])
@pytest.mark.parametrize("share", [None, "0.3", "0.02", "0.0001"])
def test_theorem_EXACT_BINOMIAL_many_trials(trials: int, share: str | None) -> None:
    """By the tails of the binomial law itself, for many probabilities up to the share."""
    width, failure = exact_width(trials, "0.001", share), 0.001
    shorter = 0.0
    for p in np.linspace(0, float(share or 0.5), 41)[1:]:
        beyond = float(binom.sf(math.floor(trials * (p + width)), trials, p))
        below = float(binom.cdf(math.ceil(trials * (p - width)) - 1, trials, p))
        assert beyond + below <= failure
        shorter = float(binom.sf(math.floor(trials * (p + 0.9 * width)), trials, p))
    assert shorter > failure / 2 or trials * float(share or 0.5) < 100  # and it is not much too long


def test_theorem_SAMPLE_SPLITTING_of_what_is_expected() -> None:
    """Chernoff's bound, for coins exactly: as rare as expected, and of groups of the expected share."""
    for share in (0.5, 0.05):
        width = expected_splitting_width(1000, 5, "0.05", Expected.of(share=Fraction(share)))
        assert width is not None
        assert 5 * tail(200, share, width) <= 0.05
        grouped = expected_splitting_width(1000, 5, "0.05", Expected.of(share=Fraction(share), group="0.2"))
        assert grouped is not None
        counts, missed = np.arange(201), 0.0
        for size in counts:
            gaps = np.abs(np.arange(size + 1) - share * size)
            beyond = gaps > 0.2 * 200 * grouped
            inside = binom.pmf(np.arange(size + 1), size, share)
            missed += float(binom.pmf(size, 200, 0.2)) * float(inside[beyond].sum())
        assert 5 * missed <= 0.05
    assert expected_splitting_width(3, 5, "0.05", Expected.of(share="0.5")) is None


@settings(max_examples=80)
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6), st.integers(0, 5000))
def test_logarithms_of_any_size_are_rounded_up(value: Fraction, power: int) -> None:
    exact = math.log(value.numerator) - math.log(value.denominator) + power * math.log(2)
    assert exact - 1e-9 <= log_up(value * 2**power) <= exact + 1e-9


def test_logarithms_of_long_fractions_near_one_are_rounded_up() -> None:
    """Two logarithms of about 690 cancel.  Mutant: a margin of the difference alone."""
    exact = mpmath.mp.clone()
    exact.dps = 400
    for k in range(1, 60):
        value = Fraction(10**300 + 10**290 * k + 7, 10**300 + 3)
        truth = exact.log(exact.mpf(value.numerator) / value.denominator)
        assert truth < log_up(value) < truth + 1e-10
