"""NUMERIC-SPARSE by the exact law of answers and values on every short stream."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from noise_oracle import Seeded
from sparse_law import FLOAT, hardest, scripted, worst_loss

from adyton.errors import InvalidRequest
from adyton.mechanisms import NumericSparse
from adyton.mechanisms.above_threshold import Watch
from adyton.noise import two_sided_geometric


def machine(c: int, *, refresh: bool = False, monotone: bool = False) -> NumericSparse:
    return NumericSparse.for_cost(Fraction(1), c, refresh=refresh, monotone=monotone)


def value_loss(one: NumericSparse, move: int) -> float:
    """The largest ln of pmf(v - f) / pmf(v - f - move) over 400 values v."""
    scale = float(one.value_scale)
    log = two_sided_geometric.log_pmf
    return max(log(scale, v) - log(scale, v - move) for v in range(-200, 201))


@pytest.mark.parametrize("refresh", [False, True])
def test_theorem_NUMERIC_SPARSE_values_have_noise_of_their_own(refresh: bool) -> None:
    """Every noise from -1 to 1: the value is the exact one plus a draw that no comparison has seen."""
    one, exact = machine(2, refresh=refresh), 5
    t, q, v = (float(s) for s in (one.sparse.threshold_scale, one.sparse.question_scale, one.value_scale))
    for offset, compared, *rest in itertools.product(range(-1, 2), repeat=4):
        scales: list[float] = []
        with scripted([compared, *rest], scales):
            said, after = one.step(Watch(2, offset), exact, 5, Seeded(0))
        if compared >= offset:
            fresh = rest[1] if refresh else rest[0]
            assert said == exact + fresh
            assert after == Watch(1, rest[0] if refresh else offset)
            assert scales == ([q, t, v] if refresh else [q, v])
        else:
            assert (said, after, scales) == (None, Watch(2, offset), [q])


@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize("refresh", [False, True])
def test_theorem_NUMERIC_SPARSE_every_short_stream(c: int, refresh: bool) -> None:
    one = machine(c, refresh=refresh)
    assert one.cost().epsilon == pytest.approx(1, rel=1e-12)
    for gaps, length in ((range(-3, 4), 2), ([-30, -1, 0, 1, 12], 3)):
        loss = worst_loss(one.sparse, gaps, length, (-1, 0, 1), value_loss=lambda m: value_loss(one, m))
        assert loss <= 1 + FLOAT


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("monotone", [False, True])
def test_theorem_NUMERIC_SPARSE_a_tenth_less_noise_on_values_is_refuted(c: int, monotone: bool) -> None:
    """The hardest stream of the comparisons and the worst value of each positive, at once."""
    one = machine(c, monotone=monotone)
    comparisons = hardest(one.sparse, c)
    assert comparisons + c * value_loss(one, 1) == pytest.approx(1, abs=1e-3)
    mutant = replace(one, value_scale=one.value_scale * Fraction(9, 10))
    assert comparisons + c * value_loss(mutant, 1) > 1.01


def test_law_values_are_right_when_the_noise_is_small() -> None:
    one = NumericSparse.for_cost(Fraction(400), 2)
    assert one.release([3, 90, 5, 77, 99], [50] * 5, Seeded(3)) == [None, 90, None, 77]
    assert one.value_error(0.95) == 0


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(2)])
def test_law_both_comparisons_and_values_are_paid_for(share: Fraction) -> None:
    with pytest.raises(InvalidRequest):
        NumericSparse.for_cost(Fraction(1), 2, share=share)


def test_law_a_declared_share_is_what_the_values_pay() -> None:
    one = NumericSparse.for_cost(Fraction(1), 4, share=Fraction(1, 4))
    assert 4 / one.value_scale == pytest.approx(Fraction(1, 4), rel=1e-12)
    assert one.cost().epsilon <= 1
    assert math.isclose(one.sparse.cost().epsilon, 0.75, rel_tol=1e-12)
