"""Report noisy max: winning probabilities summed over all noise, on all small tables; beside OpenDP."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_oracle import Script
from selection_oracle import APPROVALS, approvals, exponential, fit, neighboring, noisy_max, permute_and_flip

from adyton.errors import InvalidRequest
from adyton.kernel.noise import two_sided_geometric
from adyton.kernel.privacy import ADJACENCIES, Adjacency, PureCost
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.noise_intervals.selections import noisy_max_chance
from adyton.textbook.noisy_max import NoisyMax
from support.randomness import Seeded
from support.tries import crossed

ALARM = 1e-8  # of each test of fit, were its bits fresh; they are fixed, so it never wavers
ONE = Fraction(1)
GENERAL, MONOTONE = ScoreSensitivity(ONE), ScoreSensitivity(ONE, monotone=True)


@cache
def enclosed(scores: tuple[int, ...], scale: Fraction) -> tuple[tuple[float, float], ...]:
    """Each index's chance of winning, from below and from above: what the sum left out may belong to any."""
    law, omitted = noisy_max(scores, scale)
    return tuple((float(p) * (1 - 1e-14), (float(p) + omitted) * (1 + 1e-14)) for p in law)


def worst(adjacency: Adjacency, scale: Fraction, largest: int) -> tuple[float, float]:
    """The largest log-ratio over all neighboring tables of approvals, enclosed.  Winning depends on differences
    alone, so scores are counted from the lowest.
    """
    pairs = {
        tuple(tuple(score - min(own) for score in own) for own in map(approvals, pair))
        for pair in neighboring(APPROVALS, largest, adjacency)
    }
    low = high = 0.0
    for a, b in pairs:
        for (p_low, p_high), (q_low, q_high) in zip(enclosed(a, scale), enclosed(b, scale), strict=True):
            low, high = max(low, np.log(p_low / q_high)), max(high, np.log(p_high / q_low))
    return low, high


@pytest.mark.parametrize(
    ("adjacency", "epsilon"), crossed(ADJACENCIES, [Fraction(1, 2), Fraction(1), Fraction(2)])
)
def test_theorem_REPORT_NOISY_MAX_on_every_pair_of_small_tables(
    adjacency: Adjacency, epsilon: Fraction
) -> None:
    """Scale 1/epsilon when rows come and go, 2/epsilon when they are replaced: in both forms exactly epsilon."""
    selection = NoisyMax((0, 1, 2), epsilon, ScoreSensitivity.of_counts(adjacency))
    assert selection.scale == (1 if adjacency == "add-remove" else 2) / epsilon
    low, high = worst(adjacency, Fraction(selection.scale), 4)
    assert high <= epsilon * (1 + Fraction(1, 10**10))
    assert low > 0.85 * epsilon


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_theorem_REPORT_NOISY_MAX_a_tenth_less_noise_is_refuted(adjacency: Adjacency) -> None:
    """Scores that are far apart bring the ratio close to its limit."""
    scale = Fraction(NoisyMax((0, 1), ONE, ScoreSensitivity.of_counts(adjacency)).scale)
    before, after = ((20, 0), (20, 1)) if adjacency == "add-remove" else ((40, 0), (39, 1))
    for share, refuted in ((Fraction(1), False), (Fraction(9, 10), True)):
        losses = [
            np.log(p[0] / q[1])
            for p, q in zip(enclosed(after, share * scale), enclosed(before, share * scale), strict=True)
        ]
        assert (max(losses) > 1) == refuted


@pytest.mark.literature
def test_theorem_REPORT_NOISY_MAX_scale_1_is_refuted_if_rows_change() -> None:
    """The slides' Lap(1/epsilon) holds for counts when a row is added or removed; a replaced row lifts one
    count and lowers another, and then the loss is nearly twice epsilon.
    """
    low, _ = worst("replace-one", ONE, 4)
    assert low > 1.5


def test_theorem_REPORT_NOISY_MAX_any_integer_scores() -> None:
    """Not only counts: every vector of three scores, every way in which each may move by at most 1."""
    general, monotone = (Fraction(NoisyMax((0, 1, 2), ONE, s).scale) for s in (GENERAL, MONOTONE))
    for scores in itertools.product(range(3), repeat=2):
        for scale, moves in ((general, (-1, 0, 1)), (monotone, (0, 1))):
            before = (1, *scores)
            for move in itertools.product(moves, repeat=3):
                after = tuple(s + m for s, m in zip(before, move, strict=True))
                p, q = enclosed(before, scale), enclosed(_from_zero(after), scale)
                for (p_low, p_high), (q_low, q_high) in zip(p, q, strict=True):
                    assert np.log(p_high / q_low) <= 1 + 1e-10
                    assert np.log(q_high / p_low) <= 1 + 1e-10


def _from_zero(scores: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(s - min(scores) for s in scores)


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=4), st.fractions(Fraction(1, 3), 4), st.booleans())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_theorem_REPORT_NOISY_MAX_the_printed_law_is_the_sum(
    scores: list[int], epsilon: Fraction, monotone: bool
) -> None:
    selection = NoisyMax(tuple(range(len(scores))), epsilon, ScoreSensitivity(ONE, monotone))
    law, omitted = noisy_max(scores, Fraction(selection.scale))
    assert np.allclose(selection.law(scores), [float(p) for p in law], rtol=0, atol=omitted + 1e-12)
    assert sum(selection.law(scores)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("scores", [[3, 1, 0, 3], [0, 0, 0], [5], [10**30, 10**30 - 2, -(10**30)]])
def test_theorem_REPORT_NOISY_MAX_releases_by_its_law(scores: list[int]) -> None:
    selection, bits = NoisyMax(tuple(range(len(scores))), Fraction(3, 2), GENERAL), Seeded(41)
    taken = Counter(selection.release(scores, bits) for _ in range(4000))
    law, _ = noisy_max([max(s - max(scores), -1000) for s in scores], Fraction(4, 3))
    assert (
        fit([taken[i] for i in range(len(scores))], [float(p) for p in law]) > ALARM
        if len(scores) > 1
        else taken == {0: 4000}
    )


@pytest.mark.parametrize(("sensitivity", "scale"), [(GENERAL, 200.0), (MONOTONE, 100.0)])
def test_theorem_REPORT_NOISY_MAX_releases_with_the_noise_of_the_book(
    sensitivity: ScoreSensitivity, scale: float
) -> None:
    """The same bits give the same noise as the sampler, whose law is exact, at scale 2 * bound / epsilon."""
    scores, seeds = np.arange(50) * 20, range(300)
    selection = NoisyMax(tuple(range(50)), Fraction(1, 100), sensitivity)

    def expected(scale: float) -> list[int]:
        return [int(np.argmax(scores + two_sided_geometric.draw(scale, 50, Seeded(s)))) for s in seeds]

    taken = [selection.release(scores, Seeded(s)) for s in seeds]
    assert taken == expected(scale)
    assert taken != expected(0.98 * scale)


def test_theorem_REPORT_NOISY_MAX_ties_go_to_the_first() -> None:
    """Words of all ones but the last bit: p just below 1/2, so no noise at all."""
    quiet = 2**64 - 2
    selection = NoisyMax(("a", "b", "c"), ONE, GENERAL)
    assert selection.release([1, 7, 7], Script(quiet, quiet, quiet)) == "b"
    assert selection.release([7, 7, 7], Script(quiet, quiet, quiet)) == "a"


@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=5), st.fractions(Fraction(1, 3), 4), st.integers(1, 12)
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_theorem_NOISY_MAX_UTILITY_holds_for_all_scores(
    scores: list[int], epsilon: Fraction, shortfall: int
) -> None:
    selection = NoisyMax(tuple(range(len(scores))), epsilon, GENERAL)
    missed = sum(
        p for p, s in zip(selection.law(scores), scores, strict=True) if s <= max(scores) - shortfall
    )
    assert missed <= float(noisy_max_chance(Fraction(selection.scale), shortfall, len(scores))) + 1e-12


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2)])
@pytest.mark.parametrize("c", [0, 1, 2, 9])
def test_theorem_NOISY_MAX_UTILITY_the_tail_of_a_difference(scale: Fraction, c: int) -> None:
    with mpmath.workprec(200):
        q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        mass = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-160, 161)}
        upto = {z: sum(mass[x] for x in range(-160, z + 1)) for z in range(-160, 161)}
        tail = sum(mass[z] * upto[z - c] for z in range(c - 160, 161))  # Z' <= Z - c
    stated = noisy_max_chance(scale, c, 2)
    assert float(tail) <= float(stated) <= float(tail) * (1 + 1e-12)


@given(st.integers(2, 10**6), st.fractions(Fraction(1, 1000), 50), st.floats(0.01, 1 - 1e-9))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_theorem_NOISY_MAX_UTILITY_error_is_the_least_that_the_bound_gives(
    number: int, epsilon: Fraction, confidence: float
) -> None:
    selection = NoisyMax(tuple(range(number)), epsilon, GENERAL)
    error, failure, scale = (
        selection.error(confidence),
        1 - Fraction(str(confidence)),
        Fraction(selection.scale),
    )
    assert noisy_max_chance(scale, error + 1, number) <= failure
    assert error == 0 or noisy_max_chance(scale, error, number) > failure


@pytest.mark.literature
def test_law_one_sided_noise_is_permute_and_flip_only_with_random_ties() -> None:
    """The whole part of exponential noise is geometric, its fraction independent of that and fair."""
    scores, q = (0, 1, 3), float(mpmath.exp(-1))
    first, fair = np.zeros(3), np.zeros(3)
    for noise in itertools.product(range(35), repeat=3):
        noisy = [s + n for s, n in zip(scores, noise, strict=True)]
        chance = (1 - q) ** 3 * q ** sum(noise)
        tied = [i for i in range(3) if noisy[i] == max(noisy)]
        first[tied[0]] += chance
        fair[tied] += chance / len(tied)
    flips = [float(p) for p in permute_and_flip(scores, ONE)]
    assert np.allclose(fair, flips, atol=1e-12)
    assert np.abs(first - flips).max() > 0.01


def test_law_cost_scale_and_declarations() -> None:
    third = Fraction(1, 3)
    selection = NoisyMax(("a", "b"), third, ScoreSensitivity(Fraction(1, 7)))
    assert selection.cost() == PureCost(third)
    assert Fraction(selection.scale) >= Fraction(6, 7)  # rounded up
    for epsilon in (Fraction(0), Fraction(-1), Fraction(1, 2**60), Fraction(1, 10**400)):
        with pytest.raises(InvalidRequest):
            NoisyMax(("a",), epsilon, GENERAL)
    with pytest.raises(InvalidRequest):
        NoisyMax((), ONE, GENERAL)
    assert NoisyMax(("a", "b"), Fraction(10**400), GENERAL).release([0, 1], Seeded(1)) == "b"


def test_opendp_selects_with_the_same_probabilities() -> None:
    """Its noisy max under pure privacy is permute-and-flip, under zCDP the exponential mechanism.  Its bits
    cannot be fixed: each comparison raises a false alarm once in 10**9 runs.
    """
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    scores, runs, scale = [3, 1, 0, 3, 2], 4000, 2.0
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    ours = PermuteAndFlip(tuple(range(5)), ONE, GENERAL)
    for measure, law in (
        (dp.max_divergence(), ours.law(scores)),
        (dp.zero_concentrated_divergence(), [float(p) for p in exponential(scores, ours.rate)]),
    ):
        select = dp.m.make_noisy_max(*space, measure, scale=scale)
        taken = Counter(select(scores) for _ in range(runs))
        assert fit([taken[i] for i in range(5)], law) > 1e-9
    pure = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale)
    assert pure.map(1) == pytest.approx(float(ours.cost().epsilon))
