"""Studies that round their answers: what each interval is worked out with, where a draw would hardly show it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, ndtr
from test_rounding_study import COUNT, LEFT, MEAN, asked, context, ends, people, study, tables

import adyton
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.exact.cells import whole
from adyton.kernel.mechanisms.grid import Grid
from adyton.kernel.privacy import PrivacyUnit
from adyton.noise_intervals.widths import BEYOND, PADDED, ratio_band
from adyton.population import claims
from adyton.population.last_look import FOR_DESCRIBED
from adyton.population.rounding import RoundingPopulation
from adyton.validity.plans.study_plans import OF_THE_COUNT
from adyton.validity.published.transcripts import Transcripts


@pytest.mark.parametrize("step", [1, 2, 3, 4, 7, 8])
def test_theorem_ROUNDING_STUDY_no_number_of_a_cell_is_far_from_its_middle(
    step: int,
) -> None:
    """Mutant: (step - 1) // 2, which the last number of an even cell is beyond."""
    grid = Grid.over(0, 5 * step - 1, step)
    moved = [abs(int(grid.rounded(np.array([value]))[0]) - value) for value in range(5 * step)]
    assert max(moved) == grid.moved


def test_theorem_ROUNDING_STUDY_all_values_of_an_answer_share_its_level() -> None:
    """Mutant: each has all of it."""
    known = study(500)
    population, one = RoundingPopulation(known), context(known, 1, 0)
    several = replace(one, at=replace(one.at, values=7))
    assert population._certain(several).level == pytest.approx(population._certain(one).level / 7, rel=1e-12)


def test_theorem_ROUNDING_STUDY_a_ratio_pays_four_corners_and_cut_noise() -> None:
    """Mutants: all of the level for one corner; noise that is taken to be there in full."""
    known = study(500, "0.1")
    part, bits = asked(known, MEAN, scale="60")
    where, seen = context(known, 2, 3 * bits), list[Any]()
    released = [
        grid.rounded(np.array([value]))
        for grid, value in zip(part.mechanism.grids, (1000, 20_000), strict=True)  # type: ignore[attr-defined]
    ]
    own = claims.variance_width

    def watched(variance: Any, beyond: Any, noises: Any, ways: Any, steady: Any) -> Any:
        seen.append((ways, steady))
        return own(variance, beyond, noises, ways, steady)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "variance_width", watched)
        RoundingPopulation(known).means(part, released, where)
    level = RoundingPopulation(known)._certain(where).level
    assert seen
    for ways, steady in seen:
        ((fresh, price, log_level),) = [(way.fresh, way.price, way.log_level) for way in ways]
        assert fresh == 1
        assert price >= 3 * bits / UNITS_PER_ONE * math.log(2)
        assert log_level <= math.log(level * (1 - OF_THE_COUNT) / 2 / 4) + 1e-12
        assert not steady.any()


def test_theorem_ROUNDING_STUDY_noise_of_a_ratio_may_be_beyond_its_grids() -> None:
    """Mutant: confidence as it is named."""
    part, _ = asked(study(500, "0.1"), MEAN, scale="60")
    mechanism: Any = part.mechanism
    assert 4 * ndtr(-PADDED) < BEYOND
    for confidence in (0.95, 1 - 1e-7):
        plain = ratio_band(mechanism.noise, confidence + 4 * ndtr(-PADDED))
        band, (top, bottom) = ratio_band(mechanism, confidence), mechanism.grids
        assert (band.a, band.b) >= (plain.a, plain.b)
        assert band.c >= plain.c + top.moved
        assert band.d >= plain.d + bottom.moved


def test_theorem_ROUNDING_STUDY_p_values_pay_its_bits_and_nothing_else() -> None:
    """After the first answer tests that are described have a part of the level, which the others lack.

    Mutants: bits are taken for squared radii; all of the level for either kind of tests.
    """
    alpha = Fraction(1, 20)
    with adyton.open(study(2000), data=people(2000)) as curator:
        assert curator.p_value_threshold(alpha) == pytest.approx(0.05, rel=1e-15)
        curator.ask(COUNT, epsilon=1)
        curator.ask(MEAN, epsilon=1)
        bits = Fraction(curator.ledger.totals().radius, UNITS_PER_ONE)
        found = curator.last_look(alpha, "1e-9")
        assert [route.theorem for route in found.routes] == ["ROUNDING-STUDY"]
        assert found.threshold == Transcripts(bits).threshold(alpha * (1 - FOR_DESCRIBED))
        assert found.corrected == pytest.approx(1e-9 * 2 ** float(bits) / float(1 - FOR_DESCRIBED), rel=1e-9)


def test_theorem_ROUNDING_STUDY_a_grid_holds_all_rows_of_all_persons() -> None:
    """Mutant: one row of each."""
    known = study(40, "0.1", unit=PrivacyUnit("replace-one", person="id", rows=3))
    part, _ = asked(known, scale="4")
    (grid,) = part.mechanism.grids  # type: ignore[attr-defined]
    assert grid.low + grid.step * grid.cells > 3 * 40


def laws(grid: Grid, scale: float, exact: np.ndarray) -> np.ndarray:
    """The chance of each cell, a line for each exact number: noise is rounded, then the grid is."""
    edges = grid.low + grid.step * np.arange(1, grid.cells) - 0.5
    upto = ndtr((edges[None, :] - exact[:, None]) / scale)
    return np.diff(np.pad(upto, ((0, 0), (1, 1)), constant_values=(0, 1)), axis=1)


@pytest.mark.parametrize(("confidence", "grid"), [("0.05", "0.25"), ("0.5", "0.1"), ("0.9", "0.5")])
def test_theorem_ROUNDING_STUDY_the_worst_of_all_analysts_with_noise(confidence: str, grid: str) -> None:
    """Five rows of three kinds; 8 first queries at three prices, and after each answer 8 others at three prices.

    The chance that one of the two intervals misses is a sum over all tables and cells.
    """
    size, kinds = 5, 3
    known, chances_of = study(size, grid, confidence), np.array([0.9, 0.08, 0.02])
    counts = np.array(list(tables(size, kinds)))
    prior = np.exp(gammaln(size + 1) - gammaln(counts + 1).sum(1) + counts @ np.log(chances_of))
    queries = np.array(list(itertools.product((0, 1), repeat=kinds)))
    expected, prices = queries @ chances_of * size, []
    for scale in ("0.06", "0.5", "3"):
        part, bits = asked(known, scale=scale)
        (own,) = part.mechanism.grids  # type: ignore[attr-defined]
        middles = own.low + own.step * np.arange(own.cells) + (own.step - 1) // 2
        seen = [laws(own, float(part.mechanism.scales[0]), counts @ one) for one in queries]
        prices.append((part, bits, middles, seen))

    def missed(part: Any, middles: Any, number: int, before: int) -> Any:
        low, high = ends(known, part, whole(middles), number, before)
        return (expected[:, None] < low - 1e-9) | (expected[:, None] > high + 1e-9)

    worst = 0.0
    for part, bits, middles, seen in prices:
        first = missed(part, middles, 1, 0)
        second = [
            (law, wrong)
            for other, _, places, those in prices
            for law, wrong in zip(those, missed(other, places, 2, bits), strict=True)
        ]
        for law, wrong in zip(seen, first, strict=True):
            joint = prior[:, None] * law
            most = np.max([(joint.T @ later) @ bad for later, bad in second], axis=0)
            worst = max(worst, float(np.where(wrong, joint.sum(0), most).sum()))
    assert 0 < worst <= (1 - float(confidence)) * LEFT
