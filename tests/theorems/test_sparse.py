"""SPARSE and its kin by exact laws; the broken variants of the literature are refuted by the same test."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sparse_law import FLOAT, answers, chance, hardest, scripted, table_of, tail, worst_loss

from adyton.errors import InvalidRequest
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, SparseState, draw_one
from adyton.noise_intervals.sparse import (
    comparison_error,
    queries_per_threshold,
    sparse_for_cost,
    value_share,
)
from literature.sparse_slide import late_halt_cost, slide_cost
from support.randomness import Seeded

KINDS = [(c, refresh) for c in (1, 2, 3) for refresh in (False, True)]


def machine(c: int, refresh: bool = False, *, monotone: bool = False, epsilon: str = "1") -> Sparse:
    return sparse_for_cost(Fraction(epsilon), c, monotone=monotone, refresh=refresh)


# The code is the algorithm of the page --------------------------------------------------------------------


@pytest.mark.parametrize(("c", "refresh"), [(1, False), (2, False), (2, True)])
def test_theorem_SPARSE_release_is_the_algorithm_of_the_page(c: int, refresh: bool) -> None:
    """Every noise from -1 to 1 on thresholds and queries, against the page written down again."""
    one, exact, thresholds = machine(c, refresh), [1, 0, -1], [0, 1, -1]
    for noise in itertools.product(range(-1, 2), repeat=6):
        waiting = list(noise)
        scales, expected = [float(one.threshold_scale)], []
        r, left = waiting.pop(0), c
        for value, threshold in zip(exact, thresholds, strict=True):
            if left == 0:
                break
            scales.append(float(one.query_scale))
            expected.append(value + waiting.pop(0) >= threshold + r)
            if expected[-1]:
                left -= 1
                if refresh:
                    scales.append(float(one.threshold_scale))
                    r = waiting.pop(0)
        noted: list[float] = []
        with scripted(noise, noted):
            assert one.release(exact, thresholds, Seeded(0)) == expected
        assert noted == scales


# Privacy ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("c", "refresh"), KINDS)
def test_theorem_SPARSE_every_short_sequence(c: int, refresh: bool) -> None:
    one = machine(c, refresh)
    assert one.cost().pure <= 1 + Fraction(1, 10**12)
    assert worst_loss(one, range(-3, 4), 2, (-1, 0, 1)) <= 1 + FLOAT
    assert worst_loss(one, [-20, -1, 0, 1, 9], 3, (-1, 0, 1)) <= 1 + FLOAT
    assert worst_loss(one, [-40, 0, 12], 4, (-1, 0, 1)) <= 1 + FLOAT


@pytest.mark.parametrize(("c", "refresh"), KINDS)
def test_theorem_MONOTONE_SPARSE_every_short_sequence(c: int, refresh: bool) -> None:
    one = machine(c, refresh, monotone=True)
    for moves in ((0, 1), (-1, 0)):
        assert worst_loss(one, range(-3, 4), 2, moves) <= 1 + FLOAT
        assert worst_loss(one, [-20, -1, 0, 1, 9], 3, moves) <= 1 + FLOAT
        assert worst_loss(one, [-40, 0, 12], 4, moves) <= 1 + FLOAT


@pytest.mark.parametrize("epsilon", ["0.1", "4"])
def test_theorem_SPARSE_small_and_large_epsilon_and_another_split(epsilon: str) -> None:
    for share in (None, Fraction(1, 2), Fraction(1, 10)):
        one = sparse_for_cost(Fraction(epsilon), 2, threshold_share=share)
        reach = max(300, math.ceil(30 * one.threshold_scale))  # beyond it lies 1e-13 of the noise
        assert worst_loss(one, [-30, -1, 0, 1, 12], 3, (-1, 0, 1), reach=reach) <= float(epsilon) + FLOAT


@pytest.mark.parametrize(("c", "refresh"), KINDS)
@pytest.mark.parametrize("monotone", [False, True])
def test_theorem_SPARSE_nothing_is_wasted(c: int, refresh: bool, monotone: bool) -> None:
    """A long sequence loses all of epsilon; a tenth less noise on thresholds or queries is refuted by it."""
    one = machine(c, refresh, monotone=monotone)
    assert hardest(one, c) == pytest.approx(1, abs=2e-4)
    for field in ("threshold_scale", "query_scale"):
        mutant = replace(one, **{field: getattr(one, field) * Fraction(9, 10)})
        lost = hardest(mutant, c)
        assert lost > 1.01
        assert lost == pytest.approx(float(mutant.cost().pure), abs=2e-3)


def test_theorem_MONOTONE_SPARSE_half_the_noise_needs_monotone_queries() -> None:
    mutant = replace(machine(2, monotone=True), monotone=False)
    assert hardest(mutant, 2) > 1.5
    assert worst_loss(machine(2, monotone=True), [-40, 0, 12], 4, (-1, 0, 1)) > 1.05


# Broken variants, which live only here ----------------------------------------------------------------------


class NoQueryNoise(Sparse):
    """Algorithm 5 of Lyu, Su, Li: the query itself against the noisy threshold."""

    def step(self, watch: SparseState, exact: int, threshold: int, bits: Any) -> tuple[bool, SparseState]:
        above = exact >= threshold + watch.offset
        return above, SparseState(watch.left - above, watch.offset)


class HaltsLate(Sparse):
    """The slides' ``count > c``: one positive more than the noise was made for."""

    def start(self, bits: Any) -> SparseState:
        return SparseState(self.positives + 1, draw_one(self.threshold_scale, bits))


def test_theorem_SPARSE_noise_that_does_not_grow_with_c_is_refuted() -> None:
    """Algorithm 4: the noise of one positive, for three."""
    mutant = replace(machine(1), positives=3)
    assert worst_loss(mutant, [-40, 0, 12], 4, (-1, 0, 1)) > 1.2
    assert hardest(mutant, 3) == pytest.approx(float(mutant.cost().pure), abs=1e-3)


def test_theorem_SPARSE_no_query_noise_is_refuted() -> None:
    """Two answers are enough, and no epsilon would do: one sequence has them with probability 0."""
    mutant = NoQueryNoise(*_fields(machine(2)))
    assert worst_loss(mutant, [0, 1], 2, (-1, 0, 1)) == math.inf


def test_theorem_SPARSE_no_cutoff_is_refuted() -> None:
    """Algorithm 6: the loss grows with the number of positives, whatever the noise."""
    losses = [hardest(replace(machine(1), positives=k), k) for k in (1, 2, 4)]
    assert losses[0] == pytest.approx(1, abs=1e-6)
    assert losses[1] > 1.5
    assert losses[2] > 2.5


@pytest.mark.parametrize("c", [1, 2])
def test_theorem_SLIDE_SPARSE_COST_count_above_c_is_refuted(c: int) -> None:
    """At c = 1 a refreshed threshold that halts at ``count > c`` loses exactly 2 epsilon."""
    mutant = HaltsLate(*_fields(machine(c, True)))
    assert hardest(mutant, c + 1) == pytest.approx(float(late_halt_cost(c, Fraction(1))), abs=1e-3)
    assert late_halt_cost(1, Fraction(1)) == 2
    kept = HaltsLate(*_fields(machine(c)))
    assert 1.2 < hardest(kept, c + 1) < late_halt_cost(c, Fraction(1))  # a kept threshold is not paid twice


def _fields(one: Sparse) -> tuple[Any, ...]:
    return (
        one.positives,
        one.threshold_scale,
        one.query_scale,
        one.sensitivity,
        one.monotone,
        one.refresh,
    )


# What the slides' noise costs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("c", "epsilon", "basic", "advanced", "optimal"),
    [(10, 1, 0.60159, 1.03730, 0.60083), (100, 5, 9.51199, 5.94921, 4.52024)],
)
def test_theorem_SLIDE_SPARSE_COST_in_numbers(
    c: int, epsilon: float, basic: float, advanced: float, optimal: float
) -> None:
    assert slide_cost(c, epsilon, 1e-6) == pytest.approx((basic, advanced, optimal), rel=1e-5)


def test_theorem_SLIDE_SPARSE_COST_advanced_composition_never_proves_it() -> None:
    """Advanced composition never proves the claim."""
    for c, epsilon, delta in itertools.product((1, 5, 40, 1000), (0.1, 1.0, 5.0), (1e-9, 1e-3)):
        cost = slide_cost(c, epsilon, delta)
        assert cost.advanced > epsilon
        assert cost.optimal <= min(cost.basic, cost.advanced) * (1 + 1e-12)


def test_theorem_SLIDE_SPARSE_COST_optimal_is_the_binomial_sum() -> None:
    """Against all 2**c strings of lies, at the epsilon it returns."""
    c, delta = 6, 1e-2
    cost = slide_cost(c, 1.0, delta)
    each = cost.basic / c
    excess = 0.0
    for lies in itertools.product((0, 1), repeat=c):
        p = math.prod(math.exp(0 if lie else each) for lie in lies) / (1 + math.exp(each)) ** c
        q = math.prod(math.exp(each if lie else 0) for lie in lies) / (1 + math.exp(each)) ** c
        excess += max(0.0, p - math.exp(cost.optimal) * q)
    assert excess == pytest.approx(delta, rel=1e-9)


def test_law_the_calculator_refuses_nonsense() -> None:
    for wrong in ((0, 1.0, 0.1), (1, 0.0, 0.1), (1, 1.0, 0.0), (1, 1.0, 1.0)):
        with pytest.raises(InvalidRequest):
            slide_cost(*wrong)


# The split ----------------------------------------------------------------------------------------------------


def variance(scale: Fraction) -> float:
    """Of two-sided geometric noise, exactly: 2 q / (1 - q)**2."""
    return 1 / (2 * math.sinh(1 / (2 * float(scale))) ** 2)


def comparison(one: Sparse) -> float:
    return variance(one.threshold_scale) + variance(one.query_scale)


@pytest.mark.parametrize("c", [1, 3, 10, 100])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("refresh", [False, True])
def test_theorem_SPARSE_SPLIT_no_other_split_varies_less(c: int, monotone: bool, refresh: bool) -> None:
    best = comparison(machine(c, refresh, monotone=monotone, epsilon="0.5"))
    ratio = queries_per_threshold(c, monotone=monotone, refresh=refresh)
    for factor in (*np.geomspace(0.05, 20, 60), 0.97, 1.03):
        share = 1 / (1 + ratio * Fraction(factor))
        other = sparse_for_cost(Fraction(1, 2), c, monotone=monotone, refresh=refresh, threshold_share=share)
        assert comparison(other) >= best * (1 - 1e-6)


def test_theorem_SPARSE_SPLIT_the_published_ratio_is_for_a_kept_threshold() -> None:
    """(2c)**(2/3) with a threshold that is refreshed would make the comparison vary several times as much."""
    wrong = sparse_for_cost(
        Fraction(1, 2), 10, refresh=True, threshold_share=1 / (1 + Fraction(20 ** (2 / 3)))
    )
    kept, refreshed = machine(10, epsilon="0.5"), machine(10, True, epsilon="0.5")
    assert comparison(wrong) > 4 * comparison(refreshed) > 11 * comparison(kept)
    assert comparison(kept) == pytest.approx(8 * (1 + 20 ** (2 / 3)) ** 3, rel=1e-3)


@pytest.mark.parametrize("refresh", [False, True])
def test_theorem_SPARSE_SPLIT_values_are_as_loud_as_comparisons(refresh: bool) -> None:
    for c, monotone in itertools.product((1, 4, 50), (False, True)):
        w = value_share(c, monotone=monotone, refresh=refresh)
        one = sparse_for_cost((1 - w) / 10, c, monotone=monotone, refresh=refresh)
        assert comparison(one) == pytest.approx(variance(c / (w / 10)), rel=1e-2)


# Accuracy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("c", "refresh"), [(1, False), (2, False), (2, True)])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.999])
def test_theorem_SPARSE_ACCURACY_every_short_sequence(c: int, refresh: bool, confidence: float) -> None:
    """Exact probability that some answer is wrong, for integers just beyond the error on either side."""
    one, length = machine(c, refresh), 3
    error = comparison_error(one, confidence, length)
    far = (error, -error - 1)
    table = table_of(one, far, reach=400)
    for gaps in itertools.product(far, repeat=length):
        right = tuple(gap >= 0 for gap in gaps)
        said = next(a for a in answers(length, c) if a == right[: len(a)])
        assert chance(table, said, gaps[: len(said)]) >= confidence


def test_theorem_SPARSE_ACCURACY_half_of_the_error_would_not_do() -> None:
    one, length = machine(1), 3
    error = comparison_error(one, 0.9, length) // 3
    table = table_of(one, [-error - 1], reach=400)
    assert chance(table, (False,) * length, [-error - 1] * length) < 0.9


def test_law_an_error_needs_a_confidence_that_a_float_can_hold() -> None:
    for confidence, queries in ((0.0, 3), (1.0, 3), (0.9, 0), (0.95, 10**15)):
        with pytest.raises(InvalidRequest):
            comparison_error(machine(1), confidence, queries)


# Laws ---------------------------------------------------------------------------------------------------------


def test_law_release_halts_after_exactly_c_positives() -> None:
    for c, refresh in KINDS:
        said = machine(c, refresh, epsilon="400").release([9] * 10, [0] * 10, Seeded(5))
        assert said == [True] * c
        halted = SparseState(0, 3)
        with pytest.raises(InvalidRequest, match="halted"):
            machine(c, refresh).step(halted, 0, 0, Seeded(5))


def test_law_a_watch_does_not_show_its_secret() -> None:
    assert "4711" not in repr(SparseState(2, 4711))


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, None, 10**7])
def test_law_positives_are_a_whole_number(wrong: Any) -> None:
    with pytest.raises(InvalidRequest):
        sparse_for_cost(Fraction(1), wrong)
    with pytest.raises(InvalidRequest):
        Sparse(wrong, Fraction(1), Fraction(1))


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(3, 2)])
def test_law_both_sides_of_a_comparison_have_noise(share: Fraction) -> None:
    with pytest.raises(InvalidRequest):
        sparse_for_cost(Fraction(1), 1, threshold_share=share)


def test_law_drawn_answers_follow_the_exact_law() -> None:
    """6,000 sequences from seeded bits, eight sequences of answers: each within 6.5 standard deviations, which
    fails by chance with probability below 1e-9; the bits are fixed, so it never wavers.
    """
    one, gaps, runs = machine(2, True), [1, -2, 0], 6_000
    bits, counted = Seeded(11), dict[tuple[bool, ...], int]()
    for _ in range(runs):
        said = tuple(one.release(gaps, [0, 0, 0], bits))
        counted[said] = counted.get(said, 0) + 1
    table = table_of(one, sorted(gaps), reach=300)
    for said in answers(3, 2):
        p = chance(table, said, gaps[: len(said)])
        assert abs(counted.get(said, 0) - runs * p) <= 6.5 * math.sqrt(runs * p * (1 - p))


# Algorithm 3 -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReleasesTheComparedValue:
    """Algorithm 3: the positive's noisy value is the one that was compared, so it bounds the secret threshold."""

    one: Sparse

    def says(self, offset: int, exact: int, noise: int) -> int | None:
        value = exact + noise
        return value if value >= offset else None


@pytest.mark.literature
def test_theorem_NUMERIC_SPARSE_the_compared_value_must_not_leave() -> None:
    """After k queries far above that are said to be below, a low value is a contradiction; exact sums."""
    mutant = ReleasesTheComparedValue(machine(1))
    r = np.arange(-400, 401)
    t, q = float(mutant.one.threshold_scale), float(mutant.one.query_scale)
    weights = math.tanh(0.5 / t) * np.exp(-np.abs(r) / t)
    value = -10
    visible = np.array([mutant.says(int(offset), 0, value) == value for offset in r])
    losses = []
    for k in (1, 10, 40):
        here, there = (float((weights * tail(q, 1 - (r - gap)) ** k * visible).sum()) for gap in (10, 11))
        losses.append(math.log(here / there))
    assert losses == sorted(losses)
    assert losses[0] < 1 < losses[1]
    assert losses[2] > 8
