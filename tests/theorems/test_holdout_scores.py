"""Scores with Gaussian noise: how many are certified, what their intervals cover, and analysts who try to overfit."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import stats

from adyton.errors import InvalidRequest
from adyton.holdout import Gaussian, Holdout
from adyton.holdout.measures import Measures
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.gaussian import GaussianPlan, in_values, margin, table
from adyton.holdout.methods.gaussian_plans import GaussianWish, plan_gaussian
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.noise import rounded_gaussian
from adyton.kernel.special.scores import ScoreBlocks
from adyton.lab.adaptivity.holdout_machines import shown
from adyton.noise_intervals.laws import gaussian_tail
from support.randomness import Seeded
from support.tries import often

NINE, GOOD, BEST = Fraction(9, 10), Fraction(97, 100), Fraction(99, 100)


def frame(items: int, steps: int = 2, rounding: Fraction = Fraction(0)) -> HoldoutSize:
    return HoldoutSize(items, steps, rounding, Fraction(1, 20))


def planned(items: int, tolerance: str, expected: Fraction | None = None, **wish: object) -> GaussianPlan:
    return plan_gaussian(frame(items), GaussianWish(Fraction(tolerance), expected=expected, **wish))


# How many --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "tolerance", "expected", "scores"),
    [
        (899, "0.1", None, 6),
        (899, "0.1", NINE, 22),
        (899, "0.1", GOOD, 56),
        (899, "0.1", BEST, 105),
        (60_000, "0.02", None, 46),
        (60_000, "0.02", NINE, 137),
        (60_000, "0.02", GOOD, 392),
        (60_000, "0.02", BEST, 930),
        (10**4, "0.1", None, 715),
        (10**5, "0.05", None, 3890),
        (10**5, "0.1", None, 50_000),
        (10**6, "0.02", None, 9_000),
    ],
)
def test_theorem_HOLDOUT_SCORES_as_many_as_the_acceptance_table(
    items: int, tolerance: str, expected: Fraction | None, scores: int
) -> None:
    """A score that is as expected has an interval of twice the tolerance, also if it is the last one."""
    plan = planned(items, tolerance, expected)
    assert plan.scores >= scores
    assert plan.half_width() <= float(tolerance)
    near = float(expected or Fraction(1, 2))
    for number in (1, 2, plan.scores // 2, plan.scores):
        ((low, high),) = plan.ends([round(near * plan.frame.whole)], [number])
        assert min(float(high), 1) - float(low) <= 2 * float(tolerance) + 1e-9


@pytest.mark.parametrize("expected", [None, GOOD])
def test_theorem_HOLDOUT_SCORES_decreasing_noise_gives_more_anytime_fewer(
    expected: Fraction | None,
) -> None:
    """Decreasing noise gives more scores, and anytime fewer."""
    constant = planned(20_000, "0.05", expected)
    decreasing = planned(20_000, "0.05", expected, noise="decreasing")
    anytime = planned(20_000, "0.05", expected, anytime=True)
    assert decreasing.scores > 1.3 * constant.scores
    assert list(decreasing.blocks.scales) == sorted(decreasing.blocks.scales, reverse=True)
    assert 0.3 * constant.scores < anytime.scores < constant.scores
    near = round(float(expected or 0.5) * constant.frame.whole)
    lengths = []
    for number in (1, anytime.scores // 4, anytime.scores):
        ((low, high),) = anytime.ends([near], [number])
        lengths.append(float(high - low))
    assert lengths == sorted(lengths)
    assert lengths[0] < 0.6 * lengths[-1] <= 0.06 + 1e-9


@pytest.mark.parametrize(("items", "expected"), [(500, None), (20_000, NINE)])
def test_theorem_HOLDOUT_SCORES_so_many_scores_have_about_the_least_width(
    items: int, expected: Fraction | None
) -> None:
    plan = plan_gaussian(frame(items), GaussianWish(scores=20, expected=expected))
    most = planned(items, str(round(plan.half_width() * 1.01, 6)), expected).scores
    assert 20 <= most <= 23


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"expected": GOOD},
        {"noise": "decreasing"},
        {"noise": "decreasing", "expected": GOOD},
        {"anytime": True},
    ],
)
def test_theorem_HOLDOUT_SCORES_levels_sum_to_at_most_the_failure(
    wish: dict[str, object],
) -> None:
    """Score by score, as they are used; and most of the failure is used, but for anytime."""
    plan = plan_gaussian(frame(3000), GaussianWish(Fraction("0.07"), **wish))
    sides = [table(plan).sides(number) for number in range(1, plan.scores + 1)]
    total = math.fsum(math.exp(side.log_level) for both in sides for side in both)
    assert total <= 0.05
    assert total > 0.025
    assert all(0 <= side.kept < 1 for both in sides for side in both)


def test_theorem_HOLDOUT_SCORES_a_plan_with_too_many_scores_is_refused() -> None:
    plan = planned(3000, "0.07")
    more = GaussianPlan(plan.frame, ScoreBlocks((plan.scores * 2,), plan.blocks.scales), plan.reach)
    with pytest.raises(InvalidRequest, match="do not fit"):
        more.ends([3000], [1])


@pytest.mark.parametrize("items", [700, 30_000])
def test_theorem_HOLDOUT_SCORES_no_interval_is_wider_than_guaranteed(items: int) -> None:
    """Without an expectation the tolerance holds for every score, whatever it is."""
    for wish in ({}, {"noise": "decreasing"}, {"anytime": True}):
        plan = planned(items, "0.13", **wish)
        released = np.round(np.linspace(-0.1, 1.1, 40) * plan.frame.whole).astype(int).tolist()
        for number in (1, 2, plan.scores):
            for noisy, (low, high) in zip(released, plan.ends(released, [number] * 40), strict=True):
                value = noisy / plan.frame.whole
                assert value - plan.half_width() <= max(float(low), value - 1)
                assert float(high) <= value + plan.half_width() or value < 0


# What the intervals cover ----------------------------------------------------------------------------------


def exact_low_end(plan: GaussianPlan, released: int, number: int) -> float:
    """The lower end, from the pages alone, in fifty digits: A, the price, the hazard, and the best location."""
    mp = mpmath.mp.clone()
    mp.dps = 50
    n, steps = plan.frame.items, plan.frame.steps
    scales = [mp.mpf(plan.blocks.scale(j)) / steps for j in range(1, number + 1)]
    spent = sum((n / (8 * s**2) for s in scales[:-1]), mp.mpf(0))  # A, each answer by itself
    side, s, a = table(plan).sides(number)[0], scales[-1], (mp.mpf(released) - mp.mpf("0.5")) / steps
    kept = mp.mpf(side.kept) if number > 1 else mp.mpf(0)
    price = (1 - kept) / kept * spent if number > 1 else mp.mpf(0)

    def end(y: float) -> float:
        tail = mp.erfc(mp.mpf(y) / mp.sqrt(2)) / 2
        tilt = mp.npdf(y) / tail / s
        left = mp.mpf(side.log_level) - mp.log(tail) + tilt * (a - s * y) - price
        return float(mp.expm1(left / ((1 - kept) * n)) / mp.expm1(tilt / (1 - kept)))

    grid = np.linspace(-4, 9, 53)
    best = max(grid, key=end)
    return max(end(y) for y in np.linspace(best - 0.3, best + 0.3, 61))


@pytest.mark.parametrize("wish", [{}, {"expected": GOOD}, {"noise": "decreasing"}, {"anytime": True}])
def test_theorem_HOLDOUT_SCORES_ends_are_those_of_fifty_digits(wish: dict[str, object]) -> None:
    """Never above them, and not much below.  Mutant: three quarters of the shift (9/16 of the price) is 1e-3 above."""
    plan = plan_gaussian(frame(1200), GaussianWish(Fraction("0.12"), **wish))
    for number in (1, 2, plan.scores):
        for share in (0.3, 0.8, 0.97):
            released = round(share * plan.frame.whole)
            ((low, _),) = plan.ends([released], [number])
            wanted = exact_low_end(plan, released, number)
            assert wanted - 2e-4 <= float(low) <= max(wanted, 0.0) + 3e-7


def lattice(scale: float, reach: float = 7.0) -> tuple[np.ndarray, np.ndarray]:
    """The law of round(scale N), but for 1e-11 of it."""
    at = np.arange(-math.ceil(reach * scale), math.ceil(reach * scale) + 1)
    return at, stats.norm.cdf((at + 0.5) / scale) - stats.norm.cdf((at - 0.5) / scale)


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("scale", [2.0, 9.0])
def test_theorem_HOLDOUT_SCORES_covers_what_the_first_score_chose(share: float, scale: float) -> None:
    """Exactly, over all counts and released numbers: the second query is the first one or its complement."""
    items = 40
    plan = GaussianPlan(frame(items), ScoreBlocks((2,), (scale,)), (0.9, 0.9))
    noise, law = lattice(scale)
    counts = np.arange(items + 1)
    chance = stats.binom.pmf(counts, items, share)
    levels = table(plan).sides(2)
    missed_low = missed_high = 0.0
    every = np.arange(noise[0], 2 * items + noise[-1] + 1)  # all that can be released
    ends = np.array([list(map(float, both)) for both in plan.ends(every.tolist(), [2] * len(every))])
    for count, weight in zip(counts, chance, strict=True):
        high = float(law[2 * count + noise > 2 * items * share].sum())
        for one, hits, truth in ((high, count, share), (1 - high, items - count, 1 - share)):
            lows, highs = ends[2 * hits : 2 * hits + len(noise)].T
            missed_low += weight * one * float(law[lows > truth].sum())
            missed_high += weight * one * float(law[highs < truth].sum())
    assert missed_low <= math.exp(levels[0].log_level)
    assert missed_high <= math.exp(levels[1].log_level)


def test_theorem_HOLDOUT_SCORES_noise_has_the_stated_law() -> None:
    """Chi-square over 17 cells of 20,000 draws; 80 is a 2e-10 event for the right law, and 0.9 noise gives 300."""
    plan, bits, tries = (
        GaussianPlan(frame(100), ScoreBlocks((5, 2), (6.0, 3.0)), (0.5, 0.5)),
        Seeded(1),
        20_000,
    )
    drawn = np.array([shown(plan, 100, 5, bits) for _ in range(tries)]) - 100
    inner = range(-15, 16, 2)
    edges = [-(10**6), *inner, 10**6]
    law = [gaussian_tail(6.0, a) - gaussian_tail(6.0, b) for a, b in pairwise(edges)]
    seen = [np.count_nonzero((drawn >= a) & (drawn < b)) for a, b in pairwise(edges)]
    assert sum((s - tries * p) ** 2 / (tries * p) for s, p in zip(seen, law, strict=True)) < 80
    quieter = [gaussian_tail(5.4, a) - gaussian_tail(5.4, b) for a, b in pairwise(edges)]
    assert sum((s - tries * p) ** 2 / (tries * p) for s, p in zip(seen, quieter, strict=True)) > 150
    later = np.array([shown(plan, 100, 6, bits) for _ in range(2000)]) - 100
    assert later.std() == pytest.approx(3.0, rel=0.1)  # six standard errors
    assert Measures(plan).amount == UNITS_PER_ONE * 4 // 9 + 1  # of the least noise


@pytest.mark.parametrize("steps", [2, 2**15])
def test_theorem_HOLDOUT_SCORES_price_is_the_privacy_of_one_item(steps: int) -> None:
    """The exact distance between two neighbors is that of N(mu, 1) and N(0, 1), and no less by a hundredth."""
    plan = plan_gaussian(HoldoutSize(1000, steps, Fraction(0), Fraction(1, 20)), GaussianWish(scores=10))
    (scale,) = plan.blocks.scales
    mu = math.sqrt(Measures(plan).amount / UNITS_PER_ONE)
    half = steps // 2  # below it the one law is larger, above it the other
    exact = gaussian_tail(scale, -half) - gaussian_tail(scale, half)
    stated = 2 * stats.norm.cdf(mu / 2) - 1
    assert 0.99 * stated <= exact <= stated * (1 + 1e-9)
    measures = Measures(plan)
    due = measures.priced(measures.scored(""), "").due
    assert due.radius * 4 == pytest.approx(due.amount, rel=1e-12)
    assert due.amount >= UNITS_PER_ONE * (steps / Fraction(scale)) ** 2
    assert in_values(plan).spent_before(10) == 9 * (steps / (2 * Fraction(scale))) ** 2


# Analysts who try to overfit -------------------------------------------------------------------------------


def most_misses(runs: int, failure: float) -> int:
    """More of them are a 1e-6 event for intervals that fail with this probability."""
    return int(stats.binom.isf(1e-6, runs, failure))


def boosted(plan: GaussianPlan, noisy: bool, rng: np.random.Generator, bits: Seeded) -> np.ndarray:
    """Random classifiers, then the majority of those that scored well: what is released, in steps."""
    n, k = plan.frame.items, plan.scores
    coins = np.frombuffer(rng.bytes((k - 1) * n // 8), dtype=np.uint8)  # labels are fair coins
    right = np.unpackbits(coins).reshape(k - 1, n)
    noise = rounded_gaussian.draw(plan.blocks.scales[0], k, bits) if noisy else np.zeros(k, dtype=int)
    answers = 2 * right.sum(axis=1, dtype=np.int64) + noise[:-1]
    weights = (answers / plan.frame.whole - 0.5).astype(np.float32)
    vote = 2 * (weights @ right.astype(np.float32)) - weights.sum()
    return np.append(answers, 2 * np.count_nonzero(vote > 0) + noise[-1])


def test_theorem_HOLDOUT_SCORES_boosting_never_leaves_an_interval() -> None:
    """Runs with the certified number of scores; the population value of every submission is 1/2.

    The certificate allows 5 % of the runs, the theorem is sharp to about 1.3, so none is expected; false alarm 1e-6 if
    5 % were so.  Mutant: intervals as of queries that were fixed in advance: 36 of 200 runs miss, and one of 60 does
    but for a chance of 1e-5.
    """
    times = often(60, 200)
    plan = planned(10**4, "0.1")
    rng, bits, numbers = np.random.default_rng(3), Seeded(4), list(range(1, plan.scores + 1))
    runs = np.array([boosted(plan, True, rng, bits) for _ in range(times)])
    early = plan.ends(runs[0].tolist(), numbers)
    assert all(low <= 0.5 <= high for low, high in early)
    last = plan.ends(runs[:, -1].tolist(), [plan.scores] * times)
    misses = sum(not low <= 0.5 <= high for low, high in last)
    assert misses == 0 <= most_misses(times, 0.05)
    worst = np.abs(runs / plan.frame.whole - 0.5).max(axis=1)
    assert 0.05 < worst.max() <= plan.half_width()  # the attack is not idle
    plain = [boosted(plan, False, rng, bits)[-1] / plan.frame.whole - 0.5 for _ in range(20)]
    assert min(plain) > 0.03  # six standard errors of an honest score


@pytest.mark.parametrize(
    ("tolerance", "method", "share"),
    [
        ("0.1", Gaussian(expected="0.9"), 0.9),
        ("0.1", Gaussian(expected="0.97"), 0.97),
        ("0.12", Gaussian(expected="0.9", noise="decreasing"), 0.9),
        ("0.12", Gaussian(expected="0.9", anytime=True), 0.5),
    ],
)
def test_theorem_HOLDOUT_SCORES_top_share_attack_through_the_real_holdout(
    tolerance: str, method: Gaussian, share: float, tmp_path: Path
) -> None:
    """Models that are right with this chance, each in its own way; the last is right where good ones were.

    So many holdouts, all of their scores; more than 5 of 8 that miss would be a 1e-6 event, and hardly one is expected.
    """
    n, misses, moved = 899, 0, []
    for run in range(runs := often(4, 8)):
        rng = np.random.default_rng(run)
        with Holdout.create(
            tmp_path / f"{run}.toml",
            labels=np.ones(n, dtype=int),
            tolerance=tolerance,
            method=method,
            bits=Seeded(run),
        ) as holdout:
            k = holdout.budget().scores_left
            right = rng.random((k - 1, n)) < share
            scores = [holdout.score(one.astype(int)) for one in right]
            weights = np.array([score.value for score in scores]) - share
            everybody = rng.random((k - 1, 40_000)) < share  # the population of the vote
            cut = np.quantile(weights @ everybody, 1 - share)
            vote = weights @ right > cut
            scores.append(holdout.score(vote.astype(int)))
            misses += any(not s.interval.low <= share <= s.interval.high for s in scores)
            moved.append(vote.mean() - share)
    assert misses <= most_misses(runs, 0.05)
    assert misses <= 1
    assert np.mean(moved) > 0.003  # the attack is not idle


def test_theorem_HOLDOUT_SCORES_one_direction_again_and_again(tmp_path: Path) -> None:
    """The same query, one item apart each time; then the query or its complement, by the mean of the answers."""
    n, misses, runs = 400, 0, 15
    for run in range(runs):
        rng = np.random.default_rng(100 + run)
        right = rng.random(n) < 0.5
        with Holdout.create(
            tmp_path / f"{run}.toml", labels=np.ones(n, dtype=int), scores=12, bits=Seeded(run)
        ) as holdout:
            asked = [np.where(np.arange(n) == j, 0, right).astype(int) for j in range(11)]
            scores = [holdout.score(one) for one in asked]
            more = np.mean([score.value for score in scores]) > 0.5
            last = holdout.score((right if more else ~right).astype(int))
            inside = [s.interval.low <= 0.5 <= s.interval.high for s in (*scores, last)]
            misses += not all(inside)
    assert misses <= most_misses(runs, 0.05)
    assert misses == 0


def test_theorem_HOLDOUT_SCORES_margins_are_added(tmp_path: Path) -> None:
    fine = frame(1000, 2**15, Fraction(1, 2**16))
    rough = plan_gaussian(fine, GaussianWish(Fraction("0.2")))
    assert float(margin(fine)) == pytest.approx(2**-16, rel=1e-3)
    assert rough.half_width() <= 0.2
    ((low, high),) = rough.ends([500 * 2**15], [1])
    assert 0 < low < Fraction(1, 2) < high < 1


def test_theorem_HOLDOUT_SCORES_who_has_seen_the_features_is_outside_of_it(tmp_path: Path) -> None:
    """A label is the parity of its feature, and the rule knows it for the features of the holdout alone.

    It scores 1 and is right about half of the population: no interval can hold for it, and the certificate says so.
    """
    rng = np.random.default_rng(7)
    features = rng.integers(0, 10**12, 10**5)
    seen = set(features.tolist())

    def rule(items: np.ndarray) -> np.ndarray:
        return np.array([x % 2 if x in seen else 0 for x in items.tolist()])

    fresh = rng.integers(0, 10**12, 10**5)
    assert abs(np.mean(rule(fresh) == fresh % 2) - 0.5) < 0.01  # six standard errors
    with Holdout.create(tmp_path / "h.toml", labels=features % 2, tolerance="0.1", bits=Seeded(9)) as holdout:
        score = holdout.score(rule(features))
    assert score.interval.low > 0.8
    assert any("a rule chosen without looking at the items" in said for said in score.certificate.assumptions)
