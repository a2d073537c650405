"""MWEM: the true law of whole runs on all neighbors, its cost, and how good the synthetic histogram is."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from adyton.errors import InvalidRequest
from adyton.kernel.noise import two_sided_geometric
from adyton.kernel.privacy import GaussianCost, PureCost
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.noise_intervals.laws import geometric_log_pmf
from adyton.planning.coordinated.range_workload import (
    ExplicitQueries,
    IdentityQueries,
    LinearQueries,
    Prefixes,
    Ranges,
)
from adyton.textbook import mwem
from adyton.textbook.mwem import Mwem
from literature.marginals import Marginals
from support.randomness import Seeded

HALVES = ExplicitQueries([[Fraction(1, 2), 1], [1, 0]])
TINY: list[LinearQueries] = [IdentityQueries(2), HALVES]


class Told:
    """Selections and noises that were decided beforehand, and the probability of each in the real mechanism."""

    def __init__(self, real: Mwem, indices: list[int], outputs: list[int]) -> None:
        self.real, self.sensitivity, self.log_chance = real, real.selection.sensitivity, 0.0
        self._indices, self._outputs = iter(indices), iter(outputs)
        self._exact = np.zeros(0)

    def cost(self) -> PureCost:
        return self.real.selection.cost()

    def release(self, scores: np.ndarray, bits: object) -> int:
        self._index = next(self._indices)
        self.log_chance += math.log(self.real.selection.law(scores)[self._index])
        return self._index

    def draw(self, scale: float, count: int, bits: object) -> np.ndarray:
        """The noise that makes the released number the wanted one."""
        assert count == 1
        noise = next(self._outputs) - int(self._exact[self._index])
        self.log_chance += geometric_log_pmf(scale, noise)
        return np.array([noise])

    def run(self, workload: LinearQueries, histogram: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> float:
        self._exact = workload.numerators(histogram)
        monkeypatch.setattr(mwem.two_sided_geometric, "draw", self.draw)
        told = Mwem(self.real.rounds, self, self.real.scale, self.real.denominator)
        told.release(workload, self._exact, 2, Seeded(0))
        monkeypatch.undo()
        return self.log_chance


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("workload", TINY, ids=["cells", "halves"])
def test_theorem_MWEM_PRIVACY_no_run_tells_neighbors_apart_by_more(
    workload: LinearQueries, adjacency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every pair of selections and a grid of measured numbers, on all neighboring histograms of two units."""
    real = Mwem.for_cost(workload, Fraction(2), rounds=2)
    epsilon = float(real.cost().pure)
    assert epsilon == pytest.approx(2, rel=1e-12)
    tables = {
        tuple(np.bincount([c for c in cells if c < 2], minlength=2))
        for n in (1, 2)
        for cells in itertools.product(range(3), repeat=n)  # 2 is no cell
    }

    def adjacent(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
        move = np.subtract(x, y)
        added = np.abs(move).sum() == 1
        return added or (adjacency == "replace-one" and sorted(move) == [-1, 1])

    runs = [
        (i, o)
        for i in itertools.product((0, 1), repeat=2)
        for o in itertools.product((-1, 0, 2, 5), repeat=2)
    ]
    law = {
        x: np.array([Told(real, list(i), list(o)).run(workload, np.array(x), monkeypatch) for i, o in runs])
        for x in tables
    }
    worst = max(float(np.abs(law[x] - law[y]).max()) for x in tables for y in tables if adjacent(x, y))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst > 0.52 * epsilon  # half the stated cost would be refuted


def test_theorem_MWEM_PRIVACY_scores_are_distances_from_public_integers() -> None:
    """Whatever the float guess, one unit moves a score by at most the denominator; unrounded it would be more."""
    random = np.random.Generator(np.random.Philox(3))
    private = random.integers(0, 50, 200)
    moved = private + random.integers(-3, 4, 200)
    guessed = random.uniform(0, 50, 200)
    change = mwem._scores(private, guessed) - mwem._scores(moved, guessed)
    assert mwem._scores(private, guessed).dtype == np.int64
    assert np.all(np.abs(change) <= np.abs(private - moved))


def test_theorem_MWEM_PRIVACY_no_score_wraps_around() -> None:
    """With a total of 2**63 the distance of 0 and of 1 from the guess were 2**64 - 1 apart."""
    tame = Mwem.for_cost(IdentityQueries(2), Fraction(1), 1)
    with pytest.raises(InvalidRequest, match="at most"):
        tame.release(IdentityQueries(2), np.array([0, 1]), 2**63, Seeded(0))
    with pytest.raises(InvalidRequest, match="with a sign"):
        tame.release(IdentityQueries(2), np.array([2**63, 0], dtype=np.uint64), 2**60, Seeded(0))
    ends, inside = np.array([-(2**61), 2**61]), np.array([1 - 2**61, 2**61 - 1])
    for guessed in (0.0, 2.0**61):
        here, there = (
            mwem._scores(ends, np.full(2, guessed)),
            mwem._scores(inside, np.full(2, guessed)),
        )
        assert min(here) >= 0
        assert max(abs(here - there)) <= 1


def test_theorem_MWEM_PRIVACY_costs_add_up_under_every_filter() -> None:
    mechanism = Mwem.for_cost(Prefixes(10), Fraction(1), rounds=5)
    cost = mechanism.cost()
    assert Fraction(1) - Fraction(1, 10**12) <= cost.pure <= 1
    each = PureCost(Fraction(1, 10))
    assert cost.zcdp == 5 * each.zcdp + 5 * PureCost(1 / mechanism.scale).zcdp
    assert cost.zcdp < PureCost(Fraction(1)).zcdp / 9  # ten small ones are far less than one large one
    assert ComposedCost(((each, 1), (GaussianCost(Fraction(1)), 2))).pure is None
    assert ComposedCost(((each, 3), (GaussianCost(Fraction(1)), 2))).zcdp == 3 * each.zcdp + 1


def test_theorem_MWEM_PRIVACY_only_declared_noise_and_selection_are_used() -> None:
    """One round by hand: the same bits, the same selection, the same noise."""
    workload, histogram = Ranges(6), np.array([30, 0, 10, 0, 0, 60])
    mechanism = Mwem.for_cost(workload, Fraction(1, 25), rounds=1)
    exact = workload.numerators(histogram)
    out = mechanism.release(workload, exact, 100, Seeded(4))
    bits = Seeded(4)
    lengths = np.array([j - i + 1 for i in range(6) for j in range(i, 6)])
    index = mechanism.selection.release(np.abs(exact - np.rint(100 * lengths / 6).astype(int)), bits)
    noise = int(two_sided_geometric.draw(float(mechanism.scale), 1, bits)[0])
    assert out.measurements[0].gap == pytest.approx((int(exact[index]) + noise) / 100 - lengths[index] / 6)
    assert float(mechanism.scale) == pytest.approx(50)
    assert np.allclose(out.average, 1 / 6)


@pytest.mark.parametrize(
    ("workload", "total", "rounds"),
    [(Prefixes(64), 5000, 20), (Marginals((4, 4, 4), 2), 5000, 30), (Ranges(32), 2000, 12)],
    ids=repr,
)
def test_theorem_MWEM_ERROR_the_average_guess_is_within_its_bound(
    workload: LinearQueries, total: int, rounds: int
) -> None:
    """30 tables; at a true 90 % fewer than the 1e-8 quantile within would be an alarm."""
    random, bits, runs = np.random.Generator(np.random.Philox(8)), Seeded(9), 30
    mechanism = Mwem.for_cost(workload, Fraction(2), rounds)
    bound = mechanism.error(workload.cells, total, 0.9)
    assert bound < 0.7
    within = better = 0
    for _ in range(runs):
        histogram = random.multinomial(total, random.dirichlet(np.full(workload.cells, 0.05)))
        exact = workload.numerators(histogram)
        out = mechanism.release(workload, exact, total, bits)
        worst = float(np.abs(out.answers(workload) - exact / total).max())
        uniform = float(
            np.abs(workload.numerators(np.full(workload.cells, 1 / workload.cells)) - exact / total).max()
        )
        within += worst <= bound
        better += worst < uniform
    assert within >= binom.ppf(1e-8, runs, 0.9)
    assert better == runs  # it learned something each time


def test_theorem_MWEM_ERROR_pays_for_the_noise_of_measurements() -> None:
    """Much noise and sure selections: the guess walks at random, and away from two cells that are alike."""
    sure = PermuteAndFlip((0, 1), Fraction(1000), ScoreSensitivity(Fraction(1)))
    loud, total = Mwem(60, sure, Fraction(400)), 100
    quiet = Mwem(60, sure, Fraction(1, 100))
    made = loud.release(IdentityQueries(2), np.array([50, 50]), total, Seeded(3))
    error = float(np.max(np.abs(made.answers(IdentityQueries(2)) - 0.5)))
    assert quiet.error(2, total, 0.95) < error <= loud.error(2, total, 0.95)


def test_theorem_MWEM_ERROR_no_round_has_less_confidence_than_the_union(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mutant: 1 - (1 - confidence) / 2 / rounds in floats, which is below it for some numbers of rounds."""
    asked: list[Fraction] = []

    def noted(scale: float, confidence: float) -> int:
        asked.append(Fraction(confidence))
        return 1

    monkeypatch.setattr(two_sided_geometric, "coverage_radius", noted)
    sure = PermuteAndFlip((0, 1), Fraction(1000), ScoreSensitivity(Fraction(1)))
    for rounds in range(1, 40):
        Mwem(rounds, sure, Fraction(4)).error(2, 100, 0.95)
        assert asked.pop() >= 1 - Fraction(1, 20) / (2 * rounds)


def test_theorem_MWEM_ERROR_pays_for_selections() -> None:
    """Blind selections and hardly any noise: what is never measured stays wrong, and the bound knows."""
    blind, sure = (
        PermuteAndFlip(tuple(range(64)), epsilon, ScoreSensitivity(Fraction(1)))
        for epsilon in (Fraction(1, 10**6), Fraction(1000))
    )
    total = 1000
    exact = np.array([0] * 63 + [total])
    made = Mwem(40, blind, Fraction(1, 100)).release(IdentityQueries(64), exact, total, Seeded(4))
    error = float(np.max(np.abs(made.answers(IdentityQueries(64)) - exact / total)))
    known = Mwem(40, sure, Fraction(1, 100)).error(64, total, 0.95)
    assert known < error <= Mwem(40, blind, Fraction(1, 100)).error(64, total, 0.95)


def test_theorem_MWEM_ERROR_without_noise_follows_from_the_potential() -> None:
    """Exact selections and measurements: the root of ln(cells) / (2 rounds), which a worse step would miss."""
    workload, rounds = Ranges(64), 40
    histogram = np.zeros(64, dtype=np.int64)
    histogram[[3, 40]] = 2**30
    mechanism = Mwem.for_cost(workload, Fraction(10**6), rounds)
    out = mechanism.release(workload, workload.numerators(histogram), 2**31, Seeded(5))
    worst = np.abs(out.answers(workload) - workload.numerators(histogram) / 2**31).max()
    assert worst <= math.sqrt(math.log(64) / (2 * rounds)) + 1e-6


def test_nonsense_is_refused_before_anything_is_read() -> None:
    good, exact = Mwem.for_cost(IdentityQueries(3), Fraction(1), 2), np.arange(3)
    for call in (
        lambda: Mwem.for_cost(IdentityQueries(3), Fraction(1), 10**6),
        lambda: good.release(IdentityQueries(4), exact, 3, Seeded(1)),
        lambda: good.release(IdentityQueries(3), exact.astype(float), 3, Seeded(1)),
        lambda: good.release(IdentityQueries(3), exact, 0, Seeded(1)),
        lambda: good.release(HALVES, exact[:2], 3, Seeded(1)),
        lambda: good.release(ExplicitQueries([[-1, 0, 1]] * 3), exact, 3, Seeded(1)),
        lambda: Mwem(
            2, PermuteAndFlip((0, 1), Fraction(1), ScoreSensitivity(Fraction(1), monotone=True)), Fraction(1)
        ),
        lambda: Mwem(2, PermuteAndFlip((0, 1), Fraction(1), ScoreSensitivity(Fraction(1))), Fraction(1), 2),
    ):
        with pytest.raises(InvalidRequest):
            call()
