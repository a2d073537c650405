"""Weighted items and pairs: what is counted, what it is the mean of, and analysts who try to overfit both."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from adyton.errors import InvalidRequest
from adyton.holdout import Holdout, Rounding
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.gaussian_plans import GaussianWish, plan_gaussian
from adyton.holdout.metrics import total
from adyton.holdout.pairs import HALVES, pair_values, pairs_of
from adyton.holdout.weights import WEIGHT_STEPS, weights_from
from adyton.validity.subset.widths import price_of
from support.randomness import Seeded


@given(
    st.lists(
        st.one_of(st.just(0.0), st.floats(1e-6, 1e6), st.integers(1, 5).map(float)), min_size=1, max_size=40
    ),
    st.integers(0, 2**40 - 1),
)
def test_theorem_WEIGHTED_SCORES_steps_keep_their_sum_and_stray_no_further(
    raw: list[float], which: int
) -> None:
    if max(raw) == 0:
        return
    made = weights_from(raw, len(raw))
    assert made.steps.min() >= 0
    assert made.steps.max() <= WEIGHT_STEPS
    assert int(made.steps.sum()) == made.units * WEIGHT_STEPS
    assert all(step == 0 for step, weight in zip(made.steps, raw, strict=True) if weight == 0)
    chosen = [i for i in range(len(raw)) if which >> i & 1]
    exact = sum(Fraction(raw[i]) for i in chosen) / sum(Fraction(w) for w in raw)
    counted = Fraction(sum(int(made.steps[i]) for i in chosen), made.units * WEIGHT_STEPS)
    assert abs(exact - counted) <= made.stray
    assert made.stray < Fraction(len(raw), 2**15 * made.units)


def test_theorem_WEIGHTED_SCORES_counts_full_weights() -> None:
    assert weights_from(np.ones(1000), 1000).units == 1000
    assert weights_from([1, 1, 0, 0], 4).units == 2
    assert weights_from([3] * 3 + [1] * 3, 6).units == 4
    assert weights_from([100, 1, 1], 3).units == 1


def test_theorem_WEIGHTED_SCORES_one_item_moves_a_sum_by_its_price() -> None:
    """All neighbors of a small holdout: the largest move is one unit of the frame, and a heavy item makes it."""
    weights = weights_from([4, 2, 1, 1], 4)
    moves = set()
    for values in product((0, 2), repeat=4):
        for i in range(4):
            other = np.array(values)
            other[i] = 2 - other[i]
            moves.add(abs(total(other * weights.steps) - total(np.array(values) * weights.steps)))
    assert max(moves) == 2 * WEIGHT_STEPS
    assert weights.units == 2


def weighted_slack(
    weights: list[float], kept: float, scale: float, answer: float, factor: float = 1.0
) -> float:
    """Of the transfer, for the best G, if fair coins of these weights are added up: log right less log left."""
    every = list(product((0, 1), repeat=len(weights)))

    def log_density(sums: np.ndarray) -> np.ndarray:
        return -((answer - sums) ** 2) / (2 * scale**2)

    def served(keep: tuple[int, ...], by: float) -> np.ndarray:
        parts = (np.array(every) - 0.5) * np.array(weights) * np.array(keep)
        return sum(weights) / 2 + parts.sum(axis=1) / by

    squares = sum(Fraction(w) ** 2 for w in weights)
    right = factor * price_of(squares, 1 / (2 * Fraction(scale)) ** 2, kept)
    for keep in every:
        chance = kept ** sum(keep) * (1 - kept) ** (len(keep) - sum(keep))
        right += chance * float(np.log(np.mean(np.exp(log_density(served(keep, kept))))))
    whole = log_density(served((1,) * len(weights), 1.0))
    return right - kept * float(np.log(np.mean(np.exp(whole / kept))))


def test_theorem_WEIGHTED_SCORES_squares_pay_for_what_was_spent() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        weights = [float(w) for w in rng.uniform(0, 1, int(rng.integers(1, 5)))]
        case = float(rng.uniform(0.1, 0.9)), float(rng.uniform(0.3, 3)), float(rng.normal(1, 1))
        assert weighted_slack(weights, *case) > -1e-9
    assert abs(weighted_slack([0.6], 0.5, 1.0, 0.3)) < 1e-9  # an equality,
    assert weighted_slack([0.6], 0.5, 1.0, 0.3, factor=0.95) < -1e-4  # of which nothing may be left out


@pytest.mark.parametrize("heavy", [0, 16, 30])
def test_theorem_WEIGHTED_SCORES_one_score_of_fair_coins(heavy: int) -> None:
    """Some items weigh four times as much as 32 others; the chance that an end is wrong is added up exactly."""
    made = weights_from([4.0] * heavy + [1.0] * 32, heavy + 32)
    squares = Fraction(made.squares, WEIGHT_STEPS**2)
    assert squares == (heavy + 2 if heavy else 32)
    frame = HoldoutSize(made.units, WEIGHT_STEPS, Fraction(0), Fraction(1, 100), True, squares)
    plan = plan_gaussian(frame, GaussianWish(scores=1))
    law = np.ones(1)
    for step in made.steps:
        quarters = 4 * int(step) // WEIGHT_STEPS
        law = np.convolve(law, np.bincount([0, quarters], minlength=quarters + 1) / 2)
    low, high = made.units * WEIGHT_STEPS // 2, 2 * made.units * WEIGHT_STEPS
    while high - low > 1:  # the least sum whose interval begins above one half
        middle = (low + high) // 2
        above = plan.ends([middle], [1])[0][0] > Fraction(1, 2)
        low, high = (low, middle) if above else (middle, high)
    sums = np.arange(len(law)) * (WEIGHT_STEPS // 4)
    missed = float(law @ norm.sf((high - 0.5 - sums) / plan.blocks.scale(1)))
    assert 0.0005 < missed <= 0.005


def test_theorem_WEIGHTED_SCORES_no_end_is_farther_than_planned() -> None:
    """By the squares 300 heavy and 3,000 light items are worth 1,090 items, by the heaviest 600."""
    made = weights_from([10.0] * 300 + [1.0] * 3000, 3300)
    squares = Fraction(made.squares, WEIGHT_STEPS**2)
    frame = HoldoutSize(made.units, WEIGHT_STEPS, Fraction(0), Fraction(1, 20), True, squares)
    same = HoldoutSize(1090, 2, Fraction(0), Fraction(1, 20))
    for wish in (GaussianWish(Fraction("0.1")), GaussianWish(Fraction("0.1"), noise="decreasing")):
        plan = plan_gaussian(frame, wish)
        assert plan.scores >= plan_gaussian(same, wish).scores - 1
        for number in {1, 2, plan.scores // 2 + 1, plan.scores}:
            for share in (0.0, 0.3, 0.5, 1.0):
                ((low, high),) = plan.ends([round(share * frame.whole)], [number])
                assert max(share - low, high - share) <= plan.half_width()
    fresh, price, _ = plan._ways([2])[0]  # what an end pays for the score before it
    spent = (WEIGHT_STEPS / (2 * Fraction(plan.blocks.scale(1)))) ** 2
    assert price[0] == pytest.approx(fresh[0] / (1 - fresh[0]) * float(squares * spent / 2), rel=1e-9)
    expecting = plan_gaussian(frame, GaussianWish(Fraction("0.1"), expected=Fraction("0.6")))
    assert expecting.scores >= plan_gaussian(frame, GaussianWish(Fraction("0.1"))).scores


def test_theorem_WEIGHTED_SCORES_is_near_the_weighted_mean(tmp_path: Path) -> None:
    """Seeded noise.  A model that is right on light items only: weighted .25, unweighted .5."""
    n = 40_000
    rng = np.random.default_rng(1)
    weights, labels = np.where(np.arange(n) % 2, 1.0, 3.0), rng.integers(0, 2, n)
    guess = np.where(np.arange(n) % 2, labels, 1 - labels)
    with Holdout.create(
        tmp_path / "w.toml", labels=labels, weights=weights, tolerance="0.05", bits=Seeded(1)
    ) as holdout:
        assert holdout.facts.units == 26_666
        plain = Holdout.create(tmp_path / "p.toml", labels=labels[:32_000], tolerance="0.05")
        left = plain.budget().scores_left  # as many as 80,000**2 / 200,000 items would certify
        assert holdout.budget().scores_left == pytest.approx(left, rel=0.01)
        score = holdout.score(guess)
        assert score.interval.low < 0.25 < score.interval.high < 0.4
        assert "WEIGHTED-SCORES" in score.certificate.theorems
        assert (
            holdout.compare(labels, guess).interval.low < 0.75 < holdout.compare(labels, guess).interval.high
        )
    with Holdout.open(tmp_path / "w.toml") as again:
        assert again.score(guess).repeated
    np.save(tmp_path / "w.weights.npy", np.ones(n, dtype=np.int64))
    with pytest.raises(InvalidRequest, match="weights"):
        Holdout.open(tmp_path / "w.toml")


def test_theorem_WEIGHTED_SCORES_boosting_stays_within_the_width(tmp_path: Path) -> None:
    """Coins as labels, and a vote weighted by what was shown; every truth is one half."""
    n, rng = 4000, np.random.default_rng(2)
    weights, labels = rng.choice([0.2, 1.0], n), rng.integers(0, 2, n)
    with Holdout.create(
        tmp_path / "b.toml", labels=labels, weights=weights, scores=60, bits=Seeded(3)
    ) as holdout:
        guesses = rng.integers(0, 2, (59, n))
        shown = [holdout.score(guess) for guess in guesses]
        vote = np.array([s.value - 0.5 for s in shown]) @ (2 * guesses - 1) > 0
        for score in (*shown, holdout.score(vote)):
            assert score.interval.low <= 0.5 <= score.interval.high


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"weights": [1, 2]}, "4 weights"),
        ({"weights": [1, 2, 3, -1]}, "negative"),
        ({"weights": [0, 0, 0, 0]}, "above 0"),
        ({"weights": [1, 1, 1, float("nan")]}, "finite"),
        ({"weights": [1, 1, 1, 1], "method": Rounding()}, "alone"),
        ({"weights": [1, 1, 1, 1], "metric": "auc"}, "alone"),
        ({"metric": "auc", "labels": [1, 1, 1, 1]}, "label 0"),
        ({"metric": "auc", "labels": [0, 1, 2, 1]}, "0 or 1"),
    ],
)
def test_weights_and_pairs_that_mean_nothing_are_refused(
    tmp_path: Path, wish: dict[str, object], says: str
) -> None:
    with pytest.raises(InvalidRequest, match=says):
        Holdout.create(tmp_path / "w.toml", **{"labels": [0, 1, 0, 1], "scores": 1, **wish})
    assert not list(tmp_path.iterdir())


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=2, max_size=30))
def test_theorem_AUC_BY_PAIRS_no_item_is_in_two_pairs(items: list[tuple[int, int]]) -> None:
    labels, scores = (np.array(column) for column in zip(*items, strict=True))
    if labels.min() == labels.max():
        return
    positive, negative = pairs_of(labels)
    used = [*positive, *negative]
    assert len(set(used)) == len(used) == 2 * min((labels == 0).sum(), (labels == 1).sum())
    for i, value in enumerate(pair_values(labels, scores.astype(float))):
        above, below = scores[positive[i]], scores[negative[i]]
        assert value == HALVES * (int(above > below) + Fraction(int(above == below), 2))
    moved = scores.copy()
    moved[0] += 5  # another x for one item moves one pair
    apart = pair_values(labels, moved.astype(float)) != pair_values(labels, scores.astype(float))
    assert np.count_nonzero(apart) <= 1


def test_theorem_AUC_BY_PAIRS_expects_the_area_of_the_population() -> None:
    """The exact law on a universe of 3 x 2 items: the mean over all samples is the area by trapezia."""
    law = {(0, 0): 3, (1, 0): 2, (2, 0): 1, (0, 1): 1, (1, 1): 2, (2, 1): 4}
    score = {0: 0.1, 1: 0.7, 2: 0.7}
    expected, weight = Fraction(0), 0
    for sample in product(law, repeat=4):
        labels = np.array([y for _, y in sample])
        if labels.min() == labels.max():
            continue
        values = pair_values(labels, np.array([score[x] for x, _ in sample]))
        chance = int(np.prod([law[item] for item in sample]))
        expected += chance * Fraction(int(values.sum()), HALVES * values.size)
        weight += chance
    points, area = [(Fraction(0), Fraction(0))], Fraction(0)
    for bar in (0.7, 0.1):
        rates = []
        for y in (0, 1):
            above = sum(w for (x, label), w in law.items() if label == y and score[x] >= bar)
            rates.append(Fraction(above, sum(w for (_, label), w in law.items() if label == y)))
        (x0, y0), (x1, y1) = points[-1], (rates[0], rates[1])
        area += (x1 - x0) * (y0 + y1) / 2
        points.append((x1, y1))
    assert expected / weight == area


def test_theorem_AUC_BY_PAIRS_is_near_the_area(tmp_path: Path) -> None:
    n, rng = 40_000, np.random.default_rng(4)
    labels = (rng.random(n) < 0.3).astype(int)
    signal = rng.normal(size=n) + labels
    with Holdout.create(
        tmp_path / "a.toml", labels=labels, metric="auc", tolerance="0.06", bits=Seeded(5)
    ) as holdout:
        assert holdout.facts.units == labels.sum()
        score = holdout.score(signal)
        assert score.interval.low < 0.76025 < score.interval.high  # Phi(1/sqrt 2)
        assert abs(score.value - 0.76025) < 0.06
        assert "AUC-BY-PAIRS" in score.certificate.theorems
        assert holdout.compare(signal, -signal).verdict == "better"
        flat = holdout.score(np.zeros(n))
        assert flat.interval.low < 0.5 < flat.interval.high
    with Holdout.open(tmp_path / "a.toml") as again:
        assert again.score(signal).repeated
