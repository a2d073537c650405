"""ABOVE-THRESHOLD by its exact law on every short sequence, and the hardest long one."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from sparse_law import FLOAT, hardest, scripted, worst_loss

from adyton.errors import InvalidRequest
from adyton.kernel.special.mechanisms.sparse.sparse import SparseState, draw_one, is_above
from adyton.textbook.above_threshold import AboveThreshold
from support.randomness import Seeded


class Stepwise:
    """AboveThreshold one query at a time, as the law of a sequence needs it; ``release`` is compared below."""

    def __init__(self, whole: AboveThreshold) -> None:
        self.whole, self.monotone = whole, whole.monotone

    def start(self, bits: Any) -> SparseState:
        return SparseState(1, draw_one(self.whole.threshold_scale, bits))

    def step(self, watch: SparseState, exact: int, threshold: int, bits: Any) -> tuple[bool, SparseState]:
        above = is_above(exact, threshold, watch.offset, self.whole.query_scale, bits)
        return above, SparseState(watch.left - above, watch.offset)


def machine(epsilon: str = "1", *, monotone: bool = False, sensitivity: int = 1) -> AboveThreshold:
    return AboveThreshold.for_cost(Fraction(epsilon), monotone=monotone, sensitivity=sensitivity)


def test_theorem_ABOVE_THRESHOLD_release_compares_noisy_numbers() -> None:
    """Every noise from -2 to 2 on a threshold and three queries, against one line written down again."""
    exact, thresholds = [1, 0, -1], [0, 1, -1]
    for r, *noise in itertools.product(range(-2, 3), repeat=4):
        expected = []
        for value, threshold, n in zip(exact, thresholds, noise, strict=True):
            expected.append(value + n >= threshold + r)
            if expected[-1]:
                break
        scales: list[float] = []
        with scripted([r, *noise], scales):
            assert machine().release(exact, thresholds, Seeded(0)) == expected
        assert scales == [float(machine().threshold_scale)] + [float(machine().query_scale)] * len(expected)


@pytest.mark.parametrize("epsilon", ["0.25", "1", "3"])
@pytest.mark.parametrize("monotone", [False, True])
def test_theorem_ABOVE_THRESHOLD_every_short_sequence(epsilon: str, monotone: bool) -> None:
    one = Stepwise(machine(epsilon, monotone=monotone))
    claim = float(one.whole.cost().epsilon)
    assert claim == pytest.approx(float(epsilon), rel=1e-12)
    directions = [(0, 1), (-1, 0)] if monotone else [(-1, 0, 1)]
    for moves in directions:
        assert worst_loss(one, range(-3, 4), 2, moves) <= claim + FLOAT
        assert worst_loss(one, [-20, -1, 0, 1, 8], 3, moves) <= claim + FLOAT
    assert worst_loss(one, [-30, 0, 9], 4, directions[0]) <= claim + FLOAT


def test_theorem_ABOVE_THRESHOLD_queries_of_sensitivity_three() -> None:
    one = Stepwise(machine("1.5", sensitivity=3))
    assert worst_loss(one, [-9, -1, 0, 1, 9], 3, (-3, -1, 0, 2, 3)) <= 1.5 + FLOAT
    assert worst_loss(one, [-9, -1, 0, 1, 9], 3, (-4, 0, 4)) > 1.5  # a unit that moves more than was declared


@pytest.mark.parametrize("monotone", [False, True])
def test_theorem_ABOVE_THRESHOLD_nothing_is_wasted(monotone: bool) -> None:
    """A long sequence loses all of epsilon, so less noise, on either side, is refuted by it."""
    one = machine(monotone=monotone)
    assert hardest(Stepwise(one), 1) == pytest.approx(1, abs=1e-6)
    less = Fraction(9, 10)
    for t, q in ((less, Fraction(1)), (Fraction(1), less)):
        mutant = AboveThreshold(one.threshold_scale * t, one.query_scale * q, 1, monotone)
        assert mutant.cost().epsilon > 1
        assert hardest(Stepwise(mutant), 1) > 1.03


def test_theorem_ABOVE_THRESHOLD_half_the_noise_needs_monotone_queries() -> None:
    assert worst_loss(Stepwise(machine(monotone=True)), [-30, 0, 9], 4, (-1, 0, 1)) > 1.2


def test_law_release_stops_at_the_first_positive_and_never_needs_one() -> None:
    quiet = machine("400")
    assert quiet.release([0, 5, 9, 9], [7, 7, 7, 7], Seeded(1)) == [False, False, True]
    assert quiet.release([0, 5], [7, 7], Seeded(1)) == [False, False]
    assert quiet.release([], [], Seeded(1)) == []


@pytest.mark.parametrize("wrong", [0, -1, True, 1.0, None])
def test_law_a_sensitivity_is_a_whole_number(wrong: Any) -> None:
    with pytest.raises(InvalidRequest):
        AboveThreshold(Fraction(1), Fraction(1), wrong)


def test_law_noise_that_cannot_be_drawn_is_refused_before_any_charge() -> None:
    with pytest.raises(InvalidRequest):
        machine("1e-18")
    with pytest.raises(InvalidRequest):
        AboveThreshold(Fraction(0), Fraction(1))
