"""Permute-and-flip: its law, its guarantee on all small tables, and that it is never worse."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_oracle import Script
from selection_oracle import (
    APPROVALS,
    ROUNDING,
    approvals,
    exponential,
    fit,
    neighboring,
    permute_and_flip,
    worst_ratio,
)

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import ADJACENCIES, Adjacency, PureCost
from adyton.kernel.special.mechanisms.coins import below
from adyton.kernel.special.mechanisms.exponential_weights import flip
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.noise_intervals.selections import exponential_chance, flip_chance, shortfall_of
from support.randomness import Seeded
from support.tries import often

ALARM = 1e-8  # of each test of fit, were its bits fresh; they are fixed, so it never wavers
ONE = Fraction(1)
HALF = Fraction(1, 2)
GENERAL = ScoreSensitivity(ONE)
SCORES = st.lists(st.integers(-9, 9), min_size=1, max_size=4)
EPSILONS = st.fractions(Fraction(1, 20), 4)


def mechanism(scores: list[int], epsilon: Fraction) -> PermuteAndFlip[int]:
    return PermuteAndFlip(tuple(range(len(scores))), epsilon, GENERAL)


@given(SCORES, EPSILONS, st.fractions(Fraction(1, 9), 9), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_theorem_PERMUTE_AND_FLIP_has_the_law_of_going_through_every_order(
    scores: list[int], epsilon: Fraction, bound: Fraction, monotone: bool
) -> None:
    selection = PermuteAndFlip(tuple(range(len(scores))), epsilon, ScoreSensitivity(bound, monotone))
    expected = permute_and_flip(scores, epsilon / bound if monotone else epsilon / (2 * bound))
    assert np.allclose(selection.law(scores), [float(p) for p in expected], rtol=1e-11, atol=0)


@pytest.mark.parametrize(
    "scores", [[3, 1, 0, 3], [0, 0, 0], [5], [10**30, 10**30 - 2, -(10**30)], [0, -(2**63), -1]]
)
def test_theorem_PERMUTE_AND_FLIP_releases_by_its_law(scores: list[int]) -> None:
    """Also the fewer releases see a rate of one and a half times; one that is a fiftieth off is seen below."""
    chosen, bits = mechanism(scores, Fraction(3, 2)), Seeded(31)
    runs = often(1500, 4000)
    taken = Counter(chosen.release(scores, bits) for _ in range(runs))
    law = [float(p) for p in permute_and_flip(scores, Fraction(3, 4))]
    assert fit([taken[i] for i in range(len(scores))], law) > ALARM if len(scores) > 1 else taken == {0: runs}


@pytest.mark.parametrize(("monotone", "rate"), [(False, Fraction(1, 200)), (True, Fraction(1, 100))])
def test_theorem_PERMUTE_AND_FLIP_releases_at_the_rate_of_the_book(monotone: bool, rate: Fraction) -> None:
    """The same bits give the same heads as coins of probability exp(-epsilon * gap / (2 * bound))."""
    scores = list(range(1000))
    selection = PermuteAndFlip(tuple(scores), Fraction(1, 100), ScoreSensitivity(ONE, monotone))
    gaps = np.arange(999, -1, -1).astype(np.uint64)

    def expected(rate: Fraction, seed: int) -> int:
        bits = Seeded(seed)
        heads = np.flatnonzero(flip(gaps, rate, bits))
        return int(heads[below(heads.size, bits)])

    taken = [selection.release(scores, Seeded(s)) for s in range(40)]
    assert taken == [expected(rate, s) for s in range(40)]
    assert taken != [expected(rate * 51 / 50, s) for s in range(40)]


def test_theorem_PERMUTE_AND_FLIP_takes_a_uniform_one_of_the_heads() -> None:
    """Coins 0, 2, 3 show heads (2 has the best score); then number 0, 1 or 2 of these is taken."""
    coins = [0, 2**64 - 1, 2**64 - 1, 0]
    for number, taken in ((0, 0), (1, 2), (2, 3), (3, 0), (4, 2)):
        bits = Script(*coins, number, 0)
        assert mechanism([0] * 4, ONE).release([-1, -50, 0, -1], bits) == taken
        assert bits.left == 0


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), ONE, Fraction(3)])
def test_theorem_PERMUTE_AND_FLIP_on_every_pair_of_small_tables(
    adjacency: Adjacency, epsilon: Fraction
) -> None:
    selection = PermuteAndFlip((0, 1, 2), epsilon, ScoreSensitivity.of_counts(adjacency))
    worst = worst_ratio(neighboring(APPROVALS, 4, adjacency), lambda t: selection.law(approvals(t)))
    assert worst <= selection.cost().epsilon + ROUNDING
    assert worst > 0.97 * epsilon  # tight already on tables of four rows


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_theorem_PERMUTE_AND_FLIP_a_rate_of_a_tenth_more_is_refuted(adjacency: Adjacency) -> None:
    careless = PermuteAndFlip((0, 1, 2), Fraction(11, 10), ScoreSensitivity.of_counts(adjacency))
    assert worst_ratio(neighboring(APPROVALS, 4, adjacency), lambda t: careless.law(approvals(t))) > 1.05


def test_theorem_PERMUTE_AND_FLIP_monotone_form_is_refuted_if_rows_change() -> None:
    careless = PermuteAndFlip((0, 1, 2), ONE, ScoreSensitivity(ONE, monotone=True))
    assert worst_ratio(neighboring(APPROVALS, 3, "replace-one"), lambda t: careless.law(approvals(t))) > 1.8


@given(SCORES, EPSILONS)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_theorem_PERMUTE_AND_FLIP_is_noisy_max_with_exponential_noise(
    scores: list[int], epsilon: Fraction
) -> None:
    """The page's change of variables: score + noise of rate r is the largest, integrated numerically."""
    rate = float(mechanism(scores, epsilon).rate)
    law = permute_and_flip(scores, Fraction(epsilon, 2))
    nodes, weights = np.polynomial.legendre.leggauss(200)
    for i, chance in enumerate(law):
        # x = exp(-rate * noise_i), so the noise needs no end; below x_i nothing can beat the best score
        largest = math.exp(-rate * (max(scores) - scores[i]))
        x = (nodes + 1) / 2 * largest
        others = [1 - x * math.exp(-rate * (scores[i] - s)) for j, s in enumerate(scores) if j != i]
        integral = float(weights @ np.prod(others, axis=0)) / 2 * largest if others else 1.0
        assert integral == pytest.approx(float(chance), rel=1e-9)


@given(SCORES, EPSILONS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_theorem_PERMUTE_AND_FLIP_UTILITY_never_worse_at_any_shortfall(
    scores: list[int], epsilon: Fraction
) -> None:
    rate = mechanism(scores, epsilon).rate
    flips, choices = permute_and_flip(scores, rate), exponential(scores, rate)
    for least in set(scores):
        missed = [
            mpmath.fsum(p for p, s in zip(law, scores, strict=True) if s < least) for law in (flips, choices)
        ]
        assert missed[0] <= missed[1] + mpmath.mpf(10) ** -40


@pytest.mark.parametrize("gap", [1, 4, 20])
@pytest.mark.parametrize("others", [1, 2, 6])
def test_theorem_PERMUTE_AND_FLIP_UTILITY_error_beside_the_exponential(gap: int, others: int) -> None:
    """Exact expected shortfalls: of one best candidate and some that lie ``gap`` points below it."""
    scores = [gap] + [0] * others
    shortfall = [0] + [gap] * others
    flips = mechanism(scores, ONE).law(scores) @ shortfall
    choices = ExponentialMechanism(tuple(range(others + 1)), ONE, GENERAL).law(scores) @ shortfall
    assert flips < choices
    if others * math.exp(-gap / 2) < 0.001:
        assert choices / flips == pytest.approx(2, rel=0.01)  # where both err rarely, one errs half as often


@given(SCORES, EPSILONS, st.integers(1, 20))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_theorem_PERMUTE_AND_FLIP_UTILITY_holds_for_all_scores(
    scores: list[int], epsilon: Fraction, shortfall: int
) -> None:
    rate, best = mechanism(scores, epsilon).rate, scores.count(max(scores))
    law = permute_and_flip(scores, rate)
    missed = float(sum(p for p, s in zip(law, scores, strict=True) if s <= max(scores) - shortfall))
    assert missed <= float(flip_chance(rate, Fraction(shortfall), len(scores), best)) * (1 + 1e-12)
    assert flip_chance(rate, Fraction(shortfall), len(scores), best) <= flip_chance(
        rate, Fraction(shortfall), len(scores)
    )


@pytest.mark.parametrize("best", [1, 2, 3])
@pytest.mark.parametrize("others", [1, 2])
def test_theorem_PERMUTE_AND_FLIP_UTILITY_is_attained_in_the_limit(best: int, others: int) -> None:
    missed = sum(permute_and_flip([20] * best + [0] * others, HALF)[best:])
    assert 0.999 < float(missed) / float(flip_chance(HALF, Fraction(20), best + others, best)) <= 1


@given(st.integers(2, 10**6), st.fractions(Fraction(1, 1000), 50), st.floats(0.01, 1 - 1e-9))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_theorem_PERMUTE_AND_FLIP_UTILITY_error_is_the_least_of_the_bound(
    number: int, epsilon: Fraction, confidence: float
) -> None:
    """The error is the least that the bound gives."""
    selection = PermuteAndFlip(tuple(range(number)), epsilon, GENERAL)
    error, failure = shortfall_of(selection, confidence), 1 - Fraction(str(confidence))
    assert flip_chance(selection.rate, Fraction(error + 1), number) <= failure
    assert error == 0 or flip_chance(selection.rate, Fraction(error), number) > failure
    assert error <= shortfall_of(ExponentialMechanism(tuple(range(number)), epsilon, GENERAL), confidence)
    assert flip_chance(selection.rate, Fraction(9), number) <= exponential_chance(
        selection.rate, Fraction(9), number
    )


class Counting(Seeded):
    """How many words were read."""

    read = 0

    def words(self, count: int) -> np.ndarray:
        self.read += count
        return super().words(count)


@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
def test_law_the_number_of_words_read_says_nothing_about_the_scores(
    kind: type[ExponentialMechanism[int]] | type[PermuteAndFlip[int]],
) -> None:
    """A sampler that tries candidates until one is accepted would need one try or a thousand."""
    selection, reads = kind(tuple(range(1000)), ONE, GENERAL), set()
    for scores in (
        [0] * 1000,
        [10**9] + [0] * 999,
        list(range(1000)),
        [0] * 999 + [50],
        [10**40] + [0] * 999,
    ):
        bits = Counting(32)
        selection.release(scores, bits)
        reads.add(bits.read)
    assert len(reads) == 1


def test_law_cost_and_declarations() -> None:
    assert PermuteAndFlip(("a",), Fraction(1, 3), GENERAL).cost() == PureCost(Fraction(1, 3))
    for candidates, epsilon in (((), ONE), (("a",), Fraction(0))):
        with pytest.raises(InvalidRequest):
            PermuteAndFlip(candidates, epsilon, GENERAL)
    with pytest.raises(InvalidRequest):
        PermuteAndFlip(("a", "b"), ONE, GENERAL).release([1], Script())
    with pytest.raises(InvalidRequest):
        PermuteAndFlip(tuple(range(3000)), ONE, GENERAL).law([0] * 3000)
