"""Comparisons count the items of which two models say different things: exact sums over small holdouts."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adyton.holdout import Holdout
from adyton.holdout.methods import gaussian
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.gaussian import GaussianPlan, table
from adyton.holdout.methods.gaussian_plans import GaussianWish, plan_gaussian
from adyton.kernel.special.scores import ScoreBlocks
from adyton.validity.subset.tails import Way
from support.randomness import Seeded
from support.tries import crossed


def lattice(scale: float) -> tuple[np.ndarray, np.ndarray]:
    at = np.arange(-math.ceil(7 * scale), math.ceil(7 * scale) + 1)
    return at, stats.norm.cdf((at + 0.5) / scale) - stats.norm.cdf((at - 0.5) / scale)


@pytest.mark.parametrize(("better", "scale"), crossed([0.5, 0.8], [1.5, 4.0]))
def test_theorem_PAIRED_COMPARISON_covers_who_is_better(better: float, scale: float) -> None:
    """The second comparison is the first one or its reverse, by its answer.

    Summed over how many of 12 items differ, how often the first model is better there, and all released numbers.
    """
    items, differ = 12, 0.4
    plan = GaussianPlan(
        HoldoutSize(items, 2, Fraction(0), Fraction(1, 4)), ScoreBlocks((2,), (scale,)), (2.0, 2.0)
    )
    noise, law = lattice(2 * scale)
    levels = [math.exp(side.log_level) for side in table(plan).sides(2)]
    missed = [0.0, 0.0]
    for many in range(1, items + 1):
        every = np.arange(noise[0] - 2 * many, noise[-1] + 2 * many + 1)  # all that can be released
        found = plan.difference_ends(every.tolist(), [2] * len(every), many)
        ends = np.array([list(map(float, both)) for both in found])
        for wins in range(many + 1):
            chance = stats.binom.pmf(many, items, differ) * stats.binom.pmf(wins, many, better)
            if chance < 1e-6:
                continue
            up = float(law[2 * (2 * wins - many) + noise > 2 * items * differ * (2 * better - 1)].sum())
            for weight, ahead, truth in (
                (up, 2 * wins - many, 2 * better - 1),
                (1 - up, many - 2 * wins, 1 - 2 * better),
            ):
                first = 2 * (ahead + many)
                lows, highs = ends[first : first + len(noise)].T
                missed[0] += chance * weight * float(law[lows > truth * many / items].sum())
                missed[1] += chance * weight * float(law[highs < truth * many / items].sum())
    assert missed[0] <= levels[0]
    assert missed[1] <= levels[1]


def test_theorem_PAIRED_COMPARISON_pays_as_the_score_whose_place_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which of the two is asked may depend on all answers before.  Misses of both add up to one level only if
    both are bounded by one law of these answers, that of the same part c: one way, and no other.
    """
    seen: list[list[Way]] = []
    bound = gaussian.least_share

    def watched(answers: np.ndarray, units: int, noise: np.ndarray, ways: list[Way]) -> np.ndarray:
        seen.append(ways)
        return bound(answers, units, noise, ways)

    monkeypatch.setattr(gaussian, "least_share", watched)
    for wish in (GaussianWish(Fraction("0.1")), GaussianWish(Fraction("0.1"), anytime=True)):
        plan = plan_gaussian(HoldoutSize(3000, 2, Fraction(0), Fraction(1, 20)), wish)
        numbers = sorted({1, 2, plan.scores // 2 + 1, plan.scores})
        seen.clear()
        plan.ends([3000] * len(numbers), numbers)
        plan.difference_ends([0] * len(numbers), numbers, 300)
        (score,), (comparison,) = seen
        for said in ("fresh", "price", "log_level"):
            assert np.array_equal(getattr(score, said), getattr(comparison, said))
        logs = [table(plan).sides(number)[end].log_level for end in (0, 1) for number in numbers]
        assert comparison.log_level == pytest.approx(logs, rel=1e-12)


def test_theorem_PAIRED_COMPARISON_is_shorter_where_less_differs() -> None:
    plan = plan_gaussian(HoldoutSize(60_000, 2, Fraction(0), Fraction(1, 20)), GaussianWish(Fraction("0.02")))
    number, lengths = plan.scores, []
    for differing in (60_000, 12_000, 3_000):
        ((low, high),) = plan.difference_ends([0], [number], differing)
        assert float(low) == pytest.approx(-float(high), rel=1e-6)
        lengths.append(float(high - low))
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[1] < 0.75 * lengths[0]
    assert lengths[2] <= 0.1


@pytest.mark.parametrize("metric", ["accuracy", "auc", "balanced_accuracy"])
def test_theorem_PAIRED_COMPARISON_counts_by_what_the_submissions_say(metric: str, tmp_path: Path) -> None:
    """Labels do not enter: the same interval whatever the labels are, but for the released number."""
    n = 4000
    labels = np.arange(n) % 2
    first, second = labels.copy(), labels.copy()
    second[: n // 20] ^= 1
    with Holdout.create(
        tmp_path / "c.toml", labels=labels, metric=metric, tolerance="0.2", bits=Seeded(1)
    ) as holdout:
        found = holdout.compare(first, second)
        most = {"accuracy": 0.05, "auc": 0.1, "balanced_accuracy": 1.0}[metric]
        assert found.interval.high <= most + 1e-12
        assert found.interval.low >= -most - 1e-12
        assert found.interval.low <= 0.05 <= found.interval.high + 0.05
