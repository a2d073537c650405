"""Case A15: report noisy max releases an index and nothing else, and costs what it says also as zCDP.

The law of the index is a sum over all noise, so its Renyi divergence of order 2 is known to eleven digits, and no
samples are needed.  That ``release`` has this law is checked by running it on every noise that matters.
(A library once claimed a quarter of the zCDP that its noisy max costs.)
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adyton.audit import audit
from adyton.kernel.noise import two_sided_geometric
from adyton.kernel.privacy import PureCost
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.noise_intervals.laws import geometric_pmf
from adyton.textbook.noisy_max import NoisyMax
from support.randomness import Seeded, in_bulk

FLOAT = 1e-9  # more than the laws, and sums of ten thousand floats, err by
GENERAL = ScoreSensitivity(Fraction(1))
MONOTONE = ScoreSensitivity(Fraction(1), monotone=True)


def moved(candidates: int, monotone: bool) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """One candidate against all others, which rise together while it stays or falls; both ways round."""
    pairs = []
    for gap, first in itertools.product(range(-4, 12), (0,) if monotone else (0, -1)):
        before = (gap, *(0,) * (candidates - 1))
        after = (gap + first, *(1,) * (candidates - 1))
        pairs += [(before, after), (after, before)]
    return pairs


def renyi_2(selection: NoisyMax[int], monotone: bool) -> float:
    """The largest ln of a sum of p**2 / q."""
    laws = [(selection.law(a), selection.law(b)) for a, b in moved(len(selection.candidates), monotone)]
    return max(math.log((p**2 / q).sum()) for p, q in laws)


@pytest.mark.parametrize("candidates", [2, 3, 5, 20])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_A15_the_renyi_divergence_of_order_2_is_within_the_claimed_zcdp(
    epsilon: Fraction, monotone: bool, candidates: int
) -> None:
    """rho-zCDP means at most 2 rho at order 2.  Mutants, which the next two tests plant: a cost of epsilon / 2, which
    is a quarter of the zCDP, and the noise of monotone scores for scores that move against each other.
    """
    selection = NoisyMax(tuple(range(candidates)), epsilon, MONOTONE if monotone else GENERAL)
    found = renyi_2(selection, monotone)
    assert found * (1 + FLOAT) <= 2 * selection.cost().zcdp
    assert found > selection.cost().zcdp / 3  # and not far below it: the test looks where it matters


def test_A15_a_quarter_of_the_zcdp_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoisyMax, "cost", lambda self: PureCost(self.epsilon / 2))
    selection = NoisyMax(tuple(range(5)), Fraction(1), GENERAL)
    assert renyi_2(selection, False) * (1 - FLOAT) > 2 * selection.cost().zcdp


def test_A15_noise_for_monotone_scores_is_refuted_on_others() -> None:
    selection = NoisyMax(tuple(range(5)), Fraction(1, 2), MONOTONE)
    assert renyi_2(selection, False) * (1 - FLOAT) > 2 * selection.cost().zcdp


@pytest.mark.parametrize("scores", [(0, 0), (1, 0), (0, 3)])
@pytest.mark.parametrize("sensitivity", [GENERAL, MONOTONE])
def test_A15_what_is_released_has_that_law(
    monkeypatch: pytest.MonkeyPatch, scores: tuple[int, int], sensitivity: ScoreSensitivity
) -> None:
    """Mutant: the last of equals wins."""
    selection = NoisyMax((0, 1), Fraction(2), sensitivity)
    reach, waiting, scales = math.ceil(25 * selection.scale), [0, 0], set()

    def scripted(scale: float, count: int, bits: Any) -> Any:
        scales.add(scale)
        return np.array(waiting[:count])

    weight = [geometric_pmf(selection.scale, z) for z in range(reach + 1)]
    monkeypatch.setattr(two_sided_geometric, "draw", scripted)
    won = [0.0, 0.0]
    for a, b in itertools.product(range(-reach, reach + 1), repeat=2):
        waiting[:] = a, b
        won[selection.release(scores, Seeded(0))] += weight[abs(a)] * weight[abs(b)]
    assert scales == {selection.scale}
    assert won == pytest.approx(selection.law(scores).tolist(), abs=1e-9)


# The index alone -------------------------------------------------------------------------------------------------

PAIR = (0, 0, 0), (1, 1, 1)  # monotone scores that all rise: the index learns nothing, a value learns it all


@pytest.fixture
def bits(monkeypatch: pytest.MonkeyPatch) -> Seeded:
    """For many releases, whose noise is drawn in blocks."""
    seeded = Seeded(15)
    monkeypatch.setattr(two_sided_geometric, "draw", in_bulk(two_sided_geometric.draw, seeded))
    return seeded


def test_A15_the_index_is_all_that_leaves(bits: Seeded) -> None:
    """Mutant: ``release`` that gives the winning noisy score beside its index, as the next test does."""
    selection = NoisyMax((0, 1, 2), Fraction(1, 2), MONOTONE)
    assert {selection.release(PAIR[0], bits) for _ in range(50)} == {0, 1, 2}
    found = audit(
        lambda scores: selection.release(scores, bits), PAIR, 0.05, samples=20_000, vectorised=False
    )
    assert not found.refuted  # far below the price of 0.5: all scores rose alike


def test_A15_a_value_beside_the_index_is_found(monkeypatch: pytest.MonkeyPatch, bits: Seeded) -> None:
    def with_value(self: NoisyMax[int], scores: Any, bits: Any) -> tuple[int, int]:
        noisy = np.array(scores) + two_sided_geometric.draw(self.scale, len(scores), bits)
        return self.candidates[int(noisy.argmax())], int(noisy.max())

    monkeypatch.setattr(NoisyMax, "release", with_value)
    selection = NoisyMax((0, 1, 2), Fraction(1, 2), MONOTONE)
    found = audit(lambda scores: selection.release(scores, bits), PAIR, 0.5, samples=40_000, vectorised=False)
    assert found.refuted, found.lower_bound
