"""Classes of rules: how much they can say, and one interval for all of them at once."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from adyton.errors import InvalidRequest
from adyton.holdout.classes.hypotheses import Boxes, LinearSeparators, Thresholds
from adyton.validity.classes.growth import RuleClass
from adyton.validity.classes.uniform import (
    UniformShares,
    threshold_width,
    uniform_shares,
    uniform_width,
)
from support.tries import often

BETA = Fraction(1, 20)


# How much can be said --------------------------------------------------------------------------------------


def _thresholds(points: np.ndarray) -> set[bytes]:
    found = set()
    for column in points.T:
        for cut in [-np.inf, *column]:
            found |= {(column > cut).tobytes(), (column <= cut).tobytes()}
    return found


def _boxes(points: np.ndarray) -> set[bytes]:
    """The least box around any 2d points, or none."""
    found = {np.zeros(len(points), bool).tobytes()}
    for size in range(1, 2 * points.shape[1] + 1):
        for some in combinations(range(len(points)), size):
            low, high = points[list(some)].min(axis=0), points[list(some)].max(axis=0)
            found.add(((points >= low) & (points <= high)).all(axis=1).tobytes())
    return found


def _linear_in_the_plane(points: np.ndarray) -> set[bytes]:
    """Every set that a line cuts off is cut off by one close to a line through two of the points."""
    found = {np.zeros(len(points), bool).tobytes(), np.ones(len(points), bool).tobytes()}
    for a, b in combinations(points, 2):
        for turn in (-1e-7, 1e-7):
            along = b - a
            across = np.array([-along[1], along[0]]) + turn * along
            for middle in (a, b, (a + b) / 2):
                for shift in (-1e-9, 1e-9):
                    side = (points - middle) @ across > shift
                    found |= {side.tobytes(), (~side).tobytes()}
    return found


def test_theorem_GROWTH_OF_CLASSES_nothing_more_can_be_said() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 5, 7):
        for d in (1, 2, 3):
            for points in (rng.random((n, d)), rng.integers(0, 3, (n, d)).astype(float)):
                assert len(_thresholds(points)) <= RuleClass("thresholds", d).growth(n)
                assert len(_boxes(points)) <= RuleClass("boxes", d).growth(n)
        assert len(_thresholds(rng.random((n, 1)))) == RuleClass("thresholds", 1).growth(n) == 2 * n
        assert len(_boxes(rng.random((n, 1)))) == RuleClass("boxes", 1).growth(n)
        if n > 1:
            plane = rng.random((n, 2))
            assert len(_linear_in_the_plane(plane)) == RuleClass("linear", 2).growth(n)  # attained
            assert RuleClass("linear", 1).growth(n) == RuleClass("thresholds", 1).growth(n)


def test_theorem_GROWTH_OF_CLASSES_dimensions_are_those_of_the_textbooks() -> None:
    for d in (1, 2, 3, 10):
        for kind, dimension in (("boxes", 2 * d), ("linear", d + 1)):
            rules = RuleClass(kind, d)
            assert rules.dimension == dimension
            assert rules.growth(dimension) == 2**dimension
            assert rules.growth(dimension + 1) < 2 ** (dimension + 1)
    assert RuleClass("thresholds", 1).dimension == 2
    with pytest.raises(InvalidRequest, match="linear:3"):
        RuleClass.named("linear:x")
    with pytest.raises(InvalidRequest, match="thresholds, boxes or linear"):
        RuleClass.named("forests:2")


# Intervals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "d", "n"), [("thresholds", 1, 50), ("linear", 2, 400), ("boxes", 2, 1000)])
def test_theorem_UNIFORM_CLASSES_ends_are_those_of_the_draw_itself(kind: str, d: int, n: int) -> None:
    """The least number of yeses among all at which so few rows would say yes no more often than the level."""
    shares = uniform_shares(RuleClass(kind, d), n, BETA)
    level = float(BETA) / 4 / shares.rules.growth(n + shares.ghosts)
    counts = np.unique(np.linspace(0, n - 1, 15).astype(int))
    for k, end in zip(counts, shares.greatest(counts), strict=True):
        among = round(float(end) * shares.ghosts) + int(k)
        at, before = stats.hypergeom.cdf(k, n + shares.ghosts, [among, among - 1], n)
        if end < 1:
            assert at <= level * (1 + 1e-6)
            assert before > level * 0.98  # the series is almost the tail
        assert end > k / n
    assert shares.greatest(np.array([n]))[0] == 1
    assert np.allclose(shares.least(counts), 1 - shares.greatest(n - counts), atol=1e-12)


@pytest.mark.parametrize("n", [3000, 100_000])
def test_theorem_UNIFORM_CLASSES_both_ends_are_rounded_outwards(n: int) -> None:
    """Against fractions: near 1 the difference from 1 is rounded by more than a part of what is subtracted."""
    shares = uniform_shares(RuleClass("thresholds", 1), n, BETA)
    no = np.arange(60)
    tops, lows = shares.greatest(no), shares.least(n - no)
    for k, top, low in zip(no, tops, lows, strict=True):
        exact = Fraction(round(float(top) * shares.ghosts), shares.ghosts)
        assert abs(exact - Fraction(float(top))) < Fraction(1, 10**14)
        assert Fraction(float(top)) >= exact
        assert Fraction(float(low)) <= 1 - exact, k


def test_theorem_UNIFORM_CLASSES_covers_the_worst_threshold() -> None:
    """Labels are fair coins, so every threshold is right half of the time: the luckiest one must be covered.

    Guaranteed: at most 5 % of tables.  A false alarm has probability below 1e-9.  An interval at the level of
    one query fails far more often: the power of this test.
    """
    rng, n, tables = np.random.default_rng(2), 300, often(400, 4000)
    shares = uniform_shares(RuleClass("thresholds", 1), n, BETA)
    low, high = shares.least(np.arange(n + 1)), shares.greatest(np.arange(n + 1))
    missed = missed_by_one = 0
    for _ in range(tables):
        steps = np.cumsum(np.concatenate([[0], 2 * rng.integers(0, 2, n) - 1]))
        right = (n + steps[-1] - 2 * steps) // 2
        missed += bool((low[right] > 0.5).any() or (high[right] < 0.5).any())
        missed_by_one += bool(np.abs(right / n - 0.5).max() > 0.98 / math.sqrt(n))
    assert missed <= stats.binom.isf(1e-9, tables, float(BETA))
    assert missed_by_one > 0.3 * tables


def test_theorem_UNIFORM_CLASSES_the_width_is_that_of_the_longest_arm() -> None:
    for rules, n in ((RuleClass("thresholds", 1), 200), (RuleClass("linear", 3), 1200)):
        shares = uniform_shares(rules, n, BETA)
        counts = np.arange(n + 1)
        arms = np.maximum(shares.greatest(counts) - counts / n, counts / n - shares.least(counts))
        assert arms.max() <= uniform_width(shares) <= arms.max() * 1.001


def test_theorem_UNIFORM_CLASSES_any_ghosts_are_valid_and_ours_near_best() -> None:
    """Any number of ghosts is valid, and ours is near the best."""
    rules, n = RuleClass("linear", 2), 2000
    ours = uniform_shares(rules, n, BETA)
    half = np.array([n // 2])
    widths = [
        float(UniformShares(rules, n, BETA, n * times).greatest(half)[0]) for times in (1, 2, 5, 10, 20, 100)
    ]
    assert float(ours.greatest(half)[0]) <= min(widths) + 1e-3
    assert widths[0] > float(ours.greatest(half)[0]) + 0.01


@pytest.mark.parametrize("n", [10, 100, 1000, 100_000])
def test_theorem_UNIFORM_CLASSES_thresholds_by_the_law_of_kolmogorov(n: int) -> None:
    """Thresholds of one column by the law of Kolmogorov."""
    width = threshold_width(n, BETA)
    assert stats.kstwo.sf(width, n) <= float(BETA)
    assert n < 1000 or stats.kstwo.sf(width * 0.99, n) > float(BETA)


# Rules are applied exactly ---------------------------------------------------------------------------------


def test_theorem_UNIFORM_CLASSES_linear_rules_are_linear_to_the_last_digit() -> None:
    """Sums that floats get wrong: they cancel, overflow or vanish.  Fractions decide."""
    rng = np.random.default_rng(3)
    kind = LinearSeparators()
    wrong = 0
    for _ in range(60):
        d = int(rng.integers(1, 6))
        features = rng.integers(-3, 4, (30, d)) * 10.0 ** rng.integers(-2, 3, (30, d))
        weights = rng.integers(-3, 4, d) * 0.1 * 10.0 ** rng.integers(-20, 20)
        on_the_line = features[int(rng.integers(30))]
        given = {"weights": weights, "intercept": -float(weights @ on_the_line)}
        rule = kind.rule(given, d)
        exact = [
            sum(
                (Fraction(float(w)) * Fraction(float(x)) for w, x in zip(rule, [*row, 1.0], strict=True)),
                Fraction(0),
            )
            > 0
            for row in features
        ]
        found = kind.apply(rule, features)
        assert found.tolist() == exact
        wrong += int((((features @ weights + rule[-1]) > 0) != exact).any())
    assert wrong > 5  # floats alone would make other rules
    huge = kind.rule({"weights": [1e300, -1e300, 1.0], "intercept": 0}, 3)
    assert kind.apply(huge, np.array([[1e300, 1e300, 1.0], [1e300, 1e300, -1.0]])).tolist() == [True, False]
    tiny = kind.rule({"weights": [1e-200, -1e-200], "intercept": 0}, 2)
    assert kind.apply(tiny, np.array([[2e-200, 1e-200], [1e-200, 2e-200]])).tolist() == [True, False]


def test_theorem_UNIFORM_CLASSES_linear_rules_beyond_the_range_of_floats() -> None:
    """Mutants: what is not finite, or was too small to be rounded relatively, is left to floats."""
    tiny, huge = 2.0**-537, 1e308
    features = np.array([[tiny, tiny, tiny], [10.0, 10.0, 1.0], [huge, huge, 0.0]])
    for weights in ([1.4 * tiny, 1.4 * tiny, -2.6 * tiny], [huge, -huge, 1.0], [huge, -huge * 0.999, 0.0]):
        rule = np.array([*weights, 0.0])
        exact = [
            sum(Fraction(w) * Fraction(float(x)) for w, x in zip(weights, row, strict=True)) > 0
            for row in features
        ]
        assert LinearSeparators().apply(rule, features).tolist() == exact
        assert any(exact)
    both = np.array([[10.0] * 64])  # sums in any order become infinities of both signs
    assert LinearSeparators().apply(np.array([huge, -huge] * 32 + [1.0]), both).tolist() == [True]


def test_theorem_UNIFORM_CLASSES_thresholds_and_boxes_say_what_they_say() -> None:
    table = np.array([[0.0, 5.0], [1.0, 6.0], [2.0, 7.0]])
    one = Thresholds()
    assert one.apply(one.rule({"column": 0, "above": 1}, 2), table).tolist() == [False, False, True]
    assert one.apply(one.rule({"column": 1, "at_most": 6}, 2), table).tolist() == [True, True, False]
    box = Boxes()
    inside = box.apply(box.rule({"low": [1, None], "high": [2, 6]}, 2), table)
    assert inside.tolist() == [False, True, False]
    for kind, bad in (
        (one, {"column": 2, "above": 1}),
        (one, {"column": 0}),
        (one, {"column": True, "above": 1}),
        (one, {"column": 0, "above": math.nan}),
        (box, {"low": [1], "high": [1, 2]}),
        (box, {"low": 1, "high": [1, 2]}),
        (LinearSeparators(), {"weights": [1, math.inf]}),
        (LinearSeparators(), [0, 1, 1]),
        (LinearSeparators(), {"weights": [1, 2], "slope": 3}),
    ):
        with pytest.raises(InvalidRequest):
            kind.rule(bad, 2)
