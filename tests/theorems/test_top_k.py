"""The k best: the law of the ordered list on all small tables, its error, and the alternative in one shot."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_oracle import Script, Seeded
from selection_oracle import APPROVALS, ROUNDING, approvals, fit, neighbouring, peeling, worst_ratio

from adyton.errors import InvalidRequest
from adyton.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.mechanisms.selection.scores import ScoreSensitivity
from adyton.mechanisms.selection.top_k import TopK
from adyton.privacy import NEIGHBOURS, Neighbours, PureCost

ALARM = 1e-8  # of each test of fit, were its bits fresh; they are fixed, so it never wavers
ONE = Fraction(1)
GENERAL = ScoreSensitivity(ONE)
ABC = ("a", "b", "c")


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_theorem_TOP_K_on_every_pair_of_small_tables(neighbours: Neighbours, k: int) -> None:
    selection = TopK(ABC, k, Fraction(2), ScoreSensitivity.of_counts(neighbours))

    def law(table: tuple[object, ...]) -> list[float]:
        return [float(p) for p in peeling(approvals(table), k, selection.rate).values()]

    worst = worst_ratio(neighbouring(APPROVALS, 3, neighbours), law)
    assert worst <= selection.cost().epsilon + ROUNDING
    assert worst > (1.8 if k == 1 else 1.0)


@pytest.mark.literature
@pytest.mark.parametrize("k", [2, 3])
def test_theorem_TOP_K_the_price_of_a_single_choice_is_refuted(k: int) -> None:
    """Epsilon in every round and not a k-th of it; three candidates leave nothing to choose in round three."""
    careless = TopK(ABC, 1, ONE, GENERAL)
    worst = worst_ratio(
        neighbouring(APPROVALS, 3, "replace"),
        lambda t: [float(p) for p in peeling(approvals(t), k, careless.rate).values()],
    )
    assert worst > 1.1


@pytest.mark.parametrize(("scores", "k"), [([3, 1, 0], 2), ([2, 2, 2], 3), ([9, -(10**30), 8], 1)])
def test_theorem_TOP_K_releases_by_its_law(scores: list[int], k: int) -> None:
    selection, bits = TopK((0, 1, 2), k, Fraction(3), GENERAL), Seeded(61)
    taken = Counter(selection.release(scores, bits) for _ in range(3000))
    law = peeling(scores, k, Fraction(3) / (2 * k))
    assert set(taken) <= set(law)
    assert fit([taken[order] for order in law], [float(p) for p in law.values()]) > ALARM


def test_theorem_TOP_K_is_permute_and_flip_with_a_kth_of_epsilon_on_those_left() -> None:
    scores = list(range(300))
    selection = TopK(tuple(scores), 3, Fraction(3, 100), GENERAL)

    def expected(epsilon: Fraction, seed: int) -> tuple[int, ...]:
        bits, left, taken = Seeded(seed), scores, []
        for _ in range(3):
            taken.append(PermuteAndFlip(tuple(left), epsilon, GENERAL).release(left, bits))
            left = [s for s in left if s != taken[-1]]
        return tuple(taken)

    released = [selection.release(scores, Seeded(s)) for s in range(20)]
    assert released == [expected(Fraction(1, 100), s) for s in range(20)]
    assert released != [expected(Fraction(51, 5000), s) for s in range(20)]


def test_theorem_TOP_K_one_is_permute_and_flip() -> None:
    scores = [4, 9, 2, 9]
    one, same = TopK((0, 1, 2, 3), 1, ONE, GENERAL), PermuteAndFlip((0, 1, 2, 3), ONE, GENERAL)
    for seed in range(30):
        assert one.release(scores, Seeded(seed)) == (same.release(scores, Seeded(seed)),)
    assert one.error(0.9) == same.error(0.9)


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=4), st.integers(1, 3), st.fractions(Fraction(1, 2), 9)
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_theorem_TOP_K_UTILITY_holds_for_every_place_at_once(
    scores: list[int], k: int, epsilon: Fraction
) -> None:
    k = min(k, len(scores))
    selection = TopK(tuple(range(len(scores))), k, epsilon, GENERAL)
    best = sorted(scores, reverse=True)
    law = peeling(scores, k, selection.rate)
    for confidence in (0.5, 0.95):
        error = selection.error(confidence)
        good = sum(
            p for order, p in law.items() if all(scores[i] >= best[j] - error for j, i in enumerate(order))
        )
        assert good >= confidence - 1e-12


def test_theorem_TOP_K_UTILITY_needs_a_share_of_the_failure_for_every_round() -> None:
    """Two best and two bad ones: both rounds may fail, together more often than the bound of one round says."""
    scores, gap, rate = [10, 10, 0, 0], 10, 0.5
    selection = TopK((0, 1, 2, 3), 2, Fraction(2), GENERAL)
    assert selection.rate == Fraction(1, 2)
    bad = sum(p for order, p in peeling(scores, 2, selection.rate).items() if not set(order) <= {0, 1})
    confidence = 1 - 1.55 * math.exp(-rate * gap)
    assert 1.5 * math.exp(-rate * gap) < 1 - confidence < bad
    assert selection.error(confidence) >= gap


def one_shot(scores: list[int], k: int, scale: float) -> dict[tuple[int, ...], float]:
    """All noise drawn once and the k largest taken: the other way to spend k shares."""
    noise = np.arange(-60, 61)
    mass = np.exp(-np.abs(noise) / scale)
    mass /= mass.sum()
    values = [s + noise for s in scores]
    grids = np.meshgrid(*values, indexing="ij")
    chance = mass[:, None, None] * mass[None, :, None] * mass[None, None, :]
    order = np.argsort(-np.stack(grids), axis=0, kind="stable")[:k]
    code = (order * np.array([3**j for j in range(k)]).reshape(-1, 1, 1, 1)).sum(axis=0)
    total = np.bincount(code.ravel(), chance.ravel(), minlength=3**k)
    return {
        o: float(total[sum(i * 3**j for j, i in enumerate(o))]) for o in itertools.permutations(range(3), k)
    }


@pytest.mark.parametrize("scores", [[6, 3, 0], [5, 5, 0], [8, 0, 0], [2, 1, 0]])
def test_law_peeling_is_no_worse_than_one_shot_at_the_same_price(scores: list[int]) -> None:
    """Expected sum of the two scores that are released; exact, for these inputs."""
    selection = TopK((0, 1, 2), 2, Fraction(2), GENERAL)
    peeled = peeling(scores, 2, selection.rate)
    shot = one_shot(scores, 2, float(1 / selection.rate))
    assert sum(shot.values()) == pytest.approx(1)

    def worth(law: dict[tuple[int, ...], float]) -> float:
        return float(sum(p * sum(scores[i] for i in order) for order, p in law.items()))

    assert worth(peeled) >= worth(shot)


def test_law_cost_and_declarations() -> None:
    assert TopK(ABC, 2, Fraction(1, 3), GENERAL).cost() == PureCost(Fraction(1, 3))
    for k, epsilon in ((0, ONE), (4, ONE), (1, Fraction(0))):
        with pytest.raises(InvalidRequest):
            TopK(ABC, k, epsilon, GENERAL)
    with pytest.raises(InvalidRequest):
        TopK(ABC, 1, ONE, GENERAL).release([1, 2], Script())
    assert sorted(TopK(ABC, 3, ONE, GENERAL).release([1, 2, 3], Seeded(3))) == list(ABC)
