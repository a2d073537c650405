"""Adaptive marginals: the true law of whole runs on all neighbors, what they spend, and how scores move."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.accounting.rules import accounting_named
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.privacy import BoundedRangeCost, PrivacyUnit, PureCost
from adyton.kernel.schema import CategoryColumn, Table
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.marginals import step_for
from adyton.kernel.special.mechanisms.marginals.adaptive import AdaptiveMarginals, AdaptiveRound, distance
from adyton.kernel.special.mechanisms.marginals.tables import Axes, tables_of
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.noise_intervals.laws import geometric_log_pmf
from adyton.planning.price import price_of
from adyton.study import Validity
from adyton.synthesis.fitting import CellGuess
from adyton.synthesis.plan import SynthesisPlan, marginals_up_to, plan_synthesis
from support.randomness import Seeded
from support.worlds import study_with

SHAPE = (2, 2)
CANDIDATES = ((0,), (1,))
EPSILON = Fraction(2)


def machine(adjacency: Any, units: int, rounds: int) -> AdaptiveMarginals:
    moved = Sensitivity(((1, 1),), 2, adjacency)
    return AdaptiveMarginals(SHAPE, CANDIDATES, (), moved, units, units // rounds, 1, Fraction(10))


def histograms(units: int) -> Iterator[tuple[int, ...]]:
    for cells in itertools.combinations_with_replacement(range(4), units):
        yield tuple(np.bincount(cells, minlength=4).tolist())


class Told:
    """Selections and noisy numbers that were decided beforehand, and how likely they are in the mechanism."""

    def __init__(self, selected: tuple[Axes, ...], outputs: tuple[tuple[int, ...], ...]) -> None:
        self._selected, self._outputs = iter(selected), iter(outputs)
        self.log_chance = 0.0

    def select(self, mechanism: PermuteAndFlip[Axes], scores: Any, bits: object) -> Axes:
        axes = next(self._selected)
        self.log_chance += math.log(mechanism.law(scores)[mechanism.candidates.index(axes)])
        return axes

    def measure(self, noise: GeometricNoise, exact: Any, bits: object) -> Any:
        (column,), output = exact, next(self._outputs)
        scale = float(noise.scales[0])
        self.log_chance += sum(geometric_log_pmf(scale, o - e) for o, e in zip(output, column, strict=True))
        return [list(output)]


def log_chance(
    real: AdaptiveMarginals, x: tuple[int, ...], selected: Any, outputs: Any, patch: pytest.MonkeyPatch
) -> float:
    told = Told(selected, outputs)
    with patch.context() as patched:
        patched.setattr(PermuteAndFlip, "release", lambda self, scores, bits: told.select(self, scores, bits))
        patched.setattr(GeometricNoise, "release", lambda self, exact, bits: told.measure(self, exact, bits))
        exact = tables_of(np.array(x).reshape(SHAPE), CANDIDATES)
        guess = replace(CellGuess.even(SHAPE, 2), most_steps=3)  # any function of what was released will do
        made = real.release(exact, guess, _steps(real), Seeded(0))
    assert len(made) == len(selected)
    return told.log_chance


def _steps(real: AdaptiveMarginals) -> Any:
    return lambda units: step_for(accounting_named("pure"), real.sensitivity, units)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_ADAPTIVE_MARGINALS_no_run_tells_neighbors_apart_by_more(
    adjacency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All selections and a grid of measured numbers, on all neighboring tables of at most two units.

    Mutant: noise that is paid for with the units of the selection too.
    """
    real = machine(adjacency, int(EPSILON * UNITS_PER_ONE), 2)
    runs = [
        (selected, outputs)
        for selected in itertools.product(CANDIDATES, repeat=2)
        for outputs in itertools.product(((-3, 5), (4, -2)), repeat=2)
    ]
    tables = [x for units in (1, 2) for x in histograms(units)]
    law = {x: np.array([log_chance(real, x, *run, monkeypatch) for run in runs]) for x in tables}

    def adjacent(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
        moved = np.abs(np.subtract(x, y)).sum()
        return bool(moved == 1 if adjacency == "add-remove" else moved == 2 and sum(x) == sum(y))

    worst = max(float(np.abs(law[x] - law[y]).max()) for x in tables for y in tables if adjacent(x, y))
    assert worst <= float(EPSILON) * (1 + 1e-9)
    assert worst > 0.8 * float(EPSILON)


class Fixed:
    """A public guess that never changes."""

    def __init__(self, tables: dict[Axes, Any]) -> None:
        self._tables = tables

    def tables(self, wanted: Any) -> dict[Axes, Any]:
        return {axes: self._tables[axes] for axes in wanted}


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_ADAPTIVE_MARGINALS_a_selection_costs_at_most_its_epsilon(
    adjacency: str, accounting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marginals of one and of two columns, whose scores weigh differently.  Mutant: ``reach`` that is 1."""
    real, candidates = machine(adjacency, UNITS_PER_ONE, 1), ((0,), (1,), (0, 1))
    step = step_for(accounting_named(accounting), real.sensitivity, UNITS_PER_ONE)
    for kind in (PermuteAndFlip, ExponentialMechanism):
        monkeypatch.setattr(kind, "release", lambda self, scores, bits: np.log(self.law(scores)))
    random, worst = np.random.Generator(np.random.Philox(3)), 0.0
    for _ in range(150):
        guess = Fixed(tables_of(random.uniform(0, 9, SHAPE), candidates))
        x = random.integers(0, 9, SHAPE)
        y, (i, j) = x.copy(), random.integers(0, 4, 2)
        y.flat[i] += 1
        x.flat[j] += adjacency == "replace-one"
        laws = [real._select(tables_of(t, candidates), guess, candidates, step, Seeded(0)) for t in (x, y)]  # type: ignore[arg-type]
        worst = max(worst, float(np.abs(laws[0] - laws[1]).max()))  # type: ignore[operator]
    assert worst <= float(step.epsilon) * (1 + 1e-9)
    assert worst > 0.55 * float(step.epsilon)  # of half the reach it would be more than all


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", [1, 3])
def test_theorem_ADAPTIVE_MARGINALS_one_unit_moves_a_distance_by_its_rows(adjacency: Any, rows: int) -> None:
    """One unit moves a distance no farther than its rows."""
    random = np.random.Generator(np.random.Philox(7))
    moved = Sensitivity(((1, 1),), 6, adjacency, rows)
    reach = AdaptiveMarginals((2, 3), ((0, 1),), (), moved, 10, 1, 1, Fraction(1)).reach
    farthest = 0
    for _ in range(2000):
        x = random.integers(0, 4, 6)
        y = x + np.bincount(random.integers(0, 6, random.integers(0, rows + 1)), minlength=6)
        if adjacency == "replace-one":
            x = x + np.bincount(random.integers(0, 6, random.integers(0, rows + 1)), minlength=6)
        guessed = random.uniform(-1, 6, 6)
        farthest = max(farthest, abs(distance(x, guessed) - distance(y, guessed)))
    assert farthest == reach == rows * (2 if adjacency == "replace-one" else 1)


def test_theorem_ADAPTIVE_MARGINALS_no_score_wraps_around() -> None:
    huge = np.full(2**20, 2**62)
    here, there = distance(huge, np.full(2**20, -1e300)), distance(huge - 1, np.full(2**20, -1e300))
    assert here == there == 2**57
    assert 16 * here < 2**62
    with pytest.raises(InvalidRequest, match="at most 1048576 cells"):
        AdaptiveMarginals(
            (2**21,), ((0,),), (), Sensitivity(((1, 1),), 2, "replace-one"), 9, 1, 1, Fraction(1)
        )


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
@pytest.mark.parametrize("growth", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_ADAPTIVE_MARGINALS_all_steps_cost_no_more_than_the_units(
    accounting: str, growth: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted from the mechanisms that were really used, not from what steps say of themselves.

    Mutants: a last round that may spend ``2 * each``; first measurements that are not taken off.
    """
    rule, units = accounting_named(accounting), UNITS_PER_ONE // 7
    moved, shape = Sensitivity(((1, 1),), 12, "replace-one"), (2, 3, 2)
    most = 13 * step_for(rule, moved, units // 13).epsilon
    real = AdaptiveMarginals(
        shape, marginals_up_to(shape, 2, 100), ((0,), (1,)), moved, units, units // 13, growth, most
    )
    spent, epsilons = [], []
    for kind, cost in ((ExponentialMechanism, BoundedRangeCost), (PermuteAndFlip, PureCost)):
        monkeypatch.setattr(kind, "release", _counted(kind.release, cost, rule, spent, epsilons))
    for noise in (GaussianNoise, GeometricNoise):
        monkeypatch.setattr(noise, "release", _paid(noise.release, moved, rule, spent))
    exact = tables_of(np.random.Generator(np.random.Philox(seed)).integers(0, 40, shape), real.candidates)

    def steps(asked: int) -> AdaptiveRound:
        return step_for(rule, moved, asked)

    measured = real.release(exact, CellGuess.even(shape, 200), steps, Seeded(seed))
    assert 3 <= len(measured) <= 15
    assert 0.98 * units < sum(spent) <= units
    assert sum(epsilons) <= most


def _counted(release: Any, cost: Any, rule: Any, spent: list[int], epsilons: list[Fraction]) -> Any:
    def counted(self: Any, scores: Any, bits: Any) -> Any:
        spent.append(rule.amount(cost(self.epsilon)))
        epsilons.append(self.epsilon)
        return release(self, scores, bits)

    return counted


def _paid(release: Any, moved: Sensitivity, rule: Any, spent: list[int]) -> Any:
    def paid(self: Any, exact: Any, bits: Any) -> Any:
        spent.append(rule.amount(self.cost(moved)))
        return release(self, exact, bits)

    return paid


def test_theorem_ADAPTIVE_MARGINALS_a_smaller_marginal_is_no_wider() -> None:
    """A smaller marginal has no larger diameter or radius."""
    one = (Fraction(1),)
    for adjacency in ("replace-one", "add-remove"):
        sizes = [Sensitivity(((1, 1),), cells, adjacency, 3) for cells in (1, 2, 3, 10, 1000)]  # type: ignore[arg-type]
        for small, large in itertools.pairwise(sizes):
            assert small.l1_diameter(one) <= large.l1_diameter(one)
            assert small.l2_diameter_squared(one) <= large.l2_diameter_squared(one)
            assert small.l2_radius_squared(one) <= large.l2_radius_squared(one)


# What validity pays ----------------------------------------------------------------------------------------


def plan_of(
    accounting: Any, adjacency: Any, rows: int = 1, values: tuple[str, ...] = ("x", "y", "z")
) -> SynthesisPlan:
    """A synthetic table of two columns; with a cell more in each, for a missing value."""
    person, size = ("person", 50) if rows > 1 else (None, 200)
    table = Table("people", (CategoryColumn("a", values[-2:]), CategoryColumn("b", values)), size, person)
    unit = PrivacyUnit(adjacency, person, rows)
    cap = Fraction(1, 20) if accounting == "pure" else None
    validity = Validity(confidence=Fraction(95, 100), stability=cap)
    study = study_with(table, accounting, unit, 4, Fraction(1, 10**9), validity=validity)
    return plan_synthesis(study, ["a", "b"], price_of(epsilon=Fraction(1)), study.allowed)


CASES = [("replace-one", 1), ("add-remove", 1), ("replace-one", 3), ("add-remove", 3)]


@pytest.mark.parametrize(("adjacency", "rows"), CASES)
def test_theorem_ADAPTIVE_MARGINALS_validity_pays_for_selections(
    adjacency: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law of one selection where all rows of one unit are exchanged; rounds share the pure part by their epsilons.

    Mutants: ``twice`` that is 1, where neighbors have a unit more or less, or 2, where one is exchanged.
    """
    plan = plan_of("gdp", adjacency, rows)
    real, step = plan.machine, plan.step(plan.machine.each)
    monkeypatch.setattr(ExponentialMechanism, "release", lambda self, scores, bits: np.log(self.law(scores)))
    paid = float(Fraction(plan.pure, UNITS_PER_ONE) * step.epsilon / real.most_epsilon)
    random, worst, cells = np.random.Generator(np.random.Philox(4)), 0.0, int(np.prod(real.shape))
    for _ in range(150):
        guess = Fixed(tables_of(random.uniform(0, 9 * rows, real.shape), real.candidates))
        x = random.integers(0, 9 * rows, real.shape)
        y, (i, j) = x.copy(), random.integers(0, cells, 2)
        x.flat[i] += rows
        y.flat[j] += rows
        laws = [
            real._select(tables_of(t, real.candidates), guess, real.candidates, step, Seeded(0))  # type: ignore[arg-type]
            for t in (x, y)
        ]
        worst = max(worst, float(np.abs(laws[0] - laws[1]).max()))  # type: ignore[operator]
    assert worst <= paid * (1 + 1e-9)
    assert worst > 0.55 * paid


@pytest.mark.parametrize("accounting", ["gdp", "zcdp"])
@pytest.mark.parametrize(("adjacency", "rows"), CASES)
def test_theorem_ADAPTIVE_MARGINALS_validity_pays_for_measurements(
    accounting: str, adjacency: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In k cells, all that one unit may add is in a ball with the radius rows * sqrt(1 - 1/k), around rows/k in each, and
    in no smaller one.  Counted from the noise of all measurements of a run.

    Mutants: half of the part; the square of it; the price of the selections in place of the measurements'.
    """
    plan, seen = plan_of(accounting, adjacency, rows), []
    exact = tables_of(np.full(plan.machine.shape, 9), plan.machine.candidates)

    def measured(self: GaussianNoise, column: Any, bits: Any) -> Any:
        made = release(self, column, bits)
        seen.append(rows**2 * (1 - Fraction(1, len(made[0]))) / self.scales[0] ** 2)
        return made

    release = GaussianNoise.release
    monkeypatch.setattr(GaussianNoise, "release", measured)
    guess = CellGuess.even(plan.machine.shape, 200)
    made = plan.machine.release(exact, guess, plan.step, Seeded(1))
    assert len(made) == len(seen) > 2
    assert (
        0.6 * plan.radius < sum(seen) * UNITS_PER_ONE <= plan.radius
    )  # all marginals pay as the largest does


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_ADAPTIVE_MARGINALS_validity_pays_for_a_pure_run(
    adjacency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All runs of one round, as above.  Mutant: ``twice`` that is 1."""
    real = machine(adjacency, int(EPSILON * UNITS_PER_ONE), 1)
    plan = plan_of("pure", adjacency, values=("x",))
    assert plan.machine.shape == SHAPE
    plan = replace(plan, machine=replace(real, sensitivity=replace(plan.machine.sensitivity, cells=2)))
    runs = [((axes,), (output,)) for axes in CANDIDATES for output in ((-9, 9), (9, -9), (2, 1))]
    tables = list(histograms(2))
    law = {x: np.array([log_chance(real, x, *run, monkeypatch) for run in runs]) for x in tables}
    exchanged = [(x, y) for x in tables for y in tables if np.abs(np.subtract(x, y)).sum() == 2]
    worst = max(float(np.abs(law[x] - law[y]).max()) for x, y in exchanged)
    paid = stability_units(PureCost(Fraction(worst)))
    assert 0.8 * plan.radius < paid <= plan.radius * (1 + 1e-9)
    assert plan.pure == 0
