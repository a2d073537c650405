"""Planted bugs, each of which somebody once shipped: the auditor finds every one of them.

The sound twin of a bug, where it is short to write, passes the same audit.  Every seed is fixed, so nothing here
depends on luck; and by AUDIT-LOWER-BOUND no sound twin would be refuted more often than once in a thousand seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adyton.audit import audit, audit_gdp
from adyton.audit.views import _above, _distinct, _place
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.grid import Grid, NoiseOnAGrid
from adyton.kernel.privacy import Guarantee
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from support.randomness import Seeded

Rng = np.random.Generator
SAMPLES = 60_000


def rng(seed: int = 1) -> Rng:
    return np.random.Generator(np.random.Philox(seed))


def two_sided(dice: Rng, scale: float, shape: Any) -> np.ndarray:
    """Two-sided geometric noise: the difference of two geometric variables."""
    p = 1 - np.exp(-1 / scale)
    return dice.geometric(p, shape) - dice.geometric(p, shape)


# A2: a little too little noise ------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_A2_geometric_noise_of_nine_tenths_is_found(factor: float) -> None:
    dice = rng()
    found = audit(lambda x, n: x + two_sided(dice, factor, n), (0, 1), 1.0, samples=100_000)
    assert found.refuted == (factor < 1)
    assert found.lower_bound > 0.93 / factor


@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_A2_gaussian_noise_of_nine_tenths_is_found_on_the_trade_off_curve(factor: float) -> None:
    dice = rng()
    found = audit_gdp(lambda x, n: x + np.rint(dice.normal(0, factor * 4, n)), (0, 4), 1.0, samples=100_000)
    assert found.refuted == (factor < 1)


@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_A2_gaussian_noise_of_nine_tenths_is_found_at_a_delta(factor: float) -> None:
    dice = rng()
    claim = (1.0, 0.126937)  # what mu = 1 gives
    found = audit(lambda x, n: x + np.rint(dice.normal(0, factor * 4, n)), (0, 4), claim, samples=100_000)
    assert found.refuted == (factor < 1)


# Wrong sensitivity ------------------------------------------------------------------------------------------


def test_a_forgotten_factor_of_two_under_replacement_is_found() -> None:
    """A histogram needs 2 under replacement: a person leaves one cell and enters another."""
    dice = rng()
    pair = (np.array([5, 3, 0]), np.array([4, 3, 1]))
    assert audit(lambda h, n: h + two_sided(dice, 1, (n, 3)), pair, 1.0, samples=SAMPLES).refuted
    assert not audit(lambda h, n: h + two_sided(dice, 2, (n, 3)), pair, 1.0, samples=SAMPLES).refuted


def test_a_sum_whose_bounds_were_forgotten_is_found() -> None:
    dice = rng()
    assert audit(lambda x, n: x + two_sided(dice, 10, n), (0, 20), 1.0, samples=SAMPLES).refuted


def test_noise_with_bounded_support_is_found_whatever_is_claimed() -> None:
    """Uniform noise on 0..2L has no finite epsilon: some outputs are impossible on the neighbor."""
    dice = rng()

    def uniform(x: int, n: int) -> np.ndarray:
        return x + dice.integers(-10, 11, n)

    assert audit(uniform, (0, 1), 4.0, samples=SAMPLES).refuted
    assert not audit(uniform, (0, 1), (0.0, 1 / 21), samples=SAMPLES).refuted  # which is what it has
    assert audit(uniform, (0, 1), (0.0, 0.8 / 21), samples=SAMPLES).refuted


def test_name_and_shame_keeps_its_delta_and_no_smaller_one() -> None:
    dice = rng()

    def publish(rows: tuple[str, ...], n: int) -> list[str]:
        chosen = dice.random((n, 3)) < 0.01
        return [",".join(r for r, c in zip(rows, line, strict=True) if c) for line in chosen]

    pair = (("ann", "bob", "cid"), ("ann", "eve", "cid"))
    assert not audit(publish, pair, (0.0, 0.01), samples=SAMPLES).refuted
    assert audit(publish, pair, (1.0, 0.001), samples=SAMPLES).refuted


# Floats near 0 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "leaks"), [((0.0, 1.0), True), ((0.3, 1.3), True), ((1e-9, 1.0), True), ((1e6, 1e6 + 1), False)]
)
@pytest.mark.parametrize("kind", ["laplace", "normal"])
def test_numpy_float_noise_leaks_through_its_lowest_bits(
    pair: tuple[float, float], leaks: bool, kind: str
) -> None:
    """The scale is right; what leaks is which floats can be written at all.  Far from 0 both inputs share them."""
    dice = rng()
    draw = getattr(dice, kind)
    scale = 1.0 if kind == "laplace" else 4.2247  # analytic: (1, 1e-5)
    claim = 1.0 if kind == "laplace" else (1.0, 1e-5)
    found = audit(lambda x, n: x + draw(0, scale, n), pair, claim, samples=SAMPLES)
    assert found.refuted == leaks
    if leaks:
        assert found.lower_bound > 3
        assert found.event is not None
        assert "lowest bit" in found.event.event


@pytest.mark.parametrize("pair", [(0, 1), (3, 13), (10**6, 10**6 + 1), (10**18, 10**18 + 1)])
def test_whole_numbers_do_not_leak(pair: tuple[int, int]) -> None:
    dice, step = rng(), pair[1] - pair[0]
    assert not audit(lambda x, n: x + two_sided(dice, step, n), pair, 1.0, samples=SAMPLES).refuted


def test_rounding_after_the_noise_helps_only_if_it_is_coarse() -> None:
    dice = rng()

    def rounded(step: float) -> Callable[[float, int], np.ndarray]:
        return lambda x, n: np.rint((x + dice.laplace(0, 1, n)) / step) * step

    assert audit(rounded(2.0**-60), (0.0, 1.0), 1.0, samples=SAMPLES).refuted
    assert not audit(rounded(2.0**-10), (0.0, 1.0), 1.0, samples=SAMPLES).refuted


# A13: noise that is not fresh --------------------------------------------------------------------------


def test_A13_one_draw_broadcast_over_all_groups_is_found() -> None:
    """Each group alone looks right; the difference of two groups is exact."""
    dice, groups = rng(), 50
    before = np.zeros(groups, dtype=int)
    after = before.copy()
    after[17] = 1
    found = audit(lambda x, n: x + two_sided(dice, 1, (n, 1)), (before, after), 1.0, samples=20_000)
    assert found.refuted
    assert found.lower_bound > 5
    sound = audit(lambda x, n: x + two_sided(dice, 1, (n, groups)), (before, after), 1.0, samples=20_000)
    assert not sound.refuted


# Selection ---------------------------------------------------------------------------------------------------


def test_candidates_taken_from_the_data_are_found() -> None:
    """Prices that are somebody's bids: a price nobody else bid gives the bidder away."""
    dice = rng()

    def price(bids: tuple[int, ...], n: int) -> np.ndarray:
        candidates = np.array(sorted(set(bids)))
        revenue = np.array([c * sum(b >= c for b in bids) for c in candidates])
        weights = np.exp(revenue / 40)
        return dice.choice(candidates, n, p=weights / weights.sum())

    assert audit(price, ((10, 10, 10, 17), (10, 10, 10, 20)), 2.0, samples=SAMPLES).refuted


def test_A9_keys_without_a_threshold_are_found() -> None:
    """A key that only one person has appears at all only if that person is there."""
    dice = rng()

    def keys(threshold: float) -> Callable[[dict[str, int], int], list[dict[str, int]]]:
        def release(counts: dict[str, int], n: int) -> list[dict[str, int]]:
            noisy = {key: count + two_sided(dice, 1, n) for key, count in counts.items()}
            return [
                {key: int(column[i]) for key, column in noisy.items() if column[i] > threshold}
                for i in range(n)
            ]

        return release

    pair = ({"flu": 30, "cold": 40}, {"flu": 30, "cold": 40, "rabies": 1})
    assert audit(keys(-(10**9)), pair, (1.0, 1e-3), samples=10_000).refuted
    assert audit(keys(1), pair, (1.0, 1e-3), samples=10_000).refuted
    assert not audit(keys(8), pair, (1.0, 1e-3), samples=10_000).refuted


@pytest.mark.parametrize("trusted", [False, True])
def test_less_noise_because_a_grid_follows_is_found(trusted: bool) -> None:
    """Noise on a grid of two steps keeps what its noise guarantees; a grid is no noise: with seven tenths of it the same
    claim is refuted, although every answer is rounded."""
    sigma = Fraction(4) if not trusted else Fraction(28, 10)
    words, mechanism = Seeded(8), NoiseOnAGrid(GaussianNoise((sigma,)), (Grid.over(0, 100, 2),))

    def release(value: int, n: int) -> np.ndarray:
        return np.array(mechanism.release([[value] * n], words)[0])

    assert audit_gdp(release, (46, 50), 1.0, samples=100_000).refuted is trusted


# Surveys of the local model ---------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 12])
def test_randomized_response_with_its_delta_for_each_category_is_found(times: int) -> None:
    """(0.2, 0.05): its truth may be that of delta once, not twelve times."""
    dice, odds = rng(), np.exp(0.2)
    truth = (odds + 0.05 * times) / (odds + 1)
    claim = (0.2, 0.05)
    found = audit(lambda x, n: np.where(dice.random(n) < truth, x, 1 - x), (0, 1), claim, samples=SAMPLES)
    assert found.refuted == (times > 1)


@pytest.mark.parametrize("whole", [False, True])
def test_a_survey_whose_every_query_gets_the_whole_epsilon_is_found(whole: bool) -> None:
    limits = [Guarantee(1, 0)] * 3 if whole else [Guarantee(Fraction(1, 3), 0)] * 3
    coins = [RandomizedResponse.for_guarantee(limit) for limit in limits]

    bits = Seeded(3)

    def answers(x: int, n: int) -> np.ndarray:
        return np.stack([coin.release([x] * n, bits) for coin in coins], axis=1)

    assert audit(answers, (0, 1), 1.0, samples=SAMPLES).refuted == whole


# The cells of the auditor -----------------------------------------------------------------------------------


@pytest.mark.parametrize("apart", [1, 7, 10**15])
def test_integers_that_lie_close_together_get_the_cells_a_search_finds(apart: int) -> None:
    """Those that are far apart are sorted and searched for.  Mutant: a table that begins one place later."""
    codes, others = (rng(seed).integers(-low, low, 300) * apart for seed, low in ((1, 40), (2, 60)))
    seen, places = _distinct(codes)
    assert seen.tolist() == sorted(set(codes.tolist()))
    assert seen[places].tolist() == codes.tolist()
    known = {code: place for place, code in enumerate(seen.tolist())}
    assert _place(others, seen).tolist() == [known.get(code, len(seen)) for code in others.tolist()]
    edges = np.sort(np.concatenate([rng(3).normal(0, 30 * apart, 9), codes[:5]]))
    assert _above(edges, others).tolist() == [int(np.sum(edges <= code)) for code in others.tolist()]
