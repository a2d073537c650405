"""The auditor's own guarantees: its bounds, how often it cries wolf, and what it is able to find."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from adyton.audit import audit, audit_gdp
from adyton.audit.events import find
from adyton.audit.judge import (
    FINALISTS,
    as_rare_as,
    detectable,
    epsilon_of,
    judge,
    mu_of,
    randomized_response,
    share,
)
from adyton.audit.outputs import read
from adyton.validity.binomial import greatest_probability, least_probability


def rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def geometric(dice: np.random.Generator, epsilon: float) -> Callable[[int, int], np.ndarray]:
    p = 1 - math.exp(-epsilon)
    return lambda x, n: x + dice.geometric(p, n) - dice.geometric(p, n)


def test_theorem_AUDIT_LOWER_BOUND_shares_the_failure_among_all_bounds() -> None:
    """Two bounds for each finalist, and never more finalists than the share is made for."""
    assert 2 * FINALISTS * share(0.999) == pytest.approx(0.001)
    dice = rng(0)
    outputs = read(dice.normal(size=(2000, 3)), dice.normal(size=(2000, 3)))
    assert len(find(*outputs, mu_of, 1e-3)) == FINALISTS


# Bounds from counts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [1, 2, 7, 40, 400])
@pytest.mark.parametrize("failure", [0.3, 0.01, 1e-4, 1e-9])
def test_theorem_EXACT_BINOMIAL_one_side_covers_every_probability(trials: int, failure: float) -> None:
    """By enumeration of all counts: wrong with at most the stated probability, for every p on a fine grid."""
    counts = np.arange(trials + 1)
    low = np.array([least_probability(int(k), trials, failure) for k in counts])
    high = np.array([greatest_probability(int(k), trials, failure) for k in counts])
    grid = np.unique(
        np.concatenate(
            [np.linspace(0, 1, 301), low, low * (1 - 1e-9), high, np.minimum(1, high * (1 + 1e-9))]
        )
    )
    mass = binom.pmf(counts, trials, grid[:, None])
    assert np.where(low > grid[:, None], mass, 0.0).sum(axis=1).max() <= failure * (1 + 1e-6)
    assert np.where(high < grid[:, None], mass, 0.0).sum(axis=1).max() <= failure * (1 + 1e-6)


@pytest.mark.parametrize("trials", [10, 1000, 10**5, 10**7])
@pytest.mark.parametrize("failure", [1e-2, 1e-4, 1e-9])
def test_theorem_EXACT_BINOMIAL_one_side_near_one(trials: int, failure: float) -> None:
    """Where 1 - p is a few steps of a float: all but one succeeded, which is at most n (1 - p) likely, and all did.

    Mutant that fails here: ends are not moved by steps of a float.
    """
    missed = 1 - Fraction(float(greatest_probability(trials - 1, trials, failure)))
    with mpmath.workdps(60):
        failures = -mpmath.expm1(trials * mpmath.log1p(-mpmath.mpf(missed.numerator) / missed.denominator))
        assert failures <= failure
        assert mpmath.mpf(float(least_probability(trials, trials, failure))) ** trials <= failure


def test_theorem_EXACT_BINOMIAL_one_side_ends_are_tight_and_accurate() -> None:
    """At its own end the count is exactly as unlikely as it may be; scipy's inverse is far inside the margin."""
    for trials, k, failure in (
        (100_000, 3, 1e-4),
        (500_000, 250_000, 1e-4),
        (10**6, 999_000, 1e-7),
        (30, 1, 1e-12),
    ):
        low, high = least_probability(k, trials, failure), greatest_probability(k, trials, failure)
        assert binom.sf(k - 1, trials, low) == pytest.approx(failure, rel=1e-3)
        assert binom.cdf(k, trials, high) == pytest.approx(failure, rel=1e-3)


def test_the_losses_are_what_the_definitions_say() -> None:
    assert epsilon_of(0.5, 0.25, 0.0) == pytest.approx(math.log(2))
    assert epsilon_of(0.5, 0.25, 0.25) == pytest.approx(0)
    assert epsilon_of(0.1, 0.25, 0.2) == -math.inf
    assert mu_of(0.5, 0.5) == pytest.approx(0)
    assert mu_of(0.8413447460685429, 0.5) == pytest.approx(1)


# False alarms ------------------------------------------------------------------------------------------------
#
# Each test runs many audits of a true claim at a low confidence, so that a broken auditor shows.  If the stated rate
# is kept, the allowed number of alarms is passed with probability at most 1e-9 (and the seeds are fixed).

RUNS = 60
CONFIDENCE = 0.9
MOST = int(binom.ppf(1 - 1e-9, RUNS, 1 - CONFIDENCE))


def alarms(mechanism: Callable[[np.random.Generator], Any], pair: Any, claim: Any, samples: int = 400) -> int:
    found = 0
    for seed in range(RUNS):
        verdict = audit(mechanism(rng(seed)), pair, claim, samples=samples, confidence=CONFIDENCE)
        found += verdict.refuted
    return found


def test_theorem_AUDIT_LOWER_BOUND_on_a_claim_that_is_attained() -> None:
    assert alarms(lambda dice: geometric(dice, 1.0), (0, 1), 1.0) <= MOST


def test_theorem_AUDIT_LOWER_BOUND_on_noise_that_says_nothing() -> None:
    """The same law on both inputs, and a million events to fool oneself with: epsilon is 0."""
    assert alarms(lambda dice: lambda x, n: dice.integers(0, 300, (n, 3)), (0, 1), 0.0) <= MOST


def test_theorem_AUDIT_LOWER_BOUND_with_a_delta_that_is_attained() -> None:
    assert alarms(lambda dice: lambda x, n: x + dice.integers(0, 21, n), (0, 1), (0.0, 1 / 21)) <= MOST


def test_theorem_AUDIT_TRADE_OFF_on_a_claim_that_is_attained() -> None:
    found = 0
    for seed in range(RUNS):
        dice = rng(seed)
        verdict = audit_gdp(
            lambda x, n, dice=dice: np.rint(x + dice.normal(0, 4, n)),
            (0, 4),
            1.0,
            samples=400,
            confidence=CONFIDENCE,
            vectorised=True,
        )
        found += verdict.refuted
    assert found <= MOST


def test_an_auditor_that_judged_on_what_it_learned_from_would_be_caught() -> None:
    """The calibration has teeth: events found and judged on one half make an alarm nearly every time."""
    found = 0
    for seed in range(RUNS):
        dice = rng(seed)
        first, second = read(dice.integers(0, 300, (200, 3)), dice.integers(0, 300, (200, 3)))
        half, failure = 100, share(CONFIDENCE)
        loss = lambda p, q: epsilon_of(p, q, 0.0)  # noqa: E731
        bounds = []
        for event in find(first, second, loss, failure):
            parts = first.part(0, half), second.part(0, half)  # the part that learned
            counts = event.count(parts[event.numerator]), event.count(parts[1 - event.numerator])
            bounds.append(judge("", 0, counts, half, failure, loss).bound)
        found += max(bounds) > 0
    assert found > MOST


# Power -------------------------------------------------------------------------------------------------------


def test_theorem_AUDIT_POWER_finds_1_2_against_1_0_with_200_000_samples() -> None:
    for seed in range(5):
        assert audit(geometric(rng(seed), 1.2), (0, 1), 1.0, samples=200_000).refuted


def test_theorem_AUDIT_POWER_is_kept_by_randomized_response() -> None:
    """At the stated epsilon the audit finds it in at least 95 of 100 runs; 80 would be a 1e-8 event."""
    samples, claimed = 2_000, 1.0
    true = detectable(
        randomized_response(0.0), claimed, samples // 2, share(0.999), lambda p, q: epsilon_of(p, q, 0.0)
    )
    assert true is not None
    assert 1.2 < true < 2
    honest = 1 / (1 + math.exp(-true))
    found = 0
    for seed in range(100):
        dice = rng(seed)
        verdict = audit(
            lambda bit, n, dice=dice: np.where(dice.random(n) < honest, bit, 1 - bit),
            (0, 1),
            claimed,
            samples=samples,
            vectorised=True,
        )
        found += verdict.refuted
    assert found >= 80
    assert verdict.power.epsilon == true


@pytest.mark.parametrize(
    ("claimed", "trials", "delta"), [(1.0, 300, 0.0), (1.0, 1000, 0.05), (0.1, 1000, 0.0), (0.1, 1000, 0.05)]
)
def test_theorem_AUDIT_POWER_is_kept_by_the_exact_law_of_both_counts(
    claimed: float, trials: int, delta: float
) -> None:
    """All pairs of counts: at the stated epsilon those that refute have a probability of at least 0.95."""
    failure = share(0.999)
    true = detectable(
        randomized_response(delta), claimed, trials, failure, lambda p, q: epsilon_of(p, q, delta)
    )
    assert true is not None
    likely, unlikely = randomized_response(delta)(true)
    counts = np.arange(trials + 1)
    low = np.array([least_probability(int(k), trials, failure) for k in counts])
    high = np.array([greatest_probability(int(k), trials, failure) for k in counts])
    refutes = epsilon_of(low[:, None], high[None, :], delta) > claimed
    law = np.outer(binom.pmf(counts, trials, likely), binom.pmf(counts, trials, unlikely))
    assert 0.95 <= float(law[refutes].sum()) < 0.999  # and the epsilon is not far larger than needed


def test_theorem_AUDIT_POWER_grows_with_samples_and_falls_with_rarity() -> None:
    def least(trials: int, unlikely: float) -> float:
        loss = lambda p, q: epsilon_of(p, q, 0.01)  # noqa: E731
        return detectable(as_rare_as(unlikely, 0.01), 1.0, trials, 1e-4, loss) or math.inf

    assert least(10**6, 0.1) < least(10**5, 0.1) < least(10**4, 0.1)
    assert least(10**5, 0.1) < least(10**5, 0.01) < least(10**5, 0.001)
    assert least(10, 0.1) == math.inf  # ten samples find nothing at all
