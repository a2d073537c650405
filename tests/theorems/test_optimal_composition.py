"""Optimal composition against sums at 50 digits, exhaustive enumeration, and adaptive mechanisms of all kinds."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import mpmath as mp
import numpy as np
import pytest
from composition_oracle import adaptively, exp_down, hockey_stick, warner
from hypothesis import given, settings
from hypothesis import strategies as st
from pld_oracle import binary, randomized_response
from test_composition import adaptive_transcripts

from adyton.accounting.pld import mixed
from adyton.accounting.pld.losses import _rest, binomial_losses
from adyton.accounting.textbook.composition import same
from adyton.accounting.textbook.optimal import optimal, optimal_delta
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee
from literature.pld_from_below import epsilon_down

MICRO = Fraction(1, 10**6)
epsilons = st.floats(-4, 1).map(lambda x: Fraction(f"{10**x:.4g}"))


def least_epsilon(e: Fraction, k: int, delta: Fraction) -> mp.mpf:
    """Exact: delta(epsilon) is linear in exp(epsilon) between neighboring losses (k - 2 l) e."""
    with mp.workdps(60):
        x = mp.mpf(e.numerator) / e.denominator
        d = mp.mpf(delta.numerator) / delta.denominator
        p, q = mp.mpf(0), mp.mpf(0)  # mass of the losses above, under both tables
        for i in range(k + 1):
            here = (k - 2 * i) * x
            if i and p - mp.exp(here) * q > d:  # the crossing is between this loss and the one before
                break
            p += mp.binomial(k, i) * mp.exp((k - i) * x) / (1 + mp.exp(x)) ** k
            q += mp.binomial(k, i) * mp.exp(i * x) / (1 + mp.exp(x)) ** k
        return max(mp.mpf(0), mp.log((p - d) / q)) if p > d else mp.mpf(0)


@settings(deadline=None, max_examples=80)
@given(epsilons, st.integers(1, 200), st.floats(-40, -0.05).map(lambda x: Fraction(10**x)))
def test_theorem_OPTIMAL_COMPOSITION_is_the_least_epsilon_rounded_up(
    e: Fraction, k: int, delta: Fraction
) -> None:
    truth = least_epsilon(e, k, delta)
    found = optimal(same(e, k), delta)
    assert truth <= found <= truth * (1 + mp.mpf("1e-9")) + mp.mpf("1e-12") * float(k * e)


@pytest.mark.parametrize(
    ("e", "k"), [("0.3", 1), ("0.3", 7), ("1", 12), ("0.05", 300), ("4", 25), ("0.002", 2000)]
)
def test_theorem_OPTIMAL_COMPOSITION_profile_at_forty_digits(e: str, k: int) -> None:
    for share in (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99):
        epsilon = share * k * float(e)
        truth = randomized_response(Fraction(e), k, epsilon)
        found = optimal_delta(same(e, k), epsilon)
        assert truth <= found <= truth * (1 + mp.mpf("1e-8")) + mp.mpf("1e-280")


@pytest.mark.parametrize("k", range(1, 7))
def test_theorem_OPTIMAL_COMPOSITION_by_enumeration_of_all_answers(k: int) -> None:
    """All 2**k transcripts of randomized response with odds 2 to 1, as fractions."""
    p, q = adaptively(k, lambda past: warner(Fraction(2)))
    e = Fraction(math.log(2))
    for delta in (Fraction(1, 1000), Fraction(1, 20), Fraction(1, 4)):
        found = optimal(same(e, k), delta)
        assert hockey_stick(p, q, exp_down(found)) <= delta * (1 + Fraction(1, 10**9))
        if found > 0:
            assert hockey_stick(p, q, exp_down(found * (1 - 1e-8))) > delta


@pytest.mark.parametrize("delta", [MICRO, Fraction(1, 100), Fraction(1, 5), Fraction(1, 2)])
def test_theorem_OPTIMAL_COMPOSITION_covers_adaptive_transcripts(delta: Fraction) -> None:
    for prices, (p, q) in adaptive_transcripts():
        found = optimal([(Guarantee(e, Fraction(0)), 1) for e in prices], delta)
        assert hockey_stick(p, q, exp_down(found)) <= delta


@pytest.mark.parametrize("leak", [Fraction(1, 100), Fraction(1, 7)])
def test_theorem_OPTIMAL_COMPOSITION_with_deltas_is_attained(leak: Fraction) -> None:
    p, q = adaptively(3, lambda past: warner(Fraction(3), leak))
    parts = [(Guarantee(Fraction(math.log(3)), leak), 3)]
    delta = 1 - (1 - leak) ** 3 * Fraction(9, 10)
    found = optimal(parts, delta)
    assert hockey_stick(p, q, exp_down(found)) <= delta * (1 + Fraction(1, 10**9))
    assert hockey_stick(p, q, exp_down(found * (1 - 1e-7))) > delta


@pytest.mark.parametrize(
    ("e", "k", "delta"), [("1e-4", 10**6, "1e-6"), ("0.01", 10**6, "1e-6"), ("0.001", 10**6, "1e-30")]
)
def test_theorem_OPTIMAL_COMPOSITION_of_a_million(e: str, k: int, delta: str) -> None:
    """The same tail, summed at 30 digits from the largest loss down, or rather from where it matters."""
    found = optimal(same(e, k), Fraction(delta))
    with mp.workdps(30):
        x, d = mp.mpf(e), mp.mpf(delta)
        total = mp.mpf(0)
        last = int(mp.floor((k - found / x) / 2))
        for i in range(last, max(0, last - 30_000), -1):
            loss = (k - 2 * i) * x
            if loss <= found:
                continue
            if i == last or total == 0:
                log_weight = (
                    mp.loggamma(k + 1)
                    - mp.loggamma(i + 1)
                    - mp.loggamma(k - i + 1)
                    + (k - i) * x
                    - k * mp.log1p(mp.exp(x))
                )
                weight = mp.exp(log_weight)
            total += weight * -mp.expm1(found - loss)
            if weight < total * mp.mpf("1e-16"):  # and those that follow are smaller: together below 1e-11
                break
            weight *= mp.mpf(i) / (k - i + 1) * mp.exp(x)
        assert d * (1 - mp.mpf("1e-8")) <= total <= d


def test_one_in_715_suffices_for_bob() -> None:
    delta = Fraction(math.exp(-32))
    assert (
        optimal(same(Fraction(100, 71552), 10_000), delta)
        <= 1
        < optimal(same(Fraction(100, 71550), 10_000), delta)
    )


# Different epsilons ----------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-3, 0.7).map(lambda x: Fraction(f"{10**x:.4g}")), min_size=2, max_size=7, unique=True),
    st.floats(0, 0.98),
)
def test_theorem_MIXED_COMPOSITION_against_all_outcomes(prices: list[Fraction], share: float) -> None:
    epsilon = share * float(sum(prices))
    truth = binary(prices, epsilon)
    found = optimal_delta([(Guarantee(e, Fraction(0)), 1) for e in prices], epsilon)
    assert truth <= found <= truth * (1 + mp.mpf("1e-8")) + mp.mpf("1e-12") * float(sum(prices))


@pytest.mark.parametrize("seed", range(8))
def test_theorem_MIXED_COMPOSITION_on_the_grid_is_above_and_near(seed: int) -> None:
    """The grid is forced, and compared with the list of all 2**9 totals."""
    rng = Random(seed)
    prices = [Fraction(round(10 ** rng.uniform(-2, 0), 6)) for _ in range(9)]
    parts = [binomial_losses(e, 1) for e in prices]
    exact = mixed._all_totals(parts)
    reach, half = 1.05 * float(sum(prices)), 2000
    grid = mixed._on_a_grid(parts, reach, half)
    step = reach / half
    for share in np.linspace(0, 0.94, 25):
        epsilon = float(share * reach)
        below, found = exact.delta_up(epsilon), grid.delta_up(epsilon)
        assert below * (1 - 1e-9) <= found
        for eta in (1e-9, 1e-3):
            added = 9 * step**2 / 8 + step * math.sqrt(9 * math.log(1 / eta) / 2)
            if epsilon >= added:
                assert found <= exact.delta_up(epsilon - added) * (1 + 1e-9) + eta


@pytest.mark.parametrize(("e", "times"), [("0.01", 1000), ("0.001", 10_000), ("0.1", 400)])
def test_theorem_MIXED_COMPOSITION_of_nearly_equal_epsilons(e: str, times: int) -> None:
    """Two halves that differ in the ninth digit: the true answer lies between those of the two equal cases."""
    low, high = Fraction(e), Fraction(e) * (1 + Fraction(1, 10**9))
    found = optimal(
        [(Guarantee(low, Fraction(0)), times // 2), (Guarantee(high, Fraction(0)), times // 2)], MICRO
    )
    assert (
        optimal(same(low, times), MICRO) * (1 - 1e-9)
        <= found
        <= optimal(same(high, times), MICRO) * (1 + 1e-4)
    )


def test_theorem_MIXED_COMPOSITION_the_cut_off_window_is_charged() -> None:
    """With a window that cuts off what matters, delta must not fall: the rest is counted as infinite."""
    parts = [binomial_losses(Fraction(1, 10 + i), 1) for i in range(12)]
    exact = mixed._all_totals(parts)
    cut = mixed._on_a_grid(parts, 0.3, 500)
    for epsilon in (0.0, 0.1, 0.25, 0.6):
        assert cut.delta_up(epsilon) >= exact.delta_up(epsilon) * (1 - 1e-9)


def test_heavy_groups_are_quick_and_below_strong() -> None:
    from adyton.accounting.textbook.composition import strong

    heavy = [
        (Guarantee(Fraction(e), Fraction(0)), k)
        for e, k in (("0.001", 500_000), ("0.0003", 10**6), ("0.1", 7))
    ]
    assert 3.85 < optimal(heavy, MICRO) < strong(heavy, MICRO)


def test_too_many_different_epsilons_are_refused() -> None:
    many = [(Guarantee(Fraction(1, 1000 + i), Fraction(0)), 1) for i in range(mixed.MOST_GROUPS + 1)]
    with pytest.raises(InvalidRequest, match="different epsilons"):
        optimal(many, MICRO)


def test_theorem_MIXED_COMPOSITION_is_tight_beyond_the_list() -> None:
    """18 different epsilons have 262,144 totals: listed here, put on a grid there."""
    prices = [Fraction(1, 7 + 3 * i) for i in range(18)]
    exact = mixed._all_totals([binomial_losses(e, 1) for e in prices])
    for delta in (Fraction(1, 10**9), MICRO, Fraction(1, 100)):
        truth = exact.epsilon_up(float(delta), float(sum(prices)))
        found = optimal([(Guarantee(e, Fraction(0)), 1) for e in prices], delta)
        assert truth * (1 - 1e-9) <= found <= truth * (1 + 1e-4)


def test_theorem_MIXED_COMPOSITION_agrees_with_privacy_loss_distributions() -> None:
    """Two programs that share no code: both are upper bounds of the same number."""
    from adyton.accounting.pld import pld
    from adyton.accounting.pld.pairs import RandomizedResponsePair

    prices = [Fraction(round(10 ** Random(5 + i).uniform(-4, -1), 8)) for i in range(300)]
    found = optimal([(Guarantee(e, Fraction(0)), 1) for e in prices], MICRO)
    other = pld.epsilon_up([(RandomizedResponsePair(e), 1) for e in prices], 1e-6)
    assert found == pytest.approx(other, rel=3e-4)
    assert found >= epsilon_down([(RandomizedResponsePair(e), 1) for e in prices], 1e-6)


def test_theorem_OPTIMAL_COMPOSITION_the_rest_of_a_series_is_rounded_up() -> None:
    """Though the ratio of its terms is a float, 70 roundings off.  Mutant: a series up to a ratio of 1 - 1e-9."""
    for gap in np.geomspace(1e-9, 0.9, 200):
        ratio = float(1 - gap)
        truth = Fraction(ratio) * (1 + 70 * Fraction(1, 2**53))
        assert truth < 1
        assert _rest(1.0, ratio) >= truth / (1 - truth)
    assert math.isinf(_rest(1.0, 1 - 1e-6))
    assert math.isfinite(_rest(1.0, 0.999))
