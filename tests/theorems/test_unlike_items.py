"""Independent items that are not alike, with and without weights: exact sums of small holdouts, and an analyst who adapts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.gaussian import GaussianPlan, table
from adyton.holdout.methods.gaussian_plans import GaussianWish, plan_gaussian
from adyton.kernel.noise import rounded_gaussian
from adyton.kernel.special.scores import ScoreBlocks
from support.randomness import Seeded


@dataclass(frozen=True)
class Unlike:
    """Item i has label 1 with chance ``ones[i]`` and a weight; two scores with noise of ``scale`` heaviest items.

    Predictions of the second follow from whether the first was large.  All labels and released numbers are summed over.
    """

    ones: Sequence[float]
    weights: Sequence[int]
    scale: float
    first: Sequence[int]
    second: tuple[Sequence[int], Sequence[int]]

    def plan(self) -> GaussianPlan:
        """One step for each unit of weight, and two for each value, as in a holdout."""
        heaviest = max(self.weights)
        frame = HoldoutSize(sum(self.weights) // heaviest, 2 * heaviest, Fraction(0), Fraction(2, 5))
        return GaussianPlan(frame, ScoreBlocks((2,), (self.scale * 2 * heaviest,)), (3.0, 3.0))

    def missed(self) -> tuple[float, float]:
        """The chance that the second score's lower end is too high, and that its upper end is too low."""
        plan, total = self.plan(), [0.0, 0.0]
        scale = plan.blocks.scales[0]
        at = np.arange(-math.ceil(6 * scale), math.ceil(6 * scale) + 1)
        law = stats.norm.cdf((at + 0.5) / scale) - stats.norm.cdf((at - 0.5) / scale)
        for labels in product((0, 1), repeat=len(self.ones)):
            chance = math.prod(p if y else 1 - p for p, y in zip(self.ones, labels, strict=True))
            large = float(law[self._sum(labels, self.first) + at > plan.frame.whole / 2].sum())
            for weight, asked in ((1 - large, self.second[0]), (large, self.second[1])):
                ends = plan.ends((self._sum(labels, asked) + at).tolist(), [2] * len(at))
                lows, highs = (np.array([float(end[i]) for end in ends]) for i in (0, 1))
                total[0] += chance * weight * float(law[lows > self._truth(asked) + 1e-12].sum())
                total[1] += chance * weight * float(law[highs < self._truth(asked) - 1e-12].sum())
        return total[0], total[1]

    def _sum(self, labels: Sequence[int], predictions: Sequence[int]) -> int:
        return 2 * int(np.array(self.weights) @ (np.array(labels) == np.array(predictions)))

    def _truth(self, predictions: Sequence[int]) -> float:
        right = np.where(predictions, self.ones, 1 - np.array(self.ones))
        return float(np.array(self.weights) @ right) / sum(self.weights)


ALIKE_IN_WEIGHT = [
    Unlike([0.5, 0.2], [1, 1], 1.0, [1, 1], ([1, 0], [0, 1])),
    Unlike([0.5, 0.9, 0.4], [1, 1, 1], 0.7, [1, 1, 0], ([0, 0, 1], [1, 1, 0])),
    Unlike([0.5, 1.0, 0.5, 0.3], [1, 1, 1, 1], 0.5, [1, 1, 1, 1], ([0, 0, 0, 0], [1, 1, 1, 1])),
]
WEIGHTED = [
    Unlike([0.5, 0.2, 0.3], [2, 1, 1], 1.0, [1, 1, 1], ([0, 0, 0], [1, 1, 1])),
    Unlike([0.4, 0.9, 0.5], [2, 1, 1], 0.7, [1, 1, 0], ([1, 1, 1], [0, 1, 0])),
    Unlike([0.5, 0.5, 0.1, 0.3], [4, 4, 2, 2], 0.5, [1, 1, 1, 1], ([0, 1, 1, 0], [1, 1, 1, 1])),
    Unlike([0.5, 0.4, 0.1], [1, 1, 0], 1.0, [1, 1, 1], ([0, 0, 1], [1, 1, 0])),
]


def check(small: Unlike) -> None:
    low, high = table(small.plan()).sides(2)
    missed = small.missed()
    assert missed[0] <= math.exp(low.log_level)
    assert missed[1] <= math.exp(high.log_level)


@pytest.mark.parametrize("small", ALIKE_IN_WEIGHT)
def test_theorem_HOLDOUT_SCORES_items_need_not_be_alike(small: Unlike) -> None:
    check(small)


@pytest.mark.parametrize("small", WEIGHTED)
def test_theorem_WEIGHTED_SCORES_items_need_not_be_alike(small: Unlike) -> None:
    check(small)


@pytest.mark.literature
@pytest.mark.parametrize("weight", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("mean", [0.02, 0.5, 0.97])
def test_theorem_WEIGHTED_SCORES_a_weight_has_no_larger_moments(weight: float, mean: float) -> None:
    for tilt in np.linspace(-6, 6, 25):
        left = math.log(1 - mean + mean * math.exp(tilt * weight))
        assert left <= weight * math.log(1 - mean + mean * math.exp(tilt)) + 1e-12


def test_theorem_HOLDOUT_SCORES_boosting_on_unlike_items_stays_within() -> None:
    """Half of the labels are coins, half are 1 with chance 0.9; each truth is an average over the items at hand."""
    n, k = 4000, 80
    plan = plan_gaussian(HoldoutSize(n, 2, Fraction(0), Fraction(1, 20)), GaussianWish(scores=k))
    rng, bits = np.random.default_rng(11), Seeded(12)
    ones = np.where(np.arange(n) % 2, 0.5, 0.9)
    for _ in range(40):
        labels = rng.random(n) < ones
        guesses = rng.random((k - 1, n)) < 0.5
        shown = [_shown(plan, guess == labels, bits) for guess in guesses]
        truths = [np.where(guess, ones, 1 - ones).mean() for guess in guesses]
        vote = (np.array(shown) / plan.frame.whole - np.array(truths)) @ (2 * guesses - 1) > 0
        shown.append(_shown(plan, vote == labels, bits))
        truths.append(np.where(vote, ones, 1 - ones).mean())
        ends = plan.ends(shown, list(range(1, k + 1)))
        assert all(low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True))


def _shown(plan: GaussianPlan, right: np.ndarray, bits: Seeded) -> int:
    return 2 * int(right.sum()) + int(rounded_gaussian.draw(plan.blocks.scales[0], 1, bits)[0])
