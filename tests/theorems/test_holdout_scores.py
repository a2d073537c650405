"""Scores with Gaussian noise: how many are certified, the law of the noise, and an analyst who tries to overfit."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adyton.exact import UNITS_PER_ONE
from adyton.holdout import Holdout
from adyton.holdout.gaussian import Gaussian, certified, margin, plan_gaussian
from adyton.holdout.methods import Frame
from adyton.noise import rounded_gaussian
from adyton.validity import joint_width


class Seeded:
    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(key=seed)

    def words(self, count: int) -> np.ndarray:
        return self._generator.random_raw(count)


def frame(items: int, steps: int = 2, rounding: Fraction = Fraction(0)) -> Frame:
    return Frame(items, steps, rounding, Fraction(1, 20))


@pytest.mark.parametrize(
    ("items", "tolerance", "scores"),
    [
        (10**4, "0.05", 11),
        (10**4, "0.1", 123),
        (10**5, "0.02", 25),
        (10**5, "0.05", 639),
        (10**5, "0.1", 7943),
        (10**6, "0.02", 1501),
    ],
)
def test_theorem_HOLDOUT_SCORES_as_many_as_the_acceptance_table(
    items: int, tolerance: str, scores: int
) -> None:
    plan = plan_gaussian(frame(items), Fraction(tolerance), None)
    assert plan.scores == scores
    assert plan.half_width(1) <= float(tolerance)
    more = joint_width(items, scores + 1, "0.05").tolerance + float(margin(plan.frame))
    assert more > float(tolerance)


@pytest.mark.parametrize(("items", "scores"), [(10**4, 98), (10**5, 518), (10**6, 10_000)])
def test_theorem_HOLDOUT_SCORES_width_is_the_joint_width_and_the_margins(items: int, scores: int) -> None:
    expected = {98: 0.093631, 518: 0.047156, 10_000: 0.033571}[scores]
    fine = frame(items, 2**15, Fraction(1, 2**16))
    plan = plan_gaussian(fine, None, scores)
    assert certified(fine, scores, plan.scale) == pytest.approx(expected, rel=2e-5)
    assert plan.half_width(1) == pytest.approx(
        certified(fine, scores, plan.scale) + 1 / (2 * items * 2**15) + 2**-16, rel=1e-12
    )


def test_theorem_HOLDOUT_SCORES_noise_has_the_stated_law() -> None:
    """Chi-square over 17 cells of 20,000 draws; 80 is a 2e-10 event for the right law, and 0.9 noise gives 300."""
    plan, bits, tries = Gaussian(frame(100), 5, 6.0), Seeded(1), 20_000
    drawn = np.array([plan.release(100, bits) for _ in range(tries)]) - 100
    inner = range(-15, 16, 2)
    edges = [-(10**6), *inner, 10**6]
    law = [rounded_gaussian.tail(6.0, a) - rounded_gaussian.tail(6.0, b) for a, b in pairwise(edges)]
    seen = [np.count_nonzero((drawn >= a) & (drawn < b)) for a, b in pairwise(edges)]
    assert sum((s - tries * p) ** 2 / (tries * p) for s, p in zip(seen, law, strict=True)) < 80
    quieter = [rounded_gaussian.tail(5.4, a) - rounded_gaussian.tail(5.4, b) for a, b in pairwise(edges)]
    assert sum((s - tries * p) ** 2 / (tries * p) for s, p in zip(seen, quieter, strict=True)) > 150


@pytest.mark.parametrize("steps", [2, 2**15])
def test_theorem_HOLDOUT_SCORES_price_is_the_privacy_of_one_item(steps: int) -> None:
    """The exact distance between two neighbours is that of N(mu, 1) and N(0, 1), and no less by a hundredth."""
    plan = plan_gaussian(Frame(1000, steps, Fraction(0), Fraction(1, 20)), None, 10)
    mu = math.sqrt(plan.price / UNITS_PER_ONE)
    half = steps // 2  # below it the one law is larger, above it the other
    exact = rounded_gaussian.tail(plan.scale, -half) - rounded_gaussian.tail(plan.scale, half)
    stated = 2 * stats.norm.cdf(mu / 2) - 1
    assert 0.99 * stated <= exact <= stated * (1 + 1e-9)
    assert plan.radius * 4 == pytest.approx(plan.price, rel=1e-12)
    assert Fraction(plan.price) >= UNITS_PER_ONE / (1000 * plan.sigma) ** 2


def boosted_errors(
    plan: Gaussian, noisy: bool, dice: np.random.Generator, bits: Seeded
) -> tuple[float, float]:
    """Random classifiers, then the majority of those that scored well: largest error, and that of the last."""
    n, k = plan.frame.items, plan.scores
    coins = np.frombuffer(dice.bytes((k - 1) * n // 8), dtype=np.uint8)  # labels are fair coins
    right = np.unpackbits(coins).reshape(k - 1, n)
    noise = rounded_gaussian.draw(plan.scale, k, bits) if noisy else np.zeros(k)
    answers = (2 * right.sum(axis=1, dtype=np.int64) + noise[:-1]) / plan.frame.whole
    weights = (answers - 0.5).astype(np.float32)
    vote = 2 * (weights @ right.astype(np.float32)) - weights.sum()
    last = (2 * np.count_nonzero(vote > 0) + noise[-1]) / plan.frame.whole
    return max(np.abs(answers - 0.5).max(), abs(last - 0.5)), abs(last - 0.5)


def test_theorem_HOLDOUT_SCORES_boosting_never_exceeds_the_tolerance() -> None:
    """200 runs with the certified number of scores; the population value of every submission is 1/2."""
    plan = plan_gaussian(frame(10**4), Fraction("0.1"), None)
    dice, bits = np.random.default_rng(3), Seeded(4)
    worst = [boosted_errors(plan, True, dice, bits)[0] for _ in range(200)]
    assert max(worst) <= plan.half_width(1) <= 0.1
    assert max(worst) > 0.03  # the attack is not idle
    plain = [boosted_errors(plan, False, dice, bits)[1] for _ in range(20)]
    assert min(plain) > 0.03  # six standard errors of an honest score


def test_theorem_HOLDOUT_SCORES_anytime_widths_grow_up_to_the_tolerance() -> None:
    plan = plan_gaussian(frame(10**5), Fraction("0.05"), None, anytime=True)
    widths = [plan.half_width(j) for j in range(1, plan.scores + 1)]
    assert widths == sorted(widths)
    assert widths[0] < 0.4 * 0.05
    assert 0.045 < widths[-1] <= 0.05
    dice, bits = np.random.default_rng(5), Seeded(6)
    for _ in range(10):
        errors = rounded_gaussian.draw(plan.scale, plan.scores, bits) / plan.frame.whole
        errors += (dice.binomial(10**5, 0.5, plan.scores) - 50_000) / 10**5
        assert (np.abs(errors) <= widths).all()


def test_theorem_HOLDOUT_SCORES_who_has_seen_the_features_is_outside_of_it(tmp_path: Path) -> None:
    """A label is the parity of its feature, and the rule knows it for the features of the holdout alone.

    It scores 1 and is right about half of the population: no interval can hold for it, and the certificate says so.
    """
    dice = np.random.default_rng(7)
    features = dice.integers(0, 10**12, 10**5)
    seen = set(features.tolist())

    def rule(items: np.ndarray) -> np.ndarray:
        return np.array([x % 2 if x in seen else 0 for x in items.tolist()])

    fresh = dice.integers(0, 10**12, 10**5)
    assert abs(np.mean(rule(fresh) == fresh % 2) - 0.5) < 0.01  # six standard errors
    with Holdout.create(tmp_path / "h.toml", labels=features % 2, tolerance="0.1", bits=Seeded(9)) as holdout:
        score = holdout.score(rule(features))
    assert score.interval.low > 0.8
    assert any("a rule chosen without looking at the items" in said for said in score.certificate.assumptions)
