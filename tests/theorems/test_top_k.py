"""The k best: the law of the ordered list on all small tables, its error, and the alternative in one shot."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_oracle import Script
from scipy.special import ndtr
from selection_oracle import (
    APPROVALS,
    ROUNDING,
    approvals,
    exponential,
    fit,
    neighboring,
    peeling,
    worst_ratio,
)

from adyton.errors import InvalidRequest
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.privacy import ADJACENCIES, Adjacency, BoundedRangeCost, PureCost
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.noise_intervals.selections import noisy_order_chance, shortfall_of
from support.randomness import Seeded

ALARM = 1e-8  # of each test of fit, were its bits fresh; they are fixed, so it never wavers
ONE = Fraction(1)
GENERAL = ScoreSensitivity(ONE)
ABC = ("a", "b", "c")


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_theorem_TOP_K_on_every_pair_of_small_tables(adjacency: Adjacency, k: int) -> None:
    selection = TopK(ABC, k, Fraction(2), ScoreSensitivity.of_counts(adjacency))

    def law(table: tuple[object, ...]) -> list[float]:
        return [float(p) for p in peeling(approvals(table), k, selection.rate).values()]

    worst = worst_ratio(neighboring(APPROVALS, 3, adjacency), law)
    assert worst <= selection.cost().epsilon + ROUNDING
    assert worst > (1.8 if k == 1 else 1.0)


@pytest.mark.literature
@pytest.mark.parametrize("k", [2, 3])
def test_theorem_TOP_K_the_price_of_a_single_choice_is_refuted(k: int) -> None:
    """Epsilon in every round and not a k-th of it; three candidates leave nothing to choose in round three."""
    careless = TopK(ABC, 1, ONE, GENERAL)
    worst = worst_ratio(
        neighboring(APPROVALS, 3, "replace-one"),
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


def test_theorem_TOP_K_is_permute_and_flip_with_a_kth_of_epsilon() -> None:
    """The top k are permute-and-flip, with a kth of epsilon, on those left."""
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
    assert shortfall_of(one, 0.9) == shortfall_of(same, 0.9)


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
        error = shortfall_of(selection, confidence)
        good = sum(
            p for order, p in law.items() if all(scores[i] >= best[j] - error for j, i in enumerate(order))
        )
        assert good >= confidence - 1e-12


def test_theorem_TOP_K_UTILITY_needs_a_share_of_the_failure_a_round() -> None:
    """Two best and two bad ones: both rounds may fail, together more often than the bound of one round says."""
    scores, gap, rate = [10, 10, 0, 0], 10, 0.5
    selection = TopK((0, 1, 2, 3), 2, Fraction(2), GENERAL)
    assert selection.rate == Fraction(1, 2)
    bad = sum(p for order, p in peeling(scores, 2, selection.rate).items() if not set(order) <= {0, 1})
    confidence = 1 - 1.55 * math.exp(-rate * gap)
    assert 1.5 * math.exp(-rate * gap) < 1 - confidence < bad
    assert shortfall_of(selection, confidence) >= gap


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


def peeled_exponential(scores: list[int], k: int, rate: Fraction) -> dict[tuple[int, ...], float]:
    """The law of the ordered list, from that of one round."""
    law: dict[tuple[int, ...], float] = {}
    for order in itertools.permutations(range(len(scores)), k):
        left, chance = list(range(len(scores))), 1.0
        for place in order:
            chance *= float(exponential([scores[i] for i in left], rate)[left.index(place)])
            left.remove(place)
        law[order] = chance
    return law


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("k", [1, 2])
def test_theorem_TOP_K_without_flips_has_its_range_in_every_round(adjacency: Adjacency, k: int) -> None:
    selection = TopK(ABC, k, Fraction(2), ScoreSensitivity.of_counts(adjacency), flips=False)

    def law(table: tuple[object, ...]) -> list[float]:
        return list(peeled_exponential(approvals(table), k, selection.rate).values())

    cost = selection.cost()
    assert cost.pure == 2
    assert cost.zcdp == k * Fraction(2, k) ** 2 / 8
    assert cost.gdp == k * BoundedRangeCost(Fraction(2, k)).gdp < PureCost(Fraction(2)).gdp
    pairs = list(neighboring(APPROVALS, 2, adjacency))
    assert worst_ratio(pairs, law) <= float(cost.pure) + ROUNDING
    for one, other in pairs:  # Kullback-Leibler, the least of the Renyi divergences, is below rho
        p, q = np.array(law(one)), np.array(law(other))
        assert float((p * np.log(p / q)).sum()) <= float(cost.zcdp) + ROUNDING


@pytest.mark.parametrize(("scores", "k"), [([3, 1, 0], 2), ([9, -(10**30), 8], 1)])
def test_theorem_TOP_K_without_flips_releases_by_its_law(scores: list[int], k: int) -> None:
    selection, bits = TopK((0, 1, 2), k, Fraction(3), GENERAL, flips=False), Seeded(67)
    taken = Counter(selection.release(scores, bits) for _ in range(3000))
    law = peeled_exponential(scores, k, Fraction(3) / (2 * k))
    assert set(taken) <= set(law)
    assert fit([taken[order] for order in law], list(law.values())) > ALARM


@pytest.mark.parametrize("epsilon", [ONE, Fraction(4)])
def test_theorem_TOP_K_UTILITY_without_flips(epsilon: Fraction) -> None:
    scores = [7, 5, 5, 0]
    selection = TopK(tuple(range(4)), 2, epsilon, GENERAL, flips=False)
    best, law = sorted(scores, reverse=True), peeled_exponential(scores, 2, selection.rate)
    for confidence in (0.5, 0.95):
        error = shortfall_of(selection, confidence)
        good = sum(
            p for order, p in law.items() if all(scores[i] >= best[j] - error for j, i in enumerate(order))
        )
        assert good >= confidence - 1e-12
    assert shortfall_of(selection, 0.95) >= shortfall_of(TopK(tuple(range(4)), 2, epsilon, GENERAL), 0.95)


def chances_of_falling_short(
    scores: list[int], k: int, noise: GaussianNoise | GeometricNoise
) -> dict[int, float]:
    """For each c, exactly over all noise up to ten: P(some place j <= k is c or more below the j-th best)."""
    reach = 10
    each, mass = np.arange(-reach, reach + 1), _mass(noise, reach)
    grids = np.meshgrid(*[each] * len(scores), indexing="ij")
    noisy = np.stack([s + g.ravel() for s, g in zip(scores, grids, strict=True)])
    chance = np.prod([mass[g.ravel() + reach] for g in grids], axis=0)
    ranked, best = np.argsort(-noisy, axis=0, kind="stable")[:k], sorted(scores, reverse=True)
    missed = np.max([best[j] - np.array(scores)[ranked[j]] for j in range(k)], axis=0)
    return {c: float(chance[missed >= c].sum()) for c in range(1, best[0] - best[-1] + 1)}


NOISES = [GaussianNoise((Fraction(3, 2),)), GeometricNoise((Fraction(1),))]


@pytest.mark.parametrize("noise", NOISES)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=4), st.integers(1, 2))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_theorem_NOISY_ORDER_bounds_what_is_missed(
    noise: GaussianNoise | GeometricNoise, scores: list[int], k: int
) -> None:
    for c, chance in chances_of_falling_short(scores, min(k, len(scores) - 1), noise).items():
        assert chance <= float(noisy_order_chance(noise, c, len(scores), min(k, len(scores) - 1)))


@pytest.mark.parametrize("noise", NOISES)
def test_theorem_NOISY_ORDER_every_pair_counts_and_both_have_noise(
    noise: GaussianNoise | GeometricNoise,
) -> None:
    """Two best and two bad ones: the chance is more than that of one best one alone would be."""
    seen = chances_of_falling_short([0, 0, 6, 6], 2, noise)[6]  # ties go to the bad ones
    assert 0.7 < seen / (4 * _tail(noise, 6)) <= 1
    assert 4 * _tail(noise, 6) <= float(noisy_order_chance(noise, 6, 4, 2))


def _tail(noise: GaussianNoise | GeometricNoise, gap: int) -> float:
    mass = _mass(noise, 40)
    return float(sum(mass[a] * mass[: max(0, a - gap + 1)].sum() for a in range(mass.size)))


def _mass(noise: GaussianNoise | GeometricNoise, reach: int) -> np.ndarray:
    places, scale = np.arange(-reach, reach + 1), float(noise.scales[0])
    if isinstance(noise, GeometricNoise):
        q = math.exp(-1 / scale)
        return (1 - q) / (1 + q) * q ** np.abs(places)
    return ndtr((places + 0.5) / scale) - ndtr((places - 0.5) / scale)


def test_theorem_NOISY_ORDER_the_normal_tail_is_on_the_safe_side() -> None:
    for scale in (Fraction(1, 3), Fraction(7, 2), Fraction(10**6)):
        noise = GaussianNoise((scale,))
        for shortfall in (1, 2, 40, 10**7):
            with mpmath.workdps(40):
                x = mpmath.mpf(shortfall - 1) / mpmath.sqrt(2) * scale.denominator / scale.numerator
                true = 6 * mpmath.ncdf(-x)
                found = noisy_order_chance(noise, shortfall, 4, 2)
                assert true <= mpmath.mpf(found.numerator) / found.denominator <= true * (1 + 1e-7) + 1e-250
